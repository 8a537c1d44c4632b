"""Tables at the quick scale, for tests that read several experiments."""

import pandas as pd

from rdmacc.experiments import experiment
from rdmacc.sweep import sweep


def quick_table(name: str) -> pd.DataFrame:
    """Return an experiment's table from the compiled engine; its points are computed once for all tests."""
    return sweep(experiment(name), "quick", jobs=1).table


class QuickTables(dict[str, pd.DataFrame]):
    """Each experiment's table on an engine, computed on first use, so that a single test stays quick."""

    def __init__(self, engine: str = "compiled") -> None:
        super().__init__()
        self.engine = engine

    def __missing__(self, name: str) -> pd.DataFrame:
        self[name] = quick_table(name) if self.engine == "compiled" else experiment(name).run(engine=self.engine)
        return self[name]
