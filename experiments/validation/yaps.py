"""Validation against YAPS (github.com/NetSys/simulator), the simulator of pHost's authors: the same flows."""

from rdmacc.experiments.validation.flows import BINS, flows_of, measure_acked, stored_flows, unfinished
from rdmacc.experiments.validation.references import CLOSE, by_size, theirs
from ..api import *

WEB_SEARCH = "phost, web search, 50%"
FREE_PACKETS = 8
QUICK_FLOWS = 300

_PAYLOAD = 1460

_fabric = partial(topology.leaf_spine, 9, 4, 16, rate="100Gbps", fabric_rate="400Gbps", delay="200ns")


def _flows(count: int) -> pd.DataFrame:
    return stored_flows("yaps_web_search_50").iloc[:count]


def least_fct_ps(packets: Any) -> Any:
    """Return the time of a short flow alone, between hosts of one rack: announcement, packets, ACK.

    A control packet of 40 bytes takes 3.2 ns, 1,500 bytes take 120 ns, on each of two links with a delay of 200 ns.
    """
    return 3_200 + (packets + 1) * 120_000 + 2 * 3_200 + 4 * 200_000


def _by_size(table: pd.DataFrame) -> pd.DataFrame:
    flows = flows_of(table, WEB_SEARCH).merge(theirs("yaps"), on="flow", how="left")
    size = np.array([*BINS])[np.searchsorted([*BINS.values()], flows["size_bytes"])]
    return flows.assign(size=size).melt("size", ["value", "fct_ps"], "whose", "time")


def _quickest(table: pd.DataFrame) -> Measured:
    flows = flows_of(table, WEB_SEARCH)
    packets = np.ceil(flows["size_bytes"] / _PAYLOAD)
    short = packets <= FREE_PACKETS
    late_ps = (flows["value"] - least_fct_ps(packets))[short]
    return Measured(late_ps.min(), f"of {short.sum()} flows")


class Yaps(Experiment):
    name = "validation.yaps"
    claims = (
        claim("validation-yaps-1a", measure=unfinished, band=Exactly(0)),
        claim("validation-yaps-2a", measure=_quickest, band=Exactly(0)),
        claim("validation-yaps-3a", measure=partial(by_size, name="yaps"),
              band=Each(Each(Within(1, by=CLOSE)), of="class")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        flows = partial(_flows, QUICK_FLOWS if check_scale(scale) == "quick" else 2_000)
        yield Point.of(
            WEB_SEARCH, {"scheme": "phost", "case": "web search, 50%"},
            network=_fabric, workload=flows, scheme=preset("phost-yaps")["phost"], seed=seed,
        )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return measure_acked(point, result, with_sizes=True)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks: dict[Any, tuple[str, ...]] = {}
        for name, colour in zip(BINS, COLOURS):
            looks |= {(name, "value"): (name, colour, "-"), (name, "fct_ps"): ("_", colour, "--")}
        words: dict[str, Any] = {"unit": "us", "label": "completion time", "log": "x"}
        panel = Distributions("time", looks, by=("size", "whose"), of=_by_size, **words)
        return self.drawn([panel], table, " (dashed)", size=(6, 3.5), legend="outside right upper")
