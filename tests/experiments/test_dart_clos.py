"""Dart at scale: points, measurements and claims; the runs themselves are for the command line."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.experiments import experiment, load_summary
from rdmacc.experiments.dart.clos import (
    CHANGED,
    FRESH,
    TRAFFIC,
    ClosCase,
)
from rdmacc.experiments.dart.table1 import PUBLISHED_MARKS
from rdmacc.experiments.dart.table2 import PUBLISHED_DILATION
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.sweep.tidy import assemble, tidy, wide
from rdmacc.workload import DART_MIXES


@pytest.mark.slow
def test_a_point_measures_what_happened():
    """Two milliseconds of traffic on the Clos: counts add up, short flows are deflected, long ones never."""
    point = ClosCase("dart", "heavy", 0.4).point("quick", 0)
    traffic = partial(rdmacc.dart_mix, rdmacc.dart_clos(), 0.4, "heavy", duration="2.2ms", seed=0)
    result = replace(point.scenario, workload=traffic).run()
    numbers = wide(assemble({point.name: experiment("dart.fig11").measure(point, result)}, {point.name: point.labels}))
    row = numbers.iloc[0]
    assert row["unfinished"] == row["refused"] == row["dropped"] == 0
    assert row["deflections"] == result.ports["deflected_packets"].sum() > 1_000
    assert row["longest path of long flows"] == 6 < row["longest path"] <= 14
    assert 5 < row["path"] < 14
    assert row["data hops"] == result.ports["tx_data_packets"].sum()
    eight = result.flows[(result.flows["size_bytes"] == 8_000) & (result.flows["start_ps"] >= 2e9)]
    assert row["reported flows"] == len(eight) > 0
    latencies = np.sort(eight["fct_ps"].astype(float))
    assert row["p50"] == np.percentile(latencies, 50) > 60e6
    assert latencies[int(0.985 * len(latencies))] < row["p99"] <= latencies[-1]
    long = result.flows[result.flows["group"].isna() & (result.flows["start_ps"] >= 2e9)]
    assert row["long flows"] == len(long)
    short = result.transfers[result.flows["group"].notna().to_numpy()]
    assert row["marked on arrival"] == short["marked_arrivals"].sum() / short["arrived_packets"].sum()
    assert row["marked"] == short["marks_left"].sum() / short["arrived_packets"].sum()
    assert 0 < row["marked"] < row["marked on arrival"] < 1


def on_a_star(scheme, until="100ms"):
    """Measure an incast of 16 and a few other messages, all two links from their receivers."""
    rows = [(f"h{k}", "h0", 8_000, "2.5ms", 1) for k in range(1, 17)]
    rows += [("h1", "h0", 8_000, "1ms", 0), ("h2", "h0", 2_000, "3ms", 2)]
    rows += [("h3", "h17", 100_000, start, None) for start in ("0s", "1ms", "4ms")]
    columns = list(zip(*rows, strict=True))
    work = rdmacc.messages([row[:4] for row in rows]).assign(group=pd.array(columns[4], dtype="Int64"))
    point = ClosCase(scheme, "heavy", 0.4, FRESH).point("quick", 0)
    star = rdmacc.star(18, rate="10Gbps", delay="1us")
    result = rdmacc.simulate(star, work, point.scenario.scheme, until=until, engine="simpy")
    return result.flows, wide(experiment("dart.fig11").measure(point, result)).iloc[0]


@pytest.mark.parametrize("scheme", ["dcqcn", "timely"])
def test_what_is_measured_can_be_counted_by_hand(scheme):
    """Whether a scheme marks at the NIC or not; 8, 2 and 100 KB are 6, 2 and 69 packets."""
    flows, row = on_a_star(scheme)
    counted = flows[(flows["group"] == 1)]["fct_ps"].astype(float)
    assert (row["reported flows"], row["p50"], row["p99"]) == (16, *np.percentile(counted, [50, 99]))
    long = flows[flows["group"].isna()].iloc[[0, 2]]  # from the start on, and after the first 2 ms
    assert row["long flows"] == 2
    assert row["goodput"] == pytest.approx((8e12 * 100_000 / long["fct_ps"].astype(float)).mean())
    counts = flows[flows["group"].isna() & (flows["start_ps"] == 0) | (flows["start_ps"] >= 2e9)]  # 17 short ones, too
    assert len(counts) == 2 + 17
    bps = 8e12 * counts["size_bytes"] / counts["fct_ps"].astype(float)
    assert row["goodput of all"] == pytest.approx(bps.mean())
    assert row["path"] == row["longest path"] == row["longest path of long flows"] == 2
    assert row["data hops"] == 2 * (17 * 6 + 2 + 3 * 69)
    assert row["marks at last hop"] == (1 if scheme == "dcqcn" else 0)
    for name in ("unfinished", "refused", "pauses", "dropped", "deflections"):
        assert row[name] == 0


def test_unfinished_messages_count_with_their_time_so_far():
    flows, row = on_a_star("dcqcn", until="2.51ms")
    late = flows["status"] != "finished"
    assert row["unfinished"] == late.sum() > 3  # of the incast, and what has not begun
    assert (flows.loc[late & (flows["group"] == 1), "start_ps"] == 2.5e9).all()
    assert row["p99"] == 10e6


def table_as_published():
    """Return a table in which the paper's own numbers were measured."""
    tables, labels = {}, {}
    for (mix, load), marks in PUBLISHED_MARKS.items():
        increase, dilation = PUBLISHED_DILATION[mix, load]
        dilation = increase / DART_MIXES[mix]  # the table's cells are rounded
        for place, scheme in enumerate(("dcqcn", "dart")):
            point = ClosCase(scheme, mix, load).point("quick", 0)
            more = place  # 0 for DCQCN
            numbers = {
                "marked": (marks[place] / 100, ""),
                "path": (5.8 * (1 + more * dilation / 100), "links"),
                "data hops": (1e6 * (1 + more * increase / 100), ""),
            }
            tables[point.name], labels[point.name] = tidy(point.name, numbers), point.labels
    return assemble(tables, labels)


@pytest.mark.parametrize("name", ["dart.table1", "dart.table2"])
def test_the_papers_own_numbers_pass(name):
    checks = experiment(name).check(table_as_published(), "paper")
    assert checks["holds"].all(), checks[~checks["holds"]]["measured"].tolist()


def test_readings_differ_in_queue_pairs_and_in_groups():
    """Fresh: none but DASR's are shared. Kept: all are. Groups: every incast is one of so many."""
    schemes = {
        (name, reading): ClosCase(name, "typical", 0.2, reading).point("quick", 0).scenario.scheme
        for name in ("dcqcn", "dctcp", "timely", "pri-q", "iofd", "dasr", "dart")
        for reading in TRAFFIC
    }
    for (name, reading), scheme in schemes.items():
        assert scheme.is_pairwise == (TRAFFIC[reading].is_kept or name in ("dasr", "dart")), (name, reading)
    incasts = {}
    for reading, one in TRAFFIC.items():
        flows = ClosCase("dart", "typical", 0.2, reading).point("quick", 0).scenario.workload()
        short = flows[flows["group"].notna()]
        members = short.groupby("group").agg({"src": frozenset, "dst": "first"}).apply(tuple, axis=1)
        incasts[reading] = set(members)
        assert one.groups is None or len(incasts[reading]) <= one.groups
    assert incasts["fresh, 128 groups"] == incasts["kept, 128 groups"]
    assert len(incasts[FRESH]) > 500
    assert len(incasts["kept, 64 groups"]) == 64


def verdict(table, claim, reading=DEFAULT):
    """Return the verdict on a claim of table I under a reading."""
    return experiment("dart.table1").check(table, "paper", reading).set_index("id").loc[claim, "verdict"]


def test_a_claim_is_judged_by_one_reading_alone():
    table = table_as_published()
    assert verdict(table, "dart-t1-typ-40") == verdict(table, "dart-t1-typ-40", "kept") == "holds"
    assert experiment("dart.table1").readings_in(table) == []
    both = pd.concat([table, table.assign(reading=FRESH, point=table["point"] + " again", value=1.0)])
    assert verdict(both, "dart-t1-typ-40") == "holds"
    assert experiment("dart.table1").readings_in(both) == [FRESH]
    assert verdict(both, "dart-t1-typ-40", FRESH) == "does not hold"


@pytest.mark.parametrize("reading", CHANGED)
def test_where_some_runs_differ_in_a_parameter_those_take_the_place_of_the_others(reading):
    """One more cell that has another number of marks; where a reading has no runs, it judges nothing."""
    table = table_as_published()
    cell = (table["scheme"] == "dart") & (table["mix"] == "typical") & (table["load"] == 0.4)
    other = table[cell].assign(changes=CHANGED[reading], point="other", value=1.0)
    both = pd.concat([table, other])
    assert {verdict(both, f"dart-t1-typ-{load}") for load in (20, 40, 60)} == {"holds"}
    assert verdict(both, "dart-t1-typ-40", reading) == "does not hold"
    assert verdict(both, "dart-t1-typ-20", reading) == "not judged"


@pytest.mark.parametrize("quantity", ["refused", "unfinished"])
def test_one_refused_packet_or_unfinished_message_in_any_run_counts(quantity):
    """The bundled table has none, so its numbers alone do not tell a sum from a least one."""
    one, table = experiment("dart.sensitivity"), load_summary("dart.sensitivity")
    (claim,) = (each for each in one.claims if each.id == "dart-x-7a")
    assert claim.verdict(one.view(table)).holds
    row = table.index[table["quantity"] == quantity][0]
    assert not claim.verdict(one.view(table.assign(value=table["value"].mask(table.index == row, 1.0)))).holds
