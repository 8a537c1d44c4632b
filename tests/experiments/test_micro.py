"""Micro-benchmarks: measurements on results with a known outcome, and the page of small multiples."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import pytest

import rdmacc
from rdmacc.experiments import experiment
from rdmacc.experiments.micro.senders import SENDERS, jain
from rdmacc.sweep.tidy import assemble, scalar, wide
from tests.experiments.quick import quick_table

EXPERIMENT = experiment("micro.senders")


def run(name, engine, points):
    """Return the table of one scheme's points."""
    chosen = [point for point in points if point.labels["scheme"] == name]
    simulate = rdmacc.simulate

    def simulated(s):
        return simulate(
            s.make_network(),
            s.messages(),
            s.scheme,
            engine=engine,
            seed=s.seed,
            until=s.until,
            probes=s.probes,
            progress=False,
        )

    tables = {point.name: EXPERIMENT.execute(point, simulated) for point in chosen}
    return assemble(tables, {point.name: point.labels for point in chosen})


def test_jains_index():
    assert jain([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert jain([1.0, 0.0, 0.0, 0.0]) == 0.25


def test_every_scheme_has_every_case():
    for scale, incasts in (("quick", (8, 32)), ("paper", (8, 32, 256, 1000))):
        points = EXPERIMENT.points(scale)
        assert len(points) == len(SENDERS) * (4 + len(incasts))
        assert len({point.name for point in points}) == len(points)
    assert set(SENDERS) <= set(rdmacc.SCHEMES)


@pytest.fixture(scope="module")
def table():
    """Return the whole table, by the compiled engine."""
    return quick_table(EXPERIMENT.name)


@pytest.mark.slow
def test_rcp_shares_equally_and_line_rate_fills_the_buffer(table):
    """RCP gives all flows of a link one rate; without control PFC bounds the queue, and nothing is lost."""
    rows = wide(table)
    assert rows.loc["rcp, convergence of 4", "Jain's index"] > 0.99
    assert rows.loc["rcp, RTT fairness of 2", "near over far"] == pytest.approx(1.0, abs=0.02)
    assert rows.loc["line-rate, convergence of 4", "PFC pauses"] > 0
    assert rows.loc["line-rate, incast of 32", "queue, peak"] > rows.loc["hpcc, incast of 32", "queue, peak"]
    assert rows.loc["line-rate, incast of 32", "FCT, p99 over the link's"] == pytest.approx(1.0, abs=0.01)


@pytest.mark.slow
def test_the_claims_hold(table):
    checks = EXPERIMENT.check(table)
    assert checks["holds"].all(), checks["measured"].tolist()


@pytest.mark.slow
def test_the_page_has_a_row_for_each_scheme(table):
    figure = EXPERIMENT.plot(table)
    labels = [axis.get_ylabel() for axis in figure.axes if axis.get_ylabel()]
    assert labels == list(SENDERS)


def test_engines_measure_the_same():
    """For one scheme, to the last digit."""
    points = [point for point in EXPERIMENT.points() if point.labels["kind"] == "incast"]
    one, other = (run("dcqcn", engine, points) for engine in ("simpy", "compiled"))
    assert one.equals(other)
    assert scalar(one, "dcqcn, incast of 8", "drops") == 0
