"""The fabric's experiment: its claims refuse tables in which spraying, or learning of slow links, gains nothing."""

from __future__ import annotations

import numpy as np
import pytest

from rdmacc.experiments.framework.registry import EXPERIMENTS, load_summary


def verdicts(table):
    return {row["id"][-2:]: row["verdict"] for row in EXPERIMENTS["micro.fabric"].judge(table, "paper")}


@pytest.mark.parametrize(
    ("claim", "rows", "quantity", "factor"),
    [
        ("2a", "scheme == 'NSCC, REPS' and slow == 0 and traffic == 'permutation'", "FCT, p100", 1.3),
        ("2a", "scheme == 'NSCC, REPS' and slow == 0 and traffic == 'all-to-all'", "FCT, p100", 0.7),
        ("3a", "scheme == 'DCQCN and PFC' and slow == 0", "FCT, p100", 0.2),
        ("3a", "scheme == 'NSCC, sprayed' and slow == 0", "FCT, p100", 0.5),
        ("4a", "scheme == 'NSCC, REPS' and slow == 1", "FCT, p100", 5.0),
        ("4a", "scheme == 'DCQCN and PFC' and slow == 8", "FCT, p100", 0.1),
        ("4b", "scheme == 'NSCC, sprayed' and slow == 8", "FCT, p100", 0.5),
    ],
)
def test_a_claim_says_no(claim, rows, quantity, factor):
    table = load_summary("micro.fabric")
    assert verdicts(table)[claim] == "holds"
    chosen = (table["quantity"] == quantity) & table.eval(rows)
    assert chosen.any()
    table.loc[chosen, "value"] *= factor
    assert verdicts(table)[claim] == "does not hold"


def test_messages_that_are_not_finished_are_refused():
    table = load_summary("micro.fabric")
    assert verdicts(table)["1a"] == "holds"
    table.loc[np.flatnonzero(table["quantity"] == "unfinished")[:1], "value"] = 1
    assert verdicts(table)["1a"] == "does not hold"
