"""Parts of receiver-driven schemes: requests, several picks, returned headers, padding; on both engines."""

from dataclasses import dataclass, replace

import pytest

import rdmacc
from rdmacc.component import Component, param
from rdmacc.faults import ScriptedLoss
from rdmacc.records import Deadline, Int, Int32, Ints, Record
from rdmacc.state import ACK, CONTROL, CREDIT, DATA_CLASS, REQUEST, TRIM
from rdmacc.switch.queueing import Queueing
from tests.engine.test_host_features import both, with_control
from tests.support import check_conservation, line_rate, samples, spokes


def rows_of(result, kind, what="sent", node=None):
    """Return the rows of the trace about packets of a kind."""
    trace = result.packet_trace
    rows = trace[(trace["kind"] == kind) & (trace["what"] == what)]
    return rows if node is None else rows[rows["node"] == node]


# Requests


@dataclass(frozen=True, kw_only=True)
class Asker(Component):
    """A sender that may send only what the receiver credits: one packet for each request, another after each ACK."""

    retry_ps: int = param("20us", "asks again after so long without a credit", unit="ps", low=1)

    class Transfer(Record):
        """Of a message."""

        ask_timer_ps = Deadline("sender: ask again")
        asked = Int32(doc="sender")
        granted = Int32(doc="receiver")

    @staticmethod
    def on_open(qp):
        qp.credits = 0

    @staticmethod
    def on_start(params, message, transfer, request, now):
        ask(params, message, transfer, request, now)

    @staticmethod
    def on_ask_timer(params, message, transfer, request, now):
        ask(params, message, transfer, request, now)

    @staticmethod
    def on_ack(params, message, transfer, packet, request, now):
        if message.una_psn < message.packets:
            ask(params, message, transfer, request, now)

    @staticmethod
    def on_request(transfer, packet, reply):
        transfer.granted += 1
        reply.kind = CREDIT
        reply.psn = packet.psn
        reply.wire_bytes = 40

    @staticmethod
    def on_credit(qp, message, packet):
        if packet.psn == message.next_psn and qp.credits == 0:
            qp.credits = 1


def ask(params, message, transfer, request, now):
    """Ask for the next packet."""
    request.kind = REQUEST
    request.psn = message.next_psn
    request.wire_bytes = 50
    transfer.asked += 1
    transfer.ask_timer_ps = now + params.retry_ps


def test_one_packet_for_each_request_and_credit():
    """Each packet takes a request, a credit and its ACK: two round trips, but for the first request's way."""
    work = rdmacc.messages([("h0", "h1", "5kB")])
    result = both(rdmacc.star(2), work, with_control(Asker()))
    counters = result.counters
    assert (counters.requests, counters.credits, counters.acks) == (5, 5, 5)
    assert result.transfers["asked"].tolist() == result.transfers["granted"].tolist() == [5]
    assert set(rows_of(result, "request")["wire_bytes"]) == {50}
    assert set(rows_of(result, "credit")["wire_bytes"]) == {40}
    step = [2 * (1_000_000 + wire * 80) for wire in (50, 40, 1048, 64)]
    assert result.flows["fct_ps"].tolist() == [4 * sum(step) + sum(step[:3])]
    requests = rows_of(result, "request", node="h0")
    assert requests["psn"].tolist() == [0, 1, 2, 3, 4]
    assert (requests["priority"] == CONTROL).all()


@pytest.mark.parametrize("kind", ["request", "credit"])
@pytest.mark.parametrize("nth", [1, 3, 5])
def test_a_lost_request_or_credit_is_asked_for_again(kind, nth):
    work = rdmacc.messages([("h0", "h1", "5kB")])
    faults = [ScriptedLoss(message=0, psn=None, nth=nth, kind=kind)]
    result = both(rdmacc.star(2), work, with_control(Asker()), faults=faults)
    assert result.flows["status"].tolist() == ["finished"]
    assert result.counters.requests == 6
    assert len(rows_of(result, kind, what="dropped")) == 1


@dataclass(frozen=True, kw_only=True)
class Prober(Component):
    """A probe in the data's class behind every third packet, and one from time to time."""

    class Sender(Record):
        """Of a queue pair."""

        probe_timer_ps = Deadline()
        probes = Int32()

    class Receiver(Record):
        """The values it heard."""

        heard = Int32(doc="requests that came right behind their packet, or belong to none")
        last_psn = Int32(-1)

    @staticmethod
    def on_start(sender, now):
        sender.probe_timer_ps = now

    @staticmethod
    def on_send(packet, request):
        if packet.psn % 3 == 2:
            request.kind = REQUEST
            request.psn = packet.psn
            request.priority = DATA_CLASS

    @staticmethod
    def on_probe_timer(sender, request, now):
        sender.probes += 1
        request.kind = REQUEST
        request.psn = 100 + sender.probes
        if sender.probes < 3:
            sender.probe_timer_ps = now + 1_000_000

    @staticmethod
    def on_data(receiver, packet):
        receiver.last_psn = packet.psn

    @staticmethod
    def on_request(receiver, packet, reply, notice):
        receiver.heard += int(packet.psn >= 100 or receiver.last_psn == packet.psn)
        reply.kind = CREDIT
        notice.kind = CREDIT
        notice.wire_bytes = 40


def test_a_probe_follows_its_packet_and_gets_two_answers():
    work = rdmacc.messages([("h0", "h1", "9kB")])
    watch = rdmacc.probes.field("flow", 0, "heard")
    result = both(spokes(["10Gbps"] * 2), work, with_control(Prober()), probes=[watch])
    assert result.counters.requests == samples(result, watch.name)[-1][1] == 6
    assert result.counters.credits == 12
    credits = rows_of(result, "credit", node="h1")["wire_bytes"].tolist()
    assert credits == [64, 40] * 6
    check_conservation(result)


# Several picks at a time


@dataclass(frozen=True, kw_only=True)
class Overcommitter(Component):
    """After each packet grants to up to three messages with the least left, at most one of each sender."""

    class Endpoint(Record):
        """Of the round of picks under way."""

        senders = Ints(8, -1)
        picked = Int32()
        log = Int(0, "the messages picked in the last round, as digits from 1")

    @staticmethod
    def on_data(host, endpoint):
        endpoint.picked = 0
        endpoint.log = 0
        host.pick = 3

    @staticmethod
    def on_candidate(message):
        message.key = message.packets - message.received_packets

    @staticmethod
    def on_pick(host, endpoint, message, reply):
        for i in range(endpoint.picked):
            if endpoint.senders[i] == message.src:
                host.pick += 1
                return
        endpoint.senders[endpoint.picked] = message.src
        endpoint.picked += 1
        endpoint.log = endpoint.log * 10 + message.number + 1
        reply.kind = CREDIT
        reply.psn = endpoint.picked


def test_the_messages_with_the_lowest_keys_are_picked_in_order():
    """Messages 0 and 1 come from one sender: only the shorter one is picked, and the next ones move up."""
    rows = [("h1", "h0", "9kB"), ("h1", "h0", "5kB"), ("h2", "h0", "7kB"), ("h3", "h0", "12kB"), ("h4", "h0", "20kB")]
    watch = rdmacc.probes.field("host", "h0", "log")
    result = both(rdmacc.star(5), rdmacc.messages(rows), with_control(Overcommitter()), probes=[watch])
    seen = [int(value) for value in result.probes["value"] if value]
    assert 234 in seen
    assert all(not {"1", "2"} <= set(str(log)) for log in seen)
    assert all(len(str(log)) <= 3 for log in seen)
    credits = rows_of(result, "credit", node="h0")
    for _, at_once in credits.groupby("time_ps"):
        assert at_once["psn"].tolist() == sorted(at_once["psn"])


# Headers that go back


@dataclass(frozen=True, kw_only=True)
class TrimAll(Component):
    """Trim packets that would queue."""

    @staticmethod
    def on_enqueue(port, packet):
        if port.queue_bytes > 2000:
            packet.verdict = TRIM


@dataclass(frozen=True, kw_only=True)
class Returned(Component):
    """Count the packets that come back."""

    class Transfer(Record):
        """At the sender."""

        returned = Int32()
        last_returned = Int32(-1)

    @staticmethod
    def on_return(transfer, packet):
        transfer.returned += packet.is_trimmed
        transfer.last_returned = packet.psn


@pytest.mark.parametrize("returns", [False, True])
def test_a_header_that_finds_its_queue_full_goes_back_once(returns):
    base = line_rate(timeout_ps="1ms")
    scheme = replace(
        base, control=(*base.control, Returned()), switch=(TrimAll(),), buffer=rdmacc.DropTail(),
        queueing=Queueing(control_limit_bytes=128, returns_headers=returns, wrr_ratio=1),
    )  # fmt: skip
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", "10kB")
    result = both(spokes(["10Gbps"] * 9), work, scheme, until="100us")
    port = result.ports.set_index("port").loc["s0->h0"]
    back = rows_of(result, "return", what="arrived")
    back = back[back["node"] == "s0"]
    if returns:
        assert port["dropped_packets"] == 0
        assert len(back) > 10
        assert result.transfers["returned"].sum() == len(back)
        assert (back["wire_bytes"] == 64).all()
        assert set(back["peer"]) == {f"h{i}" for i in set(result.flows["src"].str[1:].astype(int))}
    else:
        assert port["dropped_packets"] > 10
        assert len(back) == 0
    check_conservation(result)


# Sizes, paths


def test_short_packets_are_padded():
    work = rdmacc.messages([("h0", "h1", "1001B"), ("h0", "h1", "1B")])
    result = both(rdmacc.star(2), work, line_rate(least_wire_bytes="84B"))
    sent = rows_of(result, "data", node="h0")
    assert sorted(sent["wire_bytes"]) == [84, 84, 1048]
    assert result.counters.accepted_bytes == 1002


@dataclass(frozen=True, kw_only=True)
class Permuter(Component):
    """Packet n takes path n."""

    @staticmethod
    def on_send(qp, packet):
        packet.path = packet.psn % qp.paths


def test_the_sender_chooses_the_path():
    """A fat tree of 4-port switches has 4 paths between pods: packets 0 to 7 take each twice, by all core switches."""
    fabric = rdmacc.fat_tree(4, "100Gbps", "1us")
    scheme = replace(with_control(Permuter()), routing="source")
    result = both(fabric, rdmacc.messages([("h0", "h15", "8kB")]), scheme)
    data = rows_of(result, "data")
    hops = data.groupby("psn")["node"].apply(tuple)
    assert hops.nunique() == 4
    assert [hops[psn] == hops[psn + 4] for psn in range(4)] == [True] * 4
    assert all(len(path) == 6 for path in hops)


def test_what_a_handler_may_not_ask_for_is_refused():
    @dataclass(frozen=True, kw_only=True)
    class Wrong(Component):
        @staticmethod
        def on_data(request):
            request.kind = ACK

    with pytest.raises(rdmacc.ConfigError, match="request"):
        Wrong.check_interface()
