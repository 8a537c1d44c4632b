"""PowerTCP on the network of ns3-datacenter, with its schemes."""

from ..api import *

LOOKS = {"powertcp": ("PowerTCP", "blue"), "theta-powertcp": ("theta-PowerTCP", "sky"), "hpcc": ("HPCC", "green"),
         "timely": ("TIMELY", "orange"), "dcqcn": ("DCQCN", "vermilion")}  # fmt: skip
CONFIG: dict[str, dict[str, Any]] = {
    "hpcc": {"additive_bps": "50Mbps", "min_rate_bps": "100Mbps", "max_stage": 5, "unit_multiple": 1},
    "timely": {"additive_bps": "20Mbps", "hyper_bps": "40Mbps", "min_rate_bps": "100Mbps"},
    "dcqcn": {"additive_bps": "50Mbps", "hyper_bps": "100Mbps", "min_rate_bps": "100Mbps",
              "increase_period_ps": "900us"},
}  # fmt: skip
"""Parameters of config-burst.txt that differ from HPCC's simulator; TIMELY's steps are for 10 Gb/s and scale with
links."""


def scheme_of(name: str) -> Scheme:
    """Return a scheme of ns3-datacenter at 25 Gb/s."""
    if "power" in name:
        return preset("powertcp-ns3", "25Gbps")[name]
    return preset("hpcc-ns3", "25Gbps")[name].replace(name=name, **CONFIG[name])


def fabric(pods: int = 4) -> Graph:
    """Return the three tiers; each pod has 64 hosts."""
    graph = topology.clos(pods, 2, 32, 2, 4, rate="25Gbps", fabric_rate="100Gbps", delay="1us", buffer="4MiB")
    for one, other, link in graph.edges(data=True):
        if "core" in f"{one} {other}":
            link["delay_ps"] = us(5)
    return graph
