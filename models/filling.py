"""Max-min fair rates of fluid flows, updated incrementally as flows come and go.

All rates rise together; a flow stops rising when one of its links is full (Bertsekas and Gallager, "Data Networks",
6.5.2). A flow may use a link at a multiple of its rate, such as the small one of its ACKs. An allocation is max-min
fair if every flow has a bottleneck: a link that is full, on which no flow is faster. When flows arrive or leave, their
links are visited by rising level, the rate that a link allows. A link that fills stops its rising flows there and slows
those that are faster; flows that lose their bottleneck rise again. The levels visited only rise, so most flows get
their rate once. Compiled if Numba is installed.
"""

import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rdmacc.models.base import Floats

Ints = npt.NDArray[np.int64]

_NEAR = 2.0
"""Of a flow's links, those with a level up to this times the lowest are queued at once; others when they overflow."""


class _Flows(NamedTuple):
    """Flows and their paths; entry k of the concatenated paths is flow `owner[k]` on link `links[k]`."""

    first: Ints
    links: Ints
    use: Floats
    owner: Ints
    rate: Floats
    stop: Ints
    """Path entry of the flow's bottleneck; -1 if it has none."""
    state: Ints
    """0: inactive, 1: has a rate, 2: rising."""
    changed: Ints
    n_changed: Ints
    """Length of `changed`, shape 1; an int argument would cause a second compilation, for the literal 0."""
    is_changed: npt.NDArray[np.bool_]


class _Links(NamedTuple):
    """Links, with the entries of the active flows on each: ``members[base:base + size]``."""

    capacity: Floats
    base: Ints
    size: Ints
    members: Ints
    room: Floats
    """Capacity left by flows that have a rate."""
    rising: Ints
    load: Floats
    """Number of rising flows, and their use."""
    holds: Ints
    held_use: Floats
    held_rate: Floats
    """Number of flows that the link stops, their use, and the capacity that they take."""
    level: Floats
    """Lowest rate of the flows that it stops."""
    queued: Floats
    """Level at which the link is queued; infinite if it is not."""


def computed(function: Callable[..., None], *arguments: Any) -> None:
    """Call a function of arrays as machine code; without Numba interpret it: slower, with the same results."""
    try:
        from rdmacc.models.machine_code import call_on_arrays
    except ImportError:  # pragma: no cover
        function(*arguments)
    else:
        call_on_arrays(function, *arguments)


def release(
    f: int, done: float, n: int, begin: Floats, waiting: Ints, latency: Floats, next_first: Ints, nexts: Ints,
    delays: Floats, queue: list[tuple[float, int]],
) -> None:  # fmt: skip
    """Notify the followers of a finished flow or computation; those that wait for nothing else join the queue."""
    for k in range(next_first[f], next_first[f + 1]):
        follower = nexts[k]
        waiting[follower] -= 1
        begin[follower] = max(begin[follower], done + delays[k])
        if waiting[follower] == 0:
            heapq.heappush(queue, (begin[follower] + (latency[follower] if follower >= n else 0.0), follower))


def first_events(n: int, ready: Floats, waits: Ints, latency: Floats) -> list[tuple[float, int]]:
    """Return a heap of (time, flow that starts or computation that ends), without those that wait for others."""
    queue = [(0.0, 0)]
    queue.clear()
    for f in range(len(ready)):
        if waits[f] == 0:
            queue.append((ready[f] + (latency[f] if f >= n else 0.0), f))
    heapq.heapify(queue)
    return queue


def join(f: int, first: Ints, links: Ints, base: Ints, size: Ints, members: Ints, place: Ints) -> None:
    """Add a flow to its links' lists of path entries."""
    for k in range(first[f], first[f + 1]):
        link = links[k]
        members[base[link] + size[link]] = k
        place[k] = size[link]
        size[link] += 1


def leave(f: int, first: Ints, links: Ints, base: Ints, size: Ints, members: Ints, place: Ints) -> None:
    """Remove a flow from its links' lists; the last entry of each list moves into the gap."""
    for k in range(first[f], first[f + 1]):
        link = links[k]
        size[link] -= 1
        last = members[base[link] + size[link]]
        members[base[link] + place[k]] = last
        place[last] = place[k]


def level_of(link: int, on: _Links) -> float:
    """Return a lower bound of the rate at which a link fills, assuming that the flows that it stops change too."""
    if on.rising[link] == 0:
        return on.level[link]
    return max(on.room[link] + on.held_rate[link], 0.0) / (on.load[link] + on.held_use[link])


def offer(link: int, level: float, on: _Links, queue: list[tuple[float, int]]) -> None:
    """Queue a link, unless it is queued at a lower level."""
    if level < on.queued[link]:
        on.queued[link] = level
        heapq.heappush(queue, (level, link))


def note(f: int, flows: _Flows) -> None:
    if not flows.is_changed[f]:
        flows.is_changed[f] = True
        flows.changed[flows.n_changed[0]] = f
        flows.n_changed[0] += 1


def lose(f: int, flows: _Flows, on: _Links) -> None:
    """Remove a flow from its bottleneck."""
    k = flows.stop[f]
    if k < 0:
        return
    link = flows.links[k]
    flows.stop[f] = -1
    on.holds[link] -= 1
    on.held_use[link] -= flows.use[k]
    on.held_rate[link] -= flows.use[k] * flows.rate[f]
    if on.holds[link] == 0:
        on.held_use[link], on.held_rate[link] = 0.0, 0.0


def hold(k: int, rate: float, flows: _Flows, on: _Links) -> None:
    """Set a flow's rate, with an entry's link as its bottleneck."""
    f, link = flows.owner[k], flows.links[k]
    flows.rate[f], flows.stop[f] = rate, k
    on.level[link] = rate if on.holds[link] == 0 else min(on.level[link], rate)
    on.holds[link] += 1
    on.held_use[link] += flows.use[k]
    on.held_rate[link] += flows.use[k] * rate


def rise(f: int, flows: _Flows, on: _Links) -> None:
    """Make a flow rise from 0, even if it has a rate."""
    lose(f, flows, on)
    for k in range(flows.first[f], flows.first[f + 1]):
        link = flows.links[k]
        on.room[link] += flows.rate[f] * flows.use[k]
        on.load[link] += flows.use[k]
        on.rising[link] += 1
    flows.state[f], flows.rate[f] = 2, 0.0


def watch(f: int, flows: _Flows, on: _Links, queue: list[tuple[float, int]]) -> None:
    """Queue the links that may stop a rising flow."""
    least = np.inf
    for k in range(flows.first[f], flows.first[f + 1]):
        least = min(least, level_of(flows.links[k], on))
    for k in range(flows.first[f], flows.first[f + 1]):
        level = level_of(flows.links[k], on)
        if level <= _NEAR * least:
            offer(flows.links[k], level, on, queue)


def free(link: int, flows: _Flows, on: _Links, queue: list[tuple[float, int]]) -> None:
    """Make all flows that a link stops rise again."""
    for k in on.members[on.base[link] : on.base[link] + on.size[link]]:
        if flows.stop[flows.owner[k]] == k:
            rise(flows.owner[k], flows, on)
            note(flows.owner[k], flows)
    for k in on.members[on.base[link] : on.base[link] + on.size[link]]:
        if flows.state[flows.owner[k]] == 2:
            watch(flows.owner[k], flows, on, queue)


def filled_at(link: int, level: float, flows: _Flows, on: _Links, tolerance: float) -> float:
    """Return the rate at which a link fills, given a lower bound; faster flows fall to it, others keep their rate."""
    faster = -1
    while True:
        n, room, load = 0, on.room[link], on.load[link]
        for k in on.members[on.base[link] : on.base[link] + on.size[link]]:
            f = flows.owner[k]
            if flows.state[f] == 1 and flows.rate[f] > level * (1.0 + tolerance):
                n += 1
                room += flows.rate[f] * flows.use[k]
                load += flows.use[k]
        if n == faster or load <= 1e-12:
            return level
        faster, level = n, max(level, room / load)


def stop_all(
    link: int, level: float, flows: _Flows, on: _Links, queue: list[tuple[float, int]], tolerance: float
) -> None:
    """Stop the rising flows of a link at a level, and slow the faster ones."""
    for k in on.members[on.base[link] : on.base[link] + on.size[link]]:
        f = flows.owner[k]
        if flows.state[f] == 1 and flows.rate[f] <= level * (1.0 + tolerance):
            continue
        was_rising, less = flows.state[f] == 2, flows.rate[f] - level
        lose(f, flows, on)
        hold(k, level, flows, on)
        flows.state[f] = 1
        note(f, flows)
        for at in range(flows.first[f], flows.first[f + 1]):
            other = flows.links[at]
            on.room[other] += less * flows.use[at]
            if was_rising:
                on.rising[other] -= 1
                on.load[other] = on.load[other] - flows.use[at] if on.rising[other] > 0 else 0.0
            if other == link:
                continue
            if on.holds[other] > 0 and on.room[other] > tolerance * on.capacity[other]:
                offer(other, min(on.level[other], level_of(other, on)), on, queue)
            elif on.room[other] < -tolerance * on.capacity[other] or on.room[other] < on.load[other] * level:
                offer(other, level, on, queue)


def settle(flows: _Flows, on: _Links, queue: list[tuple[float, int]], tolerance: float) -> None:
    """Update the rates of changed flows, and of all others that must change with them.

    `queue` has links that may have room. Links count as full, and rates as equal, within the tolerance.
    """
    for f in flows.changed[: flows.n_changed[0]]:
        rise(f, flows, on)
    for f in flows.changed[: flows.n_changed[0]]:
        watch(f, flows, on, queue)
    while len(queue) > 0:
        key, link = heapq.heappop(queue)
        if key != on.queued[link]:
            continue  # was queued again at a lower level
        on.queued[link] = np.inf
        if on.rising[link] == 0:
            if on.holds[link] > 0 and on.room[link] > tolerance * on.capacity[link]:
                free(link, flows, on, queue)
            elif on.room[link] < -tolerance * on.capacity[link]:
                level = filled_at(link, 0.0, flows, on, tolerance)
                stop_all(link, level, flows, on, queue, tolerance)
            continue
        level = level_of(link, on)
        if on.holds[link] > 0 and level > on.level[link] * (1.0 + tolerance):
            free(link, flows, on, queue)
            offer(link, level_of(link, on), on, queue)
            continue
        top = queue[0][0] * (1.0 + 1e-12) if len(queue) > 0 else np.inf
        if level <= top:
            level = filled_at(link, level, flows, on, tolerance)
        if level > top:  # other links have stopped flows, which leave more to the rest
            offer(link, level, on, queue)
        else:
            stop_all(link, level, flows, on, queue, tolerance)


def _run(
    volume: Floats, waits: Ints, latency: Floats, next_first: Ints, nexts: Ints, delays: Floats, first: Ints,
    links: Ints, use: Floats, owner: Ints, capacity: Floats, base: Ints, pair: Ints, tolerance: float,
    begin: Floats, end: Floats,
) -> None:  # fmt: skip
    """Fill `begin` and `end` as `run` describes. On entry `begin` is `ready`, and `end` infinite."""
    n, n_links = len(volume), len(capacity)
    rate = np.zeros(n)
    flows = _Flows(
        first, links, use, owner, rate, np.full(n, -1), np.zeros(n, np.int64), np.empty(n, np.int64),
        np.zeros(1, np.int64), np.zeros(n, np.bool_),
    )  # fmt: skip
    on = _Links(
        capacity, base, np.zeros(n_links, np.int64), np.empty(len(links), np.int64), capacity.copy(),
        np.zeros(n_links, np.int64), np.zeros(n_links), np.zeros(n_links, np.int64), np.zeros(n_links),
        np.zeros(n_links), np.zeros(n_links), np.full(n_links, np.inf),
    )  # fmt: skip
    left, waiting = volume.copy(), waits.copy()
    since, version = np.zeros(n), np.zeros(n, np.int64)
    place = np.empty(len(links), np.int64)
    last, behind, is_next = np.full(pair.max() + 1 if len(pair) else 0, -1), np.full(n, -1), np.zeros(n, np.bool_)
    flowing = np.zeros(n)
    queue = first_events(n, begin, waits, latency)
    finishes = [(0.0, 0, 0)]
    finishes.clear()
    spare = [(0.0, 0)]
    spare.clear()
    while True:
        while len(finishes) > 0 and finishes[0][2] != version[finishes[0][1]]:
            heapq.heappop(finishes)
        upcoming = queue[0][0] if len(queue) > 0 else np.inf
        finish = finishes[0][0] if len(finishes) > 0 else np.inf
        now = min(upcoming, finish)
        if now == np.inf:
            break
        while len(finishes) > 0 and finishes[0][0] <= now + 1.0:
            _, f, stamp = heapq.heappop(finishes)
            if stamp != version[f]:
                continue
            version[f] += 1
            end[f] = now
            flows.state[f] = 0
            leave(f, first, links, on.base, on.size, on.members, place)
            lose(f, flows, on)
            if behind[f] >= 0:
                is_next[behind[f]] = True
                heapq.heappush(queue, (now, behind[f]))
            else:
                last[pair[f]] = -1
            for k in range(first[f], first[f + 1]):
                on.room[links[k]] += rate[f] * use[k]
                if on.holds[links[k]] > 0:
                    offer(links[k], on.level[links[k]], on, spare)
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
            join(f, first, links, on.base, on.size, on.members, place)
            note(f, flows)
        settle(flows, on, spare, tolerance)
        for f in flows.changed[: flows.n_changed[0]]:
            flows.is_changed[f] = False
            if flowing[f] != rate[f]:
                left[f] = max(left[f] - (now - since[f]) * flowing[f], 0.0)
                since[f], flowing[f] = now, rate[f]
                version[f] += 1
                if rate[f] > 0.0:
                    heapq.heappush(finishes, (now + left[f] / rate[f], f, version[f]))
        flows.n_changed[0] = 0


def run(
    volume: Floats, ready: Floats, waits: Ints, latency: Floats, next_first: Ints, nexts: Ints, delays: Floats,
    first: Ints, links: Ints, use: Floats, capacity: Floats, pair: Ints, tolerance: float,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return when each flow or computation starts, and when the flow's last byte leaves or the computation ends.

    Flow f sends `volume`. It starts at `ready` or, if it waits for others, once the last of them is complete. A flow is
    complete its `latency` after its last byte has left. The followers of f are ``nexts[next_first[f]:next_first[f +
    1]]``, each after its own delay. Numbers from F on are computations, which send nothing and take their `latency`.
    Flows of one `pair` follow one another. Entries ``first[f]:first[f + 1]`` of `links` and `use` are the path of f.
    """
    crossing = np.bincount(links, minlength=len(capacity))
    begin, end = ready.copy(), np.full(len(ready), np.inf)
    computed(
        _run, volume, waits, latency, next_first, nexts, delays, first, links, use,
        np.repeat(np.arange(len(volume)), np.diff(first)), capacity, np.cumsum(crossing) - crossing, pair, tolerance,
        begin, end,
    )  # fmt: skip
    return begin, end
