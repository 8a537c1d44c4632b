"""Completion times against formulas derived by hand, to the picosecond.

Theory: store-and-forward over k links. A packet of w bytes takes t_j = w / C_j + d_j on link j; n packets in a row are
limited by the slowest link; FIFO queues serve in the order of arrival, hosts serve their queue pairs round robin.
"""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc import topology
from rdmacc.units import ps, us
from tests.support import ACK_WIRE, WIRE, by_packets, chain, check_finished, transmission

G100, G40, G10 = 100e9, 40e9, 10e9


def fcts(graph, work, engine, scheme="line-rate", **options):
    """Return the completion times in ps, by message; every message must finish."""
    result = rdmacc.simulate(graph, work, scheme, engine=engine, **options)
    check_finished(result)
    return result.flows["fct_ps"].tolist()


def one(size, start=0):
    return rdmacc.messages([("h0", "h1", size, start)])


@given(
    links=st.lists(st.tuples(st.integers(10**9, 4 * 10**11), st.integers(1, 5_000_000)), min_size=2, max_size=5),
    size=st.integers(1, 40_000),
)
@example(links=[(10**11, 1), (10**9, 1), (10**11, 1)], size=1001)
def test_any_chain_as_packet_by_packet(engine, links, size):
    rates, delays = zip(*links)
    wires = [WIRE] * (size // 1000) + ([size % 1000 + 48] if size % 1000 else [])
    assert fcts(chain(rates, delays), one(size), engine) == [by_packets(rates, delays, wires)[-1]]


def test_time_of_the_last_ack(engine):
    """The 64 B ACK returns over the same links; a lone flow's last ACK never waits."""
    rates, delays = [G100, G10, G40], [us(1), us(3), 500]
    result = rdmacc.simulate(chain(rates, delays), one(1000), "line-rate", engine=engine)
    back = sum(transmission(ACK_WIRE, rate) for rate in rates) + sum(delays)
    assert result.flows["fct_acked_ps"].tolist() == [result.flows["fct_ps"][0] + back]
    assert result.now_ps == result.flows["fct_acked_ps"][0]


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (10, 10), (5, 20), (20, 5), (1, 30)])
def test_two_senders_share_the_last_link(engine, n1, n2):
    """Packets arrive in pairs every t; the switch serves h1's before h2's. Once alone, a flow gets the whole link."""
    t, d = transmission(WIRE, G100), us(1)
    work = rdmacc.messages([("h1", "h0", n1 * 1000), ("h2", "h0", n2 * 1000)])
    position1 = n1 + min(n1 - 1, n2)  # packets served up to and including h1's last
    position2 = n2 + min(n2, n1)
    expected = [(t + d) + position1 * t + d, (t + d) + position2 * t + d]
    assert fcts(rdmacc.star(3), work, engine) == expected


@pytest.mark.parametrize("lead", [1, 3, 9])
def test_a_second_flow_joins_later(engine, lead):
    """Flow 2 starts `lead` packet times and 1 ps after flow 1; from then on the link alternates."""
    t, d, n = transmission(WIRE, G100), us(1), 10
    work = rdmacc.messages([("h1", "h0", n * 1000), ("h2", "h0", n * 1000, ps(lead * t + 1))])
    # Before flow 2's first packet, lead + 1 of flow 1's have arrived (the last one 1 ps earlier).
    served1 = n + (n - lead - 1)
    expected = [t + d + served1 * t + d, t + d + 2 * n * t + d - (lead * t + 1)]
    assert fcts(rdmacc.star(3), work, engine) == expected


@pytest.mark.parametrize("senders", [3, 8])
def test_incast_of_one_packet_each(engine, senders):
    """All arrive together; the switch serves them in the order of their ports."""
    t, d = transmission(WIRE, G100), us(1)
    work = rdmacc.incast([f"h{i + 1}" for i in range(senders)], "h0", 1000)
    assert fcts(rdmacc.star(senders + 1), work, engine) == [t + d + (i + 1) * t + d for i in range(senders)]


def test_two_messages_share_a_nic_round_robin(engine):
    """From one host to two others: the one that has just sent does not go before a newcomer: 0 1 0 1 ... 0 1."""
    t, d, n = transmission(WIRE, G100), us(1), 10
    work = rdmacc.messages([("h0", "h1", n * 1000), ("h0", "h2", n * 1000)])
    assert fcts(rdmacc.star(3), work, engine) == [(2 * n - 1) * t + t + 2 * d, 2 * n * t + t + 2 * d]


def test_a_message_that_joins_later_alternates(engine):
    """The second starts during the first one's third packet: 0 0 0 1 0 1 ..."""
    t, d, n = transmission(WIRE, G100), us(1), 10
    start = 2 * t + t // 2
    work = rdmacc.messages([("h0", "h1", n * 1000), ("h0", "h2", n * 1000, ps(start))])
    alone = 3
    expected = [(alone + 2 * (n - alone)) * t + t + 2 * d, 2 * n * t + t + 2 * d - start]
    assert fcts(rdmacc.star(3), work, engine) == expected


def test_a_message_waits_for_all_dependencies_and_its_start(engine):
    """The same host's next request starts when the last ACK is back."""
    for start, late_ps in (0, 0), ("1ms", us(1000)):
        rows = [("h0", "h1", 5_000), ("h2", "h1", 9_000), ("h1", "h0", 1_000, start, None, (0, 1))]
        work = rdmacc.messages([*rows, ("h0", "h2", 1_000, 0, None, (0,))])
        flows = rdmacc.simulate(rdmacc.star(3), work, "line-rate", engine=engine).flows
        assert flows["start_ps"][2] == max(*flows["fct_ps"][:2], late_ps)
        assert flows["start_ps"][3] == flows["fct_acked_ps"][0]


def test_a_ping_pong_takes_the_sum(engine):
    """Each message waits for the previous one: one-way times, and each response queues behind its request's ACK."""
    rows = [("h0", "h1", 1_000) if i % 2 == 0 else ("h1", "h0", 1_000) for i in range(20)]
    work = rdmacc.messages([(*row, 0, None, (i - 1,) if i else ()) for i, row in enumerate(rows)])
    flows = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine).flows
    ack = transmission(ACK_WIRE, G100)
    assert flows["start_ps"].tolist() == [0, *(i * 2_167_680 + (i - 1) * ack for i in range(1, 20))]


TOPOLOGIES = {
    "star": topology.star(4),
    "dumbbell": topology.dumbbell(2, 2, rate="25Gbps", bottleneck_rate="10Gbps"),
    "leaf-spine": topology.leaf_spine(3, 2, 2, rate="25Gbps", fabric_rate="100Gbps", delay="700ns"),
    "fat-tree": topology.fat_tree(4),
    "clos": topology.clos(2, 2, 2, 2, 2, rate="10Gbps", fabric_rate="40Gbps"),
}


@settings(max_examples=2 * settings.default.max_examples)
@given(data=st.data())
def test_a_lone_flow_takes_the_ideal_time(engine, data):
    scheme = data.draw(st.sampled_from(["line-rate", "dcqcn", "dcqcn-hpcc", "dasr"]))
    graph = TOPOLOGIES[data.draw(st.sampled_from(list(TOPOLOGIES)))]
    src, dst = data.draw(st.permutations(topology.hosts(graph)))[:2]
    size = data.draw(st.one_of(st.integers(1, 3_000), st.integers(1, 50_000)))
    seed = data.draw(st.integers(0, 3))
    work = rdmacc.messages([(src, dst, size)])
    flows = rdmacc.simulate(graph, work, scheme, engine=engine, seed=seed).flows
    assert flows["fct_ps"].tolist() == flows["ideal_fct_ps"].tolist()
    assert flows["slowdown"].tolist() == [1.0]
