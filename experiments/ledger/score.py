"""How many of a paper's claims hold, by the tables that rdmacc comes with."""

from __future__ import annotations

import pandas as pd

from rdmacc.experiments.framework.claim import CHECK_COLUMNS, Outcome
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.registry import load_summary, select, summary_path
from rdmacc.experiments.ledger.provenance import ages

__all__ = ["PAPERS", "age_text", "count_outcomes", "is_published", "score", "score_text", "stored_checks"]

PAPERS = {"dart": "Dart", "igbn": "Improved Go-Back-N", "ren": "REN", "rcc": "RCC"}
"""Papers by their group of experiments."""


def stored_checks(paper: str) -> pd.DataFrame:
    """Return the verdict on every claim of a paper, by the stored tables at paper scale.

    A claim of a figure that has no stored table is not judged.

    Parameters
    ----------
    paper : str
        Group of its experiments, such as "dart".

    Returns
    -------
    DataFrame
        A row of `rdmacc.experiments.framework.claim.CHECK_COLUMNS` for each claim.
    """
    found = []
    for one in select(paper):
        table = load_summary(one.name)
        found.append(_not_computed(one) if table is None else one.check(table, "paper"))
    return pd.concat(found, ignore_index=True)


def _not_computed(one: Experiment) -> pd.DataFrame:
    """Return the checks of an experiment that has no table at paper scale."""
    known = [{name: getattr(claim, name) for name in CHECK_COLUMNS if hasattr(claim, name)} for claim in one.claims]
    open_verdict = {
        "measured": "not computed at paper scale yet", "verdict": Outcome.NOT_JUDGED.value, "holds": False,
        "expected": Outcome.NOT_JUDGED.value, "matches": True, "seeds_judged": 0, "seeds_held": 0,
        "reason": "not computed at paper scale yet",
    }  # fmt: skip
    return pd.DataFrame([{**row, **open_verdict} for row in known], columns=list(CHECK_COLUMNS))


def is_published(checks: pd.DataFrame) -> pd.Series[bool]:
    """Tell which checks are claims of the paper, by their ids: those that we added end in a, b or c.

    Parameters
    ----------
    checks : DataFrame
        As `Experiment.check` returns them.
    """
    return ~checks["id"].str[-1].isin([*"abc"])


def count_outcomes(checks: pd.DataFrame) -> dict[Outcome, int]:
    """Return how many checks have each outcome.

    Parameters
    ----------
    checks : DataFrame
        As `Experiment.check` returns them.
    """
    counts = checks["verdict"].value_counts()
    return {outcome: int(counts.get(outcome.value, 0)) for outcome in Outcome}


def score() -> pd.DataFrame:
    """Return the number of claims of each verdict: a row for each paper's claims, and for the checks that we added.

    Returns
    -------
    DataFrame
        Columns `claims` and the outcomes. Checks that we added have ids that end in a, b or c; x, y and z are of
        tables as a whole.
    """
    rows = {}
    for paper, name in PAPERS.items():
        checks = stored_checks(paper)
        published = is_published(checks)
        kinds = {f"{name}: the paper's claims": published, f"{name}: checks we added": ~published}
        for words, chosen in kinds.items():
            rows[words] = [int(chosen.sum()), *count_outcomes(checks[chosen]).values()]
    return pd.DataFrame(rows, index=["claims", *(outcome.value for outcome in Outcome)]).T


def score_text() -> str:
    """Return the score as a table in Markdown."""
    table = score()
    lines = ["| | claims | hold | direction only | do not hold | not judged |", "|---|---|---|---|---|---|"]
    lines += [f"| {name} | " + " | ".join(map(str, row)) + " |" for name, row in zip(table.index, table.to_numpy())]
    return "\n".join(lines)


def age_text() -> str:
    """Return which of the tables behind the score were computed by older code than what is here, in words."""
    stored = [one.name for paper in PAPERS for one in select(paper) if summary_path(one.name).exists()]
    old = ages(stored)
    if not old:
        return f"All {len(stored)} tables were computed by the code that is here."
    lines = [f"{len(old)} of {len(stored)} tables were computed by older code than what is here:"]
    return "\n".join([*lines, *(f"- {name}: {words}" for name, words in old.items())])
