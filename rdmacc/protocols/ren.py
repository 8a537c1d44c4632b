"""REN: switches mark how many packets are in excess or missing, and grants carry the marks to the sender.

Source: Li et al., "REN: Receiver-driven congestion control using explicit notification for data center", IEEE TCC 2021,
sections 3.1 and 3.2. `rdmacc.switch.ren_marker` makes the marks, and its receiver copies them into grants; grants and
losses are handled by `rdmacc.protocols.grant_clock`. For a grant of 40 bytes the sender sends

=====  ===================  =========
code   utilisation          packets
=====  ===================  =========
00     under                2
01     full                 1
10     over                 0
=====  ===================  =========

Assumptions: a sender never cancels its last packet in flight (`keeps_one`), because without packets no grant ever
returns. Without that safeguard, one packet is sent `probe_ps` after the last was cancelled.
"""

from rdmacc.interface import *
from rdmacc.switch.ren_marker import OVER, UNDER


@dataclass(frozen=True, kw_only=True)
class Ren(Component):
    """Two, one or no packets for a grant, according to its mark."""

    keeps_one: bool = param(True, "the last packet in flight is never cancelled", source="assumed")
    probe_ps: OptionalTime = param(
        "1ms",
        "otherwise, delay until one packet is sent after that; 0: never, and the message stops",
        is_optional=True,
        source="assumed",
    )

    class Transfer(Record):
        probe_timer_ps = Deadline("sender: send one packet, because nothing is in flight")
        under_grants = Int32(doc="sender: grants that released two packets")
        over_grants = Int32(doc="sender: grants marked to release none")

    def on_credit(params, qp, transfer, packet, now):
        # The grant clock has already added one packet, which every grant releases.
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

    def on_send(transfer):
        transfer.probe_timer_ps = NEVER

    def on_probe_timer(qp):
        qp.credits = max(qp.credits, 1)
