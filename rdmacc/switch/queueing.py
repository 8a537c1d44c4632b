"""How a port chooses among its classes, and what it does to control packets: strict priority by default.

Two classes may share the link by weighted round robin above the strict order (NDP's headers and data), data classes
may take turns as virtual lanes (Dart), the class of credits may be rate-limited with a small buffer (ExpressPass), and
packets may be trimmed to their header (NDP).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from rdmacc.parameters import OptionalSize, Parameters, Size, param
from rdmacc.state import CONTROL, CREDITS, DATA_CLASS, NUM_CLASSES

__all__ = ["ROUTINGS", "NicOrder", "Queueing", "Routing"]

Routing = Literal["ecmp", "symmetric", "spray-random", "spray-round-robin", "source", "entropy", "adaptive"]
ROUTINGS = get_args(Routing)
"""Each message keeps its path, the same one back too, or each packet takes its own; "source": as its sender says;
"entropy": by a hash of `packet.path`; "adaptive": by the port with the shortest queue.

A switch with n ports towards a host takes the one of number `packet.path` modulo n and leaves the quotient to the next
switch. So the numbers below `qp.paths` are the paths, where the switches of a tier have equally many ports up.
"""

NicOrder = Literal["round-robin", "srpt"]
"""A NIC serves its ready queue pairs in turn, or the one whose message has the fewest packets left."""


@dataclass(frozen=True, kw_only=True)
class Queueing(Parameters):
    """Strict priorities, and what departs from them."""

    wrr_ratio: int = param(0, "packets of the first class for each of the second while both wait; 0: strict", low=0)
    wrr_first: int = param(CONTROL, "the class served more", low=CREDITS, high=NUM_CLASSES - 1)
    wrr_second: int = param(DATA_CLASS, "the class served less", low=CREDITS, high=NUM_CLASSES - 1)
    lanes: int = param(
        0,
        "virtual lanes: so many data classes take turns, packet by packet; 0: strict",
        low=0,
        high=NUM_CLASSES - DATA_CLASS,
    )
    trimmed_bytes: Size = param("64B", "a trimmed packet on the wire", unit="bytes", source="NDP", low=1)
    trimmed_priority: int = param(CONTROL, "class of trimmed packets", low=CREDITS, high=NUM_CLASSES - 1)
    control_limit_bytes: OptionalSize = param(
        None, "largest queue of class CONTROL at a port; 0: no limit", unit="bytes"
    )
    returns_headers: bool = param(
        False, "a trimmed packet whose queue is full goes back to its sender, once", source="NDP: return-to-sender"
    )
    credit_fraction: float = param(
        0.0,
        "share of a link that credits may take, 0: no limit",
        source="ExpressPass: 84 / (84 + 1538)",
        low=0.0,
        high=1.0,
    )
    credit_burst_bytes: Size = param(
        "168B", "token bucket of the credits", unit="bytes", source="ExpressPass: 2 credits"
    )
    credit_limit_bytes: Size = param(
        "672B", "largest queue of credits at a port", unit="bytes", source="ExpressPass: 8 credits"
    )
