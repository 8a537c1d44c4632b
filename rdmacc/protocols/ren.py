"""REN: the switch tells by marks how many packets are too many or missing, and grants carry the marks to the sender.

Source: Li et al., "REN: Receiver-driven congestion control using explicit notification for data center", IEEE TCC 2021,
sections 3.1 and 3.2. The marks are made by `rdmacc.switch.ren_marker`, whose receiver copies them into the grants;
grants and losses are those of `rdmacc.protocols.grant_clock`. For a grant of 40 bytes the sender sends

=====  ===================  =========
code   utilisation          packets
=====  ===================  =========
00     under                2
01     full                 1
10     over                 0
=====  ===================  =========

Assumptions: a sender does not let its last packet in flight be cancelled (`keeps_one`), since without packets no grant
comes back, ever. Without that safeguard, one packet goes `probe_ps` after the last was cancelled.
"""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.component import Component, param
from rdmacc.parameters import OptionalTime
from rdmacc.records import NEVER, Deadline, Int32, Record
from rdmacc.switch.ren_marker import OVER, UNDER

__all__ = ["Ren"]


@dataclass(frozen=True, kw_only=True)
class Ren(Component):
    """Two packets for a grant, one, or none, as its mark says."""

    keeps_one: bool = param(True, "the last packet in flight is never cancelled", source="assumed")
    probe_ps: OptionalTime = param(
        "1ms",
        "else one packet goes so long after it was; 0: none, the message stops",
        unit="ps",
        is_optional=True,
        source="assumed",
    )

    class Transfer(Record):
        """The sender's side of a message."""

        probe_timer_ps = Deadline("sender: nothing is in flight, send one packet")
        under_grants = Int32(doc="sender: grants that let two packets go")
        over_grants = Int32(doc="sender: grants marked to let none go")

    @staticmethod
    def on_credit(params, qp, transfer, packet, now):
        # The grant clock has added the one packet that any grant lets go.
        if packet.ren_mark == UNDER:
            transfer.under_grants += 1
            qp.credits += 1
        elif packet.ren_mark == OVER:
            transfer.over_grants += 1
            is_last = qp.inflight_bytes == 0 and qp.credits <= 1
            if qp.credits > 0 and not (is_last and params.keeps_one):
                qp.credits -= 1
            if is_last and qp.credits == 0 and params.probe_ps > 0:
                transfer.probe_timer_ps = now + params.probe_ps

    @staticmethod
    def on_send(transfer):
        transfer.probe_timer_ps = NEVER

    @staticmethod
    def on_probe_timer(qp):
        qp.credits = max(qp.credits, 1)
