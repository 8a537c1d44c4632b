"""Buffer admission: account a packet to a switch's buffer when it arrives, and release it when it leaves.

Pure functions over records, called by both engines. `policy` holds the parameters (`rdmacc.switch.buffer`), `buffer`
is a `SharedBuffer`, `account` an `IngressAccount`. The threshold is Choudhury and Hahne's, alpha times the free part
of the shared pool (IEEE/ACM ToN 1998), or with PFC a static one.
"""

from rdmacc.interface import CONTROL, CREDITS, Byte, Int, Record


class SharedBuffer(Record):
    """The buffer of a switch."""

    shared_bytes = Int(doc="size of the shared pool, which excludes reserves and headroom")
    shared_used = Int(doc="lossless: bytes used of the shared pool")
    used_bytes = Int(doc="all data bytes in the switch")
    peak_bytes = Int(doc="largest number of data bytes so far")


class IngressAccount(Record):
    """Data that arrived through one port in one class and has not left the switch.

    PFC counts a packet in the class in which it arrived, whatever its class here, because only a pause of that class
    stops more from arriving.
    """

    ingress_bytes = Int(doc="bytes in the reserve and in the shared pool")
    headroom_used = Int(doc="bytes in the headroom")
    headroom_bytes = Int(doc="size of the headroom")
    pause_sent = Byte(doc="1 while the neighbour is paused")


def admit_lossy(policy, buffer, queue_bytes, wire_bytes):
    """Account a packet to the buffer if its egress queue stays below the threshold; return whether it fits."""
    queued = queue_bytes + wire_bytes
    free = buffer.shared_bytes - buffer.used_bytes
    if queued > policy.alpha * free or wire_bytes > free or (policy.limit_bytes and queued > policy.limit_bytes):
        return False
    used = buffer.used_bytes + wire_bytes
    buffer.used_bytes = used
    if used > buffer.peak_bytes:
        buffer.peak_bytes = used
    return True


def release_lossy(buffer, wire_bytes):
    buffer.used_bytes -= wire_bytes


def xoff_bytes(policy, buffer):
    """Return the bytes that one ingress (port, class) may use of the shared pool: XOFF."""
    if policy.xoff_bytes > 0:
        return float(policy.xoff_bytes)
    return policy.alpha * (buffer.shared_bytes - buffer.shared_used)


def admit_lossless(policy, buffer, account, wire_bytes):
    """Account a packet to reserve and shared pool, otherwise to the headroom; return whether it fits."""
    after = account.ingress_bytes + wire_bytes
    over = after - policy.reserve_bytes
    free = buffer.shared_bytes - buffer.shared_used
    from_shared = 0
    if over > 0:
        from_shared = over if over < wire_bytes else wire_bytes
    if over > xoff_bytes(policy, buffer) or from_shared > free:
        in_headroom = account.headroom_used + wire_bytes
        if in_headroom > account.headroom_bytes:
            return False
        account.headroom_used = in_headroom
    else:
        account.ingress_bytes = after
        buffer.shared_used += from_shared
    used = buffer.used_bytes + wire_bytes
    buffer.used_bytes = used
    if used > buffer.peak_bytes:
        buffer.peak_bytes = used
    return True


def release_lossless(policy, buffer, account, wire_bytes):
    """Release the bytes of a departing packet: from the headroom first, then the shared pool, then the reserve."""
    buffer.used_bytes -= wire_bytes
    headroom = account.headroom_used
    left = wire_bytes
    if headroom > 0:
        from_headroom = headroom if headroom < wire_bytes else wire_bytes
        account.headroom_used = headroom - from_headroom
        left -= from_headroom
    before = account.ingress_bytes
    account.ingress_bytes = before - left
    over = before - policy.reserve_bytes
    if over > 0:
        buffer.shared_used -= over if over < left else left


def queue_limit_bytes(queueing, cls):
    """Return the largest queue of a class below the data classes; 0 for no limit."""
    if cls == CREDITS:
        return queueing.credit_limit_bytes if queueing.credit_fraction > 0.0 else 0
    return queueing.control_limit_bytes if cls == CONTROL else 0


def fits_queue(waiting_bytes, wire_bytes, limit_bytes):
    """Return whether a limited queue has room for a packet."""
    return waiting_bytes + wire_bytes <= limit_bytes
