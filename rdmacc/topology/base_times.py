"""Base times: how long packets and whole messages take alone in the network, store-and-forward at line rate.

A message's ideal completion time, the denominator of its slowdown, is that on its own path if known. Packets that take
several paths may overtake each other; the ideal is then a lower bound over all ways to divide them.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError
from rdmacc.topology.fabric import Fabric, Int64s
from rdmacc.topology.routes import Bools
from rdmacc.topology.ways import choices, has_equal_ways, hops_of
from rdmacc.units import cut_ps

Step = Callable[[int, Int64s, Int64s], Int64s]
"""Takes the number of the hop, the numbers of messages, and their nodes; returns the ports that they take."""
_AT_ONCE = 50_000  # messages per batch when all paths are followed, which bounds memory


def base_fct_ps(
    fabric: Fabric,
    src: npt.ArrayLike,
    dst: npt.ArrayLike,
    size_bytes: npt.ArrayLike,
    payload_bytes: int,
    header_bytes: int,
    step: Step | None = None,
    tick_ps: int = 0,
) -> Int64s:
    """Return each message's completion time on a path, from its first bit sent to its last byte received.

    The path is the first shortest one, or what `step` chooses. Times are cut to whole ticks, if there is a tick.

    A message consists of packets with `payload_bytes` of payload and a header; the last may be shorter. With the
    transmission time t_j of a full packet and the delay d_j of hop j, the m-th full packet completes hop i at

        F_i(m) = sum_{j<=i} (t_j + d_j) + (m - 1) max_{j<=i} t_j

    and a shorter last packet starts on hop i at max(F_i(m) - d_i, its arrival from hop i - 1).
    """
    given = np.broadcast_arrays(*(np.asarray(each, dtype=np.int64) for each in (src, dst, size_bytes)))
    sources, targets, sizes = (each.ravel() for each in given)
    if payload_bytes < 1:
        raise ConfigError("payload_bytes", payload_bytes, "at least 1 byte")
    if header_bytes < 0:
        raise ConfigError("header_bytes", header_bytes, "at least 0 bytes")
    if sizes.size and sizes.min() < 1:
        raise ConfigError("size_bytes", int(sizes.min()), "at least 1 byte")
    fabric.check_paths(sources, targets)

    full, rest = np.divmod(sizes, payload_bytes)
    full_wire, rest_wire = payload_bytes + header_bytes, rest + header_bytes
    result = np.zeros(len(sizes), dtype=np.int64)
    through, slowest, arrival = np.zeros_like(result), np.zeros_like(result), np.zeros_like(result)
    nodes, active, hop = sources, np.arange(len(sizes)), 0
    while len(active):
        ports = fabric.first_ports(nodes, targets) if step is None else step(hop, active, nodes)
        delay = fabric.port_delay_ps[ports]
        time = _sending_ps(fabric, full_wire, ports, tick_ps)
        through = through + time + delay
        slowest = np.maximum(slowest, time)
        ended = through + (full - 1) * slowest - delay
        start = np.where(full > 0, np.maximum(ended, arrival), arrival)
        arrival = start + _sending_ps(fabric, rest_wire, ports, tick_ps) + delay
        nodes, hop = fabric.port_peer[ports], hop + 1
        on = nodes != targets
        if on.all():
            continue
        there = ~on
        result[active[there]] = np.where(rest > 0, arrival, through + (full - 1) * slowest)[there]
        nodes, targets, full, rest, rest_wire, through, slowest, arrival, active = (
            each[on] for each in (nodes, targets, full, rest, rest_wire, through, slowest, arrival, active)
        )
    return result.reshape(given[0].shape)


def _sending_ps(fabric: Fabric, wire_bytes: Any, ports: Any, tick_ps: int) -> Int64s:
    """Return the transmission time of packets on ports, as the engines compute it."""
    if tick_ps <= 1:
        found: Int64s = (wire_bytes * fabric.port_byte_ps[ports] + 0.5).astype(np.int64)
        return found
    sent = np.stack(np.broadcast_arrays(np.asarray(wire_bytes, np.float64), fabric.port_rate_bps[ports]))
    kinds, which = np.unique(sent, axis=1, return_inverse=True)
    times = [cut_ps(int(wire), rate, tick_ps) for wire, rate in kinds.T.tolist()]
    return np.array(times, np.int64)[which.reshape(sent.shape[1:])]


def least_fct_ps(
    fabric: Fabric,
    src: Int64s,
    dst: Int64s,
    ports: Int64s,
    size_bytes: Int64s,
    payload_bytes: int,
    header_bytes: int,
    tick_ps: int = 0,
) -> Int64s:
    """Return a lower bound for the completion time of messages whose packets may take every shortest path.

    `ports` are those by which they leave their hosts, in order. For a single path the bound is exact. Otherwise it is
    the latest of three times: the last full packet, and a shorter one behind it, take the fastest path; the full
    packets use all ports of a hop at once, from the first arrival on; and the last port to the receiver sends all
    packets, from the first arrival on.
    """
    full, rest = np.divmod(size_bytes, payload_bytes)
    wires = payload_bytes + header_bytes, rest + header_bytes
    bound, is_several, is_slow = _by_first_way(fabric, dst, ports, full, rest, wires, tick_ps)
    alone = np.flatnonzero(~is_several)
    if len(alone):

        def step(hop: int, active: Int64s, nodes: Int64s) -> Int64s:
            return fabric.first_ports(nodes, dst[alone[active]]).astype(np.int64) if hop else ports[alone[active]]

        bound[alone] = base_fct_ps(
            fabric, src[alone], dst[alone], size_bytes[alone], payload_bytes, header_bytes, step, tick_ps
        )
    again = np.flatnonzero(is_several & (is_slow | (not has_equal_ways(fabric))))
    for some in np.split(again, range(_AT_ONCE, len(again), _AT_ONCE)):
        parts = src[some], dst[some], ports[some], full[some], rest[some]
        bound[some] = _by_every_way(fabric, *parts, (wires[0], wires[1][some]), tick_ps)
    return bound


class _Ends(NamedTuple):
    """Times of a full packet, and of the last one, at both ends of a path; shapes 2 x M."""

    first: Int64s  # on the first port
    before: Int64s  # from the start until the last port has it
    last: Int64s  # on the last port
    lag: Int64s  # delay of the last link; shape M

    def bound(self, full: Int64s, rest: Int64s, arrivals: Int64s, has_one: Bools | bool) -> Int64s:
        """Return the bound from the first port and, if all packets share the last port, from the last."""
        sending, has_full = full * self.first[0], full > 0
        begins = np.where(has_full, np.minimum(self.before[0], sending + self.before[1]), self.before[1])
        busy = full * self.last[0] + self.lag
        least = np.where(rest > 0, sending + arrivals[1], 0)
        at_last = np.maximum(np.where(rest > 0, begins + self.last[1] + busy, 0), (self.before[0] + busy) * has_full)
        return np.maximum(
            np.maximum(least, (sending - self.first[0] + arrivals[0]) * has_full), at_last * has_one
        )  # fmt: skip


def _by_first_way(
    fabric: Fabric, dst: Int64s, ports: Int64s, full: Int64s, rest: Int64s, wires: tuple[int, Int64s], tick_ps: int
) -> tuple[Int64s, Bools, Bools]:
    """Return the bound if all paths equal the first; who has several paths; and whose middle may limit them."""
    count = len(dst)
    is_several, middle = np.zeros(count, np.bool_), np.zeros(count, np.int64)
    arrivals, before, first, last = (np.zeros((2, count), np.int64) for _ in range(4))
    lag, active, place = np.zeros(count, np.int64), np.arange(count), 0
    while len(active):
        if place > 1:
            middle[active] = np.maximum(middle[active], last[0, active])
        before[:, active] = arrivals[:, active]
        lag[active] = fabric.port_delay_ps[ports]
        for kind, wire in enumerate((wires[0], wires[1][active])):
            last[kind, active] = _sending_ps(fabric, wire, ports, tick_ps)
            arrivals[kind, active] += last[kind, active] + lag[active]
        if not place:
            first = last.copy()
        nodes = fabric.port_peer[ports]
        on = nodes != dst[active]
        active, nodes, place = active[on], nodes[on], place + 1
        ports = fabric.first_ports(nodes, dst[active]).astype(np.int64)
        open_ = np.flatnonzero(~is_several[active])
        is_several[active[open_]] = choices(fabric, nodes[open_].astype(np.int64), dst[active[open_]]) > 1
    is_slow = (middle > np.maximum(first[0], last[0])) | (np.diff(fabric.node_first_port)[dst] > 1)
    return _Ends(first, before, last, lag).bound(full, rest, arrivals, True), is_several, is_slow


def _by_every_way(
    fabric: Fabric, src: Int64s, dst: Int64s, ports: Int64s, full: Int64s, rest: Int64s,
    wires: tuple[int, Int64s], tick_ps: int,
) -> Int64s:  # fmt: skip
    count = len(dst)
    through, lag, number = np.zeros((3, count), np.int64)
    ends, before, first, last = (np.zeros((2, count), np.int64) for _ in range(4))
    arrivals = np.zeros((2, count), np.int64)
    for place, hop in enumerate(hops_of(fabric, src, dst, True, ports)):
        pair, now, delays = hop.pair, np.unique(hop.pair), fabric.port_delay_ps[hop.ports]
        sent = np.stack([_sending_ps(fabric, wire, hop.ports, tick_ps) for wire in (wires[0], wires[1][pair])])
        starts = arrivals[:, hop.origin]
        for kind in (0, 1):
            before[kind, now] = _least(starts[kind], pair, count)[now]
            last[kind, now] = _least(sent[kind], pair, count)[now]
        lag[now], number[now] = _least(delays, pair, count)[now], np.bincount(pair, minlength=count)[now]
        if not place:
            first = last.copy()
        pace = np.bincount(pair, 1 / np.maximum(sent[0], 1), count)[now]
        shared = np.where(number[now] == 1, full[now] * last[0, now], np.floor(full[now] / pace).astype(np.int64))
        onward = through[now] + _least(sent[0] + delays, pair, count)[now]
        through[now] = np.maximum(onward, before[0, now] + shared + lag[now])  # all ports of the hop share the packets
        arrivals = np.stack([_least(each, hop.into, len(hop.nodes)) for each in starts + sent + delays])
        ends[:, hop.owner] = arrivals
    bound = _Ends(first, before, last, lag).bound(full, rest, ends, number == 1)
    return np.maximum(bound, np.where(full > 0, through, 0))


def _least(values: Int64s, owner: Int64s, count: int) -> Int64s:
    found = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(found, owner, values)
    return found


def longest_ps(fabric: Fabric, src: Int64s, dst: Int64s, port_ps: Int64s, ports: Int64s | None = None) -> Int64s:
    """Return the time of the slowest shortest path between hosts, given the time of each port.

    A window sized for it also fills the faster paths. `ports` are those by which packets leave `src`, if known.
    """
    result = np.zeros(len(dst), np.int64)
    at = result
    for hop in hops_of(fabric, src, dst, not has_equal_ways(fabric), ports):
        found = np.zeros(len(hop.nodes), np.int64)
        np.maximum.at(found, hop.into, at[hop.origin] + port_ps[hop.ports])
        result[hop.owner] = at = found
    return result


def packet_ps(fabric: Fabric, wire_bytes: int) -> Int64s:
    """Return the time that a packet takes from each port to the next node; delays only for 0 bytes. Shape P."""
    return (wire_bytes * fabric.port_byte_ps + 0.5).astype(np.int64) + fabric.port_delay_ps


def largest_rtt_ps(fabric: Fabric, payload_bytes: int, header_bytes: int = 0, ack_bytes: int = 0) -> int:
    """Return the largest base round trip between any two connected hosts.

    It is the time of a packet there, store-and-forward, and of an ACK back. With the defaults only the packet's payload
    and the links' delays count: the base RTT that the HPCC simulator gives all queue pairs (third.cc, GLOBAL_T). Two
    of several hosts with equal links represent all.
    """
    hosts = np.array([host for group in fabric.alike_hosts() for host in group[:2]], np.int64)
    forth, back = packet_ps(fabric, payload_bytes + header_bytes), packet_ps(fabric, ack_bytes)
    most = 0
    for src in hosts:
        others = hosts[(hosts != src) & fabric.reachable_many(np.full(len(hosts), src), hosts)]
        here = np.full(len(others), src)
        if len(others):
            rtt = longest_ps(fabric, here, others, forth) + longest_ps(fabric, others, here, back)
            most = max(most, int(rtt.max()))
    return most
