"""The rules of messages, queue pairs and packets by hand, at their boundaries.

As Python calls them: the kernel compiles the same functions (`tests.rules.test_rules`), and the engines' agreement
shows that they do the same there.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rdmacc import state
from rdmacc.engine.records import ComputationProgress, MessageProgress, QueuePairUse, Transit, Transmitter
from rdmacc.records import NEVER
from rdmacc.rules import addressing, links, pacing, progress, routing
from rdmacc.rules.progress import HAS_WAITED
from rdmacc.schemes import Scheme
from rdmacc.state import ACK, CNP, CONTROL, DATA, DATA_CLASS, IDLE, IN_NETWORK, LAST_HOP, NAK, PACING, READY, REQUEST
from rdmacc.switch.queueing import ROUTINGS


class Message(state.Message, MessageProgress):
    """As both engines' messages."""


class QueuePair(state.QueuePair, QueuePairUse):
    """As both engines' queue pairs."""

    pace_timer_armed: int


class Packet(state.Packet, Transit):
    """As both engines' packets."""


class Port(state.Port, Transmitter):
    """As both engines' ports."""


def record(make, /, **values):
    made = make()
    for name, value in values.items():
        assert hasattr(made, name)
        setattr(made, name, value)
    return made


# Progress of messages


def test_a_delay_before_the_start_comes_once():
    message = record(Message)
    assert progress.starts_later(message, 50, 100)
    assert not progress.starts_later(message, 50, 150)
    assert message.start_ps == 100
    assert not progress.starts_later(record(Message), 0, 100)


@pytest.mark.parametrize(("psn", "highest", "is_next", "after"), [(3, 3, True, 4), (2, 3, False, 3), (5, 3, False, 3)])
def test_the_first_packet_never_sent_is_in_order(psn, highest, is_next, after):
    message = record(Message, highest_psn=highest)
    assert progress.sends_in_order(message, psn) == is_next
    assert (message.next_psn, message.highest_psn) == (psn + 1, after)


def test_a_message_is_delivered_once():
    message = record(Message, packets=2, received_packets=1)
    assert not progress.is_delivered(message, 10)
    message.received_packets = 2
    assert progress.is_delivered(message, 20)
    assert not progress.is_delivered(message, 30)
    assert message.delivered_ps == 20


@pytest.mark.parametrize(
    ("una", "failed", "is_open", "expected"),
    [(2, 0, 1, (True, 70)), (1, 0, 1, (False, -1)), (1, 1, 1, (True, -1)), (2, 0, 0, (False, -1))],
)
def test_an_open_message_ends_when_acknowledged_or_given_up(una, failed, is_open, expected):
    message = record(Message, packets=2, una_psn=una, failed=failed, is_open=is_open)
    assert (progress.has_ended(message, 70), message.acked_ps) == expected


@pytest.mark.parametrize(("failed", "inflight"), [(0, 1500), (1, 0)])
def test_what_is_in_flight_of_a_message_given_up_does_not_count(failed, inflight):
    """Packets 1 and 2 of 1,000 B and 500 B are not acknowledged."""
    qp = record(QueuePair, active_messages=1, inflight_bytes=1500, remaining=1)
    message = record(Message, is_open=1, failed=failed, next_psn=3, una_psn=1, payload_bytes=1000, size_bytes=2500)
    progress.close_message(qp, message)
    assert (qp.inflight_bytes, qp.active_messages, message.is_open) == (inflight, 0, 0)
    assert not progress.close_pair(qp)
    qp.remaining = 0
    assert progress.close_pair(qp)
    assert qp.closed == 1


@pytest.mark.parametrize(("waits", "delay", "expected"), [(2, 0, NEVER), (1, 0, 100), (1, 30, 130), (1, 5, 105)])
def test_something_starts_a_delay_after_the_last_that_it_waits_for(waits, delay, expected):
    row = record(ComputationProgress, waits_for=waits, start_ps=90)
    assert progress.wait_for_less(row, delay, 100) == expected
    late = record(ComputationProgress, waits_for=1, start_ps=200)
    assert progress.wait_for_less(late, delay, 100) == 200


@pytest.mark.parametrize(("src", "is_acked", "expected"), [(1, True, True), (1, False, False), (2, False, True)])
def test_the_senders_host_counts_what_is_acknowledged(src, is_acked, expected):
    assert progress.is_due(record(Message, src=src), record(Message, src=1), is_acked) == expected


def test_something_fails_once_and_only_while_it_waits():
    row = record(ComputationProgress, waits_for=1)
    assert progress.fail_waiting(row)
    assert not progress.fail_waiting(row)
    assert (row.failed, row.waits_for) == (HAS_WAITED, -1)
    assert not progress.fail_waiting(record(ComputationProgress, waits_for=0))


# Pacing


def test_the_next_packet_starts_when_the_last_has_passed_at_its_rate():
    qp, agenda = record(QueuePair, rate_bps=10e9, last_start_ps=1000), SimpleNamespace(tick_ps=0)
    assert pacing.next_start_ps(agenda, qp, 70) == 70  # the first one
    qp.last_wire_bytes = 100
    assert pacing.next_start_ps(agenda, qp, 70) == 1000 + 80_000
    assert pacing.next_start_ps(SimpleNamespace(tick_ps=1000), qp, 70) == 1000 + 79_000  # cut as ns-3 cuts
    qp.rate_bps = 0.0
    assert pacing.next_start_ps(agenda, qp, 70) == NEVER


@pytest.mark.parametrize(
    ("start", "busy_until", "state", "timer"),
    [(NEVER, 0, IDLE, NEVER), (50, 0, READY, NEVER), (80, 80, READY, NEVER), (81, 80, PACING, 81)],
)
def test_a_queue_pair_waits_for_its_turn_or_for_its_pacing_time(start, busy_until, state, timer):
    qp = record(QueuePair)
    assert pacing.wait_for_turn(qp, start, busy_until, 50) == state
    assert (qp.state, qp.pace_timer_ps) == (state, timer)


def test_one_event_serves_a_pacing_time_that_moves():
    qp = record(QueuePair, state=PACING, pace_timer_ps=90)
    assert pacing.arm_pace(qp)
    assert not pacing.arm_pace(qp)
    qp.pace_timer_ps = 70
    assert pacing.arm_pace(qp)
    assert not pacing.expire_pace(qp, 90)  # the earlier event
    assert pacing.expire_pace(qp, 70)
    assert qp.state == IDLE
    assert not pacing.expire_pace(qp, 70)


def test_a_pacing_time_that_was_cancelled_does_nothing():
    qp = record(QueuePair, state=READY, pace_timer_ps=NEVER, pace_timer_armed=70)
    assert not pacing.expire_pace(qp, 70)
    assert (qp.state, qp.pace_timer_armed) == (READY, NEVER)


@pytest.mark.parametrize(("inflight", "credits", "expected"), [(999, 1, True), (1000, 1, False), (999, 0, False)])
def test_window_and_credits_allow_a_packet(inflight, credits, expected):
    assert pacing.may_send(record(QueuePair, inflight_bytes=inflight, window_bytes=1000, credits=credits)) == expected


# Addressing

SIZES = Scheme(payload_bytes=1000, header_bytes=48, ack_bytes=60, cnp_bytes=70, least_wire_bytes=84)
QP = record(QueuePair, number=4, src=1, dst=2)


@pytest.mark.parametrize(("psn", "payload", "wire"), [(0, 1000, 1048), (2, 10, 84)])
def test_the_last_packet_carries_the_rest(psn, payload, wire):
    packet = record(Packet)
    message = record(Message, number=7, packets=3, size_bytes=2010, next_psn=psn, priority=5)
    addressing.write_data(SIZES, packet, QP, message)
    assert (packet.kind, packet.psn, packet.payload_bytes, packet.wire_bytes) == (DATA, psn, payload, wire)
    assert (packet.message, packet.qp, packet.dst, packet.priority) == (7, 4, 2, 5)


@pytest.mark.parametrize(("kind", "wire", "expected"), [(ACK, 0, 60), (NAK, 0, 60), (CNP, 0, 70), (CNP, 64, 64)])
def test_a_reply_has_its_kinds_size_if_no_handler_set_one(kind, wire, expected):
    reply = record(Packet, kind=kind, wire_bytes=wire)
    addressing.address_reply(SIZES, reply, QP, record(Message, number=7))
    assert (reply.wire_bytes, reply.dst, reply.qp, reply.message, reply.payload_bytes) == (expected, 1, 4, 7, 0)


@pytest.mark.parametrize(("wire", "expected"), [(0, 60), (200, 200)])
def test_a_request_goes_to_the_receiver(wire, expected):
    request = record(Packet, kind=REQUEST, wire_bytes=wire)
    addressing.address_request(SIZES, request, QP, record(Message, number=7))
    assert (request.wire_bytes, request.dst, request.qp, request.message) == (expected, 2, 4, 7)


@pytest.mark.parametrize(("at_nic", "priority", "expected"), [(-1, 2, 2), (3, 2, 3), (3, 4, 4)])
def test_acks_may_wait_in_another_class_at_the_nic(at_nic, priority, expected):
    scheme = SimpleNamespace(ack_priority=CONTROL, nic_ack_priority=at_nic)
    assert addressing.reply_class(scheme, record(Packet, priority=priority)) == expected


@pytest.mark.parametrize(("priority", "expected"), [(CONTROL, CONTROL), (DATA_CLASS, 5)])
def test_a_request_of_a_data_class_waits_with_its_message(priority, expected):
    assert addressing.request_class(record(Packet, priority=priority), record(Message, priority=5)) == expected


# Links


@pytest.mark.parametrize(("kind", "data", "control"), [(DATA, 1, 0), (ACK, 0, 1)])
def test_a_transmission_ends_after_its_bytes_and_arrives_a_delay_later(kind, data, control):
    port = record(Port, byte_ps=80.0, rate_bps=100e9, delay_ps=500)
    packet = record(Packet, kind=kind, wire_bytes=100)
    links.put_on_link(port, packet, SimpleNamespace(tick_ps=0), 1000)
    assert (port.busy_until_ps, packet.arrival_ps, port.tx_bytes) == (9000, 9500, 100)
    assert (port.tx_data_packets, port.tx_control_packets) == (data, control)


@pytest.mark.parametrize(
    ("tick", "order", "now", "expected"),
    [(0, 5, 99, True), (0, 5, 100, False), (10, 5, 100, True), (10, 3, 100, False), (10, 5, 101, False)],
)
def test_with_a_tick_a_transmission_may_end_later_in_its_instant(tick, order, now, expected):
    agenda = SimpleNamespace(tick_ps=tick, order_now=4)
    assert links.is_busy(agenda, record(Port, busy_until_ps=100, order=order), now) == expected


# Routing


def test_ways_are_numbered_as_the_parameter_lists_them():
    assert (
        tuple(
            name.lower().replace("_", "-")
            for name in sorted(
                ("ECMP", "SYMMETRIC", "SPRAY_RANDOM", "SPRAY_ROUND_ROBIN", "SOURCE", "ENTROPY", "ADAPTIVE"),
                key=lambda name: getattr(routing, name),
            )
        )
        == ROUTINGS
    )


@pytest.mark.parametrize(("kind", "key"), [(DATA, 14), (REQUEST, 14), (ACK, 15), (NAK, 15), (CNP, 15)])
def test_packets_back_have_a_key_of_their_own(kind, key):
    assert routing.route_key(record(Packet, message=7, kind=kind)) == key


def test_the_sender_says_the_way_and_leaves_the_quotient_to_the_next_switch():
    packet = record(Packet, path=11)
    ways = [routing.way_by_packet(routing.SOURCE, None, packet, 0, count) for count in (4, 3, 2)]
    assert ways == [3, 2, 0]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8])
def test_modulo_is_the_remainder(count):
    assert [routing.modulo(number, count) for number in range(20)] == [number % count for number in range(20)]


@pytest.mark.parametrize(
    ("number", "link_class", "is_down", "expected"),
    [(3, IN_NETWORK, 0, True), (1, IN_NETWORK, 0, False), (2, IN_NETWORK, 0, False), (3, LAST_HOP, 0, False),
     (3, IN_NETWORK, 1, False)],
)  # fmt: skip
def test_a_packet_is_deflected_to_another_switch_by_a_link_that_works(number, link_class, is_down, expected):
    port = record(Port, number=number, link_class=link_class, is_down=is_down)
    assert routing.is_deflection_port(port, 1, 2) == expected
