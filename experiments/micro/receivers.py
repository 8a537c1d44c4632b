"""Micro-benchmarks of the receiver-driven schemes, with their registered defaults, on a common network."""

from __future__ import annotations

from rdmacc.experiments.validation.flows import by_size, lines_by_size, measure_delivered, percentiles
from ..api import *

RECEIVERS = ("expresspass", "expresspass-aeolus", "homa", "homa-aeolus", "ndp", "phost", "ren", "rcc")
LOADS = (50, 80)
INCAST_BYTES = 64_000
INCAST = "incast"
_SAMPLE_PS = us(50)


def _network(scale: str) -> Graph:
    leaves, spines, each, uplink = (4, 2, 4, "200Gbps") if scale == "quick" else (9, 4, 16, "400Gbps")
    return topology.leaf_spine(
        leaves, spines, each, rate="100Gbps", fabric_rate=uplink, delay="200ns", buffer=leaves * each * 2_000_000
    )


def _messages(scale: str) -> int:
    return 30 if scale == "quick" else 2000


def _web_search(scale: str, load: int, seed: int) -> pd.DataFrame:
    return workload.poisson(_network(scale), "web_search", load / 100, count=_messages(scale), seed=seed)


def _of_the_load(rows: pd.DataFrame) -> pd.Series[float]:
    rows = rows[rows["case"] != INCAST]
    return rows["goodput"] / 1e9 / rows["case"].str.extract(r"(\d+)%")[0].astype(float)


def delivered_bytes(result: Result, start_ps: int, end_ps: int) -> float:
    held = result.probes.pivot(index="time_ps", columns="probe", values="value")
    packets = held.loc[end_ps].to_numpy(np.float64) - held.loc[start_ps].to_numpy(np.float64)
    return float(packets.sum()) * result.plan.scheme.payload_bytes


class ReceiverSchemes(Experiment):
    name = "micro.receivers"
    is_wide = True
    claims = (
        claim("micro-receivers-1a", measure=total("unfinished"), band=Exactly(0)),
        claim("micro-receivers-2a", measure=_of_the_load, band=Each(Between(0.6, 1.2), of="run")),
        claim("micro-receivers-3a", measure=lambda rows: chosen(rows, case=INCAST).set_index("scheme")["goodput"],
              band=Each(Between(75e9, 100e9), of="scheme")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        senders = 8 if check_scale(scale) == "quick" else 64
        messages = _messages(scale)
        cases = {f"web search, {load}%": partial(_web_search, scale, load, seed) for load in LOADS}
        cases[INCAST] = partial(workload.incast, [f"h{i}" for i in range(1, senders + 1)], "h0", INCAST_BYTES)
        every = [probes.field("flow", flow, "received_packets", every=ps(_SAMPLE_PS)) for flow in range(messages)]
        for name, (case, work) in product(RECEIVERS, cases.items()):
            watch, cost = ([], 1.0) if case == INCAST else (every, 20.0)
            network = partial(_network, scale)
            yield Point.of(
                f"{name}, {case}", {"scheme": name, "case": case, "senders": senders},
                network=network, workload=work, scheme=name, seed=seed, probes=watch, cost=cost,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows = result.flows
        slowdown = flows["slowdown"].to_numpy(np.float64)
        is_incast = point.labels["case"] == INCAST
        if is_incast:
            span_ps, hosts, got = (flows["start_ps"] + flows["fct_ps"]).max(), 1, flows["size_bytes"].sum()
        else:
            end_ps = int(flows["start_ps"].max()) // _SAMPLE_PS * _SAMPLE_PS
            start_ps = end_ps // 2 // _SAMPLE_PS * _SAMPLE_PS
            got = delivered_bytes(result, start_ps, end_ps)
            span_ps, hosts = end_ps - start_ps, int(result.plan.fabric.is_host.sum())
        numbers = {
            "goodput": (got * 8e12 / span_ps / hosts, "bps"),
            "drops": (result.counters.dropped_packets + result.counters.pfc_violations, ""),
            "timeouts": (result.counters.timeouts, ""),
            **percentiles("slowdown", slowdown, ""),
        }
        if not is_incast:
            numbers |= by_size("slowdown", slowdown, flows["size_bytes"], "")
        return measure_delivered(point, result, numbers, with_sizes=False)

    def plot(self, table: pd.DataFrame) -> Figure:
        searches = [f"web search, {load}%" for load in LOADS]
        looks = {name: (name, colour) for name, colour in zip(RECEIVERS, COLOURS)}
        colours = {case: (case, colour) for case, colour in zip((*searches, INCAST), ("blue", "sky", "orange"))}
        bars = partial(Bars, by="case", over="scheme", tilt=90.0, axes={"xlabel": ""}, legend=None)
        times = {"slowdown, p50": ("p50", "green"), "slowdown, p99": ("p99", "vermilion")}
        panels: list[Panel] = [
            lines_by_size("slowdown", looks, "scheme", where={"case": case}, title=case) for case in searches
        ]
        panels += [
            bars("", times, by="quantity", where={"case": INCAST}, label="slowdown",
                 title=f"incast of {table['senders'].iloc[0]:.0f}"),
            bars("queue, peak", colours, unit="KB", log="y", label="longest queue"),
            bars("goodput", {one: colours[one] for one in searches}, unit="Gb/s", label="goodput of a host"),
            bars("goodput", {INCAST: colours[INCAST]}, unit="Gb/s", label="goodput of the receiver"),
        ]  # fmt: skip
        return self.drawn(panels, table, columns=3, size=(3.7, 3.8), legend="outside lower center")
