"""Go-back-N with Check-EPSN (CE): the receiver repeats its NAK on a timer too, not only on arrivals.

Source: the Improved Go-Back-N paper (IGBN, Wang et al. 2019), section III-C and figure 5.
"""

from rdmacc.interface import *
from rdmacc.protocols.go_back_n import GoBackN, ask, note_gap
from rdmacc.units import us

_receive = GoBackN.on_data


@dataclass(frozen=True, kw_only=True)
class CheckEpsn(GoBackN):
    """Go-back-N whose receiver checks, after the last packet, whether an earlier one is still missing.

    When the last packet arrives while an earlier one is missing, a timer runs for the rest of the NAK interval; when it
    fires, the receiver sends a NAK for the packet that it then expects and restarts the timer. Assumed, where the paper
    leaves it open: each expected packet restarts the timer on arrival, so it only expires if the receiver has waited a
    whole interval; the timer ends with the message.
    """

    nak_interval_ps: Time = param(
        "500us", "least time between NAKs, and the timer's period", source="IGBN, Table I", low=us(1)
    )

    class Transfer(GoBackN.Transfer):
        check_timer_ps = Deadline("receiver: ask again when it fires")

    def on_data(params, message, transfer, packet, reply, now):
        _receive(params, message, transfer, packet, reply, now)
        if message.received_packets == message.packets:
            transfer.check_timer_ps = NEVER
        elif packet.psn == message.packets - 1:
            transfer.check_timer_ps = (
                transfer.nak_until_ps
            )  # the rest of the interval, which began with the NAK just sent
        elif packet.accepted and transfer.check_timer_ps < NEVER:
            transfer.check_timer_ps = now + params.nak_interval_ps

    def on_check_timer(params, message, transfer, reply, now):
        expected = message.received_packets
        if expected < message.packets:
            note_gap(transfer, expected)
            ask(params, transfer, reply, expected, now)
            reply.psn = expected
            transfer.check_timer_ps = now + params.nak_interval_ps
