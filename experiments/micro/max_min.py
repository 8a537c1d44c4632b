"""Errors of max-min fair sharing against packets, by load and size: the record of `rdmacc.models.MaxMin`.

Web search on a leaf-spine network of 64 hosts (8 leaves, 8 spines, 100 Gb/s, 1 us a link), 2,000 messages at each load.
``python -m rdmacc.experiments.micro.max_min`` runs them all in some minutes and writes the record.
"""

from rdmacc.models.comparison import compare
from rdmacc.models.max_min import RECORD, MaxMin, size_classes
from ..api import *

SCHEMES = ("dcqcn", "hpcc", "nscc", "dasr")
LOADS = (0.2, 0.4, 0.6, 0.8)
_COUNT = 2000


def errors(scheme: str, load: float, count: int = _COUNT) -> pd.DataFrame:
    network = topology.leaf_spine(8, 8, 8, rate="100Gbps", delay="1us")
    work = workload.poisson(network, "web_search", load, count=count)
    found = compare(MaxMin(network=network, workload=work, scheme=scheme))
    rows = found.frame[found.frame["quantity"] == "FCT"]
    classes = size_classes(found.result.flows["size_bytes"].to_numpy()[: len(rows)])
    parts = []
    for number in np.unique(classes).tolist():
        error = rows["relative"][classes == number]
        parts.append(
            {
                "scheme": scheme, "load": f"{load:g}", "size_class": number,
                "messages": len(error), "median_error": error.abs().median(),
                "p90_error": error.abs().quantile(0.9), "bias": error.mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(parts)


def main() -> None:
    tables = [errors(scheme, load) for scheme in SCHEMES for load in LOADS]
    pd.concat(tables, ignore_index=True).round(4).to_csv(RECORD, index=False)


if __name__ == "__main__":
    main()
