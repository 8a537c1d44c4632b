"""Messages that are sent while a simulation runs, in numbers: those that a plan of all messages would have."""

from __future__ import annotations

from copy import copy
from typing import NamedTuple

import numpy as np

from rdmacc.chance import hash63, stream_key
from rdmacc.engine.alone import Messages, times_alone
from rdmacc.engine.plan import Plan
from rdmacc.engine.setting import RECEIVERS, SENDERS, count_paths
from rdmacc.errors import ConfigError
from rdmacc.rules.progress import OPEN
from rdmacc.topology.fabric import Fabric
from rdmacc.topology.ways import has_equal_ways


class Pair(NamedTuple):
    """A queue pair: its number, the nodes of its hosts, the ports by which they send, its base RTT and chance."""

    number: int
    src: int
    dst: int
    port: int
    reply_port: int
    base_rtt_ps: int
    base_delay_ps: int
    chance_key: int
    reply_chance_key: int
    paths: int
    remaining: int


class Addition(NamedTuple):
    number: int
    qp: int
    src: int
    dst: int
    size_bytes: int
    packets: int
    start_ps: int
    priority: int
    pair: Pair | None


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
        self._ways: dict[tuple[int, int], tuple[int, int, int, int, int]] = {}
        self._times: dict[tuple[int, int], tuple[int, int]] = {}
        self._keys = stream_key(plan.chance_seed, SENDERS), stream_key(plan.chance_seed, RECEIVERS)
        outgoing = np.diff(fabric.node_first_port)[fabric.hosts]
        self._has_one_port = bool((outgoing == 1).all())
        self._first_port = np.asarray(fabric.node_first_port).tolist()

    def copy(self) -> Additions:
        twin = copy(self)
        twin._pairs = dict(self._pairs)
        return twin

    def add(self, src: int, dst: int, size_bytes: int, start_ps: int, priority: int) -> Addition:
        pair = None
        number, qp = self.n_messages, self._pairs.get((src, dst), self.n_qps)
        if qp == self.n_qps:
            pair = self._pair(qp, src, dst)
            self.n_qps += 1
            if self._is_pairwise:
                self._pairs[src, dst] = qp
        self.n_messages += 1
        packets = -(-size_bytes // self._plan.scheme.payload_bytes)
        return Addition(number, qp, src, dst, size_bytes, packets, start_ps, priority, pair)

    def _pair(self, number: int, src: int, dst: int) -> Pair:
        port, reply_port, rtt_ps, delay_ps, paths = self._ways.get((src, dst)) or self._way(number, src, dst)
        key, reply_key = self._keys
        return Pair(
            number, src, dst, port, reply_port, rtt_ps, delay_ps, hash63(key, number), hash63(reply_key, number), paths,
            OPEN if self._is_pairwise else 1,
        )  # fmt: skip

    def _way(self, number: int, src: int, dst: int) -> tuple[int, int, int, int, int]:
        """Return ports, base RTT and delay, and paths of a queue pair."""
        port, reply_port, paths = self._port(number, src, dst), self._port(number, dst, src), 1
        if self._plan.scheme.routing == "source":
            paths = int(count_paths(self._fabric, self._plan.scheme, np.array([port]), np.array([dst]))[0])
        times = self._times.get((src, dst)) or self._times_of(number, src, dst, port, reply_port)
        found = port, reply_port, *times, paths
        if self._is_alike and self._has_one_port:
            self._ways[src, dst] = found
        return found

    def _port(self, number: int, src: int, dst: int) -> int:
        if self._has_one_port:
            return self._first_port[src]
        salts, choices = self._plan.ecmp_salt, self._fabric.candidates(src, dst)
        return int(choices[hash63(int(salts[src]), number) % len(choices)])

    def _times_of(self, number: int, src: int, dst: int, port: int, reply_port: int) -> tuple[int, int]:
        """Return base RTT and delay; of all queue pairs between two hosts alike if all their paths are."""
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
    columns = (
        plan.qp_src, plan.qp_dst, plan.qp_port, plan.reply_port, plan.qp_base_rtt_ps, plan.qp_base_delay_ps,
        plan.qp_chance_key, plan.qp_reply_chance_key, plan.qp_paths, plan.qp_messages,
    )  # fmt: skip
    values = (range(plan.n_qps), *(column.tolist() for column in columns))
    return [Pair(*row) for row in zip(*values, strict=True)]
