"""Readings: named answers to questions that a paper leaves open.

A paper's questions are in its ``readings.toml``, each with the ambiguous sentence, the answers, and the evidence for
each. One set of answers is the default; a reading is that set with one question answered differently. Figures whose
tables have rows of a reading can be drawn and judged under it.

The rule for a default: the text if it decides; otherwise the answer of the sources that it cites, as of that time;
otherwise the plainest answer; never the number of claims that fit. All figures of the paper share one default. An
answer that the paper's text or results rule out is `against` it: it is simulated to show its effect, but does not count
in the score's range.
"""

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError, unknown
from rdmacc.experiments.framework.claim import Chosen

DEFAULT = "default"
"""Name of the default set of answers."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """An answer to a question."""

    name: str
    """Name for ``--reading``, unique within the paper."""
    answer: str
    """The assumed meaning."""
    evidence: str
    """Evidence for and against it: sentences of the paper, and other claims that do or do not fit."""
    against: str = ""
    """Why the paper or its sources rule it out; empty if the text allows it."""
    is_setup: bool = False
    """Whether the paper may have run everything with this set-up; the score then has a row for it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that a paper leaves open."""

    title: str
    """The question."""
    place: str
    """Section of the paper."""
    sentence: str
    """The ambiguous sentence, quoted."""
    readings: tuple[Reading, ...]
    """The answers; the first is the default."""
    why: str
    """The reason for the default, by the rule above."""
    chosen: Chosen | None = None
    """`Chosen.BY_TEXT` if the text alone decides it. Default: by the history (`rdmacc.experiments.ledger.history`)."""

    @property
    def default(self) -> Reading:
        return self.readings[0]


QUESTIONS: dict[str, tuple[Question, ...]] = {}
"""Open questions of each paper, by its group of experiments."""


def read_questions(paper: str, path: Path) -> None:
    """Add the questions of a paper, from its file."""
    found = []
    for one in read_texts(path)["question"]:
        readings = tuple(Reading(**each) for each in one.pop("reading"))
        chosen = Chosen(one.pop("chosen")) if "chosen" in one else None
        found.append(Question(**one, readings=readings, chosen=chosen))
    names = Counter([DEFAULT, *(one.name for question in found for one in question.readings)])
    if twice := [name for name, count in names.items() if count > 1]:
        raise ConfigError(f"reading of {paper}", twice[0], "a unique name among the paper's readings")
    QUESTIONS[paper] = tuple(found)


def read_texts(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file, with line breaks in strings replaced by spaces."""

    def joined(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: joined(one) for name, one in value.items()}
        if isinstance(value, list):
            return [joined(one) for one in value]
        return " ".join(value.split()) if isinstance(value, str) else value

    found: dict[str, Any] = joined(tomllib.loads(path.read_text(encoding="utf-8")))
    return found


def questions_of(name: str) -> tuple[Question, ...]:
    return QUESTIONS.get(name.partition(".")[0], ())


def readings_of(name: str) -> list[Reading]:
    """Return the non-default readings of an experiment's paper."""
    return [one for question in questions_of(name) for one in question.readings[1:]]


def check_reading(name: str, reading: str) -> str:
    """Return the name of a reading; names of default answers become `DEFAULT`."""
    if reading == DEFAULT or any(reading == question.default.name for question in questions_of(name)):
        return DEFAULT
    known = [one.name for one in readings_of(name)]
    if reading not in known:
        raise unknown("reading", reading, [DEFAULT, *known], f"a reading of {name.partition('.')[0]}")
    return reading
