"""Go-back-N with Send-Twice (ST): the last packet of a message is sent twice.

Source: the Improved Go-Back-N paper (IGBN, Wang et al. 2019), section III-C.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import GoBackN, bytes_before, start_timer


@dataclass(frozen=True, kw_only=True)
class SendTwice(GoBackN):
    """Go-back-N that sends the last packet twice, back to back, whenever it reaches it (IGBN, III-C).

    If the first copy or its ACK is lost, the second one replaces it; a timeout requires both to be lost. Assumed: each
    retransmission also sends the last packet twice.
    """

    class Transfer(GoBackN.Transfer):
        is_second = Byte(doc="sender: 1 between the two copies of the last packet")

    def on_send(params, qp, message, transfer, packet, now):
        start_timer(params, message, transfer, packet, now)
        repeat_last(qp, message, transfer, packet)


def repeat_last(qp, message, transfer, packet):
    """After the first copy of the last packet, schedule the second."""
    last = message.packets - 1
    if packet.psn == last and not transfer.is_second:
        transfer.is_second = 1
        qp.inflight_bytes -= bytes_before(message, message.packets) - bytes_before(message, last)
        message.next_psn = last
    else:
        transfer.is_second = 0
