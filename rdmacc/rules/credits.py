"""The rate limit of credits: a token bucket at each port (Cho et al., "Credit-scheduled delay-bounded congestion
control for datacenters" (ExpressPass), SIGCOMM 2017, section 3.1).

Pure functions over records, called by both engines. `queueing` holds the parameters (`rdmacc.switch.queueing`), `port`
is a `TokenBucket` that knows the time of a byte on its link (`byte_ps`).
"""

from __future__ import annotations

from rdmacc.records import Byte, Float, Int, Record


class TokenBucket(Record):
    """Tokens that a port may spend on credits, one per byte."""

    credit_tokens = Float(doc="bytes of credits that may be sent")
    credit_updated_ps = Int(doc="when the tokens were last updated")
    is_shape_pending = Byte(doc="1 while an event is pending for the next credit")


def credit_ready_ps(queueing, port, wire_bytes, now):
    """Fill the bucket; return the time when it holds enough for a credit of a given size."""
    earned = (now - port.credit_updated_ps) / port.byte_ps * queueing.credit_fraction
    port.credit_tokens = min(float(queueing.credit_burst_bytes), port.credit_tokens + earned)
    port.credit_updated_ps = now
    missing = wire_bytes - port.credit_tokens
    if missing <= 0.0:
        return now
    return now + int(missing * port.byte_ps / queueing.credit_fraction) + 1


def spend_credit(port, wire_bytes):
    """Remove a credit's bytes from the bucket."""
    port.credit_tokens -= wire_bytes
