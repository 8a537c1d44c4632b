"""REN, figure 19: possible handicaps of REN or its baselines without oversubscription."""

from __future__ import annotations

from rdmacc.experiments.ren.leaf_spine import WORKLOADS, LeafSpineCase, LeafSpineFigure
from rdmacc.experiments.ren.least_queue import LeastQueue
from rdmacc.experiments.ren.loads import POSITIVE
from rdmacc.experiments.ren.setup import LOOKS, SIMULATED
from rdmacc.protocols.permuted_paths import PermutedPaths
from rdmacc.switch.ren_marker import RenMarker
from ..api import *

_NAMES = ("web_search", "hadoop", "cache_follower")
_LOADS = {"quick": (0.7,), "paper": (0.1, 0.3, 0.5, 0.7)}
LEAST, PATHS = "OVER by the least queue", "NDP's paths"
_TIMER = (("least_timeout_ps", "1ms"),)
TWO_MESSAGES = (("overcommit", 2),)
"""K x RTTbytes is 114 KB, which fits into a port's 128 KB."""
_case = partial(LeafSpineCase, hosts_per_leaf=8)


@dataclass(frozen=True)
class Variation(LeafSpineCase):
    """A run of REN with one part replaced."""

    part: str = ""

    @property
    def differences(self) -> str:
        return self.part

    def run_as(self) -> Scheme:
        """Return REN with that part replaced."""
        ren = SIMULATED["ren"]
        if self.part == PATHS:
            return replace(ren, control=(*ren.control, PermutedPaths()), routing="source")
        marker = ren.switch[0]
        assert isinstance(marker, RenMarker)
        return replace(ren, switch=(LeastQueue(base_rtt_ps=marker.base_rtt_ps, period_ps=marker.period_ps),))


def _varied(scale: str) -> list[LeafSpineCase]:
    places = list(product(_NAMES, _LOADS[scale]))
    found = [Variation("ren", *at, hosts_per_leaf=8, part=part) for part in (LEAST, PATHS) for at in places]
    found += [_case("ren", *at, changes=_TIMER) for at in places]
    return found + [_case(one, *at, changes=TWO_MESSAGES) for one in ("homa", "aeolus") for at in places]


def _times(rows: pd.DataFrame, scheme: str, name: str, changes: str = "") -> pd.Series[float]:
    return by_load(rows, "AFCT", scheme=scheme, workload=name, changes=changes).mean()


def _beside_ndp(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[having(rows, workload=name)]
    means = rows.groupby(["scheme", "changes", "load"], as_index=False)["AFCT"].mean()
    return means.assign(ratio=means["AFCT"] / means["load"].map(_times(rows, "ndp", name)))


def _over_ndp(changes: str, rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return REN's reduction of the AFCT relative to NDP, by workload and load."""
    gains = {name: 1 - _times(rows, "ren", name, changes) / _times(rows, "ndp", name) for name in _NAMES}
    return {WORKLOADS[name]: named(one, "load {:g}") for name, one in gains.items()}


def _at_low_load(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    found = _over_ndp(LEAST, rows)
    return {name: {load: of[load] for load in ("load 0.1", "load 0.3")} for name, of in found.items()}


def _cost_of_the_timer(rows: pd.DataFrame) -> dict[str, float]:
    changes = _case("ren", _NAMES[0], 0.1, changes=_TIMER).differences
    ratio = {name: _times(rows, "ren", name, changes) / _times(rows, "ren", name) for name in _NAMES}
    return {f"{WORKLOADS[name]}, {load}": value for name, of in ratio.items() for load, value in of.items()}


def _over_two_messages(rows: pd.DataFrame) -> dict[str, float]:
    changes = _case("homa", _NAMES[0], 0.1, changes=TWO_MESSAGES).differences
    return {
        LOOKS[one][0]: max(
            float(reduction(_times(rows, "ren", name), _times(rows, one, name, changes)).max()) for name in _NAMES
        )
        for one in ("homa", "aeolus")
    }


_BESIDE = [_case(*place) for place in product(("ren", "ndp"), _NAMES, _LOADS["paper"])]
_claim = partial(claim, needs=(*_varied("paper"), *_BESIDE))


class Handicaps(LeafSpineFigure):
    name = "ren.handicaps"
    seeds = 1
    claims = (
        _claim("ren-h-1a", measure=_at_low_load, band=Each(POSITIVE, of="workload")),
        _claim("ren-h-2a", measure=_cost_of_the_timer, band=Each(AtLeast(1), of="workload and load")),
        _claim("ren-h-3a",
               measure=lambda rows: max(value for of in _over_ndp(PATHS, rows).values() for value in of.values()),
               band=Part(0.04), direction=MoreThan(0)),
        _claim("ren-h-4a", measure=_over_two_messages, band=All({"Homa": Part(0.26), "Aeolus": Part(0.17)}),
               direction=POSITIVE),
    )  # fmt: skip

    def cases(self, scale: str) -> list[LeafSpineCase]:
        places = product(("homa", "aeolus", "ren", "ndp"), _NAMES, _LOADS[scale])
        return [*(_case(*place) for place in places), *_varied(scale)]

    def draw(self, rows: pd.DataFrame) -> Figure:
        timer, two = (_case("ren", "", 0.0, changes=one).differences for one in (_TIMER, TWO_MESSAGES))
        looks = {
            ("ren", ""): ("REN", "blue", "o-"), ("ren", LEAST): (LEAST, "sky", "o--"),
        ("ren", PATHS): (PATHS, "sky", "s:"),
            ("ren", timer): ("REN, timer of 1 ms", "purple", "x:"), ("homa", ""): ("Homa", "green", "^-"),
            ("homa", two): ("Homa, two messages", "green", "^--"), ("aeolus", ""): ("Aeolus", "orange", "P-"),
            ("aeolus", two): ("Aeolus, two messages", "orange", "P--"),
        }  # fmt: skip
        over = partial(Lines, quantity="ratio", looks=looks, by=("scheme", "changes"), over="load", log="y")
        panels = [
            over(of=partial(_beside_ndp, name), title=WORKLOADS[name], label="AFCT over NDP's", levels={"_": 1.0})
            for name in _NAMES
        ]
        return self.drawn(panels, rows, ", 64 hosts", size=(3.2, 3.8), sharey=True, legend="outside right upper")
