"""Validation against the HPCC simulator (github.com/alibaba-edu/High-Precision-Congestion-Control): the same runs.

A star of nine hosts at 100 Gb/s, links of 1 us, 1,000-byte payloads, and the preset `hpcc-ns3`. Two flows to one
receiver (25 MB at 0, 12.5 MB at 1 ms), and eight flows that start together, of 200 KB, 1 MB and 10 MB. A fat tree of
128 hosts (k = 8), the same links: a permutation of 1 MB, and 807 flows of web search at 50% load in 2 ms ("paper" scale
only). Their data and ACKs take the paths that the HPCC simulator's hash gave them (the columns `path` and `ack_path` of
`experiments/validation/data/hpcc_ns3_*.csv.gz`), so that the two can be compared flow by flow.

What decides the numbers in that simulator, and here:

- On the wire a packet is its payload and 48 bytes, with HPCC 42 more of telemetry (1,090), with TIMELY 8 of timestamp
  (1,056). An ACK answers every packet: 60 bytes, with HPCC 88.
- Times are whole nanoseconds, cut off: 1,048 bytes take 83 ns, 1,056 take 84, 1,090 take 87, so that links are up to 1%
  faster than their rate; and so are pacing times. What is simultaneous goes by who scheduled first (`Scheme.tick_ps`).
- ACKs share the data's class in switches, whatever run.py says; under DCQCN and TIMELY a paused NIC sends them still.
- A NIC looks at its queue pairs in turn, from the one after the one that it served last, and has one timer for all.
- A packet's pacing time is set when the one before it is sent: a new rate holds from the next packet on. With HPCC
  alone a new rate moves the time that is set.
- The base RTT of all flows is the network's largest, without headers: on the star 4 links of 1 us and 2 x 80 ns of
  payload, 4,160 ns; on the fat tree 12,480. The window of HPCC and DCTCP is what the rate sends in it, 52,000 payload
  bytes at line rate on the star; DCQCN and TIMELY have none.
- The first ACK of a flow only sets HPCC's, TIMELY's and DCTCP's round trips going.
- Marks are set when a packet leaves the queue, by the bytes behind it. DCQCN: 400 kB to 1.6 MB, probability 0.2 at the
  end; DCTCP: 300 kB. The notification is a bit in the ACK.
- At 100 Gb/s: DCQCN adds 20 and 200 Mb/s, HPCC 40, TIMELY 100 and 500, DCTCP 615; none goes below 1 Gb/s.
- Switches have 32 MiB: less 37,500 of headroom and 4,096 of reserve for each port, one eighth of what is free for each.
- A flow is complete when its last ACK has reached the sender.

The queue is that of the port to the receiver, every 100 ns from 0 until the last flow is complete.

Left to chance are DCQCN's marks between the thresholds (the "paper" scale has ten seeds on stars and the permutation).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.experiments.framework.bands import Each, Exactly
from rdmacc.experiments.framework.claim import OURS, Claim
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.validation.flows import by_size, percentiles, stored_flows
from rdmacc.plotting.style import COLOURS, style
from rdmacc.presets.hpcc_ns3 import HPCC_NS3
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import scalar, tidy, wide
from rdmacc.units import ms, ns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HpccNs3"]

SCHEMES = ("dcqcn", "dcqcn-paper", "hpcc", "timely", "dctcp")
SENDERS = 8
SIZES = {"200 kB": 200_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
TWO = "two flows"
CASES = (TWO, *(f"8 x {size}" for size in SIZES))
PERMUTATION, WEB_SEARCH = "permutation", "web search, 50%"
TRACES = {PERMUTATION: "permutation", WEB_SEARCH: "web_search_50"}
TRACE_SCHEMES = ("dcqcn", "hpcc", "timely", "dctcp")

_RANDOM = ("dcqcn", "dcqcn-paper")

_fabric = partial(topology.fat_tree, 8, rate="100Gbps", delay="1us", buffer="32MiB")
_network = partial(topology.star, SENDERS + 1, rate="100Gbps", delay="1us", buffer="32MiB")


def _workload(case: str) -> Any:
    if case == TWO:
        return partial(workload.messages, [("h1", "h0", 25_000_000, 0), ("h2", "h0", 12_500_000, ms(1))])
    hosts = [f"h{i}" for i in range(1, SENDERS + 1)]
    return partial(workload.incast, hosts, "h0", SIZES[case.removeprefix("8 x ")])


def _trace(name: str) -> pd.DataFrame:
    """Return flows with the paths that the HPCC simulator gave them."""
    return stored_flows(f"hpcc_ns3_{name}")


def _late(table: pd.DataFrame) -> dict[str, float]:
    """TIMELY has sent all before the first queue tells: 84 ns a packet, one more hop, four links, two ACKs of 4 ns."""
    return {
        case: max(scalar(table, f"timely, {case}", f"FCT {i}") for i in range(1, SENDERS + 1))
        - ns(84 * (packets + 1) + 4 * 1000 + 2 * 4)
        for case, packets in (("8 x 200 kB", 1_600), ("8 x 1 MB", 8_000))
    }


def _point(name: str, case: str, scenario: Scenario, number: int, cost: float) -> Point:
    suffix = f", seed {scenario.seed}" if number else ""
    labels = {"scheme": name, "case": case, "seed": scenario.seed}
    return Point(name=f"{name}, {case}{suffix}", scenario=scenario, labels=labels, cost=cost)


@register_experiment
class HpccNs3(Experiment):
    """Flows to one receiver, and on a fat tree, under each scheme of the HPCC simulator."""

    name = "validation.hpcc_ns3"
    title = "Flows to one receiver, as in the HPCC simulator"
    description = "Validation: two and eight flows, a permutation and web search, with the HPCC simulator's settings"
    seed_stride = 10
    claims = (
        Claim(
            "validation-hpcc-1a", "IEEE 802.1Qbb", "packets lost, flows not finished", "all runs", "none, by PFC",
            by=OURS, measure=lambda table: wide(table)[["drops", "unfinished"]].sum(), band=Each(Exactly(0)),
        ),
        Claim(
            "validation-hpcc-2a", "closed form", "completion of the last of eight flows, less 138.492 and 676.092 us",
            "TIMELY, 200 kB and 1 MB: all is sent at line rate before the first RTT shows a queue", "0", by=OURS,
            unit="ns", measure=_late, band=Each(Exactly(0)),
        ),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        seeds = 1 if check_scale(scale) == "quick" else 10
        points = []
        for name in SCHEMES:
            for case in CASES:
                for number in range(seeds if name in _RANDOM else 1):
                    points.append(self._star(name, case, seed, number))
        for case in (PERMUTATION,) if scale == "quick" else TRACES:
            for name in TRACE_SCHEMES:
                for number in range(seeds if name in _RANDOM and case == PERMUTATION else 1):
                    points.append(self._fat_tree(name, case, seed, number))
        return points

    @staticmethod
    def _star(name: str, case: str, seed: int, number: int) -> Point:
        scenario = Scenario(
            topology=_network, workload=_workload(case), scheme=HPCC_NS3[name], seed=seed + number,
            probes=[probes.queue("s0", "h0", "100ns")],
        )  # fmt: skip
        cost = 10.0 if "10 MB" in case else 4.0 if case == TWO else 1.0
        return _point(name, case, scenario, number, cost)

    @staticmethod
    def _fat_tree(name: str, case: str, seed: int, number: int) -> Point:
        flows = partial(_trace, TRACES[case])
        scenario = Scenario(topology=_fabric, workload=flows, scheme=HPCC_NS3[name], seed=seed + number)
        return _point(name, case, scenario, number, cost=8.0 if case == PERMUTATION else 100.0)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows = result.flows
        fct = flows["fct_acked_ps"].to_numpy(np.float64)
        numbers: dict[str, tuple[float, str]] = {}
        if point.labels["case"] in CASES:
            queue = result.samples("queue s0->h0")
            queue = queue[queue.index <= (flows["start_ps"] + flows["fct_acked_ps"]).max()]
            numbers |= {f"FCT {i}": (value, "ps") for i, value in enumerate(fct, 1)}
            numbers |= {
                "queue, mean": (queue.mean(), "bytes"),
                "queue, p99": (queue.quantile(0.99), "bytes"),
                "queue, peak": (queue.max(), "bytes"),
            }
        else:
            numbers |= percentiles("FCT", fct)
        if point.labels["case"] == WEB_SEARCH:
            numbers |= by_size("FCT", fct, flows["size_bytes"])
        numbers |= {
            "FCT, mean": (fct.mean(), "ps"),
            "PFC pauses": (result.counters.pfc_pauses, ""),
            "drops": (result.counters.pfc_violations + result.counters.dropped_packets, ""),
            "unfinished": (int((flows["status"] != "finished").sum()), ""),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        rows = wide(table)
        with style():
            figure, axes = plt.subplots(2, len(CASES), figsize=(12, 5.5), sharex=True, layout="constrained")
            for (top, bottom), case in zip(axes.T, CASES, strict=True):
                for x, name in enumerate(SCHEMES):
                    here = rows[(rows["scheme"] == name) & (rows["case"] == case)]
                    fct = here.filter(regex=r"^FCT \d$").to_numpy().ravel() / 1e9
                    fct = fct[~np.isnan(fct)]
                    spread = np.linspace(-0.25, 0.25, len(fct))
                    top.plot(x + spread, fct, ".", color=COLOURS["blue"], label="each flow" if not x else None)
                    top.plot([x - 0.35, x + 0.35], [fct.mean()] * 2, color=COLOURS["black"], linewidth=1)
                    mean, high = here["queue, mean"].mean() / 1e3, here["queue, p99"].mean() / 1e3
                    bottom.plot(x, mean, "o", color=COLOURS["green"], label="mean" if not x else None)
                    bottom.plot(x, high, "^", color=COLOURS["vermilion"], label="p99" if not x else None)
                top.set(title=case, ylim=(0, None))
                bottom.set(yscale="log", xticks=range(len(SCHEMES)))
                bottom.set_xticklabels(SCHEMES, rotation=30, ha="right")
            axes[0, 0].set_ylabel("completion time (ms)")
            axes[1, 0].set_ylabel("queue (kB)")
            axes[0, 0].legend()
            axes[1, 0].legend()
            figure.suptitle(f"{self.title}: star, 100 Gb/s, 1 µs links (line: mean)")
        return figure
