"""Choice of path for each packet, by an entropy value that switches hash: per flow, sprayed, or learned from replies.

Sources: Bonato et al., "REPS: Recycled Entropy Packet Spraying for Adaptive Load Balancing and Failure Mitigation";
uet-htsim (`uec_mp.cpp`, `buffer_reps.cpp`). The scheme's routing must be "entropy".

The sender puts a value into each packet, and the receiver returns it with the packet's mark. By `choice`:

"ecmp"        one value for all packets, so one path per message
"oblivious"   each value once per round, in a new random order each round
"bitmap"      the same, but skip values with penalties; each skip removes one penalty
"reps"        the values of the last eight unmarked ACKs, each used once, oldest first; random if there is none
"mixed"       values of unmarked ACKs if there are any, otherwise as "bitmap"

A packet trimmed at the last hop says nothing about its path. After a timeout, "reps" cycles through its known values
for `freeze_ps`, and then draws random ones for a while. Replies use all values in turn.

Assumptions: a timeout counts against value 0, as in uet-htsim, whose sender does not know the packet's value; "mixed"
keeps at most 256 values.
"""

from rdmacc.interface import *

Choice = Literal["mixed", "oblivious", "bitmap", "reps", "ecmp"]
_MOST = 256
_RING = 8
_WORST = 15


@dataclass(frozen=True, kw_only=True)
class PathChoice(Component):
    """The sender's choice among paths."""

    spans_ports = True

    choice: Choice = param(
        "mixed",
        "mixed, oblivious, bitmap, reps, ecmp",
        source="uet-htsim: load_balancing_algo",
        choices=get_args(Choice),
    )
    values: int = param(64, "entropy values, a power of two", symbol="n", source="uet-htsim: paths", low=1, high=_MOST)
    ecn_penalty: int = param(1, "penalty of a value whose packet was marked", source="uec_mp.cpp", low=0, high=_WORST)
    trim_penalty: int = param(4, "penalty of a value whose packet was trimmed", source="uec_mp.cpp", low=0, high=_WORST)
    timeout_penalty: int = param(15, "penalty of value 0 after a timeout", source="uec_mp.cpp", low=0, high=_WORST)
    freeze_ps: Time = param("10ms", "time after a timeout with known values only", source="buffer_reps.cpp")
    explore_packets: int = param(16, "number of random values after that", source="buffer_reps.cpp", low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values & (self.values - 1):
            raise ConfigError("values", self.values, "a power of two")

    class Sender(Record):
        turn = Int32(doc="values used in this round")
        mask = Int32(doc="random key of this round")
        draws = Int(doc="random numbers used")
        penalties = Ints(_MOST)
        stock = Ints(_MOST, doc="values of unmarked ACKs")
        stock_first = Int32(doc="the oldest of them")
        stock_count = Int32(doc="number of values available")
        stock_known = Int32(doc="reps: entries ever written, at most 8")
        is_frozen = Byte()
        frozen_until_ps = Int()
        frozen_turn = Int32()
        to_explore = Int32(doc="random values still to use")

    class Receiver(Record):
        reply_turn = Int32()

    class Transfer(Record):
        seen_timeouts = Int32(doc="timeouts already handled")

    class Header(Record):
        """In data packets, and copied into replies."""

        entropy = Int32(-1)
        was_marked = Byte(doc="reply: mark of the packet that caused it")
        at_last_hop = Byte(doc="1 once it has reached its last switch untrimmed")

    def on_send(params, qp, sender, message, transfer, packet, now):
        if message.timeouts > transfer.seen_timeouts:
            transfer.seen_timeouts = message.timeouts
            take_timeout(params, sender, now)
        packet.entropy = next_value(params, qp, sender)
        packet.path = packet.entropy

    def on_enqueue(port, packet):
        if packet.kind == DATA and port.link_class == LAST_HOP:
            packet.at_last_hop = 1

    def on_data(params, qp, receiver, packet, reply):
        if reply.kind != NONE:
            reply.entropy = packet.entropy
            reply.was_marked = packet.ce
            reply.at_last_hop = packet.at_last_hop
            reply.path = next_reply_value(params, qp, receiver)

    def on_request(params, qp, receiver, reply):
        if reply.kind != NONE:
            reply.path = next_reply_value(params, qp, receiver)

    on_pick = on_request

    def on_ack(params, sender, packet, now):
        if packet.entropy < 0:
            return
        thaw(params, sender, now)
        is_trim = packet.kind == NAK and not packet.at_last_hop
        if is_trim or packet.was_marked:
            if params.choice == "bitmap" or params.choice == "mixed":
                more = params.trim_penalty if is_trim else params.ecn_penalty
                sender.penalties[packet.entropy] = min(sender.penalties[packet.entropy] + more, _WORST)
        elif params.choice == "reps":
            keep_in_ring(sender, packet.entropy)
        elif params.choice == "mixed" and packet.kind != NAK:
            keep(sender, packet.entropy)


def next_value(params, qp, sender):
    if params.choice == "ecmp":
        return 0
    if params.choice == "reps":
        return next_of_ring(params, qp, sender)
    if params.choice == "mixed" and sender.stock_count > 0:
        value = sender.stock[sender.stock_first]
        sender.stock_first = (sender.stock_first + 1) % _MOST
        sender.stock_count -= 1
        return value
    value = next_in_turn(params, qp, sender)
    if params.choice != "oblivious" and sender.penalties[value] > 0:
        sender.penalties[value] -= 1
        for _ in range(params.values):
            value = next_in_turn(params, qp, sender)
            if sender.penalties[value] == 0:
                break
    return value


def next_in_turn(params, qp, sender):
    """Return the next value of a round; each round has its own order."""
    if sender.turn == 0:
        sender.mask = draw(params, qp, sender)
    value = sender.turn ^ sender.mask
    sender.turn = (sender.turn + 1) % params.values
    return value


def draw(params, qp, sender):
    value = int(uniform(qp.chance_key, sender.draws) * params.values)
    sender.draws += 1
    return value


def keep(sender, value):
    """Append a value to the stock, unless it is full."""
    if sender.stock_count < _MOST:
        sender.stock[(sender.stock_first + sender.stock_count) % _MOST] = value
        sender.stock_count += 1


def keep_in_ring(sender, value):
    """Append a value to the ring, overwriting the oldest if it is full."""
    if sender.stock_count == _RING:
        sender.stock_first = (sender.stock_first + 1) % _RING
        sender.stock_count -= 1
    sender.stock[(sender.stock_first + sender.stock_count) % _RING] = value
    sender.stock_count += 1
    sender.stock_known = min(sender.stock_known + 1, _RING)


def next_of_ring(params, qp, sender):
    """Return the oldest unused value of the ring, otherwise a random one; while frozen, cycle through the ring."""
    if sender.to_explore > 0:
        sender.to_explore -= 1
        return draw(params, qp, sender)
    if sender.is_frozen and sender.stock_known > 0:
        value = sender.stock[sender.frozen_turn % sender.stock_known]
        sender.frozen_turn += 1
        return value
    if sender.is_frozen or sender.stock_count == 0:
        return draw(params, qp, sender)
    value = sender.stock[sender.stock_first]
    sender.stock_first = (sender.stock_first + 1) % _RING
    sender.stock_count -= 1
    return value


def take_timeout(params, sender, now):
    """Handle a timeout: the packet's path may be dead."""
    sender.penalties[0] = min(sender.penalties[0] + params.timeout_penalty, _WORST)
    if params.choice == "reps" and not sender.is_frozen and sender.to_explore == 0:
        sender.is_frozen = 1
        sender.frozen_until_ps = now + params.freeze_ps
        sender.frozen_turn = 0


def thaw(params, sender, now):
    """After the freeze, discard all values and explore."""
    if sender.is_frozen and now > sender.frozen_until_ps:
        sender.is_frozen = 0
        sender.stock_first = 0
        sender.stock_count = 0
        sender.stock_known = 0
        sender.to_explore = params.explore_packets


def next_reply_value(params, qp, receiver):
    """Return the value of the next reply: all in turn, from a random start for each queue pair."""
    if params.choice == "ecmp":
        return 0
    value = (receiver.reply_turn + int(uniform(qp.reply_chance_key, 0) * params.values)) % params.values
    receiver.reply_turn = (receiver.reply_turn + 1) % params.values
    return value
