"""The README's score is the ledger's, and every claim counts once, under each reading."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rdmacc.experiments import EXPERIMENTS, Outcome
from rdmacc.experiments.framework.claim import By
from rdmacc.experiments.framework.reading import DEFAULT, readings_of
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger import score as scores
from rdmacc.experiments.ledger.papers import papers_page, with_score
from rdmacc.experiments.ledger.record import recorded
from rdmacc.experiments.ledger.score import PAPERS, by_reading, readings_text, score, score_text, standing_text

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
HOW = "`python -m rdmacc.experiments.ledger` writes it"


def test_the_readme_has_the_score_and_says_how_many_tables_stand():
    assert with_score(README) == README, HOW
    assert README.index(score_text()) < README.index("## Start")


def test_the_page_on_the_papers_is_what_the_ledger_says():
    assert papers_page() == (ROOT / "docs" / "papers.md").read_text(), HOW


def test_every_claim_counts_once_with_the_recorded_verdict():
    table = score()
    claims = {
        claim.id: claim for name, one in EXPERIMENTS.items() for claim in one.claims if name.split(".")[0] in PAPERS
    }
    found = {id_: row for paper in PAPERS for id_, row in by_reading(paper).to_dict("index").items()}
    assert found.keys() == claims.keys()
    assert {id_: row[DEFAULT] for id_, row in found.items()} == {
        id_: claim.expectation("paper").value for id_, claim in claims.items()
    }
    assert int(table["claims"].sum()) == len(claims)
    assert (table[[outcome.value for outcome in Outcome]].sum(axis=1) == table["claims"]).all()
    ours = sum(claim.by == By.OURS for claim in claims.values())
    assert int(table.loc[table.index.str.endswith("checks we added"), "claims"].sum()) == ours


@pytest.mark.slow
def test_a_reading_counts_where_a_table_has_rows_of_it_and_the_default_elsewhere():
    text = readings_text()
    for paper, name in PAPERS.items():
        found = by_reading(paper)
        for _, reading in readings_of(paper):
            judged = found[reading.name] != ""
            assert (f"| {name}: {reading.name} |" in text) == judged.any()
            expected = found[reading.name].where(judged, found[DEFAULT])[found["by"] == By.PAPER.value]
            row = score(reading.name).loc[f"{name}: the paper's claims"]
            assert row["holds"] == (expected == "holds").sum()


def test_tables_that_do_not_stand_are_named(monkeypatch):
    lines = {"dart.fig1": {"made": {"quick": "a"}, "now": {"quick": "b"}}, "dart.fig2": {"made": None, "now": {}}}
    fine = {"made": {"quick": "a"}, "now": {"quick": "a"}}
    monkeypatch.setattr(scores, "recorded", lambda name: lines.get(name, fine))
    text = standing_text()
    total = len(scores.standing())
    assert text.startswith(f"{total - 2} of the {total} tables stand")
    assert "Stale, to be computed again: dart.fig1." in text
    assert "Not known, computed before we kept digests of behaviour: dart.fig2." in text
    assert standing_text(is_short=True).endswith("digests of behaviour: 1.")
    assert scores.words_of("dart.fig1").startswith("stale")
    assert scores.words_of("dart.fig3").startswith("stands")


NUMBER = re.compile(r"(?<![\w.-])(\d+(?:\.\d+)?)(?: ?%| percent| times)")


def numbers_of(names):
    """Return the numbers that a text on figures may contain: measured by claims, in several forms, or published."""
    texts, values = [], []
    for name in names:
        for claim in EXPERIMENTS[name].claims:
            texts += [claim.published, claim.condition, claim.quantity, claim.why, claim.band_words()]
        for claims in recorded(name)["claims"].values():
            texts += [one["measured"] for one in claims.values()]
            values += [value for one in claims.values() for value in one["numbers"].values() if value is not None]
    forms = {f"{abs(x):.{d}f}" for v in values for x in (v, 100 * v, 100 * (1 - v)) for d in (0, 1)}
    return forms.union(*(re.findall(r"\d+(?:\.\d+)?", text) for text in texts))


@pytest.mark.parametrize("paper", PAPERS)
def test_percentages_in_a_notebooks_text_are_those_of_the_figures_that_its_section_draws(paper):
    cells = json.loads((ROOT / "notebooks" / f"{paper}.ipynb").read_text())["cells"]
    sections = [[]]
    for cell in cells:
        text = "".join(cell["source"])
        sections += [[]] if cell["cell_type"] == "markdown" and text.startswith("## ") else []
        sections[-1].append((cell["cell_type"], text))
    for section in sections:
        code = "\n".join(text for kind, text in section if kind == "code")
        names = [f"{paper}.{name}" for name in re.findall(r'"([^"]+)"', " ".join(re.findall(r"\(([^()]*)\)", code)))]
        drawn = [name for name in names if name in EXPERIMENTS] or [one.name for one in select(paper)]
        said = {number for kind, text in section if kind == "markdown" for number in NUMBER.findall(text)}
        assert said <= numbers_of(drawn), (section[0][1][:60], said - numbers_of(drawn))
