"""Improved Go-Back-N, figure 5: the receiver's timer of Check EPSN."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd

from rdmacc import probes
from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.ladders import LAST, PACKETS, Ladders, arrows_of, data, draw, nak
from rdmacc.experiments.igbn.setup import VARIANTS
from rdmacc.faults import ScriptedLoss
from rdmacc.plotting.ladder import Arrow
from rdmacc.sweep.tidy import curve, scalar
from rdmacc.units import ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure5"]

_TIMEOUT, _INTERVAL = ms(100), us(500)

GBN, ST, CE, IGBN = VARIANTS

_EXAMPLES = {
    "at the end of T": ((data(2), nak(2)), "(a) T runs out: NAK"),
    "again": ((data(2), nak(2), nak(2, nth=2)), "(b) that NAK is lost: T starts again"),
    "reset": (
        (data(2), *(data(psn, nth=2) for psn in range(3, PACKETS))),
        "(c) EPSN comes within T: T starts again",
    ),
}

_CHECK = "check_timer_ps"


def _sent(table: pd.DataFrame, point: str, label: str) -> list[Arrow]:
    return [arrow for arrow in arrows_of(table, point) if arrow.label == label]


def _checks(table: pd.DataFrame) -> Verdict:
    """Judge all three examples, to the picosecond."""
    first, second = (arrow.begin_ps for arrow in _sent(table, "at the end of T", "NAK 2"))
    last_came = next(arrow.end_ps for arrow in _sent(table, "at the end of T", f"DATA {LAST}"))
    again = [arrow.begin_ps for arrow in _sent(table, "again", "NAK 2")]
    came = next(arrow.end_ps for arrow in _sent(table, "reset", "DATA 2") if not arrow.is_lost)
    asked = _sent(table, "reset", "NAK 3")[0].begin_ps
    armed = curve(table, "reset", _CHECK)
    is_armed_before = bool((armed[armed.index < came] < came + _INTERVAL).any())
    no_timeouts = all(scalar(table, point, "timeouts") == 0 for point in _EXAMPLES)
    holds = (
        second - first == _INTERVAL
        and [later - earlier for earlier, later in pairwise(again)] == [_INTERVAL, _INTERVAL]
        and is_armed_before
        and asked == came + _INTERVAL
        and no_timeouts
    )
    remaining = second - last_came
    words = f"NAK after T = {remaining / 1e6:.2f} us, {(second - first) / 1e6:g} us after the first one; again after "
    words += f"{(again[2] - again[1]) / 1e6:g} us; {(asked - came) / 1e6:g} us after EPSN came; no timeout"
    return Verdict(words, holds)


def _is_apart(before: tuple[int, float] | None, here: tuple[int, float]) -> bool:
    """Tell whether there is room for a note: packets that follow one another restart the timer each."""
    return before is None or here[0] - before[0] > us(1)


@register_experiment
class Figure5(Ladders):
    """The receiver's timer: when the last packet has come and an earlier one is expected."""

    name = "igbn.fig5"
    title = "Check EPSN"
    description = "Improved Go-Back-N, figure 5: the receiver asks again by a timer"
    claims = (
        Claim(
            id="igbn-f5-1",
            place="III-C",
            quantity="CE timer",
            condition="EPSN < LPSN at last packet",
            published="NAK at remaining interval, restart, reset on EPSN arrival",
            words="trace test",
            judge=_checks,
        ),
    )

    def cases(self) -> list[tuple[str, str, tuple[ScriptedLoss, ...], dict[str, Any]]]:
        return [(name, CE, losses, {}) for name, (losses, _) in _EXAMPLES.items()]

    def probes(self, variant: str) -> tuple[probes.Probe, ...]:
        return (probes.field("flow", 0, _CHECK),)

    def watched(self, point: Point) -> tuple[str, ...]:
        return (_CHECK,)

    def plot(self, table: pd.DataFrame) -> Figure:
        names = [(name, title) for name, (_, title) in _EXAMPLES.items()]

        def notes(point: str) -> list[tuple[str, int, str]]:
            armed = curve(table, point, _CHECK)
            times = [(at, until) for at, until in zip(armed.index, armed, strict=True) if until < _TIMEOUT]
            first = [one for before, one in zip([None, *times], times, strict=False) if _is_apart(before, one)]
            return [("h1", at, f"T = {(until - at) / 1e6:.1f} µs") for at, until in first]

        figure = draw(table, names, notes, (15, 8.5))
        figure.suptitle(f"IGBN, figure 5: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
