"""Validation against the HPCC simulator (github.com/alibaba-edu/High-Precision-Congestion-Control): the same runs."""

from rdmacc.experiments.validation.flows import by_size, flows_of, percentiles, stored_flows, summary_rows, with_each
from rdmacc.experiments.validation.references import CLOSE_RUNS, by_run, distributions, dots, inexact
from ..api import *

SCHEMES = ("dcqcn", "dcqcn-paper", "hpcc", "timely", "dctcp")
INCASTS = {
    "8 x 200 kB": (8, 200_000),
    "8 x 1 MB": (8, 1_000_000),
    "8 x 10 MB": (8, 10_000_000),
    "32 x 1 MB": (32, 1_000_000),
}
TWO = "two flows"
CASES = (TWO, *INCASTS)
PERMUTATION, WEB_SEARCH = "permutation", "web search, 50%"
TRACES = {PERMUTATION: "permutation", WEB_SEARCH: "web_search_50"}
TRACE_SCHEMES = ("dcqcn", "hpcc", "timely", "dctcp")

CHAOTIC = ("hpcc, web search", "dctcp, web search")

_RANDOM = ("dcqcn", "dcqcn-paper")
_COSTS = {TWO: 4.0, "32 x 1 MB": 4.0, "8 x 10 MB": 10.0, PERMUTATION: 8.0, WEB_SEARCH: 100.0}

_LINKS = {"rate": "100Gbps", "delay": "1us", "buffer": "32MiB"}
_fabric = partial(topology.fat_tree, 8, **_LINKS)


def _senders(case: str) -> int:
    return INCASTS[case][0] if case in INCASTS else 8


def _workload(case: str) -> Any:
    if case in TRACES:
        return partial(stored_flows, f"hpcc_ns3_{TRACES[case]}")
    if case == TWO:
        return partial(workload.messages, [("h0", "h8", 25_000_000, 0), ("h1", "h8", 12_500_000, ms(1))])
    senders, size = INCASTS[case]
    return partial(workload.incast, [f"h{i}" for i in range(senders)], f"h{senders}", size)


def _late(table: pd.DataFrame) -> dict[str, float]:
    """Return the excess of TIMELY's last completion over line rate: all is sent before any queue shows."""
    return {
        case: flows_of(table, f"timely, {case}")["value"].max() - ns(84 * (packets + 1) + 4 * 1000 + 2 * 4)
        for case, packets in (("8 x 200 kB", 1_600), ("8 x 1 MB", 8_000))
    }


def _inexact(table: pd.DataFrame) -> dict[str, float]:
    found = inexact(table, "hpcc_ns3", ("hpcc, ", "dctcp, ", "timely, "))
    return {point: flows for point, flows in found.items() if not point.startswith(CHAOTIC)}


class HpccNs3(Experiment):
    name = "validation.hpcc_ns3"
    seed_stride = 10
    claims = (
        claim("validation-hpcc-1a", measure=lambda table: summary_rows(table)[["drops", "unfinished"]].sum(),
              band=Each(Exactly(0))),
        claim("validation-hpcc-2a", measure=_late, band=Each(Exactly(0))),
        claim("validation-hpcc-3a", measure=_inexact, band=Each(Exactly(0), of="run")),
        claim("validation-hpcc-3b", measure=partial(inexact, name="hpcc_ns3", start=CHAOTIC),
              band=Each(Exactly(0), of="run")),
        claim("validation-hpcc-3c", measure=partial(by_run, name="hpcc_ns3"), band=CLOSE_RUNS),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds, traces = (1, [PERMUTATION]) if check_scale(scale) == "quick" else (10, [*TRACES])
        for name, case in (*product(SCHEMES, CASES), *((name, case) for case, name in product(traces, TRACE_SCHEMES))):
            is_star, to = case in CASES, _senders(case)
            watch = [probes.queue("s0", f"h{to}", "100ns")] if is_star else ()
            for one in range(seed, seed + (seeds if name in _RANDOM and case != WEB_SEARCH else 1)):
                suffix = f", seed {one}" if one != seed else ""
                yield Point.of(
                    f"{name}, {case}{suffix}", {"scheme": name, "case": case, "seed": one},
                    network=partial(topology.star, to + 1, **_LINKS) if is_star else _fabric, workload=_workload(case),
                    scheme=preset("hpcc-ns3")[name], seed=one, probes=watch, cost=_COSTS.get(case, 1.0),
                )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows = result.flows
        fct = flows["fct_acked_ps"].to_numpy(np.float64)
        numbers: dict[str, tuple[float, str]] = {}
        if point.labels["case"] in CASES:
            queue = result.samples(f"queue s0->h{_senders(point.labels['case'])}")
            queue = queue[queue.index <= (flows["start_ps"] + flows["fct_acked_ps"]).max()]
            numbers |= {
                "queue, mean": (queue.mean(), "bytes"),
                "queue, p99": (queue.quantile(0.99), "bytes"),
                "queue, peak": (queue.max(), "bytes"),
            }
        if point.labels["case"] == WEB_SEARCH:
            numbers |= by_size("FCT", fct, flows["size_bytes"])
        numbers |= percentiles("FCT", fct) | {
            "PFC pauses": (result.counters.pfc_pauses, ""),
            "drops": (result.counters.pfc_violations + result.counters.dropped_packets, ""),
            "unfinished": (int((flows["status"] != "finished").sum()), ""),
        }
        return with_each(point, flows, fct, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {"queue, mean": ("mean", "green"), "queue, p99": ("p99", "vermilion")}
        queue = partial(Bars, "", looks, by="quantity", over="scheme", unit="KB", label="queue", log="y", tilt=90.0)
        panels: list[Panel] = [
            dots("hpcc_ns3", {one: f"{one}, {case}" for one in SCHEMES}, case, axes={"ylim": (0, None)})
            for case in CASES
        ]
        flows = [
            distributions("hpcc_ns3", {one: f"{one}, {case}" for one in TRACE_SCHEMES}, case, log="x")
            for case in TRACES
        ]
        queues = [queue(where={"case": case}, axes={"xlabel": ""}) for case in CASES]
        more = ": blue and solid ours, orange and dashed the simulator's"
        return self.drawn(
            [*panels, flows[0], *queues, flows[1]],
            table,
            more,
            columns=6,
            size=(2.5, 3.2),
            legend="outside lower center",
        )
