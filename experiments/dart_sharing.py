"""Dart, figures 2 and 3: the receiver hands out shares, to long flows alone and with short ones among them.

The set-up is in `dart_setup`. Assumed besides: in figure 2 the second flow starts 500 us after the first; in
figure 3 k is 4 and 16, short flows have 8 KB (which fit into one RTT) and 256 KB (which outlast it), and all
short flows start at the same instant.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, check_scale, curve, scalar, tidy
from rdmacc.experiments.dart_setup import (
    LINE_BPS, PACKET_PS, RECEIVER, WIRE_BYTES, Network, fat_tree, other_pods, ports_towards,
)  # fmt: skip
from rdmacc.experiments.traces import first_within, mean_between, settled, shown, worst_between
from rdmacc.plotting import COLOURS, draw_trace, style
from rdmacc.results import Result
from rdmacc.units import format_size, us

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Figure2", "Figure3"]

_N = f"Dasr.auss_n {RECEIVER}"
_SENDERS_IN_SET = probes.field("host", RECEIVER, "Dasr.auss_n")

# Figure 2


def _gbps(value: float) -> str:
    return f"{value / 1e9:.3f} Gb/s"


def _us(value: float) -> str:
    return f"{value / 1e6:.1f} us"


def _alone(table: pd.DataFrame) -> Verdict:
    rate, throughput = scalar(table, "long", "rate of S1, alone"), scalar(table, "long", "throughput, alone")
    n = scalar(table, "long", "n, alone")
    holds = min(rate, throughput) >= 0.97 * LINE_BPS and n == 1
    return Verdict(f"{_gbps(rate)} paced, {_gbps(throughput)} received, n = {n:.0f}", holds)


def _halves(table: pd.DataFrame) -> Verdict:
    rates = [scalar(table, "long", f"rate of {name}, shared") for name in ("S1", "S2")]
    throughput, n = scalar(table, "long", "throughput, shared"), scalar(table, "long", "n, shared")
    near = all(abs(rate - LINE_BPS / 2) <= 0.03 * LINE_BPS / 2 for rate in rates)
    measured = f"{_gbps(rates[0])} and {_gbps(rates[1])}, together {_gbps(throughput)} received, n = {n:.0f}"
    return Verdict(measured, near and throughput >= 0.95 * LINE_BPS and n == 2)


def _in_one_rtt(table: pd.DataFrame) -> Verdict:
    settled = scalar(table, "long", "time to settle")
    rtt = scalar(table, "long", "base RTT")
    return Verdict(f"{_us(settled)}, {settled / rtt:.2f} RTT", settled <= rtt)


def _queue_stops(table: pd.DataFrame) -> Verdict:
    growth, queue = scalar(table, "long", "queue growth, settled"), scalar(table, "long", "queue, settled")
    measured = f"{growth / WIRE_BYTES:+.2f} packets over the rest of the run, at {format_size(round(queue))}"
    return Verdict(measured, abs(growth) <= 2 * WIRE_BYTES)


class Figure2(Experiment):
    """Two long flows to one receiver: line rate alone, half the line each together."""

    name = "dart.fig2"
    title = "Direct apportioning of sending rates"
    description = "Dart, figure 2: two long flows to one receiver; each gets half the line within one RTT"
    claims = (
        Claim(
            id="dart-f2-1", place="III-A", quantity="sender rate", condition="1 long flow",
            published="line rate, n = 1", band=">= 0.97 of line", verdict=_alone,
        ),
        Claim(
            id="dart-f2-2", place="III-A", quantity="sender rates", condition="2 long flows, one receiver",
            published="1/2 line each, n = 2", band="each within 3% of line/2, sum >= 0.95 of line", verdict=_halves,
        ),
        Claim(
            id="dart-f2-2a", place="III-A", quantity="time until both send at line/2",
            condition="since S2's first packet arrived", published="one RTT", band="<= 1 base RTT",
            verdict=_in_one_rtt,
        ),
        Claim(
            id="dart-f2-2b", place="III-A", quantity="queue on the way to the receiver",
            condition="once both send at line/2", published="can be sustained in steady state",
            band="grows by 2 packets at most", verdict=_queue_stops,
        ),
    )  # fmt: skip

    start_ps = us(500)
    """Start of the second flow."""
    until_ps = us(1500)
    every_ps = us(2)

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        network = fat_tree(4) if check_scale(scale) == "quick" else topology.dart_clos
        graph = network()
        far = other_pods(graph)
        senders = [far[0], far[-1]]  # in different pods
        towards = ports_towards(graph, RECEIVER)
        return [
            Point(
                name="long",
                topology=network,
                workload=workload.long_flows(
                    [(sender, RECEIVER) for sender in senders], start=[0, self.start_ps]
                ),
                scheme="dasr",
                until=self.until_ps,
                seed=seed,
                probes=(
                    *(probes.rate(flow) for flow in range(2)),
                    _SENDERS_IN_SET,
                    probes.field("flow", 1, "received_packets"),
                    probes.throughput("tor0", RECEIVER, every=10 * self.every_ps),
                    *(probes.queue(node, peer, every=self.every_ps) for node, peer in towards),
                ),
                labels={"flows": 2},
            )
        ]

    def measure(self, results: Mapping[str, Result]) -> pd.DataFrame:
        result = results["long"]
        plan = result.plan
        rtt_ps = int(plan.host_base_rtt_ps.max())
        rates = {"S1": result.trace("rate 0"), "S2": result.trace("rate 1")}
        n, held = result.trace(_N), result.trace("received_packets 1")
        throughput = result.trace("throughput tor0->h0")
        watched = [watch.probe.name for watch in plan.watches if watch.field.name == "queue_bytes"]
        queue = pd.concat([result.trace(name) for name in watched], axis=1).sum(axis=1)
        arrival_ps = int(held.index[held > 0][0])
        half = LINE_BPS / 2
        settled_ps = max(settled(rate, arrival_ps, half, 0.03) for rate in rates.values())
        steady_ps = settled_ps + rtt_ps  # what was sent before has arrived
        late = queue[queue.index >= steady_ps]
        quarter = max(len(late) // 4, 1)
        alone_ps = int(n.index[n >= 1][0])  # S1's first packet has arrived
        numbers = {
            "base RTT": (rtt_ps, "ps"),
            "arrival of S2": (arrival_ps, "ps"),
            "rate of S1, alone": (worst_between(rates["S1"], alone_ps, arrival_ps, LINE_BPS), "bps"),
            "throughput, alone": (mean_between(throughput, alone_ps + rtt_ps, arrival_ps), "bps"),
            "n, alone": (worst_between(n, alone_ps, arrival_ps, 1), ""),
            "time to settle": (settled_ps - arrival_ps, "ps"),
            "rate of S1, shared": (worst_between(rates["S1"], settled_ps, self.until_ps, half), "bps"),
            "rate of S2, shared": (worst_between(rates["S2"], settled_ps, self.until_ps, half), "bps"),
            "throughput, shared": (mean_between(throughput, steady_ps, self.until_ps), "bps"),
            "n, shared": (worst_between(n, arrival_ps, self.until_ps, 2), ""),
            "queue, settled": (float(late.mean()), "bytes"),
            "queue growth, settled": (float(late.iloc[-quarter:].mean() - late.iloc[:quarter].mean()), "bytes"),
            "CNPs": (int(result.counters["cnps"]), ""),
        }
        curves = {f"rate of {name}": (rate, "bps") for name, rate in rates.items()}
        curves |= {"n": (n, ""), "queue": (queue, "bytes"), "throughput": (throughput, "bps")}
        return tidy("long", numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        end, start = self.until_ps, self.start_ps
        with style():
            figure, axes = plt.subplots(3, 1, figsize=(7, 6), sharex=True, height_ratios=(3, 1, 2))
            for name, colour, width in (("S1", "blue", 3.0), ("S2", "vermilion", 1.5)):
                rate = shown(curve(table, "long", f"rate of {name}"), 0 if name == "S1" else start, end)
                draw_trace(
                    axes[0], rate.index, rate, scale=1e9, label=name, color=COLOURS[colour], linewidth=width
                )
            throughput = curve(table, "long", "throughput")
            axes[0].plot(
                throughput.index / 1e6, throughput / 1e9, color="0.5", linewidth=1, label="received, both"
            )
            n = shown(curve(table, "long", "n"), 0, end)
            draw_trace(axes[1], n.index, n, color=COLOURS["black"])
            queue = curve(table, "long", "queue") / 1e3
            axes[2].fill_between(queue.index / 1e6, queue, color=COLOURS["green"], alpha=0.25, linewidth=0)
            axes[2].plot(queue.index / 1e6, queue, color=COLOURS["green"])
            axes[0].set(title=f"Dart, figure 2: {self.title}", ylabel="rate (Gb/s)", ylim=(0, 10.8))
            axes[0].legend(loc="center left")
            axes[1].set(ylabel="n", ylim=(0, 2.5), yticks=(0, 1, 2))
            axes[2].set(ylabel="queue (kB)", xlabel="time (µs)", xlim=(0, end / 1e6))
            axes[2].set_ylim(bottom=0)
        return figure


# Figure 3


def _each(table: pd.DataFrame, quantity: str, scheme: str = "") -> dict[str, float]:
    """Return a number of every point, or of those of one scheme, by point."""
    rows = table[(table["quantity"] == quantity) & table["time_ps"].isna()]
    return {
        str(point): float(value)
        for point, value in zip(rows["point"], rows["value"])
        if not scheme or str(point).endswith(f" {scheme}")
    }


def _share(table: pd.DataFrame) -> Verdict:
    errors = {point: abs(value - 1) for point, value in _each(table, "rate / (line / (k+1))").items()}
    counted = all(value == 1 for value in _each(table, "greatest n / (k+1)").values())
    worst = max(errors, key=lambda point: errors[point])
    measured = f"off by {errors[worst]:.2%} at most ({worst}); n = k+1 in {'all' if counted else 'not all'} points"
    return Verdict(measured, errors[worst] <= 0.05 and counted)


def _recovery(table: pd.DataFrame) -> Verdict:
    taken, allowed = _each(table, "time to recover"), _each(table, "time to recover, allowed")
    worst = max(taken, key=lambda point: taken[point] / allowed[point])
    measured = f"{_us(taken[worst])} of {_us(allowed[worst])} in the worst point ({worst})"
    return Verdict(measured, all(taken[point] <= allowed[point] for point in taken))


def _earlier(table: pd.DataFrame) -> Verdict:
    with_it, without = (_each(table, "time to back off", name) for name in ("dasr", "dasr-no-look-ahead"))
    gains = [without[f"{point}-no-look-ahead"] - value for point, value in with_it.items()]
    return Verdict(f"earlier by {_us(min(gains))} to {_us(max(gains))}", min(gains) > 0)


class Figure3(Experiment):
    """A long flow meets k short ones: it backs off to 1/(k+1) for as long as they last."""

    name = "dart.fig3"
    title = "Short flows mixed with long flows"
    description = "Dart, figure 3: a long flow backs off to line/(k+1) for k short flows; look-ahead does it sooner"
    claims = (
        Claim(
            id="dart-f3-1", place="III-B", quantity="long-flow rate while k short senders are active",
            condition="k unique short senders", published="1/(k+1) of line", band="within 5% while n is stable",
            verdict=_share,
        ),
        Claim(
            id="dart-f3-2", place="III-B", quantity="long-flow recovery after the short flows end",
            condition="after the last short flow", published="returns to line rate, only for duration of short flows",
            band=">= 0.95 of line within 2 RTT + n packet times", verdict=_recovery,
        ),
        Claim(
            id="dart-f3-3", place="III-D", quantity="back-off time with look-ahead", condition="look-ahead vs none",
            published="earlier with look-ahead (dotted)", band="strictly earlier", verdict=_earlier,
        ),
    )  # fmt: skip

    degrees = (4, 16)
    sizes = ("8kB", "256kB")
    schemes = ("dasr", "dasr-no-look-ahead")
    start_ps = us(500)
    """Start of the short flows."""

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        network: Network = fat_tree(6) if check_scale(scale) == "quick" else topology.dart_clos
        long, *others = other_pods(network())
        points = []
        for k, size, scheme in product(self.degrees, self.sizes, self.schemes):
            senders = [others[i * len(others) // k] for i in range(k)]  # spread over the other pods
            work = workload.combine(
                workload.incast(senders, RECEIVER, size, start=self.start_ps),
                workload.long_flows([(long, RECEIVER)]),
            )
            lasts_ps = (k + 1) * int(work["size_bytes"].iloc[0]) * 8e12 / LINE_BPS
            points.append(
                Point(
                    name=f"k={k} {size} {scheme}",
                    topology=network,
                    workload=work,
                    scheme=scheme,
                    until=self.start_ps + round(1.5 * lasts_ps) + us(300),
                    seed=seed,
                    probes=(probes.rate(k), _SENDERS_IN_SET),
                    labels={"k": k, "size": size, "scheme": scheme},
                )
            )
        return points

    def measure(self, results: Mapping[str, Result]) -> pd.DataFrame:
        return pd.concat([self._measure(name, result) for name, result in results.items()], ignore_index=True)

    def _measure(self, name: str, result: Result) -> pd.DataFrame:
        flows, plan = result.flows, result.plan
        k = len(flows) - 1
        rate, n = result.trace(f"rate {k}"), result.trace(_N)
        share = LINE_BPS / (k + 1)
        rtt_ps = int(plan.host_base_rtt_ps.max())
        ack_bytes = plan.scheme.ack_bytes
        ack_ps = plan.fabric.base_fct_ps(int(plan.dst[k]), int(plan.src[k]), ack_bytes, ack_bytes, 0)
        full = n.index[n == k + 1]
        begin_ps = int(full[0]) if len(full) else self.start_ps
        later = n.index[n.index > begin_ps]
        end_ps = int(later[0]) if len(later) else result.now_ps
        # The sender follows when the next ACK has arrived; its packets come n packet times apart by then.
        from_ps, to_ps = begin_ps + ack_ps + (k + 1) * PACKET_PS, end_ps + ack_ps
        short = flows.iloc[:k]
        last_ps = int((short["start_ps"] + short["fct_ps"]).max())
        numbers = {
            "greatest n / (k+1)": (float(n.max()) / (k + 1), ""),
            "n stable for": (end_ps - begin_ps, "ps"),
            "rate / (line / (k+1))": (worst_between(rate, from_ps, to_ps, share) / share, ""),
            "time to back off": (first_within(rate, self.start_ps, share, 0.05) - self.start_ps, "ps"),
            "last short flow ends": (last_ps - self.start_ps, "ps"),
            "time to recover": (settled(rate, last_ps, LINE_BPS, 0.05) - last_ps, "ps"),
            "time to recover, allowed": (2 * rtt_ps + (k + 1) * PACKET_PS, "ps"),
            "median FCT of the short flows": (float(short["fct_ps"].median()), "ps"),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
            "CNPs": (int(result.counters["cnps"]), ""),
        }
        return tidy(name, numbers, {"rate": (shown(rate, 0, result.now_ps), "bps"), "n": (n, "")})

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        looks = {"dasr": ("DASR", "blue", "-"), "dasr-no-look-ahead": ("without look-ahead", "vermilion", "--")}
        with style():
            figure, axes = plt.subplots(
                len(self.degrees), len(self.sizes), figsize=(9, 5.4), sharey=True, sharex="col", squeeze=False
            )
            for (row, k), (column, size) in product(enumerate(self.degrees), enumerate(self.sizes)):
                ax: Axes = axes[row, column]
                for scheme, (label, colour, line) in looks.items():
                    rate = curve(table, f"k={k} {size} {scheme}", "rate")
                    draw_trace(
                        ax, rate.index - self.start_ps, rate, scale=1e9, label=label, color=COLOURS[colour],
                        linestyle=line,
                    )  # fmt: skip
                share = LINE_BPS / (k + 1) / 1e9
                ax.axhline(share, color="0.4", linewidth=1, linestyle=":")
                ax.annotate(
                    f"line / {k + 1}", (1, share), xycoords=("axes fraction", "data"), xytext=(-4, 4),
                    textcoords="offset points", ha="right", fontsize=9, color="0.35",
                )  # fmt: skip
                ax.set(title=f"k = {k}, {size}", ylim=(0, 10.8))
            for column, size in enumerate(self.sizes):
                ends = [
                    scalar(table, f"k={k} {size} {scheme}", "last short flow ends")
                    for k in self.degrees
                    for scheme in self.schemes
                ]
                axes[0, column].set_xlim(-0.1 * max(ends) / 1e6, 1.3 * max(ends) / 1e6)
                axes[-1, column].set_xlabel("time since the short flows' start (µs)")
            for ax in axes[:, 0]:
                ax.set_ylabel("long flow's rate (Gb/s)")
            axes[0, 1].legend(loc="center")
            figure.suptitle(f"Dart, figure 3: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure

