"""The figures and tables of the papers, as objects that anyone can rerun.

>>> from rdmacc.experiments import experiment
>>> figure = experiment("dart.fig2")
>>> table = figure.run(engine="simpy")
>>> bool(figure.check(table)["holds"].all())
True
"""

from __future__ import annotations

from rdmacc.experiments import dart, igbn, micro, rcc, ren, validation
from rdmacc.experiments.framework.claim import Claim, Outcome, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Run, Seeding
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import (
    EXPERIMENTS,
    experiment,
    load_summary,
    register_experiment,
    select,
    summary_path,
)
from rdmacc.experiments.framework.scale import SCALES

__all__ = [
    "EXPERIMENTS", "SCALES", "Claim", "Experiment", "Outcome", "Point", "Run", "Seeding", "Verdict", "dart",
    "experiment", "igbn", "load_summary", "micro", "rcc", "register_experiment", "ren", "select", "summary_path",
    "validation",
]  # fmt: skip
