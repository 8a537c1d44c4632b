"""Operations of ranks that depend on each other, match and share processors, as in GOAL and Chakra files."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from rdmacc.errors import ConfigError
from rdmacc.workload.frame import Host
from rdmacc.workload.schedule import Schedule

Expand: TypeAlias = Callable[[Schedule, "Operation", list[Host], list[list[int]]], list[list[int]]]
"""Adds a collective to a schedule: takes the rows that each host waits for, returns those that complete it."""


@dataclass
class Operation:
    """A computation, a send, a receive or a part of a collective, of one rank.

    Attributes
    ----------
    kind : str
        "calc", "send", "recv" or "collective".
    rank : int
        Whose.
    place : str
        Location in the file, for errors.
    amount : int
        Picoseconds of a calc, bytes of the others.
    peer : int
        The other rank of a send or a receive.
    tag : int
        Tag for matching, of a send or a receive; operation, of a collective.
    cpu : int
        The processor that a calc occupies, -1 for none.
    after : list of int
        Numbers of the operations that it requires.
    starts_after : list of int
        Numbers of the operations whose start it requires.
    group : tuple of int
        The ranks of a collective.
    """

    kind: str
    rank: int
    place: str
    amount: int
    peer: int = -1
    tag: int = 0
    cpu: int = -1
    after: list[int] = field(default_factory=list)
    starts_after: list[int] = field(default_factory=list)
    group: tuple[int, ...] = ()


def schedule_of(
    operations: list[Operation], hosts: Sequence[Host], *, sends_at_once: bool = False, expand: Expand | None = None
) -> Schedule:
    """Return the schedule of operations."""
    partner = _pairs(operations)
    calls = _calls(operations)
    order = _in_order(operations, partner, calls)
    schedule = Schedule()
    rows = [-1] * len(operations)
    starts: list[list[int]] = [[] for _ in operations]
    done: list[list[int]] = [[] for _ in operations]
    last: dict[tuple[int, int], int] = {}
    for number in order:
        operation = operations[number]
        host = hosts[operation.rank]
        if operation.kind == "collective":
            members = calls[number]
            if expand is None or number != members[0]:
                continue
            ready = [_ready(operations[member], done, starts) for member in members]
            ends = expand(schedule, operation, [hosts[rank] for rank in operation.group], ready)
            for member, before, end in zip(members, ready, ends, strict=True):
                starts[member], done[member] = before, end
            continue
        before = starts[number] = _ready(operation, done, starts)
        if operation.kind == "recv":
            come = rows[partner[number]]
            done[number] = [come]
            if before:
                rows[number] = int(schedule.compute(host, 0)[0])
                schedule.wait(rows[number], [*before, come])
                done[number] = [rows[number]]
            continue
        if operation.kind == "send" and operation.peer != operation.rank:
            rows[number] = int(schedule.send(host, hosts[operation.peer], operation.amount)[0])
        else:
            rows[number] = int(schedule.compute(host, operation.amount if operation.kind == "calc" else 0)[0])
        schedule.wait(rows[number], before)
        if operation.cpu >= 0:
            key = operation.rank, operation.cpu
            if key in last:
                schedule.wait(rows[number], last[key])
            last[key] = rows[number]
        done[number] = before if operation.kind == "send" and sends_at_once else [rows[number]]
    return schedule


def _ready(operation: Operation, done: list[list[int]], starts: list[list[int]]) -> list[int]:
    """Return the rows that an operation waits for."""
    wanted = {row for other in operation.after for row in done[other]}
    return sorted(wanted | {row for other in operation.starts_after for row in starts[other]})


def _pairs(operations: list[Operation]) -> dict[int, int]:
    """Return the send of each receive."""
    queues: dict[tuple[int, int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, operation in enumerate(operations):
        if operation.kind == "send":
            queues[operation.rank, operation.peer, operation.tag][0].append(number)
        elif operation.kind == "recv":
            queues[operation.peer, operation.rank, operation.tag][1].append(number)
    partner: dict[int, int] = {}
    for (src, dst, tag), (sends, receives) in queues.items():
        if len(sends) != len(receives):
            place = operations[[*sends, *receives][-1]].place
            counts = f"{len(sends)} sends, {len(receives)} receives"
            raise ConfigError(f"{src} -> {dst} tag {tag}", counts, "equal numbers of sends and receives", place)
        for listed in (sends, receives):
            for one, other in pairwise(listed):
                if not _requires(operations, other, one):
                    allowed = "ordered by what it requires: which one matches would depend on time"
                    raise ConfigError(
                        "tag", tag, f"different from the one before it, or {allowed}", operations[other].place
                    )
        partner.update(zip(receives, sends, strict=True))
    return partner


def _requires(operations: list[Operation], number: int, wanted: int) -> bool:
    """Tell whether an operation requires another one of its rank, directly or indirectly."""
    todo, seen = [number], {number}
    while todo:
        operation = operations[todo.pop()]
        for other in (*operation.after, *operation.starts_after):
            if other == wanted:
                return True
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return False


def _calls(operations: list[Operation]) -> dict[int, list[int]]:
    """Return, for each part of a collective, the parts of all ranks, in the group's order."""
    queues: dict[tuple[int, ...], dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for number, operation in enumerate(operations):
        if operation.kind == "collective":
            queues[operation.group][operation.rank].append(number)
    calls: dict[int, list[int]] = {}
    for group, by_rank in queues.items():
        counts = {rank: len(by_rank[rank]) for rank in group}
        if len(set(counts.values())) > 1:
            place = operations[next(iter(by_rank.values()))[0]].place
            raise ConfigError("collectives", f"by rank {counts}", "the same number on every rank of a group", place)
        for members in zip(*(by_rank[rank] for rank in group), strict=True):
            first = operations[members[0]]
            for member in members:
                one = operations[member]
                if (one.tag, one.amount) != (first.tag, first.amount):
                    value = f"{one.amount} B of type {one.tag}"
                    allowed = f"the same as in {first.place}: {first.amount} B of type {first.tag}"
                    raise ConfigError("collective", value, allowed, one.place)
                calls[member] = list(members)
    return calls


def _in_order(operations: list[Operation], partner: dict[int, int], calls: dict[int, list[int]]) -> list[int]:
    """Return the operations in topological order, ties broken by line."""
    needs: list[set[int]] = [{*one.after, *one.starts_after} for one in operations]
    for receive, send in partner.items():
        needs[receive].add(send)
    for member, members in calls.items():
        needs[members[0]] |= needs[member]
        if member != members[0]:
            needs[member].add(members[0])
    followers: list[list[int]] = [[] for _ in operations]
    for number, wanted in enumerate(needs):
        for other in wanted:
            followers[other].append(number)
    left = [len(wanted) for wanted in needs]
    queue = [number for number, count in enumerate(left) if count == 0]
    order = []
    while queue:
        number = heapq.heappop(queue)
        order.append(number)
        for follower in followers[number]:
            left[follower] -= 1
            if left[follower] == 0:
                heapq.heappush(queue, follower)
    if len(order) < len(operations):
        stuck = next(number for number, count in enumerate(left) if count > 0)
        allowed = "must not make operations wait for each other in a cycle, across ranks"
        raise ConfigError(
            "requires", f"a cycle at or before rank {operations[stuck].rank}", allowed, operations[stuck].place
        )
    return order
