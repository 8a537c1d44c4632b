"""The demo: its numbers against the analytic fair share, its table and its picture."""

from __future__ import annotations

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


def test_the_table_names_every_scheme_and_has_units(table):
    text = demo.table_text(table)
    assert text.splitlines()[0].split("  ")[-1].strip() == "DASR"
    assert "fair share (model)" in text
    assert " Gb/s" in text
    assert " us" in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_same_seed_gives_the_same_numbers(found, table, engine):
    again = demo.measure(demo.run(engine=engine, seed=0, progress=False))
    assert again.equals(table)


def test_the_picture_has_rates_and_queues_of_both_schemes(found):
    figure = demo.figure(found)
    assert [ax.get_title(loc="left") for ax in figure.axes[:2]] == ["DCQCN", "DASR"]
    labels = {line.get_label() for line in figure.axes[0].get_lines()}
    assert {"long flow", "one sender of the incast", "fair share, line / 17"} <= labels
    assert "kB" in figure.axes[2].get_ylabel()


def test_the_picture_is_saved(found, tmp_path):
    path = demo.save(found, tmp_path)
    assert path.name == "rdmacc-demo.png"
    assert path.read_bytes().startswith(b"\x89PNG")
