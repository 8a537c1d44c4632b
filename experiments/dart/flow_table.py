"""Dart, figure 7: the example of the deflected flow table (DFT), step by step on the handlers alone.

The figure shows one entry, id 0xBC to port 12. The rest of the example is assumed.
"""

from rdmacc.records import Byte
from rdmacc.state import ACCEPT, DEFLECT, IN_NETWORK, Message, Packet, Port
from rdmacc.switch.deflection import ENTRIES, FlowDeflection
from rdmacc.switch.red import EcnStep
from ..api import *
from .setup import *

DRAWN, ROUTED = 12, -1
_PACKETS = 3
EXPECTED_STEPS = (
    ("0xBC starts, long queue", 12, 1),
    ("0xBC goes on, no queue", 12, 1),
    ("0x5A goes on, long queue", ROUTED, 1),
    ("0x5A starts, short queue", ROUTED, 1),
    ("seven others start, long queue", 12, 8),
    ("0x77 starts, long queue, table full", ROUTED, 8),
    ("0xBC ends", 12, 7),
    ("0xBC again", ROUTED, 7),
    ("0x78 starts, long queue", 12, 8),
)
"""Event, the port that the packet leaves by (-1: that of its route), entries in use afterwards."""
_HANDLERS: Any = FlowDeflection
DEFLECTION = next(part for part in PRESET["dart"].switch if isinstance(part, FlowDeflection))
STEP = next(part for part in PRESET["dart"].switch if isinstance(part, EcnStep))


class _Header(Packet):
    tokens = Byte()


def walk() -> list[tuple[str, int, int]]:
    """Return the steps of `EXPECTED_STEPS` as the handlers take them."""
    params, chip = DEFLECTION, FlowDeflection.Chip()

    def send(number: int, psn: int, queue_bytes: int) -> int:
        port, drawn, message, packet = Port(), Port(), Message(), _Header()
        port.queue_bytes, port.link_class, drawn.number = queue_bytes, IN_NETWORK, DRAWN
        message.number, message.packets, packet.psn, packet.tokens = number, _PACKETS, psn, params.tokens
        _HANDLERS.on_route(params, port, chip, message, packet)
        if packet.verdict == DEFLECT:
            packet.verdict = ACCEPT
            _HANDLERS.on_deflect(params, drawn, chip, message, packet)
            return DRAWN
        return int(packet.route)

    above, below = params.threshold_bytes + 1, params.threshold_bytes
    steps = []
    for (event, _, _), packets in zip(
        EXPECTED_STEPS,
        (
            [(0xBC, 0, above)], [(0xBC, 1, 0)], [(0x5A, 1, above)], [(0x5A, 0, below)],
            [(number, 0, above) for number in range(1, 8)], [(0x77, 0, above)], [(0xBC, _PACKETS - 1, 0)],
            [(0xBC, 1, above)], [(0x78, 0, above)],
        ),
        strict=True,
    ):  # fmt: skip
        ports = {send(*packet) for packet in packets}
        assert len(ports) == 1
        steps.append((event, ports.pop(), ENTRIES - chip.keys.count(-1)))
    return steps


def right_steps(table: pd.DataFrame) -> list[str]:
    """Return the steps that came out as expected."""
    return [
        event
        for event, port, used in EXPECTED_STEPS
        if (scalar(table, "handlers", f"{event}: port"), scalar(table, "handlers", f"{event}: entries")) == (port, used)
    ]


def draw_steps(ax: Axes, table: pd.DataFrame) -> None:
    """Draw the walk as a list: what happens, where the packet goes, entries in use."""
    ax.set_axis_off()
    ax.set(xlim=(0, 1), ylim=(len(EXPECTED_STEPS) + 0.2, -1), title="Dart, figure 7: packets ask the table")
    ax.text(0.62, -0.6, "leaves by", fontsize=9, color="0.35")
    ax.text(0.84, -0.6, "entries", fontsize=9, color="0.35")
    right = right_steps(table)
    for row, (event, _, _) in enumerate(EXPECTED_STEPS):
        port = scalar(table, "handlers", f"{event}: port")
        used = int(scalar(table, "handlers", f"{event}: entries"))
        colour = "black" if event in right else COLOURS["vermilion"]
        ax.text(0, row + 0.3, event, fontsize=9, va="center", color=colour)
        ax.text(0.62, row + 0.3, "its route" if port == ROUTED else f"port {port:.0f}", fontsize=9, va="center",
                color=COLOURS["blue"] if port == DRAWN else "0.35")  # fmt: skip
        for number in range(ENTRIES):
            face = COLOURS["blue"] if number < used else "white"
            ax.plot(
                0.85 + 0.018 * number, row + 0.3, "s", markersize=5, color=face, markeredgecolor="0.4", clip_on=False
            )
