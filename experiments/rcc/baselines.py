"""RCC at 320 hosts: other readings of the baselines' parameters, and of RCC, side by side. Setup: `fat_tree`.

V-A gives the baselines "the parameters suggested in the corresponding papers". These have several: DCQCN's timers are
not those of the simulator that RCC started from, TIMELY's steps hold for 10 Gb/s, ExpressPass suggests two first
rates. The figures run one reading of each; here are the others, for the web search workload at one load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.rcc.fat_tree import Case, FatTreeFigure, claim
from rdmacc.experiments.rcc.setup import LOOKS
from rdmacc.plotting.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["READINGS", "Baselines"]

_PAPER_TIMERS = (("alpha_period_ps", "50us"), ("decrease_period_ps", "50us"), ("increase_period_ps", "55us"))
READINGS: dict[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    "RCC": ("rcc", ()),
    "RCC, 12 µs for all": ("rcc", (("base_rtt_ps", "12us"),)),
    "RCC, equation (4) as printed": ("rcc", (("pid_form", "accumulating"),)),
    "RCC, n = 100": ("rcc", (("late_samples", 100),)),
    "RCC-EWA": ("rcc-ewa", ()),
    "RCC, η in W": ("rcc", (("ewa_eta", 0.95),)),
    "HPCC": ("hpcc", ()),
    "Homa": ("homa", ()),
    "Homa, ECMP": ("homa", (("routing", "ecmp"),)),
    "ExpressPass": ("expresspass", ()),
    "ExpressPass, first rate 1/2": ("expresspass", (("initial_fraction", 0.5),)),
    "DCQCN": ("dcqcn", ()),
    "DCQCN, its paper's timers": ("dcqcn", _PAPER_TIMERS),
    "DCQCN, its paper's CNPs": ("dcqcn-cnp", ()),
    "TIMELY": ("timely", ()),
    "TIMELY, of the HPCC simulator": ("timely-hpcc", ()),
}
"""Scheme and changes of each reading; those without changes are what the figures run."""
_LOADS = {"quick": 0.7, "paper": 0.5}
_NAME = "web_search"
_MOST_WORSE = 0.05


def _found(rows: pd.DataFrame, quantity: str) -> dict[str, pd.Series[float]]:
    """Return a quantity by seed, for each reading."""
    return {
        name: rows.loc[
            (rows["scheme"] == scheme) & (rows["changes"] == Case(scheme, _NAME, 0.5, changes).differences), quantity
        ]
        for name, (scheme, changes) in READINGS.items()
    }


def _means(rows: pd.DataFrame, quantity: str = "all mean") -> dict[str, float]:
    return {name: float(values.mean()) for name, values in _found(rows, quantity).items()}


def _spraying(rows: pd.DataFrame) -> Verdict:
    found = _means(rows)
    gain = 1 - found["Homa, ECMP"] / found["Homa"]
    return Verdict(f"with ECMP Homa's average FCT changes by {-gain:+.0%}", gain >= 0.05, gain > 0)


def _every_dcqcn(rows: pd.DataFrame) -> Verdict:
    found = _means(rows)
    gaps = {name: 1 - found["RCC"] / found[name] for name in found if name.startswith(("DCQCN", "TIMELY"))}
    words = ", ".join(f"{name}: {gap:.0%}" for name, gap in gaps.items())
    return Verdict(words, min(gaps.values()) > 0)


def _same_rcc(rows: pd.DataFrame) -> Verdict:
    found = _means(rows)
    gaps = {name: found[name] / found["RCC"] - 1 for name in found if name.startswith("RCC,")}
    words = ", ".join(f"{name}: {gap:+.0%}" for name, gap in gaps.items())
    return Verdict(words, max(map(abs, gaps.values())) <= _MOST_WORSE)


@register_experiment
class Baselines(FatTreeFigure):
    """Average FCT of every reading, web search."""

    name = "rcc.baselines"
    title = "Other readings of the baselines, and of RCC"
    description = "average FCT at 320 hosts, web search: what the figures run, and other readings of it"
    claims = (
        claim(
            "rcc-b-1a", "V-D-2", "Homa's average FCT with ECMP in place of spraying", "web search",
            "core packet spraying may encounter various issues", "lower by >= 5%; direction: lower", _spraying,
        ),
        claim(
            "rcc-b-2a", "V-D-1", "RCC's reduction of the average FCT over DCQCN and TIMELY", "each reading of them",
            "lower", "> 0 over each reading", _every_dcqcn,
        ),
        claim(
            "rcc-b-3a", "III-E, III-D", "RCC's average FCT under other readings of it", "web search",
            "not said", "within 5%", _same_rcc,
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[Case]:
        return [Case(scheme, _NAME, _LOADS[scale], changes) for scheme, changes in READINGS.values()]

    def draw(self, rows: pd.DataFrame) -> Figure:
        quantities = {"all mean": "average of all", "short mean": "average of short", "long mean": "average of long"}
        colours = [
            COLOURS[LOOKS[scheme.removesuffix("-cnp").removesuffix("-hpcc")][1]] for scheme, _ in READINGS.values()
        ]
        with style():
            figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), sharey=True)
            for ax, (quantity, title) in zip(axes, quantities.items(), strict=True):
                each = pd.DataFrame({
                    name: values.agg(["min", "mean", "max"]) / 1e6 for name, values in _found(rows, quantity).items()
                }).T  # fmt: skip
                error = [each["mean"] - each["min"], each["max"] - each["mean"]]
                ax.barh(np.arange(len(each)), each["mean"], xerr=error, color=colours, height=0.7)
                ax.axvline(each.loc["RCC", "mean"], color="0.4", linestyle=":", linewidth=1.2)
                ax.set(title=f"{title} flows", xlabel="FCT (µs)")
            axes[0].set_yticks(np.arange(len(READINGS)), list(READINGS))
            axes[0].invert_yaxis()
            load = rows["load"].iloc[0]
            figure.suptitle(
                f"RCC: readings of the parameters, web search at {load:.0%} (dotted: RCC as in the figures)"
            )
        return figure
