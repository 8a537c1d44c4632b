"""AMRT: two packets for a grant whose data packet found room on every link, otherwise one.

Source: Hu et al., "AMRT: Anti-ECN marking to improve utilization of receiver-driven transmission in data center", ICPP
2020, from its description, because there is no public code. The mark is `rdmacc.switch.anti_ecn`, grants and losses are
those of `rdmacc.protocols.grant_clock`. It never slows down, so a queue persists once it has formed.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class Amrt(Component):
    """A second packet for a grant that is marked."""

    def on_credit(qp, packet):
        if packet.has_room:
            qp.credits += 1  # in addition to the one from the grant clock
