"""The SimPy environment, whose queue also holds functions of the time.

SimPy orders its queue by (time, priority, number). An event of the engine has its rank (`rdmacc.engine.ranks`) as
priority, so simultaneous events run in a fixed order whoever scheduled them first, and a function where SimPy has an
event object. SimPy's own events, those of processes that a user attaches, have priorities up to 1 and come before.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

import simpy

from rdmacc.engine.ranks import LAST_ORDER, ORDER_SHIFT, next_order, rank_in

__all__ = ["Environment"]

_SIMPY_PRIORITY = 1
"""The highest priority of SimPy's own events (`simpy.events.NORMAL`); every rank is above it."""


class Environment(simpy.Environment):
    """A SimPy environment that calls functions with the time.

    Parameters
    ----------
    tick_ps : int
        The scheme's tick; 0 for none.

    Attributes
    ----------
    order, order_now : int
        With a tick: order of what was scheduled last, and of the event under way.
    """

    def __init__(self, tick_ps: int) -> None:
        super().__init__(initial_time=0)
        self.tick_ps = tick_ps
        self.order = 0
        self.order_now = LAST_ORDER

    @property
    def queue(self) -> list[tuple[int, int, int, Any]]:
        """The pending events: time, rank, a number, and what happens."""
        queue: list[tuple[int, int, int, Any]] = self._queue
        return queue

    def call(self, time_ps: int, rank: int, function: Callable[[int], None]) -> None:
        """Call a function at a time; with a tick, after what has been scheduled for that time before."""
        self.call_in_order(time_ps, rank, next_order(self), function)

    def call_last(self, time_ps: int, rank: int, function: Callable[[int], None]) -> None:
        """Call a function at a time; with a tick, after whatever else is due then."""
        self.call_in_order(time_ps, rank, LAST_ORDER, function)

    def call_in_order(self, time_ps: int, rank: int, order: int, function: Callable[[int], None]) -> None:
        """Call a function at a time; with a tick, in an order among what is due then."""
        if self.tick_ps:
            rank = rank_in(self, rank, order)
        heappush(self._queue, (time_ps, rank, next(self._eid), function))

    def step(self) -> None:
        """Process the next event."""
        now, rank, number, event = heappop(self._queue)
        self.order_now = rank >> ORDER_SHIFT
        if rank > _SIMPY_PRIORITY:
            self._now = now
            event(now)
        else:
            heappush(self._queue, (now, rank, number, event))
            super().step()

    def advance(self, time_ps: int) -> None:
        """Let it be a later time, at which nothing is pending before."""
        self._now = time_ps
