"""Improved Go-Back-N: Send-Twice at the sender and Check-EPSN at the receiver.

Source: the Improved Go-Back-N paper (IGBN, Wang et al. 2019), section III.
"""

from rdmacc.interface import *
from rdmacc.protocols.check_epsn import CheckEpsn
from rdmacc.protocols.send_twice import SendTwice

_send = SendTwice.on_send


@dataclass(frozen=True, kw_only=True)
class ImprovedGoBackN(CheckEpsn):
    """Both improvements. A timeout only occurs if both copies of the last packet, or both their ACKs, are lost."""

    class Transfer(CheckEpsn.Transfer):
        is_second = Byte(doc="sender: 1 between the two copies of the last packet")

    def on_send(params, qp, message, transfer, packet, now):
        _send(params, qp, message, transfer, packet, now)
