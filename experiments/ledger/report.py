"""The report of a reproduction: static HTML that needs no server and no network, with a page for each figure.

``index.html`` has the score and thumbnails; each figure's page has the plot, the claims with verdicts and reasons, the
numbers and their provenance. ``report.json`` has all verdicts, for comparing two reports.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from markupsafe import Markup, escape

from rdmacc.errors import ConfigError, reason_of
from rdmacc.experiments.framework.claim import By, Outcome
from rdmacc.experiments.framework.experiment import Experiment, Seeding
from rdmacc.experiments.framework.papers import PAPERS, numbered
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.framework.texts import SHARED
from rdmacc.experiments.ledger.moving import SCENES, Scene, write_scenes
from rdmacc.experiments.ledger.pages import KINDS, about, claim_rows, count_outcomes, html, shared
from rdmacc.experiments.ledger.printed import seeding_text, seeds_text
from rdmacc.show.style import save, style
from rdmacc.sweep.store import write_atomically, write_table
from rdmacc.units import format_time

_SEEDINGS = {
    Seeding.SEPARATE: "{}, each a run of its own: the figure is of the first, with bands from least to greatest."
    " A claim holds if it does in more than half of them.",
    Seeding.POOLED: "{}, judged together; intervals are over them.",
}
_VERDICTS = "report.json"
_THUMB_DPI = 80
_SHOWN = {
    "experiment": "experiment", "scale": "scale", "seed": "seed", "seeds": "seeds", "set": "changed parameters",
    "points": "points", "packet_hops": "packet-hops", "simulated_ps": "simulated time", "rdmacc": "rdmacc",
    "commits": "commits", "versions": "versions", "standing": "standing",
}  # fmt: skip
"""Labels of the provenance's keys on a page."""


@dataclass(eq=False)
class Entry:
    """A figure, reproduced or failed."""

    experiment: Experiment
    table: pd.DataFrame | None = None
    """The numbers; None if it failed."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    effort: Mapping[str, Any] = field(default_factory=dict)
    """Provenance and cost of the numbers, from `rdmacc.sweep.Sweep`."""
    failure: str = ""
    """Why there are no numbers, no verdicts or no picture."""
    checks: dict[str, pd.DataFrame] = field(default_factory=dict)
    """The claims with their verdicts, by reading with the default first; empty if they cannot be judged."""
    is_drawn: bool = False

    @property
    def name(self) -> str:
        return self.experiment.name

    @property
    def heading(self) -> str:
        """The figure's name in words: "Dart, figure 2"."""
        group, _, rest = self.name.partition(".")
        kind, number = numbered(self.name) or (rest.replace("-", " "), "")
        return f"{_name(group)}, {kind} {number}".rstrip()

    def verdicts(self) -> dict[str, str]:
        """Return the verdicts under the default reading, by claim."""
        checks = self.checks.get(DEFAULT, pd.DataFrame(columns=["id", "verdict"]))
        return dict(zip(checks["id"].map(str), checks["verdict"].map(str), strict=True))

    def counts(self) -> dict[Outcome, int]:
        """Return the number of claims per verdict, without zeros."""
        counts = count_outcomes(self.checks[DEFAULT]) if self.checks else {}
        return {outcome: count for outcome, count in counts.items() if count}


class Report:
    """A report in a folder, complete after each added figure.

    `planned` has the figures in the order of the pages; the front page lists verdicts that changed `since` another
    report or its folder. A folder with anything but a report is refused.
    """

    def __init__(
        self,
        folder: str | Path,
        planned: Sequence[Experiment],
        scale: str,
        seed: int = 0,
        since: str | Path | None = None,
        seeds: int | None = None,
    ) -> None:
        self.folder = Path(folder)
        if self.folder.is_dir() and not all(_is_draft(path) for path in self.folder.iterdir()):
            try:
                read_verdicts(self.folder)
            except ConfigError:
                raise ConfigError("folder", str(folder), "empty, or a report's: other files are kept") from None
        self._names = [one.name for one in planned]
        self._scale, self._seed, self._seeds, self._since = scale, seed, seeds, since
        self._before = read_verdicts(since) if since is not None else None
        self._added: dict[str, Entry] = {}

    @property
    def index(self) -> Path:
        return self.folder / "index.html"

    @property
    def entries(self) -> list[Entry]:
        """The figures so far, in the order of the pages."""
        return [self._added[name] for name in self._names if name in self._added]

    def add(self, entry: Entry) -> None:
        """Add a figure: draw it, write its page and numbers, and bring the front page up to date.

        If it cannot be judged or drawn, its page says so, with the error.
        """
        if not self._added:  # first mark the folder as a report's, in case this is interrupted
            self._write_verdicts()
        self._added[entry.name] = entry
        if entry.table is not None:
            table = entry.table
            for words, make in (("not judged", self._judge), ("not drawn", self._draw)):
                try:
                    make(entry, table)
                except Exception as error:
                    entry.failure = "; ".join(filter(None, [entry.failure, f"{words}: {reason_of(error)}"]))
            data = self.folder / "data"
            write_table(data / f"{entry.name}.parquet", table, entry.provenance)
            write_atomically(data / f"{entry.name}.csv", lambda draft: table.to_csv(draft, index=False))
        self._write(f"{entry.name}.html", self._figure_page(entry))
        self._write("index.html", self._front_page())
        self._write_verdicts()

    def add_scenes(self) -> None:
        """Add animated networks to the pages of their figures."""
        write_scenes(self.folder / "moving", self._added)
        for scene in self._scenes():
            self._write(f"{scene.figure}.html", self._figure_page(self._added[scene.figure]))
        self._write("index.html", self._front_page())

    def _scenes(self) -> list[Scene]:
        return [one for one in SCENES if one.figure in self._added
                and (self.folder / "moving" / f"{one.name}.html").exists()]  # fmt: skip

    @property
    def failures(self) -> dict[str, str]:
        """The incomplete figures, with reasons."""
        return {entry.name: entry.failure for entry in self.entries if entry.failure}

    def changes(self) -> list[dict[str, str]]:
        """Return the verdicts that differ from those of the other report: `id`, `before`, `now`, `page`."""
        before = self._before or {}
        return [
            {"id": id_, "before": before[id_], "now": verdict, "page": f"{entry.name}.html"}
            for entry in self.entries
            for id_, verdict in entry.verdicts().items()
            if before.get(id_, verdict) != verdict
        ]

    def _judge(self, entry: Entry, table: pd.DataFrame) -> None:
        one = entry.experiment
        readings = (DEFAULT, *one.readings_in(table))
        entry.checks = {reading: one.check(table, self._scale, reading) for reading in readings}

    def _draw(self, entry: Entry, table: pd.DataFrame) -> None:
        figures = self.folder / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        for path in figures.glob(f"{entry.name}.*"):
            path.unlink()  # from another run, in case this one fails
        figure = entry.experiment.figure(table)
        with style(), mpl.rc_context({"svg.hashsalt": "rdmacc"}):  # reproducible bytes
            figure.savefig(figures / f"{entry.name}.svg", metadata={"Date": None})
            figure.savefig(figures / f"{entry.name}.thumb.png", dpi=_THUMB_DPI)
        save(figure, figures / f"{entry.name}.png")
        entry.is_drawn = True

    def _write(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, lambda draft: draft.write_text(text, encoding="utf-8"))

    def _write_verdicts(self) -> None:
        verdicts = {id_: one for entry in self.entries for id_, one in entry.verdicts().items()}
        about = {"format": 1, "scale": self._scale, "seed": self._seed, "seeds": self._seeds}
        content = {**about, "verdicts": verdicts, "failures": self.failures}
        self._write(_VERDICTS, json.dumps(content, indent=1, sort_keys=True) + "\n")

    def _figure_page(self, entry: Entry) -> str:
        one, effort, place = entry.experiment, entry.effort, self._names.index(entry.name)
        provenance = [
            (words, format_time(found) if key == "simulated_ps" else _words(found))
            for key, words in _SHOWN.items()
            if (found := entry.provenance.get(key)) not in (None, "", {}, [], [""])
        ]
        if effort:
            rate = f"{effort['packet_hops_per_s'] / 1e6:.2f} M packet-hops/s"
            provenance.append(("time", f"{effort['wall_s']:.1f} s, {rate}"))
        seeding = ""
        if self._seeds not in (None, 1) and entry.table is not None:
            seeding = seeding_text(one, entry.table, self._seeds) or _SEEDINGS[one.seeding].format(
                seeds_text(self._seed, self._seeds)
            )
        parts = about(one)
        for group, name in ((group, name) for group, texts in SHARED.items() for name in texts):
            parts += shared(group)[name] if re.search(rf"(\b{group}\.|`){name}`", " ".join(parts)) else []
        return html(
            "figure.html", title=f"{entry.heading}: {one.title}", entry=entry, figure=one,
            claims=claim_rows(entry.checks), seeding=seeding, provenance=provenance, is_drawn=entry.is_drawn,
            about=[_with_code(part) for part in parts],
            scenes=[scene for scene in self._scenes() if scene.figure == one.name],
            before=self._names[place - 1] if place else "", after=(*self._names, "")[place + 1],
        )  # fmt: skip

    def _front_page(self) -> str:
        done = [entry for entry in self.entries if entry.table is not None]
        seconds = sum(float(entry.effort.get("wall_s", 0.0)) for entry in done)
        hops = sum(int(entry.provenance.get("packet_hops", 0)) for entry in done)
        groups: dict[str, list[Entry]] = {}
        for entry in self.entries:
            groups.setdefault(_name(entry.name.partition(".")[0]), []).append(entry)
        return html(
            "index.html", title="rdmacc: figures and tables reproduced", version=metadata.version("rdmacc"),
            scale=self._scale, seeds=seeds_text(self._seed, self._seeds), done=len(self._added) - len(self.failures),
            planned=len(self._names), hops=f"{hops:,}",
            effort=f"{seconds:,.0f} s of simulation, {hops / seconds / 1e6:.2f} M/s" if seconds else "",
            kinds=KINDS, score=self._score(), failures=self.failures, groups=groups, scenes=self._scenes(),
            changes=None if self._before is None else self.changes(), since=self._since,
        )  # fmt: skip

    def _score(self) -> list[dict[str, Any]]:
        rows = []
        groups: dict[str, list[dict[str, pd.DataFrame]]] = {}
        for entry in (each for each in self.entries if each.checks):
            groups.setdefault(entry.name.partition(".")[0], []).append(entry.checks)
        for group, every in groups.items():
            for reading in dict.fromkeys(reading for checks in every for reading in checks):
                found = pd.concat([one.get(reading, one[DEFAULT]) for one in every], ignore_index=True)
                published = found["by"] == By.PAPER.value
                for words, chosen in (("the paper's claims", published), ("checks we added", ~published)):
                    if chosen.any():
                        name = f"{_name(group)}: {words}" if group in PAPERS else group
                        name += "" if reading == DEFAULT else f", reading: {reading}"
                        counts = [*count_outcomes(found[chosen]).values()]
                        rows.append({"name": name, "claims": int(chosen.sum()), "counts": counts})
        return rows


def _is_draft(path: Path) -> bool:
    """Return whether a file was left behind by a killed `write_atomically`."""
    return path.name.startswith(".") and path.suffix == ".tmp"


def read_verdicts(path: str | Path) -> dict[str, str]:
    """Return the verdicts of a report, by claim; raise `ConfigError` if it is not a report."""
    file = Path(path) / _VERDICTS if Path(path).is_dir() else Path(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        if content["format"] != 1:
            raise ConfigError("report", str(path), f"in format 1, not {content['format']}")
        return {str(name): str(verdict) for name, verdict in content["verdicts"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError("report", str(path), f"a report's folder ({type(error).__name__}: {error})") from None


def _with_code(text: str) -> Markup:
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _name(group: str) -> str:
    return PAPERS[group].name if group in PAPERS else group


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in sorted(value.items())) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
