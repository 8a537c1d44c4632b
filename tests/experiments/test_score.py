"""The README's score is that of the stored tables."""

from __future__ import annotations

from pathlib import Path

from rdmacc.experiments import EXPERIMENTS, Outcome
from rdmacc.experiments.score import PAPERS, score, score_text, stored_checks

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_readme_has_the_score_of_the_stored_tables_before_everything_else_about_papers():
    assert score_text() in README
    assert README.index(score_text()) < README.index("## Start")


def test_every_claim_is_counted_once():
    claims = {claim.id for name, one in EXPERIMENTS.items() for claim in one.claims if name.split(".")[0] in PAPERS}
    checks = [one for paper in PAPERS for one in stored_checks(paper)["id"]]
    assert len(checks) == len(set(checks))
    assert set(checks) == claims
    table = score()
    assert int(table["claims"].sum()) == len(claims)
    assert (table[[outcome.value for outcome in Outcome]].sum(axis=1) == table["claims"]).all()
