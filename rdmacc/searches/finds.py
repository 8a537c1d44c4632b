"""Finds: bad cases whose cause is shown by one change that removes most of the harm, from ``finds.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rdmacc.schemes import as_scheme
from rdmacc.searches.case import Case
from rdmacc.searches.evaluate import Run, Work
from rdmacc.searches.objectives import OBJECTIVES
from rdmacc.searches.scorecard import shown

FINDS = Path(__file__).with_name("finds.toml")
STATUS = {
    "rule": "explained by the scheme's own rule",
    "ours": "due to a number that we assumed, open",
    "open": "open",
    "stated": "already stated by a paper or a page of this guide",
}


@dataclass(frozen=True, kw_only=True)
class Find:
    """A case in which a scheme is bad, and the change that shows why."""

    scheme: str
    objective: str
    case: dict[str, Any]
    change: dict[str, Any]
    status: str
    cause: str
    rule: str

    @cached_property
    def runs(self) -> tuple[Run, Run]:
        """Without and with the change."""
        work = Work(as_scheme(self.scheme), (Case(**self.case),), (OBJECTIVES[self.objective],))
        return work(0, {}), work(1, self.change)

    def text(self) -> str:
        """Return a list item of Markdown, with the values as measured now."""
        before, after = (shown(self.objective, run.objectives[0]) for run in self.runs)
        change = " and ".join(f"`{name}` at {value}" for name, value in self.change.items())
        return (
            f"- **`{self.scheme}`, {self.objective}: {before}.** {self.cause} With {change}: {after}. *{self.rule}*\n\n"
            f"  `{Case(**self.case).line(self.scheme)}`\n"
        )


def finds() -> list[Find]:
    """Return all finds, in the order of the file."""
    return [Find(**one) for one in tomllib.loads(FINDS.read_text(encoding="utf-8"))["find"]]


def text(known: list[Find]) -> str:
    """Return finds as Markdown, by their status."""
    parts = []
    for status, title in STATUS.items():
        those = [one for one in known if one.status == status]
        parts += [f"### {len(those)} {title}\n", *(one.text() for one in those)]
    return "\n".join(parts)
