"""Windows of rate-based protocols: the bytes that a rate sends in a base RTT."""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class RateWindow(Component):
    """As in the HPCC simulator: a new rate applies from the next packet, and a window may follow the rate."""

    min_rate_bps: Rate = param("1Gbps", "lowest rate", source="run.py", low=1.0)
    has_window: bool = param(
        False, "also limit the bytes in flight, in proportion to the rate", source="run.py: HAS_WIN and VAR_WIN"
    )
    base_rtt_ps: OptionalTime = param(
        None, "the window is the rate times this; 0: the queue pair's base RTT", unit="ps", symbol="T",
        source="run.py: GLOBAL_T",
    )  # fmt: skip

    class Sender(Record):
        rate_bps = Float(doc="pacing rate of the last packet sent")
        window_bytes = Int(doc="R T")
        current_bps = Float(doc="R")

    def on_send(sender):
        sender.rate_bps = sender.current_bps


def window_at(params, qp, rate_bps):
    """Return the window at a rate, for `params.base_rtt_ps` (0: the queue pair's own base RTT).

    It is unlimited without `params.has_window`, and never below one byte, which allows one packet.
    """
    if not params.has_window:
        return UNLIMITED
    rtt_ps = params.base_rtt_ps if params.base_rtt_ps > 0 else qp.base_rtt_ps
    return max(1, int(rate_bps * rtt_ps / 8e12))


def set_rate(params, qp, sender, rate_bps):
    """Set the rate of the following packets, and the window."""
    sender.current_bps = rate_bps
    sender.window_bytes = window_at(params, qp, rate_bps)
