"""InfiniBand congestion control: marks return as BECNs, which move the sender through a table of packet delays.

Sources: InfiniBand Architecture Specification, volume 1, annex A10; Gran et al., "First experiences with congestion
control in InfiniBand hardware", IPDPS 2010, for the settings; the table of LLNL's configuration of OpenSM (a fit to
Mellanox's). Switches mark as `rdmacc.switch.fecn` does; PFC stands for credits.

After a packet with transmission time t, the flow waits t multiplier / 2^shift, so it sends at
line / (1 + multiplier / 2^shift). Each BECN moves the index into the table up, each tick of the timer down by one.

Assumptions: every marked packet triggers its own BECN, a CNP in class CONTROL; each queue pair has a timer, started by
the first BECN (in hardware all flows of a port share one, which changes the phase but not the mean).
"""

from rdmacc.interface import *

QUADRATIC_STEP = 7 / 95**2 / 0.218
"""Multipliers in LLNL's table, divided by the square of the index, before rounding down."""


@dataclass(frozen=True, kw_only=True)
class InfinibandCc(Component):
    """An index into a table of delays: up with each BECN, down with each tick of a timer."""

    increase: int = param(
        1, "steps up for each BECN", symbol="CCTI_Increase", source="Gran et al.", low=1, high=2**8 - 1
    )
    limit: int = param(127, "last index", symbol="CCTI_Limit", source="Gran et al.", low=1, high=2**16 - 1)
    least: int = param(0, "first index", symbol="CCTI_Min", source="Gran et al.", low=0, high=2**8 - 1)
    timer_ps: Time = param(
        Scaled("153.6us", rate="16Gbps", is_time=True),
        "period of the steps down, 150 times 1.024 us",
        symbol="CCTI_Timer",
        source="Gran et al., 4x DDR, of 16 Gb/s of data",
        low=1,
    )
    is_quadratic: bool = param(True, "multipliers rise with the square of the index; otherwise in proportion to it")
    table_step: float = param(
        QUADRATIC_STEP,
        "multiplier over the index or its square, rounded down in the table",
        symbol="CCT",
        source="LLNL's OpenSM tool: 7 / 95^2 / 0.218",
        low=0.0,
    )
    shift: int = param(0, "multipliers are in units of a packet's time / 2^shift", source="LLNL", low=0, high=3)

    class Sender(Record):
        rate_bps = Float()
        index = Int32(doc="CCTI")
        step_timer_ps = Deadline()

    def on_open(params, qp, sender):
        sender.index = params.least
        set_rate(params, qp, sender)

    def on_data(packet, notice):
        if packet.ce:
            notice.kind = CNP

    def on_cnp(params, qp, sender, now):
        sender.index = min(sender.index + params.increase, params.limit)
        set_rate(params, qp, sender)
        if sender.step_timer_ps == NEVER:
            sender.step_timer_ps = now + params.timer_ps

    def on_step_timer(params, qp, sender, now):
        sender.index = max(sender.index - 1, params.least)
        set_rate(params, qp, sender)
        if sender.index > params.least:
            sender.step_timer_ps = now + params.timer_ps


def set_rate(params, qp, sender):
    """Look up the delay."""
    power = sender.index * sender.index if params.is_quadratic else sender.index
    multiplier = int(params.table_step * power)
    sender.rate_bps = qp.line_bps / (1.0 + multiplier / 2**params.shift)
