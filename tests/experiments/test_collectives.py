"""Collectives alone: their claims refuse a table in which a collective takes longer, or carries less."""

import pytest

from rdmacc.experiments.framework.registry import EXPERIMENTS, load_summary


def verdicts(table):
    return {row["id"]: row["verdict"] for row in EXPERIMENTS["micro.collectives"].judge(table, "paper")}


@pytest.mark.parametrize(
    ("claim", "quantity", "change"),
    [
        ("micro-collectives-1a", "excess", lambda values: values + 0.05),
        ("micro-collectives-1a", "excess", lambda values: values - 0.05),
        ("micro-collectives-2a", "busbw", lambda values: values / 2),
        ("micro-collectives-2a", "busbw", lambda values: values * 1.3),
    ],
)
def test_a_claim_says_no(claim, quantity, change):
    table = load_summary("micro.collectives")
    assert verdicts(table)[claim] == "holds"
    rows = table["quantity"] == quantity
    table.loc[rows, "value"] = change(table.loc[rows, "value"])
    assert verdicts(table)[claim] != "holds"
