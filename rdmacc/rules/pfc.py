"""Priority flow control (IEEE 802.1Qbb): when a switch pauses and resumes its neighbour, and how a port reacts.

Pure functions over records, called by both engines. `policy` is a `Pfc` (`rdmacc.switch.buffer`), `buffer` and
`account` are the records of `rdmacc.rules.admission`. The accounting per ingress port and class is that of the HPCC
simulator (`switch-mmu.cc`: `CheckShouldPause`, `CheckShouldResume`).
"""

import math

from rdmacc.interface import MAC, PAUSE, PFC_FRAME_BYTES
from rdmacc.rules.admission import xoff_bytes


def headroom_bytes(rate_bps: float, delay_ps: int, packet_bytes: int) -> int:
    """Return the headroom that a link needs so that a pause loses no packet.

    It covers the packet that crosses the threshold, one round trip of the link, a full packet that blocks the PAUSE
    frame, the frame itself, and a full packet that the upstream port has already begun (802.1Q annex N without host
    delays); it is at least the HPCC simulator's three one-way delays.
    """
    per_ps = rate_bps / 8e12
    standard = 2 * delay_ps * per_ps + 3 * packet_bytes + PFC_FRAME_BYTES
    return math.ceil(max(standard, 3 * delay_ps * per_ps))


def must_pause(policy, buffer, account):
    """Return whether an ingress has reached the threshold (XOFF) or uses headroom."""
    taken = account.ingress_bytes - policy.reserve_bytes
    if taken < 0:
        taken = 0
    return account.headroom_used > 0 or taken >= xoff_bytes(policy, buffer)


def may_resume(policy, buffer, account):
    """Return whether the headroom is empty and the rest is far enough below the threshold (XON)."""
    if account.headroom_used > 0:
        return False
    taken = account.ingress_bytes - policy.reserve_bytes
    if taken <= 0:
        return True
    return taken + policy.xon_offset_bytes <= xoff_bytes(policy, buffer)


def write_frame(policy, frame, kind, cls):
    """Turn a fresh packet into a PAUSE or RESUME frame for a class."""
    frame.kind = kind
    frame.psn = cls
    frame.wire_bytes = policy.frame_bytes
    frame.priority = MAC
    frame.payload_bytes = 0


def obey(port, frame, now):
    """Pause or resume a class of a port according to a frame; return whether the class may send again."""
    bit = 1 << frame.psn
    if frame.kind == PAUSE:
        port.pauses += 1
        if not port.paused:
            port.paused_since_ps = now
        port.paused |= bit
        return False
    if not port.paused & bit:
        return False
    port.paused ^= bit
    if not port.paused:
        port.paused_ps += now - port.paused_since_ps
    return True
