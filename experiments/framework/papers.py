"""The papers: every folder with a ``paper.toml``."""

import re
from dataclasses import dataclass
from pathlib import Path

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.reading import read_questions, read_texts
from rdmacc.experiments.framework.texts import TEXTS, read_claims, read_figures
from rdmacc.presets import PRESETS


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The content of a ``paper.toml``."""

    folder: Path
    name: str
    """Name in headings and in the score."""
    short: str
    """Name on figures."""
    title: str
    authors: str
    reference: str
    """Venue and year."""
    doi: str = ""
    preset: str = ""
    """The preset with the paper's parameters: one of rdmacc's, or a file beside ``paper.toml``."""
    covers: str = "every figure and table"
    """The part that is reproduced."""
    order: int = 100
    """Position among the papers."""


PAPERS: dict[str, Paper] = {}
"""The papers by folder, which is also the group of their experiments."""


def numbered(name: str) -> tuple[str, int] | None:
    """Return "figure" or "table" and its number from an experiment's name; None if it is neither."""
    found = re.fullmatch(r"(fig|table)(\d+)", name.partition(".")[2])
    return ("figure" if found[1] == "fig" else "table", int(found[2])) if found else None


def find_paper(folder: Path, group: str) -> None:
    """Read a folder's files: the paper, its preset, its figures, its claims and its open questions."""
    if (folder / "paper.toml").exists():
        try:
            paper = Paper(folder=folder, **read_texts(folder / "paper.toml"))
        except TypeError as error:
            raise ConfigError(f"{group}/paper.toml", str(error), "the fields of Paper") from None
        PAPERS[group] = paper
        for name in sorted(PAPERS, key=lambda one: PAPERS[one].order):
            PAPERS[name] = PAPERS.pop(name)
        if (folder / f"{paper.preset}.toml").exists():
            PRESETS.add_file(folder / f"{paper.preset}.toml")
    if (folder / "figures.toml").exists():
        read_figures(group, folder / "figures.toml")
    if (folder / "claims.toml").exists():
        TEXTS[group] = read_claims(folder / "claims.toml")
    if (folder / "readings.toml").exists():
        read_questions(group, folder / "readings.toml")
