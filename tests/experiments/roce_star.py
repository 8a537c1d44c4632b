"""csg-htsim's plain RoCE on a star, event by event: why its incasts end at different times than under `roce-htsim`.

Our engines lack four rules of its code (`sim/queue_lossless_input.cpp`, `queue_lossless_output.cpp`, `pipe.cpp` and
`datacenter/fat_tree_switch.cpp`, commit 841d9e7). This models just those rules: hosts send to one receiver through one
switch, over links of 100 Gb/s and 1 us, and ACKs have a separate path. With all four, every flow of the four incasts
ends at csg-htsim's time, to the six digits it prints.
"""

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

_PAYLOAD, _HEADER = 9000, 64
_PACKET_PS, _ACK_PS, _LINK_PS = (_PAYLOAD + _HEADER) * 80, _HEADER * 80, 1_000_000
_XOFF, _XON = 15 * _PAYLOAD, 12 * _PAYLOAD


@dataclass(frozen=True)
class Rules:
    """Rules of csg-htsim; a rule switched off gives the engines' behaviour."""

    pauses_at_once: bool = True
    """PAUSE and RESUME take no time; without: the link's delay."""
    frees_at_end: bool = True
    """The bytes of a packet count until it has been sent; without: until its transmission begins."""
    orders_by_head: bool = True
    """Simultaneous arrivals come in the order in which their links delivered the previous packet; without: in the
    order in which they were sent."""
    has_pipeline: bool = True
    """A packet reaches its output by a second event, after everything else of that instant."""


@dataclass(eq=False)
class _Host:
    """A sender, its link, and its packets in the switch."""

    left: int
    held: int = 0
    is_pausing: bool = False
    is_paused: bool = False
    free_ps: int = 0
    last_ps: int = 0
    line: deque[int] = field(default_factory=deque)


class _Star:
    def __init__(self, senders: int, packets: int, rules: Rules) -> None:
        self.rules, self.now, self.count = rules, 0, 0
        self.events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self.hosts = [_Host(packets) for _ in range(senders)]
        self.queue: deque[_Host] = deque()

    def after(self, delay_ps: int, action: Callable[..., None], *values: Any) -> None:
        self.count += 1
        heapq.heappush(self.events, (self.now + delay_ps, self.count, action, values))

    def run(self) -> npt.NDArray[np.int64]:
        for host in self.hosts:
            self.after(0, self.send, host)
        while self.events:
            self.now, _, action, values = heapq.heappop(self.events)
            action(*values)
        return np.array([host.last_ps for host in self.hosts]) + _LINK_PS + 2 * (_LINK_PS + _ACK_PS)

    def send(self, host: _Host) -> None:
        if host.is_paused or not host.left:
            return
        if host.free_ps <= self.now:
            host.left -= 1
            host.free_ps = self.now + _PACKET_PS
            self.after(_PACKET_PS, self.sent, host)
        self.after(host.free_ps - self.now, self.send, host)

    def sent(self, host: _Host) -> None:
        if not self.rules.orders_by_head:
            self.after(_LINK_PS, self.arrive, host)
            return
        host.line.append(self.now + _LINK_PS)
        if len(host.line) == 1:
            self.after(_LINK_PS, self.arrive, host)

    def arrive(self, host: _Host) -> None:
        if self.rules.orders_by_head:
            host.line.popleft()
            if host.line:
                self.after(host.line[0] - self.now, self.arrive, host)
        host.held += _PAYLOAD + _HEADER
        if host.held > _XOFF and not host.is_pausing:
            self.tell(host, True)
        if self.rules.has_pipeline:
            self.after(0, self.enqueue, host)
        else:
            self.enqueue(host)

    def enqueue(self, host: _Host) -> None:
        self.queue.append(host)
        if len(self.queue) == 1:
            self.begin()

    def begin(self) -> None:
        if not self.rules.frees_at_end:
            self.free(self.queue[0])
        self.after(_PACKET_PS, self.end)

    def end(self) -> None:
        host = self.queue.popleft()
        if self.rules.frees_at_end:
            self.free(host)
        host.last_ps = self.now
        if self.queue:
            self.begin()

    def free(self, host: _Host) -> None:
        host.held -= _PAYLOAD + _HEADER
        if host.held < _XON and host.is_pausing:
            self.tell(host, False)

    def tell(self, host: _Host, is_paused: bool) -> None:
        host.is_pausing = is_paused
        if self.rules.pauses_at_once:
            self.obey(host, is_paused)
        else:
            self.after(_LINK_PS, self.obey, host, is_paused)

    def obey(self, host: _Host, is_paused: bool) -> None:
        host.is_paused = is_paused
        if not is_paused:
            self.after(0, self.send, host)


def completions_ps(senders: int, size_bytes: int, rules: Rules | None = None) -> npt.NDArray[np.int64]:
    """Return when the last ACK of each flow is back, for flows that start together."""
    return _Star(senders, -(-size_bytes // _PAYLOAD), rules or Rules()).run()
