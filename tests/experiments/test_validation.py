"""The runs to compare with the HPCC simulator, against closed forms and the steady state."""

from __future__ import annotations

import pickle

import matplotlib

matplotlib.use("Agg")

import pytest

from rdmacc import preset
from rdmacc.experiments import experiment
from rdmacc.experiments.validation.flows import flows_of, summary_rows
from rdmacc.experiments.validation.hpcc_ns3 import CASES, PERMUTATION, SCHEMES, TRACE_SCHEMES
from rdmacc.models.hpcc import HpccSteady
from rdmacc.sweep.tidy import scalar
from rdmacc.units import ns
from tests.experiments.quick import quick_table

pytestmark = pytest.mark.slow

EXPERIMENT = experiment("validation.hpcc_ns3")


@pytest.fixture(scope="module")
def table():
    return quick_table(EXPERIMENT.name)


def test_points_are_the_schemes_and_cases_and_carry_their_seeds():
    points = EXPERIMENT.points()
    stars, trees = [(s, c) for s in SCHEMES for c in CASES], [(s, PERMUTATION) for s in TRACE_SCHEMES]
    assert [(point.labels["scheme"], point.labels["case"]) for point in points] == stars + trees
    assert len(EXPERIMENT.points("paper")) == (2 * 10 + 3) * len(CASES) + (10 + 3) + 4
    assert pickle.loads(pickle.dumps(points[0])).name == points[0].name
    for point in points:
        assert point.scenario.scheme == preset("hpcc-ns3")[point.labels["scheme"]]


def test_the_claims_are_as_recorded(table):
    checks = EXPERIMENT.check(table)
    assert checks["matches"].all(), checks["measured"].tolist()


def test_dctcp_keeps_the_link_busy(table):
    """Eight times 200 kB or 1 MB: packets one after another at 83 ns, one more hop, four links, two ACKs of 4 ns."""
    for case, packets in (("8 x 200 kB", 1_600), ("8 x 1 MB", 8_000)):
        last = flows_of(table, f"dctcp, {case}")["value"].max()
        assert last == ns(83 * (packets + 1) + 4 * 1000 + 2 * 4)


def test_hpcc_uses_what_its_steady_state_says(table):
    """Both flows together: 37.5 MB at eta of the link and the additive steps, in packets of 1,090 bytes."""
    model = HpccSteady(flows=2, rtt_ps=ns(4160), additive_bytes=21).steady_state()  # 40 Mb/s in 4.16 us
    busy_ps = 37_500 * 1090 * 80 / model["utilisation"]
    assert flows_of(table, "hpcc, two flows")["value"][0] == pytest.approx(busy_ps, rel=0.01)
    assert scalar(table, "hpcc, two flows", "queue, mean") < 1090


def test_long_queues_pause(table):
    rows = summary_rows(table)
    paused = rows.loc[rows["PFC pauses"] > 0].index.tolist()
    assert paused == ["dcqcn-paper, 32 x 1 MB", "timely, 8 x 10 MB", "timely, 32 x 1 MB"]


def test_the_figure(table):
    figure = EXPERIMENT.plot(table)
    assert [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes[: len(CASES)]] == list(CASES)
