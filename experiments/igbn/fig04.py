"""Improved Go-Back-N, figure 4: four losses after which go-back-N waits for its timer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.ladders import LAST, PACKETS, Ladders, data, draw, nak
from rdmacc.experiments.igbn.setup import TITLES, VARIANTS
from rdmacc.faults import ScriptedLoss
from rdmacc.sweep.tidy import curve, scalar
from rdmacc.units import format_time, ms

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure4"]

_TIMEOUT = ms(100)

GBN, ST, CE, IGBN = VARIANTS


def _first_timeout(table: pd.DataFrame, point: str) -> list[int]:
    """Return when the timer fired, if it did."""
    trace = curve(table, point, "timeouts")
    return [int(at) for at in trace.index[trace > 0][:1]]


CASES = {
    "last packet": ("timeouts_last_packet", (data(LAST),), "(a) the last packet is lost"),
    "last ACK": (
        "timeouts_last_ack",
        (ScriptedLoss(message=0, psn=PACKETS, kind="ack"),),
        "(b) the last ACK is lost",
    ),
    "NAK": ("timeouts_nak", (data(2), nak(2)), "(c) the NAK is lost"),
    "twice": ("timeouts_twice", (data(2), data(2, nth=2)), "(d) a packet is lost twice"),
}

CURES = {ST: {"last packet", "last ACK"}, CE: {"NAK", "twice"}, IGBN: set(CASES)}
"""The cases that each change is meant for."""


def _only_by_the_timer(table: pd.DataFrame) -> Verdict:
    words, holds = [], True
    for case, (reason, _, _) in CASES.items():
        point = f"{case}, {GBN}"
        end = round(scalar(table, point, "acknowledged"))
        holds &= scalar(table, point, "timeouts") == scalar(table, point, reason) == 1 and end > _TIMEOUT
        words.append(f"{case} {format_time(end, 5)}")
    return Verdict("one timeout each: " + ", ".join(words), holds)


def _cured(table: pd.DataFrame) -> Verdict:
    words, holds = [], True
    for variant, cured in CURES.items():
        without = {case for case in CASES if scalar(table, f"{case}, {variant}", "timeouts") == 0}
        holds &= without == cured
        words.append(f"{VARIANTS[variant]} cures {', '.join(case for case in CASES if case in without)}")
    return Verdict("; ".join(words), holds)


@register_experiment
class Figure4(Ladders):
    """Four scripted losses, under every variant; the ladders are go-back-N's."""

    name = "igbn.fig4"
    title = "Reason triggering the timeout retransmission"
    description = "Improved Go-Back-N, figure 4: four losses that only the timer ends, and what each change cures"
    claims = (
        Claim(
            id="igbn-f4-1",
            place="III-A",
            quantity="four scripted losses",
            condition="GBN",
            published="each ends only by ACK timeout",
            words="trace test",
            judge=_only_by_the_timer,
        ),
        Claim(
            id="igbn-f4-1a",
            place="III-C",
            quantity="four scripted losses",
            condition="ST, CE, Improved",
            published="ST reduces reasons 1 and 2, CE reasons 3 and 4",
            words="exactly those end without a timeout",
            judge=_cured,
        ),
    )

    def cases(self) -> list[tuple[str, str, tuple[ScriptedLoss, ...], dict[str, Any]]]:
        return [
            (f"{case}, {variant}", variant, losses, {"case": case})
            for variant in VARIANTS
            for case, (_, losses, _) in CASES.items()
        ]

    def plot(self, table: pd.DataFrame) -> Figure:
        names = [(f"{case}, {GBN}", title) for case, (_, _, title) in CASES.items()]

        def notes(point: str) -> list[tuple[str, int, str]]:
            return [("h0", at, "ACK\ntimeout") for at in _first_timeout(table, point)]

        figure = draw(table, names, notes, (10.5, 15))
        figure.suptitle(f"IGBN, figure 4: {TITLES[GBN]}, timeout 100 ms", x=0.01, ha="left", fontsize=12)
        return figure
