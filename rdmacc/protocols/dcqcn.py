"""DCQCN: rate control by ECN and congestion notification packets.

Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015 (section 3 and figure 7).
The switch (congestion point) marks by `Red`; the receiver (notification point) and the sender (reaction point)
are here. The variant of the HPCC simulator is in `dcqcn_hpcc`.
"""

from rdmacc.interface import *

_LEAST_RTTS = 0.5
"""DCQCN's fluid models were analysed up to feedback delays of 100 us, twice its periods (Zhu et al., CoNEXT 2016)."""


@dataclass(frozen=True, kw_only=True)
class Dcqcn(Component):
    """DCQCN as in its paper, with the target rate handled as in NICs."""

    at_reference: ClassVar[tuple[str, ...]] = ("additive_bps", "hyper_bps")

    g: float = param(1 / 256, "weight of a new sample in alpha", symbol="g", source="section 5", low=0.0, high=1.0)
    cnp_interval_ps: Time = param(
        "50us", "least time between CNPs of a queue pair", symbol="N", source="section 3.1", rtts=_LEAST_RTTS
    )
    alpha_period_ps: Time = param(
        "55us",
        "alpha decays after each period of this length without a CNP",
        symbol="K",
        source="section 3.1",
        low=1,
        rtts=_LEAST_RTTS,
    )
    increase_period_ps: Time = param(
        "55us", "period of the rate-increase timer", symbol="T", source="section 5", low=1, rtts=_LEAST_RTTS
    )
    byte_counter_bytes: Size = param(
        "10MB", "bytes between increases by the byte counter", symbol="B", source="section 5", low=1
    )
    fast_recovery_steps: int = param(5, "increase events of fast recovery", symbol="F", source="section 3.1", low=1)
    additive_bps: Rate = param("40Mbps", "additive increase", symbol="R_AI", source="section 5, at 40 Gb/s")
    hyper_bps: Rate = param("400Mbps", "hyper increase", symbol="R_HAI", source="10 R_AI")
    reference_bps: OptionalRate = param(
        "40Gbps",
        "line rate at which the increases hold; they scale with the line rate; 0: no scaling",
        is_optional=True,
    )
    clamp_target: bool = param(
        False,
        "every cut sets the target to the rate, as in the paper; otherwise only the first cut after a timer increase",
        source="Mellanox's clamp_tgt_rate 0, clamp_tgt_rate_after_time_inc 1",
    )
    min_rate_bps: Rate = param("10Mbps", "lowest rate", source="assumed: the paper is silent", low=1.0)

    class Sender(Record):
        rate_bps = Float(doc="R_C, current rate")
        target_bps = Float(doc="R_T, target rate")
        alpha = Float(1.0, doc="estimate of the marked fraction")
        additive_bps = Float(doc="R_AI at this line rate")
        hyper_bps = Float(doc="R_HAI at this line rate")
        counted_bytes = Int(doc="bytes since the last byte event")
        timer_events = Int32(doc="T, events of the timer since the last cut")
        byte_events = Int32(doc="BC, events of the byte counter since the last cut")
        alpha_timer_ps = Deadline()
        increase_timer_ps = Deadline()

    class Receiver(Record):
        cnp_after_ps = Int(doc="no CNP before this time")

    def on_open(params, qp, sender):
        scale = qp.line_bps / params.reference_bps if params.reference_bps > 0.0 else 1.0
        sender.additive_bps = params.additive_bps * scale
        sender.hyper_bps = params.hyper_bps * scale
        sender.rate_bps = qp.line_bps
        sender.target_bps = qp.line_bps

    def on_data(params, receiver, packet, notice, now):
        if packet.ce and now >= receiver.cnp_after_ps:
            notice.kind = CNP
            receiver.cnp_after_ps = now + params.cnp_interval_ps

    def on_cnp(params, sender, now):
        if params.clamp_target or sender.timer_events > 0:
            sender.target_bps = sender.rate_bps
        sender.rate_bps = max(params.min_rate_bps, sender.rate_bps * (1.0 - sender.alpha / 2.0))
        sender.alpha = (1.0 - params.g) * sender.alpha + params.g
        sender.timer_events = 0
        sender.byte_events = 0
        sender.counted_bytes = 0
        sender.alpha_timer_ps = now + params.alpha_period_ps
        sender.increase_timer_ps = now + params.increase_period_ps

    def on_alpha_timer(params, sender, now):
        sender.alpha = (1.0 - params.g) * sender.alpha
        sender.alpha_timer_ps = now + params.alpha_period_ps

    def on_increase_timer(params, qp, sender, now):
        sender.timer_events += 1
        sender.increase_timer_ps = now + params.increase_period_ps
        increase(params, qp, sender)

    def on_send(params, qp, sender, packet):
        if sender.increase_timer_ps != NEVER:  # counting starts with the first cut
            sender.counted_bytes += packet.wire_bytes
            if sender.counted_bytes >= params.byte_counter_bytes:
                sender.counted_bytes -= params.byte_counter_bytes
                sender.byte_events += 1
                increase(params, qp, sender)


def increase(params, qp, sender):
    """Raise the rate after an event of the timer or of the byte counter (figure 7)."""
    most = max(sender.timer_events, sender.byte_events)
    least = min(sender.timer_events, sender.byte_events)
    if least > params.fast_recovery_steps:
        sender.target_bps += (least - params.fast_recovery_steps) * sender.hyper_bps
    elif most >= params.fast_recovery_steps:
        sender.target_bps += sender.additive_bps
    sender.target_bps = min(sender.target_bps, qp.line_bps)
    sender.rate_bps = (sender.target_bps + sender.rate_bps) / 2.0
    if sender.target_bps == qp.line_bps and sender.rate_bps > 0.9999 * qp.line_bps:
        sender.rate_bps = qp.line_bps  # back at line rate: nothing left to increase
        sender.increase_timer_ps = NEVER
