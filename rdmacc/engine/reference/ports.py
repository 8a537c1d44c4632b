"""Ports: queues by class, a transmitter and the link behind it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rdmacc.engine.records import LinkLoss, Transmitter, Turns
from rdmacc.engine.reference.core import Core, Packet
from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.interface import CREDITS, DATA_CLASS, NUM_CLASSES, state
from rdmacc.rules import *


class Port(state.Port, Transmitter, ClassTurns, TokenBucket, Turns, LinkLoss):
    """One direction of a link: queues by class, a transmitter, and the packets under way.

    The components' records are attributes of it: `egress0`, ...
    """

    __slots__ = (
        "_arrival_rank", "_has_scripts", "_is_plain", "_limits", "_may_lose", "_wake_rank", "env", "flight", "net",
        "queueing", "queues", "receive", "reverse", "waiting_bytes",
    )  # fmt: skip

    receive: Callable[[Packet, Port, int], None]  # called with the packet and its input port at the far end of the link
    reverse: Port  # the peer's port back

    def __init__(self, net: Core, number: int) -> None:
        super().__init__()
        plan, fabric = net.plan, net.plan.fabric
        self.net, self.env, self.queueing = net, net.env, net.scheme.queueing
        self.number = number
        self._arrival_rank, self._wake_rank = DELIVER + number, WAKE + number
        self.link_class = int(fabric.port_class[number])
        self.climbs = int(fabric.port_climbs[number])
        self.rate_bps = float(fabric.port_rate_bps[number])
        self.byte_ps = float(fabric.port_byte_ps[number])
        self.delay_ps = int(fabric.port_delay_ps[number])
        self.chance_key = int(plan.chance_key[number])
        self.base_rtt_ps = plan.port_base_rtt_ps
        self.wire_bytes = plan.scheme.wire_bytes
        self.loss_key = int(plan.loss_key[number])
        self.loss_data, self.loss_control = float(plan.loss_data[number]), float(plan.loss_control[number])
        self._has_scripts = bool(plan.scripts) and bool(fabric.is_host[fabric.port_node[number]])
        self._may_lose = self._has_scripts or self.loss_data > 0.0 or self.loss_control > 0.0
        self.credit_tokens = float(self.queueing.credit_burst_bytes)
        turns = self.queueing.wrr_ratio or self.queueing.lanes
        limits = self.queueing.credit_fraction or self.queueing.control_limit_bytes
        self._is_plain = not (turns or limits or self.env.tick_ps)
        self.queues: list[deque[Packet]] = [deque() for _ in range(NUM_CLASSES)]
        self._limits = net.queue_limits
        self.waiting_bytes = [0] * DATA_CLASS  # of classes that are limited
        self.flight: deque[Packet] = deque()

    # Waiting

    def enqueue(self, packet: Packet, cls: int, now: int) -> None:
        """Send a packet at once if the port is idle; otherwise queue it in its class."""
        if self.is_idle(now):
            if cls >= DATA_CLASS:  # as if it had been in a queue of its own
                if packet.wire_bytes > self.peak_queue_bytes:
                    self.peak_queue_bytes = packet.wire_bytes
                self.depart(packet, now)
            self.transmit(packet, now)
        elif self.join_queue(packet, cls, now) and not self.is_wake_pending:
            self.kick(now)

    def is_idle(self, now: int) -> bool:
        """Return whether a packet that arrives now may leave at once, past its queue.

        Its queue would release it at once too, but a run of a large network, where most ports are idle, would take
        almost 1.5 times as long. Ports whose classes take turns or have limits always use their queues, which do the
        counting; so do ports with a tick.
        """
        if self.waiting or self.paused or self.is_wake_pending or self.is_down or not self._is_plain:
            return False
        return self.busy_until_ps <= now

    def join_queue(self, packet: Packet, cls: int, now: int) -> bool:
        """Put a packet into a class's queue, or drop it; return whether it is in."""
        if limit := self._limits[cls]:
            if not fits_queue(self.waiting_bytes[cls], packet.wire_bytes, limit):
                self.dropped_packets += 1
                self.net.discard(packet, self.number, now)
                return False
            self.waiting_bytes[cls] += packet.wire_bytes
        self.queues[cls].append(packet)
        self.waiting |= 1 << cls
        if cls >= DATA_CLASS:
            self.queue_bytes += packet.wire_bytes
            self.peak_queue_bytes = max(self.peak_queue_bytes, self.queue_bytes)
        return True

    def take(self, cls: int) -> Packet:
        """Remove the first packet of a class's queue."""
        queue = self.queues[cls]
        packet = queue.popleft()
        if not queue and not self.has_work(cls):
            self.waiting ^= 1 << cls
        if cls >= DATA_CLASS:
            self.queue_bytes -= packet.wire_bytes
            return packet
        if self._limits[cls]:
            self.waiting_bytes[cls] -= packet.wire_bytes
        if cls == CREDITS:
            spend_credit(self, packet.wire_bytes)
        return packet

    def has_work(self, cls: int) -> bool:
        """Return whether something waits in a class."""
        return bool(self.queues[cls])

    # Sending

    def kick(self, now: int) -> None:
        """Send now if the transmitter is free; otherwise wake up when it is."""
        if self.is_down:
            return
        if is_busy(self.env, self, now):
            self.wake_at_end()
        else:
            self.send_next(now)

    def wake_at_end(self) -> None:
        """Wake up when the transmission under way ends."""
        self.is_wake_pending = 1
        self.env.call_in_order(self.busy_until_ps, self._wake_rank, self.order, self._wake)

    def _wake(self, now: int) -> None:
        """The transmitter is free and something waits."""
        self.is_wake_pending = 0
        if not self.is_down:
            self.send_next(now)

    def send_next(self, now: int) -> None:
        """Send the first packet of the class whose turn it is."""
        cls = self.next_class(now)
        if cls < 0:
            return
        packet = self.take(cls)
        if cls >= DATA_CLASS:
            self.depart(packet, now)
        self.transmit(packet, now)
        if self.waiting & ~self.paused:
            self.wake_at_end()

    def depart(self, packet: Packet, now: int) -> None:
        """Handle a data packet that has left its queue for the link."""

    def next_class(self, now: int) -> int:
        """Return the class to serve, -1 for none; if only credits wait, wake up when the next one may go."""
        sendable = self.waiting & ~self.paused
        queueing = self.queueing
        if queueing.credit_fraction > 0.0 and sendable & 1 << CREDITS:
            ready_ps = credit_ready_ps(queueing, self, self.queues[CREDITS][0].wire_bytes, now)
            if ready_ps > now:
                sendable ^= 1 << CREDITS
                if not sendable and not self.is_shape_pending:
                    self.is_shape_pending = 1
                    self.env.call(ready_ps, SHAPE + self.number, self._shape)
        return choose_class(queueing, self, sendable) if sendable else -1

    def _shape(self, now: int) -> None:
        """The bucket holds enough for a credit."""
        self.is_shape_pending = 0
        if not self.is_wake_pending:
            self.kick(now)

    def transmit(self, packet: Packet, now: int) -> None:
        net = self.net
        put_on_link(self, packet, self.env, now)
        if net.trace is not None:
            net.trace.add(now, SENT, self.number, packet)
        if not self.flight:  # only the head of the packets under way has an event
            self.env.call_in_order(packet.arrival_ps, self._arrival_rank, packet.order, self._deliver)
        self.flight.append(packet)

    # The link

    def _deliver(self, now: int) -> None:
        """Deliver the first packet in flight, unless it was lost when the link went down."""
        flight = self.flight
        if not flight or flight[0].arrival_ps != now:
            return
        packet = flight.popleft()
        if flight:
            head = flight[0]
            self.env.call_in_order(head.arrival_ps, self._arrival_rank, head.order, self._deliver)
        if self._may_lose and (is_lost(self, packet) or (self._has_scripts and self.net.is_scripted_loss(packet))):
            self._lose(packet, now)
            return
        if self.net.trace is not None:
            self.net.trace.add(now, ARRIVED, self.number, packet)
        self.receive(packet, self.reverse, now)

    def _lose(self, packet: Packet, now: int) -> None:
        """Count a packet that the link has lost, and drop it."""
        self.lost_packets += 1
        self.net.discard(packet, self.number, now)

    # PFC and faults

    def pause_or_resume(self, packet: Packet, now: int) -> None:
        """Obey a PFC frame that came back over the link."""
        if obey(self, packet, now) and not self.is_wake_pending:
            self.kick(now)

    def send_frame(self, kind: int, cls: int, now: int) -> None:
        """Send a PFC frame, ahead of everything else."""
        if not self.is_down:
            frame = self.net.new_packet()
            write_frame(self.net.scheme.buffer, frame, kind, cls)
            self.enqueue(frame, frame.priority, now)

    def fail(self, now: int) -> None:
        """Lose what is under way and what waits; send nothing any more."""
        self.is_down = 1
        while self.flight:
            self._lose(self.flight.popleft(), now)
        for cls, queue in enumerate(self.queues):
            while queue:
                packet = self.take(cls)
                if cls >= DATA_CLASS:
                    self.give_back(packet, now)
                self._lose(packet, now)

    def give_back(self, packet: Packet, now: int) -> None:
        """Return a departing data packet's bytes to the buffer, if there is one."""

    def restore(self, now: int) -> None:
        """Bring the link back up; pauses in either direction are forgotten."""
        self.is_down = 0
        end_pause(self, now)

    def resume_work(self, now: int) -> None:
        """Send what waited for the link."""
        if self.waiting and not self.is_wake_pending:
            self.kick(now)

    def set_rate(self, rate_bps: float) -> None:
        """Set the rate of the link for what is sent from now on."""
        self.rate_bps, self.byte_ps = rate_bps, 8e12 / rate_bps
