"""Speed and remaining time of a sweep, estimated from the finished points."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Mapping


class TimeLeft:
    """Remaining time, estimated from the seconds per unit of cost so far.

    Points start in order, one per process, and the next starts when one finishes. The estimate schedules the rest of
    the running points and all waiting ones on the processes in the same way, and takes the end of the last.
    """

    def __init__(
        self,
        costs: Mapping[str, float],
        processes: int | None = 1,
        known: Iterable[tuple[float, float]] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock, self._begin = clock, clock()
        self._costs, self._processes = dict(costs), processes
        self._waiting = list(reversed(self._costs))
        self._started: dict[str, float] = {}
        self._known = tuple(map(sum, zip(*known))) or (0.0, 0.0)
        self._busy_s = self._done_cost = 0.0
        self._packet_hops = 0
        self._start(self._begin)

    def finish(self, name: str, wall_s: float | None, packet_hops: int = 0) -> None:
        """Record that a point has finished."""
        if name in self._started:
            del self._started[name]
        elif name in self._waiting:
            self._waiting.remove(name)
        if wall_s is not None:
            self._busy_s += wall_s
            self._done_cost += self._costs[name]
            self._packet_hops += packet_hops
        self._start(self._clock())

    def _start(self, now: float) -> None:
        while self._waiting and len(self._started) < self._at_once(now):
            self._started[self._waiting.pop()] = now

    def _at_once(self, now: float) -> int:
        if self._processes is not None:
            return self._processes
        passed = now - self._begin
        return max(1, round(self._busy_s / passed)) if passed > 0.0 else 1

    @property
    def hops_per_s(self) -> float:
        """Packet-hops per second over all processes, for the finished points."""
        passed = self._clock() - self._begin
        return self._packet_hops / passed if passed > 0.0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds until the last point finishes; None while unknown."""
        busy_s, cost = (self._busy_s, self._done_cost) if self._done_cost else self._known
        if not cost:
            return None
        now, per_cost = self._clock(), busy_s / cost
        ends = [max(self._costs[name] * per_cost - (now - since), 0.0) for name, since in self._started.items()]
        ends += [0.0] * (self._at_once(now) - len(ends))
        heapq.heapify(ends)
        for name in reversed(self._waiting):
            heapq.heapreplace(ends, ends[0] + self._costs[name] * per_cost)
        return max(ends)

    def __str__(self) -> str:
        """Return both, as in ``12:05 left, 8.2 M packet-hops/s``."""
        left_s = self.left_s
        if left_s is None:
            return "time left unknown"
        minutes, seconds = divmod(round(left_s), 60)
        hours, minutes = divmod(minutes, 60)
        left = f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes:02}:{seconds:02}"
        rate = f", {self.hops_per_s / 1e6:.2g} M packet-hops/s" if self._packet_hops else ""
        return f"{left} left{rate}"
