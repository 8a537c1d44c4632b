"""A paper in a notebook: its figures, claims and cost, from the bundled tables."""

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT, check_reading, questions_of
from rdmacc.experiments.framework.registry import experiment, load_summary, select, summary_path
from rdmacc.experiments.ledger import record
from rdmacc.experiments.ledger.pages import MARKS, claim_rows, count_outcomes, counted, html
from rdmacc.experiments.ledger.printed import match_text
from rdmacc.experiments.ledger.reading_map import draw_map
from rdmacc.experiments.ledger.score import by_reading
from rdmacc.show.png import png
from rdmacc.sweep import sweep
from rdmacc.sweep.store import read_table


@dataclass(frozen=True, eq=False)
class Claims:
    """Claims of a paper with their verdicts, by figure; notebooks show them as a table."""

    frame: pd.DataFrame
    """A row of `rdmacc.experiments.framework.claim.CHECK_COLUMNS` for each claim, and its `experiment`."""

    @property
    def title(self) -> str:
        """Number of claims per verdict, in words."""
        words = counted(count_outcomes(self.frame))
        return f"{len(self.frame)} claims: {words}; {match_text(self.frame)}"

    def __repr__(self) -> str:
        return self.title

    def _repr_html_(self) -> str:
        figures = []
        for name, rows in self.frame.groupby("experiment", sort=False):
            one = experiment(str(name))
            figures.append({"name": name, "title": one.title, "claims": claim_rows({DEFAULT: rows})})
        key = ", ".join(f"{mark} {outcome.value}" for outcome, mark in MARKS.items())
        return html("claims.html", title=self.title, key=key, figures=figures)


class Paper:
    """A paper's figures in a notebook; `name` is the group of its experiments, such as "dart".

    Tables at paper scale come with rdmacc. A missing one is computed at quick scale, as the caption says, and stored.

    >>> paper = Paper("igbn")
    >>> paper.scale("fig2")
    'paper'
    """

    def __init__(self, name: str) -> None:
        if name not in PAPERS:
            raise unknown("paper", name, PAPERS)
        self.name = name
        self._tables: dict[str, tuple[pd.DataFrame, str]] = {}

    def table(self, figure: str) -> pd.DataFrame:
        """Return a figure's table."""
        return self._known(figure)[0]

    def scale(self, figure: str) -> str:
        """Return the scale of a figure's table: "paper", or "quick" if none is bundled."""
        return self._known(figure)[1]

    def _known(self, figure: str) -> tuple[pd.DataFrame, str]:
        if figure not in self._tables:
            one = experiment(f"{self.name}.{figure}")
            shipped = load_summary(one.name)
            self._tables[figure] = (sweep(one, "quick").table, "quick") if shipped is None else (shipped, "paper")
        return self._tables[figure]

    def draw(self, *figures: str) -> None:
        """Draw figures, one below the other."""
        for name in figures:
            one = experiment(f"{self.name}.{name}")
            note = "" if self.scale(name) == "paper" else "at quick scale: no table at paper scale comes yet."
            _show(one.plot(self.table(name)), f"{one.title}. {one.description}", note and f"*{one.name} {note}*")

    def claims(self, *figures: str, reading: str = DEFAULT) -> Claims:
        """Return claims with their verdicts."""
        check_reading(self.name, reading)
        names = figures or tuple(one.name.partition(".")[2] for one in select(self.name))
        checks = []
        for name in names:
            one = experiment(f"{self.name}.{name}")
            table, scale = self._known(name)
            if figures or reading == DEFAULT or reading in one.readings_in(table):
                found = one.check(table, scale, reading) if scale == "quick" else record.checks(one, reading)
                if reading != DEFAULT:  # recorded expectations are for the default
                    found = found.assign(expected=found["verdict"], matches=True)
                checks.append(found.assign(experiment=one.name))
        return Claims(pd.concat(checks, ignore_index=True))

    def readings(self) -> pd.DataFrame:
        """Return the paper's open questions: per reading, the question, the sentence, the answer and the evidence."""
        rows = {
            one.name: {
                "question": question.title,
                "sentence": f"{question.sentence} ({question.place})",
                "answer": one.answer,
                "default": one is question.default,
                "evidence": one.evidence,
            }
            for question in questions_of(self.name)
            for one in question.readings
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("reading")

    def by_reading(self) -> pd.DataFrame:
        """Return the verdict on every claim under each reading (see `rdmacc.experiments.ledger.score.by_reading`)."""
        return by_reading(self.name)

    def draw_map(self) -> None:
        """Draw the claims that depend on the reading of the paper (see `rdmacc.experiments.ledger.reading_map`)."""
        _show(draw_map(self.name), f"Claims by readings of {PAPERS[self.name].name}, coloured by verdict")

    def effort(self) -> pd.DataFrame:
        """Return the cost of each bundled table: `points, packet-hops, simulated (ms)`."""
        rows = []
        for one in select(self.name):
            if summary_path(one.name).exists():
                made = read_table(summary_path(one.name))[1]
                rows.append((one.name, made["points"], made["packet_hops"], made["simulated_ps"] / 1e9))
        frame = pd.DataFrame(rows, columns=["experiment", "points", "packet-hops", "simulated (ms)"])
        return frame.set_index("experiment")


def _show(figure: Any, alt: str, note: str = "") -> None:
    import matplotlib.pyplot as plt

    display: Any = import_module("IPython.display")
    plt.close(figure)
    if note:
        display.display(display.Markdown(note))
    display.display(display.Image(png(figure), alt=alt))


def write_draft(paper: str, folder: Path) -> Path:
    """Write the draft of a paper's notebook: each figure with its description and claims, without text."""
    about, path = PAPERS[paper], folder / f"{paper}.ipynb"
    cells = [
        ("markdown", f"# {about.title}\n\n{about.authors}, {about.reference}. Rerun: {about.covers}."),
        ("code", f'%matplotlib inline\nfrom {__name__} import Paper\n\n{paper} = Paper("{paper}")'),
    ]
    for one in select(paper):
        figure = one.name.partition(".")[2]
        cells += [("markdown", f"## {one.title}\n\n{one.description}."), ("code", f'{paper}.draw("{figure}")')]
    cells += [("markdown", "## Claim by claim"), ("code", f"{paper}.claims()")]
    content = {
        "cells": [
            {"id": f"cell-{number}", "cell_type": kind, "metadata": {}, "source": text}
            | ({} if kind == "markdown" else {"execution_count": None, "outputs": []})
            for number, (kind, text) in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    if path.exists():
        raise ConfigError("notebook", str(path), "a name that is not taken: its text would be lost")
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path
