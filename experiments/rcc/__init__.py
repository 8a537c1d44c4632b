"""RCC, a module for each figure and table."""

from __future__ import annotations

from rdmacc.experiments.framework.registry import import_modules

import_modules(__name__)
