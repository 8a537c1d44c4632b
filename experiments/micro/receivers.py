"""Micro-benchmarks of the receiver-driven schemes, with their registered defaults, on one common stage.

A leaf-spine network of 144 hosts (9 racks of 16, 4 spines; hosts at 100 Gb/s, uplinks at 400 Gb/s, 200 ns a link): web
search at 50% and 80% of the hosts' links, 2,000 messages, and an incast of 64 messages of 64 kB. At quick scale 16
hosts (4 racks of 4, 2 spines, uplinks at 200 Gb/s), 30 messages, and an incast of 8.

Slowdown is the completion time over that of the same message alone in the network, with the scheme's own packets. The
queue is the longest of all ports of switches, in data bytes. Goodput: for web search a host's mean reception in the
second half of the time in which messages start, for the incast the receiver's until the last completion.

Where a scheme stands out at paper scale:

- ExpressPass: a short message waits a round trip for its first credit, then for credits at a rate in proportion to its
  size; Aeolus sends it at once and loses some of it.
- REN: ports of 128 kB drop packets of line-rate bursts, and only the timeout, at least 50 us, reveals it: a message of
  100 kB then takes ten times as long.
- Homa and RCC: only their number limits the incast's first windows, 21 kB each; RCC keeps them (`ewa_eta`).

Assumed: switches with 2 MB a host; links' rate and delay, the incast's size.
"""

from __future__ import annotations

from rdmacc.experiments.validation.flows import by_size, completion, percentiles, plot_by_size
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


def _incast(senders: int) -> pd.DataFrame:
    return workload.incast([f"h{i}" for i in range(1, senders + 1)], "h0", INCAST_BYTES)


def _of_the_load(rows: pd.DataFrame) -> pd.Series[float]:
    rows = rows[rows["case"] != INCAST]
    return rows["goodput"] / 1e9 / rows["case"].str.extract(r"(\d+)%")[0].astype(float)


def delivered_bytes(result: Result, start_ps: int, end_ps: int) -> float:
    """Return the payload that arrived between two samples of `received_packets`."""
    held = result.probes.pivot(index="time_ps", columns="probe", values="value")
    packets = held.loc[end_ps].to_numpy(np.float64) - held.loc[start_ps].to_numpy(np.float64)
    return float(packets.sum()) * result.plan.scheme.payload_bytes


@register_experiment
class ReceiverSchemes(Experiment):
    name = "micro.receivers"
    title = "Receiver-driven schemes"
    description = "Micro-benchmarks: web search at 50% and 80% and an incast under every receiver-driven scheme"
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
        cases[INCAST] = partial(_incast, senders)
        every = [probes.field("flow", flow, "received_packets", every=ps(_SAMPLE_PS)) for flow in range(messages)]
        for name, (case, work) in product(RECEIVERS, cases.items()):
            watch, cost = ([], 1.0) if case == INCAST else (every, 20.0)
            network = partial(_network, scale)
            scenario = Scenario(network=network, workload=work, scheme=name, seed=seed, probes=watch)
            labels = {"scheme": name, "case": case, "senders": senders}
            yield Point(name=f"{name}, {case}", scenario=scenario, labels=labels, cost=cost)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, ports = result.flows, result.ports
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
            "queue, peak": (ports.loc[ports["link_class"] != "host_nic", "peak_queue_bytes"].max(), "bytes"),
            "goodput": (got * 8e12 / span_ps / hosts, "bps"),
            "drops": (result.counters.dropped_packets + result.counters.pfc_violations, ""),
            "timeouts": (result.counters.timeouts, ""),
            "unfinished": (int((flows["status"] != "finished").sum()), ""),
            **percentiles("slowdown", slowdown, ""),
        }
        if not is_incast:
            numbers |= by_size("slowdown", slowdown, flows["size_bytes"], "")
        return tidy(point.name, numbers | completion(flows))

    def plot(self, table: pd.DataFrame) -> Figure:
        rows = wide(table)
        colours = dict(zip(RECEIVERS, COLOURS.values()))
        cases = list(rows["case"].unique())
        figure, axes = subplots(2, 3, figsize=(11, 8), layout="constrained")
        for axis, case in zip(axes[0, :2], cases):
            for name in RECEIVERS:
                plot_by_size(axis, rows.loc[f"{name}, {case}"], "slowdown", color=colours[name], label=name)
            axis.set(title=case, ylabel="slowdown, p50 and p99 (dashed)")
        panels = (
            (axes[0, 2], "slowdown, p50", 1.0, "slowdown, p50 and p99", (INCAST,)),
            (axes[1, 0], "queue, peak", 1e3, "longest queue (kB)", cases),
            (axes[1, 1], "goodput", 1e9, "goodput of a host (Gb/s)", cases[:2]),
            (axes[1, 2], "goodput", 1e9, "goodput of the receiver (Gb/s)", (INCAST,)),
        )
        marks = dict(zip(cases, "os^"))
        for axis, quantity, scale, title, which in panels:
            for case in which:
                here = rows[rows["case"] == case].set_index("scheme").loc[list(RECEIVERS)]
                places, label = range(len(RECEIVERS)), "p50" if axis is axes[0, 2] else case
                axis.plot(places, here[quantity] / scale, marks[case], color=COLOURS["blue"], label=label)
                if quantity == "slowdown, p50":
                    axis.plot(places, here["slowdown, p99"], marks[case], color=COLOURS["vermilion"], label="p99")
            axis.set(ylabel=title, xticks=range(len(RECEIVERS)))
            if quantity == "queue, peak":
                log_axes(axis, "y")
                fit_above(axis, 5.0, bottom=None)
            else:
                fit_above(axis, 1.3)
            axis.set_xticklabels(RECEIVERS, rotation=90)
            if axis in (axes[0, 2], axes[1, 0]):
                axis.legend(fontsize=8)
        axes[0, 2].set_title(f"incast of {rows['senders'].iloc[0]:.0f}")
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(RECEIVERS))
        figure.suptitle(self.title)
        return figure
