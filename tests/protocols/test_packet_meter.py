"""The packet meter: counts that follow from the topology and the losses, on both engines, without side effects.

Pri-Q: short messages overtake long ones, at the sender's NIC and at switches.
"""

from dataclasses import replace

import rdmacc
from rdmacc.faults import ScriptedLoss
from rdmacc.protocols.packet_meter import MarkMeter, PacketMeter
from rdmacc.units import us
from tests.support import WIRE, check_finished, transmission


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


def test_what_comes_after_a_loss_is_refused(engine):
    """Go-back-N: the third packet is lost, so the seven after it come for nothing, once."""
    work = rdmacc.messages([("h0", "h1", "10kB")])
    faults = [ScriptedLoss(message=0, psn=2, nth=1, kind="data")]
    result = rdmacc.simulate(rdmacc.star(2), work, metered("line-rate"), engine=engine, faults=faults)
    met = result.transfers.iloc[0]
    assert met["refused_packets"] == met["arrived_packets"] - 10 > 0
    assert result.flows["status"].tolist() == ["finished"]


def test_the_marks_that_are_left_are_those_that_dasr_has_not_suppressed(engine):
    """And the meters change nothing."""
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


def test_short_messages_do_not_wait_for_long_ones(engine):
    """Behind the standing queue of two long flows a short message waits for one packet at most at each hop."""
    rows = [
        ("h1", "h0", 300_000, 0),
        ("h2", "h0", 300_000, 0),
        ("h3", "h0", 8_000, us(20)),
        ("h3", "h0", 9_000, us(20)),
    ]
    result = rdmacc.simulate(rdmacc.star(4), rdmacc.messages(rows), "dcqcn-pri-q", engine=engine)
    check_finished(result)
    short, longer = result.flows["fct_ps"][2:]
    ideal = result.flows["ideal_fct_ps"][2]
    assert ideal < short <= ideal + 2 * transmission(WIRE, 100e9)
    assert longer > ideal + us(5)
    plain = rdmacc.simulate(rdmacc.star(4), rdmacc.messages(rows), "dcqcn", engine=engine)
    assert plain.flows["fct_ps"][2] > ideal + us(5)
