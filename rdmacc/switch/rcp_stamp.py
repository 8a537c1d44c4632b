"""RCP at a link: one fair rate for all flows, stamped into their packets and updated once per slot.

Source: Dukkipati et al., "Processor sharing flows in the Internet", IWQoS 2005; N. Dukkipati, "Rate Control Protocol
(RCP)", thesis, Stanford 2007; the authors' ns-2 code. Hosts write their RTT into `packet.rcp_rtt_ps` (0: unknown);
the lowest rate on the path returns in `reply.rcp_bps`.

At the end of a slot of length T, with the mean RTT d, input y, queue Q and capacity C::

    R = R (1 + T/d (alpha (gamma C - y/T) - beta Q/d) / (gamma C)),  clipped to [min_packets * 1000 B / d, gamma C]

Assumptions: a packet counts entirely in the slot in which it arrives; ACKs and other control packets count when they
are sent (they hardly wait); a port's first slot begins with its first data packet, so ports are out of phase, as with
the code's random first slot; an idle port at the highest rate skips slots, since they would change nothing.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class RcpStamp(Component):
    """Compute the link's fair rate and stamp it into data packets and probes that carry a higher one."""

    alpha: float = param(0.4, "gain of spare capacity", symbol="alpha", source="RCP ns-2 code; Dart", low=0.0)
    beta: float = param(0.4, "gain of the queue", symbol="beta", source="RCP ns-2 code; Dart", low=0.0)
    target: float = param(1.0, "share of the link to fill", symbol="gamma", source="RCP ns-2 code", low=0.0, high=1.0)
    initial_fraction: float = param(
        0.05, "initial rate, as a share of the link", symbol="init_rate_fact", source="RCP ns-2 code", low=0.0, high=1.0
    )
    min_packets: float = param(
        0.01, "minimum rate, in packets of 1000 B per RTT", symbol="min_pprtt", source="RCP ns-2 code", low=0.0
    )
    base_rtt_ps: OptionalTime = param(
        None,
        "initial mean RTT; 0: the first one in a packet (the code's 0.2 s never adapts)",
        unit="ps",
        symbol="d_0",
        low=0,
    )
    max_slot_ps: Time = param(
        "10ms", "longest slot; otherwise the mean RTT", symbol="upd_timeslot", source="RCP ns-2 code", low=10_000
    )

    class Egress(Record):
        """The rate of one link, and the statistics of its slot."""

        fair_bps = Float(doc="R")
        rtt_ps = Float(doc="d, moving average; 0 before the first sample")
        slot_timer_ps = Deadline("end of the slot")
        slot_start_ps = Int()
        input_bytes = Int(doc="data bytes that arrived in the slot")
        rtt_sum = Float(doc="RTTs of the slot, weighted by bytes")
        rtt_bytes = Int()
        data_bytes = Int(doc="data bytes sent since the start")
        control_bytes = Int(doc="other bytes sent since the start, up to the slot's start")

    class Header(Record):
        rcp_bps = Float(-1.0, doc="lowest rate on the path so far, -1 for no limit yet")
        rcp_rtt_ps = Int(doc="the sender's RTT, 0 if unknown (w by the sender)")

    def on_port(params, port, egress):
        egress.fair_bps = max(1.0, params.initial_fraction * params.target * port.rate_bps)
        egress.rtt_ps = float(params.base_rtt_ps)

    def on_enqueue(params, port, egress, packet, now):
        if port.link_class == HOST_NIC:
            return
        egress.input_bytes += packet.wire_bytes
        if packet.rcp_rtt_ps > 0:
            egress.rtt_sum += float(packet.rcp_rtt_ps) * packet.wire_bytes
            egress.rtt_bytes += packet.wire_bytes
            if egress.rtt_ps <= 0.0:
                egress.rtt_ps = float(packet.rcp_rtt_ps)
        if egress.slot_timer_ps == NEVER and egress.rtt_ps > 0.0:
            begin_slot(params, port, egress, now)

    def on_dequeue(port, egress, packet):
        if port.link_class != HOST_NIC:
            egress.data_bytes += packet.wire_bytes
            is_forward = packet.kind == DATA or packet.kind == REQUEST
            if is_forward and (packet.rcp_bps < 0.0 or packet.rcp_bps > egress.fair_bps):
                packet.rcp_bps = egress.fair_bps

    def on_slot_timer(params, port, egress, now):
        control_bytes = port.tx_bytes - egress.data_bytes
        arrived = egress.input_bytes + control_bytes - egress.control_bytes
        update(params, port, egress, arrived, now - egress.slot_start_ps)
        egress.input_bytes = egress.rtt_bytes = 0
        egress.rtt_sum = 0.0
        if arrived > 0 or port.queue_bytes > 0 or egress.fair_bps < params.target * port.rate_bps:
            begin_slot(params, port, egress, now)
        else:
            egress.control_bytes = control_bytes

    def on_data(packet, reply):
        reply.rcp_bps = packet.rcp_bps


def begin_slot(params, port, egress, now):
    """Start a slot of one mean RTT, at most `max_slot_ps`."""
    egress.slot_start_ps = now
    egress.slot_timer_ps = now + max(1, int(min(egress.rtt_ps, float(params.max_slot_ps))))
    egress.control_bytes = port.tx_bytes - egress.data_bytes


def update(params, port, egress, arrived_bytes, slot_ps):
    """Apply RCP's equations at the end of a slot: first the mean RTT, then the rate."""
    capacity = params.target * port.rate_bps
    if egress.rtt_bytes > 0:
        sample = egress.rtt_sum / egress.rtt_bytes
        gain = slot_ps / egress.rtt_ps
        if sample < egress.rtt_ps:
            gain *= egress.fair_bps / port.rate_bps * (sample / egress.rtt_ps)
        egress.rtt_ps += min(1.0, gain) * (sample - egress.rtt_ps)
    load_bps = arrived_bytes * 8e12 / slot_ps
    drain_bps = port.queue_bytes * 8e12 / egress.rtt_ps
    change = params.alpha * (capacity - load_bps) - params.beta * drain_bps
    rate = egress.fair_bps * (1.0 + slot_ps / egress.rtt_ps * change / capacity)
    lowest = params.min_packets * 8e15 / egress.rtt_ps
    egress.fair_bps = min(max(rate, lowest), capacity)
