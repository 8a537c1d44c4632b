"""Hosts with several links: a queue pair sends over all of them. Closed forms, failures, refusals."""

import pytest

import rdmacc
from rdmacc import LinkDown, topology
from rdmacc.units import us
from tests.engine.scenarios import WIDENED, on_planes
from tests.engine.test_agreement import batches, compare
from tests.support import check_conservation, check_finished, refused, transmission

PAYLOAD, MTU = 4086, 4150
LINE = 100e9


def spread(planes, packets, engine="compiled", network=None, **options):
    network = network or topology.multi_plane(planes, leaves=2, spines=1, hosts_per_leaf=1)
    last = topology.hosts(network)[-1]
    work = rdmacc.messages([("h0", last, packets * PAYLOAD)])
    result = rdmacc.simulate(network, work, rdmacc.scheme("nscc", choice="oblivious"), engine=engine, **options)
    check_finished(result)
    check_conservation(result)
    return result


def sent_by(result, port):
    return int(result.ports.set_index("port").loc[port, "tx_data_packets"])


@pytest.mark.parametrize("planes", [1, 2, 4, 8])
def test_n_planes_carry_n_times_as_much(engine, planes):
    """A packet leaves every t / n; the last crosses four links of t, and with several planes two of t / n plus 1 ps."""
    packets = 8 * planes
    t, together = transmission(MTU, LINE), transmission(MTU, planes * LINE)
    inner = 2 * (together + 1) if planes > 1 else 0
    expected = (packets - 1) * together + 4 * (t + us(1)) + inner
    result = spread(planes, packets, engine)
    assert result.flows["fct_ps"].tolist() == result.flows["ideal_fct_ps"].tolist() == [expected]
    if planes > 1:
        counts = [sent_by(result, f"h0.nic->p{p}leaf0") for p in range(planes)]
        assert counts == [8] * planes


@pytest.mark.parametrize("size", [1, PAYLOAD + 1, 3 * PAYLOAD, 9 * PAYLOAD + 700, 40 * PAYLOAD + 4000])
def test_no_message_is_faster_than_its_ideal(size):
    """Also if the last packet is short and overtakes those on other links."""
    network = topology.multi_plane(4, leaves=2, spines=2, hosts_per_leaf=1)
    work = rdmacc.messages([("h0", "h1", size)])
    result = rdmacc.simulate(network, work, rdmacc.scheme("nscc", choice="oblivious"), engine="simpy")
    assert 1.0 <= result.flows["slowdown"][0] < 1.01


def test_rails_share_their_spines():
    """Two rails to two spines carry twice as much as one; a packet may arrive on the other rail."""
    network = topology.rail_optimised(2, groups=2, spines=2, hosts_per_group=2)
    result = spread(2, 600, network=network)
    down = [sent_by(result, f"g1rail{rail}->h3.nic") for rail in range(2)]
    assert sum(down) == 600
    assert min(down) > 200
    assert 300 * 0.332 < result.flows["fct_us"][0] < 1.3 * 300 * 0.332 + 8


@pytest.mark.parametrize("end", ["h0", "h1"])
def test_a_hosts_dead_link_is_avoided(end):
    """The sender avoids its own at once, the receiver's once routes have converged: three of four carry the rest."""
    downs = [LinkDown(link=(end, f"p0leaf{end[1]}"), at_ps=0, convergence_ps=0)]
    result = spread(4, 1200, faults=downs)
    assert sent_by(result, "h0.nic->p0leaf0") == 0
    assert result.flows["fct_us"][0] == pytest.approx(1200 * 0.332 / 3, rel=0.1)


def test_before_routes_converge_a_host_avoids_its_own_dead_link(engine):
    downs = [LinkDown(link=("h0", "p0leaf0"), at_ps=0, convergence_ps="1s")]
    result = spread(2, 100, engine, faults=downs)
    assert sent_by(result, "h0.nic->p1leaf0") == 100
    assert result.flows["timeouts"][0] == 0


@pytest.mark.parametrize(
    ("change", "work", "field"),
    [
        ({"rate": 50e9}, {}, "rates of the links of h0"),
        ({"routing": "ecmp"}, {}, "routing of nscc"),
        ({}, {"path": "h0 p0leaf0 p0spine0 p0leaf1 h1"}, "column"),
    ],
)
def test_what_cannot_leave_by_several_links_is_refused(change, work, field):
    network = topology.multi_plane(2, leaves=2, spines=1, hosts_per_leaf=1)
    network.edges["h0", "p0leaf0"]["rate_bps"] = change.get("rate", LINE)
    scheme = rdmacc.scheme("nscc", routing=change.get("routing", "entropy"))
    rows = rdmacc.messages([{"src": "h0", "dst": "h1", "size_bytes": 1000, **work}])
    assert refused(lambda: rdmacc.simulate(network, rows, scheme, engine="simpy")).field == field


@pytest.mark.parametrize("number", batches(20, quick=1, slow=1))
def test_engines_agree_on_hosts_with_several_links(number):
    compare(on_planes(WIDENED + 9001 + number))
