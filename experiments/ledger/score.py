"""The numbers of a paper's claims that hold under each reading, and of underlying tables that are still valid."""

from __future__ import annotations

import pandas as pd

from rdmacc.experiments.framework.claim import By, Chosen, Kind, Outcome
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, readings_of
from rdmacc.experiments.framework.registry import claims_of, select, summary_path
from rdmacc.experiments.ledger.history import chosen
from rdmacc.experiments.ledger.pages import count_outcomes, html
from rdmacc.experiments.ledger.record import recorded

COLUMNS = (
    "claims", "identities", "hold", "least", "most", "under all", "direction only", "undecided", "do not hold",
    "not judged",
)  # fmt: skip


def by_reading(paper: str) -> pd.DataFrame:
    """Return the verdict on every claim of a paper under each of its readings, from the bundled tables.

    By claim: `experiment`, `by`, `kind`, `chosen`, and a column for each reading, the default first; empty if the table
    has no rows of the reading. A claim of a figure without a table is "not judged".
    """
    names = [DEFAULT, *(one.name for one in readings_of(paper))]
    rows = {}
    for one, claim in claims_of(paper):
        every = recorded(one.name).get("claims", {})
        verdicts = [every.get(name, {}).get(claim.id, {}).get("verdict", "") for name in names]
        about = (one.name, claim.by.value, str(claim.kind), chosen(claim, paper).value)
        rows[claim.id] = [*about, verdicts[0] or Outcome.NOT_JUDGED.value, *verdicts[1:]]
    columns = ["experiment", "by", "kind", "chosen", *names]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("id")


def _under_each(paper: str) -> pd.DataFrame:
    """Return the verdicts on a paper's own claims under the default and all readings with rows in some table.

    If a figure was not run under a reading, or too little to judge the claim, the default's verdict counts.
    """
    found = by_reading(paper)
    own = found[found["by"] == By.PAPER.value]
    names = [DEFAULT, *(one.name for one in readings_of(paper) if (found[one.name] != "").any())]
    unknown = own[names].isin(["", Outcome.NOT_JUDGED.value])
    return pd.DataFrame({name: own[name].mask(unknown[name], own[DEFAULT]) for name in names})


def _counts(verdicts: pd.Series) -> list[int]:
    return [*count_outcomes(verdicts.to_frame("verdict")).values()]


def score() -> pd.DataFrame:
    """Return the score: a row for each paper, and for each alternative set-up of a whole paper.

    `least`, `most` and `under all` count the claims that hold over the readings that the text allows; they are equal in
    all rows of a paper.
    """
    rows = {}
    for paper, one in PAPERS.items():
        verdicts = _under_each(paper)
        readings = {each.name: each for each in readings_of(paper) if each.name in verdicts}
        allowed = [DEFAULT, *(each.name for each in readings.values() if not each.against)]
        holds = verdicts[allowed].eq(Outcome.HOLDS.value)
        identities = int((by_reading(paper)["kind"][verdicts.index] == Kind.IDENTITY.value).sum())
        ends = (int(holds.sum().min()), int(holds.sum().max()), int(holds.all(axis=1).sum()))
        for reading in (DEFAULT, *(each.name for each in readings.values() if each.is_setup)):
            hold, *others = _counts(verdicts[reading])
            words = one.name if reading == DEFAULT else f"{one.name}, reading \u201c{reading}\u201d"
            words += ", against its text" if reading != DEFAULT and readings[reading].against else ""
            rows[words] = [len(verdicts), identities, hold, *ends, *others]
    return pd.DataFrame(rows, index=list(COLUMNS)).T


def score_text() -> str:
    """Return the score as a Markdown table, and sentences on its claims and on the checks that we added."""
    added, late = [], []
    for paper, one in PAPERS.items():
        found = by_reading(paper)
        holds, is_ours = found[DEFAULT] == Outcome.HOLDS.value, found["by"] == By.OURS.value
        if is_ours.any():
            added.append(f"{(holds & is_ours).sum()} of {is_ours.sum()} for {one.name}")
        late.append(f"{(holds & ~is_ours & (found['chosen'] == Chosen.IN_SIGHT.value)).sum()} for {one.name}")
    papers = {one.name for one in PAPERS.values()}  # the range is a paper's, not a set-up's
    return html("claims_held.md", score=list(score().iterrows()), papers=papers, late=late, added=added).strip("\n")


def readings_text() -> str:
    """Return the score of the papers' own claims under each reading, as a Markdown table."""
    rows = []
    for paper, one in PAPERS.items():
        against = {each.name for each in readings_of(paper) if each.against}
        for reading, of in _under_each(paper).items():
            rows.append((f"{one.name}: {reading}", reading not in against, len(of), _counts(of)))
    return html("readings.md", rows=rows).strip("\n")


def standing() -> pd.Series[bool]:
    """Return, for each bundled table of the papers, whether the code still behaves as when it was computed.

    Missing if the behaviour at that time is unknown.
    """
    names = [one.name for paper in PAPERS for one in select(paper) if summary_path(one.name).exists()]
    lines = {name: recorded(name) for name in names}
    found = {name: None if line.get("made") is None else line["made"] == line["now"] for name, line in lines.items()}
    return pd.Series(found, dtype="boolean")


def words_of(name: str) -> str:
    """Return whether an experiment's bundled table is valid, in words."""
    found = standing().get(name)
    if found is None or pd.isna(found):
        return "not known: computed before we kept digests of behaviour"
    return "current: the code behaves as it did" if found else "stale: the code behaves differently"


def standing_text(is_short: bool = False) -> str:
    """Return how many tables behind the score are valid, and which are not; `is_short` omits names of unknown ones."""
    found = standing()
    stale, unknown = (list(found.index[mask]) for mask in (found.eq(False).fillna(False), found.isna()))
    words = str(len(unknown) or "") if is_short else ", ".join(unknown)
    return html("standing.md", stands=int(found.fillna(False).sum()), count=len(found), stale=stale, unknown=words)
