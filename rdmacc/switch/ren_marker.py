"""REN's marks: two bits per data packet signal by how many packets a port was over- or under-used.

Source: Li et al., "REN: Receiver-driven congestion control using explicit notification for data center", IEEE TCC
2021, sections 3.1 to 3.2.3, figures 5 to 7. Packets start as UNDER (00); a port may only raise the code: FULL (01),
OVER (10). The receiver copies it into its grant, and the sender answers with 2, 1 or 0 packets.

At the end of each sampling period, of one base RTT, a port compares its queue `ql` with its idle time `ti`, both in
packets (3.2.3). If `ql` is larger, it marks the next `ql - ti` packets OVER; if not, `ti - ql` packets may keep UNDER;
all others become FULL (figure 7).

The paper describes this in three different ways, and does not say how to treat marks that have not taken effect yet.
Readings (`reading`):

- ``"alternate"`` (default): section 3.2.3 as written, but a period with marks is followed by one without, because its
  sample still shows the queue that was just marked. This needs one bit besides the paper's 16 bytes of ql, ti and
  timestamp (5.2). A port that keeps UNDER on fewer packets than it may is not the bottleneck and does not skip a
  period; otherwise it would use up the marks of the port that is.
- ``"outstanding"``: subtract the marks of that kind issued during the last base RTT.
- ``"packet"``: the same, recomputed for each packet from the idle time of the last RTT (as figure 7 marks).
- ``"literal"``: section 3.2.3 as written. Marks take effect a round trip later, so the same queue is marked twice, all
  grants are suppressed, and flows stop. Only `Ren.keeps_one` keeps them alive, at a loss of throughput.

Assumptions: a packet means the largest that the port has seen; idle time is the part of the period in which nothing,
not even control packets, was sent, in whole packets; issued marks are kept in 16 slices of the RTT; a packet that
arrives marked FULL does not use up the UNDER budget. A period without packets is not a sample and carries nothing over;
only the packet that ends it keeps UNDER, because it follows a gap. A port's very first packet follows no gap.
"""

from rdmacc.interface import *

UNDER, FULL, OVER = range(3)
"""The codes 00, 01 and 10: two, one or no packets per grant."""

Reading = Literal["alternate", "outstanding", "packet", "literal"]

_SLICES = 16
_RING = _SLICES + 1  # the whole slices of one RTT, and the current one


@dataclass(frozen=True, kw_only=True)
class RenMarker(Component):
    """Mark packets by the queue and the idle time of their port."""

    base_rtt_ps: Time = param(
        Scaled("10us", rtt="10us"), "base round trip", source="REN, 6: 10 us; 48 us in its testbed", low=16
    )
    period_ps: OptionalTime = param(None, "sampling period; 0: the base RTT", unit="ps", source="REN, 3.2.3", low=0)
    reading: Reading = param(
        "alternate",
        "alternate, outstanding, packet or literal",
        source="assumed: fits the 16 bytes a port of REN, 5.2",
        choices=get_args(Reading),
    )

    class Egress(Record):
        period_timer_ps = Deadline("end of the period")
        full_bytes = Int(doc="largest data packet seen")
        start_ps = Int(doc="start of the period")
        start_tx_bytes = Int(doc="sent before it")
        over = Int(doc="packets still to mark OVER")
        under = Int(doc="packets that may still keep UNDER")
        has_marked = Int(doc="whether it has marked OVER, or used up the UNDER budget, in this period")
        active_ps = Int(doc="when the first packet after the last empty period arrived")
        over_marks = Ints(_RING, doc="marks issued, by slice of the RTT")
        under_marks = Ints(_RING)
        sent_in_slice = Ints(_RING, doc="bytes put on the link, by slice")
        slice_now = Int(doc="number of the last slice written")
        seen_tx_bytes = Int(doc="bytes sent, as last recorded in the slices")

    class Header(Record):
        ren_mark = Byte(UNDER, doc="UNDER, FULL or OVER")

    def on_enqueue(params, port, egress, packet, now):
        if packet.kind == DATA and port.link_class != HOST_NIC:
            egress.full_bytes = max(egress.full_bytes, packet.wire_bytes)
            if egress.period_timer_ps == NEVER:
                egress.active_ps = now
                begin_period(params, port, egress, now)

    def on_dequeue(params, port, egress, packet, now):
        if packet.kind != DATA or port.link_class == HOST_NIC:
            return
        if remembers(params):
            turn(params, port, egress, now)
        if params.reading == "packet" and now > egress.active_ps:
            begin_ps = (egress.slice_now - _SLICES) * params.base_rtt_ps // _SLICES
            budget(params, port, egress, now - max(begin_ps, egress.active_ps), sum_of(egress.sent_in_slice))
        mark(egress, packet)

    def on_period_timer(params, port, egress, now):
        if remembers(params):
            turn(params, port, egress, now)
        sent = port.tx_bytes - egress.start_tx_bytes
        if sent == 0 and port.queue_bytes == 0:
            egress.over = 0
            egress.under = 1
        else:
            budget(params, port, egress, now - egress.start_ps, sent)
            if params.reading == "alternate" and egress.has_marked:
                egress.over = 0
                egress.under = 0
            begin_period(params, port, egress, now)
        egress.has_marked = 0

    def on_data(packet, reply):
        reply.ren_mark = packet.ren_mark


def mark(egress, packet):
    """Mark a packet and deduct it from the budget."""
    place = egress.slice_now % _RING
    if egress.over > 0:
        egress.over -= 1
        egress.over_marks[place] += 1
        egress.has_marked = 1
        packet.ren_mark = OVER
    elif egress.under > 0 and packet.ren_mark == UNDER:
        egress.under -= 1
        egress.under_marks[place] += 1
        if egress.under == 0:
            egress.has_marked = 1
    else:
        packet.ren_mark = max(packet.ren_mark, FULL)


def remembers(params):
    return params.reading == "outstanding" or params.reading == "packet"


def period_of(params):
    return params.period_ps if params.period_ps > 0 else params.base_rtt_ps


def begin_period(params, port, egress, now):
    egress.start_ps = now
    egress.start_tx_bytes = port.tx_bytes
    egress.period_timer_ps = now + period_of(params)


def turn(params, port, egress, now):
    """Advance to the current slice, clearing those that are a base RTT old."""
    current = now * _SLICES // params.base_rtt_ps
    for number in range(max(egress.slice_now + 1, current - _SLICES), current + 1):
        place = number % _RING
        egress.over_marks[place] = 0
        egress.under_marks[place] = 0
        egress.sent_in_slice[place] = 0
    egress.slice_now = current
    egress.sent_in_slice[current % _RING] += port.tx_bytes - egress.seen_tx_bytes
    egress.seen_tx_bytes = port.tx_bytes


def budget(params, port, egress, span_ps, sent_bytes):
    """Set the budgets from the current queue and the bytes sent in a time span, minus outstanding marks."""
    queued = port.queue_bytes // egress.full_bytes
    idle_ps = span_ps - sent_bytes * 8e12 / port.rate_bps
    idle = max(0, int(idle_ps * port.rate_bps / (8e12 * egress.full_bytes)))
    egress.over = max(0, queued - idle)
    egress.under = max(0, idle - queued)
    if remembers(params):
        egress.over = max(0, egress.over - sum_of(egress.over_marks))
        egress.under = max(0, egress.under - sum_of(egress.under_marks))


def sum_of(slices):
    total = 0
    for i in range(_RING):
        total += slices[i]
    return total
