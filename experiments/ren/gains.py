"""REN, figures 15 to 18 together: REN's gains over each baseline, by workload and load."""

from __future__ import annotations

from rdmacc.experiments.ren.fig15 import Figure15
from rdmacc.experiments.ren.fig16 import Figure16
from rdmacc.experiments.ren.fig18 import Figure18
from rdmacc.experiments.ren.leaf_spine_readings import LeafSpineReadings
from ..api import *
from .leaf_spine import *
from .loads import *
from .setup import *

HEADLINE = 0.68
"""Largest reduction of the AFCT over pHost, Homa and NDP (abstract, sections 1 and 8)."""
NEAR = 0.1
"""Largest distance from it that counts as near."""
_CREDIT = ("phost", "homa")
_STATE_OF_THE_ART = ("phost", "homa", "ndp")
_HIGH = (0.5, 0.6, 0.7)
_AXES = {
    "AFCT, short": "short flows:\nAFCT reduced by",
    "p99 FCT, short": "short flows:\np99 FCT reduced by",
    "throughput, long": "long flows:\nthroughput raised by",
    "AFCT": "all flows:\nAFCT reduced by",
}
_LARGE, _SMALL = ("data_mining", "web_search"), ("hadoop", "cache_follower")


def gain(rows: pd.DataFrame, quantity: str, other: str, workload: str, changes: str = "") -> pd.Series[float]:
    """Return REN's relative gain over another scheme, by load: reduced times, or increased throughput."""
    ren, its = (mean_of(rows, quantity, one, workload, changes) for one in ("ren", other))
    return ren / its - 1 if quantity == "throughput, long" else 1 - ren / its


def _by_baseline(quantity: str, workload: str, rows: pd.DataFrame) -> pd.DataFrame:
    found = {one: gain(rows, quantity, one, workload) for one in BASELINES}
    return pd.DataFrame(found).melt(var_name="scheme", value_name="gain", ignore_index=False).reset_index()


def _short_flows(rows: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    best = max(float(gain(rows, "AFCT, short", "expresspass", name).max()) for name in WORKLOADS)
    return {"lowest": lowest_shares(short_flows(rows, *WORKLOADS)), "most below ExpressPass": best}


def _gains(rows: pd.DataFrame, quantity: str, others: Sequence[str]) -> dict[str, pd.DataFrame]:
    """Return REN's gain over each of some schemes by load, for each workload by its title."""
    return {
        title: pd.DataFrame({one: gain(rows, quantity, one, name) for one in others})
        for name, title in WORKLOADS.items()
    }


def _long_flows(rows: pd.DataFrame) -> dict[str, Any]:
    gains = _gains(rows, "throughput, long", _CREDIT)
    return {
        how: labelled({one: {title: found[one].agg(how) for title, found in gains.items()} for one in _CREDIT})
        for how in ("mean", "min")
    }


def _gain_by_workload(rows: pd.DataFrame) -> dict[str, Any]:
    means = pd.Series({title: of.mean().mean() for title, of in _gains(rows, "throughput, long", _CREDIT).items()})
    large, small = (means[[WORKLOADS[name] for name in some]] for some in (_LARGE, _SMALL))
    return {"many large flows": large, "fewer": small, "the first less the second": large.mean() - small.mean()}


def _expresspass(rows: pd.DataFrame) -> dict[str, float]:
    def most(other: str, name: str) -> float:
        its, theirs = (mean_of(rows, "throughput, long", one, name) for one in ("expresspass", other))
        return float((its / theirs)[list(_HIGH)].max())

    return labelled({other: max(most(other, name) for name in WORKLOADS) for other in ("ren", "ndp")})


def _mean_by_load(gains: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, float]]:
    return {title: named(found.loc[[0.3, 0.7]].mean(axis=1), "load {:g}") for title, found in gains.items()}


def _grows_with_load(rows: pd.DataFrame) -> dict[str, Any]:
    gains = _gains(rows, "AFCT", BASELINES)
    return {"mean": _mean_by_load(gains), "least at 0.7": {title: of.loc[0.7].min() for title, of in gains.items()}}


def _lowest_in(quantity: str, workloads: tuple[str, ...], rows: pd.DataFrame) -> dict[str, float]:
    values = {
        name: pd.DataFrame({one: mean_of(rows, quantity, one, name) for one in SCHEMES}) for name in workloads
    }  # fmt: skip
    return {WORKLOADS[name]: lowest_shares(frame)[LOOKS["ren"][0]] for name, frame in values.items()}


def _headline(rows: pd.DataFrame) -> Measured:
    best = {
        quantity: max(
            (float(found[one].max()), f"{LOOKS[one][0]}, {title}")
            for title, found in _gains(rows, quantity, _STATE_OF_THE_ART).items()
            for one in found
        )
        for quantity in ("AFCT", "AFCT, short", "p99 FCT, short")
    }
    words = "; ".join(f"{quantity} {value:.0%} ({where})" for quantity, (value, where) in best.items())
    return Measured(best["AFCT"][0], words)


def _statistics(rows: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    mining = rows[rows["workload"] == "data_mining"]
    shares = {kind: (mining[f"flows, {kind}"] / mining["flows"]).mean() for kind in ("short", "long")}
    means = rows.groupby("workload")["bytes in the largest tenth"].mean()
    return {**shares, "bytes in the largest tenth": {title: means[name] for name, title in WORKLOADS.items()}}


_EVERYWHERE, _IN_HALF = (Each(AtLeast(share), of="workload") for share in (1.0, 0.5))
_GROWS = All(Ordered("<="), {"load 0.7": MoreThan(0)})
_SHORT = {"short": Between(0.8, 0.85)}
_LARGER = {"the first less the second": MoreThan(0)}
_claim = partial(claim, needs=tuple(cases(WORKLOADS, LOADS["paper"])))


class Gains(LeafSpineReadings):
    name = "ren.gains"
    claims = (
        _claim("ren-f15-1", measure=_short_flows, band=All({"lowest": LOWEST, "most below ExpressPass": Part(0.75)}),
               direction=All({"lowest": LOWEST_IN_HALF, "most below ExpressPass": AtLeast(0.3)})),
        _claim("ren-f15c-1", measure=_long_flows,
               band=All({"mean": Each(Each(AtLeast(0.1), of="workload"), of="scheme"), "min": Each(POSITIVE)}),
               direction=At("mean", Each(POSITIVE, of="scheme"))),
        _claim("ren-f15c-2", measure=_gain_by_workload, band=All({"many large flows": POSITIVE}, _LARGER),
               direction=All(_LARGER)),
        _claim("ren-f15c-3", measure=_expresspass, band=Each(LessThan(1))),
        _claim("ren-f15d-2", measure=_grows_with_load,
               band=All({"mean": Each(Ordered("<="), of="workload"), "least at 0.7": POSITIVE}),
               direction=At("mean", Some(_GROWS, count=3, of="the workloads"))),
        _claim("ren-f15b-2", measure=partial(_lowest_in, "p99 FCT, short", ("web_search", "hadoop", "cache_follower")),
               band=_EVERYWHERE, direction=_IN_HALF),
        _claim("ren-f15d-3", measure=partial(_lowest_in, "AFCT", ("data_mining", "hadoop")), band=_IN_HALF),
        _claim("ren-f15c-4", measure=lambda rows: _mean_by_load(_gains(rows, "throughput, long", _CREDIT)),
               band=Each(_GROWS, of="workload"),
               direction=Some(_GROWS, count=3, of="the workloads")),
        _claim("ren-x-1", measure=_headline, band=Within(HEADLINE, by=NEAR), direction=AtLeast(HEADLINE / 2)),
        _claim("ren-x-2", measure=lambda rows: rows["oversubscription"].agg(["min", "max"]), band=Each(Exactly(6))),
        _claim("ren-x-3", measure=_statistics,
               band=All(_SHORT, {
                  "long": Between(0.07, 0.12), "bytes in the largest tenth": Each(MoreThan(0.9), of="workload"),
               }), direction=All(_SHORT)),
    )  # fmt: skip
    read_at = WorkloadFigure.read_at

    def assumed(self, scale: str) -> list[LeafSpineCase]:
        return cases(WORKLOADS, LOADS[scale])

    def draw(self, rows: pd.DataFrame) -> Figure:
        published = {one.workload: one.published for one in (Figure15, Figure16, Figure18)}
        ran = [name for name in WORKLOADS if having(rows, workload=name).any()]
        panels: list[Panel] = []
        for quantity, name in product(PANELS, ran):
            axes = {"ylabel": f"{_AXES[quantity]} (%)" if name == ran[0] else "", "xlabel": load_label(rows)}
            words = {"title": WORKLOADS[name], "axes": axes, "of": partial(_by_baseline, quantity, name)}
            gains = published.get(name, {}).get(quantity, {})
            panels.append(gain_lines(gains, 0.7, over="load", **words))
        return self.drawn(panels, rows, columns=len(ran), size=(2.7, 2.4), sharex=True, legend="outside right upper")
