"""REN, figure 3: queue and throughput when two bursts join a flow and leave. See `rdmacc.experiments.ren.bursts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.ren.bursts import LARGE_BUFFER, Bursts, burst_point, seeds_of
from rdmacc.experiments.ren.known import known
from rdmacc.experiments.ren.setup import BUFFER_PACKETS, LOOKS, PACKET_BYTES, PAYLOAD_BYTES, RTT_PS
from rdmacc.plotting.style import COLOURS, style
from rdmacc.sweep.tidy import curve, wide

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure3", "lost", "of_scheme"]

_COMPARED = ("phost", "homa-2-levels", "ndp", "ren")
"""The paper's panels."""
_BESIDE = ("traditional", "homa", "ren-packet", "ren-literal", "ren-literal-unsafe")
_ALONE = ("ren", "ren-literal", "ren-literal-unsafe")
"""Run with a large buffer too: without losses, no timer revives what marks have stopped."""
_NDP_LIMIT = 8


def of_scheme(table: pd.DataFrame, name: str, quantity: str, **where: object) -> pd.Series:
    """Return a quantity of a scheme's runs, by seed; with 64 KB of buffer unless said otherwise."""
    rows = wide(table)
    chosen = rows["scheme"] == name
    for label, value in ({"buffer": "64KB"} | where).items():
        chosen &= rows[label] == value
    return rows[chosen].set_index("seed")[quantity].sort_index()


def lost(table: pd.DataFrame, name: str, **where: object) -> pd.Series:
    """Return by what share of before the link is used less after the bursts, by seed."""
    return 1 - of_scheme(table, name, "throughput after", **where) / of_scheme(
        table, name, "throughput before", **where
    )


def _span(values: pd.Series, form: str = ".0f") -> str:
    return f"{values.mean():{form}} ({values.min():{form}} to {values.max():{form}})"


def _overflow(table: pd.DataFrame) -> Verdict:
    peaks = {name: of_scheme(table, name, "peak queue") for name in ("phost", "homa-2-levels")}
    drops = {name: of_scheme(table, name, "drops") for name in peaks}
    words = [f"{LOOKS[name][0]} {_span(drops[name])} drops, peak {peaks[name].max():.0f} packets" for name in peaks]
    full = all((peak >= int(BUFFER_PACKETS)).all() and (drops[name] > 0).all() for name, peak in peaks.items())
    return Verdict(f"{'; '.join(words)} (buffer {BUFFER_PACKETS:.1f})", full)


def _trimmed(table: pd.DataFrame) -> Verdict:
    peak, trimmed = of_scheme(table, "ndp", "peak queue"), of_scheme(table, "ndp", "trimmed")
    measured = f"{peak.max():.0f} packets at most; {_span(trimmed)} trimmed"
    return Verdict(measured, bool((peak <= _NDP_LIMIT + 1).all() and (trimmed > 0).all()))


def _persists(table: pd.DataFrame) -> Verdict:
    shares = {
        name: of_scheme(table, name, "mean queue") / of_scheme(table, name, "peak queue")
        for name in ("phost", "homa-2-levels")
    }
    shares["ndp"] = of_scheme(table, "ndp", "mean queue") / _NDP_LIMIT
    words = ", ".join(f"{LOOKS[name][0]} {share.min():.0%}" for name, share in shares.items())
    return Verdict(
        f"mean over peak (NDP: over 8 packets), at least: {words}", all(s.min() >= 0.8 for s in shares.values())
    )


def _drains(table: pd.DataFrame) -> Verdict:
    times, means = of_scheme(table, "ren", "drained after"), of_scheme(table, "ren", "mean queue")
    measured = f"2 packets or fewer after {_span(times, '.1f')} RTT, then {_span(means, '.2f')} on average"
    return Verdict(measured, bool((times <= 6).all() and (means <= 2).all()), bool((times <= 20).all()))


def _loses(table: pd.DataFrame) -> Verdict:
    losses = {name: lost(table, name) for name in ("phost", "homa-2-levels")}
    words = "; ".join(f"{LOOKS[name][0]} {_span(100 * value)}%" for name, value in losses.items())
    return Verdict(
        words,
        all(0.10 <= value.mean() <= 0.45 for value in losses.values()),
        all(value.mean() > 0.02 for value in losses.values()),
    )


def _loses_by_grants(table: pd.DataFrame) -> Verdict:
    value, own = lost(table, "traditional"), lost(table, "phost")
    if len(value) < 2:
        return Verdict.not_judged("takes several seeds: what is lost must differ between them")
    drops = of_scheme(table, "traditional", "drops")
    measured = f"{_span(100 * value)}% after {_span(drops)} drops; pHost's own tokens {_span(100 * own)}%"
    return Verdict(measured, 0.10 <= value.mean() <= 0.45 and value.max() > value.min())


def _recovers(table: pd.DataFrame) -> Verdict:
    times = {name: of_scheme(table, name, "f0 recovered after") for name in ("ndp", "ren")}
    words = "; ".join(f"{LOOKS[name][0]} {_span(value, '.1f')} RTT" for name, value in times.items())
    return Verdict(f"95% of the link after: {words}", all((value <= 10).all() for value in times.values()))


def _before(table: pd.DataFrame) -> Verdict:
    goodput = {
        name: of_scheme(table, name, "f0 before") * PAYLOAD_BYTES / PACKET_BYTES / 1e9
        for name in (*_COMPARED, "traditional")
    }
    words = ", ".join(f"{LOOKS[name][0]} {value.min():.2f}" for name, value in goodput.items())
    return Verdict(f"{words} Gb/s of payload", all(value.min() >= 9.4 for value in goodput.values()))


def _readings(table: pd.DataFrame) -> Verdict:
    during = {
        name: of_scheme(table, name, "throughput during", buffer=LARGE_BUFFER).mean() / 1e10
        for name in ("ren", "ren-literal", "ren-literal-unsafe")
    }
    after = of_scheme(table, "ren-literal-unsafe", "throughput after", buffer=LARGE_BUFFER)
    words = "; ".join(f"{LOOKS[name][0]} {value:.0%}" for name, value in during.items())
    measured = f"link in use with the bursts: {words}; literally, {after.max() / 1e10:.0%} after them"
    return Verdict(
        measured,
        during["ren"] >= 0.95 and during["ren-literal"] <= during["ren"] - 0.05 and during["ren-literal-unsafe"] <= 0.01
        and after.max() == 0,
    )  # fmt: skip


def _by_packet(table: pd.DataFrame) -> Verdict:
    times = {name: of_scheme(table, name, "drained after") for name in ("ren", "ren-packet")}
    own = of_scheme(table, "ren-packet", "mean queue")
    words = "; ".join(f"{LOOKS[name][0]} {_span(value, '.1f')} RTT" for name, value in times.items())
    means = {name: value.mean() for name, value in times.items()}
    return Verdict(f"{words}; then {own.mean():.2f} packets", means["ren-packet"] <= means["ren"] and own.max() <= 2)


@register_experiment
class Figure3(Bursts):
    """Queue, and throughput of f0, with two bursts."""

    name = "ren.fig3"
    title = "Comparison of different protocols"
    description = "REN, figure 3: two bursts join a flow at 10 Gb/s and leave; also under each reading of the marks"
    claims = (
        Claim(
            id="ren-f3a-1",
            place="2.3",
            quantity="queue when the bursts start",
            condition="pHost, Homa",
            published="exceeds 64 KB at once: losses",
            words="a full buffer, and drops, in every run",
            judge=_overflow,
        ),
        Claim(
            id="ren-f3a-2",
            place="2.3",
            quantity="NDP's queue",
            condition="payloads cut at 8 packets",
            published="at most 8 packets",
            words="at most 9, and payloads cut, in every run",
            judge=_trimmed,
        ),
        Claim(
            id="ren-f3a-3",
            place="2.3",
            quantity="queue until the bursts stop",
            condition="pHost, Homa, NDP",
            published="does not decrease after the first RTT",
            words="its mean at least 80% of its peak, for NDP of 8 packets, in every run",
            judge=_persists,
            **known("ren-f3a-3"),
        ),
        Claim(
            id="ren-f3a-4",
            place="5.2",
            quantity="REN's queue after the bursts' start",
            condition="REN",
            published="drained in the next RTT, then near zero",
            words="2 packets within 6 RTTs, and at most 2 on average later, in every run; direction: within 20 RTTs",
            judge=_drains,
            **known("ren-f3a-4"),
        ),
        Claim(
            id="ren-f3b-1",
            place="2.3",
            quantity="utilisation lost after the bursts",
            condition="pHost, Homa",
            published="20-30%",
            words="10-45%, mean of the runs; direction: more than 2%",
            judge=_loses,
            **known("ren-f3b-1"),
        ),
        Claim(
            id="ren-f3b-2",
            place="2.3, 5.2",
            quantity="f0's recovery after the bursts",
            condition="NDP, REN",
            published="quickly full",
            words="95% of the link within 10 RTTs in every run",
            judge=_recovers,
            **known("ren-f3b-2"),
        ),
        Claim(
            id="ren-f3b-3",
            place="2.3",
            quantity="f0's throughput before the bursts",
            condition="all schemes",
            published="10 Gb/s",
            words="at least 9.4 Gb/s of payload in every run",
            judge=_before,
        ),
        Claim(
            id="ren-f3-a",
            place="2.3, with 2's description",
            quantity="utilisation lost after the bursts",
            condition="one grant for one packet, whatever was lost",
            published="20-30% (of pHost and Homa)",
            words="10-45%, mean of the runs, by chance more or less",
            judge=_loses_by_grants,
            **known("ren-f3-a"),
        ),
        Claim(
            id="ren-f3-b",
            place="3.2.3",
            quantity="link in use with the bursts",
            condition="readings of the marks, no losses",
            published="(3.2.3 read literally marks a queue again before the first marks show)",
            words="our reading 95%; literally 5 points less with one packet kept, without that nothing is sent, ever",
            judge=_readings,
        ),
        Claim(
            id="ren-f3-c",
            place="3.2.3, figure 7",
            quantity="time until the queue is drained",
            condition="marks by packet, or by period",
            published="(the paper describes both)",
            words="by packet no slower, and at most 2 packets on average later",
            judge=_by_packet,
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        runs = [(name, None) for name in (*_COMPARED, *_BESIDE)] + [(name, LARGE_BUFFER) for name in _ALONE]
        is_quick = check_scale(scale) == "quick"
        return [
            burst_point(name, 2, "quick" if is_quick else "paper" if one == seed else "tenth", one, buffer)
            for name, buffer in runs
            for one in seeds_of(name, scale, seed)
        ]

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        rows = wide(table)
        first = int(rows["seed"].min())
        panels = ("phost", "homa-2-levels", "ndp", "traditional", "ren")
        with style():
            figure, axes = plt.subplots(len(panels), 3, figsize=(12.5, 9), sharex="col")
            for number, name in enumerate(panels):
                point = f"{name}, 2 bursts, seed {first}"
                on, off = (float(rows.loc[[point], key].iloc[0]) for key in ("on_ps", "off_ps"))
                label, colour, _ = LOOKS[name]
                left, middle, right = axes[number]
                queue = curve(table, point, "queue")
                left.plot(queue.index / 1e9, queue, color=colour, linewidth=1)
                detail = curve(table, point, "queue at the start")
                middle.plot((detail.index - on) / RTT_PS, detail, color=colour, linewidth=1)
                whole, own = curve(table, point, "throughput"), curve(table, point, "f0")
                right.plot(whole.index / 1e9, whole / 1e9, color="0.6", linewidth=1, label="link")
                right.plot(own.index / 1e9, own / 1e9, color=colour, linewidth=1, label="f0")
                for ax in (left, middle):
                    ax.axhline(BUFFER_PACKETS, color="0.5", linewidth=1, linestyle=":")
                    ax.set_ylim(-2, 50)
                for ax in (left, right):
                    ax.axvspan(on / 1e9, off / 1e9, color="0.93", zorder=0)
                if name in ("phost", "homa-2-levels", "traditional"):
                    right.axhspan(7, 8, color=COLOURS["yellow"], alpha=0.5, zorder=0)
                right.set(ylim=(0, 11))
                left.set_ylabel(f"{label}\nqueue (packets)", fontsize=9)
                right.set_ylabel("Gb/s", fontsize=9)
            axes[0, 0].set_title("(a) queue; grey: bursts; dotted: 64 KB", fontsize=10)
            axes[0, 1].set_title("queue when the bursts start", fontsize=10)
            axes[0, 2].set_title("(b) throughput; yellow: 20-30% lost", fontsize=10)
            axes[0, 2].legend(fontsize=8, loc="lower left")
            axes[-1, 0].set_xlabel("time (ms)")
            axes[-1, 1].set_xlabel("time since the first burst may start (RTTs)")
            axes[-1, 2].set_xlabel("time (ms)")
            figure.suptitle(
                f"REN, figure 3: {self.title}, 10 Gb/s, one of several runs", x=0.01, ha="left", fontsize=12
            )
        return figure
