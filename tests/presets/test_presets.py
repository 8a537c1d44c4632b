"""Presets: schemes with the settings of papers and simulators, scaled with the link, each value with its source."""

import hashlib
import pickle
from functools import partial

import pytest

import rdmacc
from rdmacc import PRESETS, preset, scheme_table
from rdmacc.engine.plan import make_plan
from rdmacc.presets.base import Preset, define
from rdmacc.units import ns, us
from tests.support import refused


@pytest.mark.parametrize("name", PRESETS)
def test_every_scheme_of_a_preset_can_be_made_and_every_setting_has_a_source(name):
    one = preset(name)
    assert len(one) > 0
    for scheme_name, made in one.items():
        assert made.name == scheme_name
        assert pickle.loads(pickle.dumps(made)) == made
        by_parameter = {f"{row['component']}.{row['parameter']}": row for row in scheme_table(made)}
        for setting in one.settings(scheme_name):
            assert setting.parameter in by_parameter
            assert setting.source


def test_timers_of_the_hpcc_simulator():
    quick, paper = preset("hpcc-ns3")["dcqcn"].control[0], preset("hpcc-ns3")["dcqcn-paper"].control[0]
    assert (quick.alpha_period_ps, quick.decrease_period_ps, quick.increase_period_ps) == (us(1), us(4), us(300))
    assert (paper.alpha_period_ps, paper.decrease_period_ps, paper.increase_period_ps) == (us(50), us(50), us(55))
    assert quick.g == paper.g == 1 / 256


def test_dart_marks_at_a_tenth_of_its_buffer():
    assert preset("dart-2020")["dcqcn"].switch[0].kmin_bytes == 22_500


def test_preset_sources_are_shown_and_defaults_for_the_rest():
    one = preset("hpcc-ns3")
    table = scheme_table(one["dcqcn"], one.sources("dcqcn"))
    rows = {(row["component"], row["parameter"]): row["source"] for row in table}
    assert rows["DcqcnHpcc", "increase_period_ps"] == "RP_TIMER"
    assert rows["Pfc", "xon_offset_bytes"] == "HPCC simulator"


def test_values_may_follow_the_line_rate():
    one = Preset("mine", "a test", rate="100Gbps", values={"ack_bytes": (60, "said")})
    one.add("quick", "dcqcn", {"kmin_bytes": (lambda bps: int(bps / 1e9) * 1000, "measured")})
    assert one["quick"].switch[0].kmin_bytes == 100_000
    assert one.at("25Gbps")["quick"].switch[0].kmin_bytes == 25_000
    assert one["quick"].ack_bytes == 60
    assert list(one) == ["quick"]
    assert "quick" in repr(one)


def test_wrong_names():
    refused(lambda: preset("ns-2"), "preset = 'ns-2': must be the name of a preset")
    refused(lambda: preset("hpcc-ns3")["tcp"], "scheme of preset 'hpcc-ns3' = 'tcp'")
    assert "tcp" not in preset("hpcc-ns3")
    for rate in ("fast", 0):
        refused(partial(preset, "hpcc-ns3", rate=rate), "rate of preset 'hpcc-ns3'")
    refused(lambda: Preset("mine", "a test", rates=1e9), "did you mean 'rate'")
    one = Preset("mine", "a test", rate=1e9)
    refused(lambda: one.add("bare", "dcqcn", {"pmax": 1}), "pmax = 1: must be a pair")
    one.add("quick", "dcqcn", {"speed": (1, "none")})
    refused(lambda: one["quick"], "parameter of scheme 'dcqcn'")


def test_a_name_can_be_taken_only_once():
    one = Preset("mine", "a test", rate=1e9)
    one.add("quick", "dcqcn", {"ack_bytes": (60, "said")})
    refused(lambda: one.add("quick", "timely", {}), "scheme of preset 'mine' = 'quick': must not be in the preset yet")
    assert one["quick"].ack_bytes == 60
    one.add("quick", "dcqcn", {"ack_bytes": (70, "said")}, replace=True)
    assert one["quick"].ack_bytes == 70
    refused(lambda: define(Preset("hpcc-ns3", "another", rate=1e9)), "preset name = 'hpcc-ns3'")
    assert define(preset("hpcc-ns3"), replace=True) is PRESETS["hpcc-ns3"]


def test_times_of_the_hpcc_simulator_are_whole_nanoseconds(engine):
    """1,048 B take 83 ns at 100 Gb/s, not 83.84, and a 60 B ACK takes 4 ns: there and back over two links of 1 us."""
    work = rdmacc.messages([("h1", "h0", 2000)])
    result = rdmacc.simulate(rdmacc.star(2), work, preset("hpcc-ns3")["dcqcn"], engine=engine)
    assert result.flows["fct_acked_ps"].tolist() == [ns(3 * 83 + 2 * 4 + 4 * 1000)]


def test_the_hpcc_simulators_base_rtt_is_the_largest_of_the_network():
    """Links of 1 us both ways, payloads one way: 4 links on a star, 6 on a dumbbell, 12 on a fat tree."""
    work = rdmacc.messages([("h0", "h1", 2000)])
    for graph, rtt_ps in (
        (rdmacc.star(2), ns(4 * 1000 + 2 * 80)),
        (rdmacc.dumbbell(2, 2, delay="1us"), ns(6 * 1000 + 3 * 80)),
        (rdmacc.fat_tree(4), ns(12 * 1000 + 6 * 80)),
    ):
        for name in ("hpcc", "dctcp"):
            assert make_plan(graph, work, preset("hpcc-ns3")[name]).qp_base_rtt_ps.tolist() == [rtt_ps]


@pytest.mark.parametrize(("tick", "first"), [("1ns", "h2"), ("0s", "h1")])
def test_with_a_tick_simultaneous_arrivals_go_by_who_sent_first(engine, tick, first):
    """Two packets reach the switch at the same instant; h2's transmission began first."""
    work = rdmacc.messages([("h2", "h0", 1000), ("h1", "h0", 1000)])
    scheme = rdmacc.scheme("line-rate", tick_ps=tick)
    flows = rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine).flows
    assert flows.loc[flows["fct_ps"].idxmin(), "src"] == first


RATES_BPS = {"rcc-2021": 100e9, "hpcc-ns3": 100e9, "ndp-htsim": 100e9, "roce-htsim": 100e9, "phost-yaps": 100e9,
             "uec-1.0": 100e9, "uet-htsim": 100e9, "eqds-htsim": 100e9, "ren-2021": 40e9, "igbn-2019": 40e9,
             "powertcp-ns3": 25e9, "dcqcn-2015": 40e9, "irn-2018": 40e9, "infiniband-2010": 16e9}  # fmt: skip
"""Rates of the hosts' links; 10 Gb/s in the others."""

DIGESTS = {
    "dart-2020": "7d0813fbcf", "dcqcn-2015": "29d8925987", "eqds-htsim": "804712e42c",
    "expresspass-2017": "10e5bbce39", "homa-2018": "dc861a68ce", "homa-ns3": "eeb006e9c2", "hpcc-ns3": "d362ec8647",
    "igbn-2019": "caf32f79b0", "infiniband-2010": "263d92cf73", "irn-2018": "f2f8963713", "ndp-2017": "cd470d9d85",
    "ndp-htsim": "bccd9f5cd7", "phost-2015": "fa53e96d0e", "phost-yaps": "23dbcacaed", "powertcp-ns3": "b24578132c",
    "rcc-2021": "2caccc1476", "ren-2021-testbed": "b7c8ec5744", "ren-2021": "03425181cd", "roce-htsim": "921513b926",
    "timely-2015": "f7d700568b", "uec-1.0": "56ff0a0614", "uet-htsim": "9ed07b5bbf", "registered": "c29954e5e8",
}  # fmt: skip
"""Digests of everything a preset sets, as read in its source, and of all parameters of the registered schemes.

If one differs, look the value up in the source given beside it, then update the digest.
"""


def values_of(scheme):
    return {f"{row['component']}.{row['parameter']}": row["value"] for row in scheme_table(scheme)}


def digest_of(schemes):
    """Return the digest of the parameters of schemes, by name."""
    lines = [f"{name} {one} = {value}" for name, values in schemes.items() for one, value in sorted(values.items())]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:10]


def test_a_papers_preset_has_the_papers_values():
    found = {}
    for name, one in ((name, preset(name)) for name in PRESETS):
        own = {scheme: {setting.parameter for setting in one.settings(scheme)} for scheme in one}
        values = {scheme: values_of(one[scheme]) for scheme in one}
        found[name] = digest_of({scheme: {key: values[scheme][key] for key in own[scheme]} for scheme in one})
    found["registered"] = digest_of({name: values_of(rdmacc.scheme(name)) for name in rdmacc.SCHEMES})
    assert found == DIGESTS


def test_presets_hold_for_the_papers_links_and_scale_with_others():
    assert {name: one.line_bps for name, one in PRESETS.items()} == dict.fromkeys(PRESETS, 10e9) | RATES_BPS
    assert preset("hpcc-ns3", rate="25Gbps")["hpcc"].control[0].unit_multiple == 1
    assert preset("homa-2018", rate="100Gbps")["homa"].recovery.rtt_bytes == 97_500  # 7.8 us
    assert preset("homa-ns3", rate="100Gbps")["homa"].recovery.rtt_bytes == 36 * 1460
