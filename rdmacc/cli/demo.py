"""The demo: an incast meets a long flow at one receiver, under DCQCN, under DASR, and in an ideal model.

Sixteen senders send 64 KB each to a host that also takes one long flow, on a star of 100 Gb/s links of 1 us. The incast
fits into about one bandwidth-delay product per sender, so no scheme can finish it sooner than the receiver's link
allows. The schemes differ in the queue and in the fate of the long flow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from tqdm.auto import tqdm

from rdmacc import probes, topology, workload
from rdmacc.models.fair_share import FairShare
from rdmacc.results.result import Result
from rdmacc.results.summary import percentile
from rdmacc.schemes import scheme
from rdmacc.show.tables import text_table
from rdmacc.simulation import simulate
from rdmacc.units import format_rate, format_size, format_time, rate_bps, size_bytes, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMES = {"dcqcn": "DCQCN", "dasr": "DASR"}
SENDERS = 16
MESSAGE_BYTES = size_bytes("64kB")
LINE_BPS = rate_bps("100Gbps")
DELAY = "1us"
START_PS = us(100)
"""Start of the incast; the long flow starts at 0."""
UNTIL_PS = us(800)
_EVERY_PS = us(1)
_RECEIVER, _LONG = "h0", "h1"
_LONG_FLOW = SENDERS  # row of the long flow; the incast's messages come before it
_HELD = f"received_packets {_LONG_FLOW}"


def run(engine: str = "simpy", seed: int = 0, progress: bool = True) -> dict[str, Result]:
    network = topology.star(SENDERS + 2, rate=LINE_BPS, delay=DELAY)
    senders = [f"h{i}" for i in range(2, SENDERS + 2)]
    work = workload.combine(
        workload.incast(senders, _RECEIVER, MESSAGE_BYTES, start=START_PS),
        workload.long_flows([(_LONG, _RECEIVER)]),
    )
    watched = (
        probes.rate(_LONG_FLOW),
        probes.rate(0),
        probes.queue("s0", _RECEIVER, every=_EVERY_PS),
        probes.field("flow", _LONG_FLOW, "received_packets", every=_EVERY_PS),
    )
    results = {}
    for name in tqdm(SCHEMES, desc="rdmacc demo", unit="scheme", disable=not progress, leave=False):
        results[name] = simulate(
            network, work, name, engine=engine, seed=seed, until=UNTIL_PS, probes=watched, progress=False
        )
    return results


def _model(result: Result) -> FairShare:
    chosen = scheme("dcqcn")
    model = FairShare(
        senders=SENDERS, message_bytes=MESSAGE_BYTES, line_bps=LINE_BPS, payload_bytes=chosen.payload_bytes,
        header_bytes=chosen.header_bytes,
    )  # fmt: skip
    # The latency of the empty network: a lone message's FCT minus the transmission time of its bytes.
    return model.replace(delay_ps=round(float(result.plan.ideal_fct_ps[0]) - model.ideal_fct_ps))


def measure(results: Mapping[str, Result]) -> pd.DataFrame:
    """Return the demo's numbers in base units: one row for the model, and one per scheme."""
    fair = _model(results["dcqcn"])
    model = fair.evaluate().set_index("kind")
    fct_ps, slowdown = model.loc["incast", ["fct_ps", "slowdown"]]
    rows: dict[str, dict[str, Any]] = {
        "fair share (model)": {
            "fct_median_ps": fct_ps, "fct_p99_ps": fct_ps, "slowdown_median": slowdown, "slowdown_p99": slowdown,
            "long_incast_bps": model.loc["long", "goodput_bps"], "long_after_bps": LINE_BPS * fair.efficiency,
        }
    }  # fmt: skip
    for name, result in results.items():
        incast = result.flows.iloc[:SENDERS]
        end_ps = float((incast["start_ps"] + incast["fct_ps"]).max())
        fct_ps, slowdown = (incast[column].to_numpy(np.float64) for column in ("fct_ps", "slowdown"))
        rows[SCHEMES[name]] = {
            "fct_median_ps": percentile(fct_ps, 50), "fct_p99_ps": percentile(fct_ps, 99),
            "slowdown_median": percentile(slowdown, 50), "slowdown_p99": percentile(slowdown, 99),
            "long_incast_bps": _goodput_bps(result, START_PS, end_ps),
            "long_after_bps": _goodput_bps(result, end_ps, UNTIL_PS),
            **result.counters[["peak_queue_bytes", "pfc_pauses", "cnps"]],
        }  # fmt: skip
    return pd.DataFrame.from_dict(rows, orient="index")


def _goodput_bps(result: Result, from_ps: float, to_ps: float) -> float:
    held = result.samples(_HELD)
    held = held[(held.index >= from_ps) & (held.index <= to_ps)]
    received = (held.iloc[-1] - held.iloc[0]) * result.plan.scheme.payload_bytes
    return float(received * 8e12 / (held.index[-1] - held.index[0]))


_ROWS = (
    ("incast FCT, median", "fct_median_ps", format_time),
    ("incast FCT, p99", "fct_p99_ps", format_time),
    ("incast slowdown, median", "slowdown_median", "{:.2f}".format),
    ("incast slowdown, p99", "slowdown_p99", "{:.2f}".format),
    ("long flow's goodput during the incast", "long_incast_bps", format_rate),
    ("long flow's goodput after the incast", "long_after_bps", format_rate),
    ("peak queue at the receiver's port", "peak_queue_bytes", format_size),
    ("PFC pauses", "pfc_pauses", "{:.0f}".format),
    ("CNPs", "cnps", "{:.0f}".format),
)


def table_text(table: pd.DataFrame) -> str:
    rows = [
        [label, *("-" if np.isnan(value) else show(value) for value in table[column])] for label, column, show in _ROWS
    ]
    return text_table(["", *table.index], rows)


def figure(results: Mapping[str, Result]) -> Figure:
    import matplotlib.pyplot as plt

    from rdmacc.show.style import COLOURS, style

    fair = _model(results["dcqcn"])
    incast_us, share = (START_PS / 1e6, (START_PS + fair.fct_ps) / 1e6), fair.share_bps / 1e9
    with style():
        fig, axes = plt.subplots(2, len(SCHEMES), figsize=(10, 5.6), sharex=True, sharey="row", squeeze=False)
        for (rates, queue), (name, title) in zip(axes.T, SCHEMES.items(), strict=True):
            result = results[name]
            result.plot.rates(rates)
            for line, label, width in zip(
                rates.lines, ("long flow", "one sender of the incast"), (3.0, 1.6), strict=True
            ):
                line.set(label=label, linewidth=width)
            rates.axvspan(*incast_us, color="0.93", linewidth=0, zorder=0)
            rates.plot(incast_us, [share, share], color=COLOURS["black"], linestyle=(0, (2, 1.5)), linewidth=1.4,
                       label=f"fair share, line / {fair.n}")  # fmt: skip
            rates.set(title=title, xlim=(0, UNTIL_PS / 1e6), ylim=(0, 108))
            rates.legend(loc="center right").set_visible(name == next(iter(SCHEMES)))
            result.plot.queues(queue)
            queue.get_legend().remove()
            peak = format_size(result.counters["peak_queue_bytes"], 3)
            queue.set(title=f"Queue at the receiver: at most {peak}", ylim=(0, None))
            for ax in (rates, queue):
                ax.label_outer()
        fig.suptitle(f"{SENDERS}-to-1 incast of {format_size(MESSAGE_BYTES)} messages beside a long flow, 100 Gb/s",
                     fontsize=13, x=0.01, ha="left")  # fmt: skip
    return fig
