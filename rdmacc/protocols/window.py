"""Windows of rate-based protocols: what a rate sends in one round trip."""

from __future__ import annotations

from rdmacc.state import UNLIMITED

__all__ = ["window_at"]


def window_at(params, qp, rate_bps):
    """Return the window at a rate: `params.window_bytes` (0: line rate times base RTT) in proportion to the rate.

    Without `params.has_window` there is none. At least one byte, which lets one packet go.
    """
    if not params.has_window:
        return UNLIMITED
    full = float(params.window_bytes)
    if params.window_bytes == 0:
        full = qp.line_bps * qp.base_rtt_ps / 8e12
    return max(1, int(full * (rate_bps / qp.line_bps)))
