"""The SimPy environment, whose queue also holds functions of the time.

SimPy orders its queue by (time, priority, number). An event of the engine has its rank (`rdmacc.rules.ranks`) as
priority, so simultaneous events run in a fixed order whoever scheduled them first, and a function where SimPy has an
event object. SimPy's own events, those of processes that a user attaches, have priorities up to 1 and come before.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import simpy

from rdmacc.rules import *

SIMPY_PRIORITY = 1  # the highest priority of SimPy's own events (`simpy.events.NORMAL`); every rank is above it


class Environment(simpy.Environment):
    """A SimPy environment that calls functions with the time; `order` counts what was scheduled, with a tick."""

    def __init__(self, tick_ps: int) -> None:
        super().__init__(initial_time=0)
        self.tick_ps = tick_ps
        self.order = 0
        self._rank_now = LAST_ORDER << ORDER_SHIFT

    @property
    def queue(self) -> list[tuple[int, int, int, Any]]:
        """The pending events: time, rank, a number, and what happens."""
        queue: list[tuple[int, int, int, Any]] = self._queue
        return queue

    @property
    def order_now(self) -> int:
        """With a tick: order of the event under way."""
        return self._rank_now >> ORDER_SHIFT

    def call(self, time_ps: int, rank: int, function: Callable[[int], None]) -> None:
        """Call a function at a time; with a tick, after everything already scheduled for that time."""
        if self.tick_ps:
            rank = rank_in(self, rank, next_order(self))
        heappush(self._queue, (time_ps, rank, next(self._eid), function))

    def call_last(self, time_ps: int, rank: int, function: Callable[[int], None]) -> None:
        """Call a function at a time; with a tick, after everything else at that time."""
        self.call_in_order(time_ps, rank, LAST_ORDER, function)

    def call_in_order(self, time_ps: int, rank: int, order: int, function: Callable[[int], None]) -> None:
        """Call a function at a time; with a tick, at a given place among the events of that time."""
        if self.tick_ps:
            rank = rank_in(self, rank, order)
        heappush(self._queue, (time_ps, rank, next(self._eid), function))

    def step(self) -> None:
        now, rank, number, event = heappop(self._queue)
        self._now, self._rank_now = now, rank
        if rank > SIMPY_PRIORITY:
            event(now)
        else:
            heappush(self._queue, (now, rank, number, event))
            super().step()

    def advance(self, time_ps: int) -> None:
        """Advance the clock to a time before which nothing is pending."""
        self._now = time_ps
