"""The renderer of reproduction reports, claims in notebooks and the pages on papers."""

import inspect
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from rdmacc.experiments.framework.claim import Outcome
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.framework.texts import SHARED

MARKS = {
    Outcome.HOLDS: "✓",
    Outcome.DIRECTION: "~",
    Outcome.UNDECIDED: "?",
    Outcome.FAILS: "✗",
    Outcome.NOT_JUDGED: "–",
}
"""Symbols of the outcomes."""
KINDS = dict(zip(Outcome, ("holds", "direction", "undecided", "fails", "open"), strict=True))
"""CSS class of each outcome."""


@cache
def templates() -> Environment:
    """Return the template environment: HTML is escaped, undefined names are errors."""
    folder = Path(__file__).parent / "templates"
    found = Environment(
        loader=FileSystemLoader(folder), autoescape=select_autoescape(), undefined=StrictUndefined, trim_blocks=True
    )
    found.filters["cell"] = cell
    return found


def html(template: str, /, **values: Any) -> str:
    return templates().get_template(template).render(values)


def page(template: str, /, **values: Any) -> str:
    return html(template, **values).strip("\n") + "\n"


def about(one: Experiment) -> list[str]:
    """Return the docstring of an experiment's module and its set-up, split into paragraphs and list items."""
    return _parts(type(one).__module__, one.setup)


def shared(group: str) -> dict[str, list[str]]:
    """Return the set-ups that figures of a group share, likewise, by module."""
    return {name: _parts(f"rdmacc.experiments.{group}.{name}", text) for name, text in SHARED.get(group, {}).items()}


def _parts(module: str, setup: str) -> list[str]:
    text = inspect.cleandoc(f"{getattr(sys.modules.get(module), '__doc__', '')}\n\n{setup}")
    return [" ".join(part.split()) for part in re.split(r"\n\n|\n(?=- )", text)]


def cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return text.replace("|", "\\|")


def claim_rows(checks: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Return the checks under the default reading as records, with marks and the verdicts under other readings."""
    others = {one: found.set_index("id")["verdict"] for one, found in checks.items() if one != DEFAULT}
    rows: list[dict[str, Any]] = checks[DEFAULT].to_dict("records") if checks else []  # type: ignore[assignment]
    for row in rows:
        outcome = Outcome(row["verdict"])
        readings = {one: verdicts.get(row["id"], "") for one, verdicts in others.items()}
        row |= {"outcome": KINDS[outcome], "mark": MARKS[outcome], "readings": readings}
    return rows


def count_outcomes(checks: pd.DataFrame) -> dict[Outcome, int]:
    counts = checks["verdict"].value_counts()
    return {outcome: int(counts.get(outcome.value, 0)) for outcome in Outcome}


def counted(counts: Mapping[Outcome, int]) -> str:
    hold, direction, undecided, fail, rest = counts.values()
    words = f"{hold} hold, {direction} direction only, {undecided} undecided, {fail} do not hold, {rest} not judged"
    return words if undecided else words.replace(", 0 undecided", "")
