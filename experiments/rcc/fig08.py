"""RCC, figure 8: two flows on the testbed, with congestion at the last hop and in the network. Simulation only."""

from ..api import *
from .setup import *

SETTINGS = {"last hop": [("h0", "h2"), ("h1", "h2")], "in network": [("h0", "h2"), ("h1", "h3")]}
"""Flows."""
PORTS = (("leaf0", "spine0"), ("spine0", "leaf1"), ("leaf1", "h2"))
"""Ports with possible queues: with equal link rates both settings congest the first one."""
PUBLISHED_BPS = 12e9
TESTBED_BPS = 25e9
_TOGETHER, _LATER = "together", "one later"
_FLOWS = ((1, "blue"), (2, "vermilion"))


def _point(setting: str, start: str) -> str:
    return f"{setting}, {start}"


def _together(setting: str, rows: pd.DataFrame) -> dict[str, float]:
    one = row_of(rows, _point(setting, _TOGETHER))
    return {
        **{f"flow {flow} (Gb/s)": one[f"goodput of flow {flow}"] / 1e9 for flow in (1, 2)},
        "swing": max(one[f"swing of flow {flow}"] for flow in (1, 2)),
        "queue (packets)": one["queue"] / WIRE_BYTES,
        "queue over its target": one["queue"] / one["target queue"],
    }


_RATES = All(dict.fromkeys(("flow 1 (Gb/s)", "flow 2 (Gb/s)"), Between(11.5, 12.5)))
"""12 Gb/s, to the precision of both sentences."""
_NEAR = Each(Within(PUBLISHED_BPS, share=0.05), "flow")


class Figure8(Experiment):
    name = "rcc.fig8"
    is_wide = True
    grid = MappingProxyType({"columns": 4, "size": (3.3, 2.5), "sharex": True, "sharey": "row",
                             "legend": "outside lower center"})  # fmt: skip
    more = " (dotted: 12 Gb/s as published; the target queue)"
    claims = (
        claim("rcc-f8-1", measure=partial(_together, "last hop"), band=All(_RATES, {"queue (packets)": AtMost(5)}),
              direction=_RATES),
        claim("rcc-f8-2", measure=partial(_together, "in network"),
              band=All(_RATES, {"swing": AtMost(0.1), "queue over its target": AtMost(2)}),
              direction=Each(MoreThan(0))),
        claim("rcc-f8-2a",
              measure=lambda rows: {
                  one: {f"flow {flow}": row_of(rows, _point(one, _LATER))[f"goodput of flow {flow}"] for flow in (1, 2)}
                  for one in SETTINGS
              }, band=Each(_NEAR, "setting"), direction=Some(_NEAR, of="the settings")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        lasts_ps = ms(4) if check_scale(scale) == "quick" else ms(100)
        watched = [*(received(flow, us(100)) for flow in range(2)), *(probes.queue(*port, "1us") for port in PORTS)]
        for (setting, flows), start in product(SETTINGS.items(), (_TOGETHER, _LATER)):
            yield Point.of(
                _point(setting, start), {"setting": setting, "start": start},
                network=topology.rcc_testbed, scheme=PRESET.at("25Gbps")["rcc"], seed=seed, probes=watched,
                workload=workload.long_flows(flows, start=[0, lasts_ps // 4 if start == _LATER else 0]),
                until=ps(lasts_ps),
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        half_ps = result.now_ps // 2 if point.labels["start"] == _TOGETHER else result.now_ps * 5 // 8
        rates = [goodput(result, flow) for flow in range(2)]
        queue = sum((result.samples(f"queue {a}->{b}") for a, b in PORTS[1:]), result.samples("queue leaf0->spine0"))
        base_ps = int(result.plan.qp_base_rtt_ps[0])
        numbers = {
            "base RTT": (base_ps, "ps"),
            "target queue": (TESTBED_BPS * base_ps * DELTA / 2 / 8e12, "bytes"),
            "queue": (queue[queue.index > half_ps].mean(), "bytes"),
            "peak queue": (queue.max(), "bytes"),
        }
        for flow, rate in enumerate(rates, 1):
            late = rate[rate.index > half_ps]
            numbers[f"goodput of flow {flow}"] = (late.mean(), "bps")
            numbers[f"swing of flow {flow}"] = (late.std(ddof=0) / late.mean(), "")
        curves = {f"goodput of flow {flow}": (rate, "bps") for flow, rate in enumerate(rates, 1)}
        step = max(1, len(queue) // 800)
        shown = queue.groupby((queue.index // us(1)) // step).mean()
        curves["queue"] = (pd.Series(shown.to_numpy(), pd.Index(shown.index * step * us(1), name="time_ps")), "bytes")
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        points = [_point(setting, start) for setting in SETTINGS for start in (_TOGETHER, _LATER)]
        over = partial(Traces, time_unit="ms", width=1.0)
        rate = partial(
            over, "", by=("point", "quantity"), unit="Gb/s", label="goodput", levels={"12 Gb/s": PUBLISHED_BPS}
        )
        panels = []
        for one in points:
            looks = {(one, f"goodput of flow {flow}"): (f"flow {flow}", colour) for flow, colour in _FLOWS}
            panels.append(rate(looks, title=one, axes={"ylim": (0, 26)}))
        for one in points:
            target = {"target": scalar(table, one, "target queue")}
            panels.append(over("queue", {one: ("queue", "green")}, unit="KB", levels=target, axes={"ylim": (0, 30)}))
        return self.drawn(panels, table)
