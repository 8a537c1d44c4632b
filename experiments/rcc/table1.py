"""RCC, table I: the state of a connection, counted in the implementation's records."""

from rdmacc.interface import Message, Record
from rdmacc.protocols.rcc import Rcc
from ..api import *

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
"""Other state per flow in algorithm 1."""

PUBLISHED_TOTAL, DCQCN_TOTAL = 52, 60


def bytes_of(record: type[Record], name: str) -> int:
    return int(np.dtype({field.name: field.code for field in record.fields}[name]).itemsize)


def _sizes(table: pd.DataFrame) -> pd.Series:
    return scalars(table).set_index("quantity")["value"]


def _listed(table: pd.DataFrame) -> pd.Series:
    sizes = _sizes(table)
    listed = sizes[list(LISTED)]
    total = listed.sum()
    return pd.concat([listed, pd.Series({"listed": total, "needed": total + sizes[list(NEEDED)].sum()})])


def _unlisted(table: pd.DataFrame) -> Measured:
    sizes = _sizes(table)
    more = sizes[list(NEEDED)].sum()
    numbers = {"not listed": more, "total": sizes[list(LISTED)].sum() + more, "u": sizes["u"]}
    return Measured(numbers, f"not listed: {', '.join(NEEDED.values())}")


def _cells(table: pd.DataFrame) -> list[list[str]]:
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
    rows.append(["", "total", "", f"{PUBLISHED_TOTAL}", f"{sizes[list(LISTED)].sum():.0f}"])
    unlisted = [
        ["not listed", f"{one}: {doc}", f"Rcc.Receiver.{one}", "–", f"{sizes[one]:.0f}"] for one, doc in NEEDED.items()
    ]
    return rows + unlisted


_COLUMNS = {"": 0.1, "state variable": 0.38, "rdmacc": 0.26, "bytes, published": 0.15, "bytes, rdmacc": 0.13}
_EACH = All({name: Exactly(size) for name, (*_, size) in LISTED.items()} | {"listed": Exactly(PUBLISHED_TOTAL)})


class Table1(Experiment):
    name = "rcc.table1"
    seeding = Seeding.NONE
    panels = (Listing(columns=_COLUMNS, cells=_cells),)
    grid = MappingProxyType({"size": (9, 4.2)})
    claims = (
        claim("rcc-t1-1", measure=_listed, band=All(_EACH, {"needed": Exactly(PUBLISHED_TOTAL)}), direction=_EACH),
        claim("rcc-t1-1a", measure=_unlisted,
              band=All({"not listed": MoreThan(0), "total": LessThan(DCQCN_TOTAL), "u": MoreThan(0)})),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [Point(name="records")]

    def compute(self, point: Point) -> pd.DataFrame:
        numbers = {name: (bytes_of(record, own), "bytes") for name, (_, record, own, _) in LISTED.items()}
        numbers |= {name: (bytes_of(Rcc.Receiver, name), "bytes") for name in NEEDED}
        return tidy(point.name, numbers | {"u": (bytes_of(Rcc.Receiver, "control"), "bytes")})
