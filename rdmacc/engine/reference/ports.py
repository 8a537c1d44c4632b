"""Ports: a switch's output with its queues, and a host's NIC, which takes data from its queue pairs."""

from __future__ import annotations

from collections import deque
from heapq import heappush
from typing import TYPE_CHECKING, Any

from rdmacc import state
from rdmacc.chance import uniform
from rdmacc.engine.ranks import NUMBER_BITS, pace_order
from rdmacc.engine.reference.events import RANKS, Wake, push
from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.records import NEVER
from rdmacc.state import CREDITS, DATA, DATA_CLASS, HOST_NIC, IDLE, MAC, NUM_CLASSES, PACING, PAUSE, READY
from rdmacc.units import transmission_ps

if TYPE_CHECKING:
    from rdmacc.engine.reference.network import Network

__all__ = ["NicPort", "Port", "SwitchPort"]

LOWEST = [-1] + [(mask & -mask).bit_length() - 1 for mask in range(1, 1 << NUM_CLASSES)]
"""The first class of a set of classes, by the set's bit mask; -1 for the empty set."""


class Port(state.Port):
    """One direction of a link: queues by class, a transmitter, and the packets under way."""

    __slots__ = (
        "_deliver",
        "_deliver_rank",
        "_events",
        "_net",
        "_shape_rank",
        "_transmission_ps",
        "_wake",
        "_wake_rank",
        "busy_until_ps",
        "byte_ps",
        "class_bytes",
        "credit_tokens",
        "credit_updated_ps",
        "delay_ps",
        "flight",
        "headroom_bytes",
        "headroom_used",
        "ingress_bytes",
        "is_down",
        "is_shape_pending",
        "is_wake_pending",
        "last_lane",
        "loss_control",
        "loss_count",
        "loss_data",
        "loss_key",
        "node",
        "order",
        "pause_sent",
        "paused_since_ps",
        "queues",
        "receive",
        "reverse",
        "waiting",
        "wrr_count",
    )  # fmt: skip

    def __init__(self, net: Network, number: int) -> None:
        super().__init__()
        fabric, plan = net.plan.fabric, net.plan
        self._net = net
        self.number = number
        self.link_class = int(fabric.port_class[number])
        self.climbs = int(fabric.port_climbs[number])
        self.rate_bps = float(fabric.port_rate_bps[number])
        self.byte_ps = float(fabric.port_byte_ps[number])
        self.delay_ps = int(fabric.port_delay_ps[number])
        self.chance_key = int(plan.chance_key[number])
        self.loss_key, self.loss_count = int(plan.loss_key[number]), 0
        self.loss_data, self.loss_control = float(plan.loss_data[number]), float(plan.loss_control[number])
        self.queues: list[deque[Any]] = [deque() for _ in range(NUM_CLASSES)]
        self.waiting = 0  # bit mask of the classes that have something to send
        self.paused_since_ps = 0
        self.busy_until_ps = 0
        self.is_wake_pending = False
        self.flight: deque[Any] = deque()
        self._transmission_ps: dict[int, int] = {}
        self._deliver, self._deliver_rank = Wake(self.deliver), RANKS["deliver"] + number
        self._wake, self._wake_rank = Wake(self.wake), RANKS["wake"] + number
        self._events = net.env._queue
        # PFC of the switch that this port belongs to, for what arrives over the link's other direction.
        self.ingress_bytes = [0] * NUM_CLASSES
        self.headroom_used = [0] * NUM_CLASSES
        self.headroom_bytes = 0
        self.pause_sent = 0
        # Classes that are limited or share the link by weight, and the credits' token bucket.
        self._shape_rank = RANKS["shape"] + number
        self.class_bytes = [0] * DATA_CLASS
        self.credit_tokens = float(net.queueing.credit_burst_bytes)
        self.credit_updated_ps = 0
        self.is_shape_pending = False
        self.wrr_count = 0
        self.last_lane = NUM_CLASSES
        self.is_down = False
        self.order = 0  # of the transmission under way
        self.node: Any = None
        self.receive: Any = None
        self.reverse: Any = None

    def enqueue(self, packet: Any, now: int) -> None:
        """Append a packet to its class's queue and see that it will be sent."""
        if self.join_queue(packet, now) and not self.is_wake_pending:
            self.kick(now)

    def join_queue(self, packet: Any, now: int) -> bool:
        """Put a packet into its class's queue, or drop it; return whether it is in."""
        cls = packet.priority
        if cls < DATA_CLASS and self._net.limits[cls]:
            if self.class_bytes[cls] + packet.wire_bytes > self._net.limits[cls]:
                self.dropped_packets += 1
                self._net.discard(packet, self, now)
                return False
            self.class_bytes[cls] += packet.wire_bytes
        self.queues[cls].append(packet)
        self.waiting |= 1 << cls
        if cls >= DATA_CLASS:
            self.queue_bytes += packet.wire_bytes
            if self.queue_bytes > self.peak_queue_bytes:
                self.peak_queue_bytes = self.queue_bytes
        return True

    def next_class(self, now: int) -> int:
        """Return the class to serve, -1 for none: by priority, but for weighted and rate-limited classes."""
        if self._net.is_strict:
            return LOWEST[self.waiting & ~self.paused]
        sendable = self.waiting & ~self.paused
        queueing = self._net.queueing
        if sendable & 1 << CREDITS and queueing.credit_fraction:
            ready_ps = self.credit_ready_ps(now)
            if ready_ps > now:
                sendable ^= 1 << CREDITS
                if not sendable and not self.is_shape_pending:
                    self.is_shape_pending = True
                    push(self._net.env, ready_ps, self._shape_rank, self.shape)
        if not sendable:
            return -1
        cls = LOWEST[sendable]
        if queueing.wrr_ratio and cls == queueing.wrr_first and sendable & 1 << queueing.wrr_second:
            if self.wrr_count >= queueing.wrr_ratio:
                self.wrr_count = 0
                return queueing.wrr_second
            self.wrr_count += 1
        if DATA_CLASS <= cls < DATA_CLASS + queueing.lanes:
            waiting = sendable & (1 << DATA_CLASS + queueing.lanes) - 1
            later = waiting & -2 << self.last_lane
            cls = self.last_lane = LOWEST[later or waiting]
        return cls

    def credit_ready_ps(self, now: int) -> int:
        """Fill the token bucket; return when it holds enough for the first credit."""
        queueing = self._net.queueing
        earned = (now - self.credit_updated_ps) / self.byte_ps * queueing.credit_fraction
        self.credit_tokens = min(float(queueing.credit_burst_bytes), self.credit_tokens + earned)
        self.credit_updated_ps = now
        missing = self.queues[CREDITS][0].wire_bytes - self.credit_tokens
        if missing <= 0.0:
            return now
        return now + int(missing * self.byte_ps / queueing.credit_fraction) + 1

    def shape(self, _: Any) -> None:
        """The bucket holds enough for a credit."""
        self.is_shape_pending = False
        if not self.is_wake_pending:
            self.kick(self._net.env._now)

    def take(self, cls: int) -> Any:
        """Remove the first packet of a class's queue."""
        packet = self.queues[cls].popleft()
        if cls < DATA_CLASS:
            if self._net.limits[cls]:
                self.class_bytes[cls] -= packet.wire_bytes
            if cls == CREDITS:
                self.credit_tokens -= packet.wire_bytes
        return packet

    def kick(self, now: int) -> None:
        """Send now if the transmitter is free, else wake up when it is."""
        if self.is_down:
            return
        if self.busy_until_ps > now:
            self.wake_at_end()
        else:
            self.send_next(now)

    def wake_at_end(self) -> None:
        """Wake up when the transmission under way ends."""
        self.is_wake_pending = True
        heappush(
            self._events, (self.busy_until_ps, self._wake_rank + (self.order << NUMBER_BITS), 0, self._wake.rearm())
        )

    def wake(self, _: Any) -> None:
        """The transmitter is free and something waits."""
        self.is_wake_pending = False
        if not self.is_down:
            self.send_next(self._net.env._now)

    def send_next(self, now: int) -> None:
        """Send the first packet of the highest class that is not paused."""
        raise NotImplementedError

    def transmit(self, packet: Any, now: int) -> None:
        """Put a packet on the link."""
        wire = packet.wire_bytes
        duration = self._transmission_ps.get(wire)
        if duration is None:
            duration = self._transmission_ps[wire] = transmission_ps(wire, self.byte_ps, self._net.tick_ps)
        self.busy_until_ps = end = now + duration
        self.tx_bytes += wire
        if packet.kind == DATA:
            self.tx_data_packets += 1
        else:
            self.tx_control_packets += 1
        if self._net.trace is not None:
            self._net.trace.add(now, SENT, self.number, packet)
        packet.order = self.order = order = self._net.next_order()
        packet.arrival_ps = arrival = end + self.delay_ps
        flight = self.flight
        if not flight:  # only the head of the packets under way has an event
            heappush(self._events, (arrival, self._deliver_rank + (order << NUMBER_BITS), 0, self._deliver.rearm()))
        flight.append(packet)

    def deliver(self, event: Wake) -> None:
        """The head of the packets under way has arrived."""
        flight = self.flight
        if not flight:  # the link went down
            return
        packet = flight.popleft()
        if flight:
            rank = self._deliver_rank + (flight[0].order << NUMBER_BITS)
            heappush(self._events, (flight[0].arrival_ps, rank, 0, event.rearm()))
        net = self._net
        if self.loss_data or self.loss_control:
            loss = self.loss_data if packet.kind == DATA else self.loss_control
            if loss and packet.priority != MAC:
                self.loss_count += 1
                if uniform(self.loss_key, self.loss_count) < loss:
                    self.lost_packets += 1
                    net.discard(packet, self, packet.arrival_ps)
                    return
        if net.scripts and self.link_class == HOST_NIC and net.is_scripted_loss(packet):
            self.lost_packets += 1
            net.discard(packet, self, packet.arrival_ps)
            return
        if net.trace is not None:
            net.trace.add(packet.arrival_ps, ARRIVED, self.number, packet)
        self.receive(packet, self.reverse, packet.arrival_ps)

    def pause_or_resume(self, packet: Any, now: int) -> None:
        """Obey a PFC frame that came back over the link."""
        bit = 1 << packet.psn
        if packet.kind == PAUSE:
            self.pauses += 1
            if not self.paused:
                self.paused_since_ps = now
            self.paused |= bit
        elif self.paused & bit:
            self.paused ^= bit
            if not self.paused:
                self.paused_ps += now - self.paused_since_ps
            if not self.is_wake_pending:
                self.kick(now)

    def fail(self, now: int) -> None:
        """Lose what is under way and what waits; send nothing any more."""
        self.is_down = True
        lost = list(self.flight)
        self.flight.clear()
        for cls, queue in enumerate(self.queues):
            while queue:
                packet = self.take(cls)
                if cls >= DATA_CLASS:
                    self.queue_bytes -= packet.wire_bytes
                    if self.link_class != HOST_NIC:
                        self.node.release(packet, now)
                lost.append(packet)
        for packet in lost:
            self.lost_packets += 1
            self._net.discard(packet, self, now)


class SwitchPort(Port):
    """An output of a switch."""

    __slots__ = ()

    def send_next(self, now: int) -> None:
        """Send the first packet of the highest class that is not paused."""
        cls = self.next_class(now)
        if cls < 0:
            return
        packet = self.take(cls)
        if not self.queues[cls]:
            self.waiting ^= 1 << cls
        if cls >= DATA_CLASS:
            self.queue_bytes -= packet.wire_bytes
            net = self._net
            if net.on_dequeue is not None:
                was_marked = packet.ce
                net.on_dequeue(self, packet, now)
                if packet.ce and not was_marked:
                    self.marked_packets += 1
            self.node.release(packet, now)
        self.transmit(packet, now)
        if self.waiting & ~self.paused:
            self.wake_at_end()


class NicPort(Port):
    """A host's port: replies wait in queues, data packets are made when a queue pair's turn comes.

    Queue pairs that may send wait in one line for each class and go round robin.
    """

    __slots__ = ("ready",)

    def __init__(self, net: Network, number: int) -> None:
        super().__init__(net, number)
        self.ready: list[deque[Any]] = [deque() for _ in range(NUM_CLASSES)]

    def send_next(self, now: int) -> None:
        """Send a waiting packet, or the next one of the queue pair at the head of the line."""
        while (cls := self.next_class(now)) >= 0:
            queue, line = self.queues[cls], self.ready[cls]
            if queue:
                packet = self.take(cls)
                if not queue and not line:
                    self.waiting ^= 1 << cls
                if cls >= DATA_CLASS:
                    self.queue_bytes -= packet.wire_bytes
                self.transmit(packet, now)
                break
            qp = line.popleft() if self._net.is_round_robin else self.take_shortest(line)
            if not line:
                self.waiting ^= 1 << cls
            self.queue_bytes -= self._net.wire_bytes
            qp.state = IDLE
            message = qp.sendable_message()
            if message is None or qp.next_start_ps(now) > now:  # its rate or window has changed since it queued
                self.schedule(qp, now)
                continue
            self.send_data(qp, message, now)
            self.schedule(qp, now)
            break
        if self.waiting & ~self.paused and not self.is_wake_pending:
            self.wake_at_end()

    @staticmethod
    def take_shortest(line: deque[Any]) -> Any:
        """Remove the queue pair whose message has the fewest packets left to send."""
        qp = min(line, key=lambda qp: (qp.remaining_packets(), qp.number))
        line.remove(qp)
        return qp

    def send_data(self, qp: Any, message: Any, now: int) -> None:
        """Make the message's next packet and put it on the link."""
        net = self._net
        psn = message.next_psn
        packet = net.new_packet()
        packet.kind = DATA
        packet.priority = message.priority
        packet.message = message.number
        packet.qp = qp.number
        packet.dst = qp.dst
        packet.psn = psn
        payload = net.payload_bytes
        if psn == message.packets - 1:
            payload = message.size_bytes - psn * payload
        packet.payload_bytes = payload
        packet.wire_bytes = max(payload + net.header_bytes, net.least_wire_bytes)
        packet.sent_ps = now if not net.has_clocks else net.clock(self.node, now)
        message.next_psn = psn + 1
        if psn < message.highest_psn:
            message.retransmissions += 1
        else:
            message.highest_psn = psn + 1
        qp.inflight_bytes += payload
        qp.credits -= 1
        net.sent_bytes += payload
        request = None
        if net.on_send is not None:
            request = net.new_request()
            net.on_send(qp, message, packet, request, now)
        if net.marks_at_nic:
            if net.on_enqueue is not None:
                net.on_enqueue(self, packet, now)
            if net.on_dequeue is not None:
                net.on_dequeue(self, packet, now)
            if packet.ce:
                self.marked_packets += 1
        qp.last_start_ps = now
        qp.last_wire_bytes = packet.wire_bytes
        self.transmit(packet, now)
        if request is not None and net.address_request(request, qp, message, now):
            self.join_queue(request, now)  # the caller sees to its turn

    def schedule(self, qp: Any, now: int) -> None:
        """Put a queue pair in line, or wait for its pacing time, or for what it lacks."""
        if qp.state == READY:
            return
        message = qp.sendable_message()
        start_ps = NEVER if message is None else qp.next_start_ps(now)
        if start_ps >= NEVER:
            qp.state = IDLE
            qp.pace_timer_ps = NEVER
            if self._net.tick_ps and qp.next_start_ps(now) > max(now, self.busy_until_ps):
                self.arm_pacing(qp, qp.next_start_ps(now), now)  # its place in the order does not wait for the window
        elif start_ps <= now or start_ps <= self.busy_until_ps:
            qp.state = READY
            qp.pace_timer_ps = NEVER
            cls = message.priority
            self.ready[cls].append(qp)
            self.waiting |= 1 << cls
            self.queue_bytes += self._net.wire_bytes
            if self.queue_bytes > self.peak_queue_bytes:
                self.peak_queue_bytes = self.queue_bytes
            if not self.is_wake_pending:
                self.kick(now)
        else:
            qp.state = PACING
            qp.pace_timer_ps = start_ps
            self.arm_pacing(qp, start_ps, now)

    def arm_pacing(self, qp: Any, start_ps: int, now: int) -> None:
        """See to it that there is an event when the next packet may leave."""
        tick_ps = self._net.tick_ps
        is_later = tick_ps and self.busy_until_ps > now and start_ps > qp.pace_timer_armed  # it was not set before
        if start_ps < qp.pace_timer_armed or is_later:
            qp.pace_timer_armed = start_ps
            order = 0
            if tick_ps:
                order = pace_order((start_ps - max(now, self.busy_until_ps)) // tick_ps, self.order)
            push(self._net.env, start_ps, RANKS["pace"] + (order << NUMBER_BITS) + qp.number, qp.pace)
