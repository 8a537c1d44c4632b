"""Improved Go-Back-N, table I: the parameters, checked in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.igbn.lone_message import POINT, LoneMessage
from rdmacc.experiments.igbn.setup import MESSAGE_BYTES
from rdmacc.plotting.style import style
from rdmacc.sweep.tidy import scalar
from rdmacc.units import KiB, MiB, format_rate, format_time, ms, us

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Table1"]

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
    same = [name for name, value in _PUBLISHED.items() if scalar(table, POINT, name) == value]
    return Verdict(f"{len(same)} of {len(_PUBLISHED)} parameters are equal", len(same) == len(_PUBLISHED))


def _as_run(table: pd.DataFrame) -> Verdict:
    packets, acks = scalar(table, POINT, "packets"), scalar(table, POINT, "ACKs")
    measured = f"{packets:.0f} packets, {acks:.0f} ACKs, {scalar(table, POINT, 'time of a message') / 1e6:.2f} us"
    return Verdict(measured, packets == 4096 and acks == 16)


def _binary(size: int) -> str:
    return f"{size / MiB(1):g} MiB" if size >= MiB(1) else f"{size / KiB(1):g} KiB"


@register_experiment
class Table1(LoneMessage):
    """The parameters of all figures."""

    name = "igbn.table1"
    title = "Parameter values used in our simulation"
    description = "Improved Go-Back-N, table I: the parameters, as set by the preset igbn-2019"
    claims = (
        Claim(
            id="igbn-t1-1",
            place="II-B",
            quantity="parameters",
            condition="40G, 1us, 4MB, 1KB, 100ms, 256KB, 500us",
            published="stated",
            words="config equality",
            judge=_as_published,
        ),
        Claim(
            id="igbn-t1-1a",
            place="II-B",
            quantity="packets and ACKs of a message",
            condition="no loss",
            published="(follows from table I)",
            words="4,096 packets, an ACK for each 256",
            judge=_as_run,
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
