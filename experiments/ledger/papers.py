"""The pages on the papers, written from the ledger: the README's score, `docs/papers.md`, and one for each paper."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rdmacc.experiments.framework.claim import By, Claim, Outcome
from rdmacc.experiments.framework.reading import DEFAULT, questions_of
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger.history import chosen
from rdmacc.experiments.ledger.pages import cell, page
from rdmacc.experiments.ledger.record import recorded
from rdmacc.experiments.ledger.score import PAPERS, readings_text, score_text, standing_text
from rdmacc.experiments.validation.page import summary_text

_BEGIN, _END = "<!-- score -->", "<!-- end of score -->"


def with_score(readme: str) -> str:
    """Return the README's text with the current score, tables that stand and the comparison with other simulators."""
    score = page("score.md", score=score_text(), standing=standing_text(is_short=True))
    text = f"{_BEGIN}\n{score}\n[Validation](docs/validation.md): {summary_text()}\n{_END}"
    return re.sub(f"{_BEGIN}.*?{_END}", lambda _: text, readme, flags=re.DOTALL)


def papers_page() -> str:
    """Return the page on the papers, in Markdown."""
    return page("papers.md", score=score_text(), standing=standing_text(), readings=readings_text())


def page_of(paper: str) -> str:
    """Return the page on a paper, in Markdown: its questions, all claims, what does not hold by cause."""
    lines = _lines(paper)
    return page(
        "paper.md",
        paper=paper,
        name=PAPERS[paper],
        questions=questions_of(paper),
        chosen=chosen,
        sections=((By.PAPER, "All claims"), (By.OURS, "Checks that we added")),
        lines=lines,
        causes=_causes(lines),
    )


Line = tuple[str, Claim, dict[str, Any], dict[str, str]]
"""A claim with its figure, its line of the ledger, and other verdicts under other readings."""


def _lines(paper: str) -> list[Line]:
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


def _causes(lines: list[Line]) -> list[tuple[str, list[str]]]:
    """Return what does not hold or has the right sign only, grouped by the cause that we give."""
    causes: dict[str, list[str]] = {}
    for _, claim, line, _ in lines:
        if claim.by == By.PAPER and line["verdict"] in (Outcome.FAILS.value, Outcome.DIRECTION.value):
            causes.setdefault(claim.why, []).append(f"[{claim.id}](#{claim.id}) ({line['verdict']})")
    return sorted(causes.items(), key=lambda item: -len(item[1]))


def sample_page(page: str) -> str:
    """Return the page on a sample of claims with their sentences and bands; why each is right stands only there."""
    papers = {claim.id: (paper, claim) for paper in PAPERS for one in select(paper) for claim in one.claims}

    def row(found: re.Match[str]) -> str:
        paper, claim = papers[found[1]]
        cells = [f"[{claim.id}]({paper}.md#{claim.id})", f"\u201c{claim.quote}\u201d", claim.band_words()]
        return "| " + " | ".join([*map(cell, cells), found[2]]) + " |"

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
