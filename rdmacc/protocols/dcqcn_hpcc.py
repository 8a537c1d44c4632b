"""DCQCN as in the HPCC simulator, the baseline of RCC, ConWeave and others.

Source: the HPCC simulator's rdma-hw.cc and run.py. It differs from the paper: the notification is a bit in every ACK or
NAK, three periodic timers run independently, and there is neither a byte counter nor a multiplier in hyper increase.
The next packet's time was set when its predecessor was sent, so a new rate only affects the packets after it.
"""

from rdmacc.interface import *
from rdmacc.protocols.window import RateWindow, set_rate

_AFTER_ALPHA_PS = 1_000  # the first decrease check is 1 ns later, so that alpha is updated first (rdma-hw.cc)


@dataclass(frozen=True, kw_only=True)
class DcqcnHpcc(RateWindow):
    """DCQCN of the HPCC simulator, with the timers of its `dcqcn` configuration by default."""

    at_reference: ClassVar[tuple[str, ...]] = ("additive_bps", "hyper_bps")

    g: float = param(0.00390625, "weight of a new sample in alpha", symbol="g", source="run.py", low=0.0, high=1.0)
    alpha_period_ps: Time = param("1us", "period of the alpha timer (50 us in `dcqcn_paper`)", source="run.py", low=1)
    decrease_period_ps: Time = param(
        "4us", "period of the decrease check (50 us in `dcqcn_paper`)", source="run.py", low=1
    )
    increase_period_ps: Time = param(
        "300us", "period of the increase timer (55 us in `dcqcn_paper`)", source="run.py", low=1, rtts=0.5
    )
    fast_recovery_steps: int = param(1, "increase events of fast recovery", symbol="F", source="run.py", low=0)
    additive_bps: Rate = param("5Mbps", "additive increase at 25 Gb/s", symbol="R_AI", source="run.py")
    hyper_bps: Rate = param("50Mbps", "hyper increase at 25 Gb/s", symbol="R_HAI", source="run.py")
    reference_bps: Rate = param(
        "25Gbps", "line rate at which the increases hold; they scale with the line rate", low=1.0
    )
    clamp_target: bool = param(False, "every decrease lowers the target too", source="run.py")

    class Sender(RateWindow.Sender):
        target_bps = Float(doc="target rate")
        alpha = Float(1.0)
        additive_bps = Float()
        hyper_bps = Float()
        stage = Int32(doc="increase events since the last cut")
        is_notified = Byte(doc="1 after the first notification")
        alpha_flag = Byte(doc="notified since the last alpha update")
        decrease_flag = Byte(doc="notified since the last decrease check")
        alpha_timer_ps = Deadline()
        decrease_timer_ps = Deadline()
        increase_timer_ps = Deadline()

    class Header(Record):
        """In ACKs and NAKs."""

        cnp_bit = Byte(doc="the acknowledged packet was marked")

    def on_open(params, qp, sender):
        scale = qp.line_bps / params.reference_bps
        sender.additive_bps = params.additive_bps * scale
        sender.hyper_bps = params.hyper_bps * scale
        sender.rate_bps = qp.line_bps
        sender.target_bps = qp.line_bps
        set_rate(params, qp, sender, qp.line_bps)

    def on_data(packet, reply):
        reply.cnp_bit = packet.ce

    def on_ack(params, sender, packet, now):
        if packet.cnp_bit:
            sender.alpha_flag = 1
            sender.decrease_flag = 1
            if not sender.is_notified:
                sender.is_notified = 1
                sender.alpha = 1.0
                sender.alpha_flag = 0
                sender.alpha_timer_ps = now + params.alpha_period_ps
                sender.decrease_timer_ps = now + params.decrease_period_ps + _AFTER_ALPHA_PS

    def on_alpha_timer(params, sender, now):
        sender.alpha = (1.0 - params.g) * sender.alpha
        if sender.alpha_flag:
            sender.alpha += params.g
            sender.alpha_flag = 0
        sender.alpha_timer_ps = now + params.alpha_period_ps

    def on_decrease_timer(params, qp, sender, now):
        sender.decrease_timer_ps = now + params.decrease_period_ps
        if sender.decrease_flag:
            sender.decrease_flag = 0
            if params.clamp_target or sender.stage > 0:
                sender.target_bps = sender.current_bps
            reduced = sender.current_bps * (1.0 - sender.alpha / 2.0)
            set_rate(params, qp, sender, max(params.min_rate_bps, reduced))
            sender.stage = 0
            sender.increase_timer_ps = now + params.increase_period_ps

    def on_increase_timer(params, qp, sender, now):
        if sender.stage == params.fast_recovery_steps:
            sender.target_bps = min(sender.target_bps + sender.additive_bps, qp.line_bps)
        elif sender.stage > params.fast_recovery_steps:
            sender.target_bps = min(sender.target_bps + sender.hyper_bps, qp.line_bps)
        set_rate(params, qp, sender, (sender.target_bps + sender.current_bps) / 2.0)
        sender.stage += 1
        sender.increase_timer_ps = now + params.increase_period_ps
