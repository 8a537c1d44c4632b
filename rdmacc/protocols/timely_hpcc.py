"""TIMELY as in the HPCC simulator, the baseline of RCC and others.

Source: the HPCC simulator's rdma-hw.cc (mode 7) and run.py. It differs from the paper: the rate changes once a round
trip, when an ACK covers everything sent before the previous change; the RTT is that of a packet from the start of its
transmission, including serialisation; every increase, even below T_low, counts towards hyper increase, which begins
with the sixth in a row and has its own step. A new rate applies from the next packet.
"""

from rdmacc.interface import *
from rdmacc.protocols.window import RateWindow, set_rate

_HYPER_STAGE = 5  # increases in a row before hyper increase (rdma-hw.cc)


@dataclass(frozen=True, kw_only=True)
class TimelyHpcc(RateWindow):
    """TIMELY of the HPCC simulator."""

    at_reference: ClassVar[tuple[str, ...]] = ("additive_bps", "hyper_bps")

    t_low_ps: Time = param(
        Scaled("50us", rtt="20us", least="50us"), "below this the rate rises", symbol="T_low",
        source="rdma-hw.cc, for a minRTT of 20 us", low=1,
    )  # fmt: skip
    t_high_ps: Time = param(
        Scaled("500us", rtt="20us", least="500us"), "above this the rate falls", symbol="T_high",
        source="rdma-hw.cc, for a minRTT of 20 us", low=1, rtts=1.0,
    )  # fmt: skip
    min_rtt_ps: Time = param(
        Scaled("20us", rtt="20us", least="20us"), "unit of the gradient", symbol="minRTT", source="rdma-hw.cc", low=1
    )
    ewma: float = param(0.875, "weight of a new RTT difference", symbol="alpha", source="rdma-hw.cc", low=0.0, high=1.0)
    beta: float = param(0.8, "multiplicative decrease", symbol="beta", source="rdma-hw.cc", low=0.0, high=1.0)
    additive_bps: Rate = param("10Mbps", "additive increase at 10 Gb/s", symbol="delta", source="run.py")
    hyper_bps: Rate = param("50Mbps", "hyper increase at 10 Gb/s", source="run.py")
    reference_bps: Rate = param(
        "10Gbps", "line rate at which the increases hold; they scale with the line rate", low=1.0
    )
    timestamp_bytes: Size = param("8B", "bytes of the timestamp in a data packet", source="int-header.h")

    class Sender(RateWindow.Sender):
        additive_bps = Float()
        hyper_bps = Float()
        last_rtt_ps = Int()
        rtt_difference_ps = Float(doc="averaged")
        stage = Int32(doc="increases in a row")

    class Transfer(Record):
        """Round trips of a message, counted by packet numbers."""

        update_after_psn = Int32(doc="an ACK above it ends the round trip; 0 before the first")

    class Header(Record):
        """In data packets, and copied into ACKs."""

        stamp_ps = Int(doc="when the packet was sent")

    def extra_bytes(self, group_size: int) -> int:
        return self.timestamp_bytes

    def on_open(params, qp, sender):
        scale = qp.line_bps / params.reference_bps
        sender.additive_bps = params.additive_bps * scale
        sender.hyper_bps = params.hyper_bps * scale
        sender.rate_bps = qp.line_bps
        set_rate(params, qp, sender, qp.line_bps)

    def on_send(params, sender, packet, now):
        packet.wire_bytes += params.timestamp_bytes
        packet.stamp_ps = now
        sender.rate_bps = sender.current_bps

    def on_data(packet, reply):
        reply.stamp_ps = packet.stamp_ps

    def on_ack(params, qp, sender, message, transfer, packet, now):
        if packet.psn > transfer.update_after_psn:
            rtt_ps = now - packet.stamp_ps
            if transfer.update_after_psn > 0:
                update(params, qp, sender, rtt_ps)
            if message.next_psn > transfer.update_after_psn:
                transfer.update_after_psn = message.next_psn
                sender.last_rtt_ps = rtt_ps


def update(params, qp, sender, rtt_ps):
    """Set the rate from a new sample."""
    difference = rtt_ps - sender.last_rtt_ps
    sender.rtt_difference_ps = (1.0 - params.ewma) * sender.rtt_difference_ps + params.ewma * difference
    gradient = sender.rtt_difference_ps / params.min_rtt_ps
    rate = sender.current_bps
    if rtt_ps < params.t_low_ps or (rtt_ps <= params.t_high_ps and gradient <= 0.0):
        step = sender.additive_bps if sender.stage < _HYPER_STAGE else sender.hyper_bps
        sender.stage += 1
        set_rate(params, qp, sender, min(rate + step, qp.line_bps))
    else:
        if rtt_ps > params.t_high_ps:
            factor = 1.0 - params.beta * (1.0 - params.t_high_ps / rtt_ps)
        else:
            factor = max(0.0, 1.0 - params.beta * gradient)
        sender.stage = 0
        set_rate(params, qp, sender, max(params.min_rate_bps, rate * factor))
