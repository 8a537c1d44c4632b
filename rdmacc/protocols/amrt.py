"""AMRT: two packets for a grant whose data packet found room on every link, else one.

Source: Hu et al., "AMRT: Anti-ECN marking to improve utilization of receiver-driven transmission in data center", ICPP
2020, by description: there is no public code. The mark is `rdmacc.switch.anti_ecn`, grants and losses are those of
`rdmacc.protocols.grant_clock`. It never slows down, so it keeps a queue once there is one.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.component import Component

__all__ = ["Amrt"]


@dataclass(frozen=True, kw_only=True)
class Amrt(Component):
    """A second packet for a grant that is marked."""

    @staticmethod
    def on_credit(qp, packet):
        if packet.has_room:
            qp.credits += 1  # beside the one that the grant clock adds
