"""Progressive filling, and flows as fluids whose max-min fair rates change at each start and end. Compiled
if Numba is there.

All rates rise together; a flow stops rising when one of its links is full (Bertsekas and Gallager, "Data Networks",
6.5.2). A flow may use a link at a multiple of its rate, such as the small one of its ACKs.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError
from rdmacc.models.base import Floats

Ints = npt.NDArray[np.int64]


def computed(function: Callable[..., None], *arguments: Any) -> None:
    """Call a function of arrays as machine code; without Numba as it is: slow, with the same numbers."""
    try:
        from rdmacc.engine.compiled.on_arrays import call_on_arrays
    except ImportError:  # pragma: no cover
        function(*arguments)
    else:
        call_on_arrays(function, *arguments)


def fill(flows: Ints, first: Ints, links: Ints, use: Floats, capacity: Floats, rate: Floats) -> None:
    """Set the rates of some flows; f uses ``links[k]`` at ``use[k]`` times it, k in first[f]:first[f + 1]."""
    left = capacity.copy()
    load = np.zeros(len(capacity))
    touched = np.empty(len(capacity), np.int64)
    n_touched = 0
    for f in flows:
        for k in range(first[f], first[f + 1]):
            if load[links[k]] == 0.0:
                touched[n_touched] = links[k]
                n_touched += 1
            load[links[k]] += use[k]
    rising, stopped = flows.copy(), flows.copy()
    n_rising = len(flows)
    while n_rising > 0:
        level = np.inf
        for i in range(n_touched):
            link = touched[i]
            if load[link] > 1e-9:
                level = min(level, max(left[link], 0.0) / load[link])
        n_kept, n_stopped = 0, 0
        for i in range(n_rising):
            f = rising[i]
            is_stopped = False
            for k in range(first[f], first[f + 1]):
                if load[links[k]] > 1e-9 and left[links[k]] <= level * load[links[k]] * (1.0 + 1e-12):
                    is_stopped = True
                    break
            if is_stopped:
                stopped[n_stopped] = f
                n_stopped += 1
            else:
                rising[n_kept] = f
                n_kept += 1
        for i in range(n_stopped):
            f = stopped[i]
            rate[f] = level
            for k in range(first[f], first[f + 1]):
                left[links[k]] -= level * use[k]
                load[links[k]] -= use[k]
        n_rising = n_kept


def release(
    f: int, done: float, n: int, begin: Floats, waiting: Ints, latency: Floats, next_first: Ints, nexts: Ints,
    delays: Floats, queue: list[tuple[float, int]],
) -> None:  # fmt: skip
    """Release the followers of a finished flow or computation: those that wait for nothing more join the queue."""
    for k in range(next_first[f], next_first[f + 1]):
        follower = nexts[k]
        waiting[follower] -= 1
        begin[follower] = max(begin[follower], done + delays[k])
        if waiting[follower] == 0:
            heapq.heappush(queue, (begin[follower] + (latency[follower] if follower >= n else 0.0), follower))


def first_events(n: int, ready: Floats, waits: Ints, latency: Floats) -> list[tuple[float, int]]:
    """Return a heap of (time, flow that starts or computation that ends) of those that wait for nothing."""
    queue = [(0.0, 0)]
    queue.clear()
    for f in range(len(ready)):
        if waits[f] == 0:
            queue.append((ready[f] + (latency[f] if f >= n else 0.0), f))
    heapq.heapify(queue)
    return queue


def _transfer(
    volume: Floats, waits: Ints, latency: Floats, next_first: Ints, nexts: Ints, delays: Floats, first: Ints,
    links: Ints, use: Floats, capacity: Floats, begin: Floats, end: Floats,
) -> None:  # fmt: skip
    """Fill `begin` and `end` as `transfer` describes. On entry `begin` is `ready`, and `end` infinite."""
    n = len(volume)
    left, rate, waiting = volume.copy(), np.zeros(n), waits.copy()
    active = np.empty(n, np.int64)
    n_active = 0
    queue = first_events(n, begin, waits, latency)
    now = 0.0
    while n_active > 0 or len(queue) > 0:
        finish = np.inf
        for i in range(n_active):
            f = active[i]
            finish = min(finish, now + left[f] / rate[f])
        upcoming = queue[0][0] if len(queue) > 0 else np.inf
        then = min(finish, upcoming)
        kept = 0
        for i in range(n_active):
            f = active[i]
            left[f] -= (then - now) * rate[f]
            if left[f] <= 1e-9 * volume[f]:
                end[f] = then
                release(f, then + latency[f], n, begin, waiting, latency, next_first, nexts, delays, queue)
            else:
                active[kept] = f
                kept += 1
        n_active, now = kept, then
        while len(queue) > 0 and queue[0][0] <= now:
            f = heapq.heappop(queue)[1]
            if f < n:
                active[n_active] = f
                n_active += 1
            else:
                end[f] = now
                release(f, now, n, begin, waiting, latency, next_first, nexts, delays, queue)
        fill(active[:n_active], first, links, use, capacity, rate)


def transfer(
    volume: Floats, ready: Floats, waits: Ints, latency: Floats, next_first: Ints, nexts: Ints, delays: Floats,
    first: Ints, links: Ints, use: Floats, capacity: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Return when each flow or computation starts, and when the flow's last byte leaves or the computation ends.

    Flow f sends `volume`. It starts at `ready` or, if it waits for others, once the last of them is complete: its
    `latency` after its last byte has left. The followers of f are ``nexts[next_first[f]:next_first[f + 1]]``, each
    after its own delay. Numbers from F on are computations: they send nothing and take their `latency`.
    """
    begin, end = ready.copy(), np.full(len(ready), np.inf)
    computed(_transfer, volume, waits, latency, next_first, nexts, delays, first, links, use, capacity, begin, end)
    return begin, end


def as_lists(rows: Sequence[Sequence[Any]], dtype: Any = np.int64) -> tuple[Ints, Any]:
    """Return rows of different lengths as (first, values): row i is ``values[first[i]:first[i + 1]]``."""
    first = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=first[1:])
    return first, np.array([value for row in rows for value in row], dtype=dtype)


def max_min_rates(
    paths: Sequence[Sequence[int]], capacity: npt.ArrayLike, use: Sequence[Sequence[float]] | None = None
) -> Floats:
    """Return the max-min fair rates of flows.

    Examples
    --------
    >>> max_min_rates([[0], [0, 1], [1]], [10.0, 4.0]).tolist()
    [8.0, 2.0, 2.0]
    """
    limits = np.array(capacity, np.float64, order="C")
    if not np.all(limits > 0):
        raise ConfigError("capacity", capacity, "more than 0 for every link")
    for path in paths:
        if not len(path) or min(path) < 0 or max(path) >= len(limits):
            raise ConfigError("paths", list(path), f"at least one link for each flow, from 0 to {len(limits) - 1}")
    first, links = as_lists(paths)
    shares = np.ones(len(links)) if use is None else as_lists(use, np.float64)[1]
    rates = np.zeros(len(paths))
    computed(fill, np.arange(len(paths)), first, links, shares, limits, rates)
    return rates
