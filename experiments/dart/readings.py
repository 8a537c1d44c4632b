"""Dart, section VI: the effect of open questions about the paper's simulations."""

from __future__ import annotations

from rdmacc.experiments.dart.table1 import PUBLISHED_MARKS
from ..api import *
from .clos import *
from .loads import *

_COMPARED = ("dcqcn", "timely", "pri-q", "iofd", "dasr", "dart")
_LOADS = [("typical", load) for load in LOADS["typical"]]
_SHOWN = (BY_LOAD, FRESH, FRESH_GROUPS, kept(64), kept(256))
_JITTERS = ("10us", "30us")
"""One or two times the duration of an incast at its receiver's link; a testbed has 100 us."""
_AT = {FRESH: (0.2, 0.4), FRESH_GROUPS: (0.4,), kept(64): (0.4,), kept(256): (0.4,)}


def verdicts() -> pd.DataFrame:
    """Return the verdicts on figures 11 to 13 and the tables under all readings, from the bundled tables.

    Rows by claim, columns by reading. Readings that were only run for `Readings` lack some schemes and mixes; claims
    that need these are not judged.
    """
    longer = load_summary(Readings.name)
    found = []
    for name in ("dart.fig11", "dart.fig12", "dart.fig13", "dart.table1", "dart.table2"):
        one, own = experiment(name), load_summary(name)
        assert own is not None
        assert longer is not None
        is_new = longer["scheme"].isin(own["scheme"].unique()) & ~longer["point"].isin(own["point"])
        table = pd.concat([own, longer[is_new]], ignore_index=True)
        judged = {reading: one.judge(table, "paper", reading) for reading in (DEFAULT, *one.readings_in(table))}
        found.append(
            pd.DataFrame({name: {row["id"]: row["verdict"] for row in every} for name, every in judged.items()})
        )
    return pd.concat(found)


def _less(rows: pd.DataFrame, reading: str, *loads: float) -> float:
    return mean_of("p99", "typical", BASELINES, loads)(of_reading(rows, reading))["mean"]


def _tail_of_state(rows: pd.DataFrame) -> Measured:
    stays, fresh = (means(of_reading(rows, one), "p99", "dcqcn", "typical")[0.4] for one in (kept(128), FRESH_GROUPS))
    return Measured(stays / fresh, f"{show(stays, 'us')} kept, {show(fresh, 'us')} fresh")


def _window(rows: pd.DataFrame) -> dict[str, float]:
    chosen = of_reading(rows)
    more = means(chosen, "marked", "dart", "typical", WITH_LONG) / means(chosen, "marked", "dart", "typical")
    return named(more, "{:.0%}")


def _marks_with_long_window(rows: pd.DataFrame) -> dict[str, float]:
    chosen = of_reading(rows)
    ratio = means(chosen, "marked", "dcqcn", "typical") / means(chosen, "marked", "dart", "typical", WITH_LONG)
    return named(ratio - 1, "{:.0%}")


def _with_jitter(rows: pd.DataFrame, quantity: str, scheme: str, late: str) -> pd.Series[float]:
    return means(of_reading(rows), quantity, scheme, "typical", f"starts within {late}")


def _marks_with_jitter(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {late: named(_with_jitter(rows, "marked", "dcqcn", late), "{:.0%}") for late in _JITTERS}


def _tail_with_jitter(rows: pd.DataFrame) -> dict[str, float]:
    return {
        late: reduction(*(float(_with_jitter(rows, "p99", one, late)[0.4]) for one in ("dart", "dcqcn")))
        for late in _JITTERS
    }


def _fresh_beside_kept(rows: pd.DataFrame) -> dict[str, float]:
    fresh = means(of_reading(rows, FRESH), "p99", "timely", "typical")
    ratio = (fresh / means(of_reading(rows), "p99", "dcqcn", "typical")).dropna()
    return named(ratio, "{:.0%}")


def _published_ratio(load: float) -> float:
    dcqcn, dart = PUBLISHED_MARKS["typical", load]
    return dcqcn / dart


class Readings(ClosFigure):
    name = "dart.readings"

    under = Experiment.under  # all readings

    def seeds_of(self, case: ClosCase) -> int:
        return self.seeds if not case.changes and case == ClosCase(case.scheme, case.mix, case.load) else 1

    claims = (
        claim("dart-r-1a", measure=_tail_of_state, band=AtLeast(2)),
        claim("dart-r-1b", measure=lambda rows: _less(rows, FRESH, 0.2, 0.4), band=AtLeast(0.4),
              direction=AtLeast(NOTICEABLE)),
        claim("dart-r-1c", measure=lambda rows: {f"{n}": _less(rows, kept(n), 0.4) for n in (64, 128, 256)},
              band=Falls()),
        claim("dart-r-2a", measure=_window, band=Each(AtLeast(2), "load")),
        claim("dart-r-2b", measure=_marks_with_long_window,
              band=All({f"{at:.0%}": Within(_published_ratio(at) - 1, factor=2) for at in LOADS["typical"]})),
        claim("dart-r-3a", measure=_marks_with_jitter, band=Each(Rises(), "jitter")),
        claim("dart-r-3b", measure=_tail_with_jitter, band=Each(AtLeast(0.5), "jitter")),
        claim("dart-r-3c", measure=_fresh_beside_kept, band=Each(Between(1 / 1.1, 1.1), "load")),
    )  # fmt: skip

    def cases(self, scale: str) -> list[ClosCase]:
        """Return the runs of each reading in the typical mix; at quick scale, a few."""
        if scale == "quick":
            return cases(("dcqcn", "dart"), [("typical", 0.2)], BOTH)
        found = [case for late in _JITTERS for case in cases(("dcqcn", "dart"), _LOADS, jitter=late)]
        found += cases(_COMPARED, _LOADS) + cases(("dart",), _LOADS, changes=WINDOW)
        for label, loads in _AT.items():
            found += cases(("dcqcn", "timely", "dart"), [("typical", load) for load in loads], [label])
        return list(dict.fromkeys(found))

    def draw(self, rows: pd.DataFrame) -> Figure:
        shown = [one for one in _SHOWN if len(of_reading(rows, one))]
        names = {**VARIANTS, "timely": "TIMELY"}
        looks = {one: (names[one], colour, f"{mark}-") for one, colour, mark in zip(_COMPARED, COLOURS, "o^vsPD")}
        look = {"where": {"changes": ""}, "unit": "us", "log": "y", "label": "p99 of 8 KB flows"}
        panels = [over_load("p99", one, looks, title=one, **look) for one in shown]
        return self.drawn(panels, rows, ", typical mix", size=(2.8, 3.6), sharey=True, legend="outside right center")
