"""Pages on the papers, written from the ledger: the README's score, `docs/papers.md`, and a page for each paper."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.claim import By, Outcome, Verdict
from rdmacc.experiments.framework.experiment import Experiment
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, Question, questions_of, read_texts
from rdmacc.experiments.framework.registry import EXPERIMENTS, claims_of, select, summary_path
from rdmacc.experiments.ledger.history import chosen, elsewhere
from rdmacc.experiments.ledger.pages import about, cell, claim_rows, page, shared
from rdmacc.experiments.ledger.record import checks, recorded
from rdmacc.experiments.ledger.score import readings_text, score_text, standing_text
from rdmacc.experiments.validation.page import summary_text
from rdmacc.show.tables import filled
from rdmacc.sweep.store import read_table

_ROOT = Path(__file__).parents[2]
_SENTENCE = re.compile(r"(?<=[.!?]) (?=[A-Z])")


def with_score(readme: str) -> str:
    """Return the README's text with the current score, valid tables and the comparison with other simulators."""
    score = page("score.md", score=score_text(), standing=standing_text(is_short=True))
    return filled(readme, "score", f"{score}\n[Validation](docs/validation.md): {summary_text()}\n")


def papers_page() -> str:
    return page(
        "papers.md", papers=PAPERS, score=score_text(), standing=standing_text(), readings=readings_text(),
        notebooks=[one for one in PAPERS if (_ROOT / "notebooks" / f"{one}.ipynb").exists()],
    )  # fmt: skip


def page_of(paper: str) -> str:
    """Return the Markdown page on a paper: failing claims by cause, open questions, all claims, a letter."""
    claims = [row for one in select(paper) for row in _rows(paper, one)]
    own = [row for row in claims if row["by"] == By.PAPER.value]
    counted, causes = Counter(row["verdict"] for row in own), _causes(paper, claims)
    setups = [(one, [part.replace("*", "\\*") for part in about(one)], _made(one)) for one in select(paper)]

    def hang(question: Question) -> list[str]:
        names = {one.name for one in question.readings}
        return [row["id"] for row in own if names & row["readings"].keys()]

    notebook = paper if (_ROOT / "notebooks" / f"{paper}.ipynb").exists() else "classics"
    text = page(
        "paper.md", paper=paper, about=PAPERS[paper], notebook=notebook, questions=questions_of(paper), chosen=chosen,
        claims=claims, elsewhere=elsewhere(paper), paper_says=By.PAPER.value, we_add=By.OURS.value, causes=causes,
        own=own, outcomes=[(one.value, counted[one]) for one in Outcome if counted[one]], hang=hang, setups=setups,
        shared=shared(paper),
        hours=sum(one.get("packet_hops", 0) for _, _, one in setups) / 3.6e9,
    )  # fmt: skip
    return _linked(text, paper)


def _linked(text: str, here: str) -> str:
    """Link every claim and figure named on a paper's page."""
    pages = {claim.id: one.name.partition(".")[0] for one, claim in claims_of()}
    ids = {id_: "" if paper == here else f"{paper}.md" for id_, paper in pages.items()}
    names = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    known = re.compile(rf'(?<![\w#"[*.-])({names})(?![\w"*-])')
    text = known.sub(lambda found: f"[{found[1]}]({ids[found[1]]}#{found[1]})", text)
    figures = "|".join(map(re.escape, EXPERIMENTS))
    return re.sub(rf"(?<!\[)`({figures})`", r"[`\1`](../gallery.md#\1)", text)


def _made(one: Experiment) -> dict[str, Any]:
    """Return the provenance and number of seeds of an experiment's bundled table; empty if there is none."""
    path = summary_path(one.name)
    if not path.exists():
        return {}
    table, made = read_table(path)
    return {**made, "seeds": table["seed"].nunique() if "seed" in table else 1}


def _rows(paper: str, one: Experiment) -> Iterator[dict[str, Any]]:
    """Yield an experiment's claims from the ledger, with differing verdicts under other readings."""
    readings = (DEFAULT, *recorded(one.name).get("claims", {}))
    known = {row["id"]: row for row in claim_rows({reading: checks(one, reading) for reading in readings})}
    for claim in one.claims:
        nothing = {"verdict": Outcome.NOT_JUDGED.value, "measured": "nothing yet", "readings": {}}
        row = claim.row(Verdict(Outcome.NOT_JUDGED, "nothing yet"), {}, "paper") | known.get(claim.id, nothing)
        same = ("", row["verdict"], Outcome.NOT_JUDGED.value)
        others = {reading: verdict for reading, verdict in row["readings"].items() if verdict not in same}
        yield row | {"figure": one.name, "why": claim.why, "chosen": chosen(claim, paper), "readings": others}


def _causes(paper: str, claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the paper's causes, each with the claims that it makes fail, or hold in direction only.

    Sentences that several claims of a cause share are stated once, at its head.
    """
    missed = {
        row["id"]: (row["verdict"], _SENTENCE.split(row["why"]))
        for row in claims
        if row["by"] == By.PAPER.value and row["verdict"] in (Outcome.FAILS.value, Outcome.DIRECTION.value)
    }
    found = []
    causes = PAPERS[paper].folder / "causes.toml"
    for one in read_texts(causes)["cause"] if causes.exists() else ():
        own = {id_: missed.pop(id_) for id_ in one["claims"] if id_ in missed}
        counted = Counter(sentence for _, why in own.values() for sentence in dict.fromkeys(why))
        shared = [sentence for sentence, count in counted.items() if count > 1]
        links: dict[str, list[str]] = {}
        for id_, (verdict, why) in own.items():
            rest = " ".join(sentence for sentence in why if sentence not in shared)
            links.setdefault(rest, []).append(f"[{id_}](#{id_}) ({verdict})")
        found.append({**one, "shared": " ".join(shared), "claims": links})
    if missed:
        raise ConfigError("causes", list(missed), f"each in experiments/{paper}/causes.toml")
    return found


def sample_page(page: str) -> str:
    """Update sentences and bands in the page on a sample of claims, which also has the reason for each."""
    papers = {claim.id: (one.name.partition(".")[0], claim) for one, claim in claims_of()}

    def row(found: re.Match[str]) -> str:
        paper, claim = papers[found[1]]
        cells = [f"[{claim.id}]({paper}.md#{claim.id})", f"\u201c{claim.quote}\u201d", claim.band_words()]
        return "| " + " | ".join([*map(cell, cells), found[2]]) + " |"

    return re.sub(r"^\| \[([^\]]+)\].* \| (.*) \|$", row, page, flags=re.MULTILINE)


def write() -> None:
    """Write the README's score and the pages on the papers, if this is a checkout."""
    readme, pages = _ROOT / "README.md", _ROOT / "docs"
    if (pages / "papers.md").exists():
        readme.write_text(with_score(readme.read_text(encoding="utf-8")), encoding="utf-8")
        (pages / "papers.md").write_text(papers_page(), encoding="utf-8")
        for paper in PAPERS:
            (pages / "papers" / f"{paper}.md").write_text(page_of(paper), encoding="utf-8")
        sample = pages / "papers" / "sample.md"
        sample.write_text(sample_page(sample.read_text(encoding="utf-8")), encoding="utf-8")
