"""Links that fail and recover, flap or run slowly, and pause storms: arrival times and losses; the engines agree.

Messages cut off for good fail under every scheme; others get through once the link is back.
"""

from typing import Any
from unittest import mock

import numpy as np
import pytest

import rdmacc
from rdmacc import LinkDown, Loss, PauseStorm, ScriptedLoss, SlowLink, flapping, topology
from rdmacc.engine.compare import differences
from rdmacc.engine.compiled import windows
from rdmacc.results.hops import find_hops
from rdmacc.schemes import SCHEMES
from rdmacc.units import us
from tests.support import WIRE, check_conservation, mostly_at_night

LINE = 100e9
PACKET_PS = round(WIRE * 8e12 / LINE)


def line_rate(**changes):
    return rdmacc.scheme("line-rate", timeout_ps="100us", **changes)


def star(faults, engine, size=1_000_000, scheme=None, hosts=2, **options):
    work = rdmacc.messages([("h1", "h0", size)])
    network = rdmacc.star(hosts, rate="100Gbps", delay="1us")
    return rdmacc.simulate(network, work, scheme or line_rate(), engine=engine, faults=faults, **options)


def port(result, name):
    return result.ports.set_index("port").loc[name]


@pytest.mark.slow
def test_routes_return_with_the_link(engine):
    graph = rdmacc.leaf_spine(2, 2, 8)
    work = rdmacc.messages([(f"h{i}", f"h{8 + i}", "1MB") for i in range(8)])
    down = LinkDown(link=("leaf0", "spine0"), at_ps="10us", until_ps="200us")
    result = rdmacc.simulate(graph, work, line_rate(), engine=engine, faults=[down], trace=True)
    assert (result.flows["status"] == "finished").all()
    hops = find_hops(result)
    used = hops[(hops["node"] == "leaf0") & (hops["peer"] == "spine0")]["sent_ps"]
    assert (used < us(10)).any()
    assert not used.between(us(10), us(200), inclusive="left").any()
    assert (used > us(200)).any()


def test_packets_are_lost_at_the_dead_port_until_routing_converges(engine):
    graph = rdmacc.leaf_spine(2, 2, 8)
    work = rdmacc.messages([(f"h{i}", f"h{8 + i}", "200kB") for i in range(8)])
    lost = []
    for late in ("0us", "5us"):
        down = LinkDown(link=("leaf0", "spine0"), at_ps="10us", convergence_ps=late)
        result = rdmacc.simulate(graph, work, line_rate(), engine=engine, faults=[down])
        assert (result.flows["status"] == "finished").all()
        check_conservation(result)
        lost.append(int(port(result, "leaf0->spine0")["lost_packets"]))
    flows = 8 - (result.ports.set_index("port")["tx_data_packets"]["leaf0->spine1"] == 0)
    assert flows > 0
    assert lost[1] > lost[0] + us(5) / PACKET_PS / 2


def test_no_packet_arrives_before_its_time_when_a_link_blinks(engine):
    """The outage is shorter than the link's delay: events of lost packets must not deliver the next ones."""
    work = rdmacc.messages([("h1", "h0", "1MB")])
    network = rdmacc.star(2, rate="100Gbps", delay="20us")
    faults = flapping(("h1", "s0"), at_ps="5us", down_ps="2us", up_ps="3us", times=4)
    result = rdmacc.simulate(network, work, line_rate(), engine=engine, faults=faults, trace=True)
    assert result.flows["status"].tolist() == ["finished"]
    hops = find_hops(result)
    there = hops[(hops["fate"] == "arrived") & (hops["kind"] == "data")]
    assert set(there["end_ps"] - there["sent_ps"]) == {PACKET_PS + us(20)}


@pytest.mark.parametrize("tick_ps", [0, "1ns"])
def test_a_slow_link_slows_its_flow(engine, tick_ps):
    """Slow from the start: twice the time per packet. Slow from the middle on: twice for the second half."""
    scheme = line_rate(tick_ps=tick_ps)
    whole = star([], engine, scheme=scheme).flows["fct_ps"][0]
    slow = star([SlowLink(link=("s0", "h0"), share=0.5)], engine, scheme=scheme)
    assert slow.flows["fct_ps"][0] - whole == pytest.approx(1000 * PACKET_PS, rel=0.02)
    late = star([SlowLink(link=("s0", "h0"), share=0.5, at_ps=1000 * PACKET_PS // 2)], engine, scheme=scheme)
    assert late.flows["fct_ps"][0] - whole == pytest.approx(500 * PACKET_PS, rel=0.03)
    brief = [SlowLink(link=("s0", "h0"), share=0.25, at_ps="20us", until_ps="40us")]
    assert star(brief, engine, scheme=scheme).flows["fct_ps"][0] - whole == pytest.approx(us(15), rel=0.03)


def test_numpy_numbers_are_accepted():
    link = ("h0", "s0")
    slow = SlowLink(link=link, share=np.float32(0.5))
    assert repr(slow) == repr(SlowLink(link=link, share=0.5))
    assert repr(Loss(data=np.float32(0.5), links=[link])) == repr(Loss(data=0.5, links=[link]))
    rdmacc.simulate(rdmacc.star(2), rdmacc.messages([("h0", "h1", 1)]), "dcqcn", faults=[slow], threads=np.int64(1))
    assert repr(ScriptedLoss(message=np.int64(0), psn=np.int32(7))) == repr(ScriptedLoss(message=0, psn=7))


def test_links_slow_one_way_and_several_faults_at_once():
    network = rdmacc.star(2, rate="100Gbps")
    work = rdmacc.messages([("h0", "h1", 1000)])
    faults = [
        SlowLink(link=("h0", "s0"), share=0.5, both_ways=False),
        SlowLink(link=("h0", "s0"), share=0.1, at_ps="1us", until_ps="2us"),
    ]
    plan = rdmacc.Simulation(network, work, line_rate(), faults=faults, engine="simpy").plan
    there, back = (plan.fabric.port(*ends) for ends in (("h0", "s0"), ("s0", "h0")))
    assert plan.fabric.port_rate_bps[[there, back]].tolist() == [50e9, 100e9]
    rates = {(one.time_ps, one.ports[0]): one.rate_bps for one in plan.fault_events}
    assert rates == {
        (0, there): 50e9, (us(1), there): 5e9, (us(1), back): 10e9, (us(2), there): 50e9, (us(2), back): 100e9,
    }  # fmt: skip
    assert plan.ideal_fct_ps[0] == rdmacc.Simulation(network, work, line_rate(), engine="simpy").plan.ideal_fct_ps[0]


@pytest.mark.parametrize("scheme", ["line-rate", "dcqcn", "nscc"])
@pytest.mark.parametrize("until", ["1ns", None])
def test_only_a_link_that_stays_slow_has_a_lower_line_rate(scheme, until):
    """Slow for the first nanosecond, it delays only the packet in transmission."""
    slow = SlowLink(link=("h1", "s0"), share=0.5, until_ps=until)
    whole, result = (star(faults, "simpy", 100_000, rdmacc.scheme(scheme)) for faults in ([], [slow]))
    times = [one.flows["fct_us"][0] for one in (whole, result)]
    packet_us = 1.05 * rdmacc.scheme(scheme).wire_bytes * 8e6 / LINE
    assert times[1] - times[0] <= packet_us if until else times[1] > 1.7 * times[0]


def test_a_pause_storm_stops_the_port_at_the_other_end(engine):
    storm = PauseStorm(host="h0", at_ps="20us", until_ps="60us")
    whole, result = star([], engine), star([storm], engine)
    assert result.flows["fct_us"][0] - whole.flows["fct_us"][0] == pytest.approx(40, abs=0.2)
    assert port(result, "s0->h0")["paused_ps"] == pytest.approx(us(40), rel=0.01)
    assert port(result, "s0->h0")["pauses"] == 8
    lossy = star([storm], engine, scheme=rdmacc.scheme("irn"))
    assert port(lossy, "s0->h0")["pauses"] == 0


def test_overlapping_failures_add_up():
    """The link is back once the last of them ends."""
    faults = [LinkDown(link=("s0", "h0"), at_ps=10, until_ps=30), LinkDown(link=("h0", "s0"), at_ps=20, until_ps=40)]
    work = rdmacc.messages([("h0", "h1", 1000)])
    plan = rdmacc.Simulation(rdmacc.star(2), work, line_rate(), faults=faults, engine="simpy").plan
    assert [one.time_ps for one in plan.fault_events] == [10, 10, 40, 40]
    assert plan.fault_events[1].ports == plan.fault_events[0].ports
    assert plan.fault_events[3].ports == ()


_STAR = rdmacc.star(4)
_WORK = rdmacc.messages([("h1", "h0", "40kB"), ("h2", "h3", "40kB")])
_AT = "3us"
ENDS = {"sender": "h1", "receiver": "h0"}
NS3 = rdmacc.preset("hpcc-ns3")
TICKS = [rdmacc.scheme("dcqcn").replace(tick_ps="1ns"), NS3["dcqcn"], NS3["hpcc"]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scheme", "engines"),
    [(name, ("simpy",)) for name in sorted(SCHEMES)]
    + [pytest.param(*one.values, ("simpy", "compiled"), marks=one.marks) for one in mostly_at_night(SCHEMES, every=6)]
    + [pytest.param(*one.values, ("simpy", "compiled"), marks=one.marks) for one in mostly_at_night(TICKS, every=3)],
)
def test_every_scheme_fails_messages_cut_off_for_good(scheme: Any, engines: tuple[str, ...]) -> None:
    """A sender or a receiver is cut off, for good or for a while; the engines agree."""
    for end, host in ENDS.items():
        for until, first in ((None, "failed"), ("300us", "finished")):
            down = LinkDown(link=(host, "s0"), at_ps=_AT, until_ps=until)
            results = [run(_STAR, _WORK, [down], engine, scheme) for engine in engines]
            for result in results:
                assert result.flows["status"].tolist() == [first, "finished"], (end, until)
                assert result.flows["reason"].tolist() == ["no route to h0" if until is None else "", ""]
                assert result.flows["timeouts"][1] == 0
                if scheme != "go-back-0":  # which accepts bytes again
                    check_conservation(result)
                assert not differences(results[0].outcome, result.outcome)


def run(network: Any, work: Any, downs: list[Any], engine: str, scheme: Any = "dcqcn", **options: Any) -> Any:
    return rdmacc.simulate(network, work, scheme, engine=engine, faults=downs, progress=False, **options)


def test_a_dead_switch_fails_the_messages_through_it(engine: str) -> None:
    """Those of its rack; others route around a spine. A dead link on the way back cuts off as well as one there."""
    network = rdmacc.leaf_spine(3, 2, 2)
    work = rdmacc.messages([("h0", "h2", "200kB"), ("h3", "h1", "200kB"), ("h2", "h4", "200kB"), ("h0", "h1", "200kB")])
    downs = [LinkDown(link=("leaf0", spine), at_ps="5us") for spine in ("spine0", "spine1")]
    result = run(network, work, downs, engine)
    assert result.flows["status"].tolist() == ["failed", "failed", "finished", "finished"]
    assert result.flows["reason"].tolist()[:2] == ["no route to h2", "no route to h1"]
    half = run(network, work, downs[:1], engine, "irn")
    assert set(half.flows["status"]) == {"finished"}


def test_packets_past_the_link_still_arrive(engine: str) -> None:
    """The last ACK, already on its way when the receiver's link fails, still counts."""
    work = rdmacc.messages([("h1", "h0", "1kB")])
    whole = run(rdmacc.star(2), work, [], engine)
    acked_ps = int(whole.flows["fct_acked_ps"][0])
    for early_ps, status in ((1_000, "finished"), (1_001_000, "finished"), (1_200_000, "failed")):
        down = LinkDown(link=("h0", "s0"), at_ps=acked_ps - early_ps)
        result = run(rdmacc.star(2), work, [down], engine)
        assert result.flows["status"].tolist() == [status]
    assert result.flows["fct_ps"].notna().all()  # delivered, but its sender does not know


def test_hosts_with_planes_fail_when_the_last_plane_does(engine: str) -> None:
    network = topology.multi_plane(2, leaves=2, spines=1, hosts_per_leaf=2)
    work = rdmacc.messages([("h0", "h2", "400kB"), ("h1", "h3", "400kB")])
    downs = [LinkDown(link=("h2", f"p{plane}leaf1"), at_ps="5us") for plane in range(2)]
    for count, status in ((1, "finished"), (2, "failed")):
        result = run(network, work, downs[:count], engine, "nscc")
        assert result.flows["status"].tolist() == [status, "finished"]


def test_a_queue_pair_bound_to_one_link_fails_with_it(engine: str) -> None:
    """DCQCN's queue pairs do not move to the other plane."""
    network = topology.multi_plane(2, leaves=2, spines=1, hosts_per_leaf=1)
    work = rdmacc.messages([("h0", "h1", "100kB")] * 8)
    down = LinkDown(link=("h0", "p0leaf0"), at_ps="5us")
    result = run(network, work, [down], engine)
    counts = result.flows["reason"].value_counts()
    assert 0 < counts["no route to h1"] < 8
    assert counts.sum() == 8
    assert (result.flows["status"] == "failed").sum() == counts["no route to h1"] + counts.get("no route back to h0", 0)


def test_messages_fail_with_those_they_wait_for(engine: str) -> None:
    rows: list[dict[str, Any]] = [
        {"src": "h1", "dst": "h0", "size": "100kB"},
        {"src": "h2", "dst": "h3", "size": "1kB", "after": 0},
        {"src": "h2", "duration": "3us", "after": 1},
        {"src": "h1", "dst": "h0", "size": "1kB", "start": "1ms"},
        {"src": "h2", "dst": "h3", "size": "1kB", "start": "1ms"},
    ]
    for host in ENDS.values():
        result = run(_STAR, rdmacc.messages(rows), [LinkDown(link=(host, "s0"), at_ps="4us")], engine)
        assert result.flows["status"].tolist() == ["failed", "failed", "failed", "finished"]
        assert result.flows["reason"].tolist() == ["no route to h0", "what it waited for failed", "no route to h0", ""]
        assert result.computation["status"].tolist() == ["failed"]


@pytest.mark.parametrize(
    ("faults", "status"),
    [
        ([("4us", "50us", "0us"), ("60us", None, "0us")], "failed"),
        ([("4us", "50us", "0us"), ("60us", "90us", "0us")], "finished"),
        ([("4us", "50us", "100us")], "finished"),
        ([("4us", None, "500us")], "failed"),
    ],
    ids=["twice", "flapping", "late routes", "late and for good"],
)
def test_a_link_that_recovers_cuts_nothing_off(engine: str, faults: list[Any], status: str) -> None:
    downs = [LinkDown(link=("h1", "s0"), at_ps=at, until_ps=until, convergence_ps=late) for at, until, late in faults]
    result = run(_STAR, _WORK.assign(size_bytes=4_000_000), downs, engine, "irn")
    assert result.flows["status"].tolist() == [status, "finished"]


@pytest.mark.parametrize("count", [1, 2])
def test_windows_continue_after_a_message_has_failed(count: int) -> None:
    """Also for messages that start later, and whether or not any message waits for the failed one."""
    network = rdmacc.fat_tree(4)
    rows = [{"src": f"h{n}", "dst": f"h{(n + 5) % 16}", "size": "200kB"} for n in range(16)]
    rows += [{"src": "h1", "dst": "h6", "size": "9kB", "start": "25us"}]
    down = LinkDown(link=("h1", "tor0"), at_ps="5us")
    outcomes = []
    for more in ([], [{"src": "h6", "dst": "h0", "size": "1kB", "after": 1}]):
        with mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0):
            for order in ("time", "windows"):
                simulation = rdmacc.Simulation(
                    network, rdmacc.messages([*rows, *more]), "irn", faults=[down], engine="compiled", order=order,
                    threads=count,
                )  # fmt: skip
                outcomes.append(simulation.run(progress=False).outcome)
        assert not differences(*outcomes[-2:])
        assert outcomes[-1].visits > 0
        assert outcomes[-1].messages["failed"][[1, 12, 16]].all()
        visits = outcomes[-1].visits
        assert visits > 300, "windows continued after the link failed"


def test_giving_up_reports_the_number_of_retries(engine: str) -> None:
    down = LinkDown(link=("h1", "s0"), at_ps=_AT, until_ps="10ms")
    result = run(_STAR, _WORK, [down], engine, rdmacc.scheme("irn", retry_limit=2))
    assert result.flows["reason"].tolist() == ["irn gave up after 2 retries", ""]
    assert result.summary().no_route == 0
