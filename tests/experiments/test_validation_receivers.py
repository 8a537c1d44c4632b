"""The runs to compare with YAPS and csg-htsim: their flows, closed forms and tables."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest

from rdmacc.experiments import experiment
from rdmacc.experiments.validation import htsim, yaps
from rdmacc.experiments.validation.flows import flows_of, stored_flows, summary_rows
from rdmacc.sweep.tidy import scalar
from tests.experiments.quick import quick_table

pytestmark = pytest.mark.slow

YAPS, HTSIM = experiment("validation.yaps"), experiment("validation.htsim")


@pytest.fixture(scope="module")
def web_search():
    return quick_table(YAPS.name)


@pytest.fixture(scope="module")
def runs():
    return quick_table(HTSIM.name)


@pytest.mark.parametrize(
    ("name", "flows", "hosts", "total_bytes"),
    [
        ("yaps_web_search_50", 2000, 144, 3_546_218_820),
        ("htsim_web_search_50", 806, 128, 1_484_241_669),
        ("htsim_permutation", 128, 128, 128_000_000),
    ],
)
def test_flows(name, flows, hosts, total_bytes):
    work = stored_flows(name)
    assert (len(work), work["size_bytes"].sum()) == (flows, total_bytes)
    assert {*work["src"], *work["dst"]} == {f"h{i}" for i in range(hosts)}
    assert (work["src"] != work["dst"]).all()


def test_points():
    """Star and fat tree at 9,000, 4,000 and 1,500 B; the wider window on the fat tree alone."""
    assert len(HTSIM.points()) == (3 + 2) * 6 + 1
    assert len(HTSIM.points("paper")) == (3 + 2) * (5 + 8) + 8
    assert [len(YAPS.points(scale)[0].scenario.workload()) for scale in ("quick", "paper")] == [300, 2000]


@pytest.mark.parametrize("name", ["web_search", "runs"])
def test_the_claims_are_as_recorded(name, request):
    table = request.getfixturevalue(name)
    chosen = YAPS if name == "web_search" else HTSIM
    checks = chosen.check(table)
    assert checks["matches"].all(), checks["measured"].tolist()


def test_every_flow_has_its_row(web_search):
    flows, work = flows_of(web_search, yaps.WEB_SEARCH), stored_flows("yaps_web_search_50")[:300]
    assert flows["size_bytes"].tolist() == work["size_bytes"].tolist()
    for quantity, expected in (("mean", flows["value"].mean()), ("p99", np.percentile(flows["value"], 99))):
        assert scalar(web_search, yaps.WEB_SEARCH, f"FCT, {quantity}") == pytest.approx(expected)
    short = flows["value"][flows["size_bytes"] <= 10_000]
    assert scalar(web_search, yaps.WEB_SEARCH, "FCT to 10 kB, p50") == pytest.approx(short.median())


@pytest.mark.parametrize(("scheme", "packets"), [("ndp-9000", 7), ("ndp-4000", 7), ("ndp-1500", 7)])
def test_the_queue_is_full_in_an_incast(runs, scheme, packets):
    """Eight MTU in bytes hold seven packets with their headers."""
    wire = htsim.SCHEMES[scheme].wire_bytes
    assert scalar(runs, f"{scheme}, star, 32 x 1 MB", "queue, peak") == packets * wire


def test_what_is_trimmed_goes_again(runs):
    rows = summary_rows(runs)
    rows = rows[~rows["scheme"].isin(htsim.ROCE)]
    assert (rows["trimmed"] == rows["retransmissions"]).all()
    assert rows["trimmed"].min() > 0


def test_the_figures(web_search, runs):
    figure = HTSIM.plot(runs)
    assert [axis.get_title(loc="left") or axis.get_title() for axis in figure.axes] == [
        f"star, {case}" for case in htsim.INCASTS
    ]
    YAPS.plot(web_search)
