"""Dart, figures 8 and 9: how long DASR takes on the testbed, emulated.

The testbed (V): 43 Gb/s is what a host got through its port of 56 Gb/s, here the links' rate. LFS sends 64 KB
messages to R, SFS sends bursts of them. Assumed: 3 us of delay on each link (a hardware RTT of 12 us), packets of
4 KB, DASR without look-ahead (V), gaps between bursts as long as bursts (figure 9a).

Convergence is a network's part and a CPU's. The first is simulated, in epochs of 0.4 ms: SFS starts 100 us after LFS,
up to 10 us more at random. Assumed: LFS pauses as well before the next epoch, so that each starts with empty queues;
the point "without a pause" is what happens otherwise. The second is no prediction: the time that R's CPU takes is
drawn from the quantiles that the paper measured, less the hardware RTT.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, check_scale
from rdmacc.experiments.traces import shown
from rdmacc.plotting.style import COLOURS, draw_trace, ecdf, style
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.schemes import scheme
from rdmacc.state import DATA
from rdmacc.sweep.tidy import curve, scalar, tidy
from rdmacc.units import rate_bps, size_bytes, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CPU_US", "Figure8", "Figure9", "cpu_times"]

R, LFS, SFS = "h0", "h1", "h2"
LINE_BPS = rate_bps("43Gbps")
MESSAGE = size_bytes("64KiB")
RTT_PS, HARDWARE_RTT_PS = us(15), us(12)
"""Unloaded, as the paper gives them (V-A): with the software's part, and without."""

PUBLISHED_US = {0.9: 28.0, 0.99: 41.0, 0.999: 44.0}
"""Quantiles of the convergence time in software (V-A)."""

CPU_US = {0.0: 3.0, **{level: value - 12 for level, value in PUBLISHED_US.items()}, 1.0: 32.0}
"""Quantiles of the CPU's time: what was published, less the hardware RTT. Straight lines in between."""

_CPU_TIMES = 801  # purpose of the stream of chance
_JITTER = 802
_EPOCH_PS, _LEAD_PS = us(400), us(100)
_LFS_MESSAGES, _SFS_MESSAGES = 20, 8


def cpu_times(count: int, seed: int) -> npt.NDArray[np.float64]:
    """Return times in ps that R's CPU takes to count anew, from the calibrated quantiles."""
    drawn = workload.stream(seed, _CPU_TIMES).random(count)
    return np.interp(drawn, [*CPU_US], [*CPU_US.values()]) * 1e6


def _messages(of: dict[str, list[tuple[int, int]]]) -> pd.DataFrame:
    """Return 64 KB messages to R: of each sender, so many at each time."""
    src, start = [], []
    for sender, bursts in of.items():
        for time_ps, count in bursts:
            src += [sender] * count
            start.append(np.full(count, time_ps, dtype=np.int64))
    frame = pd.DataFrame({"src": src, "dst": R, "size_bytes": MESSAGE, "start_ps": np.concatenate(start)})
    return workload.messages(frame)


def _epochs(count: int, pauses: bool, seed: int) -> pd.DataFrame:
    """Return LFS's messages and SFS's bursts, one in each epoch."""
    starts = range(0, count * _EPOCH_PS, _EPOCH_PS)
    jitter = workload.stream(seed, _JITTER).integers(us(10), size=count)
    bursts = [(int(start + _LEAD_PS + late), _SFS_MESSAGES) for start, late in zip(starts, jitter, strict=True)]
    lasting = round(count * _EPOCH_PS * LINE_BPS / 8e12 / MESSAGE)
    steady = [(start, _LFS_MESSAGES) for start in starts] if pauses else [(0, lasting)]
    return _messages({LFS: steady, SFS: bursts})


def _scenario(work: Callable[[], pd.DataFrame], seed: int, **more: object) -> Scenario:
    dasr = scheme("dasr-no-look-ahead", payload_bytes=4096)
    return Scenario(topology=partial(topology.dart_testbed, 3), workload=work, scheme=dasr, seed=seed, **more)  # type: ignore[arg-type]


def _epoch_point(name: str, count: int, pauses: bool, seed: int) -> Point:
    work = partial(_epochs, count, pauses, seed)
    lfs = 0  # its first message: all of them share a queue pair
    scenario = _scenario(work, seed, trace=True, probes=(probes.rate(lfs),))
    return Point(name=name, scenario=scenario, cost=count)


def _parts(result: Result) -> pd.DataFrame:
    """Return, by the start of each burst, the parts of figure 8's convergence time in ps.

    `t_f`: SFS starts, its first packet is at R. `t_b`: until LFS's NIC has slowed down. `t_f'`: the first packet
    that LFS sends then is on its way to R.
    """
    plan, rows = result.plan, result.outcome.trace
    assert rows is not None
    nic, last = plan.fabric.port(LFS, "s0"), plan.fabric.port("s0", R)
    data = rows[rows["kind"] == DATA]
    arrived = data[(data["what"] == ARRIVED) & (data["port"] == last)]
    sent = data[(data["what"] == SENT) & (data["port"] == nic)]
    first_psn = arrived[arrived["psn"] == 0]
    first_ps = pd.Series(first_psn["time_ps"], index=first_psn["message"])
    rate = result.samples("rate 0")
    slow_ps = rate.index[rate <= 0.51 * LINE_BPS].to_numpy()
    flows = result.flows
    bursts = flows[flows["src"] == SFS].groupby("start_ps")["flow"].first()
    found = []
    for start, message in zip(bursts.index.tolist(), bursts.tolist(), strict=True):
        at_receiver = int(first_ps[message])
        slowed = int(slow_ps[np.searchsorted(slow_ps, start)])
        packet = sent[np.searchsorted(sent["time_ps"], slowed)]
        is_it = (arrived["message"] == packet["message"]) & (arrived["psn"] == packet["psn"])
        there = int(arrived["time_ps"][is_it][0])
        found.append((at_receiver - start, slowed - at_receiver, there - int(packet["time_ps"])))
    index = pd.Index(bursts.index.to_numpy(np.int64), name="time_ps")
    return pd.DataFrame(found, index=index, columns=["t_f", "t_b", "t_f'"], dtype=np.float64)


def _measured(point: Point, result: Result, seed: int) -> pd.DataFrame:
    parts = _parts(result)
    parts["t_cpu"] = cpu_times(len(parts), seed)
    numbers = {"base RTT": (int(result.plan.qp_base_rtt_ps.max()), "ps"), "epochs": (len(parts), "")}
    return tidy(point.name, numbers, {str(name): (parts[name], "ps") for name in parts})


def _curves(table: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return the parts by epoch, in us."""
    return pd.DataFrame({name: curve(table, point, name) for name in ("t_f", "t_b", "t_f'", "t_cpu")}) / 1e6


def _conservative(table: pd.DataFrame) -> Verdict:
    means = _curves(table, "epochs").mean()
    true, conservative = means["t_f"], means["t_f'"]
    return Verdict(f"t_f' {conservative:.1f} us, t_f {true:.1f} us (means)", bool(conservative >= true))


class Figure8(Experiment):
    """The times that make up convergence, and what the paper measures in their place."""

    name = "dart.fig8"
    title = "DASR convergence time measurement"
    description = "Dart, figure 8: the parts of the convergence time, and what a single clock can measure of it"
    claims = (
        Claim(
            id="dart-f8-1",
            place="V-A",
            quantity="measured vs true convergence",
            condition="t_f' vs t_f",
            published="t_f' >= t_f (conservative)",
            band="mean t_f' >= mean t_f",
            verdict=_conservative,
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [_epoch_point("epochs", 16 if check_scale(scale) == "quick" else 1024, True, seed)]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        return _measured(point, result, result.plan.seed)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        means = _curves(table, "epochs").mean()
        heights = {"LFS": 2.0, "SFS": 1.0, "R": 0.0}
        with style():
            figure, ax = plt.subplots(figsize=(8, 3.4))
            for name, height in heights.items():
                ax.axhline(height, color="0.8", linewidth=1, zorder=0)
                ax.text(-0.6, height, name, ha="right", va="center")
            times = np.cumsum([0, means["t_f"], means["t_cpu"], means["t_b"], means["t_f'"]])
            legs = (
                ("t_f", "SFS", "R", "blue"), ("t_cpu", "R", "R", "orange"), ("t_b", "R", "LFS", "green"),
                ("t_f'", "LFS", "R", "vermilion"),
            )  # fmt: skip
            for (name, start, end, colour), begin, until in zip(legs, times[:-1], times[1:], strict=True):
                ends = ((until, heights[end]), (begin, heights[start]))
                arrow = {"arrowstyle": "-|>", "color": COLOURS[colour], "linewidth": 2}
                ax.annotate("", *ends, arrowprops=arrow)
                middle = ((begin + until) / 2, (heights[start] + heights[end]) / 2)
                ax.annotate(
                    f"${name}$ {means[name]:.1f} µs".replace("_cpu", "_{cpu}"), middle, xytext=(0, 7),
                    textcoords="offset points", color=COLOURS[colour], fontsize=10, ha="center",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
                )  # fmt: skip
            spans = (("convergence", 0, 3, 2.55), ("as measured, at R", 1, 4, -0.55))
            for label, first, last, height in spans:
                ends = ((times[last], height), (times[first], height))
                ax.annotate("", *ends, arrowprops={"arrowstyle": "<->", "color": "0.3"})
                ax.text(
                    (times[first] + times[last]) / 2, height + 0.08, f"{label}: {times[last] - times[first]:.1f} µs",
                    ha="center", fontsize=9,
                )  # fmt: skip
            ax.set(title=f"Dart, figure 8: {self.title}", xlabel="time since SFS starts (µs), means over all epochs")
            ax.set(ylim=(-0.8, 2.9), yticks=[], xlim=(-2.5, times[-1] + 1))
            ax.grid(visible=False)
        return figure


def _levels(table: pd.DataFrame) -> tuple[float, float, pd.Series]:
    """Return LFS's throughput alone and with SFS, and the groups: 1 if SFS is active throughout, 0 if never."""
    rate, active = curve(table, "throughput", "throughput"), curve(table, "throughput", "SFS active")
    return float(rate[active == 0].mean()), float(rate[active == 1].mean()), active


def _peak(table: pd.DataFrame) -> Verdict:
    peak, _, _ = _levels(table)
    return Verdict(f"{peak / 1e9:.2f} Gb/s (the link's 43 Gb/s without headers)", abs(peak / 43e9 - 1) <= 0.05)


def _half(table: pd.DataFrame) -> Verdict:
    peak, shared, _ = _levels(table)
    return Verdict(f"{shared / 1e9:.2f} Gb/s, {shared / peak:.3f} of the peak", 0.48 <= shared / peak <= 0.53)


def _edges(table: pd.DataFrame) -> Verdict:
    peak, shared, _ = _levels(table)
    rate = curve(table, "throughput", "throughput").to_numpy()
    between = (rate > 1.1 * shared) & (rate < 0.95 * peak)
    longest = run = 0
    for is_between in between:
        run = run + 1 if is_between else 0
        longest = max(longest, run)
    edges = int((np.abs(np.diff(rate > (peak + shared) / 2)) > 0).sum())
    return Verdict(f"{edges} edges, {longest} group of messages at most in between", edges > 1 and longest <= 1)


def _quantile(level: float) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(table: pd.DataFrame) -> Verdict:
        parts = _curves(table, "epochs")
        value = float((parts["t_f"] + parts["t_cpu"] + parts["t_b"]).quantile(level))
        measured = f"{value:.1f} us, calibrated, of {len(parts)} epochs"
        return Verdict(measured, abs(value / PUBLISHED_US[level] - 1) <= 0.15)

    return verdict


def _hardware(table: pd.DataFrame) -> Verdict:
    parts = _curves(table, "epochs")
    true = parts["t_f"] + parts["t_b"]
    by_figure_8 = (parts["t_b"] + parts["t_f'"]).mean()
    measured = f"{true.min():.1f} to {true.max():.1f} us; {by_figure_8:.1f} us as R would measure it"
    return Verdict(measured, bool((true >= 12).all() and (true <= 18).all()))


def _few_rtts(table: pd.DataFrame) -> Verdict:
    parts = _curves(table, "epochs")
    median = float((parts["t_f"] + parts["t_cpu"] + parts["t_b"]).median())
    return Verdict(f"{median:.1f} us, {median / 15:.2f} RTT (calibrated)", median <= 2 * RTT_PS / 1e6)


def _stays(table: pd.DataFrame) -> Verdict:
    parts = _curves(table, "without a pause")
    true = (parts["t_f"] + parts["t_b"]).to_numpy()
    quarter = max(len(true) // 4, 1)
    first, last = true[:quarter].mean(), true[-quarter:].mean()
    measured = f"{first:.1f} us in the first quarter of {len(true)} epochs, {last:.1f} us in the last"
    return Verdict(measured, bool(last <= 1.1 * first))


def _quoted(table: pd.DataFrame) -> Verdict:
    return Verdict("not measured", False)


class Figure9(Experiment):
    """LFS's throughput among SFS's bursts, and how long it takes to give way."""

    name = "dart.fig9"
    title = "Testbed measurements of DASR convergence"
    description = "Dart, figure 9: half the throughput while the other sender is active, within an RTT (emulated CPU)"
    claims = (
        Claim(
            id="dart-f9a-1",
            place="V-A",
            quantity="LFS peak throughput",
            condition="no contention",
            published="43 Gb/s",
            band="43 Gb/s is the emulated links' rate: calibrated",
            verdict=_peak,
        ),
        Claim(
            id="dart-f9a-2",
            place="V-A",
            quantity="LFS throughput",
            condition="SFS active",
            published="about 22.5 Gb/s (about half)",
            band="0.48-0.53 of the peak",
            verdict=_half,
        ),
        Claim(
            id="dart-f9a-3",
            place="V-A",
            quantity="reaction",
            condition="SFS on or off",
            published="near-instantaneous drop and return",
            band="transition within one averaging window",
            verdict=_edges,
        ),
        *(
            Claim(
                id=f"dart-f9b-{number}",
                place="V-A",
                quantity=f"convergence time p{100 * level:g}",
                condition="software DASR",
                published=f"{PUBLISHED_US[level]:g} us",
                band="reported as calibrated (within 15%)",
                verdict=_quantile(level),
                expected={"quick": None, "paper": True},
                reason="The quick scale has too few epochs for its quantiles.",
            )
            for number, level in enumerate(PUBLISHED_US, 1)
        ),
        Claim(
            id="dart-f9b-4",
            place="V-A",
            quantity="convergence in hardware",
            condition="unloaded RTT 12 us",
            published="approaches the hardware RTT",
            band="12-18 us",
            verdict=_hardware,
        ),
        Claim(
            id="dart-f9b-5",
            place="V-A",
            quantity="convergence / RTT",
            condition="software, unloaded RTT 15 us",
            published="about one RTT (<= 3x at p99.9)",
            band="p50 <= 2 RTT",
            verdict=_few_rtts,
        ),
        Claim(
            id="dart-f9b-6",
            place="V-A",
            quantity="TIMELY's convergence",
            condition="50 RTT of 1 ms",
            published="50 ms",
            band="quoted from TIMELY, not measured again",
            verdict=_quoted,
            expected={"quick": None, "paper": None},
            reason="The paper quotes TIMELY's own figures; TIMELY's convergence in this simulator is in figure 1.",
        ),
        Claim(
            id="dart-f9b-4a",
            place="V-A",
            quantity="convergence in hardware",
            condition="LFS never pauses",
            published="one distribution over all bursts",
            band="the last quarter of the bursts within 10% of the first",
            verdict=_stays,
            expected=False,
            reason=(
                "What both senders send until they hear of each other stays in the queue: shares that add up to the"
                " whole line never drain it. Besides, a sender between two messages is not counted, so that the other"
                " hears n = 1 for a packet. With every burst the way to R grows longer, until PFC pauses."
            ),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        is_quick = check_scale(scale) == "quick"
        messages, count = (64, 3) if is_quick else (32 * 1024, 5)
        epochs, more = (16, 24) if is_quick else (1024, 100)
        # While SFS is active, LFS sends as much as SFS; in a gap as long, twice as much.
        burst_ps = round(2 * messages * MESSAGE * 8e12 / LINE_BPS)
        bursts = [(round((0.5 + 2 * number) * burst_ps), messages) for number in range(count)]
        work = partial(_messages, {LFS: [(0, 3 * count * messages)], SFS: bursts})
        return [
            Point(
                name="throughput", scenario=_scenario(work, seed), cost=count * messages / 10,
                labels={"group": messages // 32 if not is_quick else 8},
            ),
            _epoch_point("epochs", epochs, True, seed),
            _epoch_point("without a pause", more, False, seed),
        ]  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        if point.name != "throughput":
            return _measured(point, result, result.plan.seed)
        flows, group = result.flows, int(point.labels["group"])
        flows = flows.assign(end_ps=flows["start_ps"] + flows["fct_ps"].astype(np.int64))
        ends = np.sort(flows.loc[flows["src"] == LFS, "end_ps"].to_numpy())[group - 1 :: group]
        rate = group * MESSAGE * 8e12 / np.diff(ends)
        # A group counts as with SFS, or without, if that holds all the time.
        of_sfs = flows[flows["src"] == SFS].groupby("start_ps")["end_ps"].max()
        active = np.zeros(len(rate))
        for start, end in zip(of_sfs.index.tolist(), of_sfs.tolist(), strict=True):
            overlap = np.clip(np.minimum(end, ends[1:]) - np.maximum(start, ends[:-1]), 0, None)
            active += overlap / np.diff(ends)
        index = pd.Index(ends[1:], name="time_ps")
        last_ps = of_sfs.index[-1] + 2 * (of_sfs.iloc[0] - of_sfs.index[0])
        numbers = {
            "burst": (float(of_sfs.iloc[0] - of_sfs.index[0]), "ps"),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
            "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
        }
        kept = index <= last_ps
        curves = {
            "throughput": (pd.Series(rate, index=index)[kept], "bps"),
            "SFS active": (pd.Series(active, index=index)[kept], ""),
            "bursts": (pd.Series(1.0, index=pd.Index(of_sfs.index.to_numpy(np.int64), name="time_ps")), ""),
        }
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(1.3, 1))
            epoch_ps = scalar(table, "throughput", "burst")
            rate = curve(table, "throughput", "throughput")
            for start in curve(table, "throughput", "bursts").index:
                left.axvline(start / epoch_ps, color="0.7", linewidth=1)
            end = int(rate.index[-1])
            trace = shown(rate, int(rate.index[0]), end)
            draw_trace(left, trace.index, trace, unit_ps=epoch_ps, scale=1e9, color=COLOURS["blue"])
            left.set(title="(a) LFS among bursts of SFS", xlabel="time (epochs)", ylabel="LFS's throughput (Gb/s)")
            left.set(ylim=(0, 46), xlim=(0, end / epoch_ps))
            parts = _curves(table, "epochs")
            network = parts["t_f"] + parts["t_b"]
            lines = (
                (network + parts["t_cpu"], "software (CPU calibrated)", "blue", "-"),
                (network, "hardware (simulated)", "vermilion", "--"),
                (parts["t_b"] + parts["t_f'"], "hardware, as R measures it", "green", ":"),
            )
            for times, label, colour, line in lines:
                ordered, share = ecdf(times)
                right.plot(np.r_[ordered[0], ordered], np.r_[0, share], line, color=COLOURS[colour], label=label)
            for level, value in PUBLISHED_US.items():
                right.plot(value, level, "o", color=COLOURS["black"], label="published" if level == 0.9 else None)
            right.set(title="(b) Convergence", xlabel="time (µs)", ylabel="share of the epochs", xlim=(0, 85))
            right.legend(loc="lower right")
            figure.suptitle(f"Dart, figure 9: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
