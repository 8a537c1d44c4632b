"""The map of the scorecard: schemes by objectives and rates, coloured by how bad the worst case is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.searches.scorecard import GRADES, grade, rows_of, shown
from rdmacc.show.style import PAGE, style
from rdmacc.units import format_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROW, _MAP = 0.2, "YlOrBr"


def draw(table: pd.DataFrame) -> Figure:
    """Return the map: a row for each scheme, a column for each objective and rate, a colour for each grade."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch

    names, rates = list(dict.fromkeys(table["scheme"])), sorted(set(table["rate_bps"]))
    values = {(one.scheme, one.objective, one.rate_bps): one.value for one in rows_of(table)}
    columns = [(objective, rate) for objective in GRADES for rate in rates]
    grades = np.array([[grade(one, values[name, one, rate]) for one, rate in columns] for name in names])
    with style():
        figure, ax = plt.subplots(figsize=(PAGE, _ROW * len(names) + 1.8), layout="constrained")
        ax.grid(visible=False)
        colours = mpl.colormaps[_MAP].resampled(5)
        ax.pcolormesh(grades, cmap=colours, vmin=-0.5, vmax=4.5, edgecolors="white", linewidth=0.5)
        for row, name in enumerate(names):
            for column, (objective, rate) in enumerate(columns):
                colour = "white" if grades[row, column] >= 3 else "black"
                label = shown(objective, values[name, objective, rate])
                ax.text(column + 0.5, row + 0.5, label, ha="center", va="center", fontsize=7, color=colour)
        for place in range(len(rates), len(columns), len(rates)):
            ax.axvline(place, color="white", linewidth=4)
        ax.set_yticks(np.arange(len(names)) + 0.5, names, fontsize=8)
        ax.set_xticks(np.arange(len(columns)) + 0.5, [format_rate(rate).replace(" Gb/s", "") for _, rate in columns])
        ax.set_xlabel("rate of the links, Gb/s")
        ax.tick_params(length=0)
        top = ax.secondary_xaxis("top")
        places = [len(rates) * (number + 0.5) for number in range(len(GRADES))]
        top.set_xticks(places, [_titled(name) for name in GRADES], fontsize=9)
        top.tick_params(length=0)
        ax.invert_yaxis()
        bounds = [
            "below the first bound",
            *(f"beyond the {one}" for one in ("first", "second: a find", "third", "last")),
        ]
        keys = [Patch(color=colours(number), label=text) for number, text in enumerate(bounds)]
        figure.legend(handles=keys, loc="outside lower center", ncols=5, fontsize=8)
        figure.suptitle("Worst case found of each scheme", fontsize=12)
    return figure


def _titled(objective: str) -> str:
    bounds = " · ".join(shown(objective, one) for one in GRADES[objective])
    return f"{objective}\n{bounds}"
