"""Receiver-driven schemes: the runs to compare with their simulators, and the stage that all share."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import networkx as nx
import numpy as np
import pytest

import rdmacc
from rdmacc.experiments import experiment
from rdmacc.experiments.micro.receivers import RECEIVERS
from rdmacc.experiments.validation.flows import BINS, by_size, percentiles, stored_flows
from rdmacc.experiments.validation.joining import TEN, TWO, fat_tree
from rdmacc.sweep.tidy import wide
from tests.experiments.quick import quick_table

pytestmark = pytest.mark.slow

NAMES = ("validation.expresspass_ns2", "validation.homa_ns3", "micro.receivers")


@pytest.fixture(scope="module", params=NAMES)
def run(request):
    """Return an experiment, and its quick table by the compiled engine."""
    chosen = experiment(request.param)
    return chosen, quick_table(request.param)


def test_verdicts_are_the_expected_ones(run):
    chosen, table = run
    checks = chosen.check(table)
    assert checks["matches"].all(), checks[["id", "measured"]].to_dict("records")


def test_every_flow_is_in_the_table(run):
    chosen, table = run
    rows = wide(table)
    for point in chosen.points():
        if point.labels["case"] not in (TWO, TEN):
            fct = rows.loc[point.name].filter(regex=r"^FCT of flow").dropna()
            assert len(fct) == len(point.scenario.messages())
            assert rows.loc[point.name, "FCT, mean"] == pytest.approx(fct.mean())


def test_the_figure(run):
    chosen, table = run
    figure = chosen.plot(table)
    assert figure.axes


def test_no_link_carries_more_than_its_rate(run):
    rows = wide(run[1])
    assert rows["goodput"].gt(0).all()
    assert (rows["goodput"] < np.where(rows.get("rate", "100G") == "10G", 10e9, 100e9)).all()


def test_the_fat_tree_has_the_links_of_the_stored_paths():
    graph = fat_tree()
    for load in (30, 60):
        flows = stored_flows(f"expresspass_ns2_web_search_{load}")
        assert len(flows) == 3000
        for there, back in zip(flows["path"], flows["ack_path"], strict=True):
            assert nx.is_path(graph, there.split())
            assert back.split() == there.split()[::-1]


@pytest.mark.parametrize(("trace", "count"), [("50_0", 673), ("50_1", 2716), ("80_0", 1070), ("80_1", 3241)])
def test_w5_is_in_whole_packets_between_known_hosts(trace, count):
    flows = stored_flows(f"homa_ns3_w5_{trace}")
    assert len(flows) == count
    assert (flows["size_bytes"] % 1460 == 0).all()
    assert {*flows["src"], *flows["dst"]} <= {f"h{i}" for i in range(144)}


@pytest.mark.parametrize("name", NAMES)
def test_points_of_both_scales(name):
    quick, paper = ({p.name for p in experiment(name).points(scale)} for scale in ("quick", "paper"))
    assert quick <= paper
    assert set(RECEIVERS) <= set(rdmacc.SCHEMES)


def test_percentiles_by_size_exclude_unfinished_messages():
    assert percentiles("x", [1.0, 3.0, np.nan])["x, mean"] == (2.0, "ps")
    found = by_size("x", [5.0, 7.0, 9.0], [10_000, 10_001, 10**9], "")
    assert [found[f"x {name}, p50"][0] for name in ("to 10 kB", "to 100 kB", "above")] == [5.0, 7.0, 9.0]
    assert np.isnan(found["x to 1 MB, mean"][0])
    assert len(found) == 4 * len(BINS)
