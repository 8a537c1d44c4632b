"""Messages that a user sends while a simulation runs: checked, numbered, written down, and which of them have ended."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from copy import copy
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.engine.alone import Messages, times_alone
from rdmacc.engine.outcome import Engine
from rdmacc.engine.plan import Plan
from rdmacc.engine.setting import Stream, count_paths
from rdmacc.engine.work import LATEST_PS, Work
from rdmacc.errors import ConfigError, unknown
from rdmacc.interface import hash63
from rdmacc.interface.chance import stream_key
from rdmacc.rules import progress
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.nics import joined
from rdmacc.topology.ways import has_equal_ways
from rdmacc.units import Quantity, size_bytes
from rdmacc.workload.frame import OPEN, from_columns


class Pair(NamedTuple):
    """What the record of a queue pair holds at the start: its own number and keys, and the way that it shares."""

    number: int
    chance_key: int
    reply_chance_key: int
    src: int
    dst: int
    nic: int
    reply_nic: int
    line_bps: float
    rate_bps: float
    peer_line_bps: float
    payload_bytes: int
    wire_bytes: int
    base_rtt_ps: int
    base_delay_ps: int
    remaining: int
    paths: int

    @classmethod
    def columns(cls, plan: Plan, numbers: npt.NDArray[np.int64]) -> Pair:
        """Return the fields of some queue pairs of a plan: arrays, or one number where all are equal."""
        rates, scheme, nic, reply_nic = plan.fabric.port_rate_bps, plan.scheme, plan.qp_port, plan.reply_port
        found: list[Any] = [
            numbers, plan.qp_chance_key[numbers], plan.qp_reply_chance_key[numbers], plan.qp_src[numbers],
            plan.qp_dst[numbers], nic[numbers], reply_nic[numbers], rates[nic[numbers]], rates[nic[numbers]],
            rates[reply_nic[numbers]], scheme.payload_bytes, scheme.wire_bytes, plan.qp_base_rtt_ps[numbers],
            plan.qp_base_delay_ps[numbers], plan.qp_messages[numbers], plan.qp_paths[numbers],
        ]  # fmt: skip
        return cls(*found)


class Addition(NamedTuple):
    number: int
    qp: int
    src: int
    dst: int
    size_bytes: int
    packets: int
    start_ps: int
    priority: int
    way: tuple[Any, ...] | None
    keys: tuple[int, int]

    @property
    def pair(self) -> Pair | None:
        """The queue pair, if it is new."""
        if self.way is None:
            return None
        key, reply_key = self.keys
        return Pair(self.qp, hash63(key, self.qp), hash63(reply_key, self.qp), *self.way)


class Additions:
    """Numbers the messages that are added to a plan; raises a `ConfigError` if none can be."""

    def __init__(self, plan: Plan, fabric: Fabric) -> None:
        for what, holds in (
            ("computation", len(plan.computation)),
            ("messages with paths of their own", len(plan.paths.ports)),
            ("messages with queue pairs of their own names", len(plan.hash_as)),
        ):
            if holds:
                raise ConfigError("workload", what, "must be absent if messages are sent while it runs")
        if plan.explains:
            allowed = "False while messages are sent; run `simulation.workload` again with it: the times are the same"
            raise ConfigError("explain", True, allowed)
        self._is_alike = has_equal_ways(fabric)
        if plan.scheme.is_pairwise and not plan.is_open:
            allowed = f"workload.open_work(...): {plan.scheme.name} closes queue pairs after the messages that it knows"
            raise ConfigError("workload", "one that is complete", allowed)
        if plan.scheme.is_pairwise and not self._is_alike:
            allowed = "one in which all shortest paths between two hosts are alike"
            raise ConfigError(f"network with {plan.scheme.name}", fabric.name, allowed)
        self._plan, self._fabric = plan, fabric
        self.n_messages, self.n_qps = plan.n_messages, plan.n_qps
        self._pairs: dict[tuple[int, int], int] = {}
        self._is_pairwise = plan.scheme.is_pairwise
        if self._is_pairwise:
            self._pairs = {ends: qp for qp, ends in enumerate(zip(plan.qp_src.tolist(), plan.qp_dst.tolist()))}
        self._ways: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._times: dict[tuple[int, int], tuple[int, int]] = {}
        sender_key, receiver_key = (stream_key(plan.chance_seed, one) for one in (Stream.SENDERS, Stream.RECEIVERS))
        self._keys = sender_key, receiver_key
        outgoing = np.diff(fabric.node_first_port)[fabric.hosts]
        self._has_one_port = bool((outgoing == 1).all())
        self._first_port = np.asarray(fabric.node_first_port).tolist()

    def copy(self) -> Additions:
        twin = copy(self)
        twin._pairs = dict(self._pairs)
        return twin

    def add(self, src: int, dst: int, size_bytes: int, start_ps: int, priority: int) -> Addition:
        packets = -(-size_bytes // self._plan.scheme.payload_bytes)
        ends, number, qp, way = (src, dst), self.n_messages, self.n_qps, None
        if self._is_pairwise:
            qp = self._pairs.setdefault(ends, qp)
        if qp == self.n_qps:
            way = self._ways.get(ends) or self._way(qp, src, dst)
            self.n_qps += 1
        self.n_messages += 1
        return Addition(number, qp, src, dst, size_bytes, packets, start_ps, priority, way, self._keys)

    def _way(self, number: int, src: int, dst: int) -> tuple[Any, ...]:
        """Return the fields that all queue pairs between the same ports share."""
        scheme, rates = self._plan.scheme, self._plan.fabric.port_rate_bps
        port, reply_port, paths = self._port(number, src, dst), self._port(number, dst, src), 1
        if scheme.routing == "source":
            paths = int(count_paths(self._fabric, scheme, np.array([port]), np.array([dst]))[0])
        times = self._times.get((src, dst)) or self._times_of(number, src, dst, port, reply_port)
        line_bps, remaining = float(rates[port]), progress.OPEN if self._is_pairwise else 1
        found = (
            src, dst, port, reply_port, line_bps, line_bps, float(rates[reply_port]), scheme.payload_bytes,
            scheme.wire_bytes, *times, remaining, paths,
        )  # fmt: skip
        if self._is_alike and self._has_one_port:
            self._ways[src, dst] = found
        return found

    def _port(self, number: int, src: int, dst: int) -> int:
        if self._has_one_port:
            return self._first_port[src]
        salts, choices = self._plan.ecmp_salt, self._fabric.candidates(src, dst)
        return int(choices[hash63(int(salts[src]), number) % len(choices)])

    def _times_of(self, number: int, src: int, dst: int, port: int, reply_port: int) -> tuple[int, int]:
        """Return base RTT and delay, kept for the two hosts if all their paths are alike."""
        plan = self._plan
        ends, ports = (np.array([src]), np.array([dst])), (np.array([port]), np.array([reply_port]))
        one = Messages(
            *ends, np.array([plan.scheme.payload_bytes]), np.zeros(1, np.int64), ports, plan.paths,
            np.array([number], np.int32), plan.ecmp_salt, plan.symmetric_salt, plan.distance,
        )  # fmt: skip
        alone = times_alone(self._fabric, plan.scheme, one, *ends)
        found = int(alone.base_rtt_ps[0]), int(alone.base_delay_ps[0])
        if self._is_alike:
            self._times[src, dst] = found
        return found


def pairs_of(plan: Plan) -> list[Pair]:
    columns = np.broadcast_arrays(*Pair.columns(plan, np.arange(plan.n_qps)))
    return [Pair(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


_MOST_PACKETS = 2**31
_REASONS = "", "given up by the scheme", "no route", "no route back", "what it waited for failed"
"""By `rdmacc.rules.progress`: why a message has failed."""


class Completion(NamedTuple):
    """The end of a message, as an application learns of it. Times are in ps.

    Attributes
    ----------
    message : int
        Its label, as in `result.flows`.
    start_ps, delivered_ps, acked_ps : int
        When it started, when its last byte reached the receiver, and when the last ACK reached the sender: -1 before.
    reason : str
        Why it has failed; empty if it has not.
    """

    message: int
    start_ps: int
    delivered_ps: int
    acked_ps: int
    reason: str

    @property
    def fct_ps(self) -> int:
        """From the start to the last byte."""
        return self.delivered_ps - self.start_ps

    @property
    def has_failed(self) -> bool:
        """True if it will not arrive."""
        return bool(self.reason)


class Sent:
    """The messages of a simulation; `fresh` are those sent that have ended, of which the user does not know."""

    def __init__(self, work: Work) -> None:
        self._given, self.first = work.rows, work.n_messages
        self._sends = ~work.rows.computes if len(work.computation) else None
        self._rows: list[tuple[int, int, int, int, int]] = []
        self._names: list[Any] = []
        self._additions: Additions | None = None
        self._nodes: dict[Any, int] = {}
        self._classes: frozenset[int] = frozenset()
        self._n_over = 0
        self.fresh: deque[int] = deque()

    @property
    def count(self) -> int:
        return len(self._rows)

    @property
    def has_outstanding(self) -> bool:
        """True while a message that was sent has neither been delivered nor failed."""
        return self._n_over < len(self._rows)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what can be made again from a plan of all messages."""
        return vars(self) | {"_additions": None}

    def draw_anew(self) -> None:
        """Number messages to come by a plan that is yet to be made."""
        self._additions = None

    def copy(self) -> Sent:
        twin = copy(self)
        twin._rows, twin.fresh = list(self._rows), deque(self.fresh)
        twin._additions = self._additions and self._additions.copy()
        return twin

    def ends(self, fabric: Fabric, src: Hashable, dst: Hashable) -> tuple[int, int]:
        if not self._nodes:
            self._names = fabric.names
            self._nodes = {fabric.names[node]: int(node) for node in fabric.hosts}
        try:
            found = self._nodes[src], self._nodes[dst]
        except (KeyError, TypeError):  # TypeError: it has no hash
            hosts, names = list(self._nodes), [name for name in fabric.index if name not in self._nodes]
            field, name = ("dst", dst) if isinstance(src, Hashable) and src in hosts else ("src", src)
            if isinstance(name, Hashable) and name in names:
                raise ConfigError(field, name, "a host, not a switch") from None
            raise unknown(field, name, hosts, "the name of a host") from None
        if src == dst:
            raise ConfigError("dst", dst, "must differ from src")
        return found

    def add(
        self, plan: Plan, fabric: Fabric, src: int, dst: int, size: int, start_ps: int, priority: int | None,
        earliest_ps: int,
    ) -> Addition:  # fmt: skip
        if self._additions is None:
            scheme = plan.scheme
            self._additions = Additions(plan, joined(fabric) if scheme.spans_ports else fabric)
            more = plan.rows.options.attrs.get(OPEN) or [scheme.data_priority]
            self._classes = frozenset({*plan.priority.tolist(), *more})
        if not earliest_ps <= start_ps <= LATEST_PS:
            allowed = f"from {earliest_ps} ps, the earliest time by now, to 10**18 ps"
            raise ConfigError("at", start_ps, allowed)
        if priority is None:
            priority = plan.scheme.data_priority
        if not isinstance(priority, (int, np.integer)) or priority not in self._classes:
            allowed = f"one of {sorted(self._classes)}, for which there is room; workload.open_work names more"
            raise ConfigError("priority", priority, allowed)
        if size > (_MOST_PACKETS - 1) * plan.scheme.payload_bytes:
            raise ConfigError("size", size, f"fewer than 2**31 packets of {plan.scheme.payload_bytes} B")
        one = self._additions.add(src, dst, size, start_ps, priority)
        self._rows.append((src, dst, size, start_ps, priority))
        return one

    def work(self, count: int | None = None) -> Any:
        """Return the workload of all messages, or of the first `count`."""
        return self.frame(count) if self._rows else self._given.given

    def frame(self, count: int | None = None) -> pd.DataFrame:
        rows = self._rows if count is None else self._rows[: count - self.first]
        workload = self._given.whole
        if not rows:
            return workload
        src, dst, size, start_ps, priority = (list(column) for column in zip(*rows, strict=True))
        begins, ends = ([self._names[node] for node in nodes] for nodes in (src, dst))
        frame = from_columns(begins, ends, np.array(size), np.array(start_ps))
        frame["priority"] = priority
        whole = pd.concat([workload, frame], ignore_index=True) if self.first else frame
        whole.index.name, whole.attrs = "message", workload.attrs
        return whole

    def number(self, message: Any) -> int:
        count = len(self._given.computes) + len(self._rows)
        if isinstance(message, bool) or not isinstance(message, int | np.integer) or not 0 <= message < count:
            raise ConfigError("message", message, f"a message, 0 to {count - 1}")
        if self._sends is None:
            return int(message)
        if not self._sends[message]:
            raise ConfigError("message", message, "a message: this row computes")
        return int(np.count_nonzero(self._sends[:message]))

    def is_over(self, engine: Engine, number: int) -> bool:
        _, delivered_ps, _, failed = engine.times_of(number)
        return delivered_ps >= 0 or bool(failed)

    def note(self, engine: Engine) -> list[int]:
        """Return which awaited messages have been delivered or have failed since the last call."""
        found = list(dict.fromkeys(engine.ended))
        engine.ended.clear()
        for number in found:
            if number >= self.first:
                self._n_over += 1
                self.fresh.append(number)
        return found

    def completion(self, engine: Engine, number: int) -> Completion:
        start_ps, delivered_ps, acked_ps, failed = engine.times_of(number)
        label = number if self._sends is None else int(np.flatnonzero(self._sends)[number])
        return Completion(label, start_ps, delivered_ps, acked_ps, _REASONS[failed])


def at_least_one_byte(size: Quantity) -> int:
    found: int = _size_of(size) if type(size) in (str, int) else _read(size)
    return found


def _read(size: Quantity) -> int:
    found = size_bytes(size, field="size")
    if found < 1:
        raise ConfigError("size", size, "at least 1 byte")
    return found


_size_of: Any = lru_cache(256)(_read)
