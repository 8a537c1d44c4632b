"""The packet meter: counts that follow from topology and losses, on both engines, without side effects.

Pri-Q: short messages overtake long ones, at the sender's NIC and at switches.
"""

from dataclasses import replace

import rdmacc
from rdmacc.faults import ScriptedLoss
from rdmacc.protocols.packet_meter import MarkMeter, PacketMeter


def metered(name):
    scheme = rdmacc.scheme(name)
    return replace(scheme, control=(PacketMeter(), *scheme.control))


def test_hops_are_the_switches_on_the_way(engine):
    graph = rdmacc.leaf_spine(2, 2, 2)
    work = rdmacc.messages([("h0", "h1", "5kB"), ("h0", "h2", "7kB"), ("h3", "h0", 1)])
    met = rdmacc.simulate(graph, work, metered("line-rate"), engine=engine).transfers
    assert met["arrived_packets"].tolist() == [5, 7, 1]
    assert met["hops_passed"].tolist() == [5, 21, 3]  # under one leaf; leaf, spine, leaf
    assert met["most_hops"].tolist() == [1, 3, 3]
    assert not met[["marked_arrivals", "refused_packets"]].any(axis=None)


def test_packets_after_a_loss_are_refused(engine):
    """Go-back-N: the third packet is lost, so the seven after it arrive in vain, once."""
    work = rdmacc.messages([("h0", "h1", "10kB")])
    faults = [ScriptedLoss(message=0, psn=2, nth=1, kind="data")]
    result = rdmacc.simulate(rdmacc.star(2), work, metered("line-rate"), engine=engine, faults=faults)
    met = result.transfers.iloc[0]
    assert met["refused_packets"] == met["arrived_packets"] - 10 > 0
    assert result.flows["status"].tolist() == ["finished"]


def test_remaining_marks_are_those_not_suppressed_by_dasr(engine):
    """The meters change nothing else."""
    graph = rdmacc.star(9, rate="10Gbps")
    work = rdmacc.incast([f"h{i}" for i in range(1, 9)], "h0", "100kB")
    for name in ("dcqcn", "dasr"):
        scheme = rdmacc.scheme(name)
        without = rdmacc.simulate(graph, work, scheme, engine=engine)
        scheme = replace(scheme, control=(PacketMeter(), *scheme.control, MarkMeter()))
        result = rdmacc.simulate(graph, work, scheme, engine=engine)
        assert result.flows.equals(without.flows)
        met = result.transfers[["marks_left", "marked_arrivals"]].sum()
        assert met["marked_arrivals"] == result.counters.marked_arrivals > 0
        assert met["marks_left"] == (met["marked_arrivals"] if name == "dcqcn" else 0)
