"""Operations of ranks that depend on each other, match and share processors, as in GOAL and Chakra files."""

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from rdmacc.errors import ConfigError
from rdmacc.formats.files import File
from rdmacc.workload.frame import Host, as_objects
from rdmacc.workload.nccl import Nccl, expand
from rdmacc.workload.schedule import Schedule


@dataclass(slots=True)
class Operation:
    """A computation, a send, a receive or a part of a collective, of one rank."""

    kind: str  # "calc", "send", "recv" or "collective"
    rank: int
    file: File
    place: int | str
    amount: int  # ps of a calc, bytes of the others
    peer: int = -1
    tag: int = 0  # matches sends and receives; for a collective, its operation
    cpu: int = -1  # processor that a calc occupies; -1: none
    after: list[int] = field(default_factory=list)  # operations that must end first
    starts_after: list[int] = field(default_factory=list)  # operations that must start first
    group: tuple[int, ...] = ()  # ranks of a collective
    parts: int = 1  # parts of this amount in a rank's larger buffer of a collective

    @property
    def where(self) -> str:
        return f"{self.file}, {self.place if isinstance(self.place, str) else f'line {self.place}'}"


class _Rows:
    """A buffer of rows, because adding many to a schedule at once is faster."""

    def __init__(self, schedule: Schedule, hosts: Sequence[Host]) -> None:
        self._schedule = schedule
        self._hosts = as_objects(hosts)
        self._rows: list[tuple[int, int, int, int]] = []
        self._waiting: list[int] = []
        self._wanted: list[int] = []

    def add(self, rank: int, peer: int, size: int, duration_ps: int, before: Sequence[int]) -> int:
        row = self._schedule.count + len(self._rows)
        self._rows.append((rank, peer, size, duration_ps))
        for other in before:
            self._waiting.append(row)
            self._wanted.append(other)
        return row

    def flush(self) -> None:
        if self._rows:
            rank, peer, size, duration_ps = np.array(self._rows, np.int64).T
            self._schedule.add(self._hosts[rank], self._hosts[peer], size, duration_ps)
            self._schedule.wait(np.array(self._waiting, np.int64), np.array(self._wanted, np.int64))
            self._rows, self._waiting, self._wanted = [], [], []


def schedule_of(
    operations: list[Operation],
    hosts: Sequence[Host],
    names: Mapping[int, str] | Sequence[str] = (),
    nccl: Nccl | None = None,
    sends_at_once: bool = False,
) -> Schedule:
    """Return the schedule of operations; `names` maps tags to collectives."""
    queues = _queues(operations)
    partner = {receive: send for sends, receives in queues for receive, send in zip(receives, sends, strict=True)}
    calls = _calls(operations)
    order = _in_order(operations, partner, calls)
    _Order(operations, queues, partner, order).check()
    schedule = Schedule()
    rows = _Rows(schedule, hosts)
    row_of = [-1] * len(operations)
    starts: list[Sequence[int]] = [()] * len(operations)
    done: list[Sequence[int]] = [()] * len(operations)
    last: dict[tuple[int, int], int] = {}
    for number in order:
        operation = operations[number]
        if operation.kind == "collective":
            members = calls[number]
            if number != members[0]:
                continue
            rows.flush()
            ready = [list(_ready(operations[member], done, starts)) for member in members]
            ranks = [hosts[rank] for rank in operation.group]
            ends = expand(
                schedule, names[operation.tag], ranks, operation.parts * operation.amount, ready, nccl or Nccl()
            )
            for member, begin, end in zip(members, ready, ends, strict=True):
                starts[member], done[member] = begin, end
            continue
        before = starts[number] = _ready(operation, done, starts)
        rank = operation.rank
        if operation.kind == "recv":
            come = row_of[partner[number]]
            done[number] = (rows.add(rank, rank, 0, 0, [*before, come]) if before else come,)
            continue
        if operation.kind == "send" and operation.peer != rank:
            row = rows.add(rank, operation.peer, operation.amount, -1, before)
        else:
            if operation.cpu >= 0 and (rank, operation.cpu) in last:
                before = [*before, last[rank, operation.cpu]]
            row = rows.add(rank, rank, 0, operation.amount if operation.kind == "calc" else 0, before)
            if operation.cpu >= 0:
                last[rank, operation.cpu] = row
        row_of[number] = row
        done[number] = starts[number] if operation.kind == "send" and sends_at_once else (row,)
    rows.flush()
    return schedule


def _ready(operation: Operation, done: list[Sequence[int]], starts: list[Sequence[int]]) -> Sequence[int]:
    if len(operation.after) == 1 and not operation.starts_after:
        return done[operation.after[0]]
    wanted = {row for other in operation.after for row in done[other]}
    return sorted(wanted | {row for other in operation.starts_after for row in starts[other]})


def _queues(operations: list[Operation]) -> list[tuple[list[int], list[int]]]:
    """Return the sends and the receives of each pair of ranks and tag, in order; the k-th of both match."""
    queues: dict[tuple[int, int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, operation in enumerate(operations):
        if operation.kind == "send":
            queues[operation.rank, operation.peer, operation.tag][0].append(number)
        elif operation.kind == "recv":
            queues[operation.peer, operation.rank, operation.tag][1].append(number)
    for (src, dst, tag), (sends, receives) in queues.items():
        if len(sends) != len(receives):
            where = operations[[*sends, *receives][-1]].where
            counts = f"{len(sends)} sends, {len(receives)} receives"
            raise ConfigError(f"{src} -> {dst} tag {tag}", counts, "equal numbers of sends and receives", where)
        for send, receive in zip(sends, receives, strict=True):
            size, one = operations[send].amount, operations[receive]
            if one.amount != size:
                raise ConfigError("size", one.amount, f"that of its send, {size}", one.where)
    return list(queues.values())


class _Order:
    """The known order of operations: each one's place in topological order, and the operation before it.

    Sends and receives of one pair and tag come in order; calcs of one cpu run one after the other.
    """

    def __init__(
        self,
        operations: list[Operation],
        queues: list[tuple[list[int], list[int]]],
        partner: dict[int, int],
        order: list[int],
    ) -> None:
        self._operations, self._partner = operations, partner
        self._place = [0] * len(operations)
        for position, number in enumerate(order):
            self._place[number] = position
        self._pairs = [pair for both in queues for side in both for pair in pairwise(side)]
        self._before = {other: one for one, other in self._pairs}
        last: dict[tuple[int, int], int] = {}
        for number in order:
            operation = operations[number]
            if operation.cpu >= 0:
                key = operation.rank, operation.cpu
                if key in last:
                    self._before[number] = last[key]
                last[key] = number

    def check(self) -> None:
        """Raise a ConfigError for operations of one pair and tag whose order would depend on time."""
        for one, other in self._pairs:
            if not self._is_first(one, other):
                allowed = "different from the one before it, or ordered by what it requires: which one matches would "
                first = self._operations[one]
                raise ConfigError("tag", first.tag, allowed + "depend on time", self._operations[other].where)

    def _is_first(self, one: int, other: int) -> bool:
        """Return whether `one` surely starts no later than `other`, which then waits for it or for all its needs.

        The search goes back from `other` to the earliest need of `one` in topological order, so all searches for a
        pair of ranks together visit each operation about once.
        """
        first = self._operations[one]
        if one in self._operations[other].after:
            return self._place[one] < self._place[other]
        missing = {2 * need + 1 for need in first.after} | {2 * need for need in first.starts_after}
        if not missing:
            return True
        horizon = min(self._place[need // 2] for need in missing)
        if self._place[one] > self._place[other]:
            return False
        near, seen = [2 * other], {2 * other}
        far: list[int] = []
        while near or far:
            state = near.pop() if near else far.pop()
            for is_far, reached in self._known(state, other):
                if reached // 2 == one:
                    return True
                if reached not in seen and reached | 1 not in seen and self._place[reached // 2] >= horizon:
                    seen.add(reached)
                    missing -= {reached, reached & ~1}
                    (far if is_far else near).append(reached)
            if not missing:
                return True
        return False

    def _known(self, state: int, start: int) -> Iterator[tuple[bool, int]]:
        """Yield what must happen before operation n starts (2n) or ends (2n + 1), and whether at another rank."""
        number, is_done = divmod(state, 2)
        operation = self._operations[number]
        yield from ((False, 2 * need) for need in operation.starts_after)
        yield from ((False, 2 * need + 1) for need in operation.after)
        if number != start and number in self._before:
            is_over = operation.kind == "calc" or (is_done and operation.kind == "recv")
            yield False, 2 * self._before[number] + is_over
        if is_done and number in self._partner:
            yield True, 2 * self._partner[number]


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
            place = operations[next(iter(by_rank.values()))[0]].where
            raise ConfigError("collectives", f"by rank {counts}", "the same number on every rank of a group", place)
        for members in zip(*(by_rank[rank] for rank in group), strict=True):
            first = operations[members[0]]
            for member in members:
                one = operations[member]
                if (one.tag, one.amount) != (first.tag, first.amount):
                    value = f"{one.amount} B of type {one.tag}"
                    allowed = f"the same as in {first.where}: {first.amount} B of type {first.tag}"
                    raise ConfigError("collective", value, allowed, one.where)
                calls[member] = list(members)
    return calls


def _in_order(operations: list[Operation], partner: dict[int, int], calls: dict[int, list[int]]) -> list[int]:
    """Return the operations in topological order, ties broken by line."""
    left = [0] * len(operations)
    followers: list[list[int]] = [[] for _ in operations]
    for number, operation in enumerate(operations):
        first = calls[number][0] if number in calls else number  # the first part waits for all parts' needs
        for needs in (operation.after, operation.starts_after):
            left[first] += len(needs)
            for other in needs:
                followers[other].append(first)
        if first != number:
            left[number] += 1
            followers[first].append(number)
    for receive, send in partner.items():
        left[receive] += 1
        followers[send].append(receive)
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
            "requires", f"a cycle at or before rank {operations[stuck].rank}", allowed, operations[stuck].where
        )
    return order
