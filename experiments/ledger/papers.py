"""The documentation's pages on the papers, written from the ledger: the README's score, and `docs/papers.md`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rdmacc.experiments.framework.claim import By, Claim, Outcome
from rdmacc.experiments.framework.reading import DEFAULT, questions_of
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger.history import chosen
from rdmacc.experiments.ledger.record import recorded
from rdmacc.experiments.ledger.score import PAPERS, readings_text, score_text, standing_text
from rdmacc.experiments.validation.page import summary_text

_BEGIN, _END = "<!-- score -->", "<!-- end of score -->"
_HEAD = """# Papers

We reran every figure and table of four papers, and checked every sentence that has a number in it. This page lists
what does not hold, with what we measured and, where known, the cause. Each paper has a notebook with its figures.

```{toctree}
:maxdepth: 1

notebooks/dart
notebooks/igbn
notebooks/ren
notebooks/rcc
notebooks/models
gallery
```
"""
_EXPLAINED = """*Identities* are parameters, equations and units, which follow from a definition. *Least to most* and
*under all*: over all readings of the paper that its text allows. *Direction only*: right sign, different magnitude.
*Undecided*: the seeds scatter across an edge of the band; a claim judged from one run has no interval. *Not judged*:
not run, too few seeds to tell, or an input of the model. *Checks that we added* test a reading, a model or an
invariant."""


def with_score(readme: str) -> str:
    """Return the README's text with the current score, tables that stand and the comparison with other simulators."""
    beside = f"[Validation](docs/validation.md): {summary_text()}"
    parts = [score_text(), _EXPLAINED, standing_text(is_short=True), beside]
    score = "\n".join([_BEGIN, "\n\n".join(parts), _END])
    return re.sub(f"{_BEGIN}.*?{_END}", lambda _: score, readme, flags=re.DOTALL)


def papers_page() -> str:
    """Return the page on the papers, in Markdown."""
    parts = [_HEAD, "## Score", score_text(), _EXPLAINED, standing_text(), "## Readings", _READINGS, readings_text()]
    for paper, name in PAPERS.items():
        parts += [f"## {name}", *_questions(paper), *_misses(paper)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


_READINGS = """Each paper leaves something open. The rule for a default: where the text decides, the text; where it is
silent, the answer that the sources it cites had at the time; where these are silent, the plainest; never the number of
claims that fit. Where we simulated several readings, this is the score of the paper's own claims under each; a claim
whose figure has no runs of a reading, or too few to judge it, counts as under the default."""


def _questions(paper: str) -> list[str]:
    parts = []
    for question in questions_of(paper):
        lines = [f"**{question.title}** ({question.place}: \u201c{question.sentence}\u201d)", ""]
        for one in question.readings:
            mark = f"{one.name}, the default" if one is question.default else one.name
            against = f" The text rules it out: {one.against}" if one.against else ""
            lines.append(f"- *{mark}*: {one.answer} {one.evidence}{against}")
        parts += ["\n".join(lines), f"Why the default: {question.why} (Chosen {chosen(question, paper)}.)"]
    return ["### What it leaves open", *parts] if parts else []


def _misses(paper: str) -> list[str]:
    found: dict[By, list[str]] = {By.PAPER: [], By.OURS: []}
    for one in select(paper):
        claims = recorded(one.name).get("claims", {}).get(DEFAULT, {})
        for claim in one.claims:
            line = claims.get(claim.id, {})
            if line.get("verdict") != Outcome.HOLDS.value:
                found[claim.by].append(_miss(one.name, claim, line))
    parts = []
    for by, title in ((By.PAPER, "Claims that do not hold, or only in sign"), (By.OURS, "Checks of ours that fail")):
        if found[by]:
            parts += [f"### {title}", "\n".join(found[by])]
    return parts


def _miss(figure: str, claim: Claim, line: dict[str, Any]) -> str:
    verdict = line.get("verdict", Outcome.NOT_JUDGED.value)
    quote = f": \u201c{claim.quote}\u201d" if claim.quote else ""
    return (
        f"- **{claim.id}** ({figure}, {claim.place}{quote}), {verdict}: {claim.quantity}, {claim.condition}. Published:"
        f" {claim.published}. Measured: {line.get('measured', 'nothing yet')}. {claim.why}"
    )


def write() -> None:
    """Write the score into the README, and the page on the papers, where they are: in a checkout."""
    root = Path(__file__).parents[2]
    readme, page = root / "README.md", root / "docs" / "papers.md"
    if page.exists():
        readme.write_text(with_score(readme.read_text(encoding="utf-8")), encoding="utf-8")
        page.write_text(papers_page(), encoding="utf-8")
