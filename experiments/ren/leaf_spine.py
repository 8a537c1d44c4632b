"""REN's leaf-spine simulations (section 6), for figures 14 to 19, their summary and the sensitivity study."""

from rdmacc.interface import HOST_NIC
from rdmacc.workload import SizeDistribution
from ..api import *
from .setup import *

BASELINES = ("dctcp", "phost", "homa", "ndp", "expresspass", "aeolus")
SCHEMES = ("ren", *BASELINES)
WORKLOADS = {
    "data_mining": "Data Mining", "web_search": "Web Search", "hadoop": "Hadoop Cluster",
    "cache_follower": "Cache Follower",
}  # fmt: skip
"""Names of the workloads, in the order of figures 15 to 18."""
LOADS = {"quick": (0.5, 0.7), "paper": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)}
TENTHS = range(1, 11)
"""Numbers of the tenths of messages by size."""

_SWITCHES = {("paper", 48): (48, 8, 8), ("paper", 8): (8, 8, 8), ("quick", 48): (12, 3, 2), ("quick", 8): (4, 3, 4)}
"""Hosts per ToR, ToRs and cores, by scale and the paper's hosts per ToR."""
_MESSAGES = {"quick": 100, "paper": 5000}
_QUICK_CAP = "2MB"
UNTIL = "10s"
"""End of a run with unfinished messages."""


@dataclass(frozen=True)
class LeafSpineCase:
    """The parameters that distinguish a run."""

    scheme: str
    workload: str
    load: float
    hosts_per_leaf: int = 48
    """Hosts per ToR: 48, or 8 in figure 19."""
    load_of: str = "core"
    """Links to which the load refers: "core" or "host"."""
    is_shared: bool = False
    """Whether a whole switch, not a port, has 128 KB of buffer."""
    changes: tuple[tuple[str, Any], ...] = ()
    """Parameters of the scheme."""
    count: int = 0
    """Number of messages; 0: that of the scale."""

    @property
    def differences(self) -> str:
        """All parameters except scheme, workload, load and network, in words."""
        parts = ["load of hosts' links"] if self.load_of != "core" else []
        parts += ["128 KB a switch"] if self.is_shared else []
        parts += [f"{self.count:,} messages"] if self.count else []
        return ", ".join(parts + [f"{name} {value}" for name, value in self.changes])

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "scheme": self.scheme, "workload": self.workload, "load": self.load, "hosts": 8 * self.hosts_per_leaf,
            "changes": self.differences,
        }  # fmt: skip

    def run_as(self) -> Scheme:
        """Return the simulated scheme."""
        return scheme_of(self.scheme, self.changes)

    def point(self, scale: str, seed: int) -> Point:
        what = f"{self.scheme}, {self.workload} {self.load:.0%}, {8 * self.hosts_per_leaf} hosts"
        network = network_of(scale, self.hosts_per_leaf, self.is_shared)
        traffic = partial(messages, network, self.workload, scale, self.load, self.load_of, seed, count=self.count)
        return Point.of(
            ", ".join(filter(None, [what, self.differences, f"seed {seed}"])), self.identity | {"seed": seed},
            network=network, workload=traffic, scheme=self.run_as(), seed=seed, until=UNTIL,
            cost=sizes_of(self.workload, scale).mean * (self.count or _MESSAGES[scale]),
        )  # fmt: skip


def network_of(scale: str, hosts_per_leaf: int = 48, is_shared: bool = False) -> Callable[[], Graph]:
    """Return a function that builds the network of a scale, by the paper's hosts per ToR."""
    return partial(leaf_spine, *_SWITCHES[scale, hosts_per_leaf], is_shared=is_shared)


def leaf_spine(hosts_per_leaf: int, leaves: int, spines: int, is_shared: bool = False) -> Graph:
    """Return REN's leaf-spine network, with 128 KB of buffer per port or per switch."""
    graph = topology.ren_leaf_spine(hosts_per_leaf, leaves, spines)
    if is_shared:
        for name in topology.switches(graph):
            graph.nodes[name]["buffer_bytes"] = 128_000  # section 6, read as per switch
    return graph


def sizes_of(name: str, scale: str) -> SizeDistribution:
    """Return the distribution of a workload's sizes; capped at quick scale."""
    sizes = workload.size_distribution(name)
    return sizes.capped(_QUICK_CAP) if scale == "quick" else sizes


def messages(
    network: Callable[[], Graph], name: str, scale: str, load: float, load_of: str, seed: int, repeats: int = 1,
    *, count: int = 0,
) -> pd.DataFrame:  # fmt: skip
    """Return messages of a workload between random pairs, at a load of the core's or of the hosts' links."""
    of = workload.LoadDefinition(load_of, payload_bytes=LOAD.payload_bytes, header_bytes=LOAD.header_bytes)
    return workload.poisson(
        network(), sizes_of(name, scale), load, of=of, count=count or repeats * _MESSAGES[scale], is_exact=True,
        seed=seed,
    )  # fmt: skip


@cache
def scheme_of(name: str, changes: tuple[tuple[str, Any], ...] = ()) -> Scheme:
    return SIMULATED[name].replace(**dict(changes))


def oversubscription(result: Result) -> float:
    """Return the rate of all hosts relative to the uplinks to the core."""
    fabric = result.plan.fabric
    rates = fabric.port_rate_bps
    return float(rates[fabric.port_class == HOST_NIC].sum() / rates[LOAD.ports(fabric)].sum())


def unfinished(flows: pd.DataFrame) -> int:
    return int((~flows["status"].isin(["finished", "delivered"])).sum())


def completion(size_bytes: npt.NDArray[np.int64], fct_ps: npt.NDArray[np.float64]) -> dict[str, tuple[float, str]]:
    """Return the quantities of figures 15 to 18 with their units."""
    is_short, is_long = size_bytes <= SHORT_BYTES, size_bytes > LONG_BYTES
    return {
        "AFCT": (fct_ps.mean(), "ps"),
        "AFCT, short": (fct_ps[is_short].mean(), "ps"),
        "p99 FCT, short": (np.percentile(fct_ps[is_short], 99), "ps"),
        "throughput, long": ((size_bytes * 8e12 / fct_ps)[is_long].mean(), "bps"),
    }


class LeafSpineFigure(CaseFigure):
    """A figure of these runs; all share their stored points."""

    name = "ren.leaf-spine"

    seeds = SEEDS["paper"]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, counters = result.flows, result.counters
        size, fct_ps = flows["size_bytes"].to_numpy(), fct_so_far_ps(result)
        slowdown = fct_ps / in_order_fct_ps(result)
        by_size = np.array_split(np.argsort(size, kind="stable"), len(TENTHS))
        hops = counters["data_packet_hops"] + counters["control_packet_hops"]
        numbers = {
            **completion(size, fct_ps),
            **{f"p99 slowdown, {k}": (np.percentile(slowdown[part], 99), "") for k, part in zip(TENTHS, by_size)},
            **{f"largest, {k}": (size[part].max(), "bytes") for k, part in zip(TENTHS, by_size)},
            "bytes in the largest tenth": (size[by_size[-1]].sum() / size.sum(), ""),
            "oversubscription": (oversubscription(result), ""),
            "flows": (len(flows), ""),
            "flows, short": ((size <= SHORT_BYTES).sum(), ""),
            "flows, long": ((size > LONG_BYTES).sum(), ""),
            "unfinished": (unfinished(flows), ""),
            "retransmissions": (flows["retransmissions"].sum(), ""),
            "timeouts": (flows["timeouts"].sum(), ""),
            "dropped": (counters["dropped_packets"], ""),
            "trimmed": (counters["trimmed_packets"], ""),
            "packet hops": (hops, ""),
        }
        return tidy(point.name, numbers)


LeafSpineFigure.points_of = LeafSpineFigure


def cases(
    workloads: Iterable[str], loads: Iterable[float], schemes: Sequence[str] = SCHEMES, **options: Any
) -> list[LeafSpineCase]:
    """Return a case for every scheme, workload and load."""
    return [LeafSpineCase(scheme, name, load, **options) for name in workloads for load in loads for scheme in schemes]
