"""A map of a paper's claims by reading, coloured by verdict.

It shows authors which sentences of a paper decide other results.
"""

from __future__ import annotations

from textwrap import fill, shorten
from typing import TYPE_CHECKING

import numpy as np

from rdmacc.experiments.framework.claim import Outcome
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, readings_of
from rdmacc.experiments.framework.registry import claims_of
from rdmacc.experiments.ledger.pages import MARKS
from rdmacc.experiments.ledger.score import by_reading
from rdmacc.show.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FILLS = {
    Outcome.HOLDS: COLOURS["green"], Outcome.DIRECTION: COLOURS["orange"], Outcome.UNDECIDED: COLOURS["sky"],
    Outcome.FAILS: COLOURS["vermilion"], Outcome.NOT_JUDGED: "0.85",
}  # fmt: skip
_WIDTH = 72


def draw_map(paper: str) -> Figure:
    """Draw the claims whose verdict depends on a reading; white if a figure was not run under it."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch, Rectangle

    found, names = by_reading(paper), [one.name for one in readings_of(paper)]
    judged = found.loc[(found[names] != "").any(axis=1), [DEFAULT, *names]]
    verdicts = judged[judged.mask(judged.isin(["", Outcome.NOT_JUDGED.value])).nunique(axis=1) > 1]
    verdicts = verdicts.loc[:, (verdicts != "").any() | (verdicts.columns == DEFAULT)]
    claims = {claim.id: claim for _, claim in claims_of(paper)}
    rows, columns = verdicts.shape
    with style():
        figure, ax = plt.subplots(figsize=(5.4 + 0.6 * columns, 2.3 + 0.24 * max(rows, 1)), layout="constrained")
        for (row, column), verdict in np.ndenumerate(verdicts.to_numpy()):
            if verdict:
                outcome = Outcome(verdict)
                ax.add_patch(Rectangle((column - 0.47, row - 0.45), 0.94, 0.9, color=_FILLS[outcome], linewidth=0))
                ax.text(column, row, MARKS[outcome], ha="center", va="center", fontsize=8, color="black")
        ax.set(xlim=(-0.6, columns - 0.4), ylim=(rows - 0.4, -0.6))
        ax.set_xticks(
            np.arange(columns), [fill(name, 22) for name in verdicts.columns], rotation=60, ha="left", fontsize=8,
            rotation_mode="anchor",
        )  # fmt: skip
        ax.xaxis.tick_top()
        words = {id_: f"{claims[id_].quantity}; {claims[id_].condition}" for id_ in verdicts.index}
        names = [f"{shorten(one, _WIDTH, placeholder=' …')}  {id_}" for id_, one in words.items()]
        ax.set_yticks(np.arange(rows), names, fontsize=8)
        ax.tick_params(length=0)
        ax.grid(visible=False)
        ax.spines[:].set_visible(False)
        ax.axvline(0.5, color="0.3", linewidth=1)
        keys = [Patch(color=_FILLS[one], label=f"{MARKS[one]} {one.value}") for one in Outcome]
        figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), fontsize=8)
        others = len(judged) - rows
        figure.suptitle(
            f"{PAPERS[paper].name}: claims that depend on how the paper is read\n"
            f"({others} more were run under other readings too, with one verdict under all)",
            x=0.01, ha="left", fontsize=11,
        )  # fmt: skip
    return figure
