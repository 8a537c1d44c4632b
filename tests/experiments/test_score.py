"""The README's score is that of the stored tables."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from rdmacc.experiments import EXPERIMENTS, Outcome
from rdmacc.experiments import score as scores
from rdmacc.experiments.score import PAPERS, score, score_text, stored_checks

README = (Path(__file__).parents[2] / "README.md").read_text()


@pytest.mark.slow
def test_the_readme_has_the_score_of_the_stored_tables_and_every_claim_counts_once(monkeypatch):
    """In one test: judging all tables takes 20 s."""
    monkeypatch.setattr(scores, "stored_checks", cache(stored_checks))
    text, table = score_text(), score()
    assert text in README
    assert README.index(text) < README.index("## Start")

    claims = {claim.id for name, one in EXPERIMENTS.items() for claim in one.claims if name.split(".")[0] in PAPERS}
    checks = [one for paper in PAPERS for one in scores.stored_checks(paper)["id"]]
    assert len(checks) == len(set(checks))
    assert set(checks) == claims
    assert int(table["claims"].sum()) == len(claims)
    assert (table[[outcome.value for outcome in Outcome]].sum(axis=1) == table["claims"]).all()
