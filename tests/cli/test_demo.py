"""The demo: its numbers against the analytic fair share, its table and its picture."""

import matplotlib

matplotlib.use("Agg")

import pytest

from rdmacc.cli import demo


@pytest.fixture(scope="module")
def found(engine):
    return demo.run(engine=engine, progress=False)


@pytest.fixture(scope="module")
def table(found):
    return demo.measure(found)


def test_the_incast_ends_as_the_fair_share_says(table):
    """The link is full under every scheme, so FCTs are those of processor sharing, to a few packets."""
    model = table.loc["fair share (model)"]
    for scheme in ("DCQCN", "DASR"):
        assert table.loc[scheme, "fct_p99_ps"] == pytest.approx(model["fct_p99_ps"], rel=0.02)
        assert table.loc[scheme, "slowdown_median"] == pytest.approx(model["slowdown_median"], rel=0.02)


def test_under_dasr_the_long_flow_gets_the_line_back(table):
    line = table.loc["fair share (model)", "long_after_bps"]
    assert table.loc["DASR", "long_after_bps"] >= 0.99 * line
    assert table.loc["DCQCN", "long_after_bps"] < 0.9 * line
    assert table.loc["DASR", "cnps"] == 0
    assert table.loc["DCQCN", "cnps"] > 0


def test_the_long_flow_shares_while_the_incast_lasts(table):
    share = table.loc["fair share (model)", "long_incast_bps"]
    assert 0.8 * share < table.loc["DASR", "long_incast_bps"] < 2 * share
