"""Dart's experiments, by name. What each is stands in its module; what they share, in `dart_setup`."""

from __future__ import annotations

from rdmacc.experiments.base import register
from rdmacc.experiments.dart_ablation import FIGURE_14, SENSITIVITY
from rdmacc.experiments.dart_latency import FIGURE_11, FIGURE_12
from rdmacc.experiments.dart_long_flows import Figure2
from rdmacc.experiments.dart_set import Figure4
from rdmacc.experiments.dart_short_flows import Figure3
from rdmacc.experiments.dart_states import Figure5
from rdmacc.experiments.dart_throughput import FIGURE_13, TABLE_1, TABLE_2

__all__ = ["Figure2", "Figure3", "Figure4", "Figure5"]

_AT_SCALE = (FIGURE_11, FIGURE_12, FIGURE_13, TABLE_1, TABLE_2, FIGURE_14, SENSITIVITY)

for _figure in (Figure2(), Figure3(), Figure4(), Figure5(), *_AT_SCALE):
    register(_figure)
