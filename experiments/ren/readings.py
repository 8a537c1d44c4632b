"""REN: what the paper leaves open, and the figures whose tables have rows of more than one reading."""

from __future__ import annotations

import pandas as pd

from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.reading import DEFAULT

__all__ = ["ReadingFigure"]

STAND_INS: dict[str, dict[str, str]] = {
    "packet": {"ren": "ren-packet"},
    "literal": {"ren": "ren-literal"},
    "none kept": {"REN": "REN, no packet kept"},
    "one grant": dict.fromkeys(("phost", "homa", "homa-2-levels"), "traditional"),
    "REN timer 0.1 ms": {"ren": "ren, timer 100 us"},
}
"""By reading: which rows of a table stand in for a scheme's, both by their label `scheme`."""


class ReadingFigure(Experiment):
    """A figure whose points begin with the name of their scheme, with those of other readings beside."""

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the table with the rows of a reading in place of the default's."""
        if reading == DEFAULT:
            return table
        found = set(table["scheme"])
        pairs = {own: one for own, one in STAND_INS.get(reading, {}).items() if {own, one} <= found}
        if not pairs:
            return None
        frames = [table[~table["scheme"].isin(pairs)]]
        for own, one in pairs.items():
            rows = table[table["scheme"] == one]
            frames.append(rows.assign(scheme=own, point=own + rows["point"].str.removeprefix(one)))
        return pd.concat(frames, ignore_index=True)
