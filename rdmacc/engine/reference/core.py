"""What the parts of a network share: the plan, the clock, the scheme's handlers, messages and totals."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from types import new_class
from typing import TYPE_CHECKING, Any

from rdmacc.engine.plan import Plan
from rdmacc.engine.records import ComputationProgress, MessageProgress, QueuePairUse, Transit
from rdmacc.engine.reference.binding import Binding
from rdmacc.engine.reference.events import Environment
from rdmacc.engine.trace import DROPPED, Trace
from rdmacc.handlers.checked import Trail
from rdmacc.handlers.hooks import Components, Slot, has_requests
from rdmacc.interface import ACK, ADVERT, CNP, CREDIT, HOOKS, KIND_NAMES, NAK, NUM_CLASSES, RETURN, state
from rdmacc.rules import *

if TYPE_CHECKING:
    from rdmacc.engine.reference.nic import NicPort


class Ingress(IngressAccount):
    """A switch's account of the packets that arrived by a port in a class."""

    __slots__ = ("cls", "port")

    def __init__(self, port: int, cls: int, headroom_bytes: int) -> None:
        super().__init__()
        self.port, self.cls, self.headroom_bytes = port, cls, headroom_bytes


class Packet(state.Packet, Transit):
    __slots__ = ("ingress",)

    ingress: Ingress  # in a switch: the account that its bytes are in


def packet_class(components: Components) -> type[Packet]:
    headers = [record for part in components if (record := part.record("Header")) is not None]
    made: type[Packet] = new_class("Packet", (Packet, *headers))
    made.__init__ = made.reset  # type: ignore[method-assign]  # spares a call for each packet
    return made


class Message(state.Message, MessageProgress):
    """A message, both sides. The components' records are attributes of it: `transfer0`, ..."""

    __slots__ = ("queue_pair",)

    queue_pair: QueuePair


class QueuePair(state.QueuePair, QueuePairUse):
    """A queue pair: its unacknowledged messages, first in, first out, and the ports that serve it.

    The components' records are attributes of it: `sender0`, `receiver0`, ...
    """

    __slots__ = ("first_message", "nic", "pending", "reply_nic")

    nic: NicPort  # the sender's port
    reply_nic: NicPort  # the receiver's
    first_message: Message

    def __init__(self) -> None:
        super().__init__()
        self.pending: deque[Message] = deque()


class Computation(ComputationProgress):
    __slots__ = ("duration_ps", "number", "src")

    number: int
    src: int
    duration_ps: int


Hook = Callable[..., None] | None
"""The scheme's handlers of one hook, as one function; None if there are none."""


class Core:
    """What the parts of a network share; see `rdmacc.engine.reference.network.Network` for the parts.

    Messages and queue pairs are in lists by number, as in the plan; `unfinished` counts messages and rows of
    computation that have not ended or failed.
    """

    on_open: Hook
    on_port: Hook
    on_start: Hook
    on_send: Hook
    on_data: Hook
    on_request: Hook
    on_announce: Hook
    on_advertise: Hook
    on_candidate: Hook
    on_pick: Hook
    on_route: Hook
    on_deflect: Hook
    on_enqueue: Hook
    on_dequeue: Hook

    def __init__(self, plan: Plan, arm: Callable[[Any, Slot], None]) -> None:
        self.plan = plan
        self.scheme = scheme = plan.scheme
        self.fabric = plan.fabric  # with its current routes: links may fail
        self.env = Environment(scheme.tick_ps)
        self.trace = Trace(plan) if plan.has_trace else None
        self.explains = plan.explains
        self.trail = Trail() if plan.is_checked else None
        if self.trail is not None:
            self.trail.n_ports, self.trail.n_messages = plan.fabric.n_ports, plan.n_messages
        self.binding = Binding(scheme, arm, self.trail, plan.fabric.port_node)
        hooks = self.binding.hooks
        for name in HOOKS:
            setattr(self, name, hooks[name])
        self.reply_hooks: dict[int, Hook] = {
            ACK: hooks["on_ack"], NAK: hooks["on_ack"], CNP: hooks["on_cnp"], CREDIT: hooks["on_credit"],
            ADVERT: hooks["on_advert"], RETURN: hooks["on_return"],
        }  # fmt: skip
        self._has_requests = has_requests(scheme.components)
        self._ack_priority = scheme.ack_priority
        self.queue_limits = [queue_limit_bytes(scheme.queueing, cls) for cls in range(NUM_CLASSES)]
        """By class: the longest queue of a port in bytes, 0 for no limit."""
        self._packet_class = packet_class(scheme.components)
        self._transmissions = {script.key: 0 for script in plan.scripts}
        self._lost = {(*script.key, script.nth) for script in plan.scripts}
        self.messages: list[Message] = []
        self.qps: list[QueuePair] = []
        self.computation: list[Computation] = []
        self.unfinished = len(plan.waits_for)
        self.ended: list[int] = []  # awaited messages that have been delivered or have failed, since a user last looked
        self.own_ways = _own_ways(plan)  # routes that the workload prescribes: the port, by (route key, node)
        self.skipped: defaultdict[int, set[int]] = defaultdict(set)
        """By message: packets not yet sent although later ones were."""
        self.sent_bytes = self.accepted_bytes = self.discarded_bytes = self.dropped_bytes = self.trimmed_bytes = 0
        self.marked_arrivals = 0
        self.reply_counts = [0] * len(KIND_NAMES)

    def new_packet(self) -> Packet:
        """Return an empty packet, of kind NONE."""
        packet = self._packet_class()
        packet.priority = self._ack_priority
        return packet

    def new_request(self) -> Packet | None:
        """Return a packet for a sender's handlers to fill in, None if none of the scheme asks for one."""
        return self.new_packet() if self._has_requests else None

    def discard(self, packet: Packet, port: int, now: int) -> None:
        """Drop a packet at a port, or on the link behind it."""
        if self.trace is not None:
            self.trace.add(now, DROPPED, port, packet)
        self.dropped_bytes += packet.payload_bytes

    def is_scripted_loss(self, packet: Packet) -> bool:
        """Count a transmission that a script names; return whether the script loses it."""
        is_lost = False
        for psn in (packet.psn, -1):
            key = packet.message, packet.kind, psn
            if key in self._transmissions:
                self._transmissions[key] += 1
                is_lost |= (*key, self._transmissions[key]) in self._lost
        return is_lost


def _own_ways(plan: Plan) -> dict[tuple[int, int], int]:
    first, nodes, ports = (column.tolist() for column in plan.paths)
    steps = ((key, step) for key in range(len(first) - 1) for step in range(first[key], first[key + 1]))
    return {(key, nodes[step]): ports[step] for key, step in steps}
