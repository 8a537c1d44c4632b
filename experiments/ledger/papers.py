"""The pages on the papers, written from the ledger: the README's score, `docs/papers.md`, and one for each paper."""

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

We reran every figure and table of four papers, and checked every sentence that has a number in it. A page for each
paper has all claims, with the sentence, what we measured and the verdict under each reading, and what does not hold by
its cause. Each paper has a notebook with its figures.

```{toctree}
:maxdepth: 1

papers/dart
papers/igbn
papers/ren
papers/rcc
papers/sample
papers/changes
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
    return _joined(parts)


def page_of(paper: str) -> str:
    """Return the page on a paper, in Markdown: its questions, all claims, what does not hold by cause."""
    name = PAPERS[paper]
    head = f"# {name}: claim by claim\n\n[The notebook](../notebooks/{paper}.md) has the figures."
    return _joined([head, *_questions(paper), *_claims(paper), *_causes(paper), *_letter(paper)])


def _joined(parts: list[str]) -> str:
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
    return ["## What it leaves open", *parts] if parts else []


def _lines(paper: str) -> list[tuple[str, Claim, dict[str, Any], dict[str, str]]]:
    """Return the claims with their figure, their line of the ledger, and other verdicts under other readings."""
    found = []
    for one in select(paper):
        every = recorded(one.name).get("claims", {})
        for claim in one.claims:
            line = {"verdict": Outcome.NOT_JUDGED.value, "measured": "nothing yet"}
            line |= every.get(DEFAULT, {}).get(claim.id, {})
            verdicts = {name: claims.get(claim.id, {}).get("verdict", "") for name, claims in every.items()}
            same = ("", line["verdict"], Outcome.NOT_JUDGED.value)
            found.append((one.name, claim, line, {name: word for name, word in verdicts.items() if word not in same}))
    return found


def _claims(paper: str) -> list[str]:
    parts = []
    for by, title in ((By.PAPER, "All claims"), (By.OURS, "Checks that we added")):
        rows = ["| claim | published | measured | verdict |", "|---|---|---|---|"]
        for figure, claim, line, others in _lines(paper):
            if claim.by == by:
                quote = f"\u201c{claim.quote}\u201d ({claim.place}) " if claim.quote else f"{claim.place}: "
                band = f"{claim.band_words()} ({chosen(claim, paper)})"
                under = "".join(f"<br>{name}: {verdict}" for name, verdict in others.items())
                cells = [
                    f'<a id="{claim.id}"></a>**{claim.id}**, {figure}, {claim.kind}<br>{quote}{claim.quantity};'
                    f" {claim.condition}",
                    f"{claim.published}<br>*holds if: {band}*", line["measured"], f"**{line['verdict']}**{under}",
                ]  # fmt: skip
                rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        parts += [f"## {title}", "\n".join(rows)]
    return parts


def _causes(paper: str) -> list[str]:
    """Return what does not hold or has the right sign only, grouped by the cause that we give."""
    causes: dict[str, list[str]] = {}
    for _, claim, line, _ in _lines(paper):
        if claim.by == By.PAPER and line["verdict"] in (Outcome.FAILS.value, Outcome.DIRECTION.value):
            causes.setdefault(claim.why, []).append(f"[{claim.id}](#{claim.id}) ({line['verdict']})")
    ordered = sorted(causes.items(), key=lambda item: -len(item[1]))
    return ["## What does not hold, by cause", "\n".join(f"- {', '.join(ids)}: {why}" for why, ids in ordered)]


def _letter(paper: str) -> list[str]:
    """Return what only the authors can answer."""
    lines = [
        f"{number}. {question.title} You write: \u201c{question.sentence}\u201d ({question.place})."
        f" We take: {question.default.answer}"
        for number, question in enumerate(questions_of(paper), 1)
    ]
    return ["## Questions to the authors", "\n".join(lines)]


def sample_page(page: str) -> str:
    """Return the page on a sample of claims with their sentences and bands; why each is right stands only there."""
    papers = {claim.id: (paper, claim) for paper in PAPERS for one in select(paper) for claim in one.claims}

    def row(found: re.Match[str]) -> str:
        paper, claim = papers[found[1]]
        cells = [f"[{claim.id}]({paper}.md#{claim.id})", f"\u201c{claim.quote}\u201d", claim.band_words()]
        return "| " + " | ".join([*(cell.replace("|", "\\|") for cell in cells), found[2]]) + " |"

    return re.sub(r"^\| \[([^\]]+)\].* \| (.*) \|$", row, page, flags=re.MULTILINE)


def write() -> None:
    """Write the score into the README, and the pages on the papers, where they are: in a checkout."""
    root = Path(__file__).parents[2]
    readme, pages = root / "README.md", root / "docs"
    if (pages / "papers.md").exists():
        readme.write_text(with_score(readme.read_text(encoding="utf-8")), encoding="utf-8")
        (pages / "papers.md").write_text(papers_page(), encoding="utf-8")
        for paper in PAPERS:
            (pages / "papers" / f"{paper}.md").write_text(page_of(paper), encoding="utf-8")
        sample = pages / "papers" / "sample.md"
        sample.write_text(sample_page(sample.read_text(encoding="utf-8")), encoding="utf-8")
