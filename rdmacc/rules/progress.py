"""The life of a message: when it starts, is delivered, ends, and lets what waits for it start."""

from rdmacc.interface import NEVER

OPEN = 2**30
"""Messages that a queue pair has left if more may come while the simulation runs."""

GAVE_UP, NO_ROUTE, NO_ROUTE_BACK, HAS_WAITED = range(1, 5)
"""Why a message has failed: its scheme gave it up, links are down for good, what it waited for has failed."""


def starts_later(message, delay_ps, now):
    """Note when a message is due; return whether the scheme's delay comes before its start."""
    if message.is_delayed:
        return False
    message.start_ps = now
    if delay_ps:
        message.is_delayed = 1
        return True
    return False


def open_message(qp, message):
    """Add a message to those that its queue pair serves."""
    message.is_open = 1
    qp.remaining -= 1
    qp.active_messages += 1


def sends_in_order(message, psn):
    """Go on to the packet after `psn`; return whether `psn` is the first that was never sent."""
    message.next_psn = psn + 1
    if psn != message.highest_psn:
        return False
    message.highest_psn = psn + 1
    return True


def is_delivered(message, now):
    """Return whether the receiver has all of a message only now, and note the time."""
    if message.received_packets == message.packets and message.delivered_ps < 0:
        message.delivered_ps = now
        return True
    return False


def has_ended(message, now):
    """Return whether an open message is acknowledged, and note the time, or given up."""
    if not message.is_open:
        return False
    if message.una_psn >= message.packets:
        message.acked_ps = now
        return True
    return message.failed != 0


def close_message(qp, message):
    """Take a message from those that its queue pair serves; nothing of one given up counts as in flight."""
    message.is_open = 0
    qp.active_messages -= 1
    if message.failed:
        unacknowledged = min(message.next_psn * message.payload_bytes, message.size_bytes)
        qp.inflight_bytes -= unacknowledged - min(message.una_psn * message.payload_bytes, message.size_bytes)


def close_pair(qp):
    """Close a queue pair that has served its last message; return whether it has."""
    if qp.active_messages == 0 and qp.remaining == 0:
        qp.closed = 1
        return True
    return False


def is_due(waiting, message, is_acked):
    """Return whether something counts a message as ended: at its sender when acknowledged, elsewhere when delivered."""
    return (waiting.src == message.src) == is_acked


def wait_for_less(waiting, delay_ps, now):
    """Resolve one dependency; return the start time (`delay_ps` after it), or NEVER if others remain."""
    if delay_ps:
        waiting.start_ps = max(waiting.start_ps, now + delay_ps)
    waiting.waits_for -= 1
    return max(now, waiting.start_ps) if waiting.waits_for == 0 else NEVER


def fail_waiting(waiting):
    """Fail something, since what it waits for has failed; return whether it had not failed already."""
    if waiting.failed or waiting.waits_for <= 0:
        return False
    waiting.failed = HAS_WAITED
    waiting.waits_for = -1
    return True


def cut_off(message, reason):
    """Fail a message that no link leads to any more; return whether it had not ended already."""
    if message.failed or message.acked_ps >= 0:
        return False
    message.failed = reason
    message.waits_for = -1
    return True
