"""`docs/validation.md`, written from the bundled tables, the other simulators' results and the claims."""

from __future__ import annotations

from pathlib import Path

from rdmacc.experiments.validation.references import CLOSE, SIMULATORS, Simulator, compared, theirs
from ..api import *

_HEAD = """# Validation

Other simulators ran the flows of these experiments with their own code. This page compares their completion times with
ours, flow by flow. `rdmacc run validation.yaps --scale paper` reruns our side; theirs is in
`experiments/validation/data/references.csv.gz`."""

_READ = """Ratios are ours over theirs: of the means, the medians and the 99th percentiles. *Typical* and *largest* are
the median and the greatest relative difference of a flow. A flow is *exact* if its two times agree to the last digit
that the other simulator prints (csg-htsim: six digits). Where randomness is involved (marks, trimmed packets, spraying,
jitter, paths), the two draw different numbers, and only distributions can agree. A run with several seeds is compared
by the means of its ratios; exact flows and differences are those of the first seed."""

_LACKS = """**Not compared.** We have no results from the other simulators for NDP with packets of 4,000 B, RoCE with
1,500 B, ExpressPass with a first weight of 1/2 or at 60% load, and Homa at 80% load."""


def _table(name: str) -> pd.DataFrame:
    table = load_summary(f"validation.{name}")
    assert table is not None
    return table


def _shown() -> dict[str, Simulator]:
    """Return the simulators whose experiment has a bundled table."""
    return {name: one for name, one in SIMULATORS.items() if load_summary(f"validation.{name}") is not None}


def _runs() -> pd.DataFrame:
    return pd.concat({name: compared(_table(name), name) for name in _shown()})


def summary_text() -> str:
    """Return the agreement with other simulators, in three sentences."""
    runs = _runs()
    rest = runs[runs["exact"] < runs["flows"]]
    apart = (rest[["mean", "p50", "p99"]] - 1).abs().max(axis=1)
    far = rest[apart > CLOSE]
    names = [f"{SIMULATORS[name].title}'s {'; '.join(far.loc[name].index)}" for name in _shown() if name in far.index]
    beside = f"; {len(far)} are not ({'. '.join(names)})" if names else ""
    return (
        f"Compared with {len(_shown())} other simulators on {len(runs)} runs of theirs,"
        f" {runs['flows'].sum():,} flows: {runs['exact'].sum():,} agree to the last digit. In"
        f" {len(runs) - len(rest)} runs all flows do. Of the {len(rest)} other runs, {len(rest) - len(far)} are within"
        f" {show(CLOSE, '%')} at mean, median and 99th percentile{beside}."
    )


def validation_page() -> str:
    """Return the page, in Markdown."""
    parts = [_HEAD, summary_text(), _READ]
    for name, simulator in _shown().items():
        parts += _section(name, simulator)
    return "\n\n".join([*parts, _LACKS]) + "\n"


def _section(name: str, simulator: Simulator) -> list[str]:
    one, repository = experiment(f"validation.{name}"), simulator.repository
    at = f"commit `{simulator.commit}`" if simulator.commit else "commit not recorded"
    return [
        f"## {simulator.title}",
        f"[{repository}](https://github.com/{repository}), {at}; `{one.name}`: {simulator.settings}. A completion time"
        f" runs from {simulator.completion}.",
        _rows(name),
        *([simulator.why] if simulator.why else []),
        f"![Completion times, ours and theirs](_static/gallery/{one.name}.png)",
        _claims(one, _table(name)),
    ]


def _rows(name: str) -> str:
    rows = compared(_table(name), name)
    scenarios = theirs(name).drop_duplicates("point").set_index("point")
    lines = [
        "| run | scenario there | flows | exact | mean | median | p99 | typical | largest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for point, row in rows.iterrows():
        there = scenarios.loc[point]
        seeds = f" ({row['runs']:.0f} seeds)" if row["runs"] > 1 else ""
        ratios = " | ".join(f"{row[key]:.4f}" for key in ("mean", "p50", "p99"))
        lines.append(
            f"| {point}{seeds} | {there['scheme']} {there['scenario']} | {row['flows']:.0f} | {row['exact']:.0f} |"
            f" {ratios} | {row['typical']:.2%} | {row['largest']:.2%} |"
        )
    return "\n".join(lines)


def _claims(one: Experiment, table: pd.DataFrame) -> str:
    lines = ["What we check of these runs:", ""]
    for row in one.judge(table, "paper"):
        text = f"- **{row['id']}**, {row['verdict']}: {row['quantity']} ({row['condition']}); wanted: {row['band']}."
        if row["verdict"] != Outcome.HOLDS.value:
            is_above = isinstance(row["numbers"], Mapping) and any(
                isinstance(x, Mapping) for x in row["numbers"].values()
            )
            if not is_above:
                text += f" Measured: {row['measured']}."
            text += f" {row['reason']}"
        lines.append(text)
    return "\n".join(lines)


def write() -> None:
    """Write the page where it is: in a checkout."""
    page = Path(__file__).parents[2] / "docs" / "validation.md"
    if page.parent.exists():
        page.write_text(validation_page(), encoding="utf-8")
