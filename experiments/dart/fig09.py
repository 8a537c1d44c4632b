"""Dart, figure 9: throughput and convergence time on the testbed. Setup: `rdmacc.experiments.dart.testbed`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.dart.known import known
from rdmacc.experiments.dart.testbed import (
    LFS,
    LINE_BPS,
    MESSAGE,
    PUBLISHED_US,
    RTT_PS,
    SFS,
    epoch_point,
    measure_epochs,
    messages_to_r,
    parts_of_epochs,
    testbed_scenario,
)
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.framework.trace import shown
from rdmacc.plotting.style import COLOURS, draw_trace, ecdf, style
from rdmacc.results.result import Result
from rdmacc.sweep.tidy import curve, scalar, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure9"]


def _levels(table: pd.DataFrame) -> tuple[float, float, pd.Series]:
    """Return LFS's throughput alone and with SFS, and the groups: 1 if SFS is active throughout, 0 if never."""
    rate, active = curve(table, "throughput", "throughput"), curve(table, "throughput", "SFS active")
    return float(rate[active == 0].mean()), float(rate[active == 1].mean()), active


def _peak(table: pd.DataFrame) -> Verdict:
    peak, _, _ = _levels(table)
    return Verdict(f"{peak / 1e9:.2f} Gb/s (the host's 43 Gb/s without headers)", abs(peak / 43e9 - 1) <= 0.05)


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


def _as_published(parts: pd.DataFrame) -> pd.Series:
    """Return what the paper measured, on R's clock (figure 8): t_cpu + t_b + t_f', in us."""
    return parts["t_cpu"] + parts["t_b"] + parts["t_f'"]


def _quantile(level: float) -> Callable[[pd.DataFrame], Verdict]:
    def verdict(table: pd.DataFrame) -> Verdict:
        found = _as_published(parts_of_epochs(table, "epochs"))
        value = float(found.quantile(level))
        measured = f"{value:.1f} us, calibrated, of {len(found)} epochs"
        return Verdict(measured, abs(value / PUBLISHED_US[level] - 1) <= 0.15)

    return verdict


def _hardware(table: pd.DataFrame) -> Verdict:
    parts = parts_of_epochs(table, "epochs")
    at_r, true = parts["t_b"] + parts["t_f'"], parts["t_f"] + parts["t_b"]
    measured = f"{at_r.min():.1f} to {at_r.max():.1f} us at R; {true.min():.1f} to {true.max():.1f} us in truth"
    return Verdict(measured, bool(at_r.between(12, 18).all()), bool(true.between(12, 18).all()))


def _few_rtts(table: pd.DataFrame) -> Verdict:
    median = float(_as_published(parts_of_epochs(table, "epochs")).median())
    return Verdict(f"{median:.1f} us, {median / 15:.2f} RTT (calibrated)", median <= 2 * RTT_PS / 1e6)


def _stays(table: pd.DataFrame) -> Verdict:
    parts = parts_of_epochs(table, "without a pause")
    at_r = (parts["t_b"] + parts["t_f'"]).to_numpy()
    quarter = max(len(at_r) // 4, 1)
    first, last = at_r[:quarter].mean(), at_r[-quarter:].mean()
    measured = f"{first:.1f} us in the first quarter of {len(at_r)} epochs, {last:.1f} us in the last"
    return Verdict(measured, bool(last <= 1.1 * first))


def _quoted(table: pd.DataFrame) -> Verdict:
    return Verdict.not_judged("not measured")


@register_experiment
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
            words="43 Gb/s is the emulated hosts' rate: calibrated",
            judge=_peak,
            **known("dart-f9a-1"),
        ),
        Claim(
            id="dart-f9a-2",
            place="V-A",
            quantity="LFS throughput",
            condition="SFS active",
            published="about 22.5 Gb/s (about half)",
            words="0.48-0.53 of the peak",
            judge=_half,
        ),
        Claim(
            id="dart-f9a-3",
            place="V-A",
            quantity="reaction",
            condition="SFS on or off",
            published="near-instantaneous drop and return",
            words="transition within one averaging window",
            judge=_edges,
        ),
        *(
            Claim(
                id=f"dart-f9b-{number}",
                place="V-A",
                quantity=f"convergence time p{100 * level:g}",
                condition="software DASR",
                published=f"{PUBLISHED_US[level]:g} us",
                words="reported as calibrated (within 15%)",
                judge=_quantile(level),
                **known(f"dart-f9b-{number}"),
            )
            for number, level in enumerate(PUBLISHED_US, 1)
        ),
        Claim(
            id="dart-f9b-4",
            place="V-A",
            quantity="convergence in hardware",
            condition="unloaded RTT 12 us",
            published="approaches the hardware RTT",
            words="12-18 us by R's clock; direction: in truth",
            judge=_hardware,
            **known("dart-f9b-4"),
        ),
        Claim(
            id="dart-f9b-5",
            place="V-A",
            quantity="convergence / RTT",
            condition="software, unloaded RTT 15 us",
            published="about one RTT (<= 3x at p99.9)",
            words="p50 <= 2 RTT",
            judge=_few_rtts,
            **known("dart-f9b-5"),
        ),
        Claim(
            id="dart-f9b-6",
            place="V-A",
            quantity="TIMELY's convergence",
            condition="50 RTT of 1 ms",
            published="50 ms",
            words="quoted from TIMELY, not measured again",
            judge=_quoted,
            **known("dart-f9b-6"),
        ),
        Claim(
            id="dart-f9b-4a",
            place="V-A",
            quantity="convergence in hardware",
            condition="LFS never pauses",
            published="one distribution over all bursts",
            words="the last quarter of the bursts within 10% of the first",
            judge=_stays,
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        is_quick = check_scale(scale) == "quick"
        messages, count = (64, 3) if is_quick else (32 * 1024, 5)
        epochs, more = (16, 24) if is_quick else (1024, 100)
        # While SFS is active, LFS sends as much as SFS; in a gap as long, twice as much.
        burst_ps = round(2 * messages * MESSAGE * 8e12 / LINE_BPS)
        bursts = [(round((0.5 + 2 * number) * burst_ps), messages) for number in range(count)]
        work = partial(messages_to_r, {LFS: [(0, 3 * count * messages)], SFS: bursts})
        return [
            Point(
                name="throughput", scenario=testbed_scenario(work, seed), cost=count * messages / 10,
                labels={"group": messages // 32 if not is_quick else 8},
            ),
            epoch_point("epochs", epochs, True, seed),
            epoch_point("without a pause", more, False, seed),
        ]  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        if point.name != "throughput":
            return measure_epochs(point, result, result.plan.seed)
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
            parts = parts_of_epochs(table, "epochs")
            lines = (
                (_as_published(parts), "software (CPU calibrated)", "blue", "-"),
                (parts["t_b"] + parts["t_f'"], "hardware, at R", "vermilion", "--"),
                (parts["t_f"] + parts["t_b"], "hardware, in truth", "green", ":"),
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
