"""Components for random scenarios: each does, at odd times, what handlers may do; the engines must agree on it."""

from dataclasses import dataclass

from rdmacc.interface import (
    ADVERT,
    CREDIT,
    DEFLECT,
    DROP,
    IN_NETWORK,
    REQUEST,
    TRIM,
    TRIM_TAIL,
    Bits,
    Byte,
    Component,
    Deadline,
    Int,
    Int32,
    Ints,
    Record,
    clear_bit,
    find_clear,
    find_set,
    has_bit,
    param,
    set_bit,
    uniform,
)


@dataclass(frozen=True, kw_only=True)
class Trimmer(Component):
    """Trim this packet or the last one of the queue, by the toss of a coin, when the queue is long."""

    limit_bytes: int = param("8kB", "longest queue")

    def on_enqueue(params, port, packet):
        if port.queue_bytes > 3 * params.limit_bytes:
            packet.verdict = DROP
        elif port.queue_bytes > params.limit_bytes:
            heads = uniform(port.chance_key, port.chance_count) < 0.5
            port.chance_count += 1
            packet.verdict = TRIM if heads else TRIM_TAIL


@dataclass(frozen=True, kw_only=True)
class Deflector(Component):
    """Divert the first packet of a message when its port is crowded, and the others after it."""

    threshold_bytes: int = param("5kB", "crowded above this")

    class Chip(Record):
        messages = Ints(4, -1)
        ports = Ints(4, -1)
        taken = Int32()

    class Header(Record):
        tokens = Byte()

    def on_send(packet):
        packet.tokens = 2

    def on_route(params, port, chip, message, packet):
        for i in range(4):
            if chip.messages[i] == message.number * 4 + packet.tokens:
                packet.route = chip.ports[i]
                packet.tokens -= 1
                return
        if packet.psn == 0 and packet.tokens > 0 and port.link_class == IN_NETWORK:
            if port.queue_bytes >= params.threshold_bytes:
                packet.verdict = DEFLECT

    def on_deflect(port, chip, message, packet):
        chip.messages[chip.taken] = message.number * 4 + packet.tokens
        chip.ports[chip.taken] = port.number
        chip.taken = (chip.taken + 1) % 4
        packet.tokens -= 1


@dataclass(frozen=True, kw_only=True)
class Picker(Component):
    """A receiver that occasionally sends something to the shortest incoming message."""

    class Endpoint(Record):
        tick_timer_ps = Deadline()
        ticks = Int32()

    class Header(Record):
        reading_ps = Int()

    class Sender(Record):
        heard_ps = Int()

    def on_data(endpoint, host, packet, reply, now):
        reply.reading_ps = host.clock_ps - packet.sent_ps
        if endpoint.tick_timer_ps > now + 3_000_000:
            endpoint.tick_timer_ps = now + 3_000_000

    def on_tick_timer(endpoint, host, now):
        endpoint.ticks += 1
        host.pick = 1 + endpoint.ticks % 3

    def on_candidate(message):
        message.key = message.packets - message.received_packets

    def on_pick(host, endpoint, reply, now):
        reply.kind = CREDIT
        if endpoint.ticks % 2 == 0:
            endpoint.ticks += 1
            host.pick = 1

    def on_credit(sender, packet, now):
        sender.heard_ps = now

    def on_ack(sender, packet):
        sender.heard_ps = packet.reading_ps


@dataclass(frozen=True, kw_only=True)
class Marker(Component):
    """Flag the first packets of each message as unscheduled."""

    packets: int = param(10, "a count")

    def on_send(params, packet):
        packet.unscheduled = packet.psn < params.packets


@dataclass(frozen=True, kw_only=True)
class RttWriter(Component):
    """Tell RCP's links an RTT."""

    def on_send(qp, packet):
        packet.rcp_rtt_ps = qp.base_rtt_ps


@dataclass(frozen=True, kw_only=True)
class Talker(Component):
    """Both sides send packets other than data whenever they can, and keep sets of packets."""

    class Sender(Record):
        talk_timer_ps = Deadline()
        talks = Int32()

    class Transfer(Record):
        ping_timer_ps = Deadline()
        pings = Int32()
        returned = Int32()
        answered = Bits()
        seen = Bits()
        first_missing = Int32()
        holes = Int32()

    class Header(Record):
        word = Int32()

    def on_start(sender, message, transfer, request, now):
        request.kind = REQUEST
        request.word = 1
        request.wire_bytes = 40 + message.number
        transfer.ping_timer_ps = now + 3_000_000
        sender.talk_timer_ps = min(sender.talk_timer_ps, now + 2_000_000)

    def on_send(message, packet, request):
        if packet.psn % 5 == 4:
            request.kind = REQUEST
            request.psn = packet.psn
            if packet.psn % 2:
                request.priority = message.priority

    def on_ack(packet, request):
        if packet.psn % 4 == 3:
            request.kind = REQUEST
            request.psn = packet.psn

    def on_credit(message, transfer, packet, request):
        set_bit(transfer.answered, packet.word % message.packets)
        if packet.word == 1:
            request.kind = REQUEST
            request.word = 2 + find_clear(transfer.answered, 0, message.packets)

    def on_return(transfer, packet, request):
        transfer.returned += 1
        request.kind = REQUEST
        request.psn = packet.psn

    def on_talk_timer(sender, request, now):
        sender.talks += 1
        request.kind = REQUEST
        request.psn = sender.talks
        if sender.talks < 4:
            sender.talk_timer_ps = now + 4_000_000

    def on_ping_timer(transfer, reply, request, now):
        transfer.pings += 1
        request.kind = REQUEST
        reply.kind = CREDIT
        reply.word = 1 + transfer.pings
        if transfer.pings < 3:
            transfer.ping_timer_ps = now + 5_000_000

    def on_request(packet, reply, notice):
        reply.kind = CREDIT
        reply.word = packet.word
        if packet.psn % 3:
            notice.kind = ADVERT

    def on_data(message, transfer, packet):
        set_bit(transfer.seen, packet.psn)
        transfer.first_missing = find_clear(transfer.seen, transfer.first_missing, message.packets)
        transfer.holes += int(find_set(transfer.seen, transfer.first_missing, message.packets) < message.packets)
        if has_bit(transfer.seen, message.packets - 1) and packet.psn % 7 == 0:
            clear_bit(transfer.seen, packet.psn)
