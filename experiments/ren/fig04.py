"""REN, figure 4: its architecture, drawn from the objects that run."""

from rdmacc.experiments.ren.fig07 import CODES, packets_for
from rdmacc.experiments.ren.lone_port import LonePort, make_packet, parts_of
from rdmacc.switch.ren_marker import FULL, OVER, UNDER, RenMarker
from ..api import *
from .setup import *

POINT = "parts"
_PLACES = {"port": "Switch: measures and marks", "receiver": "Receiver: copies the mark", "sender": "Sender: 0, 1 or 2"}
_ANSWERS = {UNDER: 2, FULL: 1, OVER: 0}
_WAITING = 3


def _roles(table: pd.DataFrame) -> dict[str, float | dict[str, float]]:
    found: dict[str, float | dict[str, float]] = {
        name: scalar(table, POINT, name) for name in ("packets marked 10", "marks copied")
    }
    return found | {"packets for": {CODES[mark]: scalar(table, POINT, f"packets for {CODES[mark]}") for mark in CODES}}


def _places(table: pd.DataFrame) -> dict[str, float]:
    handlers = table[table["quantity"].str.contains(".", regex=False)].groupby("place")["quantity"].agg(list)
    return {
        "marking handlers at ports": sum(one.startswith("RenMarker") for one in handlers.get("port", [])),
        "copy at the receiver": "RenMarker.on_data" in handlers.get("receiver", []),
        "answer at the sender": "Ren.on_credit" in handlers.get("sender", []),
    }


class Figure4(Experiment):
    name = "ren.fig4"
    seeding = Seeding.NONE
    claims = (
        claim("ren-f4-a", measure=_roles,
              band=All({
                  "packets marked 10": Exactly(_WAITING), "marks copied": Exactly(len(CODES)),
                  "packets for": All({CODES[mark]: Exactly(count) for mark, count in _ANSWERS.items()}),
              })),
        claim("ren-f4-b", measure=_places,
              band=All({
                  "marking handlers at ports": AtLeast(2), "copy at the receiver": Exactly(True),
                  "answer at the sender": Exactly(True),
              })),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [Point(name=POINT)]

    def compute(self, point: Point) -> pd.DataFrame:
        marker = TESTBED["ren"].switch[0]
        port = LonePort(marker, LINE_BPS)
        sent = RTT_PS // PACKET_PS  # packets in a period at full use
        for _ in range(sent + _WAITING):
            port.enqueue(make_packet(marker, PACKET_BYTES), 0)
        port.run_until(RTT_PS - 1)
        port.end_period()
        marked = [port.dequeue(RTT_PS).ren_mark for _ in range(len(port.waiting))]
        copied, copy = 0, cast("Callable[..., None]", RenMarker.on_data)
        for mark in CODES:
            packet, reply = make_packet(marker, PACKET_BYTES), make_packet(marker, 40)
            packet.ren_mark = mark
            copy(packet, reply)
            copied += int(reply.ren_mark == mark)
        numbers: dict[str, tuple[float, str]] = {
            "packets marked 10": (marked.count(OVER), "packets"),
            "marks copied": (copied, ""),
        }
        numbers |= {f"packets for {CODES[mark]}": (packets_for(mark), "packets") for mark in CODES}
        frames = [tidy(point.name, numbers).assign(place="")]
        for component, handler, place in parts_of(TESTBED["ren"].components):
            frames.append(tidy(point.name, {f"{component}.{handler}": (1, "")}).assign(place=place))
        return pd.concat(frames, ignore_index=True)

    def plot(self, table: pd.DataFrame) -> Figure:
        colours = {"sender": "blue", "port": "orange", "receiver": "green"}
        blocks = {}
        for number, (place, colour) in enumerate(colours.items()):
            handlers = table.loc[table["place"] == place, "quantity"]
            words = "\n".join([_PLACES[place], "", *handlers])
            blocks[place] = (3.6 * number, 0.0, words, COLOURS[colour])
        blocks["grant"] = (3.6, -2.7, "grant of 40 bytes\nwith the packet's mark", "0.8")
        arrows = [("sender", "port", "00"), ("port", "receiver", "marked"), ("receiver", "grant", "")]
        arrows.append(("grant", "sender", ""))
        figure, ax = subplots(figsize=(11, 4.4))
        draw_blocks(ax, blocks, arrows, (1.4, 1.2))
        ax.set(xlim=(-1.6, 8.8), ylim=(-4.0, 1.4))
        ax.set_title(f"REN, figure 4: {self.title} (the handlers of the scheme)")
        return figure
