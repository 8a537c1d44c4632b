"""Dart, figure 14: the contribution of each of Dart's techniques to the tail, in the typical mix (VI-C)."""

from ..api import *
from .clos import *
from .loads import *

PUBLISHED_RATIOS = {
    ("pri-q", 0.2): 1.0, ("iofd", 0.2): 0.69, ("dasr", 0.2): 0.21, ("dart", 0.2): 0.16,
    ("iofd", 0.6): 0.21, ("dasr", 0.6): 0.23, ("dart", 0.6): 0.07,
}  # fmt: skip
"""p99 relative to DCQCN's, by scheme and load, where the text gives it (VI-C)."""


_LOADS = [("typical", load) for load in LOADS["typical"]]


def _relative(reading: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of a reading, with the ratio of their p99 to DCQCN's for the same flows."""
    rows = of_reading(rows, reading).query("changes == ''").sort_values("load", kind="stable")
    dcqcn = rows[having(rows, scheme="dcqcn")].set_index(["load", "seed"])["p99"]
    return rows.assign(ratio=rows["p99"].to_numpy() / dcqcn.loc[[*zip(rows["load"], rows["seed"])]].to_numpy())


def _reductions(rows: pd.DataFrame, *schemes: str, load: float) -> dict[str, float]:
    return {VARIANTS[one]: less(rows, one, load) for one in schemes}


def _look_ahead(rows: pd.DataFrame) -> Measured:
    without, with_it = (p99(rows, one, 0.2) for one in ("dasr-no-look-ahead", "dasr"))
    return Measured(reduction(with_it, without), f"{show(with_it, 'us')} with, {show(without, 'us')} without")


def _by_load(measure: Callable[[float], float]) -> dict[str, float]:
    return {f"{load:.0%}": measure(load) for load in LOADS["typical"]}


def _beside_components(rows: pd.DataFrame) -> dict[str, float]:
    return _by_load(lambda load: p99(rows, "dart", load) / min(p99(rows, one, load) for one in COMPONENTS))


def _role_of_iofd(rows: pd.DataFrame) -> dict[str, Any]:
    found = _by_load(lambda load: less(rows, "iofd", load))
    return {"reduction": found, "60% less 20%": found["60%"] - found["20%"]}


_IS_GAIN = AtLeast(NOTICEABLE)
_claim = partial(claim, needs=cases(tuple(VARIANTS), _LOADS))


class Figure14(ClosFigure):
    name = "dart.fig14"
    claims = (
        _claim("dart-f14-1", measure=lambda rows: less(rows, "dart", 0.2), band=Part(0.84), direction=_IS_GAIN),
        _claim("dart-f14-2", measure=lambda rows: _reductions(rows, "dasr", "iofd", load=0.2),
               band=All({"DASR only": Part(0.79)}, Highest("DASR only")), direction=At("DASR only", _IS_GAIN)),
        _claim("dart-f14-3", measure=lambda rows: less(rows, "iofd", 0.2), band=Part(0.31), direction=_IS_GAIN),
        _claim("dart-f14-4", measure=lambda rows: less(rows, "dart", 0.6), band=Part(0.93), direction=_IS_GAIN),
        _claim("dart-f14-5", measure=lambda rows: _reductions(rows, *COMPONENTS, load=0.6),
               band=All({VARIANTS["iofd"]: Part(0.79), VARIANTS["dasr"]: Part(0.77)}), direction=Each(_IS_GAIN)),
        _claim("dart-f14-6", measure=lambda rows: less(rows, "pri-q", 0.2), band=Within(0, by=0.1)),
        _claim("dart-f14-7", measure=lambda rows: _reductions(rows, "pri-q", *COMPONENTS, load=0.6),
               band=All({"Pri-Q": MoreThan(0)}, Lowest("Pri-Q"))),
        _claim("dart-f14-8", measure=_look_ahead, band=AtLeast(0.1), direction=_IS_GAIN),
        _claim("dart-f14-9", measure=_beside_components, band=At("40%", LessThan(1))),
        _claim("dart-f14-10", measure=_role_of_iofd, band=At("reduction", Ordered("<=")),
               direction=At("60% less 20%", _IS_GAIN)),
        _claim("dart-f7-3a",
               measure=lambda rows: {"out of order": rows["refused"].sum(), "deflected": rows["deflections"].sum()},
               band=All({"out of order": Exactly(0), "deflected": AtLeast(1e5)})),
        _claim("dart-f7-4a", measure=lambda rows: rows[rows["changes"] == ""]["longest path"].max(),
               band=AtMost(6 + 2 * 4)),
        _claim("dart-x-6a", measure=lambda rows: rows["longest path of long flows"].max(), band=AtMost(6)),
    )  # fmt: skip

    def cases(self, scale: str) -> list[ClosCase]:
        """Return the six variants at each load of the typical mix, and in three readings; quick scale has two loads."""
        if scale == "quick":
            return cases(tuple(VARIANTS), [("typical", 0.2), ("typical", 0.6)])
        readings = cases(tuple(VARIANTS), _LOADS, jitter=STARTS_WITHIN)
        readings += cases(("iofd", "dart"), _LOADS, changes=TO_LAST_HOP)
        readings += cases(tuple(VARIANTS), _LOADS, is_persistent=True)
        return readings + cases(tuple(VARIANTS), _LOADS)

    def draw(self, rows: pd.DataFrame) -> Figure:
        looks = {one: (name, colour) for (one, name), colour in zip([*VARIANTS.items()][1:], COLOURS)}
        published: dict[str, dict[float, float]] = {one: {} for one in looks}
        for (one, load), ratio in PUBLISHED_RATIOS.items():
            published[one][load] = ratio
        bars = partial(Bars, quantity="ratio", looks=looks, over="load", published=published, levels={"_": 1.0})
        words: dict[str, Any] = {"label": "p99 of 8 KB flows / DCQCN's", "axes": {"xlabel": "load of ToR uplinks"}}
        panels = [bars(of=partial(_relative, one), title=one, **words) for one in drawn_readings(rows)]
        more = ", typical mix (black: published)"
        return self.drawn(panels, rows, more, size=(6.4, 4.2), sharey=True, legend="outside lower center")
