"""REN, figure 7: the mark of the most congested link reaches the receiver."""

from rdmacc.experiments.ren.lone_port import LonePort, make_packet
from rdmacc.interface import QueuePair
from rdmacc.protocols.ren import Ren
from rdmacc.switch.ren_marker import FULL, OVER, UNDER, RenMarker
from ..api import *
from .setup import *

POINT = "marks"
CODES = {UNDER: "00", FULL: "01", OVER: "10"}
_BUDGETS = ((FULL, UNDER, UNDER, FULL), (UNDER, FULL, FULL, UNDER), (FULL, OVER, FULL, FULL))
"""The marks that S0, S1 and S2 set in P1 to P4."""
DRAWN = (FULL, OVER, FULL, FULL)
"""Marks of P1 to P4 at the receiver; P4's follows from "one packet fewer"."""


def _mark(packet: Any, code: int) -> None:
    """Mark a packet from the port's budgets, as after a sampling period."""
    place = LonePort(RenMarker(base_rtt_ps=us(10)), LINE_BPS)
    place.enqueue(packet, 0)
    place.egress.over, place.egress.under = int(code == OVER), int(code == UNDER)
    place.dequeue(0)


def packets_for(mark: int) -> int:
    """Return the packets that a sender with others in flight sends for a marked grant."""
    qp, transfer = QueuePair(), Ren.Transfer()
    qp.inflight_bytes, qp.credits = PACKET_BYTES, 1  # the grant clock's one packet per grant
    grant = make_packet(RenMarker(base_rtt_ps=us(10)), 40)
    grant.ren_mark = mark
    handler: Any = Ren.on_credit
    handler(Ren(), qp, transfer, grant, 0)
    return int(qp.credits)


def _by_packet(marks: Iterable[Any]) -> dict[str, Any]:
    return {f"P{number}": mark for number, mark in enumerate(marks, 1)}


def _as_drawn(table: pd.DataFrame) -> Measured:
    marks = _by_packet(round(value) for value in curve(table, POINT, "marks after S2"))
    words = ", ".join(f"{packet} {CODES[mark]}" for packet, mark in marks.items())
    numbers = {"marks": marks, "packets for four grants": scalar(table, POINT, "packets for four grants")}
    return Measured(numbers, f"marks in bits: {words}")


def _lattice(table: pd.DataFrame) -> dict[str, float]:
    pairs, kept, fell = (scalar(table, POINT, name) for name in ("pairs", "higher marks won", "marks that fell"))
    return {"pairs": pairs, "pairs that end with the lower mark": pairs - kept, "marks that fell": fell}


class Figure7(Experiment):
    name = "ren.fig7"
    seeding = Seeding.NONE
    claims = (
        claim("ren-f7-1", measure=_as_drawn,
              band=All({
                  "marks": All({packet: Exactly(mark) for packet, mark in _by_packet(DRAWN).items()}),
                  "packets for four grants": Exactly(3),
              })),
        claim("ren-f7-a", measure=_lattice,
              band=All({
                  "pairs": Exactly(len(CODES) ** 2), "pairs that end with the lower mark": Exactly(0),
                  "marks that fell": Exactly(0),
              })),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [Point(name=POINT)]

    def compute(self, point: Point) -> pd.DataFrame:
        packets = [make_packet(RenMarker(base_rtt_ps=us(10)), PACKET_BYTES) for _ in DRAWN]
        index = pd.Index(np.arange(len(packets)), name="time_ps")
        marks = {"marks at H0": (pd.Series([packet.ren_mark for packet in packets], index), "")}
        for number, codes in enumerate(_BUDGETS):
            for packet, code in zip(packets, codes, strict=True):
                _mark(packet, code)
            marks[f"marks after S{number}"] = (pd.Series([packet.ren_mark for packet in packets], index), "")
        pairs = list(product(CODES, CODES))
        ends = []
        for first, second in pairs:
            packet = make_packet(RenMarker(base_rtt_ps=us(10)), PACKET_BYTES)
            _mark(packet, first)
            _mark(packet, second)
            ends.append(packet.ren_mark)
        numbers = {
            "packets for four grants": (sum(packets_for(packet.ren_mark) for packet in packets), "packets"),
            "pairs": (len(pairs), ""),
            "higher marks won": (sum(end == max(pair) for end, pair in zip(ends, pairs, strict=True)), ""),
            "marks that fell": (sum(end < pair[0] for end, pair in zip(ends, pairs, strict=True)), ""),
        }
        return tidy(point.name, numbers, marks)

    def plot(self, table: pd.DataFrame) -> Figure:
        from matplotlib.patches import Rectangle

        places = ("at H0", "after S0", "after S1", "after S2")
        fills = {UNDER: "1.0", FULL: COLOURS["sky"], OVER: COLOURS["vermilion"]}
        figure, ax = subplots(figsize=(8, 3.2))
        for row, place in enumerate(places):
            for packet, mark in enumerate(curve(table, POINT, f"marks {place}")):
                ax.add_patch(
                    Rectangle((row + packet * 0.2, 0.35), 0.18, 0.3, facecolor=fills[round(mark)], edgecolor="0.2")
                )
                ax.text(row + packet * 0.2 + 0.09, 0.5, CODES[round(mark)], ha="center", va="center", fontsize=10)
                ax.text(row + packet * 0.2 + 0.09, 0.7, f"P{packet + 1}", ha="center", fontsize=8)
            ax.text(row + 0.39, 0.22, place, ha="center", fontsize=10)
            if row:
                ax.annotate("", (row - 0.02, 0.5), (row - 0.2, 0.5), arrowprops={"arrowstyle": "->"})
        packets = scalar(table, POINT, "packets for four grants")
        ax.text(2, 0.02, f"four grants let {packets:.0f} packets go in the next round", ha="center", fontsize=10)
        ax.set(xlim=(-0.1, 3.95), ylim=(-0.05, 0.85), title=f"REN, figure 7: {self.title} (the handlers' own marks)")
        ax.axis("off")
        return figure
