"""Improved Go-Back-N, figure 1 and table I: the network and the parameters, and what one message makes of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc import topology
from rdmacc.experiments.base import Claim, Experiment, Point, Verdict, check_scale
from rdmacc.experiments.igbn_setup import MESSAGE_BYTES, chain_of_messages
from rdmacc.plotting.style import style
from rdmacc.presets.igbn_2019 import IGBN_2019
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.results.result import Result
from rdmacc.scenario import Scenario
from rdmacc.sweep.tidy import scalar, tidy
from rdmacc.units import KiB, MiB, format_rate, format_time, ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Figure1", "Table1"]

_POINT = "a message without loss"


class _LoneMessage(Experiment):
    """What both share: one message of 4 MB, without loss."""

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        check_scale(scale)  # the same at both
        scenario = Scenario(
            topology=topology.igbn_pair,
            workload=partial(chain_of_messages, 1),
            scheme=IGBN_2019["go-back-n"],
            seed=seed,
        )
        return [Point(name=_POINT, scenario=scenario)]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        plan, flow = result.plan, result.flows.iloc[0]
        fabric, scheme = plan.fabric, plan.scheme
        recovery = scheme.recovery
        assert isinstance(recovery, GoBackN)
        numbers = {
            "bandwidth": (float(fabric.port_rate_bps.min()), "bps"),
            "propagation delay per hop": (int(fabric.port_delay_ps.max()), "ps"),
            "message size": (int(plan.size_bytes[0]), "bytes"),
            "packet payload": (scheme.payload_bytes, "bytes"),
            "ACK timeout": (recovery.timeout_ps, "ps"),
            "ACK interval": (recovery.ack_every_packets * scheme.payload_bytes, "bytes"),
            "NAK interval": (recovery.nak_interval_ps, "ps"),
            "base RTT": (int(plan.qp_base_rtt_ps[0]), "ps"),
            "packets": (int(plan.packets[0]), ""),
            "ACKs": (int(result.counters["acks"]), ""),
            "time of a message": (int(flow["fct_acked_ps"]), "ps"),
            "goodput": (float(flow["size_bytes"] * 8e12 / flow["fct_acked_ps"]), "bps"),
        }
        return tidy(point.name, numbers)


# Figure 1

_HOPS = 4
"""There and back."""


def _base_rtt(table: pd.DataFrame) -> Verdict:
    rtt = scalar(table, _POINT, "base RTT")
    propagation = _HOPS * scalar(table, _POINT, "propagation delay per hop")
    measured = f"{rtt / 1e6:.3f} us, {propagation / 1e6:g} us of it propagation"
    return Verdict(measured, propagation == us(4) and us(4) < rtt < us(5))


class Figure1(_LoneMessage):
    """Two hosts and a switch."""

    name = "igbn.fig1"
    title = "Network topology"
    description = "Improved Go-Back-N, figure 1: two hosts and a switch; the base RTT"
    claims = (
        Claim(
            id="igbn-f1-a",
            place="II-B, table I",
            quantity="base RTT",
            condition="two links of 40 Gb/s and 1 us each way",
            published="(follows from table I)",
            band="4 us and the packets' time on the links, below 5 us",
            verdict=_base_rtt,
        ),
    )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        with style():
            figure, ax = plt.subplots(figsize=(7, 3))
            topology.draw(topology.igbn_pair(), ax)
            rtt, whole = (round(scalar(table, _POINT, name)) for name in ("base RTT", "time of a message"))
            ax.set_title(
                f"IGBN, figure 1: {self.title}\n"
                f"base RTT {rtt / 1e6:.3f} µs; a message of 4 MiB takes {whole / 1e6:.2f} µs",
                fontsize=10,
            )
        return figure


# Table I

_PUBLISHED = {
    "bandwidth": 40e9,
    "propagation delay per hop": us(1),
    "message size": MESSAGE_BYTES,
    "packet payload": 1024,
    "ACK timeout": ms(100),
    "ACK interval": 256 * 1024,
    "NAK interval": us(500),
}
"""Its "40GB" are 40 Gb/s (section I), its KB and MB powers of two, as its 256 packets for 256 KB."""


def _as_published(table: pd.DataFrame) -> Verdict:
    same = [name for name, value in _PUBLISHED.items() if scalar(table, _POINT, name) == value]
    return Verdict(f"{len(same)} of {len(_PUBLISHED)} parameters are equal", len(same) == len(_PUBLISHED))


def _as_run(table: pd.DataFrame) -> Verdict:
    packets, acks = scalar(table, _POINT, "packets"), scalar(table, _POINT, "ACKs")
    measured = f"{packets:.0f} packets, {acks:.0f} ACKs, {scalar(table, _POINT, 'time of a message') / 1e6:.2f} us"
    return Verdict(measured, packets == 4096 and acks == 16)


def _binary(size: int) -> str:
    return f"{size / MiB(1):g} MiB" if size >= MiB(1) else f"{size / KiB(1):g} KiB"


class Table1(_LoneMessage):
    """The parameters of all that follows."""

    name = "igbn.table1"
    title = "Parameter values used in our simulation"
    description = "Improved Go-Back-N, table I: parameters, as the preset igbn-2019 has them"
    claims = (
        Claim(
            id="igbn-t1-1",
            place="II-B",
            quantity="parameters",
            condition="40G, 1us, 4MB, 1KB, 100ms, 256KB, 500us",
            published="stated",
            band="config equality",
            verdict=_as_published,
        ),
        Claim(
            id="igbn-t1-1a",
            place="II-B",
            quantity="packets and ACKs of a message",
            condition="no loss",
            published="(follows from table I)",
            band="4,096 packets, an ACK for each 256",
            verdict=_as_run,
        ),
    )

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        formats: dict[str, Callable[[int], str]] = {"bps": format_rate, "bytes": _binary, "ps": format_time}
        names, units = table["quantity"].tolist(), table["unit"].tolist()
        values = [
            formats.get(unit, str)(round(value)) for unit, value in zip(units, table["value"].tolist(), strict=True)
        ]
        rows = list(zip(names, values, strict=True))
        with style():
            figure, ax = plt.subplots(figsize=(5.5, 3.6))
            ax.set_axis_off()
            ax.set_title(f"IGBN, table I: {self.title}", fontsize=10)
            split = len(_PUBLISHED)
            for number, (name, value) in enumerate(rows):
                y = 1 - (number + (number >= split) * 0.6) / (len(rows) + 1)
                colour = "0.1" if number < split else "0.4"
                ax.text(0.0, y, name[0].upper() + name[1:], transform=ax.transAxes, va="top", color=colour)
                ax.text(0.7, y, value.replace(" us", " µs"), transform=ax.transAxes, va="top", color=colour)
            y = 1 - (split + 0.1) / (len(rows) + 1)
            ax.plot([0, 1], [y, y], transform=ax.transAxes, color="0.7", linewidth=0.8)
        return figure
