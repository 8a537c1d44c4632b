"""TIMELY: rate control by the gradient of the round-trip time.

Sources: Mittal et al., "TIMELY: RTT-based congestion control for the datacenter", SIGCOMM 2015, algorithm 1; the
patched variant of Zhu et al., "ECN or Delay", CoNEXT 2016; the window-based variant that Dart compares with (Xue et
al., ToN 2020, VI-A). The HPCC simulator's variant is in `timely_hpcc`.

One RTT is measured per segment: from the start of its last packet to the ACK, minus the NIC's transmission time of that
packet. If a segment leaves as a burst, this equals the paper's sample (segment's start to ACK, minus the segment's
serialisation); if its packets are paced, it excludes the pacing. A new rate applies from the next packet.

Where the paper is silent: flows start at line rate; the first sample does not set a rate; an RTT below T_low or above
T_high ends a run of non-positive gradients.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class Timely(Component):
    """Rate from the RTT and its gradient, updated once per segment."""

    t_low_ps: Time = param(
        Scaled("50us", rtt="20us", least="50us"), "below this the rate rises", symbol="T_low",
        source="section 4.4, for a minRTT of 20 us", low=1,
    )  # fmt: skip
    t_high_ps: Time = param(
        Scaled("500us", rtt="20us", least="500us"), "above this the rate falls", symbol="T_high",
        source="section 4.4, for a minRTT of 20 us", low=1, rtts=1.0,
    )  # fmt: skip
    min_rtt_ps: OptionalTime = param(
        Scaled("20us", rtt="20us", least="20us"), "unit of the gradient; 0: the queue pair's base RTT",
        is_optional=True, symbol="minRTT", source="section 4.3", low=0,
    )  # fmt: skip
    ewma: float = param(
        0.875,
        "weight of a new RTT difference",
        symbol="alpha",
        source="ns3-rdma, branch timely, and HPCC simulator",
        low=0.0,
        high=1.0,
    )
    beta: float = param(0.8, "multiplicative decrease", symbol="beta", source="section 4.3", low=0.0, high=1.0)
    additive_bps: Rate = param(
        Scaled("10Mbps", rate="10Gbps"), "additive increase", symbol="delta",
        source="section 4.3, at 10 Gb/s; HPCC simulator, run.py: in proportion to the link",
    )  # fmt: skip
    hyper_after: int = param(
        5, "non-positive gradients in a row before the increase becomes five times as large; 0: never", symbol="N",
        source="section 4.3", low=0,
    )  # fmt: skip
    segment_bytes: Size = param("16kB", "payload between updates", source="section 5: 16 to 64 kB", low=1)
    is_burst: bool = param(
        False, "send each segment at line rate, then wait; otherwise pace packets", source="section 5: both"
    )
    once_per_rtt: bool = param(False, "at most one update per round trip")
    is_patched: bool = param(False, "weigh increase and decrease by the gradient", source="ECN or Delay, section 4")
    has_window: bool = param(False, "limit the bytes in flight to rate times RTT", source="Dart, VI-A")
    is_paced: bool = param(True, "pace packets at the rate; otherwise only the window limits them", source="section 5")
    start_fraction: float = param(1.0, "initial rate, over line rate", low=1e-6, high=1.0)
    min_fraction: float = param(
        0.01, "lowest rate, over line rate", source="ns3-rdma, branch timely; the paper is silent", low=1e-6, high=1.0
    )

    class Sender(Record):
        rate_bps = Float(doc="pacing rate of the last packet sent")
        window_bytes = Int(UNLIMITED)
        current_bps = Float(doc="R")
        last_rtt_ps = Int(doc="previous sample; 0: none yet")
        rtt_difference_ps = Float(doc="averaged")
        gradient = Float(doc="RTT difference in units of minRTT")
        negative_count = Int32(doc="non-positive gradients in a row")
        segment_sent_bytes = Int(doc="payload of the segment sent so far")
        segment_start_ps = Int()
        next_update_ps = Int(doc="with once_per_rtt: earliest time of the next update")

    class Header(Record):
        """In data packets, and copied into ACKs."""

        departed_ps = Int(doc="when the NIC had sent the packet")
        is_segment_end = Byte()

    def on_open(params, qp, sender):
        sender.current_bps = params.start_fraction * qp.line_bps
        sender.rate_bps = sender.current_bps if params.is_paced else qp.line_bps
        if params.has_window:
            sender.window_bytes = window(sender, qp.base_rtt_ps)

    def on_send(params, qp, sender, message, packet, now):
        if sender.segment_sent_bytes == 0:
            sender.segment_start_ps = now
        sender.segment_sent_bytes += packet.payload_bytes
        serialisation_ps = int(packet.wire_bytes * 8e12 / qp.line_bps + 0.5)
        packet.departed_ps = now + serialisation_ps
        if params.is_paced:
            sender.rate_bps = sender.current_bps
        if sender.segment_sent_bytes >= params.segment_bytes or packet.psn == message.packets - 1:
            packet.is_segment_end = 1
            if params.is_burst:  # the next segment starts once this one's bytes are over at the rate
                bits = sender.segment_sent_bytes * 8.0 * packet.wire_bytes / packet.payload_bytes
                wait_s = (bits / sender.current_bps) - (now - sender.segment_start_ps) * 1e-12
                sender.rate_bps = min(qp.line_bps, packet.wire_bytes * 8.0 / max(wait_s, 1e-12))
            sender.segment_sent_bytes = 0
        elif params.is_burst:
            sender.rate_bps = qp.line_bps

    def on_data(packet, reply):
        reply.departed_ps = packet.departed_ps
        reply.is_segment_end = packet.is_segment_end

    def on_ack(params, qp, sender, packet, now):
        if not packet.is_segment_end or now < sender.next_update_ps:
            return
        rtt_ps = now - packet.departed_ps
        if params.once_per_rtt:
            sender.next_update_ps = now + rtt_ps
        if sender.last_rtt_ps > 0:
            update(params, qp, sender, rtt_ps)
            sender.current_bps = min(max(sender.current_bps, params.min_fraction * qp.line_bps), qp.line_bps)
        sender.last_rtt_ps = rtt_ps
        if params.has_window:
            sender.window_bytes = window(sender, rtt_ps)


def update(params, qp, sender, rtt_ps):
    """Set the rate from a new sample (algorithm 1)."""
    difference = rtt_ps - sender.last_rtt_ps
    sender.rtt_difference_ps = (1.0 - params.ewma) * sender.rtt_difference_ps + params.ewma * difference
    sender.gradient = sender.rtt_difference_ps / (params.min_rtt_ps if params.min_rtt_ps > 0 else qp.base_rtt_ps)
    rate = sender.current_bps
    if rtt_ps < params.t_low_ps:
        sender.negative_count = 0
        sender.current_bps = rate + params.additive_bps
    elif rtt_ps > params.t_high_ps:
        sender.negative_count = 0
        sender.current_bps = rate * (1.0 - params.beta * (1.0 - params.t_high_ps / rtt_ps))
    elif params.is_patched:
        weight = min(max(2.0 * sender.gradient + 0.5, 0.0), 1.0)
        error = (rtt_ps - params.t_low_ps) / params.t_low_ps
        sender.current_bps = params.additive_bps * (1.0 - weight) + rate * (1.0 - params.beta * weight * error)
    elif sender.gradient <= 0.0:
        sender.negative_count += 1
        steps = 5.0 if 0 < params.hyper_after <= sender.negative_count else 1.0
        sender.current_bps = rate + steps * params.additive_bps
    else:
        sender.negative_count = 0
        sender.current_bps = rate * max(0.0, 1.0 - params.beta * sender.gradient)


def window(sender, rtt_ps):
    return max(1, int(sender.current_bps * rtt_ps / 8e12))
