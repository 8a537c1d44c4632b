"""Hosts: priorities, order at the NIC, start delay, receivers that choose among messages, clocks; on both engines.

Building blocks of receiver-driven schemes: requests, several picks, padding; on both engines.
"""

from dataclasses import dataclass, replace

import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.faults import Clocks, ScriptedLoss
from rdmacc.interface import CONTROL, CREDIT, DATA_CLASS, REQUEST, Component, Deadline, Float, Int, Int32, Record, param
from rdmacc.schemes import Scheme
from tests.support import line_rate, samples


def both(topology, work, scheme, **options):
    """Simulate on both engines, assert that they agree, and return the result."""
    options |= {"trace": True, "progress": False}
    one, other = (rdmacc.simulate(topology, work, scheme, engine=name, **options) for name in ("simpy", "compiled"))
    assert differences(one.outcome, other.outcome) == []
    return one


def with_control(*parts):
    scheme = line_rate()
    return replace(scheme, control=(*scheme.control, *parts))


def test_data_packets_have_their_messages_priority():
    work = rdmacc.messages([("h0", "h1", "5kB"), ("h0", "h1", "5kB")]).assign(priority=[DATA_CLASS + 2, DATA_CLASS])
    trace = both(rdmacc.star(2), work, line_rate()).packet_trace
    data = trace[trace["kind"] == "data"]
    assert data.groupby("message")["priority"].unique().map(list).to_dict() == {0: [5], 1: [3]}


def test_a_newcomer_goes_before_a_queue_pair_that_has_just_sent():
    """Messages 0 and 2 alternate; 1 starts during a packet of 0 and is next, although 2 has waited longer."""
    rows = [("h0", "h1", "20kB", "0us"), ("h0", "h1", "2kB", "1.0us"), ("h0", "h1", "20kB", "0us")]
    trace = both(rdmacc.star(2), rdmacc.messages(rows), line_rate()).packet_trace
    sent = trace[(trace["what"] == "sent") & (trace["node"] == "h0")]
    order, at = sent["message"].tolist(), sent["time_ps"].tolist()
    first = order.index(1)
    before = [message for message, time_ps in zip(order, at) if time_ps < 1_000_000]
    assert order[: len(before)] == [0, 2] * (len(before) // 2) + [0] * (len(before) % 2)
    assert order[first - 1 : first + 6] == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(("count", "order"), [(64, "round-robin"), (65, "srpt"), (4097, "round-robin")])
def test_many_queue_pairs_take_turns(count, order):
    """Sets of queue pairs with one, two and three levels: each sends once, in order, before any sends twice."""
    work = rdmacc.messages([("h0", "h1", 2000 + number % 3 * 1000) for number in range(count)])
    trace = both(rdmacc.star(2, rate="400Gbps"), work, line_rate(nic_order=order)).packet_trace
    sent = trace[(trace["what"] == "sent") & (trace["node"] == "h0")]["message"].tolist()
    if order == "round-robin":
        assert sent[: 2 * count] == [*range(count), *range(count)]
        assert sent[2 * count :] == [n for n in range(count) if n % 3] + [n for n in range(count) if n % 3 == 2]
    else:
        least_first = sorted(range(1, count), key=lambda n: (n % 3, n))
        assert sent == [0, 0, *(n for n in least_first for _ in range(2 + n % 3))]


@pytest.mark.parametrize("size", ["1B", "1kB", "64kB"])
def test_the_start_delay_is_added_to_a_lone_messages_time(size):
    work = rdmacc.messages([("h0", "h1", size, "7us")])
    flows = both(rdmacc.star(2), work, line_rate(start_delay_ps="300us")).flows
    assert flows["fct_ps"].iloc[0] == flows["ideal_fct_ps"].iloc[0] + 300_000_000
    assert flows["start_ps"].iloc[0] == 7_000_000


@dataclass(frozen=True, kw_only=True)
class Delays(Component):
    """One-way delay as the receiver sees it: its clock minus the sender's stamp."""

    class Receiver(Record):
        least_ps = Int(2**62)
        most_ps = Int(-(2**62))

    def on_data(receiver, host, packet):
        delay = host.clock_ps - packet.sent_ps
        if delay < receiver.least_ps:
            receiver.least_ps = delay
        if delay > receiver.most_ps:
            receiver.most_ps = delay


def delays(faults, n_messages=1):
    """Return the smallest and the largest one-way delay seen by the receivers of h0's paced messages."""
    work = rdmacc.messages([("h0", f"h{i + 1}", "50kB") for i in range(n_messages)])
    probes = [rdmacc.probes.field("flow", i, name) for i in range(n_messages) for name in ("least_ps", "most_ps")]
    result = both(rdmacc.star(n_messages + 1), work, with_control(Delays()), probes=probes, faults=faults)
    values = [int(samples(result, probe.name)[-1][1]) for probe in probes]
    return list(zip(values[::2], values[1::2], strict=True))


def test_clocks_differ_by_offset_and_jitter():
    """An offset is the same for every packet; each reading has its own jitter."""
    one_way_ps = 2 * (1048 * 80 + 1_000_000)  # a full packet over two links of 100 Gb/s and 1 us
    assert delays([]) == [(one_way_ps, one_way_ps)]
    [(least, most)] = delays([Clocks(offset_ps="10us")])
    assert least == most
    assert 0 < abs(least - one_way_ps) <= 20_000_000
    [(least, most)] = delays([Clocks(jitter_ps="100ns")])
    assert one_way_ps - 200_000 <= least < one_way_ps < most <= one_way_ps + 200_000
    assert most - least > 100_000


@pytest.mark.parametrize("name", ["dcqcn", "timely", "infiniband-cc", "dcqcn-hpcc"])
def test_a_kept_connection_keeps_its_rate(name):
    """After an incast has cut the rate, a second message starts at line rate if fresh and slower if kept."""
    senders = [f"h{i}" for i in range(1, 9)]
    second = rdmacc.messages([(src, "h0", "1kB", "1.5ms") for src in senders])
    work = rdmacc.combine(rdmacc.incast(senders, "h0", "2MB"), second)
    rates = {}
    for connection in ("message", "pair"):
        scheme = rdmacc.scheme(name, connection=connection)
        probe = rdmacc.probes.rate(8, every="100us")
        result = rdmacc.simulate(rdmacc.star(9), work, scheme, probes=[probe], until="1.55ms", progress=False)
        rates[connection] = result.probes["value"].iloc[-1]
    assert rates["pair"] < rates["message"] == 100e9


@dataclass(frozen=True, kw_only=True)
class Paced(Component):
    rate_bps: float = param("1Gbps", "the rate")

    class Sender(Record):
        rate_bps = Float()

    def on_open(params, sender):
        sender.rate_bps = params.rate_bps


@pytest.mark.parametrize(
    ("rate_bps", "gap_ps"), [(75910743307.7853, 110_445), (27969928323.722565, 299_751), (28345631429.03027, 295_778)]
)
def test_gaps_are_rounded_alike_where_half_a_picosecond_decides(rate_bps, gap_ps):
    """With w * (8e12 / r) instead of w * 8e12 / r, each of these gaps would differ by a picosecond."""
    work = rdmacc.messages([("h1", "h0", 4000)])
    scheme = Scheme(control=Paced(rate_bps=rate_bps))
    found = [rdmacc.simulate(rdmacc.star(2), work, scheme, engine=engine) for engine in ("simpy", "compiled")]
    last = [int(one.flows["fct_ps"].iloc[0]) for one in found]
    alone = rdmacc.simulate(rdmacc.star(2), rdmacc.messages([("h1", "h0", 1000)]), scheme, engine="simpy")
    assert last == [3 * gap_ps + int(alone.flows["fct_ps"].iloc[0])] * 2


def rows_of(result, kind, what="sent", node=None):
    trace = result.packet_trace
    rows = trace[(trace["kind"] == kind) & (trace["what"] == what)]
    return rows if node is None else rows[rows["node"] == node]


@dataclass(frozen=True, kw_only=True)
class Asker(Component):
    """A sender that sends only what the receiver credits, one packet per request, and a new request after each ACK."""

    retry_ps: int = param("20us", "asks again after so long without a credit", low=1)

    class Transfer(Record):
        ask_timer_ps = Deadline("sender: ask again")
        asked = Int32(doc="sender")
        granted = Int32(doc="receiver")

    def on_open(qp):
        qp.credits = 0

    def on_start(params, message, transfer, request, now):
        ask(params, message, transfer, request, now)

    def on_ask_timer(params, message, transfer, request, now):
        ask(params, message, transfer, request, now)

    def on_ack(params, message, transfer, packet, request, now):
        if message.una_psn < message.packets:
            ask(params, message, transfer, request, now)

    def on_request(transfer, packet, reply):
        transfer.granted += 1
        reply.kind = CREDIT
        reply.psn = packet.psn
        reply.wire_bytes = 40

    def on_credit(qp, message, packet):
        if packet.psn == message.next_psn and qp.credits == 0:
            qp.credits = 1


def ask(params, message, transfer, request, now):
    request.kind = REQUEST
    request.psn = message.next_psn
    request.wire_bytes = 50
    transfer.asked += 1
    transfer.ask_timer_ps = now + params.retry_ps


def test_one_packet_per_request_and_credit():
    """Each packet takes a request, a credit and its ACK: two round trips, except for the first request."""
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
def test_a_lost_request_or_credit_is_requested_again(kind, nth):
    work = rdmacc.messages([("h0", "h1", "5kB")])
    faults = [ScriptedLoss(message=0, psn=None, nth=nth, kind=kind)]
    result = both(rdmacc.star(2), work, with_control(Asker()), faults=faults)
    assert result.flows["status"].tolist() == ["finished"]
    assert result.counters.requests == 6
    assert len(rows_of(result, kind, what="dropped")) == 1


def test_short_packets_are_padded():
    work = rdmacc.messages([("h0", "h1", "1001B"), ("h0", "h1", "1B")])
    result = both(rdmacc.star(2), work, line_rate(least_wire_bytes="84B"))
    sent = rows_of(result, "data", node="h0")
    assert sorted(sent["wire_bytes"]) == [84, 84, 1048]
    assert result.counters.accepted_bytes == 1002
