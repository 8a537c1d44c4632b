"""DCTCP: a window that is cut in proportion to the fraction of marked packets.

Sources: Alizadeh et al., "Data center TCP (DCTCP)", SIGCOMM 2010, section 3; RFC 8257; RFC 5681 for slow start and the
reaction to losses. It is used with TCP's loss recovery (`rdmacc.protocols.new_reno`), but works with any recovery that
reports losses as NAKs and counts timeouts.

Assumptions: alpha is 1 at the start, as in the RFC and in Linux (0 in the paper); windows count whole packets; each ACK
echoes the mark of one packet, so the RFC's two-state receiver is not needed; a cut or a loss stops growth until
everything sent before it is acknowledged.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import bytes_before


@dataclass(frozen=True, kw_only=True)
class Dctcp(Component):
    """Slow start, additive increase, cuts by alpha / 2 for marks and by half for losses."""

    g: float = param(1 / 16, "weight of a new sample in alpha", symbol="g", source="RFC 8257, 4.2", low=0.0, high=1.0)
    initial_window: float = param(10.0, "first window, in packets", symbol="IW", source="Dart, VI-A", low=1.0)
    min_window: float = param(
        2.0, "smallest window except after a timeout, in packets", source="RFC 5681, Linux; 1 for deep incast", low=1.0
    )
    initial_alpha: float = param(
        1.0, "alpha at the start", symbol="alpha", source="RFC 8257, 3.3; 0 in the paper", low=0.0, high=1.0
    )

    class Sender(Record):
        window_bytes = Int(doc="the window in whole packets")
        window = Float(doc="cwnd, in packets")
        threshold = Float(1e18, doc="ssthresh: slow start below it")
        alpha = Float(doc="estimate of the marked fraction")

    class Transfer(Record):
        acked_psn = Int32()
        acked_bytes = Int(doc="bytes acknowledged in this observation window")
        marked_bytes = Int(doc="marked bytes among them")
        window_end_psn = Int32(doc="an ACK above it ends the observation window")
        hold_psn = Int32(doc="no cut and no growth until an ACK above it")
        timeouts = Int32(doc="timeouts already handled")

    class Header(Record):
        """In ACKs."""

        ecn_echo = Byte(doc="the acknowledged packet was marked")

    def on_open(params, sender):
        sender.window = params.initial_window
        sender.alpha = params.initial_alpha

    def on_start(sender, message):
        sender.window_bytes = int(sender.window) * message.payload_bytes

    def on_data(packet, reply):
        reply.ecn_echo = packet.ce

    def on_send(params, sender, message, transfer):
        if message.timeouts > transfer.timeouts:  # first packet after a timeout
            transfer.timeouts = message.timeouts
            sender.threshold = max(sender.window / 2.0, params.min_window)
            sender.window = 1.0
            transfer.hold_psn = transfer.window_end_psn = message.una_psn
            sender.window_bytes = message.payload_bytes

    def on_ack(params, sender, message, transfer, packet):
        if packet.kind == NAK:
            sender.threshold = max(sender.window / 2.0, params.min_window)
            sender.window = sender.threshold
            transfer.hold_psn = message.highest_psn
        if packet.psn > transfer.acked_psn:
            acked = bytes_before(message, packet.psn) - bytes_before(message, transfer.acked_psn)
            transfer.acked_psn = packet.psn
            estimate(params, sender, message, transfer, packet, acked)
            if packet.psn > transfer.hold_psn:
                if packet.ecn_echo:
                    sender.window = max(sender.window * (1.0 - sender.alpha / 2.0), params.min_window)
                    sender.threshold = sender.window
                    transfer.hold_psn = message.highest_psn
                elif sender.window < sender.threshold:
                    sender.window += acked / message.payload_bytes
                else:
                    sender.window += acked / message.payload_bytes / sender.window
        sender.window_bytes = int(sender.window) * message.payload_bytes


def estimate(params, sender, message, transfer, packet, acked):
    """Count acknowledged data; at the end of an observation window, update alpha (RFC 8257, 3.3)."""
    transfer.acked_bytes += acked
    if packet.ecn_echo:
        transfer.marked_bytes += acked
    if packet.psn > transfer.window_end_psn:
        sender.alpha = (1.0 - params.g) * sender.alpha + params.g * (transfer.marked_bytes / transfer.acked_bytes)
        transfer.acked_bytes = transfer.marked_bytes = 0
        transfer.window_end_psn = message.highest_psn
