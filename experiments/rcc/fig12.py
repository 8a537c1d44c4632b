"""RCC, figure 12: clocks that are not synchronised, and late samples that mean congestion.

Setup and assumptions: `rdmacc.experiments.rcc.incast`; all start at line rate. RCC-async's samples are off by up to 0.5
us at random to either side, which the paper does not say. Algorithm 1 looks at samples only while the last hop is not
busy (line 10), which in this incast it always is; and a PID window is not below a share that is less than a packet.

Beside the figure there is an incast where samples count: 50 senders of 1 MB, whose shares are three packets, and whose
requests carry them. Jitter from 0 to 4 us and n from 1 to 5 are swept; a sample is late from 2.4 us on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.incast import REQUEST, Case, IncastFigure, mean, needs, points_in
from rdmacc.experiments.rcc.known import known
from rdmacc.experiments.rcc.setup import LOOKS, NAMES
from rdmacc.plotting.style import COLOURS, style
from rdmacc.sweep.tidy import curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["SCHEMES", "SWEEP", "Figure12"]

SCHEMES = {name: Case(name) for name in ("rcc", "rcc-async", "rcc-sender", "rcc-n1")}
SAMPLES = (2, 3, 4, 5)
BY_N = {n: Case("rcc-async", late_samples=n) for n in SAMPLES}
"""RCC-async with other n than the preset's."""

JITTERS_US = (0.0, 1.0, 2.0, 3.0, 4.0)
SWEEP = {
    (n, jitter): Case("rcc", REQUEST, size="1MB", late_samples=n, jitter_us=jitter, senders=50)
    for n in (1, *SAMPLES)
    for jitter in JITTERS_US
}
"""Shares of three packets: n and the jitter in us."""
_NOTICEABLE = 0.001


def _goodputs(table: pd.DataFrame) -> dict[str, float]:
    return {name: mean(table, case, "goodput") for name, case in SCHEMES.items()}


def _in_words(found: dict[str, float]) -> str:
    return ", ".join(f"{NAMES[name]} {value / 1e9:.3f}" for name, value in found.items()) + " Gb/s"


@needs(*SCHEMES.values())
def _jitter(table: pd.DataFrame) -> Verdict:
    found = _goodputs(table)
    ratio = found["rcc-async"] / found["rcc"]
    return Verdict(_in_words(found), 0.85 <= ratio <= 1 - _NOTICEABLE, ratio <= 1 - _NOTICEABLE)


@needs(*SCHEMES.values())
def _sender(table: pd.DataFrame) -> Verdict:
    found = _goodputs(table)
    off = found["rcc-sender"] / found["rcc"] - 1
    return Verdict(f"{_in_words(found)}: {off:+.2%}", abs(off) <= 0.03)


@needs(*SCHEMES.values())
def _one_sample(table: pd.DataFrame) -> Verdict:
    found = _goodputs(table)
    ratio = found["rcc-n1"] / found["rcc-async"]
    return Verdict(f"{_in_words(found)}: ratio {ratio:.4f}", ratio <= 1 - _NOTICEABLE)


@needs(*BY_N.values())
def _similar(table: pd.DataFrame) -> Verdict:
    found = np.array([mean(table, BY_N[n], "goodput") for n in SAMPLES if n > 2])
    spread = found.max() / found.min() - 1
    return Verdict(f"n = 3 to 5: {found.min() / 1e9:.3f} to {found.max() / 1e9:.3f} Gb/s", bool(spread <= 0.03))


def _swept(table: pd.DataFrame) -> pd.DataFrame:
    """Return the goodput of the sweep in Gb/s, by n and jitter."""
    rows = {(n, jitter): mean(table, case, "goodput") / 1e9 for (n, jitter), case in SWEEP.items()
            if points_in(table, case)}  # fmt: skip
    index = pd.MultiIndex.from_tuples(rows, names=["n", "jitter"])
    return pd.Series(list(rows.values()), index=index).unstack("jitter")


@needs(*(SWEEP[n, jitter] for n in (1, 3) for jitter in (JITTERS_US[0], JITTERS_US[-1])))
def _where_it_counts(table: pd.DataFrame) -> Verdict:
    found = _swept(table)
    most = JITTERS_US[-1]
    one, three = found.loc[1], found.loc[3]
    words = [
        f"{jitter:g} us: "
        + ", ".join(f"{found.loc[n, jitter]:.1f} with n = {n}" for n in found.index if n in (1, 3, 5))
        for jitter in found.columns
    ]
    is_worse = one[most] <= (1 - _NOTICEABLE) * three[most]
    falls = three[most] <= (1 - _NOTICEABLE) * three[0.0]
    return Verdict(f"{'; '.join(words)} (Gb/s)", bool(is_worse and falls), bool(is_worse))


@register_experiment
class Figure12(IncastFigure):
    """Goodput of an incast with jitter in the samples, and with other n."""

    name = "rcc.fig12"
    title = "The impact of time jitter and parameter n on RCC"
    description = (
        "RCC, figure 12: an incast with jitter in the delay, with n = 1, and with the controller at the sender"
    )
    claims = (
        Claim(
            id="rcc-f12-1",
            place="V-E-1",
            quantity="goodput",
            condition="RCC-async against RCC",
            published="lower, not severely",
            words="0.1% lower at least, 15% at most; direction: lower",
            judge=_jitter,
            **known("rcc-f12-1"),
        ),
        Claim(
            id="rcc-f12-2",
            place="V-E-1",
            quantity="goodput",
            condition="RCC-sender against RCC",
            published="similar, steady and high",
            words="within 3%",
            judge=_sender,
            **known("rcc-f12-2"),
        ),
        Claim(
            id="rcc-f12-3",
            place="V-E-1",
            quantity="goodput",
            condition="n = 1 against n = 3, both with jitter",
            published="worse",
            words="0.1% lower at least",
            judge=_one_sample,
            **known("rcc-f12-3"),
        ),
        Claim(
            id="rcc-f12-4",
            place="V-E-1",
            quantity="goodput",
            condition="n = 3, 4, 5 with jitter",
            published="similar for n > 2",
            words="within 3% of each other",
            judge=_similar,
            **known("rcc-f12-4"),
        ),
        Claim(
            id="rcc-f12-4a",
            place="V-E-1, 50 senders",
            quantity="goodput",
            condition="n and jitter, with shares of three packets",
            published="jitter deteriorates it, n = 1 most",
            words="at 4 us n = 1 below n = 3, and that below itself without jitter; direction: n = 1 below n = 3",
            judge=_where_it_counts,
            **known("rcc-f12-4a"),
        ),
    )

    def cases(self, scale: str) -> list[Case]:
        swept = SWEEP.values() if scale == "paper" else [SWEEP[n, jitter] for n in (1, 3) for jitter in (0.0, 2.0, 4.0)]
        return list(dict.fromkeys([*SCHEMES.values(), *BY_N.values(), *swept]))

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, (left, right) = plt.subplots(1, 2, figsize=(11, 3.8))
            for number, (name, case) in enumerate(SCHEMES.items()):
                label, colour = LOOKS[name]
                rate = curve(table, points_in(table, case)[0], "goodput over time")
                look = {"linewidth": 4 - number, "linestyle": ("-", "--", ":", "-.")[number]}
                left.plot(rate.index / 1e9, rate / 1e9, color=COLOURS[colour], label=label, **look)
            left.set(xlabel="time (ms)", ylabel="goodput (Gb/s)", ylim=(0, 105))
            left.legend(fontsize=8, loc="lower left")
            found = _swept(table)
            for n, colour in zip(found.index, ("vermilion", "orange", "blue", "green", "purple"), strict=False):
                right.plot(found.columns, found.loc[n], "o-", color=COLOURS[colour], markersize=4, label=f"n = {n}")
            right.set(title="(b) 50 senders of 1 MB", xlabel="jitter (± µs)", ylabel="goodput (Gb/s)")
            right.set_ylim(bottom=0)
            right.legend(fontsize=8, loc="lower left")
            senders = int(table["senders"].iloc[0])
            left.set_title(f"(a) the incast of figure 6, {senders:,} senders")
            figure.suptitle(f"RCC, figure 12: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
