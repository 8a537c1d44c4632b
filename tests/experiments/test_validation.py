"""Runs for comparison with other simulators: their flows and options, closed forms, and the page."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdmacc.experiments import experiment, load_summary
from rdmacc.experiments.validation import references
from rdmacc.experiments.validation.flows import BINS, EACH, by_size, percentiles
from rdmacc.experiments.validation.htsim import INCASTS
from rdmacc.experiments.validation.lists import case_of, listed_runs
from rdmacc.experiments.validation.page import summary_text, validation_page
from rdmacc.experiments.validation.references import SIMULATORS, compared, inexact, is_exact, theirs
from rdmacc.experiments.validation.uet_htsim import ONE_VALUE, PERMUTATION, SEEDS, SMALL_PERMUTATION, committed
from rdmacc.sweep.tidy import tidy
from rdmacc.units import us
from tests.experiments.roce_star import Rules, completions_ps

pytestmark = pytest.mark.slow


UET = experiment("validation.uet_htsim")


def of(name, scale="paper"):
    return next(point for point in UET.points(scale) if point.name == name)


def pairs(name):
    work = of(name).scenario.workload()
    return list(zip(work["src"], work["dst"], strict=True))


def test_the_matrices_match_the_simulator():
    """As documented there: perm_1024n starts 334-395, 404-414, 135-874; 14 pairs in three words each."""
    assert pairs(f"{PERMUTATION}, nscc")[:3] == [("h334", "h395"), ("h404", "h414"), ("h135", "h874")]
    small = pairs(f"{SMALL_PERMUTATION}, nscc")
    assert sorted(one for one, _ in small) == sorted(other for _, other in small) == sorted(f"h{i}" for i in range(16))
    assert len(pairs("1,023 to 1, nscc")) == 1023
    late = of("3 to 1, rccc").scenario.workload()
    assert late["start_ps"].tolist() == [0, us(40), us(40)]
    out = pairs("outcast, nscc")
    assert len(out) == 21
    assert {to for one, to in out if one == "h3"} == {"h0", *(f"h{i}" for i in range(13, 22))}


def test_one_path_per_message_is_judged_by_the_seeds():
    """Theirs is one draw, so it must lie between the extremes of ours: neither faster nor slower than all."""
    rows = [row for row in committed().itertuples() if ONE_VALUE in row.case]
    for first, last, holds in ((0.9, 1.1, True), (1.01, 1.4, False), (0.7, 0.99, False)):
        parts = []
        for row in rows:
            names = [f"{row.case}, {row.scheme}", *(f"{row.case}, {row.scheme}, seed {i}" for i in range(1, SEEDS))]
            times = np.linspace(first, last, SEEDS) * row.last_us * 1e6
            parts += [tidy(name, {"last FCT": (time, "ps")}) for name, time in zip(names, times, strict=True)]
        claim = next(one for one in UET.claims if one.id == "validation-uet-4b")
        assert claim.band.holds(claim.measure(pd.concat(parts, ignore_index=True))) is holds


def test_lists_are_read_from_a_checkout(tmp_path):
    """A run is named by its options; its flows are ours, different ones, or refused."""
    texts = {"one": "0->13 start 0 size 2000000", "bidir": "0->13 start 0 size 1", "test_cr_1f10m1p": "0->1 id 1 msg"}
    out = ""
    for name, flow in texts.items():
        (tmp_path / f"{name}.cm").write_text(f"Nodes 16\nConnections 1\n{flow}\n")
        out += f"Running ./htsim_uec -tm {name}.cm -receiver_cc_only -load_balancing_algo mixed\n"
        out += "[PASS] FCT 15 us for flow  Uec_1_0 which is below the target of 21 us\n" if name == "one" else ""
        out += "[PASS] Tail FCT 17.5 us below the target of 18 us\n[PASS] Connection count 1\n"
        out += "FCT Spread 16.5 -> 17.5 ratio 1\nSummary: New: 10 Rtx: 2 RTS: 0 Bounced: 0 ACKs: 4 NACKs: 0\n"
    (tmp_path / "validate_outputs").mkdir()
    for name in ("uec_a", "uec_b"):
        (tmp_path / "validate_outputs" / f"validate_{name}.out").write_text(out)
    found = listed_runs(tmp_path).set_index("case")
    assert found["read"].tolist() == ["same", "same", "others", "msg"]
    assert found.loc["1 to 1"].tolist() == [
        "rccc", "17.5", "18", "16.5", "2", "4", "same", "uec_b, uec_a",
    ]  # fmt: skip
    assert found["bound_us"].tolist() == ["18", "21", "18", "18"]
    named = case_of("perm_16n_16c_2MB.cm", "-failed 8 -load_balancing_algo reps -sack_threshold 4000 -q 500 -paths 1")
    assert named == "permutation of 16, 8 slow, reps, ACK each, 500 packets, one value"


PAGE = Path(__file__).parents[2] / "docs" / "validation.md"


@pytest.mark.slow
def test_the_page_agrees_with_the_tables():
    page = validation_page()
    assert page == PAGE.read_text(encoding="utf-8"), "`python -m rdmacc.experiments.ledger` writes it"
    assert summary_text() in page


@pytest.mark.parametrize("name", SIMULATORS)
def test_every_flow_of_theirs_matches_one_of_ours(name):
    points = {point.name: point.scenario for point in experiment(f"validation.{name}").points("paper")}
    for point, rows in theirs(name).groupby("point"):
        work = points[point].workload()
        assert rows["flow"].tolist() == list(range(len(work)))
        assert (rows["fct_ps"] > 0).all()


def table_of(*times_ps):
    rows = {"point": "roce-9000, star, two flows", "quantity": EACH, "value": times_ps, "flow": [0.0, 1.0]}
    return pd.DataFrame(rows | {"size_bytes": [25e6, 12.5e6]})


def test_ratios_and_exact_flows():
    first, second = theirs("htsim").query("point == 'roce-9000, star, two flows'")["fct_ps"]
    same = compared(table_of(float(first), 1.1 * second), "htsim").iloc[0]
    assert (same["flows"], same["exact"], same["runs"]) == (2, 1, 1)
    assert same["mean"] == pytest.approx((first + 1.1 * second) / (first + second))
    assert same["largest"] == pytest.approx(0.1)
    assert same["typical"] == pytest.approx(0.05)
    twice = table_of(2.0 * first, 2.0 * second)
    assert references.by_size(twice, "htsim") == {"above": pytest.approx({"mean": 2.0, "p50": 2.0, "p99": 2.0})}
    assert inexact(twice, "htsim") == {"roce-9000, star, two flows": 2}


def test_seeds_are_compared_by_their_means():
    table = load_summary("validation.hpcc_ns3")
    one = compared(table[~table["point"].str.contains("seed")], "hpcc_ns3", "dcqcn, permutation").iloc[0]
    ten = compared(table, "hpcc_ns3", "dcqcn, permutation").iloc[0]
    assert (one["runs"], ten["runs"]) == (1, 10)
    assert one["exact"] == ten["exact"]
    assert one["mean"] != ten["mean"]


def test_exact_means_to_the_last_printed_digit():
    """csg-htsim prints six digits of microseconds."""
    theirs_ps = pd.Series([2_603_570_000, 2_603_570_000, 648_016_000])
    ours_ps = pd.Series([2_603_565_440, 2_603_564_000, 648_016_400])
    assert is_exact(ours_ps, theirs_ps, "htsim").tolist() == [True, False, True]
    assert is_exact(ours_ps, theirs_ps, "yaps").tolist() == [False, False, False]


@pytest.mark.parametrize("case", ["8 x 1 MB", "32 x 200 kB", "32 x 1 MB"])
def test_four_rules_of_htsim_explain_the_difference_of_roce_incasts(case):
    there = theirs("htsim").query("point == 'roce-9000, star, " + case + "'").sort_values("flow")["fct_ps"]
    for rules, exact in {
        Rules(): len(there),
        Rules(pauses_at_once=False): {"8 x 1 MB": 1, "32 x 200 kB": 5, "32 x 1 MB": 0}[case],
        Rules(orders_by_head=False): {"8 x 1 MB": 1, "32 x 200 kB": 1, "32 x 1 MB": 0}[case],
        Rules(frees_at_end=False): {"8 x 1 MB": 1, "32 x 200 kB": 0, "32 x 1 MB": 1}[case],
        Rules(has_pipeline=False): {"8 x 1 MB": 1, "32 x 200 kB": 0, "32 x 1 MB": 1}[case],
    }.items():
        found = pd.Series(completions_ps(*INCASTS[case], rules), index=there.index)
        assert is_exact(found, there, "htsim").sum() == exact, rules


def test_percentiles_by_size_exclude_unfinished_messages():
    assert percentiles("x", [1.0, 3.0, np.nan])["x, mean"] == (2.0, "ps")
    found = by_size("x", [5.0, 7.0, 9.0], [10_000, 10_001, 10**9], "")
    assert [found[f"x {name}, p50"][0] for name in ("to 10 kB", "to 100 kB", "above")] == [5.0, 7.0, 9.0]
    assert np.isnan(found["x to 1 MB, mean"][0])
    assert len(found) == 4 * len(BINS)
