"""Dart, figure 10: incasts on the testbed, under InfiniBand's congestion control and under DASR.

The testbed (V) has 20 hosts and one switch with ports of 56 Gb/s, of which a host got 43 Gb/s: hosts send at 43 Gb/s,
the aggregator's link carries 56, and DASR apportions 43. Every 100 ms the senders of an incast send 256 KB each to the
aggregator, up to 100 us late at random. One more host sends to it all the time (V-B). Assumed: packets of 4 KB;
InfiniBand's control with the defaults of `InfinibandCc` and `Fecn`, since the paper gives no settings; DASR without
look-ahead, in the NIC (the paper's runs in software and paces messages); 30 rounds. At quick scale there is a round
every 3 ms, too soon for InfiniBand's long flow, which is back at line rate after 19.5 ms.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc import topology, workload
from rdmacc.experiments.dart.known import known
from rdmacc.experiments.dart.setup import PRESET, TESTBED_PAYLOAD_BYTES
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.plotting.style import COLOURS, ecdf, style
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import curve, tidy, wide
from rdmacc.units import ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure10"]

AGGREGATOR, BACKGROUND = "h0", "h1"
_LOOKS = {
    "infiniband-cc": ("InfiniBand (modelled)", "vermilion"),
    "dasr-no-look-ahead": ("DASR", "blue"),
}


def _messages(degree: int, rounds: int, period_ps: int, seed: int) -> pd.DataFrame:
    """Return the incasts, and the long flow as the last message."""
    senders = [f"h{number}" for number in range(2, 2 + degree)]
    incasts = workload.incast(
        senders, AGGREGATOR, "256KiB", start="1ms", jitter="100us", rounds=rounds, period=period_ps, seed=seed
    )
    return workload.combine(incasts, workload.long_flows([(BACKGROUND, AGGREGATOR)], size="1TB"))


def _pairs(table: pd.DataFrame, quantity: str) -> pd.DataFrame:
    """Return a number by degree, with a column for each scheme."""
    return wide(table).pivot(index="degree", columns="scheme", values=quantity)


def _ratios(table: pd.DataFrame, quantity: str) -> pd.Series:
    both = _pairs(table, quantity)
    return both["infiniband-cc"] / both["dasr-no-look-ahead"]


def _range(values: pd.Series, form: str = ".2f") -> str:
    return f"{values.min():{form}} to {values.max():{form}}"


def _faster(table: pd.DataFrame) -> Verdict:
    median, tail = _ratios(table, "median FCT"), _ratios(table, "p99 FCT")
    grown = _pairs(table, "median FCT, last rounds") / _pairs(table, "median FCT, first rounds")
    measured = (
        f"InfiniBand / DASR: medians {_range(median)}, p99 {_range(tail)}; from the first to the last twentieth of the"
        f" rounds DASR's medians grow x{_range(grown['dasr-no-look-ahead'])}"
    )
    both = pd.concat([median, tail])
    return Verdict(measured, bool((both >= 1.5).all()), bool((both > 1).all()))


def _tail(table: pd.DataFrame) -> Verdict:
    reduction = 1 - 1 / _ratios(table, "p99 FCT")
    return Verdict(
        f"{reduction.mean():+.0%} on average ({_range(reduction, '+.0%')})",
        reduction.mean() >= 0.4,
        bool((reduction > 0).all()),
    )


def _own_tail(table: pd.DataFrame) -> Verdict:
    ratio = (_pairs(table, "p99 FCT") / _pairs(table, "median FCT"))["infiniband-cc"]
    return Verdict(_range(ratio), bool(ratio.between(1.05, 1.8).all()))


def _long_flow(table: pd.DataFrame) -> Verdict:
    both = _pairs(table, "long flow") / 1e9
    ib, dasr = both["infiniband-cc"], both["dasr-no-look-ahead"]
    off = abs(dasr / ib - 1)
    return Verdict(
        f"off by {_range(off, '.1%')}; {_range(ib)} and {_range(dasr)} Gb/s",
        bool((off <= 0.01).all()),
        bool((off <= 0.05).all()),
    )


def _rising(table: pd.DataFrame) -> Verdict:
    median, tail = _pairs(table, "median FCT"), _pairs(table, "p99 FCT")
    steps = (median.to_numpy()[1:] / median.to_numpy()[:-1]).min()
    grown = {name: (median[name].iloc[-1] / median[name].iloc[0], tail[name].iloc[-1] / tail[name].iloc[0])
             for name in median}  # fmt: skip
    words = ", ".join(f"{_LOOKS[str(name)][0]} medians x{a:.1f}, p99 x{b:.1f}" for name, (a, b) in grown.items())
    measured = f"each step x{steps:.2f} at least; {words}"
    return Verdict(measured, steps > 1 and all(b > a for a, b in grown.values()), bool(steps > 1))


def _narrower(table: pd.DataFrame) -> Verdict:
    spread = _pairs(table, "p95 - p5").loc[16] / 1e6
    ib, dasr = spread["infiniband-cc"], spread["dasr-no-look-ahead"]
    return Verdict(f"p95 - p5: DASR {dasr:.0f} us, InfiniBand {ib:.0f} us", bool(dasr < ib))


@register_experiment
class Figure10(Experiment):
    """Completion times of incasts beside a long flow, on the testbed."""

    name = "dart.fig10"
    title = "Testbed flow completion latency"
    description = "Dart, figure 10: incasts of 256 KB under InfiniBand's control, modelled, and under DASR"
    claims = (
        Claim(
            id="dart-f10-1",
            place="V-B",
            quantity="median and p99 FCT reduction",
            condition="DASR vs InfiniBand, all degrees",
            published="2.5-3.3x",
            words=">= 1.5x at every degree with modelled IB CC",
            judge=_faster,
            **known("dart-f10-1"),
        ),
        Claim(
            id="dart-f10-2",
            place="Abstract, I, V-B",
            quantity="headline tail reduction",
            condition="testbed",
            published="60% (2.5x)",
            words=">= 40%",
            judge=_tail,
            **known("dart-f10-2"),
        ),
        Claim(
            id="dart-f10-3",
            place="V-B",
            quantity="InfiniBand's p99 / median",
            condition="testbed",
            published="about 1.2x",
            words="1.05-1.8",
            judge=_own_tail,
        ),
        Claim(
            id="dart-f10-4",
            place="V-B",
            quantity="long-flow throughput difference",
            condition="DASR vs InfiniBand",
            published="within 0.5%",
            words="within 1%; direction: within 5%",
            judge=_long_flow,
            **known("dart-f10-4"),
        ),
        Claim(
            id="dart-f10-5",
            place="V-B",
            quantity="FCT vs degree",
            condition="any scheme",
            published="increases, tails increase more",
            words="medians rise with every step, p99 more from the least to the greatest; direction: medians rise",
            judge=_rising,
        ),
        Claim(
            id="dart-f10-6",
            place="V-B",
            quantity="FCT spread at degree 16",
            condition="DASR vs InfiniBand",
            published="DASR's curve left and narrower",
            words="p95 - p5 smaller",
            judge=_narrower,
            **known("dart-f10-6"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        is_quick = check_scale(scale) == "quick"
        degrees = (4, 16) if is_quick else (2, 4, 8, 12, 16)
        rounds, period_ps = (3, ms(3)) if is_quick else (30, ms(100))
        points = []
        for degree, name in product(degrees, _LOOKS):
            scenario = Scenario(
                topology=topology.dart_testbed,
                workload=partial(_messages, degree, rounds, period_ps, seed),
                scheme=PRESET[name].replace(payload_bytes=TESTBED_PAYLOAD_BYTES),
                until=ms(1) + rounds * period_ps,
                seed=seed,
            )
            labels = {"degree": degree, "scheme": name}
            points.append(Point(name=f"{degree} senders, {name}", scenario=scenario, labels=labels))
        return points

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows = result.flows.iloc[:-1]
        medians = flows["fct_ps"].astype(np.float64).groupby(flows["group"].astype(int)).median()
        few = max(len(medians) // 20, 1)
        fct_ps = np.sort(flows["fct_ps"].to_numpy(np.float64, na_value=np.nan))
        numbers = {
            "messages": (len(fct_ps), ""),
            "unfinished": (int(np.isnan(fct_ps).sum()), ""),
            "median FCT": (float(np.percentile(fct_ps, 50)), "ps"),
            "median FCT, first rounds": (float(medians.iloc[:few].median()), "ps"),
            "median FCT, last rounds": (float(medians.iloc[-few:].median()), "ps"),
            "p99 FCT": (float(np.percentile(fct_ps, 99)), "ps"),
            "p95 - p5": (float(np.diff(np.percentile(fct_ps, [5, 95]))[0]), "ps"),
            "long flow": (float(result.flows["goodput_bps"].iloc[-1]), "bps"),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
            "peak queue": (int(result.counters["peak_queue_bytes"]), "bytes"),
        }
        levels = pd.Index(range(0, 1001), name="time_ps")  # of the distribution, in thousandths
        return tidy(
            point.name, numbers, {"FCT by level": (pd.Series(np.quantile(fct_ps, levels / 1000), levels), "ps")}
        )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        median, tail = _pairs(table, "median FCT") / 1e9, _pairs(table, "p99 FCT") / 1e9
        with style():
            figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
            for name, (label, colour) in _LOOKS.items():
                left.plot(median.index, median[name], "o-", color=COLOURS[colour], label=f"{label}, median")
                left.plot(tail.index, tail[name], "s--", color=COLOURS[colour], label=f"{label}, p99")
                ordered, share = ecdf(curve(table, f"16 senders, {name}", "FCT by level") / 1e9)
                right.plot(ordered, share, color=COLOURS[colour], label=label)
            degrees = np.array(median.index)
            left.plot(
                degrees, (degrees + 1) * 0.25 * 1.048576 * 8 / 43, ":", color="0.5", label="fair share of 43 Gb/s"
            )
            left.set(title="(a) by degree", xlabel="incast degree", ylabel="FCT (ms)", xticks=degrees)
            left.set_ylim(bottom=0)
            left.legend(fontsize=9)
            right.set(title="(b) degree 16", xlabel="FCT (ms)", ylabel="share of the flows", ylim=(0, 1.02))
            right.set_xlim(left=0)
            right.legend(loc="upper left")
            figure.suptitle(f"Dart, figure 10: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
