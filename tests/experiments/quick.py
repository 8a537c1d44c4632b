"""Tables at the quick scale, for tests that read several experiments."""

from __future__ import annotations

import pandas as pd

from rdmacc.experiments import experiment


class QuickTables(dict[str, pd.DataFrame]):
    """Each experiment's table on an engine, computed when it is first asked for: one test by itself stays quick."""

    def __init__(self, engine: str = "auto") -> None:
        super().__init__()
        self.engine = engine

    def __missing__(self, name: str) -> pd.DataFrame:
        self[name] = experiment(name).run(engine=self.engine)
        return self[name]
