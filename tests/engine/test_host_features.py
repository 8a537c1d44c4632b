"""Hosts: priorities, NIC order, start delay, receivers that choose among messages, clocks; on both engines."""

from dataclasses import dataclass, replace

import pytest

import rdmacc
from rdmacc.component import Component, param
from rdmacc.engine.compare import differences
from rdmacc.errors import ConfigError
from rdmacc.faults import Clocks
from rdmacc.records import Float, Int, Int32, Record
from rdmacc.schemes import Scheme
from rdmacc.state import CREDIT, DATA_CLASS, NUM_CLASSES
from tests.support import line_rate, samples


def both(topology, work, scheme, **options):
    """Simulate on both engines, assert that they agree, and return the result."""
    one, other = (
        rdmacc.simulate(topology, work, scheme, engine=engine, trace=True, progress=False, **options)
        for engine in ("simpy", "compiled")
    )
    assert differences(one.outcome, other.outcome) == []
    return one


def with_control(*parts):
    scheme = line_rate()
    return replace(scheme, control=(*scheme.control, *parts))


# Priorities


def test_the_messages_priority_is_that_of_its_data_packets():
    work = rdmacc.messages([("h0", "h1", "5kB"), ("h0", "h1", "5kB")]).assign(priority=[DATA_CLASS + 2, DATA_CLASS])
    trace = both(rdmacc.star(2), work, line_rate()).packet_trace
    data = trace[trace["kind"] == "data"]
    assert data.groupby("message")["priority"].unique().map(list).to_dict() == {0: [5], 1: [3]}


def test_a_higher_class_overtakes_in_the_switch():
    work = rdmacc.incast(["h1", "h2"], "h0", "50kB")
    ranked = work.assign(priority=[DATA_CLASS + 1, DATA_CLASS])
    flows = both(rdmacc.star(3), ranked, line_rate()).flows
    assert flows["slowdown"].iloc[1] < 1.05
    assert flows["slowdown"].iloc[0] > 1.6
    fair = both(rdmacc.star(3), work, line_rate()).flows
    assert fair["slowdown"].min() > 1.6


@pytest.mark.parametrize("priority", [DATA_CLASS - 1, NUM_CLASSES])
def test_a_priority_must_be_a_class_of_data(priority):
    work = rdmacc.messages([("h0", "h1", "5kB")]).assign(priority=[priority])
    with pytest.raises(ConfigError, match="priority"):
        rdmacc.simulate(rdmacc.star(2), work, line_rate(), engine="simpy")


# Order at the NIC


def sizes(*many):
    return rdmacc.messages([("h0", f"h{i + 1}", size) for i, size in enumerate(many)])


def test_one_that_has_just_sent_does_not_get_ahead_of_one_that_has_just_come():
    """Messages 0 and 2 alternate; 1 starts during a packet of 0 and is next, though 2 waits longer."""
    rows = [("h0", "h1", "20kB", "0us"), ("h0", "h1", "2kB", "1.0us"), ("h0", "h1", "20kB", "0us")]
    trace = both(rdmacc.star(2), rdmacc.messages(rows), line_rate()).packet_trace
    sent = trace[(trace["what"] == "sent") & (trace["node"] == "h0")]
    order, at = sent["message"].tolist(), sent["time_ps"].tolist()
    first = order.index(1)
    before = [message for message, time_ps in zip(order, at) if time_ps < 1_000_000]
    assert order[: len(before)] == [0, 2] * (len(before) // 2) + [0] * (len(before) % 2)
    assert order[first - 1 : first + 6] == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize(("count", "order"), [(64, "round-robin"), (65, "srpt"), (4097, "round-robin")])
def test_turns_of_many(count, order):
    """Sets of queue pairs of one, two and three levels: each sends once before any sends twice, in order."""
    work = rdmacc.messages([("h0", "h1", 2000 + number % 3 * 1000) for number in range(count)])
    trace = both(rdmacc.star(2, rate="400Gbps"), work, line_rate(nic_order=order)).packet_trace
    sent = trace[(trace["what"] == "sent") & (trace["node"] == "h0")]["message"].tolist()
    if order == "round-robin":
        assert sent[: 2 * count] == [*range(count), *range(count)]
        assert sent[2 * count :] == [n for n in range(count) if n % 3] + [n for n in range(count) if n % 3 == 2]
    else:
        least_first = sorted(range(1, count), key=lambda n: (n % 3, n))
        assert sent == [0, 0, *(n for n in least_first for _ in range(2 + n % 3))]


def test_srpt_sends_the_message_with_the_least_left():
    result = both(rdmacc.star(4), sizes("30kB", "10kB", "20kB"), line_rate(nic_order="srpt"))
    trace = result.packet_trace
    sent = trace[(trace["what"] == "sent") & (trace["node"] == "h0")]["message"].tolist()
    # The first packet leaves as message 0 starts, before the others do.
    rest = sent[1:] if sent[0] == 0 else sent
    assert rest == sorted(rest, key=[1, 2, 0].index)
    flows = result.flows
    assert flows["fct_ps"].iloc[1] < flows["fct_ps"].iloc[2] < flows["fct_ps"].iloc[0]


# Start delay


@pytest.mark.parametrize("size", ["1B", "1kB", "64kB"])
def test_the_start_delay_adds_to_a_lone_messages_time(size):
    work = rdmacc.messages([("h0", "h1", size, "7us")])
    flows = both(rdmacc.star(2), work, line_rate(start_delay_ps="300us")).flows
    assert flows["fct_ps"].iloc[0] == flows["ideal_fct_ps"].iloc[0] + 300_000_000
    assert flows["start_ps"].iloc[0] == 7_000_000


# Choice among incoming messages


@dataclass(frozen=True, kw_only=True)
class Granter(Component):
    """A receiver that lets one message at a time send: the one with the least left, two packets at a time."""

    class Sender(Record):
        """Credits received."""

        credits_received = Int32()

    class Endpoint(Record):
        """The message that the host picked."""

        picks = Int32()
        last = Int32(-1)

    @staticmethod
    def on_data(endpoint, host, packet):
        host.pick = 1

    @staticmethod
    def on_candidate(message):
        message.key = message.packets - message.received_packets

    @staticmethod
    def on_pick(endpoint, message, reply):
        endpoint.picks += 1
        endpoint.last = message.number
        reply.kind = CREDIT
        reply.psn = message.number

    @staticmethod
    def on_credit(sender):
        sender.credits_received += 1


def test_the_receiver_picks_the_message_with_the_lowest_key():
    work = rdmacc.incast(["h1", "h2", "h3"], "h0", "20kB").assign(size_bytes=[30_000, 10_000, 20_000])
    probes = [
        rdmacc.probes.field("host", "h0", "last"),
        rdmacc.probes.field("host", "h0", "picks"),
        rdmacc.probes.field("flow", 1, "credits_received"),
    ]
    result = both(rdmacc.star(4), work, with_control(Granter()), probes=probes)
    trace = result.packet_trace
    credits = trace[(trace["kind"] == "credit") & (trace["what"] == "sent") & (trace["node"] == "h0")]
    assert (credits["message"] == credits["psn"]).all()
    assert len(credits) == samples(result, probes[1].name)[-1][1] > 50
    # While message 1, the shortest, is incomplete and known, it is the one; then message 2, then 0.
    picked = [int(value) for _, value in samples(result, probes[0].name)]
    order = list(dict.fromkeys(picked[-3:]))
    assert order == [1, 2, 0]
    delivered = result.flows["fct_ps"]
    late = credits[credits["time_ps"] > delivered.iloc[1]]
    assert (late["message"] != 1).all()


# Clocks


@dataclass(frozen=True, kw_only=True)
class Delays(Component):
    """One-way delay as the receiver sees it: its own clock less the sender's stamp."""

    class Receiver(Record):
        """Smallest and largest delay."""

        least_ps = Int(2**62)
        most_ps = Int(-(2**62))

    @staticmethod
    def on_data(receiver, host, packet):
        delay = host.clock_ps - packet.sent_ps
        if delay < receiver.least_ps:
            receiver.least_ps = delay
        if delay > receiver.most_ps:
            receiver.most_ps = delay


def delays(faults, n_messages=1):
    """Return the least and the most one-way delay that the receivers of h0's paced messages see."""
    work = sizes(*["50kB"] * n_messages)
    probes = [
        rdmacc.probes.field("flow", number, name) for number in range(n_messages) for name in ("least_ps", "most_ps")
    ]
    result = both(rdmacc.star(n_messages + 1), work, with_control(Delays()), probes=probes, faults=faults)
    values = [int(samples(result, probe.name)[-1][1]) for probe in probes]
    return list(zip(values[::2], values[1::2], strict=True))


def test_without_faults_clocks_agree():
    one_way_ps = 2 * (1048 * 80 + 1_000_000)  # a full packet over two links of 100 Gb/s and 1 us
    [(least, most)] = delays([])
    assert (least, most) == (one_way_ps, one_way_ps)


def test_an_offset_is_the_same_for_every_packet():
    [(least, most)] = delays([Clocks(offset_ps="10us")])
    assert least == most
    assert 0 < abs(least - 2_167_680) <= 20_000_000


def test_jitter_is_bounded_and_of_every_reading():
    [(least, most)] = delays([Clocks(jitter_ps="100ns")])
    assert 2_167_680 - 200_000 <= least < 2_167_680 < most <= 2_167_680 + 200_000
    assert most - least > 100_000


# Connections


@pytest.mark.parametrize("name", ["dcqcn", "timely", "infiniband-cc", "dcqcn-hpcc"])
def test_a_kept_connection_goes_on_with_its_rate(name):
    """After an incast has cut its rate, a second message starts at line rate when fresh and slower when kept."""
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
    """Sends at a given rate."""

    rate_bps: float = param("1Gbps", "the rate", unit="bps")

    class Sender(Record):
        """The rate."""

        rate_bps = Float()

    @staticmethod
    def on_open(params, sender):
        sender.rate_bps = params.rate_bps


@pytest.mark.parametrize(
    ("rate_bps", "gap_ps"), [(75910743307.7853, 110_445), (27969928323.722565, 299_751), (28345631429.03027, 295_778)]
)
def test_gaps_are_rounded_alike_where_half_a_picosecond_decides(rate_bps, gap_ps):
    """With w * (8e12 / r) in place of w * 8e12 / r each of these gaps differs by a picosecond."""
    work = rdmacc.messages([("h1", "h0", 4000)])
    scheme = Scheme(control=Paced(rate_bps=rate_bps))
    found = [rdmacc.simulate(rdmacc.star(2), work, scheme, engine=engine) for engine in ("simpy", "compiled")]
    last = [int(one.flows["fct_ps"].iloc[0]) for one in found]
    alone = rdmacc.simulate(rdmacc.star(2), rdmacc.messages([("h1", "h0", 1000)]), scheme, engine="simpy")
    assert last == [3 * gap_ps + int(alone.flows["fct_ps"].iloc[0])] * 2
