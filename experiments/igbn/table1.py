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
""""40GB" are 40 Gb/s (section I); KB and MB are powers of two, since 256 KB are 256 packets."""


def _as_run(table: pd.DataFrame) -> Measured:
    counts = {name: scalar(table, POINT, name) for name in ("packets", "ACKs")}
    return Measured(counts, show(scalar(table, POINT, "time of a message"), "us"))


def _binary(size: int) -> str:
    return f"{size / MiB(1):g} MiB" if size >= MiB(1) else f"{size / KiB(1):g} KiB"


_FORMATS: dict[str, Callable[[int], str]] = {"bps": format_rate, "bytes": _binary, "ps": format_time}


def _cells(table: pd.DataFrame) -> list[list[str]]:
    rows = zip(table["quantity"].tolist(), table["value"].tolist(), table["unit"].tolist())
    return [
        [name, _FORMATS.get(unit, str)(round(value)), "table I" if name in _PUBLISHED else "run"]
        for name, value, unit in rows
    ]


class Table1(LoneMessage):
    name = "igbn.table1"
    panels = (Listing(columns={"parameter": 0.5, "value": 0.3, "from": 0.2}, cells=_cells),)
    grid = MappingProxyType({"size": (5.5, 3.6)})
    claims = (
        claim("igbn-t1-1",
              measure=lambda table: {name: scalar(table, POINT, name) / value for name, value in _PUBLISHED.items()},
              band=Each(Exactly(1), of="parameter")),
        claim("igbn-t1-1a", measure=_as_run, band=All({"packets": Exactly(4096), "ACKs": Exactly(4096 / 256)})),
    )  # fmt: skip
