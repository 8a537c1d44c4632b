"""The simulations of HPCC's paper: its fat tree, its traffic, and slowdowns as in its authors' scripts."""

from rdmacc.workload import LoadDefinition
from ..api import *

INCAST, BUSY, WEB = "hadoop, 30% and incast", "hadoop, 50%", "web search, 30%"
CASES = {INCAST: ("hadoop", 0.3, 0.02, us(3000)), BUSY: ("hadoop", 0.5, 0.0, us(1200)),
         WEB: ("web_search", 0.3, 0.0, us(1000))}  # fmt: skip
PODS = {"quick": (2, 2, 8, 2, 4), "paper": (5, 4, 16, 4, 16)}
QUICK_PS, SEEDS, LINK_PS = us(200), {"quick": 1, "paper": 6}, us(1)


def tree(scale: str) -> Graph:
    return topology.clos(*PODS[scale], rate="100Gbps", fabric_rate="400Gbps", delay=ps(LINK_PS), buffer="32MB")


def traffic(case: str, scale: str, seed: int) -> pd.DataFrame:
    """Return a case's messages; those of incasts have a group."""
    (sizes, load, incast, arrive_ps), is_quick = CASES[case], scale == "quick"
    fabric, of, span = tree(scale), LoadDefinition("host", header_bytes=0), ps(QUICK_PS if is_quick else arrive_ps)
    found = workload.poisson(fabric, sizes, load, of=of, duration=span, seed=seed)
    if not incast:
        return found
    until: dict[str, Any] = {"count": 1} if is_quick else {"duration": span}
    more = workload.incasts(fabric, 20 if is_quick else 60, "500kB", load=incast, of=of, seed=seed + 1000, **until)
    return workload.combine(found, more)


def slowdowns(result: Result, hosts: int, racks: int = 10**9) -> pd.DataFrame:
    """Return `size_bytes` and `slowdown` of messages outside incasts that start after the first fifth of the time.

    third.cc divides the time to the last ACK by base RTT and size (`standalone_fct`), here without telemetry, and
    fct_analysis.py excludes incasts. `hosts` share a rack and `racks` a pod: an ACK takes two links in a rack, four in
    a pod and six beyond.
    """
    flows, plain = result.flows, preset("hpcc-ns3")["dcqcn"].wire_bytes
    src, dst = (flows[end].str[1:].astype(int) // hosts for end in ("src", "dst"))
    back_ps = 2 * LINK_PS * (1 + (src != dst) + (src // racks != dst // racks))
    alone_ps = flows["ideal_fct_ps"].astype(float) * plain / result.plan.scheme.wire_bytes + back_ps
    is_counted = flows["group"].isna() & (flows["start_ps"] > flows["start_ps"].max() // 5)
    return flows.assign(slowdown=flows["fct_acked_ps"].astype(float) / alone_ps)[["size_bytes", "slowdown"]][is_counted]
