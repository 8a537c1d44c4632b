"""The report of a reproduction: static HTML that needs no server and no network, a page for each figure.

``index.html`` has the score and a thumbnail of every figure; each figure's page its picture, its claims with verdicts
and reasons, its numbers and how they were made. ``report.json`` has all verdicts, to compare two reports.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from markupsafe import Markup, escape

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.claim import By, Outcome
from rdmacc.experiments.framework.experiment import Experiment, Seeding
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.ledger.moving import SCENES, Scene, write_scenes
from rdmacc.experiments.ledger.pages import KINDS, about, claim_rows, count_outcomes, html
from rdmacc.experiments.ledger.printed import seeding_text, seeds_text
from rdmacc.show.style import save, style
from rdmacc.sweep.store import write_atomically, write_table
from rdmacc.sweep.workers import reason_of
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


@dataclass(frozen=True, eq=False)
class Entry:
    """A figure that was reproduced, or could not be."""

    experiment: Experiment
    table: pd.DataFrame | None = None
    """Its numbers; None if it failed."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    effort: Mapping[str, Any] = field(default_factory=dict)
    """Where the numbers come from and what they took, as `rdmacc.sweep.Sweep` has both."""
    failure: str = ""
    """Why there are no numbers, no verdicts or no picture."""


class Report:
    """A report in a folder, complete after each figure that is added.

    `planned` has the figures in the order of the pages; `since` is another report, or its folder: the front page says
    which verdicts have changed since. A folder with anything but a report is refused.
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
        self._planned = list(planned)
        self._scale, self._seed, self._seeds, self._since = scale, seed, seeds, since
        self._before = read_verdicts(since) if since is not None else None
        self._entries: dict[str, Entry] = {}
        self._checks: dict[str, dict[str, pd.DataFrame]] = {}  # by figure and reading, the default first

    @property
    def index(self) -> Path:
        return self.folder / "index.html"

    def add(self, entry: Entry) -> None:
        """Add a figure: draw it, write its page and numbers, and bring the front page up to date.

        If it cannot be judged or drawn, its page says so, with the error.
        """
        one = entry.experiment
        if not self._entries:  # first the file that marks the folder as a report's, in case this is interrupted
            self._write_verdicts()
        self._entries[one.name] = entry
        if entry.table is not None:
            table = entry.table
            for words, make in (("not judged", self._judge), ("not drawn", self._draw)):
                try:
                    make(one, table)
                except Exception as error:
                    failures = filter(None, [entry.failure, f"{words}: {reason_of(error)}"])
                    self._entries[one.name] = entry = replace(entry, failure="; ".join(failures))
            data = self.folder / "data"
            write_table(data / f"{one.name}.parquet", table, entry.provenance)
            write_atomically(data / f"{one.name}.csv", lambda draft: table.to_csv(draft, index=False))
        self._write(f"{one.name}.html", self._figure_page(entry))
        self._write("index.html", self._front_page())
        self._write_verdicts()

    def add_scenes(self) -> None:
        """Show networks in motion on the pages of the figures that they are for."""
        write_scenes(self.folder / "moving", self._entries)
        for scene in self._scenes():
            self._write(f"{scene.figure}.html", self._figure_page(self._entries[scene.figure]))
        self._write("index.html", self._front_page())

    def _scenes(self) -> list[Scene]:
        return [one for one in SCENES if one.figure in self._entries
                and (self.folder / "moving" / f"{one.name}.html").exists()]  # fmt: skip

    @property
    def failures(self) -> dict[str, str]:
        """The figures that are not complete, each with the reason."""
        return {name: entry.failure for name, entry in self._ordered(self._entries) if entry.failure}

    def changes(self) -> list[dict[str, str]]:
        """Return the verdicts that differ from those of the other report: `id`, `before`, `now`, `page`."""
        before = self._before or {}
        return [
            {"id": id_, "before": before[id_], "now": verdict, "page": f"{name}.html"}
            for name, checks in self._ordered(self._checks)
            for id_, verdict in _verdicts(checks[DEFAULT]).items()
            if before.get(id_, verdict) != verdict
        ]

    def _ordered(self, known: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return [(one.name, known[one.name]) for one in self._planned if one.name in known]

    def _judge(self, one: Experiment, table: pd.DataFrame) -> None:
        readings = (DEFAULT, *one.readings_in(table))
        self._checks[one.name] = {reading: one.check(table, self._scale, reading) for reading in readings}

    def _draw(self, one: Experiment, table: pd.DataFrame) -> None:
        figures = self.folder / "figures"
        figures.mkdir(parents=True, exist_ok=True)
        for path in figures.glob(f"{one.name}.*"):
            path.unlink()  # of another run, in case this one fails
        figure = one.figure(table)
        with style(), mpl.rc_context({"svg.hashsalt": "rdmacc"}):  # the same picture gives the same bytes
            figure.savefig(figures / f"{one.name}.svg", metadata={"Date": None})
            figure.savefig(figures / f"{one.name}.thumb.png", dpi=_THUMB_DPI)
        save(figure, figures / f"{one.name}.png")

    def _write(self, name: str, text: str) -> None:
        write_atomically(self.folder / name, lambda draft: draft.write_text(text, encoding="utf-8"))

    def _write_verdicts(self) -> None:
        every = {
            id_: one for _, checks in self._ordered(self._checks) for id_, one in _verdicts(checks[DEFAULT]).items()
        }
        content = {
            "format": 1,
            "scale": self._scale,
            "seed": self._seed,
            "seeds": self._seeds,
            "verdicts": every,
            "failures": self.failures,
        }
        self._write(_VERDICTS, json.dumps(content, indent=1, sort_keys=True) + "\n")

    def _figure_page(self, entry: Entry) -> str:
        one, effort = entry.experiment, entry.effort
        names = [each.name for each in self._planned]
        place = names.index(one.name)
        provenance = [
            (words, format_time(found) if key == "simulated_ps" else _words(found))
            for key, words in _SHOWN.items()
            if (found := entry.provenance.get(key)) not in (None, "", {}, [], [""])
        ]
        if effort:
            rate = f"{effort['packet_hops_per_s'] / 1e6:.2f} M packet-hops/s"
            provenance.append(("time", f"{effort['wall_s']:.1f} s, {rate}"))
        return html(
            "figure.html",
            title=f"{_heading(one.name)}: {one.title}",
            entry=entry,
            figure=one,
            claims=claim_rows(self._checks.get(one.name, {})),
            seeding="" if entry.table is None else self._seeding(one, entry.table),
            about=[Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(part)))) for part in about(one)],
            provenance=provenance,
            is_drawn=self._is_drawn(entry),
            scenes=[scene for scene in self._scenes() if scene.figure == one.name],
            before=names[place - 1] if place else "",
            after=names[place + 1] if place + 1 < len(names) else "",
        )

    def _is_drawn(self, entry: Entry) -> bool:
        return entry.table is not None and (self.folder / "figures" / f"{entry.experiment.name}.png").exists()

    def _front_page(self) -> str:
        done = [entry for _, entry in self._ordered(self._entries) if entry.table is not None]
        seconds = sum(float(entry.effort.get("wall_s", 0.0)) for entry in done)
        hops = sum(int(entry.provenance.get("packet_hops", 0)) for entry in done)
        groups: dict[str, list[tuple[Entry, str, bool, dict[Outcome, int]]]] = {}
        for name, entry in self._ordered(self._entries):
            counts = count_outcomes(self._checks[name][DEFAULT]) if name in self._checks else {}
            some = {outcome: count for outcome, count in counts.items() if count}
            groups.setdefault(_name(name.partition(".")[0]), []).append(
                (entry, _heading(name), self._is_drawn(entry), some)
            )
        return html(
            "index.html",
            title="rdmacc: figures and tables reproduced",
            version=metadata.version("rdmacc"),
            scale=self._scale,
            seeds=seeds_text(self._seed, self._seeds),
            done=len(self._entries) - len(self.failures),
            planned=len(self._planned),
            hops=f"{hops:,}",
            effort=f"{seconds:,.0f} s of simulation, {hops / seconds / 1e6:.2f} M/s" if seconds else "",
            kinds=KINDS,
            score=self._score(),
            failures=self.failures,
            changes=None if self._before is None else self.changes(),
            since=self._since,
            groups=groups,
            scenes=self._scenes(),
        )

    def _seeding(self, one: Experiment, table: pd.DataFrame) -> str:
        """Return the role of several seeds for a figure, in words; empty for one seed."""
        if self._seeds in (None, 1):
            return ""
        same = seeding_text(one, table, self._seeds)
        return same or _SEEDINGS[one.seeding].format(seeds_text(self._seed, self._seeds))

    def _score(self) -> list[dict[str, Any]]:
        rows = []
        groups: dict[str, list[dict[str, pd.DataFrame]]] = {}
        for name, checks in self._ordered(self._checks):
            groups.setdefault(name.partition(".")[0], []).append(checks)
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


def _verdicts(checks: pd.DataFrame) -> dict[str, str]:
    return {str(id_): str(verdict) for id_, verdict in zip(checks["id"], checks["verdict"], strict=True)}


def _is_draft(path: Path) -> bool:
    """Return whether a file is what `write_atomically` leaves behind if its process is killed."""
    return path.name.startswith(".") and path.suffix == ".tmp"


def read_verdicts(path: str | Path) -> dict[str, str]:
    """Return the verdicts of a report, by claim; raise `ConfigError` if it is none."""
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


def _name(group: str) -> str:
    return PAPERS[group].name if group in PAPERS else group


def _heading(name: str) -> str:
    """Return a figure's name in words: "Dart, figure 2"."""
    group, _, rest = name.partition(".")
    found = re.fullmatch(r"(fig|table)(\d+)", rest)
    words = f"{'figure' if found[1] == 'fig' else 'table'} {int(found[2])}" if found else rest.replace("-", " ")
    return f"{_name(group)}, {words}"


def _words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {item}" for key, item in sorted(value.items())) or "-"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "-"
    return f"{value:,}" if isinstance(value, int) else str(value)
