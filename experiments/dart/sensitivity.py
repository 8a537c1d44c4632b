"""Dart, section VI-C: the sensitivity study, one parameter at a time, in the typical mix at 40% load."""

from rdmacc.experiments.dart.loads import VARIANTS, p99
from ..api import *
from .clos import *

_LOAD = 0.4
_THRESHOLDS, _DEGREES, _SIZES = ("5kB", "20kB"), (6, 26), (2_000, 4_000, 8_000)
_IN_PROPORTION = {degree: kept(round(128 * 16 / degree)) for degree in _DEGREES}
"""By degree, the groups that keep each as busy as with 16 senders."""


def changes(scale: str) -> list[ClosCase]:
    """Return the sensitivity study: thresholds, sizes of short flows, degrees, tokens, and the last hop."""
    if scale == "quick":
        thresholds = [
            ClosCase("dart", "typical", 0.6, kept(128), changes=(("threshold_bytes", one),)) for one in _THRESHOLDS
        ]
        return [*cases(("dcqcn", "dart"), [("typical", 0.6)], (kept(128),)), *thresholds]
    mix, load, both = "typical", _LOAD, ("dcqcn", "dart")
    found = cases(both, [(mix, load)])
    found += [ClosCase("dart", mix, load, changes=(("threshold_bytes", one),)) for one in _THRESHOLDS]
    found += [ClosCase("dart", mix, load, changes=(("FlowDeflection.tokens", one),)) for one in (1, 8)]
    found += [ClosCase(one, mix, load, changes=(("deflect_last_hop", True),)) for one in ("iofd", "dart")]
    found += [ClosCase(one, mix, load, is_persistent=True) for one in both]
    found += [ClosCase(one, mix, load, short_bytes=size) for size in _SIZES for one in both]
    found += [ClosCase(one, mix, load, kept(128), degree=degree) for degree in _DEGREES for one in both]
    in_proportion = [
        ClosCase(one, mix, load, reading, degree=of) for of, reading in _IN_PROPORTION.items() for one in both
    ]
    return in_proportion + found


def _at_20_kb(rows: pd.DataFrame) -> float:
    names = ("threshold_bytes 20kB", "")
    at_20_kb, default = (means(rows, "deflections", "dart", "typical", name).sum() for name in names)
    return float(at_20_kb / default)


def _gains(rows: pd.DataFrame, names: Mapping[str, str]) -> dict[str, float]:
    rows = of_reading(rows, kept(128))
    return {
        label: reduction(p99(rows, "dart", _LOAD, change), p99(rows, "dcqcn", _LOAD, change))
        for label, change in names.items()
    }


def _gains_in_proportion(rows: pd.DataFrame) -> dict[str, Any]:
    found = _gains(rows, {"16": ""})
    for degree, reading in _IN_PROPORTION.items():
        of = of_reading(rows, reading)
        found[f"{degree}"] = reduction(*(p99(of, one, _LOAD, f"degree {degree}") for one in ("dart", "dcqcn")))
    by_degree = {key: found[key] for key in sorted(found, key=int)}
    return {"reduction": by_degree, "26 less 6": by_degree["26"] - by_degree["6"]}


def _tokens(rows: pd.DataFrame) -> dict[str, float]:
    one, four, eight = (
        p99(rows, "dart", _LOAD, name) for name in ("FlowDeflection.tokens 1", "", "FlowDeflection.tokens 8")
    )
    to_four, to_eight = reduction(four, one), reduction(eight, four)
    return {"1 to 4": to_four, "4 to 8": to_eight, "ratio": to_eight / to_four if to_four else float("nan")}


def _disorder(rows: pd.DataFrame) -> Measured:
    # Behind a flow of 1 GB on the same queue pair a short one never finishes; that is no deadlock.
    rows = rows[~rows["changes"].str.contains("1 GB")]
    words = f"{len(rows)} runs, {int(rows['deflections'].sum()):,} deflections, {int(rows['pauses'].sum()):,} pauses"
    return Measured({"packets out of order": rows["refused"].sum(), "unfinished": rows["unfinished"].sum()}, words)


_IS_GAIN = AtLeast(NOTICEABLE)
_ALL = changes("paper")


class Sensitivity(ClosFigure):
    name = "dart.sensitivity"
    claims = (
        claim("dart-f14s-1", measure=_at_20_kb, band=AtMost(0.05), direction=LessThan(0.9), needs=_ALL),
        claim("dart-f14s-2", measure=lambda rows: _gains(rows, {"6": "degree 6", "16": "", "26": "degree 26"}),
              band=Ordered("<="), needs=_ALL, seeds=SEEDS),
        claim("dart-f14s-2a", measure=_gains_in_proportion, band=At("reduction", Ordered("<=")),
              direction=At("26 less 6", _IS_GAIN), needs=_ALL),
        claim("dart-f14s-3", measure=lambda rows: _gains(rows, {f"{size / 1e3:g} KB": f"{size} B" for size in _SIZES}),
              band=Each(Part(0.79), "size"), direction=Each(_IS_GAIN), needs=_ALL, seeds=SEEDS),
        claim("dart-x-3", measure=_tokens, band=All({"1 to 4": _IS_GAIN, "ratio": LessThan(0.5, "x")}),
              direction=All({"1 to 4": _IS_GAIN, "ratio": LessThan(1, "x")}), needs=_ALL, seeds=SEEDS),
        claim("dart-x-7a", measure=_disorder, band=Each(Exactly(0)), needs=_ALL),
    )  # fmt: skip

    under = Experiment.under  # at 40% all readings have 128 groups

    def seeds_of(self, case: ClosCase) -> int:
        return 1 if case.reading in _IN_PROPORTION.values() else self.seeds

    def cases(self, scale: str) -> list[ClosCase]:
        return changes(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        load, colours = rows["load"].max(), dict(zip(VARIANTS, COLOURS))
        groups = rows["reading"].map(lambda label: "" if label == kept(128) else f" ({label})")
        rows = rows.assign(groups=groups)[having(rows, load=load)].sort_values(
            "groups", kind="stable"
        )  # first with 128
        looks = {
            (scheme, change, more): (f"{VARIANTS[scheme]}, {change or 'as published'}{more}", colours[scheme])
            for scheme, change, more in rows[["scheme", "changes", "groups"]].itertuples(index=False)
        }
        by = ("scheme", "changes", "groups")
        panel = Bars(quantity="p99", looks=looks, by=by, is_flat=True, unit="us", label="p99 of the flows")
        return self.drawn([panel], rows, f", typical mix, {load:.0%}", size=(7.2, 0.8 + 0.3 * len(looks)))
