"""NSCC: Ultra Ethernet's window at the sender, from delay and ECN.

Sources: Ultra Ethernet Specification 1.0, congestion management; uet-htsim (`uec.cpp`). It runs on `Uet`, over trimming
switches, with sprayed packets (`PathChoice`), alone or together with `ReceiverCredit`.

Every ACK is one of four cases, by its mark and by its delay relative to a target D. Unmarked and late: the window grows
by a fair step. Unmarked and on time: it grows in proportion to the delay margin, and faster without any delay. Marked
and late: it is cut by the excess of the average delay, once a base RTT. Marked and on time: no change, only another
path. Growth accumulates in bytes times window, and is applied every few packets. Quick adapt: if little was delivered
in a round trip nevertheless, the window becomes the amount delivered.

Network-dependent values are computed from T, the largest base RTT (`Scheme.base_rtt`).

For quick adapt, a NACK counts as marked whatever its echo, and packets in flight when quick adapt acts are not counted
again (3.6.13.5 and 3.6.13.6 of the specification, as public notes quote them). Otherwise the trimming of an incast's
first window would reduce the window to one packet.
"""

from rdmacc.interface import *

_REFERENCE_BYTES, _REFERENCE_PS = 150_000, 12_000_000
_NO_DELAY_PS = 1_000_000  # delays below this let the window grow fast
_LEAST_FACTOR = 0.5


@dataclass(frozen=True, kw_only=True)
class Nscc(Component):
    """A window at the sender."""

    target: float = param(
        0.75, "target delay, in base RTTs T", symbol="D / T", source="uet-htsim: trimming on", low=0.01
    )
    largest_window: float = param(
        1.5, "largest and initial window, in BDPs", symbol="maxwnd", source="uet-htsim: 1.5 BDP", low=0.01
    )
    proportional: float = param(
        4.0, "growth by delay margin, packets", symbol="alpha", source="uet-htsim: scaling_a", low=0.0
    )
    fair: float = param(5.0, "fair increase, packets", symbol="fi", source="uet-htsim: fi", low=0.0)
    steady: float = param(0.15, "unconditional growth per T, packets", symbol="eta", source="uet-htsim", low=0.0)
    gamma: float = param(0.8, "share of the excess delay to cut", symbol="gamma", source="uet-htsim", low=0.0)
    gain: float = param(0.0125, "gain of the average delay", source="uet-htsim: delay_alpha", low=0.0, high=1.0)
    fast: float = param(0.25, "bytes that a byte adds without delay", source="uet-htsim: fi_scale", low=0.0)
    adjust_packets: int = param(8, "number of packets after which growth is applied", source="uet-htsim", low=1)
    quick_share: float = param(
        0.125,
        "adapt if less than this share of the largest window was delivered",
        source="uet-htsim: qa_gate 3",
        low=0.0,
    )
    quick_delay: float = param(
        4.0, "and the delay exceeds this many D, or there was a loss", source="uet-htsim: qa_threshold", low=0.0
    )
    spares_last_hop: bool = param(
        False, "ignore packets trimmed at the last hop", source="uet-htsim: with receiver credit"
    )

    class Sender(Record):
        window_bytes = Int(doc="the window in whole packets, payload bytes")
        window = Float(doc="cwnd, bytes on the wire")
        most = Float(doc="maxwnd, bytes")
        base_rtt_ps = Float(doc="lowest RTT so far, at most T")
        delay_ps = Float(doc="latest sample")
        average_ps = Float(doc="avg_delay")
        growth = Float(doc="inc_bytes: bytes times window")
        received_bytes = Int(doc="bytes acknowledged since growth was last applied")
        adjusted_ps = Int(doc="when the unconditional growth was last applied")
        cut_ps = Int(doc="when the window was last cut")
        fast_bytes = Int(doc="bytes acknowledged in a row without delay")
        is_fast = Byte()
        achieved_bytes = Int(doc="bytes delivered since quick adapt last checked")
        look_ps = Int(doc="when quick adapt checks next")
        is_triggered = Byte(doc="1 if a NACK has arrived since")
        ignored_bytes = Int()
        to_ignore_bytes = Int(doc="bytes in flight when quick adapt acted")

    class Transfer(Record):
        noted_timeouts = Int32(doc="timeouts already handled")

    def on_open(params, qp, sender):
        sender.base_rtt_ps = float(qp.base_rtt_ps)
        sender.most = params.largest_window * bdp(qp)
        set_window(qp, sender, sender.most)

    def on_send(qp, sender, message, transfer):
        note_timeouts(qp, sender, message, transfer)

    def on_ack(params, qp, sender, message, transfer, packet, now):
        note_timeouts(qp, sender, message, transfer)
        size = packet.settled_bytes
        sender.ignored_bytes += size
        has_sample = packet.left_ps >= 0
        if has_sample:
            rtt_ps = float(now - packet.left_ps)
            if rtt_ps < sender.base_rtt_ps:
                sender.base_rtt_ps = rtt_ps
                sender.most = params.largest_window * qp.line_bps * rtt_ps / 8e12
            sender.delay_ps = rtt_ps - sender.base_rtt_ps
        else:
            sender.delay_ps = sender.average_ps
        if packet.kind == NAK:
            average(params, sender, float(qp.base_rtt_ps))
            sender.is_triggered = 1
            if not quick_adapt(params, qp, sender, True, True, now):
                if not (params.spares_last_hop and packet.at_last_hop):
                    set_window(qp, sender, sender.window - size)
            return
        sender.achieved_bytes += size
        sender.received_bytes += size
        target_ps = params.target * qp.base_rtt_ps
        is_unmarked_late = not packet.ce_echo and sender.delay_ps > target_ps
        average(params, sender, 0.25 * sender.base_rtt_ps if is_unmarked_late else sender.delay_ps)
        if quick_adapt(params, qp, sender, packet.ce_echo, False, now):
            sender.growth = 0.0
            sender.received_bytes = 0
        else:
            if packet.ce_echo:
                cut(params, qp, sender, target_ps, now)
            else:
                grow(params, qp, sender, target_ps, size)
            adjust(params, qp, sender, now)


def bdp(qp):
    """Return T times the line rate, in bytes."""
    return qp.line_bps * qp.base_rtt_ps / 8e12


def step(qp):
    """Return the payload, scaled by the BDP relative to that of 12 us at 100 Gb/s."""
    return qp.payload_bytes * bdp(qp) / _REFERENCE_BYTES


def set_window(qp, sender, window):
    """Set the window, from one packet to its largest."""
    sender.window = min(max(window, float(qp.wire_bytes)), max(sender.most, float(qp.wire_bytes)))
    sender.window_bytes = int(sender.window / qp.wire_bytes) * qp.payload_bytes


def note_timeouts(qp, sender, message, transfer):
    """Reduce the window by a packet for each timeout."""
    if message.timeouts > transfer.noted_timeouts:
        lost = message.timeouts - transfer.noted_timeouts
        transfer.noted_timeouts = message.timeouts
        set_window(qp, sender, sender.window - lost * qp.wire_bytes)


def average(params, sender, sample_ps):
    sender.average_ps += params.gain * (sample_ps - sender.average_ps)


def grow(params, qp, sender, target_ps, size):
    """Unmarked ACK: accumulate growth."""
    if sender.delay_ps >= target_ps:
        sender.growth += params.fair * step(qp) * size
        return
    if sender.delay_ps < _NO_DELAY_PS:
        sender.fast_bytes += size
        sender.is_fast = int(sender.is_fast > 0 or sender.fast_bytes > sender.window)
    else:
        sender.fast_bytes = 0
        sender.is_fast = 0
    if sender.is_fast:
        set_window(qp, sender, sender.window + params.fast * bdp(qp) / _REFERENCE_BYTES * size)
    else:
        room_ps = target_ps - sender.delay_ps
        sender.growth += params.proportional * step(qp) * size * room_ps / _REFERENCE_PS


def cut(params, qp, sender, target_ps, now):
    """Marked ACK: cut by the excess of the average delay, once a base RTT."""
    if sender.delay_ps >= target_ps:
        sender.is_fast = 0
        sender.fast_bytes = 0
        if sender.average_ps > target_ps and now - sender.cut_ps > sender.base_rtt_ps:
            factor = 1.0 - params.gamma * (sender.average_ps - target_ps) / sender.average_ps
            sender.cut_ps = now
            set_window(qp, sender, sender.window * max(factor, _LEAST_FACTOR))


def adjust(params, qp, sender, now):
    """Apply the growth every few packets, or once in T."""
    is_time = now - sender.adjusted_ps > qp.base_rtt_ps
    set_window(qp, sender, sender.window)
    if is_time or sender.received_bytes > params.adjust_packets * qp.wire_bytes:
        window = sender.window + sender.growth / sender.window
        if is_time:
            window += params.steady * step(qp)
            sender.adjusted_ps = now
        sender.growth = 0.0
        sender.received_bytes = 0
        set_window(qp, sender, window)


def quick_adapt(params, qp, sender, is_marked, is_nack, now):
    """If little was delivered in a round trip, make that the window; return whether the reply is fully handled."""
    if is_marked and sender.ignored_bytes < sender.to_ignore_bytes:
        return True
    if now <= sender.look_ps:
        return False
    target_ps = params.target * qp.base_rtt_ps
    is_bad = sender.is_triggered > 0 or is_nack or sender.delay_ps > params.quick_delay * target_ps
    has_acted = False
    if sender.look_ps > 0 and is_bad and sender.achieved_bytes < params.quick_share * sender.most:
        set_window(qp, sender, float(sender.achieved_bytes))
        sender.to_ignore_bytes = qp.inflight_bytes
        sender.ignored_bytes = 0
        sender.is_triggered = 0
        has_acted = True
    sender.achieved_bytes = 0
    sender.look_ps = now + int(sender.base_rtt_ps + target_ps)
    return has_acted
