"""Max-min fair rates kept up to date while flows come and go: only those change that must.

An allocation is max-min fair if every flow has a bottleneck: a link that is full, on which no flow is faster. When a
flow comes, it is filled alone into what the others leave; those that are faster than it on a link that it fills, or
whose bottleneck is none any more, are taken in, and all that were taken in are filled together, until no one else must
be. When a flow goes, it begins with those that it held back. Compiled if Numba is there.
"""

from __future__ import annotations

import heapq

import numpy as np

from rdmacc.models.base import Floats
from rdmacc.models.water_filling import Ints, compiled, release

__all__ = ["run"]

_FULL = 1e-9
"""A link is full if so little of its capacity is left."""


@compiled
def join(f: int, first: Ints, links: Ints, head: Ints, after: Ints, before: Ints) -> None:
    """Add a flow to its links' lists of flows; entry k of all paths stands for its flow on its link."""
    for k in range(first[f], first[f + 1]):
        link = links[k]
        after[k] = head[link]
        before[k] = -1
        if head[link] >= 0:
            before[head[link]] = k
        head[link] = k


@compiled
def leave(f: int, first: Ints, links: Ints, head: Ints, after: Ints, before: Ints) -> None:
    """Take a flow out of its links' lists of flows."""
    for k in range(first[f], first[f + 1]):
        if before[k] >= 0:
            after[before[k]] = after[k]
        else:
            head[links[k]] = after[k]
        if after[k] >= 0:
            before[after[k]] = before[k]


@compiled
def fill_some(
    some: Ints, count: int, first: Ints, links: Ints, use: Floats, owner: Ints, head: Ints, after: Ints,
    room: Floats, load: Floats, turn: Ints, state: Ints, rate: Floats, bottleneck: Ints, touched: Ints,
) -> int:  # fmt: skip
    """Give some flows the fair rates that the room on their links allows; return how many links they touch."""
    n_touched = 0
    for i in range(count):
        for k in range(first[some[i]], first[some[i] + 1]):
            link = links[k]
            if load[link] == 0.0:
                touched[n_touched] = link
                n_touched += 1
            load[link] += use[k]
    queue = [(0.0, 0, 0)]
    queue.clear()
    for i in range(n_touched):
        link = touched[i]
        turn[link] += 1
        queue.append((max(room[link], 0.0) / load[link], link, turn[link]))
    heapq.heapify(queue)
    left = count
    while left > 0:
        level, link, stamp = heapq.heappop(queue)
        if stamp != turn[link]:
            continue
        entry = head[link]
        while entry >= 0:
            f = owner[entry]
            if state[f] == 2:  # taken in, and without a rate
                state[f] = 3
                rate[f] = level
                bottleneck[f] = link
                left -= 1
                for k in range(first[f], first[f + 1]):
                    other = links[k]
                    room[other] -= level * use[k]
                    load[other] -= use[k]
                    if other != link:
                        turn[other] += 1
                        if load[other] > 1e-12:
                            heapq.heappush(queue, (max(room[other], 0.0) / load[other], other, turn[other]))
            entry = after[entry]
        turn[link] += 1
    for i in range(n_touched):
        load[touched[i]] = 0.0
    return n_touched


@compiled
def settle(
    some: Ints, count: int, first: Ints, links: Ints, use: Floats, owner: Ints, head: Ints, after: Ints,
    capacity: Floats, room: Floats, load: Floats, turn: Ints, state: Ints, rate: Floats, bottleneck: Ints,
    touched: Ints,
) -> int:  # fmt: skip
    """Give some flows their rates, and those that must change with them; return how many.

    `room` is what all flows leave of each link. `state` is 1 for an active flow, and 1 again at the end.
    """
    filled = 0
    for i in range(count):
        state[some[i]] = 2
    while filled < count:
        for i in range(count):
            f = some[i]
            if i < filled:
                state[f] = 2
            for k in range(first[f], first[f + 1]):
                room[links[k]] += rate[f] * use[k]
        filled = count
        n_touched = fill_some(
            some, count, first, links, use, owner, head, after, room, load, turn, state, rate, bottleneck, touched
        )
        for i in range(n_touched):
            link = touched[i]
            is_full = room[link] <= _FULL * capacity[link]
            level, fastest = -1.0, 0.0  # of those filled now: that of this bottleneck, and the fastest of all
            entry = head[link]
            while entry >= 0:
                f = owner[entry]
                if state[f] == 3:
                    fastest = max(fastest, rate[f])
                    if bottleneck[f] == link:
                        level = rate[f]
                entry = after[entry]
            entry = head[link]
            while entry >= 0:
                f = owner[entry]
                if state[f] == 1:
                    is_free = bottleneck[f] == link and (not is_full or fastest > rate[f] * (1 + 1e-9))
                    if is_free or (is_full and 0.0 <= level < rate[f] * (1 - 1e-9)):
                        state[f] = 2
                        some[count] = f
                        count += 1
                entry = after[entry]
    for i in range(count):
        state[some[i]] = 1
    return count


@compiled
def run(
    volume: Floats, ready: Floats, waits: Ints, latency: Floats, next_first: Ints, nexts: Ints, delays: Floats,
    first: Ints, links: Ints, use: Floats, capacity: Floats,
) -> tuple[Floats, Floats, int]:  # fmt: skip
    """Return when each flow and computation starts and ends, a flow by its last byte, and how many rates were set.

    Parameters
    ----------
    volume, ready, waits, latency, next_first, nexts, delays, first, links, use, capacity
        As `rdmacc.models.water_filling.transfer` has them; times in ps, so that flows that end within one end together.
    """
    n, total = len(volume), len(ready)
    begin, end = ready.copy(), np.full(total, np.inf)
    left, rate, waiting = volume.copy(), np.zeros(n), waits.copy()
    since, version = np.zeros(n), np.zeros(n, np.int64)
    owner = np.empty(len(links), np.int64)
    for f in range(n):
        for k in range(first[f], first[f + 1]):
            owner[k] = f
    head = np.full(len(capacity), -1)
    after, before = np.full(len(links), -1), np.full(len(links), -1)
    room, load, turn = capacity.copy(), np.zeros(len(capacity)), np.zeros(len(capacity), np.int64)
    state, bottleneck = np.zeros(n, np.int64), np.full(n, -1)
    some, touched, flowing = np.empty(n, np.int64), np.empty(len(capacity), np.int64), np.zeros(n)
    queue = [(ready[f] + (latency[f] if f >= n else 0.0), f) for f in range(total) if waits[f] == 0]
    heapq.heapify(queue)
    finishes = [(0.0, 0, 0)]
    finishes.clear()
    settled = 0
    while True:
        while len(finishes) > 0 and finishes[0][2] != version[finishes[0][1]]:
            heapq.heappop(finishes)
        upcoming = queue[0][0] if len(queue) > 0 else np.inf
        finish = finishes[0][0] if len(finishes) > 0 else np.inf
        now = min(upcoming, finish)
        if now == np.inf:
            break
        count = 0
        while len(finishes) > 0 and finishes[0][0] <= now + 1.0:
            _, f, stamp = heapq.heappop(finishes)
            if stamp != version[f]:
                continue
            version[f] += 1
            end[f] = now
            state[f] = 0
            leave(f, first, links, head, after, before)
            for k in range(first[f], first[f + 1]):
                room[links[k]] += rate[f] * use[k]
                entry = head[links[k]]
                while entry >= 0:  # those that it held back
                    other = owner[entry]
                    if bottleneck[other] == links[k] and state[other] == 1:
                        state[other] = 2
                        some[count] = other
                        count += 1
                    entry = after[entry]
            release(f, now + latency[f], n, begin, waiting, latency, next_first, nexts, delays, queue)
        while len(queue) > 0 and queue[0][0] <= now:
            f = heapq.heappop(queue)[1]
            if f >= n:
                end[f] = now
                release(f, now, n, begin, waiting, latency, next_first, nexts, delays, queue)
                continue
            begin[f] = now
            since[f] = now
            state[f] = 2
            join(f, first, links, head, after, before)
            some[count] = f
            count += 1
        kept = 0
        for i in range(count):  # some of those that were held back have ended too
            if state[some[i]] == 2:
                some[kept] = some[i]
                kept += 1
        if kept == 0:
            continue
        for f in some[:kept]:
            state[f] = 1
        count = settle(
            some, kept, first, links, use, owner, head, after, capacity, room, load, turn, state, rate, bottleneck,
            touched,
        )  # fmt: skip
        settled += count
        for i in range(count):
            f = some[i]
            if flowing[f] != rate[f]:
                left[f] = max(left[f] - (now - since[f]) * flowing[f], 0.0)
                since[f], flowing[f] = now, rate[f]
                version[f] += 1
                if rate[f] > 0.0:
                    heapq.heappush(finishes, (now + left[f] / rate[f], f, version[f]))
    return begin, end, settled
