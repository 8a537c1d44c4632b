"""The README's score is that of the stored tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from rdmacc.experiments import EXPERIMENTS, Outcome
from rdmacc.experiments import score as scores
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger.score import PAPERS, score, score_text, stored_checks

README = (Path(__file__).parents[2] / "README.md").read_text()


def recorded_checks(paper: str) -> pd.DataFrame:
    """Return the recorded verdicts on a paper's claims: `test_stored_tables` compares each with its table's."""
    claims = [claim for one in select(paper) for claim in one.claims]
    return pd.DataFrame([{"id": claim.id, "verdict": claim.expectation("paper").value} for claim in claims])


@pytest.mark.parametrize("paper", ["igbn", pytest.param("dart", marks=pytest.mark.slow)])
def test_tables_are_judged_claim_by_claim(paper):
    columns = ["id", "verdict"]
    assert stored_checks(paper)[columns].to_dict("list") == recorded_checks(paper)[columns].to_dict("list")


def test_the_readme_has_the_score_of_the_stored_tables_and_every_claim_counts_once(monkeypatch):
    monkeypatch.setattr(scores, "stored_checks", recorded_checks)
    text, table = score_text(), score()
    assert text in README
    assert README.index(text) < README.index("## Start")

    claims = {claim.id for name, one in EXPERIMENTS.items() for claim in one.claims if name.split(".")[0] in PAPERS}
    checks = [one for paper in PAPERS for one in scores.stored_checks(paper)["id"]]
    assert len(checks) == len(set(checks))
    assert set(checks) == claims
    assert int(table["claims"].sum()) == len(claims)
    assert (table[[outcome.value for outcome in Outcome]].sum(axis=1) == table["claims"]).all()
