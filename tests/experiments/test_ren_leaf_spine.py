"""REN on its leaf-spine networks: points, measurements and claims; full runs are left to the command line.

REN's small figures: worked examples, models, their parts, and the bursts on its testbed.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.experiments import Outcome, experiment, load_summary
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.ren import fig08, fig09, fig19
from rdmacc.experiments.ren.bursts import burst_point
from rdmacc.experiments.ren.fig03 import lost
from rdmacc.experiments.ren.fig09 import Figure9
from rdmacc.experiments.ren.leaf_spine import SCHEMES, TENTHS, WORKLOADS, LeafSpineCase
from rdmacc.experiments.ren.leaf_spine_readings import READ_AS
from rdmacc.experiments.ren.setup import PACKET_BYTES, SIMULATED, TESTBED
from rdmacc.protocols.homa import Homa
from rdmacc.sweep.tidy import assemble, tidy, wide
from rdmacc.sweep.workers import Run
from rdmacc.units import us
from rdmacc.workload import SIZES, LoadDefinition, offered_load
from tests.models.test_loops import REN_40G, TRADITIONAL_40G

OF_CORE = LoadDefinition("core", payload_bytes=1460, header_bytes=40)


@pytest.mark.parametrize("workload", ["hadoop", "web_search"])
@pytest.mark.parametrize("hosts_per_leaf", [48, 8])
def test_the_network_and_the_traffic_are_the_papers(workload, hosts_per_leaf):
    scenario = LeafSpineCase("ren", workload, 0.7, hosts_per_leaf).point("paper", 0).scenario
    network, messages = scenario.make_network(), scenario.messages()
    hosts = [node for node, kind in network.nodes(data="kind") if kind == "host"] or [
        node for node in network if str(node).startswith("h")
    ]
    assert len(hosts) == 8 * hosts_per_leaf
    assert len(messages) == 5000
    span = messages["start_ps"].max() - messages["start_ps"].min()
    assert offered_load(messages, network, of=OF_CORE, duration=f"{span}ps") == pytest.approx(0.7, rel=0.01)
    assert messages["size_bytes"].mean() == pytest.approx(SIZES[workload].mean, rel=0.15)


def test_a_switch_may_have_the_whole_buffer():
    each, whole = (
        LeafSpineCase("ren", "hadoop", 0.7, is_shared=one).point("paper", 0).scenario.make_network()
        for one in (False, True)
    )
    assert each.nodes["leaf0"]["buffer_bytes"] == 56 * 128_000
    assert {whole.nodes[f"{kind}{k}"]["buffer_bytes"] for kind in ("leaf", "spine") for k in range(8)} == {128_000}


@pytest.mark.parametrize("workload", WORKLOADS)
def test_homa_has_the_levels_that_the_workload_calls_for(workload):
    by_rule = Homa.for_sizes(SIZES[workload], 38 * 1500)
    for scheme in ("homa", "aeolus"):
        recovery = LeafSpineCase(scheme, workload, 0.5).point("paper", 0).scenario.scheme.recovery
        assert (recovery.levels, recovery.overcommit, recovery.cutoffs) == (8, by_rule.overcommit, by_rule.cutoffs)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_point_measures_what_happened(scheme):
    """Every message finishes, and the numbers match the flows."""
    point = LeafSpineCase(scheme, "hadoop", 0.7).point("quick", 0)
    result = point.scenario.run()
    rows = experiment("ren.fig17").measure(point, result)
    row = wide(assemble({point.name: rows}, {point.name: point.labels})).iloc[0]
    flows = result.flows
    fct = flows["fct_ps"].astype(float)
    short, long = flows["size_bytes"] <= 100_000, flows["size_bytes"] > 1_000_000
    assert (row["unfinished"], row["flows"], row["oversubscription"]) == (0, 100, 6)
    assert (row["flows, short"], row["flows, long"]) == (short.sum(), long.sum())
    assert row["AFCT"] == pytest.approx(fct.mean())
    assert row["AFCT, short"] == pytest.approx(fct[short].mean())
    assert fct[short].median() < row["p99 FCT, short"] <= fct[short].max()
    assert row["throughput, long"] == pytest.approx((flows["size_bytes"] * 8e12 / fct)[long].mean())
    assert row["largest, 10"] == flows["size_bytes"].max()
    assert [row[f"largest, {k}"] for k in TENTHS] == sorted(row[f"largest, {k}"] for k in TENTHS)
    tenth = flows.sort_values("size_bytes", kind="stable").iloc[-10:]
    assert row["p99 slowdown, 10"] == pytest.approx(np.percentile(tenth["slowdown"], 99))
    assert row["bytes in the largest tenth"] == tenth["size_bytes"].sum() / flows["size_bytes"].sum()


def published_sizes(name):
    """Return the published reductions of REN's times, by quantity and scheme; both that one grant replaces."""
    sizes = {"ren.fig19": {"AFCT": fig19.PUBLISHED}, "ren.gains": {"AFCT, short": {"expresspass": 0.75}}}
    found = sizes.get(name) or getattr(experiment(name), "published", {})
    both = {quantity: 1.3 * min(of[one] for one in ("phost", "homa")) for quantity, of in found.items() if "homa" in of}
    return {quantity: {**of, "traditional": both.get(quantity, 0.5)} for quantity, of in found.items()}


@cache
def made_up(name):
    """Return a table at paper scale in which every scheme takes twice REN's times, or the published times."""
    tables, labels = {}, {}
    for case in experiment(name).cases("paper"):
        point = case.point("paper", 0)
        slow = 1.0 if case.scheme.startswith("ren") else 2.0
        sizes = {quantity: 1 / (1 - of.get(case.scheme, 0.5)) for quantity, of in published_sizes(name).items()}
        times = dict.fromkeys(("AFCT", "AFCT, short", "p99 FCT, short"), slow) | (sizes if slow > 1 else {})
        numbers = {
            "AFCT": (times["AFCT"] * 1e9 * (1 + case.load), "ps"),
            "AFCT, short": (times["AFCT, short"] * 1e7, "ps"),
            "p99 FCT, short": (times["p99 FCT, short"] * 5e7, "ps"),
            "throughput, long": (30e9 / slow * (0.9 if case.scheme == "expresspass" else 1.0), "bps"),
            **{f"p99 slowdown, {k}": (slow * 3 * (1.01 ** (k * (slow - 1))), "") for k in TENTHS},
            **{f"largest, {k}": (100.0 * 10 ** (k * 0.7), "bytes") for k in TENTHS},
            "bytes in the largest tenth": (0.95, ""),
            "oversubscription": (6.0, ""),
            "flows": (5000.0, ""),
            "flows, short": (4100.0, ""),
            "flows, long": (450.0, ""),
            "unfinished": (250.0 if case.scheme == "ren-literal-unsafe" else 0.0, ""),
        }
        tables[point.name], labels[point.name] = tidy(point.name, numbers), point.labels
    return assemble(tables, labels)


def changed(table, quantity, factor, **where):
    """Return the table with a quantity multiplied in the rows with some labels."""
    chosen = table["quantity"] == quantity
    for column, value in where.items():
        chosen &= table[column] == value
    assert chosen.any()
    return table.assign(value=table["value"].mask(chosen, factor * table["value"]))


def outcome(name, id, table):
    claim = next(one for one in experiment(name).claims if one.id == id)
    return claim.verdict(experiment(name).view(table)).outcome


@pytest.mark.slow
@pytest.mark.parametrize(("name", "ids"), [
    ("ren.fig14", ("f14-3", "f14-4")), ("ren.fig15", ("f15b-1",)), ("ren.fig16", ("f16d-1",)),
    ("ren.fig17", ("f17-1a",)), ("ren.fig18", ("f18d-1",)), ("ren.fig19", ("f19-1",)),
    ("ren.gains", ("f15-1", "f15c-1", "f15c-3", "f15d-2", "f15b-2", "f15d-3", "f15c-4", "x-2", "x-3")),
    ("ren.sensitivity", ("x-1a", "x-1c")),
])  # fmt: skip
def test_the_papers_numbers_pass(name, ids):
    assert {id: outcome(name, f"ren-{id}", made_up(name)) for id in ids} == dict.fromkeys(ids, Outcome.HOLDS)


def read_everywhere(monkeypatch, name):
    """Return a figure as if every reading had been run for all of it, and its invented table."""
    loads = tuple({case.load for case in experiment(name).assumed("paper")})
    monkeypatch.setattr(type(experiment(name)), "read_at", dict.fromkeys(READ_AS, loads))
    return experiment(name), made_up.__wrapped__(name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "id", "quantity", "workload", "load"), [
    ("ren.fig17", "ren-f17-1a", "AFCT, short", "hadoop", 0.2),
    pytest.param("ren.fig18", "ren-f18d-1", "AFCT", "cache_follower", 0.7, marks=pytest.mark.nightly),
])  # fmt: skip
def test_a_figure_is_judged_under_each_reading(monkeypatch, name, id, quantity, workload, load):
    """A reading's runs decide its verdict and no other's; seeds are judged together, as many as a reading has."""
    one, table = read_everywhere(monkeypatch, name)
    assumed = one.under(table, DEFAULT)
    table = pd.concat([table, assumed.assign(seed=1, point=assumed["point"] + ", again")], ignore_index=True)
    assert set(one.readings_in(table)) == set(one.read_at)
    assert list(one.rows_of_seeds(table)) == [0, 1]

    def verdicts(table):
        rows = {name: one.check(table, "paper", name).set_index("id").loc[id] for name in (DEFAULT, *one.read_at)}
        assert {name: row["seeds_judged"] for name, row in rows.items()} == dict.fromkeys(rows, 1)
        return {name: row["verdict"] for name, row in rows.items()}

    assert set(verdicts(table).values()) == {Outcome.HOLDS}
    for reading in READ_AS:
        # Schemes whose runs differ under the reading, and a change that makes them worse for REN.
        scheme, factor = ("ren", 2.5) if reading == "outstanding" else ("phost", 0.4)
        run = READ_AS[reading](LeafSpineCase(scheme, workload, load))
        where = {"scheme": run.scheme, "changes": run.differences, "load": load, "workload": workload}
        worse = changed(table, quantity, factor, **where)
        assert [name for name, found in verdicts(worse).items() if found != Outcome.HOLDS] == [reading]
        is_lost = (table[list(where)] == list(where.values())).all(axis=1)
        assert set(one.readings_in(table[~is_lost])) == set(one.read_at) - {reading}


@cache
def table_of(name):
    return experiment(name).run("quick")


def test_a_reading_replaces_the_default():
    """The literal marks of figure 5 as "ren"; a claim that compares readings is not judged under one of them."""
    figure, table = experiment("ren.fig5"), table_of("ren.fig5")
    assert figure.readings_in(table) == ["outstanding", "packet", "literal"]
    rows = figure.view(table, "literal").set_index("scheme")
    assert set(rows.index) == {"traditional", "ren"}
    own = table.set_index("scheme").loc["ren-literal"]
    assert rows.loc["ren", "value"].to_list() == own["value"].to_list()
    assert set(rows.loc["ren", "point"]) == {"ren"}
    verdicts = figure.check(table, "quick", "literal").set_index("id")["verdict"]
    assert verdicts["ren-f5-1"] == Outcome.FAILS
    assert verdicts["ren-f5-a"] == Outcome.NOT_JUDGED


def test_one_grant_for_one_packet_loses_more_with_more_bursts():
    """Figures 3 and 11: pHost and Homa as section 2 describes them; with two bursts more than the paper says."""
    for name, id in (("ren.fig3", "ren-f3b-1"), ("ren.fig11", "ren-f11b-1")):
        one, table = experiment(name), load_summary(name)
        claim = next(claim for claim in one.claims if claim.id == id)
        assert claim.verdict(one.view(table, "one grant")).outcome == Outcome.HOLDS
        checks = one.check(table, "paper", "one grant").set_index("id")
        assert checks.loc[id, "verdict"] == Outcome.UNDECIDED  # the interval over the runs contains an edge


@pytest.mark.parametrize(("preset", "window"), [(TESTBED, 44), (SIMULATED, 38)])
def test_ndp_starts_with_a_window_that_fills_the_link(preset, window):
    """The line rate times the base RTT, which includes the packet's time on each link and the header's way back."""
    graph = rdmacc.topology.ren_testbed() if preset is TESTBED else rdmacc.topology.ren_leaf_spine(2, 2, 2)
    ends = ("h0", "h4") if preset is TESTBED else ("h0", "h3")
    result = rdmacc.simulate(graph, rdmacc.messages([(*ends, "1500B")]), preset["ndp"], engine="simpy", progress=False)
    packets = result.plan.qp_base_rtt_ps[0] * preset.line_bps / 8e12 / PACKET_BYTES
    assert preset["ndp"].recovery.initial_window == window == int(np.ceil(packets))


@pytest.mark.parametrize("seed", [0, 1])
def test_lost_packets_are_missing_afterwards(seed):
    """One grant, one packet: f0 lacks as many packets of 43.1 in flight as it lost."""
    point = burst_point("traditional", 2, "quick", seed)
    result = point.scenario.run()
    table = experiment("ren.fig3").measure(point, result).assign(**point.labels)
    missing = lost(table, "traditional").iloc[0] * 51.696e6 / 1.2e6
    f0 = result.flows.iloc[0]
    assert f0["retransmissions"] >= missing - 1
    sent_at_once = TESTBED["traditional"].recovery
    assert sent_at_once.base_rtt_ps == 0
    assert 44 - int(result.transfers["in_flight"].iloc[0]) == pytest.approx(missing + 0.9, abs=1.1)


PUBLISHED_ELSEWHERE = {
    ("queue", 40e9, "traditional"): TRADITIONAL_40G[20],
    ("queue", 40e9, "REN"): REN_40G[20],
    ("utilisation", 20.0, "traditional"): [0.948, 0.897, 0.843, 0.792, 0.736, 0.688, 0.639, 0.598, 0.565, 0.541],
    ("utilisation", 30.0, "REN"): [0.997, 0.993, 0.989, 0.985, 0.980, 0.974, 0.969, 0.961, 0.953, 0.944],
}
"""The same equations, 20 rounds, from an independent program."""


def test_figure_9_equations_agree_with_an_independent_program():
    figure = Figure9()
    point = figure.points()[0]
    table = figure.execute(point, Run("auto"))
    for (quantity, case, protocol), values in PUBLISHED_ELSEWHERE.items():
        rows = table[(table["quantity"] == quantity) & (table["case"] == case) & (table["protocol"] == protocol)]
        assert rows["value"].to_numpy() == pytest.approx(values, rel=0.06, abs=0.15)


def test_the_round_trip_of_figure_8_is_the_sum_of_its_parts():
    """48 us of propagation, a packet of 1.5 KB on three links there, a grant of 40 bytes on three back."""
    on_links_ps = 3 * (1500 + 40) * 8 * 100  # 100 ps per bit
    assert us(48) + on_links_ps == fig08._ROUND_PS
    assert pytest.approx(fig08._ROUND_PS / (1500 * 8 * 100)) == fig08._BDP


@pytest.mark.parametrize("seed", [0, 1, 3, 4])
def test_a_trial_of_figure_9_counts_the_rounds_that_have_a_flow(seed):
    scenario, expected = fig09._use_trial(3, 0.4, "REN", seed)
    gone = np.array([fault.at_ps / fig09.SIMULATED_RTT_PS - fig09._WARM_UP for fault in scenario.faults])
    left = np.array([3 - (gone <= number).sum() for number in range(fig09.ROUNDS)])
    assert (left == 1).any()  # the last one counts too
    assert expected["rounds"] == (left > 0).sum()
