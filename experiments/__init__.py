"""The figures and tables of the papers, as objects that can be rerun.

>>> from rdmacc.experiments import experiment
>>> figure = experiment("dart.fig2")
>>> table = figure.run(engine="simpy")
>>> bool(figure.check(table)["holds"].all())
True
"""

from pathlib import Path

from rdmacc.experiments.framework.claim import Claim, Outcome, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Run, Seeding
from rdmacc.experiments.framework.point import SCALES, Point
from rdmacc.experiments.framework.registry import (
    EXPERIMENTS,
    experiment,
    import_modules,
    load_summary,
    register_experiment,
    select,
    summary_path,
)

__all__ = [
    "EXPERIMENTS", "SCALES", "Claim", "Experiment", "Outcome", "Point", "Run", "Seeding", "Verdict", "experiment",
    "load_summary", "register_experiment", "select", "summary_path",
]  # fmt: skip

for _folder in sorted(path.parent.name for path in Path(__file__).parent.glob("*/__init__.py")):
    if _folder not in ("framework", "ledger") and not _folder.startswith("_"):
        import_modules(f"{__name__}.{_folder}")
