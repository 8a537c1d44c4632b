"""Micro-benchmarks: small scenarios that every scheme of a family goes through."""

from __future__ import annotations

from rdmacc.experiments.framework.registry import import_modules

import_modules(__name__)
