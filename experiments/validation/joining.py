"""Flows that join under ExpressPass: their convergence times on the networks of its authors' simulator."""

from rdmacc.experiments.validation.flows import peak_queue
from ..api import *

WEIGHTS = {"w 1/16": 0.0625, "w 1/2": 0.5}
"""Initial weights of the simulator's scripts and of the paper (Cho et al., SIGCOMM 2017, section 5)."""
TWO, TEN = "two flows", "ten to one"
BUFFER = "1GB"
"""Above the port limits, so it is never reached."""
HOST_LINK_PS = us(4.5)
"""5 us from host to switch and 4 us back in the simulator; host links have a single delay here."""

_FAIR, _JAIN = 1.1, 0.95
_DUMBBELL = {"10G": (us(10), ms(5), ms(20)), "100G": (us(2), ms(1), ms(5))}
"""Link delay, time of the join, end of the run."""
_SENDERS = [f"h{6 * 3 * i}" for i in range(1, 11)]
"""Senders of "ten to one", each in a different rack; the receiver is h0."""


def fat_tree() -> Graph:
    """Return the fat tree of ns2-xpass, large-scale-fattree.tcl; each agg connects to the cores of its parity."""
    graph = topology.clos(8, 4, 6, 2, 8, rate="10Gbps", delay="4us", buffer=BUFFER)
    for host in topology.hosts(graph):
        for switch in graph[host]:
            graph.edges[host, switch]["delay_ps"] = HOST_LINK_PS
    return nx.relabel_nodes(graph, {f"core{i}": f"core{2 * (i % 4) + i // 4}" for i in range(8)})


def scheme_of(rate: str, weight: str) -> Scheme:
    return preset("expresspass-2017").at(f"{rate}bps")["expresspass"].replace(initial_weight=WEIGHTS[weight])


def joining_point(case: str, rate: str, weight: str, seed: int, more: Mapping[str, Any] | None = None) -> Point:
    """Return a point of `TWO` flows at "10G" or "100G", or of `TEN` at "10G", with the labels `more`."""
    if case == TWO:
        delay_ps, join_ps, until_ps = _DUMBBELL[rate]
        network: Any = partial(topology.dumbbell, 2, 2, rate=f"{rate}bps", delay=ps(delay_ps), buffer=BUFFER)
        pairs = [("h0", "h2"), ("h1", "h3")]
    else:
        network, join_ps, until_ps = fat_tree, ms(5), ms(20)
        pairs = [(sender, "h0") for sender in _SENDERS]
    endless = [(*pair, 2 * 10**9, ps(join_ps if flow else 0)) for flow, pair in enumerate(pairs)]
    more = more or {}
    name = ", ".join([case, rate, weight, *(f"{key} {value}" for key, value in more.items())])
    return Point.of(
        name, {"case": case, "rate": rate, "weight": weight, **more},
        network=network, workload=partial(workload.messages, endless), seed=seed, until=until_ps,
        scheme=scheme_of(rate, weight),
        probes=[probes.field("flow", flow, "received_packets") for flow in range(len(pairs))],
        cost=1.0 if case == TWO else 2.0,
    )  # fmt: skip


def queues(result: Result) -> dict[str, tuple[float, str]]:
    return peak_queue(result) | {"drops, credits too": (result.counters.dropped_packets, "")}


def measure_joining(point: Point, result: Result) -> pd.DataFrame:
    """Return the convergence time of flows of `joining_point` after the last join, and their goodput per base RTT."""
    rtt_ps = int(result.plan.qp_base_rtt_ps.max())
    held = [result.samples(f"received_packets {i}") for i in range(len(result.flows))]
    join_ps = max(int(packets.index[packets > 0][0]) for packets in held)
    edges = np.arange(join_ps % rtt_ps, result.now_ps, rtt_ps)  # one edge at the last flow's first packet
    counts = np.array([p.to_numpy()[np.searchsorted(p.index, edges, side="right") - 1] for p in held])
    goodputs = np.diff(counts) * result.plan.scheme.payload_bytes * 8e12 / rtt_ps
    after = edges[1:] > join_ps
    fairness = np.array([jain(shares) for shares in goodputs.T[after]])
    fair = np.flatnonzero(goodputs[0, after] <= _FAIR * goodputs[:, after].mean(axis=0))
    equal = np.flatnonzero(fairness >= _JAIN)
    numbers = queues(result) | {
        "base RTT": (rtt_ps, "ps"),
        "join": (join_ps, "ps"),
        "RTTs to converge": (fair[0] + 1 if len(fair) else np.nan, ""),
        "RTTs to Jain's index": (equal[0] + 1 if len(equal) else np.nan, ""),
        "Jain's index, last half": (float(np.mean(fairness[len(fairness) // 2 :])), ""),
        "goodput": (float(goodputs.sum(axis=0)[after].mean()), "bps"),
    }
    times = pd.Index(edges[1:], name="time_ps")
    curves = {f"goodput {i}": (pd.Series(series, index=times), "bps") for i, series in enumerate(goodputs)}
    return tidy(point.name, numbers, curves)
