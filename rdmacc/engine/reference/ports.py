"""Ports: queues by class, a transmitter and the link behind it."""

from __future__ import annotations

from collections import deque
from heapq import heappush
from typing import Any

from rdmacc import state
from rdmacc.engine.ranks import ORDER_SHIFT
from rdmacc.engine.records import LinkLoss, Transmitter, Turns
from rdmacc.engine.reference.events import push
from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.rules.admission import IngressAccount, fits_queue
from rdmacc.rules.classes import ClassTurns, choose_class, first_class
from rdmacc.rules.credits import TokenBucket, credit_ready_ps, spend_credit
from rdmacc.rules.links import end_pause, is_busy, is_lost, put_on_link
from rdmacc.rules.pfc import obey, write_frame
from rdmacc.state import CREDITS, DATA_CLASS, NUM_CLASSES, PAUSE

__all__ = ["Ingress", "Port", "SwitchPort"]

FIRST_CLASS = [-1] + [first_class(classes) for classes in range(1, 1 << NUM_CLASSES)]
"""The first class of each set of classes; -1 for the empty set."""


class Ingress(IngressAccount):
    """The account of what came in through a port in a class."""

    __slots__ = ("cls", "in_port")

    def __init__(self, in_port: Port, cls: int) -> None:
        super().__init__()
        self.in_port, self.cls = in_port, cls


class Port(state.Port, Transmitter, ClassTurns, TokenBucket, Turns, LinkLoss):
    """One direction of a link: queues by class, a transmitter, and the packets under way."""

    __slots__ = (
        "_deliver",
        "_deliver_rank",
        "_events",
        "_may_lose",
        "_net",
        "_wake",
        "_wake_rank",
        "at_host",
        "flight",
        "ingress",
        "node",
        "queues",
        "receive",
        "reverse",
        "waiting_bytes",
    )

    def __init__(self, net: Any, number: int) -> None:
        super().__init__()
        fabric, plan = net.plan.fabric, net.plan
        self._net = net
        self.number = number
        self.link_class = int(fabric.port_class[number])
        self.at_host = bool(fabric.is_host[fabric.port_node[number]])
        self.climbs = int(fabric.port_climbs[number])
        self.rate_bps = float(fabric.port_rate_bps[number])
        self.byte_ps = float(fabric.port_byte_ps[number])
        self.delay_ps = int(fabric.port_delay_ps[number])
        self.chance_key = int(plan.chance_key[number])
        self.base_rtt_ps = int(plan.qp_base_rtt_ps.max())
        self.loss_key = int(plan.loss_key[number])
        self.loss_data, self.loss_control = float(plan.loss_data[number]), float(plan.loss_control[number])
        self.credit_tokens = float(net.queueing.credit_burst_bytes)
        self.queues: list[deque[Any]] = [deque() for _ in range(NUM_CLASSES)]
        self.waiting_bytes = [0] * DATA_CLASS  # of classes that are limited
        self.flight: deque[Any] = deque()
        self._may_lose = bool(self.loss_data or self.loss_control or (net.scripts and self.at_host))
        self._deliver_rank, self._wake_rank = net.ranks["deliver"] + number, net.ranks["wake"] + number
        self._deliver, self._wake = self.deliver, self.wake  # bound once
        self._events = net.env._queue
        # What came in over the link's other direction, by class; its room beyond the threshold is for that link.
        self.ingress = [Ingress(self, cls) for cls in range(NUM_CLASSES)]
        for account in self.ingress:
            account.headroom_bytes = int(plan.headroom_bytes[fabric.port_reverse[number]])
        self.node: Any = None
        self.receive: Any = None
        self.reverse: Any = None

    def enqueue(self, packet: Any, cls: int, now: int) -> None:
        """Append a packet to a class's queue and see that it will be sent."""
        if self.join_queue(packet, cls, now) and not self.is_wake_pending:
            self.kick(now)

    def depart(self, packet: Any, now: int) -> None:
        """Do what a data packet's end of waiting brings with it."""

    def join_queue(self, packet: Any, cls: int, now: int) -> bool:
        """Put a packet into a class's queue, or drop it; return whether it is in."""
        if cls < DATA_CLASS and (limit := self._net.limits[cls]):
            if not fits_queue(self.waiting_bytes[cls], packet.wire_bytes, limit):
                self.dropped_packets += 1
                self._net.discard(packet, self, now)
                return False
            self.waiting_bytes[cls] += packet.wire_bytes
        self.queues[cls].append(packet)
        self.waiting |= 1 << cls
        if cls >= DATA_CLASS:
            self.queue_bytes += packet.wire_bytes
            if self.queue_bytes > self.peak_queue_bytes:
                self.peak_queue_bytes = self.queue_bytes
        return True

    def next_class(self, now: int) -> int:
        """Return the class to serve, -1 for none; wake up when the next credit may go if nothing else may.

        Where classes are strict it is the first: `send_next` looks that up.
        """
        sendable = self.waiting & ~self.paused
        net, queueing = self._net, self._net.queueing
        if queueing.credit_fraction > 0.0 and sendable & 1 << CREDITS:
            ready_ps = credit_ready_ps(queueing, self, self.queues[CREDITS][0].wire_bytes, now)
            if ready_ps > now:
                sendable ^= 1 << CREDITS
                if not sendable and not self.is_shape_pending:
                    self.is_shape_pending = 1
                    push(net.env, ready_ps, net.rank("shape", self.number), self.shape)
        return choose_class(queueing, self, sendable) if sendable else -1

    def shape(self, now: int) -> None:
        """The bucket holds enough for a credit."""
        self.is_shape_pending = 0
        if not self.is_wake_pending:
            self.kick(now)

    def take(self, cls: int) -> Any:
        """Remove the first packet of a class's queue."""
        packet = self.queues[cls].popleft()
        if cls >= DATA_CLASS:
            self.queue_bytes -= packet.wire_bytes
            return packet
        if self._net.limits[cls]:
            self.waiting_bytes[cls] -= packet.wire_bytes
        if cls == CREDITS:
            spend_credit(self, packet.wire_bytes)
        return packet

    def kick(self, now: int) -> None:
        """Send now if the transmitter is free, else wake up when it is."""
        if self.is_down:
            return
        if is_busy(self._net, self, now):
            self.wake_at_end()
        else:
            self.send_next(now)

    def wake_at_end(self) -> None:
        """Wake up when the transmission under way ends."""
        self.is_wake_pending = 1
        rank = self._wake_rank
        if self.order:
            rank += self.order << ORDER_SHIFT
        heappush(self._events, (self.busy_until_ps, rank, 0, self._wake))

    def wake(self, now: int) -> None:
        """The transmitter is free and something waits."""
        self.is_wake_pending = 0
        if not self.is_down:
            self.send_next(now)

    def send_next(self, now: int) -> None:
        """Send the first packet of the highest class that is not paused."""
        raise NotImplementedError

    def transmit(self, packet: Any, now: int) -> None:
        """Put a packet on the link."""
        net = self._net
        put_on_link(self, packet, net.tick_ps, now)
        if net.trace is not None:
            net.trace.add(now, SENT, self.number, packet)
        if net.tick_ps:
            packet.order = self.order = net.next_order()
        flight = self.flight
        if not flight:  # only the head of the packets under way has an event
            rank = self._deliver_rank
            if self.order:
                rank += self.order << ORDER_SHIFT
            heappush(self._events, (packet.arrival_ps, rank, 0, self._deliver))
        flight.append(packet)

    def deliver(self, now: int) -> None:
        """The head of the packets under way has arrived."""
        flight = self.flight
        if not flight:  # the link went down
            return
        if flight[0].arrival_ps != now:  # the event is of a packet that was lost when the link went down
            return
        packet = flight.popleft()
        if flight:
            after = flight[0]
            rank = self._deliver_rank
            if after.order:
                rank += after.order << ORDER_SHIFT
            heappush(self._events, (after.arrival_ps, rank, 0, self._deliver))
        if self._may_lose and self.is_lost(packet):
            self._lose(packet, now)
            return
        if self._net.trace is not None:
            self._net.trace.add(now, ARRIVED, self.number, packet)
        self.receive(packet, self.reverse, now)

    def is_lost(self, packet: Any) -> bool:
        """Tell whether the link loses a packet: by chance, or because a script says so."""
        if is_lost(self, packet):
            return True
        return bool(self._net.scripts) and self.at_host and self._net.is_scripted_loss(packet)

    def pause_or_resume(self, packet: Any, now: int) -> None:
        """Obey a PFC frame that came back over the link."""
        if obey(self, packet, now) and not self.is_wake_pending:
            self.kick(now)

    def fail(self, now: int) -> None:
        """Lose what is under way and what waits; send nothing any more."""
        self.is_down = 1
        while self.flight:
            self._lose(self.flight.popleft(), now)
        for cls, queue in enumerate(self.queues):
            while queue:
                packet = self.take(cls)
                if cls >= DATA_CLASS and not self.at_host:
                    self.node.release(packet, now)
                self._lose(packet, now)
        self.waiting = self.ready_classes()

    def ready_classes(self) -> int:
        """Return a bit for each class in which something else than a packet waits."""
        return 0

    def restore(self, now: int) -> None:
        """The link is back: neither side knows of a pause, so tell the neighbour of those that hold."""
        self.is_down = 0
        end_pause(self, now)
        for account in self.ingress:
            if account.pause_sent:
                self.node.send_pfc(account, PAUSE, now)

    def resume_work(self, now: int) -> None:
        """Send what waited for the link."""
        if self.waiting and not self.is_wake_pending:
            self.kick(now)

    def set_rate(self, rate_bps: float) -> None:
        """Set the rate of the link for what is sent from now on."""
        self.rate_bps, self.byte_ps = rate_bps, 8e12 / rate_bps

    def storm(self, kind: int, now: int) -> None:
        """Send a PFC frame for each data class."""
        if self.is_down:
            return
        for cls in range(DATA_CLASS, NUM_CLASSES):
            frame = self._net.new_packet()
            write_frame(self._net.plan.scheme.buffer, frame, kind, cls)
            self.enqueue(frame, frame.priority, now)

    def _lose(self, packet: Any, now: int) -> None:
        """Count a packet that the link has lost, and drop it."""
        self.lost_packets += 1
        self._net.discard(packet, self, now)


class SwitchPort(Port):
    """An output of a switch."""

    __slots__ = ()

    def send_next(self, now: int) -> None:
        """Send the first packet of the highest class that is not paused."""
        net = self._net
        cls = FIRST_CLASS[self.waiting & ~self.paused] if net.is_strict else self.next_class(now)
        if cls < 0:
            return
        packet = self.take(cls)
        if not self.queues[cls]:
            self.waiting ^= 1 << cls
        if cls >= DATA_CLASS:
            self.depart(packet, now)
        self.transmit(packet, now)
        if self.waiting & ~self.paused:
            self.wake_at_end()

    def depart(self, packet: Any, now: int) -> None:
        """Let switch features see a data packet that has left its queue; give its bytes back to the buffer."""
        net = self._net
        if net.on_dequeue is not None and not self.node.is_nic:
            was_marked = packet.ce
            net.on_dequeue(self, packet, now)
            if packet.ce and not was_marked:
                self.marked_packets += 1
        self.node.release(packet, now)
