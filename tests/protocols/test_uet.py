"""Ultra Ethernet: out-of-order delivery, NSCC, receiver credit and path choice by hand; closed forms of whole runs.

Paths retired when a packet is lost: turns, penalties, retirement and probes by hand; planes that fail.
"""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

import rdmacc
from rdmacc import LinkDown, topology
from rdmacc.interface import ACK, LAST_HOP, NAK, NEVER, REQUEST, Host, Message, Port, QueuePair, make_bits, set_bit
from rdmacc.protocols.core_control import decide
from rdmacc.protocols.nscc import Nscc, bdp, cut, quick_adapt, set_window
from rdmacc.protocols.path_choice import PathChoice, next_value, take_timeout
from rdmacc.protocols.receiver_credit import ReceiverCredit
from rdmacc.protocols.retirement import Retirement, next_active, retire
from rdmacc.protocols.uet import Uet, acknowledge, take_older_as_lost, timeout
from rdmacc.switch.uet_queue import UetQueue
from rdmacc.units import us
from tests.support import check_conservation, check_finished, packet_with, plain

LINE = 100e9
T = 14_022_720
"""Six links of 1 us, packets of 4,150 B, ACKs of 64 B."""
PAYLOAD, MTU = 4086, 4150


def queue_pair():
    qp = QueuePair()
    qp.line_bps, qp.base_rtt_ps = LINE, T
    qp.payload_bytes, qp.wire_bytes = PAYLOAD, MTU
    return qp


def tree(k=4):
    return rdmacc.fat_tree(k, rate="100Gbps", delay="1us")


def run(work, scheme, engine="compiled", network=None, **options):
    result = rdmacc.simulate(network or tree(), work, scheme, engine=engine, **options)
    check_finished(result)
    check_conservation(result)
    return result


# Whole runs


def test_base_rtt_and_queues_are_those_of_the_simulator():
    plan = rdmacc.Simulation(tree(), rdmacc.messages([("h0", "h1", 1)]), "nscc", engine="simpy").plan
    assert plan.qp_base_rtt_ps.tolist() == [T]
    params, port, egress = UetQueue(), Port(), UetQueue.Egress()
    port.rate_bps, port.base_rtt_ps, port.wire_bytes = LINE, T, MTU
    UetQueue.on_port(params, port, egress)
    assert (egress.limit_bytes, egress.low_bytes, egress.high_bytes) == (43 * MTU, 9 * MTU, 35 * MTU)
    assert timeout(Uet(), queue_pair()) == 15_000_000 + 6 * 43 * 332_000


@pytest.mark.parametrize("packets", [10, 100])
def test_closed_form_of_a_lone_message(engine, packets):
    """n 0.332 + 5 x 0.332 + 6 + 6 + 6 x 0.00512 us to the last ACK; 1 + (n - 1) / 4 ACKs and the last one."""
    result = run(rdmacc.messages([("h0", "h15", packets * PAYLOAD)]), "nscc", engine)
    acked_us = result.outcome.messages["acked_ps"][0] / 1e6
    assert acked_us == pytest.approx(packets * 0.332 + 5 * 0.332 + 12 + 6 * 0.00512, abs=1e-6)
    assert result.outcome.totals["acks"] == 1 + (packets - 1) // 4 + 1


# Delivery


def transfer_of(component, packets, *sets):
    transfer, message = component.Transfer(), Message()
    message.packets, message.payload_bytes, message.size_bytes = packets, PAYLOAD, packets * PAYLOAD
    for name in sets:
        setattr(transfer, name, make_bits(packets))
    return transfer, message


def arrive(params, transfer, message, psn, **fields):
    packet, reply = packet_with(Uet.Header), packet_with(Uet.Header)
    packet.psn, packet.wire_bytes = psn, MTU
    for name, value in fields.items():
        setattr(packet, name, value)
    Uet.on_data(params, message, transfer, packet, reply)
    return reply


def test_when_the_receiver_acknowledges():
    params = Uet()
    transfer, message = transfer_of(Uet, 200, "held")
    told = [psn for psn in range(13) if arrive(params, transfer, message, psn).kind == ACK]
    assert told == [0, 4, 8, 12]
    assert arrive(params, transfer, message, 5).kind == ACK  # a duplicate
    assert arrive(params, transfer, message, 13, ce=1).ce_echo == 1
    assert arrive(params, transfer, message, 15, asks_ack=1).kind == ACK  # 14 is missing
    assert arrive(params, transfer, message, 14).kind == ACK  # the gap has closed
    trimmed = arrive(params, transfer, message, 20, is_trimmed=1)
    assert (trimmed.kind, trimmed.psn) == (NAK, 20)
    assert message.received_packets == 16


def test_the_bitmap_surrounds_the_packet_that_caused_the_ack():
    transfer, message = transfer_of(Uet, 200, "held")
    transfer.expected_psn = 10
    for psn in (12, 100, 130):
        set_bit(transfer.held, psn)
    reply = packet_with(Uet.Header)
    acknowledge(message, transfer, 12, reply)
    assert (reply.psn, reply.map_psn, reply.map_bits) == (10, 11, 0b10)
    acknowledge(message, transfer, 130, reply)
    assert (reply.map_psn, reply.map_bits) == (69, 1 << 31 | 1 << 61)


def test_a_late_packet_is_not_sent_again():
    params, qp = Uet(), queue_pair()
    transfer, message = transfer_of(Uet, 10, "acked", "lost")
    transfer.new_psn, qp.inflight_bytes = 5, 5 * PAYLOAD
    nack, ack = packet_with(Uet.Header), packet_with(Uet.Header)
    nack.kind, nack.psn = NAK, 3
    Uet.on_ack(params, qp, Uet.Sender(), message, transfer, nack)
    assert (message.next_psn, qp.inflight_bytes, nack.settled_bytes) == (3, 4 * PAYLOAD, MTU)
    ack.kind, ack.psn, ack.map_psn, ack.map_bits = ACK, 2, 3, 0b11
    Uet.on_ack(params, qp, Uet.Sender(), message, transfer, ack)
    assert (message.next_psn, message.una_psn, qp.inflight_bytes) == (5, 2, PAYLOAD)
    assert ack.settled_bytes == 4 * MTU


# NSCC


class Window:
    """A sender at 100 Gb/s in the simulator's network."""

    def __init__(self, **changes):
        self.params, self.qp, self.sender = Nscc(**changes), queue_pair(), Nscc.Sender()
        self.message, self.transfer = Message(), Nscc.Transfer()
        Nscc.on_open(self.params, self.qp, self.sender)
        self.target = self.params.target * T

    def answer(self, delay, marked=0, kind=ACK, size=MTU, now=us(1000), at_last_hop=0):
        packet = packet_with(Uet.Header, PathChoice.Header)
        packet.kind, packet.ce_echo, packet.settled_bytes, packet.at_last_hop = kind, marked, size, at_last_hop
        packet.left_ps = now - T - int(delay)
        Nscc.on_ack(self.params, self.qp, self.sender, self.message, self.transfer, packet, now)


def test_constants_of_the_simulators_network():
    window = Window()
    assert bdp(window.qp) == pytest.approx(175_284)
    assert window.sender.window == pytest.approx(262_926)
    assert window.target == pytest.approx(10.517e6, rel=1e-4)


@pytest.mark.parametrize(("targets", "factor"), [(2, 0.6), (4, 0.5), (0.9, 1.0)])
def test_cuts(targets, factor):
    """1 - 0.8 (average - D) / average, at most a half, once per base RTT."""
    window = Window()
    sender = window.sender
    sender.average_ps = sender.delay_ps = targets * window.target
    for _ in range(2):
        cut(window.params, window.qp, sender, window.target, us(100))
    assert sender.window == pytest.approx(262_926 * factor)


def grown(adjusted_ps=0, **changes):
    """Return a sender with a window of 100 kB after an adjustment."""
    window = Window(**changes)
    set_window(window.qp, window.sender, 100_000.0)
    window.sender.adjusted_ps = adjusted_ps
    return window


@pytest.mark.parametrize(("targets", "gained"), [(0.1901, (1 - 0.1901) * 16_740), (1.1, 23_873.7)])
def test_growth_accumulates_and_is_divided_by_the_window(targets, gained):
    """A window of ACKs adds alpha D without delay (unless fast increase applies), and fi beyond the target."""
    window = grown(us(1000), fast=0.0)
    window.answer(targets * window.target, size=100_000)
    assert window.sender.window - 100_000 == pytest.approx(gained, rel=2e-3)


def test_fast_increase_after_a_window_without_delay():
    """Then x (1 + 0.25 a) per RTT."""
    window = grown(us(1000))
    window.answer(0, size=100_001)
    assert window.sender.is_fast
    before = window.sender.window
    window.answer(0, size=10_000)
    assert window.sender.window - before == pytest.approx(10_000 * 0.25 * 1.16856, rel=1e-4)


def test_growth_waits_for_more_than_eight_packets():
    window = grown(us(1000))
    windows = []
    for _ in range(9):
        window.answer(window.target)
        windows.append(window.sender.window)
    assert windows[:8] == [100_000.0] * 8
    assert windows[8] - 100_000 == pytest.approx(9 * MTU / 100_000 * 23_873.7, rel=1e-4)


def test_each_sample_contributes_an_eightieth_to_the_average_delay():
    window = Window()
    for _ in range(80):
        window.answer(us(8), marked=1)
    assert window.sender.average_ps == pytest.approx(us(8) * (1 - (79 / 80) ** 80))
    before = window.sender.average_ps
    window.answer(2 * window.target)  # late but unmarked: a quarter of the base RTT enters the average
    assert window.sender.average_ps == pytest.approx(before + (T / 4 - before) / 80)


def test_without_other_growth_a_window_gains_eta_once_per_t():
    window = grown(fair=0.0)
    gained = []
    for now in (us(1000), us(1000) + T // 2, us(1000) + T, us(1000) + T + 1):
        before = window.sender.window
        window.answer(window.target, now=now)
        gained.append(window.sender.window - before)
    assert gained == pytest.approx([0.15 * PAYLOAD * 1.16856, 0, 0, 0.15 * PAYLOAD * 1.16856], rel=1e-4)


def test_the_largest_window_follows_the_lowest_round_trip():
    window = Window()
    window.answer(-T / 2, marked=1)
    assert window.sender.delay_ps == 0
    assert window.sender.most == pytest.approx(262_926 / 2)
    assert window.sender.window == pytest.approx(262_926 / 2)
    assert window.sender.window_bytes == 262_926 // 2 // MTU * PAYLOAD
    window.answer(us(3), marked=1)
    assert window.sender.delay_ps == pytest.approx(T / 2 + us(3))


@pytest.mark.parametrize(("spares", "at_last_hop", "packets"), [(0, 0, 1), (0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_a_trim_at_the_last_hop_is_left_to_the_receiver(spares, at_last_hop, packets):
    """A packet less, never below one; but not at the last hop if there is receiver credit."""
    window = Window(spares_last_hop=bool(spares))
    window.answer(0, kind=NAK, at_last_hop=at_last_hop)
    assert window.sender.window == pytest.approx(262_926 - packets * MTU)
    set_window(window.qp, window.sender, 5000.0)
    window.answer(0, kind=NAK, at_last_hop=at_last_hop)
    assert window.sender.window == (MTU if packets else 5000)


@pytest.mark.parametrize(("delivered", "after"), [(10_000, 10_000), (40_000, 262_926)])
def test_quick_adapt(delivered, after):
    """Below an eighth of the largest window, the delivered bytes become the window."""
    window = Window()
    sender = window.sender
    sender.look_ps, sender.achieved_bytes, sender.is_triggered = us(10), delivered, 1
    assert quick_adapt(window.params, window.qp, sender, 0, False, us(11)) == (delivered == 10_000)
    assert sender.window == pytest.approx(after)
    assert sender.look_ps == us(11) + int(T + window.target)


@pytest.mark.parametrize(("targets", "acts"), [(4.0, False), (4.01, True)])
def test_quick_adapt_without_a_loss_needs_long_delays(targets, acts):
    window = Window()
    window.sender.look_ps, window.sender.achieved_bytes = us(10), 10_000
    window.sender.delay_ps = targets * window.target
    assert quick_adapt(window.params, window.qp, window.sender, 0, False, us(10)) is False  # not yet time
    assert quick_adapt(window.params, window.qp, window.sender, 0, False, us(10) + 1) == acts


def test_marks_of_packets_in_flight_at_quick_adapt_count_once():
    window = Window()
    sender = window.sender
    sender.look_ps, sender.achieved_bytes, sender.is_triggered = us(10), 10_000, 1
    window.qp.inflight_bytes = 2 * MTU
    assert quick_adapt(window.params, window.qp, sender, 1, False, us(11))
    sender.average_ps = 2 * window.target
    window.answer(2 * window.target, marked=1, now=us(12))
    assert sender.window == 10_000
    window.answer(2 * window.target, marked=1, now=us(40))  # the second packet accounts for all in flight
    assert sender.window < 10_000


def test_a_timeout_takes_a_packet_off_the_window():
    window = Window()
    window.message.timeouts = 2
    Nscc.on_send(window.qp, window.sender, window.message, window.transfer)
    assert window.sender.window == pytest.approx(262_926 - 2 * MTU)


# Receiver credit


class Granter:
    """A receiver of some messages."""

    def __init__(self, messages, **changes):
        self.params, self.qp, self.endpoint, self.host = ReceiverCredit(**changes), queue_pair(), None, Host()
        self.endpoint, self.host.line_bps, self.host.base_rtt_ps = ReceiverCredit.Endpoint(), LINE, T
        self.transfers, self.messages = zip(*(transfer_of(ReceiverCredit, 500) for _ in range(messages)), strict=True)

    def ask(self, which, units, **fields):
        packet = packet_with(ReceiverCredit.Header)
        packet.credit_units = units
        for name, value in fields.items():
            setattr(packet, name, value)
        ReceiverCredit.on_data(
            self.params, self.host, self.endpoint, self.qp, self.messages[which], self.transfers[which], packet, us(1)
        )

    def pull(self, now=us(1)):
        which = min(range(len(self.transfers)), key=lambda i: self.transfers[i].place)
        reply = packet_with(ReceiverCredit.Header)
        ReceiverCredit.on_pick(
            self.params, self.host, self.endpoint, self.qp, self.messages[which], self.transfers[which], reply, now
        )
        return which


def test_pulls_are_paced_and_go_round_robin():
    """Each is for 16,384 B, 1,323.96 ns apart at 100 Gb/s."""
    granter = Granter(2)
    granter.ask(0, 1000)
    granter.ask(1, 1000)
    assert granter.endpoint.pull_timer_ps == us(1)
    assert [granter.pull() for _ in range(6)] == [0, 1, 0, 1, 0, 1]
    assert granter.endpoint.pull_timer_ps - us(1) == pytest.approx(1_323_960, abs=10)
    assert [transfer.granted for transfer in granter.transfers] == [192, 192]


def test_grants_end_at_the_request_and_slow_ones_at_a_maximum():
    """At most 17 slow pulls for 262,926 B."""
    granter = Granter(1)
    granter.ask(0, 70)
    pulls = 0
    while granter.transfers[0].place < NEVER:
        granter.pull()
        pulls += 1
        if pulls == 2:
            assert granter.transfers[0].granted == 70
    assert pulls == 2 + 17
    assert granter.endpoint.waiting == 0


def decided(arrivals=0, trims=0, marked=0, oversubscription=4.0, **before):
    """Return a host's estimate of the core after one decision."""
    endpoint = ReceiverCredit.Endpoint()
    for name, value in before.items():
        setattr(endpoint, name, value)
    endpoint.arrivals, endpoint.whole_arrivals = arrivals, arrivals - trims
    endpoint.marked, endpoint.core_trims = marked, trims
    decide(ReceiverCredit(oversubscription=oversubscription), endpoint)
    assert endpoint.arrivals == endpoint.core_trims == 0
    return endpoint


def test_a_receivers_decision_if_the_core_is_congested():
    """With 10 of 100 packets trimmed, 0.1 less; with all marked for long, times 0.65."""
    assert decided(100, trims=10).core_rate == pytest.approx(0.9)
    assert decided(100, marked=100, marked_share=1.0).core_rate == pytest.approx(0.65)
    assert decided(100, marked=60).core_rate == 1.0  # the average is at the target
    assert decided(100, trims=90).core_rate == pytest.approx(0.9 / 4)
    assert decided(100, trims=100, oversubscription=200).core_rate == 0.01


def test_without_congestion_growth_accelerates():
    endpoint = decided(100, trims=50)
    rates = []
    for _ in range(4):
        endpoint.arrivals = endpoint.whole_arrivals = 100
        decide(ReceiverCredit(oversubscription=4.0), endpoint)
        rates.append(endpoint.core_rate)
    assert np.diff([0.5, *rates]) == pytest.approx([0.01, 0.02, 0.04, 0.08])
    few = decided(100, marked=10, core_rate=0.5, increases=3)
    assert few.core_rate == pytest.approx(0.51)


def test_pulls_follow_the_core():
    """They are twice as far apart at half the rate. Decisions are about 1.5 base RTTs apart, if a tier is
    oversubscribed.

    They end when nothing arrives at the full rate.
    """
    granter = Granter(1, oversubscription=4.0)
    granter.ask(0, 1000)
    assert 0.75 <= (granter.endpoint.core_timer_ps - us(1)) / (1.5 * T) <= 1.25
    granter.endpoint.core_rate = 0.5
    granter.pull()
    assert granter.endpoint.pull_timer_ps - us(1) == pytest.approx(2 * 1_323_960, abs=10)
    granter.endpoint.core_rate = 1.0
    for expected in (True, False):
        granter.endpoint.core_timer_ps = NEVER
        ReceiverCredit.on_core_timer(granter.params, granter.host, granter.endpoint, us(1))
        assert (granter.endpoint.core_timer_ps < NEVER) is expected
    plain = Granter(1)
    plain.ask(0, 1000)
    assert plain.endpoint.core_timer_ps == NEVER


def test_a_sender_without_credit_repeats_its_request_with_back_off():
    """An answered RTS is repeated after twice the timeout, a lost one after the timeout."""
    params, qp, sender = Uet(timeout_ps=us(100)), queue_pair(), Uet.Sender()
    qp.credits = 0
    transfer, message = transfer_of(Uet, 2, "acked", "lost", "held")
    transfer.new_psn = message.next_psn = 2
    for psn in (0, 1):
        set_bit(transfer.lost, psn)
    transfer.lost_packets = 2
    now, gaps = us(1000), []
    for is_answered in (False, True, True, True, False):
        request = packet_with(Uet.Header)
        Uet.on_resend_timer(params, qp, sender, message, transfer, request, now)
        assert request.kind == REQUEST
        if is_answered:
            answer = packet_with(Uet.Header)
            Uet.on_request(message, transfer, answer)
            Uet.on_ack(params, qp, sender, message, transfer, answer)
        gaps.append((transfer.resend_timer_ps - now) // us(100))
        now = transfer.resend_timer_ps
    assert gaps == [1, 1, 2, 4, 8]


def test_trimmed_packets_come_first_in_eqds():
    granter = Granter(2, counts_at_receiver=True, unit_bytes=512, units_per_pull=8)
    granter.ask(0, 1000)
    granter.ask(1, 0, is_trimmed=1)
    assert [granter.pull() for _ in range(3)] == [1, 1, 0]  # nine units for a packet of 4,150 B


@pytest.mark.parametrize(("contenders", "divides", "units"), [(0, True, 500), (3, True, 125), (3, False, 500)])
def test_a_request_is_divided_by_the_waiting_queue_pairs(contenders, divides, units):
    """128,000 B of credit, in units of 256 B, with three others waiting for the link."""
    params, qp = ReceiverCredit(divides_request=divides), queue_pair()
    transfer, message = transfer_of(ReceiverCredit, 500)
    message.size_bytes = 500 * PAYLOAD
    qp.contenders, qp.inflight_bytes = contenders, PAYLOAD
    transfer.credit_bytes = MTU + 262_926 - 128_000
    packet = packet_with(ReceiverCredit.Header, Uet.Header)
    packet.wire_bytes = MTU
    ReceiverCredit.on_send(params, qp, message, transfer, packet)
    assert packet.credit_units == units


def test_the_packet_size_is_one_parameter():
    """Windows, timers, queues and credit follow `payload_bytes`."""
    scheme = rdmacc.scheme("nscc-rccc").replace(payload_bytes=1436)
    assert not [row["parameter"] for row in rdmacc.scheme_table(scheme) if row["value"] in (4150, 4086)]
    params, qp, sender = Nscc(), queue_pair(), Nscc.Sender()
    qp.payload_bytes, qp.wire_bytes = 1436, 1500
    Nscc.on_open(params, qp, sender)
    assert sender.window_bytes == 262_926 // 1500 * 1436
    assert timeout(Uet(), qp) == 15_000_000 + 6 * 117 * 120_000  # a BDP of 116.9 packets


def test_the_first_answer_ends_the_first_credit():
    params, qp = ReceiverCredit(), queue_pair()
    transfer, _ = transfer_of(ReceiverCredit, 500)
    ReceiverCredit.on_start(params, qp, transfer)
    assert transfer.credit_bytes == 262_926
    packet = packet_with(ReceiverCredit.Header)
    packet.credit_units = 64
    ReceiverCredit.on_credit(params, qp, transfer, packet)
    assert transfer.credit_bytes == 16_384
    assert qp.credits > 0


# Path choice


def chooser(choice, **changes):
    return PathChoice(choice=choice, **changes), queue_pair(), PathChoice.Sender()


def clean(sender, params, values, kind=ACK, marked=0, now=us(1)):
    for value in values:
        packet = packet_with(PathChoice.Header)
        packet.entropy, packet.kind, packet.was_marked = value, kind, marked
        PathChoice.on_ack(params, sender, packet, now)


def draw(params, qp, sender, count):
    return [next_value(params, qp, sender) for _ in range(count)]


def test_oblivious_uses_each_value_once_per_round():
    params, qp, sender = chooser("oblivious")
    rounds = [draw(params, qp, sender, 64) for _ in range(3)]
    assert all(sorted(one) == list(range(64)) for one in rounds)
    assert rounds[0] != rounds[1]


def test_reps_recycles_the_oldest_of_eight():
    """Nine clean ACKs without a send, then nine sends; with none clean, uniform draws."""
    params, qp, sender = chooser("reps")
    clean(sender, params, range(1, 10))
    assert draw(params, qp, sender, 8) == list(range(2, 10))
    draws = draw(params, qp, sender, 6400)
    assert stats.chisquare(np.bincount(draws, minlength=64)).pvalue > 1e-3
    clean(sender, params, [5], marked=1)
    assert sender.stock_count == 0


def test_reps_freezes_and_explores():
    params, qp, sender = chooser("reps")
    clean(sender, params, range(8))
    take_timeout(params, sender, us(1))
    assert sorted(draw(params, qp, sender, 16)) == sorted([*range(8), *range(8)])
    clean(sender, params, [50], now=us(20_000))
    assert sender.to_explore == 16
    draw(params, qp, sender, 16)
    assert sender.to_explore == 0


def test_bitmap_skips_penalised_values():
    """A lone value with penalty 4 is skipped on its next four visits."""
    params, qp, sender = chooser("bitmap", values=8)
    clean(sender, params, [3], kind=NAK)
    assert 3 not in draw(params, qp, sender, 4 * 7)
    assert 3 in draw(params, qp, sender, 8)
    clean(sender, params, [2] * 40, marked=1)
    assert sender.penalties[2] == 15


def test_a_trim_at_the_last_hop_says_nothing_about_the_path():
    params, _, sender = chooser("bitmap")
    packet, port = packet_with(PathChoice.Header), Port()
    port.link_class, packet.kind = LAST_HOP, 1
    PathChoice.on_enqueue(port, packet)
    packet.kind, packet.entropy = NAK, 7
    PathChoice.on_ack(params, sender, packet, us(1))
    assert sender.penalties[7] == 0


def test_mixed_recycles_before_taking_turns():
    params, qp, sender = chooser("mixed")
    clean(sender, params, [9, 9, 4])
    assert draw(params, qp, sender, 3) == [9, 9, 4]
    assert len(set(draw(params, qp, sender, 64))) == 64
    assert set(draw(*chooser("ecmp"), 10)) == {0}


def turns(params, sender, count):
    return [next_active(params, sender) for _ in range(count)]


def reply(sender, params, value, kind=ACK, marked=0, last_hop=0):
    packet = packet_with(Uet.Header, Retirement.Header)
    packet.kind, packet.entropy, packet.was_marked, packet.at_last_hop = kind, value, marked, last_hop
    Retirement.on_ack(params, sender, packet)


def test_each_value_gets_its_turn_and_each_link_its_share():
    params, sender = plain(Retirement(values=16)), Retirement.Sender()
    sender.mask = 11
    taken = turns(params, sender, 160)
    for begin in range(145):
        assert set(Counter(taken[begin : begin + 16]).values()) == {1}
    for begin in range(0, 160, 4):
        assert sorted(value % 4 for value in taken[begin : begin + 4]) == [0, 1, 2, 3]


def test_a_mark_costs_a_turn_and_a_trim_four():
    params, sender = plain(Retirement(values=8)), Retirement.Sender()
    reply(sender, params, 3, marked=1)
    reply(sender, params, 5, kind=NAK)
    reply(sender, params, 6, kind=NAK, last_hop=1)
    taken = Counter(turns(params, sender, 42))
    assert taken[3] == taken[0] - 1
    assert taken[6] == taken[0]
    assert taken[5] == taken[0] - 4


def test_enough_values_stay_active():
    params, sender = plain(Retirement(values=16, least_active=0.25)), Retirement.Sender()
    for value in range(16):
        retire(params, sender, value, now=0)
    assert sender.retired_count == 12
    assert sender.penalties[12:16] == [15] * 4
    assert sender.probe_timer_ps == params.probe_ps
    assert set(turns(params, sender, 40)) <= {12, 13, 14, 15}


def test_probes_go_round_and_become_rarer_until_one_is_answered():
    params, sender = plain(Retirement(values=4, probe_ps="100us", longest_probe_ps="300us")), Retirement.Sender()
    retire(params, sender, 1, now=0)
    retire(params, sender, 2, now=0)
    asked, waits, now = [], [], sender.probe_timer_ps
    for _ in range(8):
        request = packet_with(Retirement.Header)
        Retirement.on_probe_timer(params, sender, request, now)
        asked.append((request.entropy, request.path))
        waits.append(sender.probe_timer_ps - now)
        now = sender.probe_timer_ps
    assert asked == [(1, 1), (2, 2)] * 4
    assert waits == [50_000_000] * 2 + [100_000_000] * 2 + [150_000_000] * 4
    reply(sender, params, 2)
    assert (sender.retired[1], sender.retired[2], sender.retired_count) == (1, 0, 1)


def test_packets_that_left_long_before_an_arrival_are_lost():
    """Packets 0 to 5 left 1 us apart; 2 was sent again at 20 us. One that left at 12.5 us has arrived: T is 4 us."""
    params, qp, sender = Uet(reorder=2.0), QueuePair(), Uet.Sender()
    qp.base_rtt_ps = 4_000_000
    transfer, message = transfer_of(Uet, 10, "acked", "lost")
    transfer.new_psn = 6
    sender.sent_ps[:6] = [0, 1_000_000, 20_000_000, 3_000_000, 4_400_000, 4_600_000]
    take_older_as_lost(params, qp, sender, message, transfer, 12_500_000)
    assert transfer.lost_packets == 4
    assert qp.inflight_bytes == -4 * PAYLOAD


@pytest.mark.parametrize(("planes", "until_ps"), [(4, None), (8, None), (4, us(200))])
def test_a_plane_that_dies_unnoticed_costs_its_share(engine, planes, until_ps):
    """Routes never converge. After a few round trips the other planes carry everything, (n - 1) / n of the rate.

    A plane that recovers is used again.
    """
    packets = 300 * planes if planes == 4 and until_ps is None else 4000
    network = topology.multi_plane(planes, leaves=2, spines=1, hosts_per_leaf=1)
    work = rdmacc.messages([("h0", "h1", packets * PAYLOAD)])
    dead = [LinkDown(link=("h1", "p0leaf1"), at_ps=0, until_ps=until_ps, convergence_ps="1s")]
    watch = [rdmacc.probes.field("flow", 0, "Retirement.retired_count")]
    result = rdmacc.simulate(network, work, "nscc-retire", faults=dead, engine=engine, probes=watch)
    check_finished(result)
    assert result.flows["timeouts"][0] == 0
    assert result.probes["value"].max() == 256 // planes
    if until_ps is None:
        whole_us = packets / planes * 0.332
        assert whole_us * planes / (planes - 1) == pytest.approx(result.flows["fct_us"][0] - 8, rel=0.08)
    else:
        assert result.probes["value"].iloc[-1] == 0
        assert result.ports.set_index("port").loc["h0.nic->p0leaf0", "tx_data_packets"] > 100
