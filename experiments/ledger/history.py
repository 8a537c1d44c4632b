"""When bands and defaults were chosen.

``python -m rdmacc.experiments.ledger history`` updates each paper's ``data/history.json``: for each claim the numbers
of its band with their date, and the date of the figure's first table; for each question its default with its date; and
how many of the commits that computed a table are missing from the history. A band that is younger than the table, not
in the file, or different there was chosen with results in sight, unless the paper states it (`Claim.chosen`).
"""

import json
import subprocess
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from rdmacc.experiments.framework.bands import Number
from rdmacc.experiments.framework.claim import Chosen, Claim, Kind
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import Question, questions_of
from rdmacc.experiments.framework.registry import select, summary_path
from rdmacc.experiments.ledger.record import recorded
from rdmacc.sweep.store import read_table


@cache
def _recorded(paper: str) -> dict[str, dict[str, Any]]:
    path = _path(paper)
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _path(paper: str) -> Path:
    return PAPERS[paper].folder / "data" / "history.json"


def numbers_of(claim: Claim) -> list[str]:
    """Return the numbers that decide a claim: limits and slacks of its bands."""
    parts = [part for band in (claim.band, claim.direction) if band is not None for part in band.leaves()]
    found = [(one.low, one.high) if isinstance(one, Number) else (getattr(one, "slack", 0.0),) for one in parts]
    return sorted({f"{one:.6g}" for numbers in found for one in numbers})


def chosen(one: Claim | Question, paper: str) -> Chosen:
    """Return when a claim's band, or the default answer to a question, was chosen."""
    if one.chosen is not None:
        return one.chosen
    if isinstance(one, Claim) and one.kind == Kind.IDENTITY:
        return Chosen.BY_TEXT  # an exact band leaves no choice
    if isinstance(one, Claim) and any(getattr(part, "is_rule", False) for part in one.band.leaves()):
        return Chosen.BY_RULE
    claims, defaults = (_recorded(paper).get(name, {}) for name in ("claims", "defaults"))
    if isinstance(one, Claim):
        was, now = claims.get(one.id, {}), numbers_of(one)
        table = was.get("table", "")
    else:
        was, now = defaults.get(one.title, {}), [one.default.name]
        table = min((each["table"] for each in claims.values()), default="")
    return Chosen.BEFORE if was.get("numbers") == now and was["since"] < table else Chosen.IN_SIGHT


def elsewhere(paper: str) -> dict[str, str]:
    """Return the figures whose tables were partly computed from commits missing in the history, and their number."""
    return dict(_recorded(paper).get("elsewhere", {}))


def _lacking(paper: str) -> dict[str, str]:
    asked = ["git", "-C", str(_path(paper).parent), "rev-list", "HEAD"]
    known = set(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split())
    tables = {one.name: summary_path(one.name) for one in select(paper)}
    commits = {name: read_table(path)[1]["commits"] for name, path in tables.items() if path.exists()}
    lacks = {name: len(set(found) - known) for name, found in commits.items()}
    return {name: f"{count} of {len(commits[name])}" for name, count in lacks.items() if count}


def write() -> None:
    """Date new and changed entries, and the first table of a figure, today.

    A claim without a date of its table gets that of the figure's other claims; if none has one and the ledger knows the
    figure, the date stays empty. A new claim on a figure with results gets no dates, because it was made with them in
    sight.
    """
    today = datetime.now(UTC).isoformat(timespec="seconds")

    def dated(was: dict[str, Any], numbers: list[str]) -> dict[str, Any]:
        return {"numbers": numbers, "since": was["since"] if was.get("numbers") == numbers else today}

    for paper in PAPERS:
        claims, defaults = ({**_recorded(paper).get(name, {})} for name in ("claims", "defaults"))
        for one in select(paper):
            known = [claims[claim.id]["table"] for claim in one.claims if claims.get(claim.id, {}).get("table")]
            is_known = bool(recorded(one.name))
            first = min(known, default="" if is_known or not summary_path(one.name).exists() else today)
            for claim in one.claims:
                was = claims.get(claim.id, {})
                if is_known and not was:
                    continue
                table = was.get("table") or first
                claims[claim.id] = dated(was, numbers_of(claim)) | {"table": table}
        for question in questions_of(f"{paper}."):
            defaults[question.title] = dated(defaults.get(question.title, {}), [question.default.name])
        found = {"claims": claims, "defaults": defaults}
        found |= {"elsewhere": lacks} if (lacks := _lacking(paper)) else {}
        text = json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False)
        _path(paper).parent.mkdir(exist_ok=True)
        _path(paper).write_text(text + "\n", encoding="utf-8")
    _recorded.cache_clear()
