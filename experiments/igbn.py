"""Improved Go-Back-N's experiments, by name. What each is stands in its module; what they share, in `igbn_setup`."""

from __future__ import annotations

from rdmacc.experiments.base import register_experiment
from rdmacc.experiments.igbn_beyond import OtherReadings, OtherRecoveries
from rdmacc.experiments.igbn_collapse import Figure2, Figure3
from rdmacc.experiments.igbn_comparison import Figure6
from rdmacc.experiments.igbn_examples import Figure4, Figure5
from rdmacc.experiments.igbn_network import Figure1, Table1
from rdmacc.experiments.igbn_timeouts import Figure7

__all__ = [
    "Figure1", "Figure2", "Figure3", "Figure4", "Figure5", "Figure6", "Figure7", "OtherReadings", "OtherRecoveries",
    "Table1",
]  # fmt: skip

for _kind in (
    Figure1, Table1, Figure2, Figure3, Figure4, Figure5, Figure6, Figure7, OtherReadings, OtherRecoveries,
):  # fmt: skip
    register_experiment(_kind())
