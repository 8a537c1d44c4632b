"""The README's score is the ledger's, and every claim counts once, under each reading."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS, Outcome, load_summary
from rdmacc.experiments.framework.bands import AtLeast, Each, Rises
from rdmacc.experiments.framework.claim import OURS, PAPER, Chosen, Kind
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, read_texts, readings_of
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger import history, papers
from rdmacc.experiments.ledger import score as scores
from rdmacc.experiments.ledger.papers import page_of, papers_page, sample_page, with_score
from rdmacc.experiments.ledger.quotes import missing
from rdmacc.experiments.ledger.record import recorded
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


@pytest.mark.parametrize("paper", PAPERS)
def test_every_miss_has_one_cause_with_a_figure(monkeypatch, paper):
    causes = read_texts(ROOT / "experiments" / paper / "causes.toml")["cause"]
    named = [id_ for one in causes for id_ in one["claims"]]
    assert len(named) == len(set(named))
    assert set(named) <= claims_of(paper).keys()
    assert all(load_summary(one["figure"]) is not None for one in causes)
    monkeypatch.setattr(papers, "read_texts", lambda path: {"cause": causes[1:]})
    with pytest.raises(ConfigError, match=r"causes\.toml"):
        page_of(paper)


@pytest.mark.parametrize("paper", PAPERS)
def test_a_claim_quotes_the_paper(paper):
    """`python -m rdmacc.experiments.ledger quotes FOLDER` looks for the quotes in the papers' texts."""
    own = [claim for claim in claims_of(paper).values() if claim.by == PAPER]
    assert not {claim.id: claim.quote for claim in own if not 3 <= len(claim.quote.split()) <= 42}
    assert not [claim.id for claim in claims_of(paper).values() if claim.by == OURS and claim.quote]


def test_quotes_are_found_whatever_the_spaces_and_hyphens(monkeypatch, tmp_path):
    (tmp_path / "a.txt").write_text(
        "Flows start at the line\nrate (i.e., there is no slow-\nstart). The ﬁrst one waits."
    )
    quotes = {
        "a-1": "start at the line rate", "a-2": "no slow start", "a-3": "Flows start ... The first one",
        "a-4": "start at a line rate", "a-5": "Flows start ... at once",
    }  # fmt: skip
    claims = [SimpleNamespace(id=id_, by=PAPER, quote=quote) for id_, quote in quotes.items()]
    monkeypatch.setattr("rdmacc.experiments.ledger.quotes.PAPERS", {"a": "A"})
    monkeypatch.setattr("rdmacc.experiments.ledger.quotes.select", lambda name: [SimpleNamespace(claims=claims)])
    assert [one.partition(":")[0] for one in missing(tmp_path)] == ["a-4", "a-5"]
    with pytest.raises(ConfigError, match="texts"):
        missing(tmp_path / "none")


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
    assert then["claims"][claim.id]["since"] == then["claims"][claim.id]["table"]  # the table was there first
    for one in then["claims"].values():
        one["since"] = "2020"
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
