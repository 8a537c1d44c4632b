"""How a port schedules its classes and handles control packets; strict priority by default.

Options: two classes share the link by weighted round robin above the strict order (NDP's headers and data); data
classes take turns, as virtual lanes (Dart) or as the priority groups of the HPCC simulator; the credit class is
rate-limited with a small buffer (ExpressPass); packets are trimmed to their header (NDP).
"""

from rdmacc.interface import *

Routing = Literal["ecmp", "symmetric", "spray-random", "spray-round-robin", "source", "entropy", "adaptive"]
ROUTINGS = get_args(Routing)
"""How paths are chosen: "ecmp" and "symmetric" keep one path per message, "symmetric" the same in both directions. The
others choose per packet; "source": by the sender; "entropy": by a hash of `packet.path`; "adaptive": the port with the
shortest queue.

Under source routing, a switch with n ports towards a host takes port number `packet.path` modulo n and leaves the
quotient to the next switch. If all switches of a tier have the same number of uplinks, the paths are the numbers below
`qp.paths`.
"""

NicOrder = Literal["round-robin", "srpt"]
"""Order in which a NIC serves its ready queue pairs: in turn, or fewest packets left first."""


@dataclass(frozen=True, kw_only=True)
class Queueing(Parameters):
    """Strict priorities, and deviations from them."""

    wrr_ratio: int = param(0, "packets of the first class per packet of the second while both wait; 0: strict", low=0)
    wrr_first: int = param(CONTROL, "the preferred class", low=CREDITS, high=NUM_CLASSES - 1)
    wrr_second: int = param(DATA_CLASS, "the other class", low=CREDITS, high=NUM_CLASSES - 1)
    lanes: int = param(
        0,
        "number of data classes that are virtual lanes and take turns, packet by packet; 0: strict",
        low=0,
        high=NUM_CLASSES - DATA_CLASS,
    )
    first_lane: int = param(
        DATA_CLASS, "the first of them; those before it are strict", low=DATA_CLASS, high=NUM_CLASSES - 1
    )
    trimmed_bytes: Size = param("64B", "a trimmed packet on the wire", source="NDP", low=1)
    trimmed_priority: int = param(CONTROL, "class of trimmed packets", low=CREDITS, high=NUM_CLASSES - 1)
    control_limit_bytes: OptionalSize = param(
        None, "largest queue of class CONTROL at a port; 0: no limit", unit="bytes"
    )
    returns_headers: bool = param(
        False, "return a trimmed packet to its sender, once, if its queue is full", source="NDP: return-to-sender"
    )
    credit_fraction: float = param(
        0.0,
        "share of a link for credits; 0: no limit",
        source="ExpressPass: 84 / (84 + 1538)",
        low=0.0,
        high=1.0,
    )
    credit_burst_bytes: Size = param("168B", "token bucket of the credits", source="ExpressPass: 2 credits")
    credit_limit_bytes: Size = param("672B", "largest queue of credits at a port", source="ExpressPass: 8 credits")
