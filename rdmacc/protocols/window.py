"""Windows of rate-based protocols: the bytes that a rate sends in a base RTT."""

from rdmacc.state import UNLIMITED


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
