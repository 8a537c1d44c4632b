"""Dart, section VI: what the paper leaves open about its simulations, and what that decides.

Every reading of `rdmacc.experiments.dart.clos` in the typical mix; and, in all mixes, DASR's throughput measured over
half to all of a base RTT, and at least 10 packets, instead of 6 us and 5. What the authors ran is not known. That rates
outlived messages is likely: the DCQCN simulator for ns-3 that was public then keeps a rate for each UDP port, sets it
to the line's once, when the port first sends, and never again (github.com/bobzhuyb/ns3-rdma,
src/point-to-point/model/qbb-net-device.cc, DequeueAndTransmit, "late initialization").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.dart.clos import (
    BOTH,
    DEFAULT_READING,
    FRESH,
    LOADS,
    READINGS,
    Case,
    ClosFigure,
    cases,
    has_size,
    means,
    of_reading,
)
from rdmacc.experiments.dart.known import known_at_scale
from rdmacc.experiments.dart.loads import BASELINES, ratios
from rdmacc.experiments.dart.table1 import PUBLISHED_MARKS
from rdmacc.experiments.dart.techniques import VARIANTS
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.framework.registry import experiment, register_experiment
from rdmacc.plotting.style import COLOURS, style
from rdmacc.sweep.tidy import wide

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LONG_WINDOW", "Readings", "claims_by_reading"]

LONG_WINDOW = (("Dasr.window_ps", "0s"), ("Dasr.full_packets", 10))
_LONG = Case("dart", "typical", 0.2, changes=LONG_WINDOW).differences
_COMPARED = ("dcqcn", "timely", "pri-q", "iofd", "dasr", "dart")
_CONTROL = ("dcqcn", "dart")
"""Schemes of the reading that tells groups from queue pairs."""
_GROUPS_ALONE = "fresh, 128 groups"
_LOADS = [("typical", load) for load in LOADS["typical"]]
_OTHER_GROUPS = ("dcqcn", "timely", "dart")


def readings(scale: str) -> list[Case]:
    """Return each reading's runs in the typical mix, and Dart's with the longer window; at quick scale a few."""
    if scale == "quick":
        return cases(("dcqcn", "dart"), [("typical", 0.2)], BOTH)
    schemes = {**dict.fromkeys(READINGS, _OTHER_GROUPS), **dict.fromkeys(BOTH, _COMPARED), _GROUPS_ALONE: _CONTROL}
    found = [case for reading, names in schemes.items() for case in cases(names, _LOADS, [reading])]
    everywhere = [(mix, load) for mix, loads in LOADS.items() for load in loads]
    return found + cases(("dart",), everywhere, BOTH, changes=LONG_WINDOW)


def with_long_window(table: pd.DataFrame, longer: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's table in which Dart is that of `Readings` with the longer window, where that has run."""
    ran = longer[(longer["scheme"] == "dart") & (longer["changes"] == _LONG)].assign(changes="")
    keys = ["mix", "load", "reading"]
    is_there = pd.MultiIndex.from_frame(table[keys]).isin(pd.MultiIndex.from_frame(ran[keys]))
    return pd.concat([table[~(is_there & (table["scheme"] == "dart") & (table["changes"] == ""))], ran])


def claims_by_reading(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Return what every claim of figures 11 to 14 and of the tables comes to in each reading.

    Parameters
    ----------
    tables : dict
        Tables at paper scale by the experiments' names, `Readings` among them.

    Returns
    -------
    DataFrame
        By claim: what was published, and for "fresh", "kept" and "kept" with DASR's longer window what was measured
        and the verdict. Figure 14's DASR alone was not run with that window.
    """
    rows = []
    for name in ("dart.fig11", "dart.fig12", "dart.fig13", "dart.fig14", "dart.table1", "dart.table2"):
        table = tables[name]
        longer = with_long_window(table, tables[Readings.name])
        columns = {"fresh": (table, FRESH), "kept": (table, DEFAULT_READING)}
        if name != "dart.fig14":
            columns["kept, longer window"] = (longer, DEFAULT_READING)
        for one in experiment(name).claims:
            row = {"id": one.id, "claim": f"{one.quantity}, {one.condition}", "published": one.published}
            for column, (of, reading) in columns.items():
                found = one.verdict(of_reading(wide(of), reading))
                row |= {column: found.measured, f"{column}: verdict": found.outcome.value}
            rows.append(row)
    return pd.DataFrame(rows).set_index("id").fillna("")


def _less(rows: pd.DataFrame, reading: str) -> float:
    """Return Dart's mean p99 reduction over DCQCN and TIMELY at 20 and 40%."""
    return float(ratios(of_reading(rows, reading), "p99", "typical", BASELINES, (0.2, 0.4)).mean())


def _tail_of_state(rows: pd.DataFrame) -> Verdict:
    kept, fresh = (
        means(of_reading(rows, one), "p99", "dcqcn", "typical")[0.4] for one in (DEFAULT_READING, _GROUPS_ALONE)
    )
    return Verdict(f"DCQCN's p99 {kept / 1e6:.0f} us kept, {fresh / 1e6:.0f} us fresh", bool(kept >= 2 * fresh))


def _fresh_gain(rows: pd.DataFrame) -> Verdict:
    found = _less(rows, FRESH)
    return Verdict(f"{found:.0%}", found >= 0.4, found >= 0.05)


def _fewer_groups(rows: pd.DataFrame) -> Verdict:
    found = {groups: _less(rows, f"kept, {groups} groups") for groups in (64, 128, 256)}
    gains = list(found.values())
    words = ", ".join(f"{value:.0%} with {groups}" for groups, value in found.items())
    return Verdict(words, gains[0] > gains[1] > gains[2])


def _window(rows: pd.DataFrame) -> Verdict:
    more = {
        reading: means(of_reading(rows, reading), "marked", "dart", "typical", _LONG)
        / means(of_reading(rows, reading), "marked", "dart", "typical")
        for reading in BOTH
    }
    words = "; ".join(f"{reading}: {value.min():.0f} to {value.max():.0f} times" for reading, value in more.items())
    return Verdict(words, all(bool((value >= 2).all()) for value in more.values()))


def _marks_with_long_window(rows: pd.DataFrame) -> Verdict:
    chosen = of_reading(rows)
    dart = means(chosen, "marked", "dart", "typical", _LONG)
    found = means(chosen, "marked", "dcqcn", "typical") / dart
    published = {load: np.divide(*PUBLISHED_MARKS["typical", load]) for load in found.index}
    words = ", ".join(f"{value:.1f} at {load:.0%} (published {published[load]:.1f})" for load, value in found.items())
    return Verdict(words, all(has_size(value - 1, published[load] - 1) for load, value in found.items()))


def _check(
    id: str, quantity: str, condition: str, published: str, band: str, verdict: Callable[[pd.DataFrame], Verdict]
) -> Claim:
    """Return a check on all readings together; it needs the table at paper scale."""

    def judged(table: pd.DataFrame) -> Verdict:
        rows = table
        has_all = set(READINGS) <= set(rows["reading"])
        return verdict(rows) if has_all else Verdict.not_judged("not run at this scale")

    return Claim(
        id=id, place="VI", quantity=quantity, condition=condition, published=published, words=band, judge=judged,
        **known_at_scale(id),
    )  # fmt: skip


def _draw_readings(rows: pd.DataFrame) -> Figure:
    shown = [one for one in READINGS if (rows["reading"] == one).any()]
    palette = list(COLOURS.values())
    with style():
        figure, axes = plt.subplots(1, len(shown), figsize=(2.7 * len(shown) + 0.6, 3.6), sharey=True, squeeze=False)
        for ax, reading in zip(axes[0], shown, strict=True):
            for place, scheme in enumerate(_COMPARED):
                chosen = rows[(rows["scheme"] == scheme) & (rows["reading"] == reading) & (rows["changes"] == "")]
                spread = chosen.groupby("load")["p99"].agg(["min", "mean", "max"]) / 1e6
                at, name = spread.index * 100, {**VARIANTS, "timely": "TIMELY"}[scheme]
                ax.plot(at, spread["mean"], marker="o^vsPD"[place], color=palette[place], label=name)
                ax.fill_between(at, spread["min"], spread["max"], color=palette[place], alpha=0.2)
            ax.set(title=reading, xlabel="load (% of ToR uplinks)", yscale="log")
        axes[0][0].set_ylabel("p99 of 8 KB flows (µs)")
        axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
        figure.suptitle("Dart, VI: the tail by what the paper leaves open, typical mix")
    return figure


@register_experiment
class Readings(ClosFigure):
    """Tails and marks by what the paper leaves open: queue pairs, groups, DASR's window."""

    name = "dart.readings"
    title = "What the paper leaves open"
    description = "Tails and marks by what the paper leaves open: queue pairs, groups, DASR's window"

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        return table if reading == DEFAULT else None  # all readings

    claims = (
        _check(
            "dart-r-1a", "what makes DCQCN's tail", "128 groups, 40%", "not said",
            "p99 twice as long with rates that outlive messages, or more", _tail_of_state,
        ),
        _check(
            "dart-r-1b", "mean p99 reduction vs DCQCN and TIMELY", "fresh, 20 and 40%", "79%",
            ">= 40%, as asked of the other reading", _fresh_gain,
        ),
        _check(
            "dart-r-1c", "mean p99 reduction and number of groups", "kept, 20 and 40%", "not said",
            "more with fewer groups", _fewer_groups,
        ),
        _check(
            "dart-r-2a", "marks that DASR leaves and its window", "both readings, every load", "not said",
            "twice as many with the longer one, or more", _window,
        ),
        _check(
            "dart-r-2b", "DCQCN's marks / Dart's, longer window", "kept, typical mix", "2.8, 3.7, 4.8",
            "ratio - 1 within a factor of 2", _marks_with_long_window,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return readings(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return _draw_readings(rows)
