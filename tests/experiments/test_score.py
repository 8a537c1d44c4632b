"""The score, the pages and the map of readings are what the ledger says."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from rdmacc.errors import ConfigError
from rdmacc.experiments import load_summary
from rdmacc.experiments.framework.bands import AtLeast, Each, Rises
from rdmacc.experiments.framework.claim import PAPER, Chosen, Kind, Outcome
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, read_texts, readings_of
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger import history, papers, reading_map
from rdmacc.experiments.ledger import score as scores
from rdmacc.experiments.ledger.papers import page_of, papers_page, sample_page, with_score
from rdmacc.experiments.ledger.reading_map import draw_map, hanging, readings_judged
from rdmacc.experiments.ledger.score import (
    COLUMNS,
    by_reading,
    readings_text,
    score,
    score_text,
    standing_text,
    under_each,
)

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
README = (ROOT / "README.md").read_text()
HOW = "`python -m rdmacc.experiments.ledger` writes it"


def test_the_readme_has_the_score_and_says_how_many_tables_stand():
    assert with_score(README) == README, HOW
    assert score_text() in README


def test_the_page_on_the_papers_is_what_the_ledger_says():
    assert papers_page() == (ROOT / "docs" / "papers.md").read_text(), HOW
    for paper in PAPERS:
        assert page_of(paper) == (ROOT / "docs" / "papers" / f"{paper}.md").read_text(), HOW


def test_the_sample_of_bands_has_todays():
    page = (ROOT / "docs" / "papers" / "sample.md").read_text()
    assert sample_page(page) == page, HOW
    assert sample_page(page.replace("at least 5x for every scheme", "at least 2x")) == page
    assert page.count("\n| [") == 60


def claims_of(paper):
    return {claim.id: claim for one in select(paper) for claim in one.claims}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_counts_once_with_the_recorded_verdict(paper):
    claims, found, row = claims_of(paper), by_reading(paper), score().loc[PAPERS[paper].name]
    assert list(found.index) == list(claims)
    for id_, verdict in found[DEFAULT].items():
        assert verdict in (claims[id_].expectation("paper").value, Outcome.UNDECIDED.value)
    own = [claim for claim in claims.values() if claim.by == PAPER]
    assert row["claims"] == len(own) == row[["hold", *COLUMNS[6:]]].sum()
    assert row["identities"] == sum(claim.kind == Kind.IDENTITY for claim in own)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_reading_counts_where_a_table_can_judge_it_and_the_default_elsewhere(paper):
    found, row = under_each(paper), score().loc[PAPERS[paper].name]
    every = by_reading(paper).loc[found.index]
    for name in found:
        is_judged = ~every[name].isin(["", "not judged"])
        assert (found[name] == every[name].where(is_judged, every[DEFAULT])).all()
        assert f"| {PAPERS[paper].name}: {name} |" in readings_text()
    against = {one.name for _, one in readings_of(paper) if one.against}
    holds = found.drop(columns=against & set(found)) == "holds"
    assert [row["least"], row["most"]] == [holds.sum().min(), holds.sum().max()]
    assert row["under all"] == holds.all(axis=1).sum() <= row["least"] <= row["hold"] <= row["most"]


@pytest.mark.parametrize("paper", [name for name in PAPERS if (ROOT / "experiments" / name / "causes.toml").exists()])
def test_every_miss_has_one_cause_with_a_figure(monkeypatch, paper):
    causes = read_texts(ROOT / "experiments" / paper / "causes.toml")["cause"]
    named = [id_ for one in causes for id_ in one["claims"]]
    assert len(named) == len(set(named))
    assert set(named) <= claims_of(paper).keys()
    assert all(load_summary(one["figure"]) is not None for one in causes)
    monkeypatch.setattr(papers, "read_texts", lambda path: {"cause": causes[1:]})
    with pytest.raises(ConfigError, match=r"causes\.toml"):
        page_of(paper)


def test_a_band_is_chosen_in_sight_unless_the_history_or_the_text_says_otherwise(monkeypatch):
    claim = replace(claims_of("igbn")["igbn-f6a-1"], chosen=None)
    was = {"since": "2026-11-21T10:00", "numbers": history.numbers_of(claim), "table": "2026-11-21T12:00"}
    monkeypatch.setattr(history, "_recorded", lambda paper: {"claims": {claim.id: was}})
    assert history.chosen(claim, "igbn") == Chosen.BEFORE
    assert history.chosen(replace(claim, band=AtLeast(0.123)), "igbn") == Chosen.IN_SIGHT
    assert history.chosen(replace(claim, chosen=Chosen.BY_TEXT), "igbn") == Chosen.BY_TEXT
    assert history.chosen(replace(claim, id="igbn-new"), "igbn") == Chosen.IN_SIGHT
    was["since"] = "2026-11-21T13:00"
    assert history.chosen(claim, "igbn") == Chosen.IN_SIGHT


def test_a_date_stays_until_the_numbers_of_the_band_change(monkeypatch, tmp_path):
    claim = claims_of("igbn")["igbn-f6a-1"]
    monkeypatch.setattr(history, "PAPERS", {"igbn": replace(PAPERS["igbn"], folder=tmp_path)})
    history._recorded.cache_clear()
    history.write()
    then = json.loads((tmp_path / "data" / "history.json").read_text())
    assert claim.id not in then["claims"], "a claim that is new in a figure with results has no date"
    then["claims"] = {
        name: {"numbers": history.numbers_of(one), "since": "2020", "table": "2021"}
        for name, one in claims_of("igbn").items()
    }
    then["claims"][claim.id]["numbers"] = ["1"]
    (tmp_path / "data" / "history.json").write_text(json.dumps(then))
    history._recorded.cache_clear()
    history.write()
    now = json.loads((tmp_path / "data" / "history.json").read_text())["claims"]
    history._recorded.cache_clear()
    assert {name for name, one in now.items() if one["since"] != "2020"} == {claim.id}
    assert history.numbers_of(replace(claim, band=Each(AtLeast(0.5)), direction=Rises(slack=0.25))) == [
        "0.25", "0.5", "inf",
    ]  # fmt: skip


def test_tables_that_do_not_stand_are_named(monkeypatch):
    lines = {"dart.fig1": {"made": {"quick": "a"}, "now": {"quick": "b"}}, "dart.fig2": {"made": None, "now": {}}}
    fine = {"made": {"quick": "a"}, "now": {"quick": "a"}}
    monkeypatch.setattr(scores, "recorded", lambda name: lines.get(name, fine))
    text = standing_text()
    total = len(scores.standing())
    assert text.startswith(f"{total - 2} of the {total} tables are current")
    assert "Stale, to be computed again: dart.fig1." in text
    assert "Not known, computed before we kept digests of behaviour: dart.fig2." in text
    assert standing_text(is_short=True).endswith("digests of behaviour: 1.")
    assert scores.words_of("dart.fig1").startswith("stale")
    assert scores.words_of("dart.fig3").startswith("current")


@pytest.mark.parametrize("paper", PAPERS)
def test_rows_are_the_claims_whose_verdict_differs(paper):
    verdicts, every = hanging(paper), by_reading(paper)
    assert not verdicts.empty or verdicts.columns.tolist() == ["default"]  # a paper without readings
    for id_, row in verdicts.iterrows():
        assert row.tolist() == every.loc[id_, verdicts.columns].tolist()
        assert len(set(row) - {"", Outcome.NOT_JUDGED.value}) > 1
    for _, row in readings_judged(paper).drop(index=verdicts.index).iterrows():
        assert len(set(row) - {"", Outcome.NOT_JUDGED.value}) <= 1


@pytest.mark.parametrize("paper", PAPERS)
def test_a_cell_for_each_verdict(paper):
    figure = draw_map(paper)
    (ax,) = figure.axes
    cells = [one for one in ax.patches if isinstance(one, Rectangle)]
    assert len(cells) == (hanging(paper) != "").to_numpy().sum()
    for id_, label in zip(hanging(paper).index, ax.get_yticklabels(), strict=True):
        assert label.get_text().endswith(id_)


def test_a_reading_that_only_leaves_claims_unjudged_decides_nothing(monkeypatch):
    ids = ["igbn-f6a-1", "igbn-f6a-2", "igbn-f6a-3"]
    frame = pd.DataFrame("", index=ids, columns=[DEFAULT, *(one.name for _, one in readings_of("igbn"))])
    frame[DEFAULT], frame["first packet"] = "holds", ["not judged", "does not hold", ""]
    monkeypatch.setattr(reading_map, "by_reading", lambda paper: frame)
    assert list(readings_judged("igbn").index) == ["igbn-f6a-1", "igbn-f6a-2"]
    assert list(hanging("igbn").index) == ["igbn-f6a-2"]
