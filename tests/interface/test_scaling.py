"""Parameters that scale with the network: numbers by hand, and for every scheme the same run with rule and number."""

import dataclasses

import numpy as np
import pytest

import rdmacc
from rdmacc import ConfigError, Links, Scaled, Scenario, scheme_table
from rdmacc.engine.plan import make_plan
from rdmacc.protocols.timely import Timely
from rdmacc.sweep.fingerprint import describe
from rdmacc.switch.buffer import DropTail
from rdmacc.topology.base_times import base_fct_ps, largest_rtt_ps
from rdmacc.topology.fabric import Fabric
from rdmacc.units import us
from tests.support import check_finished

WEB = Links("100Gbps", "12us")


def parameters(scheme):
    return {f"{row['component']}.{row['parameter']}": row["value"] for row in scheme_table(scheme)}


def scaled(name):
    return {key: value for key, value in parameters(name).items() if isinstance(value, Scaled)}


@pytest.mark.parametrize(
    ("scheme", "parameter", "links", "expected"),
    [
        ("timely", "additive_bps", Links("10Gbps", "60us"), 10e6),  # section 4.3
        ("timely", "additive_bps", WEB, 100e6),
        ("irn", "bdp_cap_packets", Links("40Gbps", "24us"), 120),  # SIGCOMM 2018
        ("irn", "bdp_cap_packets", Links("10Gbps", "2.7us"), 4),  # 3.375, rounded up so that a window holds the BDP
        ("irn", "rto_high_ps", Links("100Gbps", "240us"), us(3200)),
        ("timely", "t_high_ps", Links("10Gbps", "20us"), us(500)),
        ("timely-hpcc", "t_low_ps", Links("10Gbps", "200us"), us(500)),
        ("swift", "base_target_ps", Links("100Gbps", "14us"), us(20)),
        ("swift", "hop_target_ps", Links("100Gbps", "140us"), us(30.5)),
        ("eqds", "timeout_ps", Links("100Gbps", "50us"), us(219.72)),
        ("eqds", "largest_bytes", Links("100Gbps", "28us"), 415_000),
        ("ndp", "Ndp.timeout_ps", Links("100Gbps", "1ms"), us(3000)),
        ("homa", "resend_interval_ps", Links("100Gbps", "5ms"), us(15_000)),
        ("polo", "kmin_bytes", Links("40Gbps", "8.4us"), 6_000),  # a seventh of 42 kB
        ("irn", "bdp_cap_packets", Links("1Mbps", "1us"), 1),
        ("swift", "increase", WEB, 4.0),  # of 1 kB for one of 4 kB
        ("infiniband-cc", "timer_ps", Links("16Gbps", "5us"), 153_600_000),  # Gran et al.
        ("ren", "limit_bytes", Links("10Gbps", "10us"), 128_000),  # section 6, and not less
        ("ren", "least_timeout_ps", Links("10Gbps", "10us"), us(200)),  # 128 kB take 102 us
        ("ren", "least_timeout_ps", WEB, us(50)),
        ("ren", "RenMarker.base_rtt_ps", WEB, us(12)),
        ("dctcp", "kmin_bytes", Links("10Gbps", "60us"), 22_500),  # Dart, VI-A
        ("dctcp", "kmin_bytes", Links("10Gbps", "1us"), 3_000),
        ("ndp", "initial_window", WEB, 30),
        ("rccc", "oversubscription", Links("100Gbps", "12us", 4.0), 4.0),
        ("rccc", "oversubscription", WEB, 1.0),
    ],
)
def test_numbers_by_hand(scheme, parameter, links, expected):
    made = rdmacc.scheme(scheme).at(links)
    name = f"DropTail.{parameter}" if parameter == "limit_bytes" else parameter
    owner, own_name = made.owner(name)
    assert getattr(owner, own_name) == pytest.approx(expected, rel=1e-9)
    assert isinstance(getattr(owner, own_name), float) is isinstance(expected, float)


def test_given_numbers_are_never_scaled():
    made = rdmacc.scheme("timely", additive_bps="10Mbps").at(WEB)
    assert made.control[0].additive_bps == 10e6
    assert rdmacc.preset("timely-2015")["timely"].at(WEB).control[0].additive_bps == 10e6


def test_a_users_rule():
    made = rdmacc.scheme("timely", additive_bps=Scaled("46Mbps", rate="25Gbps")).at(WEB)
    assert made.control[0].additive_bps == pytest.approx(184e6)
    limit = Scaled("10kB", rtt="6us")
    assert dataclasses.replace(made, buffer=DropTail(limit_bytes=limit)).at(WEB).buffer.limit_bytes == 20_000


@pytest.mark.parametrize("name", rdmacc.SCHEMES)
def test_rules_and_their_numbers_give_the_same_run(name):
    """Also for values that handlers scale per link: here every link is a host's."""
    network = rdmacc.star(4, rate="400Gbps")
    made = rdmacc.scheme(name)
    numbers = made.at(network)
    work = rdmacc.incast(["h1", "h2", "h3"], "h0", "100kB")
    one, other = (rdmacc.simulate(network, work, each, progress=False) for each in (made, numbers))
    check_finished(one)
    assert one.flows["fct_ps"].tolist() == other.flows["fct_ps"].tolist()
    assert numbers.at(network) is numbers or not scaled(name)
    assert not any(isinstance(value, Scaled) for value in parameters(make_plan(network, work, made).scheme).values())
    shown = {f"{row['component']}.{row['parameter']}": row for row in scheme_table(made, network=network)}
    for key, rule in scaled(name).items():
        assert shown[key]["scaled"] is not None
        if not rule.rtt_ps or not key.startswith("EcnStep"):  # in addition to the port's rate
            assert shown[key]["value"] == parameters(numbers)[key]


def test_a_presets_values_are_numbers():
    for name in [f"{p}/{s}" for p, one in rdmacc.PRESETS.items() for s in one]:
        preset, _, scheme = name.partition("/")
        found = {key for key, value in parameters(rdmacc.preset(preset)[scheme]).items() if isinstance(value, Scaled)}
        rules = {one.parameter for one in rdmacc.preset(preset).settings(scheme) if "of the network" in one.source}
        assert found == rules, "what a preset leaves to a rule depends on its paper's network"


def test_values_scaled_by_handlers_are_shown_for_a_network():
    rows = {(row["component"], row["parameter"]): row for row in scheme_table("dcqcn", network=WEB)}
    assert rows["Dcqcn", "additive_bps"]["value"] == pytest.approx(100e6)
    assert rows["Dcqcn", "additive_bps"]["scaled"].text("bps") == "40 Mb/s at 40 Gb/s"
    assert rows["Dcqcn", "g"]["scaled"] is None
    assert rows["Red", "kmin_bytes"]["scaled"] is None  # the same at all rates
    rows = {(row["component"], row["parameter"]): row["value"] for row in scheme_table("dctcp", network=WEB)}
    assert rows["EcnStep", "kmin_bytes"] == 45_000  # 22.5 kB at 10 Gb/s and 60 us


def test_the_store_distinguishes_a_rule_from_its_number():
    def described(value):
        @dataclasses.dataclass
        class Point:
            name: str
            labels: dict
            scenario: Scenario

        network, work = rdmacc.star(3), rdmacc.messages([("h1", "h0", 1000)])
        scheme = rdmacc.scheme("timely", additive_bps=value)
        return describe(Point("p", {}, Scenario(network=network, workload=work, scheme=scheme)), {})

    rule = Scaled("10Mbps", rate="10Gbps")
    assert described(rule) == described(Scaled("10Mbps", rate="10Gbps"))
    assert described(rule) != described("10Mbps")
    assert described(rule) != described(Scaled("10Mbps", rate="20Gbps"))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Timely(is_burst=Scaled(1, rate="1Gbps")), "is_burst"),
        (lambda: Timely(beta=Scaled(2.0, rate="1Gbps")), r"Timely.beta = 2.0: must be at least 0.0 and at most 1.0"),
        (lambda: Timely(additive_bps=Scaled("fast", rate="1Gbps")), "additive_bps"),
        (lambda: Timely(hyper_after=Scaled(1.5, rate="1Gbps")), "hyper_after"),
        (lambda: Scaled(1, rate="quick"), "rate"),
        (lambda: Links("0bps", "1us"), "more than 0"),
        (lambda: Links("1Gbps", "soon"), "base RTT"),
        (lambda: Links("1Gbps", "0us"), "base RTT"),
    ],
)
def test_wrong_rules(make, match):
    with pytest.raises(ConfigError, match=match):
        make()


@pytest.mark.parametrize(
    "graph",
    [
        rdmacc.star(3), rdmacc.dumbbell(2, 3), rdmacc.fat_tree(4),
        rdmacc.leaf_spine(2, 3, 2), rdmacc.rcc_multi_bottleneck(),
    ],
)  # fmt: skip
def test_the_largest_round_trip_is_over_all_pairs(graph):
    graph.edges[next(iter(graph.edges))]["delay_ps"] = us(7)
    fabric = Fabric.from_graph(graph)
    hosts = fabric.hosts.astype(np.int64)
    src, dst = (each.ravel() for each in np.meshgrid(hosts, hosts))
    src, dst = src[src != dst], dst[src != dst]
    there = base_fct_ps(fabric, src, dst, 1000, 1000, 0)
    back = base_fct_ps(fabric, dst, src, 1, 1, 0)
    alone = back - base_fct_ps(fabric, dst, src, 2, 2, 0) + back  # minus a byte's time: delays alone
    assert largest_rtt_ps(fabric, 1000) == pytest.approx((there + alone).max(), abs=2000)
