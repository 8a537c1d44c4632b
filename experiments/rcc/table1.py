"""RCC, table I: the state of a connection, counted in the implementation's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from rdmacc.experiments.framework.claim import Claim, Verdict
from rdmacc.experiments.framework.experiment import Experiment, Run, Seeding
from rdmacc.experiments.framework.point import Point
from rdmacc.experiments.framework.registry import register_experiment
from rdmacc.experiments.framework.scale import check_scale
from rdmacc.experiments.rcc.known import known
from rdmacc.plotting.style import style
from rdmacc.protocols.rcc import Rcc
from rdmacc.records import Record
from rdmacc.state import Message
from rdmacc.sweep.tidy import scalars, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LISTED", "Table1"]

LISTED: dict[str, tuple[str, type[Record], str, int]] = {
    "cwnd": ("sender", Rcc.Sender, "cwnd_bytes", 4),
    "snd_una": ("sender", Message, "una_psn", 4),
    "snd_nxt": ("sender", Message, "next_psn", 4),
    "flow_num": ("receiver", Rcc.Endpoint, "flow_num", 4),
    "rcv_nxt": ("receiver", Message, "received_packets", 4),
    "last_rtt": ("receiver", Rcc.Receiver, "last_rtt_ps", 8),
    "last_rtt_diff": ("receiver", Rcc.Receiver, "last_rtt_diff_ps", 8),
    "cwnd of the receiver": ("receiver", Rcc.Receiver, "cwnd_bytes", 4),
    "update_timer": ("receiver", Rcc.Receiver, "update_timer_ns", 4),
    "base_rtt": ("receiver", Rcc.Receiver, "base_rtt_ps", 8),
}
"""Table I: side, our record and field, and the published size in bytes."""

NEEDED = {"is_iterative": "whether the flow is under PID", "late": "late samples in a row"}
"""What algorithm 1 needs of a flow besides."""

PUBLISHED_TOTAL, DCQCN_TOTAL = 52, 60


def bytes_of(record: type[Record], name: str) -> int:
    """Return the size of a record's field."""
    return int(np.dtype(next(field.code for field in record.fields if field.name == name)).itemsize)


def _sizes(table: pd.DataFrame) -> pd.Series:
    return scalars(table).set_index("quantity")["value"]


def _total(table: pd.DataFrame) -> Verdict:
    sizes = _sizes(table)
    same = [name for name, (*_, published) in LISTED.items() if sizes[name] == published]
    total = sizes[list(LISTED)].sum()
    measured = f"{total:.0f} bytes; {len(same)} of {len(LISTED)} sizes are equal; below DCQCN's {DCQCN_TOTAL} or so"
    return Verdict(measured, total == PUBLISHED_TOTAL and len(same) == len(LISTED) and total < DCQCN_TOTAL)


def _unlisted(table: pd.DataFrame) -> Verdict:
    sizes = _sizes(table)
    more, memory = sizes[list(NEEDED)].sum(), sizes["u"]
    total = sizes[list(LISTED)].sum() + more
    measured = (
        f"{more:.0f} bytes more ({', '.join(NEEDED.values())}); u of equation (4) as printed would take {memory:.0f}"
    )
    return Verdict(measured, more > 0 and total < DCQCN_TOTAL and memory > 0)


@register_experiment
class Table1(Experiment):
    """Sizes of the state variables."""

    name = "rcc.table1"
    title = "State variables of RCC"
    description = (
        "RCC, table I: 52 bytes for each connection, counted in the records, and what algorithm 1 needs besides"
    )
    seeding = Seeding.NONE
    claims = (
        Claim(
            id="rcc-t1-1",
            place="III-F, table I",
            quantity="state for each connection",
            condition="sender and receiver",
            published="52 bytes (DCQCN about 60)",
            words="sum and every size equal",
            judge=_total,
            **known("rcc-t1-1"),
        ),
        Claim(
            id="rcc-t1-1a",
            place="algorithm 1, equation (1)",
            quantity="state that table I leaves out",
            condition="our records",
            published="(not listed)",
            words="something, still below DCQCN's 60 bytes; no room for u, which equation (4) would need",
            judge=_unlisted,
            **known("rcc-t1-1a"),
        ),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        check_scale(scale)  # the same at both: no simulation
        return [Point(name="records")]

    def execute(self, point: Point, run: Run) -> pd.DataFrame:
        numbers = {name: (bytes_of(record, own), "bytes") for name, (_, record, own, _) in LISTED.items()}
        numbers |= {name: (bytes_of(Rcc.Receiver, name), "bytes") for name in NEEDED}
        return tidy(point.name, numbers | {"u": (bytes_of(Rcc.Receiver, "control"), "bytes")})

    def plot(self, table: pd.DataFrame) -> Figure:
        import matplotlib.pyplot as plt

        sizes = _sizes(table)
        rows = [
            [
                side,
                name.removesuffix(" of the receiver"),
                f"{record.__qualname__}.{own}",
                f"{published}",
                f"{sizes[name]:.0f}",
            ]
            for name, (side, record, own, published) in LISTED.items()
        ]
        total = sizes[list(LISTED)].sum()
        rows.append(["", "total", "", f"{PUBLISHED_TOTAL}", f"{total:.0f}"])
        rows += [["not listed", f"{name}: {doc}", f"Rcc.Receiver.{name}", "–", f"{sizes[name]:.0f}"]
                 for name, doc in NEEDED.items()]  # fmt: skip
        with style():
            figure, ax = plt.subplots(figsize=(9, 4.2))
            ax.axis("off")
            drawn = ax.table(
                rows, colLabels=["", "state variable", "rdmacc", "bytes, published", "bytes, rdmacc"], loc="center",
                cellLoc="left", colWidths=[0.12, 0.36, 0.28, 0.14, 0.12],
            )  # fmt: skip
            drawn.auto_set_font_size(False)
            drawn.set_fontsize(9)
            drawn.scale(1, 1.35)
            ax.set_title(f"RCC, table I: {self.title}")
        return figure
