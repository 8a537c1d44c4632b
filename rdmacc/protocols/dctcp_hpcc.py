"""DCTCP as in RDMA simulators: rate-based, with the HPCC simulator's estimate of the marked fraction.

Source: the HPCC simulator's rdma-hw.cc (congestion control mode 8) and its `dctcp` configuration in run.py; the
baseline called DCTCP in HPCC's and RCC's evaluations. It differs from DCTCP: it starts at line rate with a window of
one bandwidth-delay product that shrinks with the rate, has no slow start, adds a constant rate each round trip, and the
first mark of a flow halves its rate, because alpha starts at 1. A new rate applies from the next packet.

Nothing is marked until the windows of all flows together exceed the threshold plus a bandwidth-delay product: on a
short path, two flows are limited by their windows alone.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import bytes_before
from rdmacc.protocols.window import RateWindow, set_rate


@dataclass(frozen=True, kw_only=True)
class DctcpHpcc(RateWindow):
    """In each round trip, cut the rate by alpha / 2 if there were marks, otherwise add a constant."""

    g: float = param(0.0625, "weight of a new sample in alpha", symbol="g", source="run.py", low=0.0, high=1.0)
    additive_bps: Rate = param(
        "615Mbps", "increase each round trip, 1000 B in 13 us, at any line rate", source="run.py"
    )
    has_window: bool = param(
        True, "also limit the bytes in flight, in proportion to the rate", source="run.py: HAS_WIN, VAR_WIN"
    )

    class Sender(RateWindow.Sender):
        alpha = Float(1.0, doc="estimate of the marked fraction")

    class Transfer(Record):
        """Round trips of a message, counted by packet numbers."""

        marked_acks = Int32(doc="marked ACKs since the last update of alpha")
        batch_packets = Int32(doc="assumed number of packets in the round trip")
        update_after_psn = Int32(doc="an ACK above it ends the round trip; 0 before the first")
        reduced = Byte(doc="1 from a cut until an ACK above `open_after_psn`")
        open_after_psn = Int32()

    class Header(Record):
        """In ACKs and NAKs."""

        ecn_echo = Byte(doc="the acknowledged packet was marked")

    def on_open(params, qp, sender):
        sender.rate_bps = qp.line_bps
        set_rate(params, qp, sender, qp.line_bps)

    def on_data(packet, reply):
        reply.ecn_echo = packet.ce

    def on_ack(params, qp, sender, message, transfer, packet):
        transfer.marked_acks += packet.ecn_echo
        is_new_round = packet.psn > transfer.update_after_psn
        if is_new_round:
            base = packet.psn
            if transfer.update_after_psn == 0:
                base = 0  # the first round counts everything sent so far, and keeps its marks
            else:
                fraction = min(1.0, transfer.marked_acks / transfer.batch_packets)
                sender.alpha = (1.0 - params.g) * sender.alpha + params.g * fraction
                transfer.marked_acks = 0
            unacknowledged = bytes_before(message, message.next_psn) - bytes_before(message, base)
            transfer.batch_packets = unacknowledged // message.payload_bytes + 1
            transfer.update_after_psn = message.next_psn
        if packet.psn > transfer.open_after_psn:
            transfer.reduced = 0
        if packet.ecn_echo and not transfer.reduced:
            reduced = sender.current_bps * (1.0 - sender.alpha / 2.0)
            set_rate(params, qp, sender, max(params.min_rate_bps, reduced))
            transfer.reduced = 1
            transfer.open_after_psn = message.next_psn
        elif is_new_round and not transfer.reduced:
            set_rate(params, qp, sender, min(qp.line_bps, sender.current_bps + params.additive_bps))
