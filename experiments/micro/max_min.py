"""Errors of max-min fair sharing against packets, by load and size: the record of `rdmacc.models.MaxMin`.

Web search on a leaf-spine network of 64 hosts (8 leaves, 8 spines, 100 Gb/s, 1 us a link), 2,000 messages at each load.
For messages that wait for others: eight simultaneous ring all-reduces whose paths collide, the i-th among the hosts i
of all leaves, of 16 MB and later of 0.4 MB.

``python -m rdmacc.experiments.micro.max_min`` runs them all in some minutes and writes the record.
"""

from rdmacc.models.comparison import compare
from rdmacc.models.max_min import MaxMin
from rdmacc.models.max_min_record import CHAINS, RECORD, size_classes
from rdmacc.workload import nccl
from ..api import *

SCHEMES = ("dcqcn", "hpcc", "nscc", "dasr")
LOADS = (0.2, 0.4, 0.6, 0.8)
_COUNT = 2000


def _network() -> topology.Graph:
    return topology.leaf_spine(8, 8, 8, rate="100Gbps", delay="1us")


def _chains(network: topology.Graph) -> pd.DataFrame:
    """Return rings of host i of every leaf, large ones and later small ones."""
    hosts = topology.hosts(network)
    sizes = {"16MB": "0us", "0.4MB": "50ms"}
    return workload.combine(
        *(nccl.all_reduce(hosts[i::8], size, start=start) for size, start in sizes.items() for i in range(8))
    )


def errors(scheme: str, load: float | None, count: int = _COUNT) -> pd.DataFrame:
    """Return the rows of the record for a scheme and a load."""
    network = _network()
    work = _chains(network) if load is None else workload.poisson(network, "web_search", load, count=count)
    found = compare(MaxMin(network=network, workload=work, scheme=scheme))
    rows = found.frame[found.frame["quantity"] == "FCT"]
    classes = size_classes(found.result.flows["size_bytes"].to_numpy()[: len(rows)])
    parts = []
    for number in np.unique(classes).tolist():
        error = rows["relative"][classes == number]
        parts.append(
            {
                "scheme": scheme, "load": CHAINS if load is None else f"{load:g}", "size_class": number,
                "messages": len(error), "median_error": error.abs().median(),
                "p90_error": error.abs().quantile(0.9), "bias": error.mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(parts)


def main() -> None:
    """Write the record."""
    tables = [errors(scheme, load) for scheme in SCHEMES for load in (*LOADS, None)]
    pd.concat(tables, ignore_index=True).round(4).to_csv(RECORD, index=False)


if __name__ == "__main__":
    main()
