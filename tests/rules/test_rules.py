"""The rules of buffers, PFC, classes and credits, worked out by hand at their boundaries, in Python and compiled.

The rules of messages, queue pairs and packets, likewise but only in Python: the kernel compiles the same functions, and
the engines' agreement shows that they do the same there.

Ranks of simultaneous events: with a tick by order, then class, then number, and back to the ranks without.
"""

from types import FunctionType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rdmacc import rules as plain
from rdmacc.engine.compiled.kernel import rules
from rdmacc.engine.compiled.tables.layout import GLOBALS, INGRESS, PACKET, PORT, SWITCH
from rdmacc.engine.records import MessageProgress, QueuePairUse, Routing, Transit, Transmitter
from rdmacc.interface import CONTROL, CREDITS, DATA_CLASS, MAC, NEVER, NUM_CLASSES, Packet, Port, state
from rdmacc.interface.state import ACK, DATA, IDLE, IN_NETWORK, LAST_HOP, PACING, PAUSE, PFC_FRAME_BYTES, READY, RESUME
from rdmacc.rules import addressing, links, pacing, progress, routing
from rdmacc.rules.admission import IngressAccount, SharedBuffer
from rdmacc.rules.classes import ClassTurns, TokenBucket
from rdmacc.rules.ranks import LAST_ORDER, PROBE, RANK_SHIFT, START, rank_in, rank_without_order
from rdmacc.schemes import Scheme
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.queueing import ROUTINGS, Queueing


class SwitchRow(Routing, SharedBuffer):
    """A switch as in both engines."""


class PortRow(Port, Transmitter, ClassTurns, TokenBucket):
    """As both engines' ports."""


KINDS = {"switch": (SwitchRow, SWITCH), "account": (IngressAccount, INGRESS), "port": (PortRow, PORT),
         "packet": (Packet, PACKET)}  # fmt: skip
PLAIN = {
    name: value
    for name, value in vars(plain).items()
    if isinstance(value, FunctionType) and value.__module__.startswith(plain.__name__)
}


@pytest.fixture(params=["plain", "compiled"])
def side(request):
    """Rules and records of one of the engines."""
    is_compiled = request.param == "compiled"

    def make(kind, **values):
        record, dtype = KINDS[kind]
        thing = np.zeros(1, dtype).view(np.recarray)[0] if is_compiled else record()
        for name, value in values.items():
            if is_compiled:
                thing[name] = value
            else:
                setattr(thing, name, value)
        return thing

    def params(component):
        if not is_compiled:
            return component
        row = np.zeros(1, GLOBALS)[0]
        for name, value in vars(component).items():
            if name in GLOBALS.names:
                row[name] = value
        return row

    found = {name: getattr(rules, name, None) if is_compiled else rule for name, rule in PLAIN.items()}
    return SimpleNamespace(make=make, params=params, **found)


def test_each_rule_is_compiled_from_the_python_function():
    found = {name: value.py_func for name, value in vars(rules).items() if hasattr(value, "py_func")}
    compiled = {name: rule for name, rule in found.items() if rule.__module__ != rules.__name__}
    assert compiled == PLAIN


def test_engines_keep_the_same_fields():
    for record, dtype in KINDS.values():
        assert {field.name for field in record.fields} <= set(dtype.names)


# PFC with alpha = 1/2, a reserve of 1,000 B, resume 500 B below the threshold

POLICY = Pfc(alpha=0.5, reserve_bytes=1000, xon_offset_bytes=500)


@pytest.mark.parametrize(
    ("ingress", "headroom", "used", "expected"),
    [
        (1999, 0, 8000, False),  # takes 999 of the shared pool; the threshold is (10,000 - 8,000) / 2 = 1,000
        (2000, 0, 8000, True),  # reached
        (1000, 0, 9999, False),
        (1000, 0, 10_000, True),  # nothing is free, so the threshold is 0
        (0, 1, 0, True),  # something is in the headroom
    ],
)
def test_pause_when_the_threshold_is_reached(side, ingress, headroom, used, expected):
    switch = side.make("switch", shared_bytes=10_000, shared_used=used)
    account = side.make("account", ingress_bytes=ingress, headroom_used=headroom)
    assert side.must_pause(side.params(POLICY), switch, account) == expected


@pytest.mark.parametrize(
    ("ingress", "headroom", "used", "expected"),
    [
        (1499, 0, 8000, True),
        (1500, 0, 8000, True),  # 500 taken + 500 = 1,000, exactly the threshold: resume
        (1501, 0, 8000, False),
        (1500, 0, 8002, False),  # the threshold is 999
        (1500, 1, 8000, False),  # the headroom must empty first
        (1000, 0, 10_000, True),  # only the reserve is used: resume although the pool has nothing free
        (1001, 0, 10_000, False),
    ],
)
def test_resume_exactly_at_the_threshold_minus_the_offset(side, ingress, headroom, used, expected):
    switch = side.make("switch", shared_bytes=10_000, shared_used=used)
    account = side.make("account", ingress_bytes=ingress, headroom_used=headroom)
    assert side.may_resume(side.params(POLICY), switch, account) == expected


STATIC = Pfc(alpha=0.5, xoff_bytes=2000, reserve_bytes=1000, xon_offset_bytes=500)


@pytest.mark.parametrize("used", [0, 7000])
@pytest.mark.parametrize(
    ("ingress", "headroom", "pauses", "resumes"),
    [
        (2999, 0, False, False),  # takes 1,999 of the shared pool
        (3000, 0, True, False),
        (2500, 0, False, True),  # 1,500 taken + 500 = 2,000: resume
        (2501, 0, False, False),
        (1000, 1, True, False),  # something is in the headroom
    ],
)
def test_a_static_threshold_ignores_the_free_pool(side, used, ingress, headroom, pauses, resumes):
    switch = side.make("switch", shared_bytes=10_000, shared_used=used)
    account = side.make("account", ingress_bytes=ingress, headroom_used=headroom)
    assert side.must_pause(side.params(STATIC), switch, account) == pauses
    assert side.may_resume(side.params(STATIC), switch, account) == resumes


def test_packets_beyond_a_static_threshold_go_to_the_headroom(side):
    policy = side.params(STATIC)
    switch = side.make("switch", shared_bytes=10_000)
    account = side.make("account", headroom_bytes=1500)
    for wire, expected in ((3000, (3000, 0)), (1, (3000, 1)), (1499, (3000, 1500))):
        assert side.admit_lossless(policy, switch, account, wire)
        assert (account.ingress_bytes, account.headroom_used) == expected
    assert not side.admit_lossless(policy, switch, account, 1)
    assert (switch.shared_used, switch.used_bytes) == (2000, 4500)


def test_a_port_obeys_and_counts_the_time_in_which_any_class_is_paused(side):
    port = side.make("port")
    frames = [(10, PAUSE, 4), (20, PAUSE, 5), (30, RESUME, 4), (40, RESUME, 4), (50, RESUME, 5)]
    resumed = []
    for now, kind, cls in frames:
        frame = side.make("packet")
        side.write_frame(side.params(STATIC), frame, kind, cls)
        assert (frame.psn, frame.priority, frame.wire_bytes) == (cls, MAC, PFC_FRAME_BYTES)
        resumed.append(bool(side.obey(port, frame, now)))
    assert resumed == [False, False, True, False, True]
    assert (port.pauses, port.paused, port.paused_ps) == (2, 0, 40)


def test_drop_tail_up_to_the_threshold_and_the_pool(side):
    policy = side.params(DropTail(alpha=1.0))
    switch = side.make("switch", shared_bytes=10_000, used_bytes=6000)
    assert not side.admit_lossy(policy, switch, 3001, 1000)  # a queue of 4,001, but only 4,000 free
    assert switch.used_bytes == 6000
    assert side.admit_lossy(policy, switch, 3000, 1000)
    assert (switch.used_bytes, switch.peak_bytes) == (7000, 7000)
    side.release_lossy(switch, 1000)
    assert (switch.used_bytes, switch.peak_bytes) == (6000, 7000)
    assert not side.admit_lossy(side.params(DropTail(alpha=1e6)), switch, 0, 4001)
    limited = side.params(DropTail(alpha=1.0, limit_bytes=2000))
    assert not side.admit_lossy(limited, switch, 1001, 1000)
    assert side.admit_lossy(limited, switch, 1000, 1000)


def test_lossless_fills_reserve_pool_and_headroom_and_empties_in_reverse(side):
    policy = side.params(POLICY)
    switch = side.make("switch", shared_bytes=1500)
    account = side.make("account", headroom_bytes=1000)
    states = []

    def note():
        states.append((account.ingress_bytes, switch.shared_used, account.headroom_used, switch.used_bytes))

    for wire in (800, 700, 700, 300, 1):
        is_in = side.admit_lossless(policy, switch, account, wire)
        note()
    assert not is_in  # the headroom is full
    # 1,500 - 1,000 <= 1,500 / 2; with 500 taken the threshold is 500, so 700 and 300 more go to the headroom
    assert states == [(800, 0, 0, 800), (1500, 500, 0, 1500), (1500, 500, 700, 2200), (1500, 500, 1000, 2500),
                      (1500, 500, 1000, 2500)]  # fmt: skip
    assert switch.peak_bytes == 2500
    states.clear()
    for wire in (800, 700, 700, 300):
        side.release_lossless(policy, switch, account, wire)
        note()
    assert states == [(1500, 500, 200, 1700), (1000, 0, 0, 1000), (300, 0, 0, 300), (0, 0, 0, 0)]


def test_limits_of_the_classes_below_data(side):
    plain, shaped = side.params(Queueing()), side.params(Queueing(credit_fraction=0.05, control_limit_bytes=900))
    assert [side.queue_limit_bytes(plain, cls) for cls in range(DATA_CLASS)] == [0, 0, 0]
    assert [side.queue_limit_bytes(shaped, cls) for cls in (MAC, CREDITS, CONTROL)] == [0, 672, 900]
    assert side.fits_queue(588, 84, 672)
    assert not side.fits_queue(589, 84, 672)


def choices(side, queueing, sets):
    turns = side.make("port", last_lane=NUM_CLASSES)
    params = side.params(queueing)
    return [int(side.choose_class(params, turns, sum(1 << cls for cls in sendable))) for sendable in sets]


def test_strict_priority(side):
    assert choices(side, Queueing(), [{2, 3}, {3, 9}, {9}, {0, 9}]) == [2, 3, 9, 0]


def test_weighted_round_robin_counts_only_while_both_classes_wait(side):
    both, alone = {CONTROL, DATA_CLASS}, {CONTROL}
    served = choices(side, Queueing(wrr_ratio=2), [both, alone, both, both, both, both, both])
    assert served == [CONTROL, CONTROL, CONTROL, DATA_CLASS, CONTROL, CONTROL, DATA_CLASS]


def test_lanes_take_turns_and_control_goes_first(side):
    lanes = {3, 4, 5}
    served = choices(side, Queueing(lanes=3), [lanes, lanes, {2, *lanes}, lanes, lanes, {3, 5}, {3, 5}, {6}])
    assert served == [3, 4, 2, 5, 3, 5, 3, 6]
    assert choices(side, Queueing(lanes=2), 4 * [lanes]) == [3, 4, 3, 4]  # class 5 is not a lane and waits for both
    assert choices(side, Queueing(lanes=2, first_lane=4), [{4, 5}, {4, 5}, lanes, {4, 5}]) == [4, 5, 3, 4]


# The rate of credits: 84 B of credits for 1,000 B of link, a byte takes 800 ps


def test_credits_wait_for_their_tokens(side):
    queueing = side.params(Queueing(credit_fraction=0.084, credit_burst_bytes=168))
    port = side.make("port", byte_ps=800.0, credit_tokens=168.0)
    for left in (84.0, 0.0):
        assert side.credit_ready_ps(queueing, port, 84, 0) == 0
        side.spend_credit(port, 84)
        assert port.credit_tokens == left
    ready = side.credit_ready_ps(queueing, port, 84, 0)
    assert ready == pytest.approx(84 * 800 / 0.084, abs=2)
    assert side.credit_ready_ps(queueing, port, 84, ready - 2) > ready - 2
    assert side.credit_ready_ps(queueing, port, 84, ready) == ready
    assert side.credit_ready_ps(queueing, port, 84, 10**9) == 10**9
    assert port.credit_tokens == 168.0  # a full bucket takes no more


# The rules of messages, queue pairs and packets by hand, at their boundaries


class Message(state.Message, MessageProgress):
    """A message as in both engines."""


class QueuePair(state.QueuePair, QueuePairUse):
    """A queue pair as in both engines."""

    pace_timer_armed: int


class TransitPacket(state.Packet, Transit):
    """A packet as in both engines."""


class TransmittingPort(state.Port, Transmitter):
    """As both engines' ports."""


def record(make, /, **values):
    made = make()
    for name, value in values.items():
        assert hasattr(made, name)
        setattr(made, name, value)
    return made


def test_a_start_delay_applies_once():
    message = record(Message)
    assert progress.starts_later(message, 50, 100)
    assert not progress.starts_later(message, 50, 150)
    assert message.start_ps == 100
    assert not progress.starts_later(record(Message), 0, 100)


def test_the_next_packet_starts_when_the_last_one_is_through_at_the_pacing_rate():
    qp, agenda = record(QueuePair, rate_bps=10e9, last_start_ps=1000), SimpleNamespace(tick_ps=0)
    assert pacing.next_start_ps(agenda, qp, 70) == 70  # the first one
    qp.last_wire_bytes = 100
    assert pacing.next_start_ps(agenda, qp, 70) == 1000 + 80_000
    assert pacing.next_start_ps(SimpleNamespace(tick_ps=1000), qp, 70) == 1000 + 79_000  # truncated as in ns-3
    qp.rate_bps = 0.0
    assert pacing.next_start_ps(agenda, qp, 70) == NEVER


@pytest.mark.parametrize(
    ("start", "busy_until", "state", "timer"),
    [(NEVER, 0, IDLE, NEVER), (50, 0, READY, NEVER), (80, 80, READY, NEVER), (81, 80, PACING, 81)],
)
def test_a_queue_pair_waits_for_its_turn_or_its_pacing_time(start, busy_until, state, timer):
    qp = record(QueuePair)
    assert pacing.wait_for_turn(qp, start, busy_until, 50) == state
    assert (qp.state, qp.pace_timer_ps) == (state, timer)


SIZES = Scheme(payload_bytes=1000, header_bytes=48, ack_bytes=60, cnp_bytes=70, least_wire_bytes=84)
QP = record(QueuePair, number=4, src=1, dst=2)


@pytest.mark.parametrize(("psn", "payload", "wire"), [(0, 1000, 1048), (2, 10, 84)])
def test_the_last_packet_carries_the_rest(psn, payload, wire):
    packet = record(TransitPacket)
    message = record(Message, number=7, packets=3, size_bytes=2010, next_psn=psn, priority=5)
    addressing.write_data(SIZES, packet, QP, message)
    assert (packet.kind, packet.psn, packet.payload_bytes, packet.wire_bytes) == (DATA, psn, payload, wire)
    assert (packet.message, packet.qp, packet.dst, packet.priority) == (7, 4, 2, 5)


@pytest.mark.parametrize(("kind", "data", "control"), [(DATA, 1, 0), (ACK, 0, 1)])
def test_a_transmission_ends_after_its_bytes_and_arrives_a_delay_later(kind, data, control):
    port = record(TransmittingPort, byte_ps=80.0, rate_bps=100e9, delay_ps=500)
    packet = record(TransitPacket, kind=kind, wire_bytes=100)
    links.put_on_link(port, packet, SimpleNamespace(tick_ps=0), 1000)
    assert (port.busy_until_ps, packet.arrival_ps, port.tx_bytes) == (9000, 9500, 100)
    assert (port.tx_data_packets, port.tx_control_packets) == (data, control)


@pytest.mark.parametrize(
    ("tick", "order", "now", "expected"),
    [(0, 5, 99, True), (0, 5, 100, False), (10, 5, 100, True), (10, 3, 100, False), (10, 5, 101, False)],
)
def test_with_a_tick_a_transmission_may_end_later_in_its_instant(tick, order, now, expected):
    agenda = SimpleNamespace(tick_ps=tick, order_now=4)
    assert links.is_busy(agenda, record(TransmittingPort, busy_until_ps=100, order=order), now) == expected


def test_routing_modes_are_numbered_as_the_parameter_lists_them():
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


def test_the_sender_picks_the_port_and_leaves_the_quotient_to_the_next_switch():
    packet = record(TransitPacket, path=11)
    ways = [routing.way_by_packet(routing.SOURCE, None, packet, 0, count) for count in (4, 3, 2)]
    assert ways == [3, 2, 0]


@pytest.mark.parametrize(
    ("number", "link_class", "is_down", "expected"),
    [(3, IN_NETWORK, 0, True), (1, IN_NETWORK, 0, False), (2, IN_NETWORK, 0, False), (3, LAST_HOP, 0, False),
     (3, IN_NETWORK, 1, False)],
)  # fmt: skip
def test_a_packet_is_deflected_to_another_switch_over_a_working_link(number, link_class, is_down, expected):
    port = record(TransmittingPort, number=number, link_class=link_class, is_down=is_down)
    assert routing.is_deflection_port(port, 1, 2) == expected


WITHOUT, WITH = SimpleNamespace(tick_ps=0), SimpleNamespace(tick_ps=1000)
CLASSES = st.integers(START >> RANK_SHIFT, PROBE >> RANK_SHIFT)
EVENTS = st.tuples(st.integers(0, LAST_ORDER), CLASSES, st.integers(0, 2**28 - 1))
LAST = LAST_ORDER, PROBE >> RANK_SHIFT, 2**28 - 1


def rank_of(event, ticks):
    order, number_of_class, number = event
    return rank_in(ticks, (number_of_class << RANK_SHIFT) + number, order)


@example(LAST, (1, 1, 1))
@given(EVENTS, EVENTS)
def test_with_a_tick_the_order_comes_first_and_no_information_is_lost(one, other):
    assert (rank_of(one, WITH) < rank_of(other, WITH)) == (one < other)
    assert rank_without_order(WITH, rank_of(one, WITH)) == rank_of(one, WITHOUT)
    assert 0 < rank_of(one, WITH) < 2**63
