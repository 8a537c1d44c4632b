# mypy: disable-error-code="no-untyped-def, no-untyped-call"
"""REN's marks, with OVER by the minimum queue of a period, which lasted all the time.

"The switch updates the queue length ql" (3.2.1) does not say when. `rdmacc.switch.ren_marker` takes the queue at the
end of the period, which may be gone the next moment. UNDER is the same.
"""

from dataclasses import dataclass

from rdmacc.interface import DATA, HOST_NIC, NEVER, Int
from rdmacc.switch.ren_marker import RenMarker, begin_period, budget, mark


@dataclass(frozen=True, kw_only=True)
class LeastQueue(RenMarker):
    """REN's marks, OVER by the least queue of a period."""

    class Egress(RenMarker.Egress):
        """State of one port."""

        least_bytes = Int(doc="least queue of the period")

    def on_enqueue(params, port, egress, packet, now):
        if packet.kind == DATA and port.link_class != HOST_NIC:
            egress.full_bytes = max(egress.full_bytes, packet.wire_bytes)
            if egress.period_timer_ps == NEVER:
                egress.active_ps = now
                egress.least_bytes = 0
                begin_period(params, port, egress, now)

    def on_dequeue(params, port, egress, packet, now):
        egress.least_bytes = min(egress.least_bytes, port.queue_bytes)
        if packet.kind != DATA or port.link_class == HOST_NIC:
            return
        mark(egress, packet)

    def on_period_timer(params, port, egress, now):
        sent = port.tx_bytes - egress.start_tx_bytes
        if sent == 0 and port.queue_bytes == 0:
            egress.over = 0
            egress.under = 1
        else:
            budget(params, port, egress, now - egress.start_ps, sent)
            egress.over = min(egress.over, egress.least_bytes // egress.full_bytes)
            if egress.has_marked:
                egress.over = 0
                egress.under = 0
            begin_period(params, port, egress, now)
            egress.least_bytes = port.queue_bytes
        egress.has_marked = 0
