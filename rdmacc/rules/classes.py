"""The class that a port serves next: strict priority, weighted round robin above it, round-robin virtual lanes.

Pure functions over records, called by both engines. `queueing` holds the parameters (`rdmacc.switch.queueing`). A set
of classes is a bit mask, class 0 the lowest bit.
"""

from rdmacc.interface import NUM_CLASSES, Byte, Float, Int, Int32, Record


class ClassTurns(Record):
    """Turn-taking state of a port."""

    wrr_count = Int32(doc="packets of the preferred class since the other's last turn, while both waited")
    last_lane = Int32(NUM_CLASSES, doc="last lane served")


def first_class(classes):
    """Return the first class of a non-empty set."""
    return (classes & -classes).bit_length() - 1


def choose_class(queueing, turns, sendable):
    """Return the class to serve from a non-empty set, and count its turn."""
    cls = first_class(sendable)
    if queueing.wrr_ratio and cls == queueing.wrr_first and sendable & (1 << queueing.wrr_second):
        if turns.wrr_count >= queueing.wrr_ratio:
            turns.wrr_count = 0
            return queueing.wrr_second
        turns.wrr_count += 1
    if queueing.first_lane <= cls < queueing.first_lane + queueing.lanes:
        lanes = sendable & ((1 << (queueing.first_lane + queueing.lanes)) - 1)
        later = lanes & (-2 << turns.last_lane)
        cls = first_class(later if later else lanes)
        count_lane(queueing, turns, cls)
    return cls


def count_lane(queueing, turns, cls):
    if queueing.first_lane <= cls < queueing.first_lane + queueing.lanes:
        turns.last_lane = cls


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
