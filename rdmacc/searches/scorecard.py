"""The scorecard: each scheme's worst case in fixed ranges, by five objectives at three rates, with cause and verdict.

The rules for verdicts were written before the table was computed:

1. A value at or beyond the objective's second bound (`GRADES`) is a find.
2. Its cause is the kind of time, among the eleven of `result.explain`, that took most of the worst message's time. The
   worst message has the largest completion time over max-min sharing; for "lost goodput" it is the last to end, and for
   "needless retransmissions" the one with most of them.
3. ``known.csv`` lists sentences, with the schemes, kinds of time and objectives that they apply to. A find that matches
   a row is *known from its paper* or *known from elsewhere*, as the first such row says. Any other is *found here*.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from rdmacc.caching.sources import git_commit
from rdmacc.results.explain.explanation import Explanation
from rdmacc.results.result import Result
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.searches.case import Case
from rdmacc.searches.evaluate import Run, Work, measures_of
from rdmacc.searches.objectives import OBJECTIVES, fair_ps, fct_ps
from rdmacc.searches.search import Search, search
from rdmacc.sweep.fingerprint import versions
from rdmacc.sweep.store import write_table
from rdmacc.units import format_rate, format_size

BOX: dict[str, Any] = {
    "delay_ps": ("200 ns", "5 us"),
    "senders": (1, 24),
    "size_bytes": ("1 kB", "200 kB"),
    "stagger_ps": ("0 us", "20 us"),
    "rounds": (1, 2),
    "long_flows": (0, 3),
    "long_bytes": ("200 kB", "1 MB"),
    "after_ps": ("0 us", "50 us"),
    "victims": (0, 4),
    "slow": (0.25, 1.0),
    "buffer_share": (0.1, 1.0),
}
"""Ranges of `rdmacc.Case`, on a star: no loss, no failures, exact clocks."""
RATES = ("10 Gb/s", "100 Gb/s", "400 Gb/s")
GRADES: dict[str, tuple[float, ...]] = {
    "p99 over fair": (2.0, 5.0, 20.0, 100.0),
    "lost goodput": (0.1, 0.25, 0.5, 0.75),
    "Jain": (0.9, 0.8, 0.6, 0.4),
    "peak queue": (1e5, 3e5, 1e6, 3e6),
    "needless retransmissions": (0.001, 0.01, 0.05, 0.2),
}
"""Bounds of each objective: the grade is the number of bounds that a value reaches; a find has grade 2 or more."""
RUNS, SEED = (20, 6, 4), 0
"""Runs per scheme and rate: a random sample for all objectives; by TPE and for shrinking, for each objective."""
TABLE, KNOWN = Path(__file__).with_name("scorecard.parquet"), Path(__file__).with_name("known.csv")
VERDICTS = {"paper": "known from its paper", "elsewhere": "known from elsewhere", "": "found here"}


def rows_of(table: pd.DataFrame) -> list[Any]:
    """Return the rows of a table, each with its columns as attributes."""
    return list(table.itertuples())


def grade(objective: str, value: float) -> int:
    """Return how many bounds a value reaches."""
    sign = OBJECTIVES[objective].sign
    return sum(sign * value >= sign * bound for bound in GRADES[objective])


def measured(
    scheme: str | Scheme,
    rate: str,
    *,
    control: bool = False,
    jobs: int = 1,
    runs: tuple[int, int, int] = RUNS,
) -> pd.DataFrame:
    """Return a scheme's rows at a rate, in the form of `bundled`, one for each objective.

    With `control`, also draw as many random runs as the five searches take together.
    """
    began, names = time.process_time(), list(GRADES)
    given: dict[str, Any] = {"cases": Case(rate_bps=rate), "seed": SEED, "jobs": jobs, "progress": False}
    size, refined, shrinking = runs
    total = size + refined * len(names)
    drawn = search(scheme, BOX, names, budget=total if control else size, sampler="random", **given)
    sample = Search(drawn.runs[:size], drawn.work, drawn.goal, _axes=drawn._axes)
    rows = []
    for place, name in enumerate(names):
        found = search(scheme, BOX, name, budget=refined, after=sample, **given)
        small = found.shrink(most=shrinking) if grade(name, found.best.objectives[0]) >= 2 else found
        rows.append(
            {
                "scheme": as_scheme(scheme).name,
                "rate_bps": float(small.case.rate_bps),
                "objective": name,
                "value": small.best.objectives[0],
                "found_by": "search",
                "searched": found.best.objectives[0],
                "sampled": _worst(drawn, place, size),
                "chance": _worst(drawn, place, size + refined) if control else np.nan,
                "chance_all": _worst(drawn, place, total) if control else np.nan,
                **_about(name, small),
                "broke": len(found.finds),
                "broken": found.finds[0].problem if found.finds else "",
            }
        )
    rows_found = with_earlier(pd.DataFrame(rows), scheme, rate)
    return rows_found.assign(cpu_s=round(time.process_time() - began, 2))


def with_earlier(rows: pd.DataFrame, scheme: str | Scheme, rate: str) -> pd.DataFrame:
    """Return a scheme's rows at a rate, replaced by an earlier search's case where that is worse."""
    names, known = list(GRADES), []
    for case in (Case(rate_bps=rate, **one.case) for one in finds() if one.is_earlier):
        known.append((case, Work(as_scheme(scheme), (case,), measures_of(as_scheme(scheme), names))(0, {})))
    changed: list[Any] = rows.to_dict("records")
    for row in changed:
        place, sign = names.index(row["objective"]), OBJECTIVES[row["objective"]].sign
        case, worst = max(known, key=lambda one: sign * one[1].objectives[place] if one[1].objectives else -np.inf)
        row["earlier"] = worst.objectives[place] if worst.objectives else np.nan
        if sign * row["earlier"] > sign * row["value"]:
            alone = Work(as_scheme(scheme), (case,), (OBJECTIVES[row["objective"]],))
            run = replace(worst, objectives=(row["earlier"],))
            row |= {"value": row["earlier"], "found_by": "earlier case"}
            row |= _about(row["objective"], Search([run], alone, "worst"))
    return pd.DataFrame(changed)


def _about(objective: str, small: Search) -> dict[str, Any]:
    return {"line": small.line, **_cause(objective, small), "problem": small.best.problem}


def _worst(drawn: Search, place: int, count: int) -> float:
    known: list[Run] = [run for run in drawn.runs[:count] if run.objectives]
    return max(known, key=lambda run: drawn.score(run, place)).objectives[place]


def _cause(objective: str, small: Search) -> dict[str, Any]:
    """Return what took most of the worst message's time, and the sentence about it."""
    case, result = small.case, small.result()
    why: Explanation = result.explain(result.flows["flow"].iloc[_unluckiest(objective, case, result)])
    parts = why.parts.sort_values("time_ps", ascending=False, kind="stable").iloc[0]
    head, _, rest = " ".join(why.title.split()).partition(" For ")
    cause = f"{head} For {rest.split('. For ')[0]}".rstrip(".")
    return {"kind": parts["kind"], "share": float(parts["share"]), "cause": cause}


def _unluckiest(objective: str, case: Case, result: Result) -> int:
    took = fct_ps(result)
    if objective == "lost goodput":
        return int((took + result.flows["start_ps"].to_numpy(np.float64)).argmax())
    if objective == "needless retransmissions" and result.flows["retransmissions"].max() > 0:
        return int(result.flows["retransmissions"].to_numpy(np.float64).argmax())
    return int((took / fair_ps(case, result)).argmax())


@cache
def known() -> pd.DataFrame:
    """Return the known sentences in order: `schemes`, `kinds`, `objectives` (lists), `origin`, `source`, `sentence`."""
    table = pd.read_csv(KNOWN)
    return table.assign(**{name: table[name].str.split(";") for name in ("schemes", "kinds", "objectives")})


def judged(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with `grade`, `verdict` (empty if it is no find), `source` and `sentence`."""
    rows = []
    for one in rows_of(table):
        reached = grade(one.objective, one.value)
        told = [row for row in rows_of(known()) if one.scheme in row.schemes and one.kind in row.kinds]
        match = next((row for row in told if one.objective in row.objectives), None) if reached >= 2 else None
        verdict = VERDICTS["" if match is None else str(match.origin)] if reached >= 2 else ""
        about = ("", "") if match is None else (match.source, match.sentence)
        rows.append((reached, verdict, *about))
    return table.assign(**dict(zip(("grade", "verdict", "source", "sentence"), zip(*rows, strict=True), strict=True)))


def save(table: pd.DataFrame, path: Path) -> None:
    """Write rows and how they were computed, replacing stored rows of the same schemes and rates."""
    keys = ["scheme", "rate_bps", "objective"]
    table = table.assign(commit=git_commit(), date=time.strftime("%Y-%m-%d", time.gmtime()))
    if path.exists():
        old = pq.read_table(path).to_pandas()
        table = pd.concat([old, table]).drop_duplicates(keys, keep="last")
    about = {
        "experiment": "scorecard", "box": {name: list(ends) for name, ends in BOX.items()}, "seed": SEED,
        "runs": dict(zip(("sample", "refined", "shrinking"), RUNS, strict=True)), "versions": versions(),
    }  # fmt: skip
    write_table(path, table.reset_index(drop=True), about)


def bundled() -> pd.DataFrame:
    """Return the bundled table with its verdicts; a row for each scheme, rate and objective.

    Returns
    -------
    DataFrame
        `value` of the case that `line` runs: the worst one found (`searched`), shrunk, or a worse one of an earlier
        search (`found_by`; `earlier` has the worst of these); `sampled`, the worst of the sample; at 100 Gb/s,
        `chance` and `chance_all`, the worst of as many random runs as this objective's search, or all five, took;
        `kind`, `share` and `cause` of the worst message; how many runs `broke`, and how the first did (`broken`);
        `cpu_s`, for the scheme at that rate; `commit` and `date` of the computation; the verdict.
    """
    return judged(pq.read_table(TABLE).to_pandas())


def shown(objective: str, value: float) -> str:
    """Return a value with its unit, short."""
    if objective == "peak queue":
        return format_size(value, 2)
    if OBJECTIVES[objective].unit == "share":
        value = value if abs(value) >= 5e-4 else 0.0
        return f"{value:.0%}" if value == 0 or value >= 0.01 else f"{value:.1%}"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def text(table: pd.DataFrame, others: pd.DataFrame) -> Iterator[str]:
    """Yield lines about a scheme: at each rate, its value, its rank, the line, cause and verdict."""
    for one in rows_of(table):
        scheme, name, rate, value = one.scheme, one.objective, one.rate_bps, one.value
        beside = others[(others["objective"] == name) & (others["rate_bps"] == rate) & (others["scheme"] != scheme)]
        sign = OBJECTIVES[name].sign
        better = int((sign * beside["value"] < sign * value).sum())
        place = f"worse than {better} of {len(beside)} others" if len(beside) else "alone"
        yield f"{scheme}, {format_rate(rate)}, {name}: {shown(name, value)}, {place}; {one.verdict or 'no find'}"
        yield f"    {one.line}"
        yield f"    {one.cause}"
        if one.source:
            yield f'    {one.source}: "{one.sentence}"'
        if one.broke:
            yield f"    {one.broke} runs broke, such as: {one.broken}"


FINDS = Path(__file__).with_name("finds.toml")
STATUS = {
    "rule": "explained by the scheme's own rule",
    "ours": "due to a number that we assumed, open",
    "open": "open",
    "stated": "already stated by a paper or a page of this guide",
}


@dataclass(frozen=True, kw_only=True)
class Find:
    """A case in which a scheme does badly, and the change that shows why."""

    scheme: str
    objective: str
    case: dict[str, Any]
    change: dict[str, Any]
    status: str
    cause: str
    rule: str
    is_earlier: bool = False  # whether the scorecard's searches try the case for every scheme

    @cached_property
    def runs(self) -> tuple[Run, Run]:
        """The runs without and with the change."""
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


def finds_text(known: list[Find]) -> str:
    """Return finds as Markdown, by their status."""
    parts = []
    for status, title in STATUS.items():
        those = [one for one in known if one.status == status]
        parts += [f"### {len(those)} {title}\n", *(one.text() for one in those)]
    return "\n".join(parts)
