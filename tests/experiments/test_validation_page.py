"""The page on validation agrees with the tables, and every number of the other simulators belongs to a flow of ours."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rdmacc.experiments import experiment, load_summary
from rdmacc.experiments.validation.flows import EACH
from rdmacc.experiments.validation.htsim import INCASTS
from rdmacc.experiments.validation.page import summary_text, validation_page
from rdmacc.experiments.validation.references import SIMULATORS, by_size, compared, inexact, is_exact, theirs
from rdmacc.experiments.validation.roce_star import Rules, completions_ps

PAGE = Path(__file__).parents[2] / "docs" / "validation.md"


@pytest.mark.slow
def test_the_page_is_what_the_tables_say():
    page = validation_page()
    assert page == PAGE.read_text(encoding="utf-8"), "`python -m rdmacc.experiments.ledger` writes it"
    assert summary_text() in page


@pytest.mark.parametrize("name", SIMULATORS)
def test_every_flow_of_theirs_is_one_of_ours(name):
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
    assert by_size(twice, "htsim") == {"above": pytest.approx({"mean": 2.0, "p50": 2.0, "p99": 2.0})}
    assert inexact(twice, "htsim") == {"roce-9000, star, two flows": 2}


def test_seeds_are_compared_by_their_means():
    table = load_summary("validation.hpcc_ns3")
    one = compared(table[~table["point"].str.contains("seed")], "hpcc_ns3", "dcqcn, permutation").iloc[0]
    ten = compared(table, "hpcc_ns3", "dcqcn, permutation").iloc[0]
    assert (one["runs"], ten["runs"]) == (1, 10)
    assert one["exact"] == ten["exact"]
    assert one["mean"] != ten["mean"]


def test_exact_is_to_the_last_digit_that_is_printed():
    """csg-htsim prints six digits of microseconds."""
    theirs_ps = pd.Series([2_603_570_000, 2_603_570_000, 648_016_000])
    ours_ps = pd.Series([2_603_565_440, 2_603_564_000, 648_016_400])
    assert is_exact(ours_ps, theirs_ps, "htsim").tolist() == [True, False, True]
    assert is_exact(ours_ps, theirs_ps, "yaps").tolist() == [False, False, False]


@pytest.mark.parametrize("case", ["8 x 1 MB", "32 x 200 kB", "32 x 1 MB"])
def test_four_rules_of_htsim_are_why_incasts_under_roce_differ(case):
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
