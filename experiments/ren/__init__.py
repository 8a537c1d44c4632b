"""REN (Li et al., IEEE TCC 2021), a module for each figure."""

from __future__ import annotations

from rdmacc.experiments.framework.registry import import_modules

import_modules(__name__)
