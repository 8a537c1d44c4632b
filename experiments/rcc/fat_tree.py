"""RCC at 320 hosts and 100 Gb/s, for figures 9, 10, 11 and 13."""

from __future__ import annotations

from rdmacc.protocols.homa import Homa
from rdmacc.workload import SIZES, SizeDistribution
from ..api import *
from .setup import *

LOADS = (0.3, 0.5, 0.7)
QUICK_LOADS = (0.3, 0.7)
DCQCN, OTHER_DCQCN = "dcqcn-cnp", "dcqcn"
"""DCQCN as in the code that V-A names, with CNPs, and as in HPCC's simulator."""
SCHEMES = ("rcc", "hpcc", "homa", "expresspass", DCQCN, "timely")
VARIANTS = ("rcc", "rcc-pid", "rcc-ewa")
SEEDS = 3
SHORT_BYTES = 100_000
LONG_BYTES = 1_000_000
SIZE_BINS = {
    "up to 10 KB": 0, "10 to 100 KB": 10_000, "0.1 to 1 MB": 100_000, "1 to 10 MB": 1_000_000,
    "above 10 MB": 10_000_000,
}  # fmt: skip
"""Lower bounds of the size bins."""
UNTIL_PS = ms(1000)
QUICK_CAP = "3MB"
Changes = tuple[tuple[str, Any], ...]
HOMA: dict[str, Changes] = {
    "RTTbytes of 9.7 kB": (("rtt_bytes", "9.7kB"),),
    "RTTbytes of 60 kB": (("rtt_bytes", "60kB"),),
    "RTTbytes of 75 kB": (("rtt_bytes", "75kB"),),
    "RTTbytes of 97 kB": (("rtt_bytes", "97kB"),),
    "NICs without SRPT": (("nic_order", "round-robin"),),
}
"""Readings of Homa."""
_ONE_SEED = {*HOMA.values(), (("ewa_eta", 0.99),), (("has_floor", False),)}
"""Changes that only run with the first seed."""
READINGS: dict[str, tuple[str, str, Changes]] = {
    "12 us for all paths": ("rcc", "rcc", (("base_rtt_ps", "12us"),)),
    "equation (4) as printed": ("rcc", "rcc", (("pid_form", "accumulating"),)),
    "n = 100": ("rcc", "rcc", (("late_samples", 100),)),
    "99% of the link": ("rcc", "rcc", (("ewa_eta", 0.99),)),
    "no floor": ("rcc", "rcc", (("has_floor", False),)),
    "95% of the link": ("rcc", "rcc", (("ewa_eta", 0.95),)),
    **{name: ("homa", "homa", changes) for name, changes in HOMA.items()},
    "ECMP": ("homa", "homa", (("routing", "ecmp"),)),
    "first rate 1/2": ("expresspass", "expresspass", (("initial_fraction", 0.5),)),
    "DCQCN of HPCC's simulator": (DCQCN, OTHER_DCQCN, ()),
    "DCQCN of HPCC's simulator, own timers": (
        DCQCN, OTHER_DCQCN,
        (("alpha_period_ps", "50us"), ("decrease_period_ps", "50us"), ("increase_period_ps", "55us")),
    ),
    "TIMELY of HPCC's simulator": ("timely", "timely-hpcc", ()),
}  # fmt: skip
"""Readings of RCC and the baselines: the scheme in the figures, its replacement, and changed parameters."""


@dataclass(frozen=True)
class Workload:
    """Message sizes, and how long messages arrive."""

    name: str
    """Name in the paper."""
    paper_ms: float
    quick_ms: float
    """Duration of arrivals, by scale."""
    cap: str = ""
    """Largest message at paper scale; empty: no limit."""

    def arrival_ms(self, scale: str) -> float:
        return self.paper_ms if scale == "paper" else self.quick_ms


WORKLOADS = {
    "web_server": Workload("web server", 1, 0.2),
    "cache_follower": Workload("cache follower", 4, 0.3),
    "web_search": Workload("web search", 10, 0.4),
    "data_mining": Workload("data mining", 20, 0.4, cap="100MB"),
}
"""The workloads of V-A, fastest to simulate first."""


quick_tree = partial(topology.clos, 2, 2, 8, 2, 4, rate="100Gbps", fabric_rate="400Gbps", delay="1us", buffer="32MB")
"""A tenth of the fat tree: 32 hosts below 4 ToRs in 2 pods, with equal rates and delays, non-blocking."""
TREES: dict[str, Callable[[], Graph]] = {"quick": quick_tree, "paper": topology.rcc_fat_tree}


def sizes_of(name: str, scale: str) -> SizeDistribution:
    """Return the simulated sizes of a workload's messages."""
    cap = WORKLOADS[name].cap if scale == "paper" else QUICK_CAP
    return SIZES[name].capped(cap) if cap else SIZES[name]


def traffic(name: str, scale: str, load: float, seed: int) -> pd.DataFrame:
    duration = f"{WORKLOADS[name].arrival_ms(scale)}ms"
    return workload.poisson(TREES[scale](), sizes_of(name, scale), load, duration=duration, seed=seed)


def scheme_for(scheme: str, sizes: SizeDistribution, changes: Changes = ()) -> Scheme:
    """Return a scheme of RCC's preset with changes; Homa's priorities are fitted to the sizes."""
    one = preset("rcc-2021")[scheme].replace(**dict(changes))
    if not isinstance(one.recovery, Homa):
        return one
    divided = Homa.for_sizes(sizes, one.recovery.rtt_bytes)
    return replace(one, recovery=replace(one.recovery, cutoffs=divided.cutoffs, overcommit=divided.overcommit))


def differences(changes: Changes) -> str:
    return ", ".join(f"{name} {value}" for name, value in changes)


@dataclass(frozen=True)
class FatTreeCase:
    """The parameters that distinguish a run."""

    scheme: str
    workload: str
    load: float
    changes: Changes = ()
    """Parameters of the scheme."""
    trees: ClassVar[Mapping[str, Callable[[], Graph]]] = TREES

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "scheme": self.scheme, "workload": self.workload, "load": self.load, "changes": differences(self.changes),
        }  # fmt: skip

    def point(self, scale: str, seed: int) -> Point:
        arrival_ms = WORKLOADS[self.workload].arrival_ms(scale)
        labels = self.identity | {"arrival_ms": arrival_ms, "seed": seed}
        what = f"{self.scheme}, {WORKLOADS[self.workload].name} {self.load:.0%}"
        return Point.of(
            ", ".join(filter(None, [what, labels["changes"], f"seed {seed}"])), labels,
            network=self.trees[scale], workload=partial(traffic, self.workload, scale, self.load, seed),
            scheme=scheme_for(self.scheme, sizes_of(self.workload, scale), self.changes), seed=seed, until=UNTIL_PS,
            cost=self.load * arrival_ms,
        )  # fmt: skip


class FatTreeFigure(CaseFigure):
    """A figure of these runs; all share their stored points."""

    name = "rcc.fat-tree"

    seeds = SEEDS

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        if reading not in READINGS:
            return super().under(table, reading)
        default, other, changes = READINGS[reading]
        rows = {"scheme": other, "changes": differences(changes)}
        found = in_place(table, {"scheme": default, "changes": ""}, rows)
        if found is None:
            return None
        ran = table.loc[having(table, **rows), "seed"]
        return found[found["seed"].isin(ran)].reset_index(drop=True)  # the same flows for all schemes

    def seeds_of(self, case: FatTreeCase) -> int:
        return 1 if case.changes in _ONE_SEED else self.seeds

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, ports = result.flows.reset_index(drop=True), result.ports
        counts = (flows["start_ps"] >= ms(point.labels["arrival_ms"]) / 5).to_numpy()
        fct_ps, size = pd.Series(fct_so_far_ps(result)), flows["size_bytes"].to_numpy()
        peak = ports.groupby("link_class")["peak_queue_bytes"].max()
        slowdown = fct_ps / in_order_fct_ps(result)
        chosen_by = {"all": counts, "short": counts & (size < SHORT_BYTES), "long": counts & (size > LONG_BYTES)}
        for name, (least, most) in zip(SIZE_BINS, pairwise([*SIZE_BINS.values(), np.inf]), strict=True):
            chosen_by[name] = counts & (size > least) & (size <= most)
        numbers: dict[str, tuple[Any, str]] = {}
        for name, chosen in chosen_by.items():
            numbers |= {
                f"{name} flows": (chosen.sum(), ""),
                f"{name} mean": (fct_ps[chosen].mean(), "ps"),
                f"{name} p99": (fct_ps[chosen].quantile(0.99), "ps"),
                f"{name} slowdown": (slowdown[chosen].mean(), ""),
                f"{name} p99 slowdown": (slowdown[chosen].quantile(0.99), ""),
            }
        numbers |= {
            "least slowdown": (slowdown[counts].min(), ""),
            "unfinished": ((flows["status"] != "finished").sum(), ""),
            "retransmissions": (flows["retransmissions"].sum(), ""),
            "pauses": (ports["pauses"].sum(), ""),
            "dropped": (ports["dropped_packets"].sum() + ports["violations"].sum(), ""),
            "peak queue, last hop": (peak["last_hop"], "bytes"),
            "peak queue, in network": (peak["in_network"], "bytes"),
            "packet hops": (ports["tx_data_packets"].sum() + ports["tx_control_packets"].sum(), ""),
        }
        return tidy(point.name, numbers)


FatTreeFigure.points_of = FatTreeFigure


def cases(schemes: Iterable[str], workloads: Iterable[str], scale: str) -> list[FatTreeCase]:
    """Return a case for every scheme at every load of the given workloads, fastest first."""
    loads = LOADS if scale == "paper" else QUICK_LOADS
    return [FatTreeCase(scheme, name, load) for name in workloads for load in loads for scheme in schemes]


def means(rows: pd.DataFrame, quantity: str, scheme: str, name: str) -> pd.Series[float]:
    """Return the mean of a quantity over seeds, by load."""
    return by_load(rows, quantity, scheme=scheme, workload=name, changes="").mean()


def reductions(rows: pd.DataFrame, quantity: str, other: str, name: str) -> pd.Series[float]:
    """Return RCC's relative reduction of a quantity compared with another scheme, by load.

    Only common seeds count, which have the same flows.
    """
    own, its = (set(rows["seed"].to_numpy()[having(rows, scheme=one, workload=name)]) for one in ("rcc", other))
    if own != its:
        rows = rows[rows["seed"].isin(own & its)]
    return 1 - means(rows, quantity, "rcc", name) / means(rows, quantity, other, name)
