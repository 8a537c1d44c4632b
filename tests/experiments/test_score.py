"""The score, the pages and the map of readings agree with the ledger."""

from dataclasses import replace
from pathlib import Path

import pytest

from rdmacc.experiments import load_summary
from rdmacc.experiments.framework.bands import AtLeast
from rdmacc.experiments.framework.claim import PAPER, Chosen, Kind, Outcome
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, read_texts
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger import history, papers
from rdmacc.experiments.ledger.papers import page_of, papers_page, sample_page, with_score
from rdmacc.experiments.ledger.score import COLUMNS, by_reading, score, score_text
from tests.support import refused

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
README = (ROOT / "README.md").read_text()
HOW = "`python -m rdmacc.experiments.ledger` writes it"


def test_the_readme_has_the_score_and_the_number_of_current_tables():
    assert with_score(README) == README, HOW
    assert score_text() in README


def test_the_page_on_the_papers_agrees_with_the_ledger():
    assert papers_page() == (ROOT / "docs" / "papers.md").read_text(), HOW
    for paper in PAPERS:
        assert page_of(paper) == (ROOT / "docs" / "papers" / f"{paper}.md").read_text(), HOW


def test_the_sample_of_bands_is_current():
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


@pytest.mark.parametrize("paper", [name for name in PAPERS if (ROOT / "experiments" / name / "causes.toml").exists()])
def test_every_miss_has_one_cause_with_a_figure(monkeypatch, paper):
    causes = read_texts(ROOT / "experiments" / paper / "causes.toml")["cause"]
    named = [id_ for one in causes for id_ in one["claims"]]
    assert len(named) == len(set(named))
    assert set(named) <= claims_of(paper).keys()
    assert all(load_summary(one["figure"]) is not None for one in causes)
    monkeypatch.setattr(papers, "read_texts", lambda path: {"cause": causes[1:]})
    refused(lambda: page_of(paper), "causes.toml")


def test_a_band_counts_as_chosen_in_sight_unless_history_or_text_says_otherwise(monkeypatch):
    claim = replace(claims_of("igbn")["igbn-f6a-1"], chosen=None)
    was = {"since": "2026-11-21T10:00", "numbers": history.numbers_of(claim), "table": "2026-11-21T12:00"}
    monkeypatch.setattr(history, "_recorded", lambda paper: {"claims": {claim.id: was}})
    assert history.chosen(claim, "igbn") == Chosen.BEFORE
    assert history.chosen(replace(claim, band=AtLeast(0.123)), "igbn") == Chosen.IN_SIGHT
    assert history.chosen(replace(claim, chosen=Chosen.BY_TEXT), "igbn") == Chosen.BY_TEXT
    assert history.chosen(replace(claim, id="igbn-new"), "igbn") == Chosen.IN_SIGHT
    was["since"] = "2026-11-21T13:00"
    assert history.chosen(claim, "igbn") == Chosen.IN_SIGHT
