"""The preset `hpcc-ns3` to the nanosecond: against an event model of that simulator's rules, and rule by rule.

The model follows qbb-net-device.cc, rdma-hw.cc, switch-node.cc and third.cc event by event, with ns-3's numbering of
events, and shares no code with rdmacc; the completion times below are its own.
"""

from __future__ import annotations

import pytest

import rdmacc
from rdmacc import ConfigError, preset, topology, workload
from rdmacc.experiments.validation.hpcc_ns3 import PERMUTATION, TRACES, _trace
from rdmacc.state import CONTROL, DATA_CLASS
from rdmacc.units import cut_ps, ns, us

STAR = topology.star(9, rate="100Gbps", delay="1us", buffer="32MiB")
TWO = [("h1", "h0", 2_500_000, 0), ("h2", "h0", 1_250_000, "100us")]
EIGHT = [(f"h{i}", "h0", 200_000, 0) for i in range(1, 9)]
MODEL_NS = {
    ("timely", "two"): [319092, 214052],
    ("timely", "eight"): [137904, 137988, 138072, 138156, 138240, 138324, 138408, 138492],
    ("dctcp", "two"): [315341, 211523],
    ("dctcp", "eight"): [136310, 136393, 136476, 136559, 136642, 136725, 136808, 136891],
    ("hpcc", "two"): [351853, 243845],
    ("hpcc", "eight"): [157078, 154176, 151365, 142055, 141655, 145200, 136724, 138574],
}
PERMUTATION_MEAN_NS = {"timely": 260101.84375, "dctcp": 217619.21875, "hpcc": 243734.015625}


def completion_ns(result):
    return [at // 1000 for at in result.flows["fct_acked_ps"]]


@pytest.mark.parametrize(("name", "case"), MODEL_NS)
def test_flows_on_a_star_are_exact(engine, name, case):
    work = workload.messages(TWO if case == "two" else EIGHT)
    assert completion_ns(rdmacc.simulate(STAR, work, preset("hpcc-ns3")[name], engine=engine)) == MODEL_NS[name, case]


@pytest.mark.parametrize("name", PERMUTATION_MEAN_NS)
def test_the_permutation_is_exact(name):
    """Data and ACKs meet in every switch, on the paths that the HPCC simulator chose."""
    graph = topology.fat_tree(8, rate="100Gbps", delay="1us", buffer="32MiB")
    found = completion_ns(rdmacc.simulate(graph, _trace(TRACES[PERMUTATION]), preset("hpcc-ns3")[name]))
    assert sum(found) / 128 == PERMUTATION_MEAN_NS[name]


def test_whole_nanoseconds_come_out_one_short():
    """As `Seconds(double)` of ns-3 cuts them; others lose their fraction."""
    assert cut_ps(1056, 1e9, 1000) == ns(8447)
    assert cut_ps(1048, 100e9, 1000) == ns(83)
    assert cut_ps(1090, 100e9, 1000) == ns(87)
    assert cut_ps(1000, 100e9, 1000) == ns(79)
    assert cut_ps(1048, 1e-3, 1000) == 10**17  # a day, longer than any run


def test_replies_wait_in_a_class_of_their_own_at_the_nic_only(engine):
    """On the wire and in switches they are data; where they share its class in the NIC too, its pause stops them."""
    graph = rdmacc.star(10, rate="10Gbps", buffer="1MB")
    work = workload.messages([(f"h{i}", "h9", 400_000) for i in range(8)] + [("h8", "h0", 10_000, "500us")])
    acked = {}
    for cls in (-1, CONTROL):
        scheme = rdmacc.scheme("line-rate", ack_priority=DATA_CLASS, nic_ack_priority=cls)
        result = rdmacc.simulate(graph, work, scheme, engine=engine, trace=True)
        assert result.counters.pfc_pauses > 0
        trace = result.packet_trace
        assert set(trace.loc[trace["kind"] == "ack", "priority"]) == {DATA_CLASS}
        acked[cls] = result.flows["fct_acked_ps"].iloc[8]
    assert acked[CONTROL] < acked[-1] - us(10)
    with pytest.raises(ConfigError, match="nic_ack_priority = 0.*-1, or a class from 2 to 10"):
        rdmacc.scheme("line-rate", nic_ack_priority=0)
