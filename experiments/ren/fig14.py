"""REN, figure 14: 99th percentile slowdown by flow size, four workloads at a load of 0.5."""

from rdmacc.experiments.ren.leaf_spine_readings import LeafSpineReadings
from ..api import *
from .leaf_spine import *
from .loads import *
from .setup import *

_LOAD = 0.5
PUBLISHED = {
    "data_mining": (11054, dict(zip(BASELINES, (0.09, 0.51, 0.39, 0.04, 0.06, 0.21), strict=True))),
    "cache_follower": (1809, dict(zip(BASELINES, (0.50, 0.35, 0.29, 0.14, 0.18, 0.20), strict=True))),
}
"""Size in packets and the reductions of the slowdown there (6.1)."""


def slowdowns(rows: pd.DataFrame, scheme: str, workload: str) -> np.ndarray:
    """Return the p99 slowdown of each tenth of the flows, averaged over seeds."""
    return _by_tenth(rows, "p99 slowdown", scheme, workload)


def largest(rows: pd.DataFrame, workload: str) -> np.ndarray:
    """Return the largest size in bytes of each tenth of the flows, averaged over seeds."""
    return _by_tenth(rows, "largest", "ren", workload)


def _by_tenth(rows: pd.DataFrame, quantity: str, scheme: str, workload: str) -> np.ndarray:
    quantities = [f"{quantity}, {k}" for k in TENTHS]
    return by_load(rows, quantities, scheme=scheme, workload=workload, changes="").mean().loc[_LOAD].to_numpy()


def tenth_of(rows: pd.DataFrame, workload: str, packets: int) -> int:
    """Return the tenth of the flows, counted from 0, that contains a size in packets."""
    return int(np.searchsorted(largest(rows, workload)[:-1], packets * PAYLOAD_BYTES))


def gains(rows: pd.DataFrame, workload: str) -> np.ndarray:
    """Return REN's reduction of the p99 slowdown, by baseline and tenth."""
    ren = slowdowns(rows, "ren", workload)
    return np.array([reduction(ren, slowdowns(rows, one, workload)) for one in BASELINES])


def _at_size(workload: str, rows: pd.DataFrame) -> dict[str, float]:
    found = gains(rows, workload)[:, tenth_of(rows, workload, PUBLISHED[workload][0])]
    return labelled(dict(zip(BASELINES, found, strict=True)))


def _lowest(rows: pd.DataFrame) -> dict[str, float]:
    by_tenth = ({one: slowdowns(rows, one, workload) for one in SCHEMES} for workload in WORKLOADS)
    return lowest_shares(pd.concat([pd.DataFrame(values) for values in by_tenth], ignore_index=True))


def _grows_with_size(rows: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    """Return the correlation between tenths and mean gains."""
    found = {
        name: float(np.corrcoef(TENTHS, gains(rows, workload).mean(axis=0))[0, 1])
        for workload, name in WORKLOADS.items()
    }
    return {"by workload": found, "mean": float(np.mean([*found.values()]))}


def _tenths(workload: str, rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows[having(rows, workload=workload, load=_LOAD, changes="")]
    names = {f"p99 slowdown, {k}": k for k in TENTHS}
    return rows.rename(columns=names).melt(["scheme", "seed"], list(TENTHS), "tenth", "p99 slowdown")


def _panel(rows: pd.DataFrame, workload: str) -> Lines:
    """Return a workload's panel; hollow markers show where the published gains would put the baselines."""
    packets, published = PUBLISHED.get(workload, (0, {}))
    tenth = tenth_of(rows, workload, packets)
    ren = slowdowns(rows, "ren", workload)[tenth]
    sizes = [f"{size:,.0f}" for size in np.ceil(largest(rows, workload) / PAYLOAD_BYTES)]
    return Lines(
        "p99 slowdown", LINES, of=partial(_tenths, workload), over="tenth", log="y", title=WORKLOADS[workload],
        xlabel="flow size (packets); a tick is a tenth of the flows", tilt=90.0,
        axes={"xticks": TENTHS, "xticklabels": sizes},
        published={one: [(TENTHS[tenth], ren / (1 - gain))] for one, gain in published.items()},
    )  # fmt: skip


_ALL = tuple(cases(WORKLOADS, [_LOAD]))


def _published_claim(id: str, workload: str) -> Claim:
    published = PUBLISHED[workload][1]
    return claim(id, published=percents(published), measure=partial(_at_size, workload), direction=POSITIVE, needs=_ALL,
                 band=All({label: Part(value) for label, value in labelled(published).items()}))  # fmt: skip


class Figure14(LeafSpineReadings):
    name = "ren.fig14"
    claims = (
        _published_claim("ren-f14-1", "data_mining"),
        _published_claim("ren-f14-2", "cache_follower"),
        claim("ren-f14-3", measure=_lowest, band=At("REN", AtLeast(0.7)), direction=Highest("REN"), needs=_ALL),
        claim("ren-f14-4", measure=_grows_with_size, band=At("by workload", POSITIVE),
              direction=At("mean", MoreThan(0)), needs=_ALL),
    )  # fmt: skip
    read_at = MappingProxyType(dict.fromkeys(WorkloadFigure.read_at, (_LOAD,)))
    grid = MappingProxyType({"columns": 2, "size": (5.2, 3.5), "legend": "outside right upper"})

    def assumed(self, scale: str) -> list[LeafSpineCase]:
        return list(_ALL)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return self.drawn([_panel(rows, one) for one in WORKLOADS], rows, f", load {_LOAD}")
