"""The number of a paper's claims that hold under each reading, and of the underlying tables that are still valid."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from rdmacc.experiments.framework.claim import By, Claim, Outcome
from rdmacc.experiments.framework.reading import DEFAULT, readings_of
from rdmacc.experiments.framework.registry import select, summary_path
from rdmacc.experiments.ledger.record import recorded

__all__ = [
    "MARKS", "PAPERS", "by_reading", "count_outcomes", "readings_text", "score", "score_text", "standing",
    "standing_text", "words_of",
]  # fmt: skip

PAPERS = {"dart": "Dart", "igbn": "Improved Go-Back-N", "ren": "REN", "rcc": "RCC"}
"""Papers by their group of experiments."""
MARKS = {Outcome.HOLDS: "✓", Outcome.DIRECTION: "~", Outcome.FAILS: "✗", Outcome.NOT_JUDGED: "–"}
"""Symbols of the outcomes."""
_HEADINGS = ("claims", "hold", "direction only", "do not hold", "not judged")


def count_outcomes(checks: pd.DataFrame) -> dict[Outcome, int]:
    """Return the number of checks per outcome."""
    counts = checks["verdict"].value_counts()
    return {outcome: int(counts.get(outcome.value, 0)) for outcome in Outcome}


def _claims(paper: str) -> Iterator[tuple[str, Claim]]:
    """Return the claims of a paper, with the experiments that they are of."""
    for one in select(paper):
        for claim in one.claims:
            yield one.name, claim


def by_reading(paper: str) -> pd.DataFrame:
    """Return the verdict on every claim of a paper under each of its readings, by the bundled tables.

    Returns
    -------
    DataFrame
        By claim: `experiment`, `by`, and a column for each reading, the default first; empty where the table has no
        rows of the reading. A claim of a figure without a table is "not judged".
    """
    names = [DEFAULT, *(reading.name for _, reading in readings_of(paper))]
    rows = {}
    for experiment, claim in _claims(paper):
        claims = recorded(experiment).get("claims", {})
        verdicts = {name: claims.get(name, {}).get(claim.id, {}).get("verdict", "") for name in names}
        verdicts[DEFAULT] = verdicts[DEFAULT] or Outcome.NOT_JUDGED.value
        rows[claim.id] = {"experiment": experiment, "by": claim.by.value, **verdicts}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["experiment", "by", *names]).rename_axis("id")


def score(reading: str = DEFAULT) -> pd.DataFrame:
    """Return the number of claims of each verdict: a row for each paper's claims, and for the checks that we added.

    Parameters
    ----------
    reading : str
        A reading of one of the papers; where a table has no rows of it, the default counts.
    """
    rows = {}
    for paper, name in PAPERS.items():
        found = by_reading(paper)
        verdicts = (
            found[DEFAULT] if reading not in found else found[reading].where(found[reading] != "", found[DEFAULT])
        )
        for words, by in (("the paper's claims", By.PAPER), ("checks we added", By.OURS)):
            chosen = verdicts[found["by"] == by.value]
            counts = count_outcomes(pd.DataFrame({"verdict": chosen}))
            rows[f"{name}: {words}"] = [len(chosen), *counts.values()]
    return pd.DataFrame(rows, index=["claims", *(outcome.value for outcome in Outcome)]).T


def score_text() -> str:
    """Return the score as a table in Markdown."""
    table = score()
    return _markdown("", {str(name): list(row) for name, row in zip(table.index, table.to_numpy())})


def readings_text() -> str:
    """Return the score of the papers' own claims under each reading, as a table in Markdown."""
    rows = {}
    for paper, name in PAPERS.items():
        for reading in (DEFAULT, *(one.name for _, one in readings_of(paper))):
            found = by_reading(paper)
            if reading == DEFAULT or (found[reading] != "").any():
                rows[f"{name}: {reading}"] = list(score(reading).loc[f"{name}: the paper's claims"])
    return _markdown("reading", rows)


def _markdown(first: str, rows: dict[str, list[int]]) -> str:
    lines = ["| " + " | ".join([first, *_HEADINGS]).lstrip() + " |", "|---" * (1 + len(_HEADINGS)) + "|"]
    lines += [f"| {name} | " + " | ".join(map(str, row)) + " |" for name, row in rows.items()]
    return "\n".join(lines)


def standing() -> pd.Series[bool]:
    """Return, for each bundled table of the papers, whether the code still behaves as when it was computed.

    Returns
    -------
    Series
        By experiment; missing where the behaviour of the code that computed the table is not known.
    """
    found: dict[str, bool | None] = {}
    for paper in PAPERS:
        for one in select(paper):
            if summary_path(one.name).exists():
                line = recorded(one.name)
                made = line.get("made")
                found[one.name] = None if made is None else made == line["now"]
    return pd.Series(found, dtype="boolean")


def words_of(name: str) -> str:
    """Return whether an experiment's bundled table stands, in words."""
    found = standing().get(name)
    if found is None or pd.isna(found):
        return "not known: computed before we kept digests of behaviour"
    return "stands: the code here behaves as it did" if found else "stale: the code here behaves otherwise"


def standing_text(is_short: bool = False) -> str:
    """Return how many of the tables behind the score stand, and which do not, in words.

    Parameters
    ----------
    is_short : bool
        Whether to count the unknown tables instead of naming them.
    """
    found = standing()
    stale, unknown = (list(found.index[mask]) for mask in (found.eq(False).fillna(False), found.isna()))
    stands = int(found.fillna(False).sum())
    words = [f"{stands} of the {len(found)} tables stand: the code here behaves as the code that made them."]
    if stale:
        words.append(f"Stale, to be computed again: {', '.join(stale)}.")
    if unknown:
        names = len(unknown) if is_short else ", ".join(unknown)
        words.append(f"Not known, computed before we kept digests of behaviour: {names}.")
    return " ".join(words)
