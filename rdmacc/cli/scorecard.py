"""``rdmacc scorecard``: each scheme's worst cases, from the bundled table or new searches, and their map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from rdmacc.caching.sources import run_file
from rdmacc.cli.commands import check_folder, text_of
from rdmacc.errors import ConfigError, unknown
from rdmacc.schemes import SCHEMES
from rdmacc.searches import scorecard as cards
from rdmacc.searches.held_out import held_out
from rdmacc.searches.scorecard import GRADES, grade, rows_of, shown
from rdmacc.show.style import PAGE, style
from rdmacc.show.tables import filled, table
from rdmacc.units import format_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def registered(given: Sequence[str]) -> list[str]:
    """Return the names of schemes; a Python file stands for those that it registers."""
    names: list[str] = []
    for one in given:
        if not one.endswith(".py"):
            names.append(one)
            continue
        if not Path(one).is_file():
            raise ConfigError("scheme", one, "a scheme, or a Python file that registers some")
        before = set(SCHEMES)
        run_file(one)
        new = [name for name in SCHEMES if name not in before]
        if not new:
            raise ConfigError("scheme", one, "a file that registers a scheme by rdmacc.register_scheme")
        names += new
    for name in names:
        if name not in SCHEMES:
            raise unknown("scheme", name, SCHEMES, "a scheme, or a Python file that registers some")
    return names


def on_held_out(names: Sequence[str], seed: int | None, against: str, objective: str, count: int) -> str:
    if len(names) != 1:
        raise ConfigError("scheme", ", ".join(names), "one, with --held-out")
    if seed is None:
        raise ConfigError("--seed", None, "given with --held-out: a seed of your choice draws the cases")
    return str(held_out(names[0], against, seed, objective, count=count))


def on_finds(page: Path | None) -> str:
    before, text = text_of(page), cards.finds_text(cards.finds())
    if page is not None:
        page.write_text(filled(before, "finds", text), encoding="utf-8")
    return text


def report(names: Sequence[str], jobs: int, out: Path | None, plot: Path | None) -> Iterator[str]:
    """Yield lines about schemes; search those missing from the bundled table, or all if `out` is given."""
    for path in filter(None, (out, plot)):
        check_folder(path.parent)
    stored = cards.bundled() if cards.TABLE.exists() else pd.DataFrame({"scheme": []})
    if not names and out is None:
        yield from summary(stored)
    found = [stored]
    for name in names or (list(SCHEMES) if out else []):
        if out is None and (stored["scheme"] == name).any():
            rows = stored[stored["scheme"] == name]
        else:
            rates = tqdm(cards.RATES, desc=name, unit="rate", leave=False)
            rows = pd.concat([cards.measured(name, one, control=one == cards.RATES[1] and out is not None, jobs=jobs)
                              for one in rates])  # fmt: skip
            if out is not None:
                cards.save(rows, out)
            rows = cards.judged(rows)
            found.append(rows)
        yield from cards.text(rows, stored if len(stored) else rows)
    if plot is not None:
        from rdmacc.show.style import save

        yield f"Saved {save(draw(pd.concat(found)), plot)}"


def summary(stored: pd.DataFrame) -> Iterator[str]:
    """Yield the table at 100 Gb/s, and the number of finds by verdict."""
    middle = stored[stored["rate_bps"] == 100e9]
    cells = {(one.scheme, one.objective): cards.shown(one.objective, one.value) for one in cards.rows_of(middle)}
    rows = [(name, *(cells[name, each] for each in cards.GRADES)) for name in dict.fromkeys(middle["scheme"])]
    on, at = (", ".join(sorted(set(stored[name].str[:10]))) for name in ("date", "commit"))
    yield f"Worst cases found at {format_rate(100e9)} on {on}, commit {at}:"
    yield table(["scheme", *cards.GRADES], rows, "<" + ">" * len(cards.GRADES))
    finds = stored[stored["verdict"] != ""]
    counts = ", ".join(f"{count} {name}" for name, count in finds["verdict"].value_counts().items())
    yield f"{len(finds)} finds in {len(stored)} rows, at all rates: {counts}."
    yield "`rdmacc scorecard dcqcn` has the lines that repeat a scheme's worst cases, with causes."


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
