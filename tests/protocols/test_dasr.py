"""DASR: the receiver counts its active senders, tells each its share, and leaves congestion elsewhere to ECN.

Theory: Dart, section III. n = |AUSS|, the set of senders with a message in flight; every ACK carries n and the sender
takes line / n, so all rates are right within one round trip of a sender's first packet. Marks are suppressed while the
receiver's own link is full (figure 5).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import Scheme, probes
from rdmacc.interface import ADVERT, NEVER, NONE, Host, Message, QueuePair
from rdmacc.protocols.dasr import NO_CONGESTION, NON_RECEIVER_CONGESTION, RECEIVER_CONGESTION, Dasr
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.units import ms, s, us
from tests.support import WIRE, check_finished, packet_with, samples, transmission

LINE = 100e9
RTT = us(10)
T = transmission(WIRE, LINE)


class Side:
    """A receiving host with only Dasr: passes packets to the handlers as an engine does."""

    def __init__(self, **changes):
        self.params = Dasr(**changes)
        self.host, self.endpoint = Host(), Dasr.Endpoint()
        self.host.line_bps, self.host.base_rtt_ps = LINE, RTT
        self.receivers, self.messages, self.transfers = {}, {}, {}

    def message(self, number, sender, packets=10, group=-1, weight=1.0):
        message = Message()
        message.number, message.src, message.packets = number, sender, packets
        message.group, message.weight = group, weight
        self.receivers.setdefault(sender, Dasr.Receiver())
        self.messages[number], self.transfers[number] = message, Dasr.Transfer()

    def _of(self, number):
        message = self.messages[number]
        return self.receivers[message.src], message, self.transfers[number]

    def data(self, number, now, ce=0, is_new=True, psn=None):
        receiver, message, transfer = self._of(number)
        packet, reply = packet_with(Dasr.Header), packet_with(Dasr.Header)
        packet.wire_bytes, packet.ce = WIRE, ce
        packet.psn = message.received_packets if psn is None else psn
        message.received_packets += is_new  # loss recovery runs before
        self.host.rx_wire_bytes += WIRE
        self.host.rx_packets += 1
        Dasr.on_data(
            self.params, self.host, self.endpoint, receiver, message, transfer, packet, reply, now
        )  # fmt: skip
        self.ce = packet.ce
        return reply

    def announce(self, number, now):
        receiver, message, transfer = self._of(number)
        Dasr.on_announce(self.params, self.endpoint, receiver, message, transfer, now)

    def expire(self, sender, now):
        receiver = self.receivers[sender]
        receiver.idle_timer_ps = NEVER
        Dasr.on_idle_timer(self.endpoint, receiver, now)

    @property
    def n(self):
        return self.endpoint.auss_n


def test_an_idle_sender_leaves_the_set():
    """After 2 s without a packet, counted from its last one; later packets count as a start."""
    side = Side()
    side.message(0, sender=1)
    side.data(0, us(5))
    timer = side.receivers[1].idle_timer_ps
    assert timer == us(5) + s(2)
    side.data(0, s(1))
    side.expire(1, timer)  # it has sent since, so the timer moves
    assert side.n == 1
    assert side.receivers[1].idle_timer_ps == s(3)
    side.expire(1, s(3))
    assert (side.n, side.endpoint.auss_weight, side.receivers[1].idle_timer_ps) == (0, 0.0, NEVER)
    assert side.data(0, s(4)).auss_n == 1
    assert side.n == 1
    for now in range(7):
        side.data(0, s(4) + now)
    assert side.n == 0


def test_an_announced_sender_counts_before_its_first_packet():
    side = Side(announced_idle_ps="1ms")
    for number in range(4):
        side.message(number, sender=number, group=7)
    side.data(0, 0)
    assert side.host.announce == 1
    for number in range(4):
        side.announce(number, 0)
    assert side.n == 4
    assert side.data(0, 1).auss_n == 4
    side.host.announce = 0
    side.data(1, 2)  # announced: its first packet is not a second start and announces nothing
    assert (side.n, side.host.announce) == (4, 0)


@pytest.mark.parametrize(("announced_ps", "idle_ps", "sends"), [(ms(1), s(2), False), (s(2), ms(1), True)])
def test_the_shorter_of_the_two_idle_times_counts(announced_ps, idle_ps, sends):
    """An announcement has its own time limit; once packets arrive, theirs applies and the timer moves forward."""
    side = Side(announced_idle_ps=announced_ps, idle_ps=idle_ps)
    side.message(0, sender=1, group=0)
    side.announce(0, us(3))
    assert side.receivers[1].idle_timer_ps == us(3) + announced_ps
    if sends:
        side.data(0, us(10))
        assert side.receivers[1].idle_timer_ps == us(10) + idle_ps
    side.expire(1, side.receivers[1].idle_timer_ps)
    assert side.n == 0


def test_only_senders_in_the_set_get_adverts():
    side = Side()
    side.message(0, sender=1)
    side.message(1, sender=2)
    side.data(0, 0)
    for sender, kind in ((1, ADVERT), (2, NONE)):
        reply = packet_with(Dasr.Header)
        Dasr.on_advertise(side.endpoint, side.receivers[sender], reply)
        assert reply.kind == kind


@given(
    events=st.lists(
        st.one_of(st.tuples(st.just("data"), st.integers(0, 7)), st.tuples(st.just("idle"), st.integers(0, 3))),
        max_size=80,
    ),
    announced=st.booleans(),
)
def test_the_set_is_the_senders_with_open_messages(events, announced):
    """Packets of 8 messages from 4 senders in any order, evictions included, against a plain set.

    An ACK counts the message that it is for, even if it is the first or the last one; ACKs for ended messages count
    nothing.
    """
    side, opened, ended = Side(), set(), set()
    for number in range(8):
        side.message(number, sender=number % 4, packets=1 + number, group=0, weight=1.0 + number % 4)
    for now, (what, number) in enumerate(events):
        if what == "data":
            is_new = number not in ended
            reply = side.data(number, now, is_new=is_new)
            if is_new:
                opened.add(number)
            senders = {message % 4 for message in opened}
            share = (1.0 + number % 4) / sum(1.0 + sender for sender in senders) if number % 4 in senders else 1.0
            assert (reply.auss_n, reply.share) == (len(senders), pytest.approx(share))
            if side.messages[number].received_packets == 1 + number:
                opened.discard(number)
                ended.add(number)
            if announced and side.host.announce:
                side.host.announce = 0
                for other in range(8):
                    if side.transfers[other].phase == 0:
                        opened.add(other)
                    side.announce(other, now)
        else:
            side.receivers[number].expires_ps = min(side.receivers[number].expires_ps, now)
            side.expire(number, now)
            opened -= {message for message in opened if message % 4 == number}
        senders = {message % 4 for message in opened}
        assert side.n == len(senders)
        assert side.endpoint.auss_weight == pytest.approx(sum(1.0 + sender for sender in senders))
        for sender in range(4):
            receiver = side.receivers[sender]
            assert (receiver.open_messages > 0) == (sender in senders)
            assert (receiver.idle_timer_ps < NEVER) == (sender in senders)


def feed(side, count, spacing, ce, start):
    """Deliver packets of an endless message; return the time of the last."""
    for i in range(count):
        side.data(0, start + i * spacing, ce=ce)
    return start + (count - 1) * spacing


def machine(**changes):
    side = Side(**changes)
    side.message(0, sender=1, packets=10**9)
    return side


@pytest.mark.parametrize(
    ("spacing", "ce", "state"),
    [
        (T, 0, NO_CONGESTION),
        (4 * T, 0, NO_CONGESTION),
        (T, 1, RECEIVER_CONGESTION),
        (T * 100 // 96, 1, RECEIVER_CONGESTION),  # 0.96 of the line is "equal"
        (T * 100 // 90, 1, NON_RECEIVER_CONGESTION),
        (4 * T, 1, NON_RECEIVER_CONGESTION),
    ],
)
def test_states_by_marks_and_throughput(spacing, ce, state):
    side = machine()
    feed(side, 400, spacing, ce, start=T)
    assert side.endpoint.congestion == state
    assert side.ce == (state == NON_RECEIVER_CONGESTION)  # marks are suppressed in receiver congestion only


@pytest.mark.parametrize(("spacing", "told"), [(3 * T, (1, 1.0)), (T, (2, 0.5))])
def test_n_is_one_in_non_receiver_congestion(spacing, told):
    side = machine()
    side.message(1, sender=2, packets=10**9)
    side.data(1, 0)
    now = feed(side, 200, spacing, 1, start=T)
    reply = side.data(0, now + spacing, ce=1)
    assert (side.n, (reply.auss_n, reply.share)) == (2, told)


@pytest.mark.parametrize(("base_rtt_us", "lasts_us"), [(10, 50), (80, 80)])
def test_non_receiver_congestion_ends_50_us_or_a_longer_base_rtt_after_the_last_mark(base_rtt_us, lasts_us):
    side = machine()
    side.host.base_rtt_ps = us(base_rtt_us)
    now = feed(side, 200, 3 * T, 1, start=T)
    states = []
    for i in range(1, 100):
        side.data(0, now + us(i), ce=0)
        states.append(side.endpoint.congestion)
    assert states == [NON_RECEIVER_CONGESTION] * (lasts_us - 1) + [NO_CONGESTION] * (100 - lasts_us)


def test_a_burst_after_idling_is_not_mistaken_for_non_receiver_congestion():
    """Throughput is measured from the first packet after the idle time, not over the empty window before it."""
    side = machine()
    now = feed(side, 100, T, 0, start=T)
    states = set()
    for i in range(100):
        side.data(0, now + ms(1) + i * T, ce=1)
        states.add(side.endpoint.congestion)
    assert states == {RECEIVER_CONGESTION}


@pytest.mark.parametrize(
    ("changes", "state"),
    [({}, NON_RECEIVER_CONGESTION), ({"window_ps": 6 * T, "full_packets": 5}, RECEIVER_CONGESTION)],
)
def test_a_short_window_sees_a_full_line_when_the_first_mark_arrives(changes, state):
    """A trickle, then 18 packets in a row, which is how many reach a threshold of 22.5 KB at 10 Gb/s."""
    side = machine(**changes)
    now = feed(side, 100, 4 * T, 0, start=T)
    now = feed(side, 18, T, 0, start=now + T)
    side.data(0, now + T, ce=1)
    assert side.endpoint.congestion == state


def make_sender(line=LINE, peer=LINE):
    qp, sender = QueuePair(), Dasr.Sender()
    qp.line_bps, qp.peer_line_bps = line, peer
    Dasr.on_open(qp, sender)
    return qp, sender


def shared(share):
    packet = packet_with(Dasr.Header)
    packet.share = share
    return packet


@pytest.mark.parametrize(("line", "peer", "rate"), [(100e9, 100e9, 25e9), (10e9, 100e9, 10e9), (100e9, 40e9, 10e9)])
def test_the_rate_is_the_share_of_the_receivers_line(line, peer, rate):
    qp, sender = make_sender(line, peer)
    assert sender.rate_bps == line
    Dasr.on_ack(qp, sender, shared(0.25))
    assert sender.rate_bps == rate
    Dasr.on_ack(qp, sender, shared(1.0))
    assert sender.rate_bps == min(line, peer)


def test_messages_start_at_line_rate_by_default():
    qp, sender = make_sender()
    Dasr.on_ack(qp, sender, shared(0.1))
    qp.active_messages = 2
    Dasr.on_start(qp, sender)
    assert sender.rate_bps == 0.1 * LINE  # others are in flight: the share holds
    qp.active_messages = 1
    Dasr.on_start(qp, sender)
    assert sender.rate_bps == LINE
    qp.active_messages = 0
    Dasr.on_advert(qp, sender, shared(0.2))
    qp.active_messages = 1
    Dasr.on_start(qp, sender)
    assert sender.rate_bps == 0.2 * LINE  # look-ahead told it before it began
    Dasr.on_start(qp, sender)
    assert sender.rate_bps == LINE  # once


def test_the_announcement_adds_its_size():
    """2 B per sender, in the first packet of a group's message: 20 senders and 2 kB make 2%."""
    params, message, packet = Dasr(), Message(), packet_with(Dasr.Header)
    message.group, message.group_size = 3, 20
    for psn, expected in ((0, 1088), (1, 1048)):
        packet.wire_bytes, packet.psn = 1048, psn
        Dasr.on_send(params, message, packet)
        assert packet.wire_bytes == expected
    message.group, packet.psn, packet.wire_bytes = -1, 0, 1048
    Dasr.on_send(params, message, packet)
    assert packet.wire_bytes == 1048


def without_dcqcn(**changes):
    return Scheme(name="dasr only", recovery=GoBackN(), control=(Dasr(**changes),))


def rates(result, flow):
    return samples(result, f"rate {flow}")


def value_at(pairs, now):
    return [value for at, value in pairs if at <= now][-1]


def test_two_senders_have_half_the_line_within_one_round_trip(engine):
    """Flow 1 joins at 50 us: within one RTT of its first packet at the receiver, both rates are half the line."""
    work = rdmacc.long_flows([("h1", "h0"), ("h2", "h0")], "10MB", start=["0us", "50us"])
    watch = [probes.rate(0), probes.rate(1), probes.field("host", "h0", "Dasr.auss_n")]
    graph = rdmacc.star(3)
    result = rdmacc.simulate(graph, work, without_dcqcn(), engine=engine, until="80us", probes=watch)
    joined = next(at for at, value in samples(result, "Dasr.auss_n h0") if value == 2)
    # The packet of h2 meets at most two of h1's at the switch.
    first_packet = us(50) + 2 * (T + us(1))
    assert first_packet <= joined <= first_packet + 2 * T
    rtt = int(result.plan.qp_base_rtt_ps[0])
    for flow in (0, 1):
        assert value_at(rates(result, flow), joined) == LINE
        halved = next(at for at, value in rates(result, flow) if value == LINE / 2)
        assert joined < halved <= joined + rtt
        assert {value for _, value in rates(result, flow)} == {LINE, LINE / 2}
    # Exactly: the ACK of the first packet takes the way back.
    back = 2 * (transmission(64, LINE) + us(1))
    assert next(at for at, value in rates(result, 1) if value == LINE / 2) == joined + back


def test_look_ahead_throttles_at_the_first_packet(engine):
    """The group's first message announces all four, so a long flow backs off before the others' packets arrive."""
    others = [(f"h{i}", "h0", "50kB", f"{40 + i}us", 0) for i in (2, 3, 4, 5)]
    work = rdmacc.messages([("h1", "h0", "5MB"), *others])
    watch = [probes.rate(0), probes.field("host", "h0", "Dasr.auss_n")]
    found = {}
    for look_ahead in (True, False):
        scheme = without_dcqcn(look_ahead=look_ahead)
        result = rdmacc.simulate(rdmacc.star(6), work, scheme, engine=engine, until="60us", probes=watch)
        counts = [int(value) for _, value in samples(result, "Dasr.auss_n h0")]
        found[look_ahead] = counts, [round(LINE / value) for _, value in rates(result, 0)]
    assert found[True][0][:3] == [0, 1, 5]
    assert found[True][1][:2] == [1, 5]
    assert found[False][0][:6] == [0, 1, 2, 3, 4, 5]
    assert found[False][1][:5] == [1, 2, 3, 4, 5]


HOSTS = [f"h{i}" for i in range(1, 25)]


@pytest.mark.parametrize(
    ("graph", "pairs", "size", "marked"),
    [
        (rdmacc.star(9, "10Gbps", "5us"), [(one, "h0") for one in HOSTS[:8]], "500kB", "marks_last_hop"),
        (rdmacc.dumbbell(2, 2, "10Gbps", "10Gbps"), [("h0", "h2"), ("h1", "h3")], "2MB", "marks_in_network"),
        (rdmacc.star(25, "10Gbps", "5us"), [("h0", one) for one in HOSTS], "200kB", "marks_host_nic"),
    ],
    ids=["last hop", "network", "source"],
)
def test_congestion_that_is_not_the_receivers_is_left_to_dcqcn(engine, graph, pairs, size, marked):
    """The receiver suppresses an incast's marks: no CNP. Links inside the network and a sender's NIC do cause CNPs."""
    result = rdmacc.simulate(graph, rdmacc.long_flows(pairs, size), "dasr", engine=engine)
    check_finished(result)
    marks = {name for name in ("marks_last_hop", "marks_in_network", "marks_host_nic") if result.counters[name] > 0}
    assert marks == {marked}
    assert (result.counters.cnps == 0) == (marked == "marks_last_hop")
