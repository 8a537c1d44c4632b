"""Dart's experiments, by name. What each is stands in its module; what they share, in `dart_setup`."""

from __future__ import annotations

from rdmacc.experiments.base import register_experiment
from rdmacc.experiments.dart_ablation import FIGURE_14, SENSITIVITY
from rdmacc.experiments.dart_convergence import Figure1, Figure15
from rdmacc.experiments.dart_deflection import Figure6
from rdmacc.experiments.dart_incast import Figure10
from rdmacc.experiments.dart_latency import FIGURE_11, FIGURE_12
from rdmacc.experiments.dart_long_flows import Figure2
from rdmacc.experiments.dart_look_ahead import LookAhead
from rdmacc.experiments.dart_set import Figure4
from rdmacc.experiments.dart_short_flows import Figure3
from rdmacc.experiments.dart_states import Figure5
from rdmacc.experiments.dart_table import Figure7
from rdmacc.experiments.dart_testbed import Figure8, Figure9
from rdmacc.experiments.dart_throughput import FIGURE_13, TABLE_1, TABLE_2

__all__ = [
    "Figure1", "Figure2", "Figure3", "Figure4", "Figure5", "Figure6", "Figure7", "Figure8", "Figure9", "Figure10",
    "Figure15", "LookAhead",
]  # fmt: skip

_CONCEPTS = (Figure1(), Figure2(), Figure3(), Figure4(), Figure5(), Figure6(), Figure7(), LookAhead())
_TESTBED = (Figure8(), Figure9(), Figure10())

_AT_SCALE = (FIGURE_11, FIGURE_12, FIGURE_13, TABLE_1, TABLE_2, FIGURE_14, SENSITIVITY)

for _figure in (*_CONCEPTS, *_TESTBED, *_AT_SCALE, Figure15()):
    register_experiment(_figure)
