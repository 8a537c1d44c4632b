"""Validation: runs set up exactly as in a public simulator, to compare its numbers with ours."""

from __future__ import annotations

from rdmacc.experiments.framework.registry import import_modules

import_modules(__name__)
