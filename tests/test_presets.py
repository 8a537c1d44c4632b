"""Presets: schemes as papers and simulators set them, scaled by the link, each value with its source."""

from __future__ import annotations

import pickle

import pytest

import rdmacc
from rdmacc import PRESETS, ConfigError, preset, scheme_table
from rdmacc.engine.plan import make_plan
from rdmacc.presets.base import Preset, define
from rdmacc.units import ms, ns, us


@pytest.mark.parametrize("name", PRESETS)
def test_every_scheme_of_a_preset_is_made_and_every_setting_has_a_source(name):
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


def test_a_source_is_shown_for_what_the_preset_sets_and_the_defaults_for_the_rest():
    one = preset("hpcc-ns3")
    rows = {
        (row["component"], row["parameter"]): row["source"] for row in scheme_table(one["dcqcn"], one.sources("dcqcn"))
    }
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
    with pytest.raises(ConfigError, match="preset = 'ns-2': must be the name of a preset"):
        preset("ns-2")
    with pytest.raises(ConfigError, match="scheme of preset 'hpcc-ns3' = 'tcp'"):
        preset("hpcc-ns3")["tcp"]
    with pytest.raises(ConfigError, match="rate of preset 'hpcc-ns3'"):
        preset("hpcc-ns3", rate="fast")
    one = Preset("mine", "a test", rate=1e9)
    one.add("quick", "dcqcn", {"speed": (1, "none")})
    with pytest.raises(ConfigError, match="parameter of scheme 'dcqcn'"):
        one["quick"]


def test_a_name_is_taken_once():
    one = Preset("mine", "a test", rate=1e9)
    one.add("quick", "dcqcn", {"ack_bytes": (60, "said")})
    with pytest.raises(ConfigError, match="scheme of preset 'mine' = 'quick': must not be in the preset yet"):
        one.add("quick", "timely", {})
    assert one["quick"].ack_bytes == 60
    one.add("quick", "dcqcn", {"ack_bytes": (70, "said")}, replace=True)
    assert one["quick"].ack_bytes == 70
    with pytest.raises(ConfigError, match="preset name = 'hpcc-ns3'"):
        define(Preset("hpcc-ns3", "another", rate=1e9))
    assert define(preset("hpcc-ns3"), replace=True) is PRESETS["hpcc-ns3"]


def test_times_of_the_hpcc_simulator_are_whole_nanoseconds(engine):
    """1,048 B take 83 ns at 100 Gb/s, not 83.84, and an ACK of 60 B takes 4: there and back over two links of 1 us."""
    work = rdmacc.messages([("h1", "h0", 2000)])
    result = rdmacc.simulate(rdmacc.star(2), work, preset("hpcc-ns3")["dcqcn"], engine=engine)
    assert result.flows["fct_acked_ps"].tolist() == [ns(3 * 83 + 2 * 4 + 4 * 1000)]


def test_the_hpcc_simulators_base_rtt_is_the_networks_largest():
    """Links of 1 us there and back and payloads there: 4 links on a star, 6 on a dumbbell, 12 on a fat tree."""
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
    """Two packets reach the switch in the same instant; h2's transmission was the first to begin."""
    work = rdmacc.messages([("h2", "h0", 1000), ("h1", "h0", 1000)])
    scheme = rdmacc.scheme("line-rate", tick_ps=tick)
    flows = rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine).flows
    assert flows.loc[flows["fct_ps"].idxmin(), "src"] == first


IGBN_PAPER = {  # table I and II-A; what a source calls assumed is in rdmacc's words
    "payload_bytes": 1024, "GoBackN.timeout_ps": ms(100), "GoBackN.nak_interval_ps": us(500),
    "GoBackN.ack_every_packets": 256, "header_bytes": 48, "ack_bytes": 64, "GoBackN.timer_after_last": True,
    "GoBackN.nak_per_packet": True,
}  # fmt: skip
DART_DCQCN = {  # VI-A
    "payload_bytes": 1460, "EcnStep.kmin_bytes": 22_500, "EcnStep.at_nic": True, "Dcqcn.g": 1 / 256,
    "Dcqcn.cnp_interval_ps": us(50), "Dcqcn.increase_period_ps": us(55), "Dcqcn.byte_counter_bytes": 10_000_000,
    "Dcqcn.alpha_period_ps": us(55), "Dcqcn.fast_recovery_steps": 5, "Dcqcn.additive_bps": 40e6,
    "Dcqcn.hyper_bps": 400e6, "Dcqcn.reference_bps": 40e9, "Dcqcn.min_rate_bps": 10e6,
}  # fmt: skip
DART_DEFLECTION = {  # VI-A
    "FlowDeflection.threshold_bytes": 15_000, "FlowDeflection.tokens": 4, "FlowDeflection.short_bytes": 8_000,
}  # fmt: skip
AS_PUBLISHED = {
    ("igbn-2019", "go-back-n"): IGBN_PAPER,
    ("dart-2020", "dcqcn"): DART_DCQCN,
    ("dart-2020", "pri-q"): DART_DCQCN,
    ("dart-2020", "dasr"): DART_DCQCN,
    ("dart-2020", "iofd"): DART_DCQCN | DART_DEFLECTION,
    ("dart-2020", "dart"): DART_DCQCN | DART_DEFLECTION,
    ("dart-2020", "dctcp"): {
        "payload_bytes": 1460, "initial_window": 10, "start_delay_ps": us(300), "NewReno.min_timeout_ps": ms(10),
        "EcnStep.kmin_bytes": 22_500, "DropTail.limit_bytes": 225_000,
    },
    ("dart-2020", "timely"): {
        "payload_bytes": 1460, "Timely.t_low_ps": us(50), "Timely.t_high_ps": us(500), "Timely.additive_bps": 1e6,
        "Timely.beta": 0.8, "Timely.hyper_after": 5, "Timely.segment_bytes": 1460, "Timely.has_window": True,
        "Timely.is_paced": False,
    },
    ("dart-2020", "rcp"): {"RcpStamp.alpha": 0.4, "RcpStamp.beta": 0.4},
}  # fmt: skip
"""Values as the papers print them, in base units: Wang et al. 2019, table I; Xue et al. 2020, VI-A and VI-D."""


@pytest.mark.parametrize(("name", "scheme"), AS_PUBLISHED)
def test_a_papers_preset_has_the_papers_values(name, scheme):
    rows = scheme_table(preset(name)[scheme])
    values = {f"{row['component']}.{row['parameter']}": row["value"] for row in rows}
    values |= {row["parameter"]: row["value"] for row in rows}
    assert {key: values[key] for key in AS_PUBLISHED[name, scheme]} == AS_PUBLISHED[name, scheme]


@pytest.mark.parametrize("name", ["igbn-2019", "dart-2020"])
def test_every_setting_that_is_the_papers_is_pinned(name):
    """What a preset takes from a section is compared above with that section."""
    pinned = {key.split(".")[-1] for (of, _), values in AS_PUBLISHED.items() if of == name for key in values}
    one = preset(name)
    set_by_paper = {
        setting.parameter.split(".")[-1]
        for scheme in one
        for setting in one.settings(scheme)
        if not setting.source.startswith("assumed")
    }
    assert set_by_paper - pinned <= {"reference_bps"}
