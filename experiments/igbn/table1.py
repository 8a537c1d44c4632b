"""Improved Go-Back-N, table I: the parameters, checked in a run."""

from rdmacc.experiments.igbn.lone_message import POINT, LoneMessage
from ..api import *
from .setup import *

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


def _as_run(table: pd.DataFrame) -> Measured:
    counts = {name: scalar(table, POINT, name) for name in ("packets", "ACKs")}
    return Measured(counts, show(scalar(table, POINT, "time of a message"), "us"))


def _binary(size: int) -> str:
    return f"{size / MiB(1):g} MiB" if size >= MiB(1) else f"{size / KiB(1):g} KiB"


@register_experiment
class Table1(LoneMessage):
    name = "igbn.table1"
    title = "Parameter values used in our simulation"
    description = "Improved Go-Back-N, table I: the parameters, as set by the preset igbn-2019"
    claims = (
        claim("igbn-t1-1",
              measure=lambda table: {name: scalar(table, POINT, name) / value for name, value in _PUBLISHED.items()},
              band=Each(Exactly(1), of="parameter")),
        claim("igbn-t1-1a", measure=_as_run, band=All({"packets": Exactly(4096), "ACKs": Exactly(4096 / 256)})),
    )  # fmt: skip

    def plot(self, table: pd.DataFrame) -> Figure:
        formats: dict[str, Callable[[int], str]] = {"bps": format_rate, "bytes": _binary, "ps": format_time}
        names, units = table["quantity"].tolist(), table["unit"].tolist()
        values = [
            formats.get(unit, str)(round(value)) for unit, value in zip(units, table["value"].tolist(), strict=True)
        ]
        rows = list(zip(names, values, strict=True))
        figure, ax = subplots(figsize=(5.5, 3.6))
        ax.set_axis_off()
        ax.set_title(f"IGBN, table I: {self.title}", fontsize=10)
        split = len(_PUBLISHED)
        for number, (name, value) in enumerate(rows):
            y = 1 - (number + (number >= split) * 0.6) / (len(rows) + 1)
            colour = "0.1" if number < split else "0.4"
            ax.text(0.0, y, name[0].upper() + name[1:], transform=ax.transAxes, va="top", color=colour)
            ax.text(0.7, y, value, transform=ax.transAxes, va="top", color=colour)
        y = 1 - (split + 0.1) / (len(rows) + 1)
        ax.plot([0, 1], [y, y], transform=ax.transAxes, color="0.7", linewidth=0.8)
        return figure
