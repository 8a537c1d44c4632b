"""Retire a path when it loses a packet, and probe it until it answers: for many planes without routing.

Sources: the interface of OCP's Multipath Reliable Connection 1.0 (`mrc.h`: states of an entropy value, how many stay
active, planes as ports), and summaries of Araujo et al., "Resilient AI Supercomputer Networking using MRC and SRv6",
2026. The protocol itself is not public: **this model is inferred, and is not MRC**. It runs on `Uet` with `reorder`,
which detects losses by time. The scheme's routing must be "entropy".

A queue pair takes its values in turn, from a random start, so all links of its host and all values share the load.
After a mark, the value is skipped once; after a trimmed packet, more than once unless the last hop trimmed it. A loss
means that the path is dead: its value is retired, if enough stay active, and probed by small packets at intervals; any
answer brings it back. Replies take the path of the packet that caused them.

Assumptions, each a parameter: the number of values, the penalties, the interval of probes and its growth after each
round without an answer. A loss by itself leaves the window as it is; the resend timer still cuts it.
"""

from rdmacc.interface import *
from rdmacc.protocols.path_choice import draw
from rdmacc.protocols.uet import KEPT

_MOST = 256
_WORST = 15


@dataclass(frozen=True, kw_only=True)
class Retirement(Component):
    """The sender takes its values in turn and skips those whose paths lost packets."""

    spans_ports = True

    values: int = param(256, "entropy values, a power of two", source="summaries: 128 to 256", low=1, high=_MOST)
    least_active: float = param(
        0.25, "share of the values that is never retired", source="mrc_ctl.h: ev_min_active, example", low=0.0, high=1.0
    )
    ecn_penalty: int = param(1, "turns that a value misses after a mark", source="assumed", low=0, high=_WORST)
    trim_penalty: int = param(4, "after a trim, unless at the last hop", source="assumed", low=0, high=_WORST)
    probe_ps: Time = param(
        answer_timer("100us", 1), "from probe to probe of a value", unit="ps", source="assumed", low=1, rtts=1.0
    )
    longest_probe_ps: Time = param(
        answer_timer("10ms"), "the longest that this becomes", unit="ps", source="assumed", low=1, rtts=1.0
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values & (self.values - 1):
            raise ConfigError("values", self.values, "a power of two")

    class Sender(Record):
        turn = Int32(doc="values taken so far, modulo all")
        mask = Int32(doc="where the turns begin")
        draws = Int(doc="random numbers used")
        penalties = Ints(_MOST)
        retired = Ints(_MOST, doc="1 while retired")
        retired_count = Int32()
        value_of = Ints(KEPT, -1, doc="value of packet n in place n modulo 1024; -1 once it came trimmed")
        probe_timer_ps = Deadline("the next probe")
        probe_turn = Int32(doc="value to look at next")
        wait_ps = Int(doc="from probe to probe of a value")
        gap_ps = Int(doc="from probe to probe, in this round")

    class Header(Record):
        """In data packets, probes and replies."""

        entropy = Int32(-1)
        was_marked = Byte(doc="reply: mark of the packet that caused it")
        at_last_hop = Byte(doc="1 once it has reached its last switch whole")

    def on_open(params, qp, sender):
        sender.mask = draw(params, qp, sender)

    def on_send(params, sender, packet, now):
        place = packet.psn % KEPT
        if packet.is_again and sender.value_of[place] >= 0:
            retire(params, sender, sender.value_of[place], now)
        packet.entropy = next_active(params, sender)
        packet.path = packet.entropy
        sender.value_of[place] = packet.entropy

    def on_enqueue(port, packet):
        if packet.kind == DATA and port.link_class == LAST_HOP:
            packet.at_last_hop = 1

    def on_data(packet, reply):
        if reply.kind != NONE:
            reply.entropy = packet.entropy
            reply.path = packet.entropy
            reply.was_marked = packet.ce
            reply.at_last_hop = packet.at_last_hop

    def on_request(packet, reply):
        if reply.kind != NONE:
            reply.entropy = packet.entropy
            reply.path = packet.path

    def on_ack(params, sender, packet):
        if packet.kind == NAK:
            sender.value_of[packet.psn % KEPT] = -1
        value = packet.entropy
        if value < 0:
            return
        if sender.retired[value]:
            sender.retired[value] = 0
            sender.retired_count -= 1
            sender.penalties[value] = 0
        if packet.kind == NAK and not packet.at_last_hop:
            sender.penalties[value] = min(sender.penalties[value] + params.trim_penalty, _WORST)
        elif packet.kind == ACK and packet.was_marked:
            sender.penalties[value] = min(sender.penalties[value] + params.ecn_penalty, _WORST)

    def on_probe_timer(params, sender, request, now):
        if sender.retired_count == 0:
            return
        for _ in range(params.values):
            value = sender.probe_turn
            sender.probe_turn += 1
            if sender.probe_turn == params.values:
                sender.probe_turn = 0
                sender.wait_ps = min(2 * sender.wait_ps, params.longest_probe_ps)
                sender.gap_ps = sender.wait_ps // sender.retired_count
            if sender.retired[value]:
                request.kind = REQUEST
                request.entropy = value
                request.path = value
                break
        sender.probe_timer_ps = now + sender.gap_ps


def next_active(params, sender):
    """Return the next value that is neither retired nor penalised; if there is none, the next one not retired."""
    other = -1
    for _ in range(params.values):
        value = sender.turn ^ sender.mask
        sender.turn = (sender.turn + 1) % params.values
        if not sender.retired[value]:
            if sender.penalties[value] == 0:
                return value
            sender.penalties[value] -= 1
            if other < 0:
                other = value
    return max(other, 0)


def retire(params, sender, value, now):
    """Retire a value if enough others stay active; if not, skip it for a long time."""
    if sender.retired[value]:
        return
    if params.values - sender.retired_count - 1 < max(1.0, params.least_active * params.values):
        sender.penalties[value] = _WORST
        return
    sender.retired[value] = 1
    sender.retired_count += 1
    sender.wait_ps = params.probe_ps
    sender.gap_ps = sender.wait_ps // sender.retired_count
    if sender.probe_timer_ps == NEVER:
        sender.probe_timer_ps = now + params.probe_ps
