"""A scheme on a workload and a network, in numbers: queue pairs, times alone, classes and buffers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.caching.lifetimes import Kept, frozen
from rdmacc.engine.alone import Messages, links_with, rtt_of_scheme, times_alone
from rdmacc.engine.work import Int32s, Ints, Work, alike, narrow
from rdmacc.errors import ConfigError
from rdmacc.handlers.reach import Reach, reach_of
from rdmacc.interface import DATA_CLASS, NUM_CLASSES, hash63
from rdmacc.interface.chance import hash63_after, steps_to, stream_key
from rdmacc.rules.pfc import headroom_bytes
from rdmacc.rules.progress import OPEN as ALWAYS_OPEN
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import Pfc
from rdmacc.topology.fabric import Fabric
from rdmacc.units import cut_ps, format_time, transmission_ps
from rdmacc.workload.columns import filled
from rdmacc.workload.frame import OPEN
from rdmacc.workload.paths import PATH_COLUMNS, Paths


def message_number(work: Work, row: Any, field: str) -> int:
    """Return the message number of a row of the workload, since rows of computation are not messages."""
    frame = work.workload
    if isinstance(row, bool) or not isinstance(row, int | np.integer) or row not in frame.index:
        first, last = int(frame.index[0]), int(frame.index[-1])
        between = "" if first == 0 and last == len(frame) - 1 else ", that is a message"
        raise ConfigError(field, row, f"a row of the workload, {first} to {last}{between}")
    return int(frame.index.get_indexer(pd.Index([row]))[0])


def queue_pairs(src: Ints, dst: Ints, is_pairwise: bool, labels: Ints) -> tuple[Ints, Ints, Ints]:
    """Return each message's queue pair, and source and destination of each queue pair."""
    if not len(labels) and not is_pairwise:
        return np.arange(len(src)), src, dst
    count = int(dst.max(initial=-1)) + 1
    pairs = src * count + dst
    if len(labels):
        own = np.full(len(src), -1) if is_pairwise else -1 - np.arange(len(src))
        pairs = pd.factorize(pd.MultiIndex.from_arrays([pairs, np.where(labels < 0, own, labels)]))[0]
    codes, first = np.unique(pairs, return_index=True)
    order = np.argsort(first, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first = first[order]
    return place[np.searchsorted(codes, pairs)], src[first], dst[first]


def hash_as(qp: Ints, labels: Ints) -> npt.NDArray[np.int32]:
    """Return the message whose number ECMP hashes for each message; empty if the workload names no queue pairs."""
    if not len(labels):
        return np.zeros(0, np.int32)
    first = np.unique(qp, return_index=True)[1]
    return np.where(labels < 0, np.arange(len(qp)), first[qp]).astype(np.int32)


def first_ports(fabric: Fabric, salts: Ints, src: Ints, dst: Ints) -> Ints:
    """Return the port by which each queue pair leaves host `src`; a hash spreads them over several ports."""
    first = np.asarray(fabric.node_first_port)
    ports = first[src].astype(np.int64)
    for number in np.flatnonzero(first[src + 1] - first[src] > 1):
        choices = fabric.candidates(int(src[number]), int(dst[number]))
        ports[number] = choices[hash63(int(salts[src[number]]), int(number)) % len(choices)]
    return ports


def lead_by_paths(ports: Ints, paths: Paths, back: int, qp: Ints, frame: pd.DataFrame) -> None:
    """Make queue pairs leave their hosts by the first links of their messages' paths."""
    if not len(paths.ports):
        return
    first = paths.first[back:-1:2]
    rows = np.flatnonzero(paths.first[back + 1 :: 2] > first)
    ports[qp[rows]] = paths.ports[first[rows]]
    wrong = rows[ports[qp[rows]] != paths.ports[first[rows]]]
    if len(wrong):
        row, name = int(wrong[0]), PATH_COLUMNS[back]
        allowed = "must leave the host by the same link as the queue pair's other messages"
        raise ConfigError(name, frame[name].iloc[row], allowed, where=f"row {row}")


def count_paths(fabric: Fabric, scheme: Scheme, ports: Ints, dst: Ints) -> Ints:
    """Return the number of shortest paths to a host from the far end of each port."""
    paths = np.ones(len(ports), np.int64)
    if scheme.routing == "source":
        for number, (port, host) in enumerate(zip(ports.tolist(), dst.tolist(), strict=True)):
            node = int(fabric.port_peer[port])
            while not fabric.is_host[node]:
                choices = fabric.candidates(node, host)
                paths[number] *= len(choices)
                node = int(fabric.port_peer[choices[0]])
    return paths


class Stream:
    """Purposes of the streams of chance. Adding one must not renumber the others."""

    ECMP, PORTS, LOSS, CLOCK_OFFSETS, CLOCK_JITTER, SENDERS, RECEIVERS = range(1, 8)


@dataclass(frozen=True, eq=False, kw_only=True)
class Setting(Work):
    """A scheme on a workload and a network in numbers. Q queue pairs."""

    scheme: Scheme  # for this network: without `Scaled` parameters
    reach: Reach  # what the scheme is made of
    packets: Int32s
    qp: Int32s
    hash_as: Int32s  # the message by whose number ECMP hashes each message; empty if that is its own
    ideal_fct_ps: Ints
    qp_src: Int32s
    qp_dst: Int32s
    qp_messages: Int32s
    qp_base_rtt_ps: Ints
    qp_base_delay_ps: Ints
    qp_paths: Int32s  # shortest paths of each queue pair, 1 unless routing is by source
    qp_port: Int32s  # port by which the queue pair's data leave its host
    reply_port: Int32s  # port by which replies leave the receiving host
    host_base_rtt_ps: Ints  # by node number; 0 for hosts that receive nothing
    port_base_rtt_ps: int  # the longest of any queue pair
    is_open: bool
    """Whether messages may be sent while it runs that its workload has room for (`rdmacc.workload.open_work`)."""
    headroom_bytes: Ints  # headroom behind each port's link, held by the switch that the port leads to; 0 towards hosts
    shared_bytes: Ints  # by node number: the pool that queues share (lossless: without reserves and headrooms)
    priority: npt.NDArray[np.int8]  # class of each message's data packets
    distance: Ints  # hops from each row of the routes to each attachment; R x A, empty unless routing is symmetric

    @property
    def n_qps(self) -> int:
        return len(self.qp_src)


def setting_on(work: Work, scheme: Scheme, seed: int) -> Setting:
    """Return a scheme on a workload: the same object as before if nothing of it has changed, its code included."""
    reach = reach_of(scheme)
    content = reach, seed if work.is_drawn else None
    return work.kept.get(content, lambda: frozen(_setting_on(work, scheme, reach, seed)))


def _setting_on(work: Work, given: Scheme, reach: Reach, seed: int) -> Setting:
    fabric, frame, paths, size = work.fabric, work.rows.options, work.paths, work.size_bytes
    scheme = given.at(links_with(fabric, given, paths))
    _check_tick(fabric, scheme)
    packets = -(-size // scheme.payload_bytes)
    if packets.max(initial=0) >= 2**31:
        raise ConfigError("size_bytes", int(size.max()), f"fewer than 2**31 packets of {scheme.payload_bytes} B")
    src, dst = work.src.astype(np.int64), work.dst.astype(np.int64)
    qp, qp_src, qp_dst = queue_pairs(src, dst, scheme.is_pairwise, work.labels)
    if len(qp_src) < len(src) and scheme.one_message:
        raise ConfigError("column", "queue_pair", f"absent with {scheme.name}: {scheme.one_message}")
    (salts,) = keys(seed, {Stream.ECMP: fabric.n_nodes})
    qp_port = first_ports(fabric, salts, qp_src, qp_dst)
    reply_port = first_ports(fabric, salts, qp_dst, qp_src)
    for ports, back in ((qp_port, 0), (reply_port, 1)):
        lead_by_paths(ports, paths, back, qp, frame)
    hashes = hash_as(qp, work.labels)
    distance = fabric.hops() if scheme.routing == "symmetric" else np.zeros((0, 0), np.int64)
    messages = Messages(
        src, dst, size, qp, (qp_port, reply_port), paths, hashes, salts, stream_key(seed, Stream.ECMP), distance
    )  # fmt: skip
    alone = times_alone(fabric, scheme, messages, qp_src, qp_dst)
    host_base_rtt = np.zeros(fabric.n_nodes, np.int64)
    np.maximum.at(host_base_rtt, qp_dst, alone.base_rtt_ps)
    open_classes, in_pair = frame.attrs.get(OPEN), np.bincount(qp, minlength=len(qp_src))
    if open_classes is not None:
        host_base_rtt[fabric.hosts] = rtt_of_scheme(fabric, scheme)
        in_pair[:] = ALWAYS_OPEN if scheme.is_pairwise else in_pair
    priority = _priorities(frame, scheme)
    scheme = _with_turns(scheme, frame, priority)
    classes = {*priority.tolist(), *_open_classes(open_classes, scheme)}
    headroom, shared = _buffers(fabric, scheme, classes, int(work.group_size.max(initial=1)))
    return Setting(
        **vars(work) | {"kept": Kept()}, scheme=scheme, reach=reach if scheme is given else reach_of(scheme),
        packets=narrow(packets), qp=narrow(qp), hash_as=hashes, ideal_fct_ps=alone.ideal_fct_ps,
        qp_src=work.src if qp_src is src else narrow(qp_src),
        qp_dst=work.dst if qp_dst is dst else narrow(qp_dst),
        qp_messages=alike(narrow(in_pair)), is_open=open_classes is not None,
        port_base_rtt_ps=int(host_base_rtt.max()),
        qp_base_rtt_ps=alone.base_rtt_ps, qp_base_delay_ps=alone.base_delay_ps,
        qp_paths=alike(narrow(count_paths(fabric, scheme, qp_port, qp_dst))), qp_port=narrow(qp_port),
        reply_port=narrow(reply_port), host_base_rtt_ps=host_base_rtt, headroom_bytes=headroom, shared_bytes=shared,
        priority=alike(priority.astype(np.int8)), distance=distance,
    )  # fmt: skip


def _places(sizes: tuple[int, ...]) -> tuple[Ints, npt.NDArray[np.uint64]]:
    """Return the stream of each key, and its position there."""
    return np.repeat(np.arange(len(sizes)), sizes), steps_to(np.concatenate(list(map(np.arange, sizes))))


_kept_places = lru_cache(16)(_places)
_MOST_KEPT = 2**16  # keys: what a large network or workload needs would stay in memory


def keys(seed: int, counts: dict[int, int], path_seed: int | None = None) -> Iterator[Ints]:
    """Yield each purpose's keys of chance, as many as it needs."""
    sizes = tuple(counts.values())
    of_paths, places = seed if path_seed is None else path_seed, _kept_places if sum(sizes) <= _MOST_KEPT else _places
    which, steps = places(sizes)
    streams = np.array([stream_key(of_paths if one == Stream.ECMP else seed, one) for one in counts], np.uint64)
    found, first = hash63_after(steps + streams[which]), 0
    for size in sizes:
        yield found[first : first + size]
        first += size


def _check_tick(fabric: Fabric, scheme: Scheme) -> None:
    """Raise ConfigError if full packets, cut to whole ticks, take no time on the fastest link."""
    port = int(np.argmax(fabric.port_rate_bps))
    rate_bps, wire_bytes = float(fabric.port_rate_bps[port]), scheme.wire_bytes
    if scheme.tick_ps and cut_ps(wire_bytes, rate_bps, scheme.tick_ps) == 0:
        taken = f"{wire_bytes} B take {format_time(transmission_ps(wire_bytes, rate_bps))} on {fabric.port_name(port)}"
        allowed = f"shorter than the transmission of a full packet on any link: {taken}"
        raise ConfigError("tick_ps", scheme.tick_ps, allowed)


def _priorities(frame: pd.DataFrame, scheme: Scheme) -> Ints:
    """Return the class of each message: the workload's column `priority`, where it has one, else the scheme's."""
    if "priority" not in frame:
        return np.full(len(frame), scheme.data_priority, np.int64)
    column = filled(frame["priority"], scheme.data_priority)
    wrong = ~column.isin(range(DATA_CLASS, NUM_CLASSES))
    if wrong.any():
        allowed = f"a class from {DATA_CLASS} to {NUM_CLASSES - 1}"
        raise ConfigError(f"priority (row {frame.index[wrong][0]})", column[wrong].iloc[0], allowed)
    return column.to_numpy(np.int64)


def _open_classes(classes: Sequence[int] | None, scheme: Scheme) -> Sequence[int]:
    for value in classes or ():
        if value not in range(DATA_CLASS, NUM_CLASSES):
            raise ConfigError("priorities", value, f"classes from {DATA_CLASS} to {NUM_CLASSES - 1}")
    return () if classes is None else classes or (scheme.data_priority,)


def _with_turns(scheme: Scheme, frame: pd.DataFrame, priority: Ints) -> Scheme:
    """Return the scheme in which the classes of messages with `in_turn` take turns."""
    if "in_turn" not in frame:
        return scheme
    column = filled(frame["in_turn"], False)
    for row, value in zip(frame.index, column, strict=True):
        if not isinstance(value, bool | np.bool_):
            raise ConfigError("in_turn", value, "True, False or missing", where=f"row {row}")
    in_turn = column.to_numpy(bool)
    lanes = set(priority[in_turn].tolist())
    if len(lanes) < 2:
        return scheme
    first, count = min(lanes), max(lanes) - min(lanes) + 1
    strict = sorted(set(priority[~in_turn].tolist()) & set(range(first, first + count)))
    if strict:
        allowed = f"above or below the classes in turn, {sorted(lanes)}, where in_turn is not set"
        raise ConfigError("priority", strict[0], allowed)
    own = scheme.queueing
    taken = set(range(own.first_lane, own.first_lane + own.lanes))
    if lanes <= taken:
        return scheme
    if taken:
        allowed = f"set for some of {sorted(taken)}, the lanes of {scheme.name}"
        raise ConfigError("in_turn", f"classes {sorted(lanes)}", allowed)
    return replace(scheme, queueing=own.replace(first_lane=first, lanes=count))


def _buffers(fabric: Fabric, scheme: Scheme, priorities: set[int], group_size: int) -> tuple[Ints, Ints]:
    headroom = np.zeros(fabric.n_ports, np.int64)
    shared = np.asarray(fabric.buffer_bytes, dtype=np.int64).copy()
    policy = scheme.buffer
    if isinstance(policy, Pfc):
        extra_bytes = sum(part.extra_bytes(group_size) for part in scheme.components)
        data_bytes = max(scheme.wire_bytes, scheme.least_wire_bytes) + extra_bytes
        largest = max(data_bytes, scheme.ack_bytes, scheme.cnp_bytes)
        used = priorities.union({scheme.ack_priority}, *(part.classes for part in scheme.components))
        classes = sum(cls >= DATA_CLASS for cls in used)
        for port in np.flatnonzero(~fabric.is_host[fabric.port_peer]):
            rate, delay = float(fabric.port_rate_bps[port]), int(fabric.port_delay_ps[port])
            room = policy.headroom_bytes or headroom_bytes(rate, delay, largest)
            headroom[port] = room
            shared[fabric.port_peer[port]] -= classes * (room + policy.reserve_bytes)
        for node in np.flatnonzero(~fabric.is_host):
            if shared[node] <= 0:
                given, need = int(fabric.buffer_bytes[node]), int(fabric.buffer_bytes[node] - shared[node])
                allowed = f"more than {need} B, the sum of its ports' PFC reserves and headrooms"
                raise ConfigError(f"buffer_bytes of {fabric.names[node]}", given, allowed)
    return headroom, shared
