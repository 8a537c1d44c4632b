"""Ladder diagrams: the arrows that they show."""

import matplotlib.pyplot as plt
import pytest

import rdmacc
from rdmacc.faults import ScriptedLoss
from rdmacc.results.hops import find_hops
from rdmacc.results.ladder import find_arrows
from tests.support import refused

HOSTS = ["h0", "h1"]

LOST_NAK = [ScriptedLoss(message=0, psn=3), ScriptedLoss(message=0, psn=3, kind="nak")]


def run(faults=(), engine="simpy", **options):
    work = rdmacc.messages([("h0", "h1", "6kB")])
    network = rdmacc.topology.igbn_pair()
    options = {"engine": engine, "faults": faults, "trace": True, "progress": False} | options
    return rdmacc.simulate(network, work, "line-rate", **options)


def arrows(result, nodes=HOSTS):
    return find_arrows(result, find_hops(result), nodes)


def texts(ax):
    return [text.get_text() for text in ax.texts if text.get_text()]


def test_arrows_from_host_to_host_and_hop_by_hop():
    result = run()
    whole = [arrow for arrow in arrows(result) if arrow.look == "data"]
    assert [arrow.label for arrow in whole] == [f"DATA {psn}" for psn in range(6)]
    assert [arrow.begin_ps for arrow in whole] == [209_600 * psn for psn in range(6)]
    assert {arrow.end_ps - arrow.begin_ps for arrow in whole} == {2_419_200}
    by_hop = arrows(result, ["h0", "s0", "h1"])
    assert len(by_hop) == 2 * len(arrows(result)) == 24
    assert {(arrow.src, arrow.dst) for arrow in by_hop if arrow.look == "ack"} == {("h1", "s0"), ("s0", "h0")}


def test_a_lost_packets_arrow_ends_half_way_at_the_usual_slope():
    found = arrows(run(LOST_NAK))
    data, nak = (arrow for arrow in found if arrow.is_lost)
    assert (data.src, data.dst, data.reach, data.end_ps - data.begin_ps) == ("h0", "h1", 0.5, 2_419_200 // 2)
    assert (nak.src, nak.dst, nak.look) == ("h1", "h0", "nak")


def test_the_arrow_of_a_packet_dropped_in_a_queue_ends_at_the_switch():
    scheme = rdmacc.scheme("line-rate", timeout_ps="50us").replace(buffer=rdmacc.DropTail(limit_bytes="3kB"))
    work = rdmacc.incast(["h1", "h2"], "h0", "10kB")
    result = rdmacc.simulate(rdmacc.star(3), work, scheme, engine="simpy", trace=True, until="1ms")
    lost = [arrow for arrow in arrows(result, ["h1", "h2", "s0", "h0"]) if arrow.is_lost]
    assert len(lost) == result.counters["dropped_packets"] > 0
    assert all(arrow.dst is None for arrow in lost)
    result.plot.ladder(end="20us")


def test_choice_of_messages_nodes_and_time():
    work = rdmacc.messages([("h0", "h1", "3kB"), ("h1", "h0", "3kB")])
    result = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine="simpy", trace=True)
    ax = result.plot.ladder(1, nodes=HOSTS, end="1us")
    assert set(texts(ax)) == {"h0", "h1", "DATA 0", "DATA 1", "DATA 2"}
    assert ax.get_ylabel() == "time (us)"
    low, high = ax.get_ylim()
    assert low > high  # time runs down
    figure, (left, right) = plt.subplots(1, 2)
    assert result.plot.ladder([0], ax=left) is left
    assert not right.lines
    assert left.get_figure() is figure


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"messages": 7}, "messages"),
        ({"nodes": ["h0", "h9"]}, "nodes"),
        ({"nodes": ["h0"]}, "nodes"),
        ({"start": "1s"}, "packets in the ladder"),
        ({"start": "soon"}, "start"),
    ],
)
def test_wrong_arguments(options, field):
    refused(lambda: run().plot.ladder(**options), field)
