"""Explanations as frames and in words, and what cannot be explained."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.results.explain.walk import KINDS
from rdmacc.simulation import running
from tests.support import refused


def incast(scheme="dctcp", senders=8, size="300kB", **options):
    work = rdmacc.incast([f"h{number}" for number in range(1, senders + 1)], "h0", size)
    options = {"explain": True, "progress": False} | options
    return rdmacc.simulate(rdmacc.star(senders + 1), work, scheme, engine="simpy", **options)


@pytest.fixture(scope="module")
def dctcp():
    return incast()


def words(why):
    return " ".join(str(why).split())


def test_marked_packets_are_those_in_the_trace(dctcp):
    trace = incast(trace=True).packet_trace
    marked = trace[(trace["what"] == "sent") & (trace["kind"] == "data") & trace["ce"] & (trace["message"] == 3)]
    causes = dctcp.explain(3).causes
    assert causes.loc[causes["cause"] == "marked", ["place", "count"]].to_numpy().tolist() == [["s0->h0", len(marked)]]


def test_frames(dctcp):
    why = dctcp.explain(3)
    assert tuple(why.parts["kind"]) == KINDS
    assert why.parts["share"].sum() == pytest.approx(1)
    assert (why.events["time_ps"] == why.events["end_ps"] - why.events["begin_ps"]).all()
    assert why.events["time_ps"].sum() == why.time_ps == dctcp.flows["fct_ps"][3]
    sums = why.events.groupby("kind")["time_ps"].sum()
    assert sums.to_dict() == {kind: time for kind, time in zip(why.parts["kind"], why.parts["time_ps"]) if time}
    assert why.causes["kind"].isin([*KINDS, ""]).all()
    assert "<table>" in why._repr_html_()


def test_times_by_cause_sum_to_the_queue(dctcp):
    why = incast("line-rate").explain(2)
    queue = why.causes[why.causes["kind"] == "queue at a port"]
    assert queue["time_ps"].sum() == why.parts.set_index("kind")["time_ps"]["queue at a port"]
    assert set(queue["by"]) == set(range(8))


def test_explaining_does_not_change_a_run():
    one, other = incast(), incast(explain=False)
    assert one.flows.equals(other.flows)
    assert one.counters.equals(other.counters)


def test_what_cannot_be_explained(tmp_path):
    result = incast(until="50us")
    refused(lambda: result.explain(8), "flow = 8: must be a message of the workload, 0 to 7")
    refused(lambda: incast(explain="yes"), "explain = 'yes': must be True, False, or a list of messages")
    result.save(tmp_path / "kept")
    with pytest.raises(ConfigError, match=r"result = 'saved': must be a result that simulate\(..., explain=True\)"):
        rdmacc.load(tmp_path / "kept").explain(3)


def test_a_message_that_has_not_started_has_nothing_to_explain():
    work = rdmacc.messages([("h1", "h0", "3kB"), ("h2", "h0", "3kB", "1ms")])
    options = {"engine": "simpy", "explain": True, "progress": False, "until": "50us"}
    result = rdmacc.simulate(rdmacc.star(3), work, "line-rate", **options)
    refused(lambda: result.explain(1), "flow = 1: must be a message that has started")


def test_a_run_that_needs_too_much_memory_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(running, "_MOST_BYTES", 2400 * 12 * 32 - 1)
    refused(lambda: incast("line-rate"), "its 2,400 packets would take 922 kB at least, more than 922 kB")
    monkeypatch.setattr(running, "_MOST_BYTES", 2400 * 12 * 32)
    assert incast("line-rate", until="5us").explain(0).time_ps == 5_000_000


def test_stacked_bars_sum_to_the_mean_slowdown():
    work = rdmacc.combine(rdmacc.incast(4, "h0", "20kB", hosts=rdmacc.star(5)), rdmacc.messages([("h1", "h2", "90kB")]))
    result = rdmacc.simulate(rdmacc.star(5), work, "hpcc", engine="simpy", explain=True)
    ax = result.plot.time_spent(bins=2)
    tops = np.zeros(2)
    for container in ax.containers:
        tops += [bar.get_height() for bar in container]
    slowdown = result.flows["slowdown"].to_numpy()
    assert tops == pytest.approx([slowdown[:4].mean(), slowdown[4]])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["20 kB", "90 kB"]
    refused(lambda: result.plot.time_spent(bins=0), "bins = 0")
    refused(lambda: incast(until="3us").plot.time_spent(), "flows = 0: must be delivered")


def test_a_trimmed_packet_is_attributed_to_its_nak_despite_packets_in_between():
    work = rdmacc.incast(["h1", "h4", "h5", "h6", "h7"], "h0", "200kB")
    network = rdmacc.leaf_spine(2, 2, 4)
    result = rdmacc.simulate(network, work, "ndp", engine="simpy", explain=True)
    assert result.counters["timeouts"] == 0
    causes = result.explain(4).causes
    assert causes["cause"][causes["kind"] == "recovery"].tolist() == ["trimmed; nak"]


def test_a_rate_is_cut_when_the_signal_arrives():
    """RCP sends one packet, and gets its rate when the ACK comes back."""
    result = incast("rcp", senders=4)
    causes = result.explain(0).causes
    first_ps = causes["first_ps"][causes["cause"] == "cut by ack"].iloc[0]
    assert first_ps >= result.plan.qp_base_rtt_ps[0]


def test_a_study_explains_what_a_scheme_gains():
    work = rdmacc.incast(4, "h0", "50kB", hosts=rdmacc.star(5))
    study = rdmacc.study(rdmacc.star(5), work, ["dctcp", "hpcc"], seeds=[3], engine="simpy")
    found = study.explain("hpcc", "dctcp")
    means = study.runs.set_index("scheme")["fct_mean_ps"]
    assert found.frame["difference"].sum() == pytest.approx(means["hpcc"] - means["dctcp"])
    assert found.frame["hpcc"].sum() == pytest.approx(means["hpcc"])
    assert "hpcc against dctcp" in str(found)
    assert [text.get_text() for text in found.plot().get_xticklabels()] == ["hpcc", "dctcp"]
    refused(lambda: study.explain("dcqcn", "hpcc"), "scheme = 'dcqcn'")
    refused(lambda: study.explain("hpcc", "hpcc"), "baseline = 'hpcc': must be another scheme")


def test_a_scenario_in_a_file_is_explained(tmp_path):
    work = rdmacc.incast(3, "h0", "20kB", hosts=rdmacc.star(4))
    scenario = rdmacc.Scenario(network=rdmacc.star(4), workload=work, scheme="dctcp", engine="simpy", explain=[1])
    read = rdmacc.Scenario.from_toml(scenario.to_toml(tmp_path / "x.toml"))
    assert words(read.run().explain(1)) == words(scenario.run().explain(1))
    with pytest.raises(ConfigError, match="explain = 'all'"):
        rdmacc.Scenario(network=rdmacc.star(4), workload=work, scheme="dctcp", explain="all").to_toml(tmp_path / "y")


@pytest.mark.parametrize("until", [None, "50us"])
def test_a_run_without_records_is_repeated_to_explain_it(until):
    result, every = incast(explain=[3, 5], until=until), incast(until=until)
    assert result.outcome.trace is None
    assert words(result.explain(3)) == words(every.explain(3))
    once = result.recording(result.plan.explained)
    assert 0 < len(once.rows) < 0.6 * len(every.outcome.trace)
    assert words(result.explain(5)) == words(every.explain(5))
    assert result.recording(result.plan.explained) is once
    assert words(result.explain(4)) == words(every.explain(4))
    assert words(incast(explain=False, trace=True, until=until).explain(4)) == words(every.explain(4))
    assert result.explain(4).parts.equals(incast(explain=[], until=until).explain(4).parts)


def test_a_run_that_cannot_be_repeated_says_so():
    work = rdmacc.incast(8, "h0", "300kB", hosts=rdmacc.star(9))
    simulation = rdmacc.Simulation(rdmacc.star(9), work, "dctcp", engine="simpy")
    simulation.run("20us")
    result = simulation.fork(faults=[rdmacc.SlowLink(link=("s0", "h0"), share=0.1, at_ps="30us")]).run(progress=False)
    assert result.explain(3).time_ps == result.flows["fct_ps"][3]
    result.outcome.messages["delivered_ps"][2] += 1
    refused(lambda: result.explain(2), "explain = False: must be True: its messages end at other times")
    result = simulation.fork(parameters={"g": 0.5}).run(progress=False)
    refused(lambda: result.explain(3), "or it is a fork with other parameters")


def test_traces_and_lists_can_be_combined():
    every = incast()
    refused(lambda: incast(explain=[3]).packet_trace, "trace = False")
    refused(lambda: every.packet_trace, "trace = False")
    refused(lambda: incast(explain=[3, 9]), "explain = 9: must be a row of the workload, 0 to 7")
    both = incast(explain=[3], trace=True)
    assert both.packet_trace.equals(incast(explain=False, trace=True).packet_trace)
    assert words(both.explain(3)) == words(every.explain(3))
    assert both.explain(3).parts.equals(every.explain(3).parts)


def test_a_pause_is_followed_to_the_queue_that_was_full():
    """A message to an idle host is paused because others to h4 fill the switches: PFC's classic victim."""
    network = rdmacc.leaf_spine(2, 1, 4, rate="100Gbps", buffer="600kB")
    rows = [(src, "h4", "300kB") for src in ("h0", "h1", "h5", "h6")]
    work = rdmacc.messages([*rows, ("h2", "h7", "60kB", "5us")])
    result = rdmacc.simulate(network, work, "line-rate", engine="simpy", explain=True)
    why = result.explain(4)
    spread = why.causes[why.causes["cause"] == "paused leaf0->spine0"]
    assert spread["place"].tolist() == ["spine0->leaf1", "leaf1->h4"]
    assert "since the queue of leaf1->h4 was full, by way of spine0->leaf1" in words(why)
    paused = why.causes[why.causes["kind"] == "paused"].set_index("place")["time_ps"]
    ports = result.ports.set_index("port")["paused_ps"]
    assert (paused > 0).all()
    assert (paused <= ports[paused.index]).all()
