"""Spraying by the sender: all paths once in random order, then again in a new order; replies likewise.

Sources: Handley et al., "Re-architecting datacenter networks and stacks for low latency and high performance" (NDP),
SIGCOMM 2017, section 3; csg-htsim, `sim/ndp.cpp` (`permute_paths`, `choose_route`, `count_feedback`).

The scheme's routing must be "source". Assumptions: at most 64 paths are used, the first ones. A bad path is skipped
once for each answer that reported it; in the simulator it stays excluded until an answer clears it, which may never
arrive.
"""

from rdmacc.interface import *

_MOST = 64


@dataclass(frozen=True, kw_only=True)
class PermutedPaths(Component):
    """The sender permutes the paths for data, the receiver those for replies."""

    spans_ports = True

    class Sender(Record):
        """Paths of data."""

        path_order = Ints(_MOST, doc="the current permutation")
        path_place = Int32(doc="position of the next path in it")
        path_draws = Int32(doc="random numbers used")

    class Receiver(Record):
        """Paths of replies."""

        reply_order = Ints(_MOST)
        reply_place = Int32()
        reply_draws = Int32()

    def on_send(qp, sender, packet):
        if qp.paths > 1:
            packet.path = next_path(qp, sender)

    def on_data(qp, receiver, reply):
        if reply.kind != NONE and qp.paths > 1:
            reply.path = next_reply_path(qp, receiver)

    on_pick = on_data


@dataclass(frozen=True, kw_only=True)
class ScoredPaths(PermutedPaths):
    """The sender also skips paths on which more packets are trimmed than on others."""

    least_answers: int = param(100, "a path is judged only after more answers than this", source="csg-htsim", low=0)
    mean_ratio: float = param(
        1.25, "avoid a path if its ratio of NACKs to ACKs exceeds this many times the mean", source="csg-htsim", low=0.0
    )
    least_ratio: float = param(
        0.3, "avoid a path if its ratio of NACKs to ACKs exceeds this", source="csg-htsim", low=0.0
    )
    return_weight: int = param(3, "number of NACKs that a returned header counts as", source="csg-htsim", low=0)

    class Sender(PermutedPaths.Sender):
        """As above, and the fate of each path's packets."""

        path_acks = Ints(_MOST)
        path_nacks = Ints(_MOST)
        path_skips = Ints(_MOST, doc="number of turns to skip")
        all_acks = Int()
        all_nacks = Int()
        returned_path = Int32(-1, doc="path of the last returned header, not to be used next")

    class Header(Record):
        """In data and replies."""

        path_tag = Byte(doc="path of the data packet")

    def on_send(qp, sender, packet):
        if qp.paths > 1:
            path = next_path(qp, sender)
            for _ in range(min(qp.paths, _MOST)):
                if path != sender.returned_path and sender.path_skips[path] == 0:
                    break
                if path != sender.returned_path:
                    sender.path_skips[path] -= 1
                path = next_path(qp, sender)
            sender.returned_path = -1
            packet.path = path
            packet.path_tag = path

    def on_ack(params, qp, sender, packet):
        if packet.kind == ACK:
            sender.path_acks[packet.path_tag] += 1
            sender.all_acks += 1
        else:
            sender.path_nacks[packet.path_tag] += 1
            sender.all_nacks += 1
        judge(params, qp, sender, packet.path_tag)

    def on_return(params, qp, sender, packet):
        sender.path_nacks[packet.path_tag] += params.return_weight
        sender.all_nacks += params.return_weight
        sender.returned_path = packet.path_tag
        judge(params, qp, sender, packet.path_tag)

    def on_data(qp, receiver, packet, reply):
        reply.path_tag = packet.path_tag
        if reply.kind != NONE and qp.paths > 1:
            reply.path = next_reply_path(qp, receiver)


def next_path(qp, sender):
    count = min(qp.paths, _MOST)
    if sender.path_place == 0:
        sender.path_draws = permute(sender.path_order, count, qp.chance_key, sender.path_draws)
    path = sender.path_order[sender.path_place]
    sender.path_place = (sender.path_place + 1) % count
    return path


def next_reply_path(qp, receiver):
    count = min(qp.paths, _MOST)
    if receiver.reply_place == 0:
        receiver.reply_draws = permute(receiver.reply_order, count, qp.reply_chance_key, receiver.reply_draws)
    path = receiver.reply_order[receiver.reply_place]
    receiver.reply_place = (receiver.reply_place + 1) % count
    return path


def permute(order, count, key, draws):
    """Shuffle the numbers below `count` (Fisher and Yates); return the number of random numbers used so far."""
    for i in range(count):
        order[i] = i
    for last in range(count - 1, 0, -1):
        other = int(uniform(key, draws) * (last + 1))
        draws += 1
        path = order[last]
        order[last] = order[other]
        order[other] = path
    return draws


def judge(params, qp, sender, path):
    """Skip a path once more if it is worse than the others."""
    acks, nacks = sender.path_acks[path], sender.path_nacks[path]
    ratio = nacks / max(acks, 1)
    mean = sender.all_nacks / max(sender.all_acks, 1)
    if acks + nacks > params.least_answers and ratio > params.mean_ratio * mean and ratio > params.least_ratio:
        sender.path_skips[path] += 1
    elif sender.path_skips[path] > 0:
        sender.path_skips[path] -= 1
