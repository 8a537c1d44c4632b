"""Update max-min fair rates as flows come and go, changing only those that must change.

An allocation is max-min fair if every flow has a bottleneck: a link that is full, on which no flow is faster. When a
flow arrives, it first gets the capacity that the others leave. Flows that are faster than it on a link that it fills,
or that lose their bottleneck, are added to the set, and the whole set is filled together, until no other flow must be
added. When a flow leaves, this starts with the flows that it limited. Compiled if Numba is there.
"""

from __future__ import annotations

import heapq

import numpy as np

from rdmacc.models.base import Floats
from rdmacc.models.water_filling import Ints, compiled, release

__all__ = ["run"]


@compiled
def join(f: int, first: Ints, links: Ints, base: Ints, size: Ints, members: Ints, place: Ints) -> None:
    """Add a flow to its links' lists; entry k of all paths stands for its flow on its link."""
    for k in range(first[f], first[f + 1]):
        link = links[k]
        members[base[link] + size[link]] = k
        place[k] = size[link]
        size[link] += 1


@compiled
def leave(f: int, first: Ints, links: Ints, base: Ints, size: Ints, members: Ints, place: Ints) -> None:
    """Take a flow out of its links' lists; the last of each list takes its place."""
    for k in range(first[f], first[f + 1]):
        link = links[k]
        size[link] -= 1
        last = members[base[link] + size[link]]
        members[base[link] + place[k]] = last
        place[last] = place[k]


@compiled
def fill_some(
    some: Ints, count: int, first: Ints, links: Ints, use: Floats, owner: Ints, base: Ints, size: Ints, members: Ints,
    room: Floats, load: Floats, demand: Floats, inside: Ints, level: Floats, fastest: Floats, state: Ints,
    rate: Floats, bottleneck: Ints, holds: Ints, touched: Ints,
) -> int:  # fmt: skip
    """Give some flows the fair rates that the room on their links allows; return how many links they touch.

    For each link touched, `inside` counts these flows, `level` is the rate at which the link stops flows (-1: it stops
    none), and `fastest` is the highest rate.
    """
    n_touched = 0
    for i in range(count):
        f = some[i]
        most = np.inf  # the flow alone in the room that there is
        for k in range(first[f], first[f + 1]):
            most = min(most, max(room[links[k]], 0.0) / use[k])
        for k in range(first[f], first[f + 1]):
            link = links[k]
            if inside[link] == 0:
                touched[n_touched] = link
                n_touched += 1
                load[link], demand[link], level[link], fastest[link] = 0.0, 0.0, -1.0, 0.0
            inside[link] += 1
            load[link] += use[k]
            demand[link] += most * use[k]
    queue = [(0.0, 0)]
    queue.clear()
    for i in range(n_touched):  # others have room for all that their flows could ever send
        link = touched[i]
        if demand[link] >= room[link] * (1 - 1e-9):
            queue.append((max(room[link], 0.0) / load[link], link))
    heapq.heapify(queue)
    left = count
    while left > 0:
        least, link = heapq.heappop(queue)
        if load[link] <= 1e-12:
            continue
        share = max(room[link], 0.0) / load[link]
        if share > least * (1 + 1e-12):  # has risen since: flows that others stop leave more to the rest
            heapq.heappush(queue, (share, link))
            continue
        for entry in members[base[link] : base[link] + size[link]]:
            f = owner[entry]
            if state[f] == 2:  # taken in, and without a rate
                state[f] = 3
                rate[f] = share
                bottleneck[f] = link
                holds[link] += 1
                level[link] = share
                left -= 1
                for k in range(first[f], first[f + 1]):
                    room[links[k]] -= share * use[k]
                    load[links[k]] -= use[k]
                    fastest[links[k]] = share
        load[link] = 0.0
    return n_touched


@compiled
def settle(
    some: Ints, count: int, first: Ints, links: Ints, use: Floats, owner: Ints, base: Ints, size: Ints, members: Ints,
    capacity: Floats, room: Floats, load: Floats, demand: Floats, inside: Ints, level: Floats, fastest: Floats,
    state: Ints, rate: Floats, bottleneck: Ints, holds: Ints, touched: Ints, tolerance: float,
) -> int:  # fmt: skip
    """Set the rates of some flows and of those that must change with them; return how many.

    `room` is each link's free capacity, `holds` counts the flows that it stops. `state` is 1 for an active flow, and
    1 again at the end. A link is full, and two rates are equal, within the tolerance.
    """
    filled = 0
    while filled < count:
        for i in range(count):
            f = some[i]
            state[f] = 2
            if bottleneck[f] >= 0:
                holds[bottleneck[f]] -= 1
                bottleneck[f] = -1
            for k in range(first[f], first[f + 1]):
                room[links[k]] += rate[f] * use[k]
        filled = count
        n_touched = fill_some(
            some, count, first, links, use, owner, base, size, members, room, load, demand, inside, level, fastest,
            state, rate, bottleneck, holds, touched,
        )  # fmt: skip
        for i in range(n_touched):
            link = touched[i]
            is_full = room[link] <= tolerance * capacity[link]
            has_others = inside[link] < size[link]
            inside[link] = 0
            if not has_others or not (is_full or holds[link]):
                continue
            for entry in members[base[link] : base[link] + size[link]]:
                f = owner[entry]
                if state[f] == 1:
                    is_free = bottleneck[f] == link and (not is_full or fastest[link] > rate[f] * (1 + tolerance))
                    if is_free or (is_full and 0.0 <= level[link] < rate[f] * (1 - tolerance)):
                        state[f] = 2
                        some[count] = f
                        count += 1
    for i in range(count):
        state[some[i]] = 1
    return count


@compiled
def run(
    volume: Floats, ready: Floats, waits: Ints, latency: Floats, next_first: Ints, nexts: Ints, delays: Floats,
    first: Ints, links: Ints, use: Floats, capacity: Floats, pair: Ints, tolerance: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return when each flow and computation starts and ends, a flow by its last byte.

    Parameters
    ----------
    volume, ready, waits, latency, next_first, nexts, delays, first, links, use, capacity
        As in `rdmacc.models.water_filling.transfer`; times in ps: flows that end within one picosecond end together.
    pair : ndarray of int
        Queue pair of each flow: it sends its flows one by one, in the order in which they become ready.
    tolerance : float
        Part of its capacity or rate by which a link or a flow may miss its fair share.
    """
    n, total = len(volume), len(ready)
    begin, end = ready.copy(), np.full(total, np.inf)
    left, rate, waiting = volume.copy(), np.zeros(n), waits.copy()
    since, version = np.zeros(n), np.zeros(n, np.int64)
    owner = np.empty(len(links), np.int64)
    for f in range(n):
        for k in range(first[f], first[f + 1]):
            owner[k] = f
    crossing = np.bincount(links, minlength=len(capacity))
    base, size = np.cumsum(crossing) - crossing, np.zeros(len(capacity), np.int64)
    members, place = np.empty(len(links), np.int64), np.empty(len(links), np.int64)
    room, load, demand = capacity.copy(), np.zeros(len(capacity)), np.zeros(len(capacity))
    level, fastest = np.zeros(len(capacity)), np.zeros(len(capacity))
    inside, holds = np.zeros(len(capacity), np.int64), np.zeros(len(capacity), np.int64)
    state, bottleneck = np.zeros(n, np.int64), np.full(n, -1)
    last, behind, is_next = np.full(pair.max() + 1, -1), np.full(n, -1), np.zeros(n, np.bool_)
    some, touched, flowing = np.empty(n, np.int64), np.empty(len(capacity), np.int64), np.zeros(n)
    queue = [(ready[f] + (latency[f] if f >= n else 0.0), f) for f in range(total) if waits[f] == 0]
    heapq.heapify(queue)
    finishes = [(0.0, 0, 0)]
    finishes.clear()
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
            leave(f, first, links, base, size, members, place)
            holds[bottleneck[f]] -= 1
            if behind[f] >= 0:
                is_next[behind[f]] = True
                heapq.heappush(queue, (now, behind[f]))
            else:
                last[pair[f]] = -1
            for k in range(first[f], first[f + 1]):
                link = links[k]
                room[link] += rate[f] * use[k]
                if holds[link] == 0:
                    continue
                for entry in members[base[link] : base[link] + size[link]]:  # flows that it held back
                    other = owner[entry]
                    if bottleneck[other] == link and state[other] == 1:
                        state[other] = 2
                        some[count] = other
                        count += 1
            release(f, now + latency[f], n, begin, waiting, latency, next_first, nexts, delays, queue)
        while len(queue) > 0 and queue[0][0] <= now:
            f = heapq.heappop(queue)[1]
            if f >= n:
                end[f] = now
                release(f, now, n, begin, waiting, latency, next_first, nexts, delays, queue)
                continue
            if not is_next[f]:
                begin[f] = now
                ahead, last[pair[f]] = last[pair[f]], f
                if ahead >= 0:
                    behind[ahead] = f
                    continue
            since[f] = now
            state[f] = 2
            join(f, first, links, base, size, members, place)
            some[count] = f
            count += 1
        kept = 0
        for i in range(count):  # some of the flows held back have ended too
            if state[some[i]] == 2:
                some[kept] = some[i]
                kept += 1
        if kept == 0:
            continue
        for f in some[:kept]:
            state[f] = 1
        count = settle(
            some, kept, first, links, use, owner, base, size, members, capacity, room, load, demand, inside, level,
            fastest, state, rate, bottleneck, holds, touched, tolerance,
        )  # fmt: skip
        for i in range(count):
            f = some[i]
            if flowing[f] != rate[f]:
                left[f] = max(left[f] - (now - since[f]) * flowing[f], 0.0)
                since[f], flowing[f] = now, rate[f]
                version[f] += 1
                if rate[f] > 0.0:
                    heapq.heappush(finishes, (now + left[f] / rate[f], f, version[f]))
    return begin, end
