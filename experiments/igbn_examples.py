"""Improved Go-Back-N, figures 4 and 5: worked examples, each a message of six packets that loses just what is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd

from rdmacc import probes, topology
from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, check_scale
from rdmacc.experiments.igbn_setup import TITLES, VARIANTS, chain_of_messages
from rdmacc.faults import ScriptedLoss
from rdmacc.plotting.ladder import Arrow, draw_arrows, find_arrows
from rdmacc.plotting.style import style
from rdmacc.presets.igbn_2019 import IGBN_2019
from rdmacc.protocols.go_back_n import TIMEOUT_REASONS
from rdmacc.results.hops import find_hops
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import curve, scalar, tidy
from rdmacc.units import format_time, ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure4", "Figure5"]


_PACKETS = 6
_LAST = _PACKETS - 1
_HOSTS = ("h0", "h1")
_TIMEOUT, _INTERVAL = ms(100), us(500)
GBN, ST, CE, IGBN = VARIANTS


def _data(psn: int, nth: int = 1) -> ScriptedLoss:
    return ScriptedLoss(message=0, psn=psn, nth=nth)


def _nak(psn: int, nth: int = 1) -> ScriptedLoss:
    return ScriptedLoss(message=0, psn=psn, nth=nth, kind="nak")


class _Ladders(Experiment):
    """What both figures share: a point for each scripted loss, whose rows are numbers and the arrows of its ladder."""

    def cases(self) -> list[tuple[str, str, tuple[ScriptedLoss, ...], dict[str, Any]]]:
        """Return (name, scheme, losses, further labels) of each point."""
        raise NotImplementedError

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        check_scale(scale)  # the same at both: nothing is random
        return [
            Point(
                name=name,
                scenario=Scenario(
                    topology=topology.igbn_pair,
                    workload=partial(chain_of_messages, 1, _PACKETS * 1024),
                    scheme=IGBN_2019[variant],
                    seed=seed,
                    faults=losses,
                    probes=(probes.field("flow", 0, "timeouts"), *self.probes(variant)),
                    trace=True,
                ),
                labels={"variant": variant, **labels},
            )
            for name, variant, losses, labels in self.cases()
        ]

    def probes(self, variant: str) -> tuple[probes.Probe, ...]:
        """Return what else to record."""
        return ()

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flow, transfer = result.flows.iloc[0], result.transfers.iloc[0]
        numbers = {
            "acknowledged": (int(flow["fct_acked_ps"]), "ps"),
            "timeouts": (int(flow["timeouts"]), ""),
            "NAKs": (int(result.counters["naks"]), ""),
        } | {name: (int(transfer[name]), "") for name in TIMEOUT_REASONS}
        curves = {name: (result.samples(f"{name} 0"), "") for name in ("timeouts", *self.watched(point))}
        found = pd.DataFrame(map(vars, find_arrows(result, find_hops(result), _HOSTS)))
        arrows = found.rename(columns={"begin_ps": "time_ps", "end_ps": "value"})
        arrows = arrows.assign(point=point.name, quantity="arrow", unit="ps")
        return pd.concat([tidy(point.name, numbers, curves), arrows], ignore_index=True)

    def watched(self, point: Point) -> tuple[str, ...]:
        """Return the fields that are recorded besides."""
        return ()


def arrows_of(table: pd.DataFrame, point: str) -> list[Arrow]:
    """Return the arrows of a point's ladder."""
    rows = table[(table["point"] == point) & (table["quantity"] == "arrow")]
    rows = rows.rename(columns={"time_ps": "begin_ps", "value": "end_ps"}).astype({"end_ps": "int64", "is_lost": bool})
    return [Arrow(*row) for row in rows[[field.name for field in fields(Arrow)]].itertuples(index=False)]


def _first_timeout(table: pd.DataFrame, point: str) -> list[int]:
    """Return when the timer fired, if it did."""
    trace = curve(table, point, "timeouts")
    return [int(at) for at in trace.index[trace > 0][:1]]


def _draw(table: pd.DataFrame, names: Sequence[tuple[str, str]], notes: Any, figsize: tuple[float, float]) -> Figure:
    import matplotlib.pyplot as plt

    with style():
        columns = min(len(names), 3) if len(names) != 4 else 2
        figure, axes = plt.subplots(-(-len(names) // columns), columns, figsize=figsize, squeeze=False)
        for ax, (point, title) in zip(axes.flat, names, strict=True):
            draw_arrows(arrows_of(table, point), _HOSTS, _HOSTS, ax, title=title, notes=notes(point))
    return figure


# Figure 4

CASES = {
    "last packet": ("timeouts_last_packet", (_data(_LAST),), "(a) the last packet is lost"),
    "last ACK": (
        "timeouts_last_ack",
        (ScriptedLoss(message=0, psn=_PACKETS, kind="ack"),),
        "(b) the last ACK is lost",
    ),
    "NAK": ("timeouts_nak", (_data(2), _nak(2)), "(c) the NAK is lost"),
    "twice": ("timeouts_twice", (_data(2), _data(2, nth=2)), "(d) a packet is lost twice"),
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


class Figure4(_Ladders):
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
            band="trace test",
            verdict=_only_by_the_timer,
        ),
        Claim(
            id="igbn-f4-1a",
            place="III-C",
            quantity="four scripted losses",
            condition="ST, CE, Improved",
            published="ST reduces reasons 1 and 2, CE reasons 3 and 4",
            band="exactly those end without a timeout",
            verdict=_cured,
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

        figure = _draw(table, names, notes, (10.5, 15))
        figure.suptitle(f"IGBN, figure 4: {TITLES[GBN]}, timeout 100 ms", x=0.01, ha="left", fontsize=12)
        return figure


# Figure 5

_EXAMPLES = {
    "at the end of T": ((_data(2), _nak(2)), "(a) T runs out: NAK"),
    "again": ((_data(2), _nak(2), _nak(2, nth=2)), "(b) that NAK is lost: T starts again"),
    "reset": (
        (_data(2), *(_data(psn, nth=2) for psn in range(3, _PACKETS))),
        "(c) EPSN comes within T: T starts again",
    ),
}
_CHECK = "check_timer_ps"


def _sent(table: pd.DataFrame, point: str, label: str) -> list[Arrow]:
    return [arrow for arrow in arrows_of(table, point) if arrow.label == label]


def _checks(table: pd.DataFrame) -> Verdict:
    """Judge all three examples, to the picosecond."""
    first, second = (arrow.begin_ps for arrow in _sent(table, "at the end of T", "NAK 2"))
    last_came = next(arrow.end_ps for arrow in _sent(table, "at the end of T", f"DATA {_LAST}"))
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


class Figure5(_Ladders):
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
            band="trace test",
            verdict=_checks,
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

        figure = _draw(table, names, notes, (15, 8.5))
        figure.suptitle(f"IGBN, figure 5: {self.title}", x=0.01, ha="left", fontsize=12)
        return figure
