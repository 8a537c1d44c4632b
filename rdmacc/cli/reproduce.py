"""The command ``reproduce``: compute every figure and table of the papers, and write a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rdmacc.cli import commands
from rdmacc.errors import reason_of

if TYPE_CHECKING:
    from rdmacc.experiments import Experiment
    from rdmacc.experiments.ledger.report import Entry, Report


def reproduce(
    papers: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PAPER]...", help="A paper such as dart, or a figure such as dart.fig3; default: all."),
    ] = None,
    scale: commands.ScaleOption = "quick",
    seed: commands.SeedOption = 0,
    seeds: commands.SeedsOption = None,
    jobs: commands.JobsOption = None,
    out: Annotated[Path, typer.Option(help="Folder of the report.", file_okay=False)] = Path("report"),
    since: Annotated[
        Path | None, typer.Option(help="Folder of another report: list the verdicts that changed since.")
    ] = None,
    compute: Annotated[
        bool, typer.Option(help="With --no-compute, report only results that are stored or bundled, and run nothing.")
    ] = True,
    store: commands.StoreOption = None,
    engine: commands.EngineOption = "auto",
    dask: commands.DaskOption = None,
) -> None:
    """Reproduce the papers' figures and tables, and write a report as static HTML.

    You can stop it at any time; the same command resumes from the stored points. If a figure fails, the others
    still run, and the report gives the reason in its place. The exit code is 0 if everything succeeded.
    """
    from rdmacc.experiments.ledger.report import Report

    planned = _planned(papers)
    commands.check_folder(out)
    report = Report(out, planned, scale, seed, since, seeds)
    common: dict[str, Any] = {"scale": scale, "seed": seed, "seeds": seeds, "store": store}
    with commands.resumable():
        with commands.executor_of(dask) as executor:
            how = {"jobs": jobs, "engine": engine, "executor": executor}
            for entry in _computed(planned, common | how, report) if compute else _known(planned, common):
                report.add(entry)
        if compute:
            report.add_scenes()
    failed = report.failures
    done = len(planned) - len(failed)
    typer.echo(f"{done} of {len(planned)} figures and tables, {len(failed)} failed. Report: {report.index}")
    for change in report.changes():
        typer.echo(f"{change['id']}: {change['before']} before, {change['now']} now")
    if failed:
        for name, reason in failed.items():
            commands.say_failed(name, reason)
        if compute:
            typer.echo("rdmacc: finished points are kept; run the same command to compute the rest", err=True)
        raise typer.Exit(commands.FAILED)


def _planned(papers: Sequence[str] | None) -> list[Experiment]:
    """Return the requested experiments without repeats; default: those of all papers."""
    from rdmacc.experiments import select
    from rdmacc.experiments.framework.papers import PAPERS

    chosen = {one.name: one for name in papers or PAPERS for one in select(name)}
    return list(chosen.values())


def _computed(planned: Sequence[Experiment], how: dict[str, Any], report: Report) -> Iterator[Entry]:
    from rdmacc.experiments.ledger.report import Entry
    from rdmacc.show.bar import Bar
    from rdmacc.sweep.run import sweep

    hops = 0
    work = {one.name: _expected_hops(one, how["scale"]) for one in planned}
    with Bar(total=sum(work.values()), bar_format="{desc}: {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]") as bar:
        for number, one in enumerate(sorted(planned, key=lambda each: work[each.name])):
            words = f"{number} of {len(planned)} figures, {hops / 1e9:.2f} G packet-hops"
            failed = len(report.failures)
            bar.set_description_str(words + (f", {failed} failed" if failed else ""))
            try:
                found = sweep(one, progress=True, **how)
                entry = Entry(one, found.table, found.summary(), found.effort())
                hops += entry.provenance["packet_hops"]
            except Exception as error:
                entry = Entry(one, failure=reason_of(error))
            yield entry
            bar.update(work[one.name])


def _expected_hops(one: Experiment, scale: str) -> int:
    """Return the packet-hops of an experiment, from its bundled table; a guess without one."""
    from rdmacc.experiments import summary_path
    from rdmacc.sweep.store import read_table

    if scale == "paper" and summary_path(one.name).exists():
        return int(read_table(summary_path(one.name))[1].get("packet_hops", 0)) + 1
    try:
        return 1_000_000 * len(one.points(scale))
    except Exception:  # computing it will say why
        return 1


def _known(planned: Sequence[Experiment], common: dict[str, Any]) -> Iterator[Entry]:
    from rdmacc.experiments import load_summary, summary_path
    from rdmacc.experiments.ledger.report import Entry
    from rdmacc.experiments.ledger.score import words_of
    from rdmacc.sweep.run import stored
    from rdmacc.sweep.store import read_table

    for one in planned:
        try:
            found = stored(one, **common)
            shipped = load_summary(one.name, common["scale"], common["seed"]) if common["seeds"] is None else None
            if not found.missing:
                entry = Entry(one, found.table, found.summary(), found.effort())
            elif shipped is not None:
                made = read_table(summary_path(one.name))[1]
                entry = Entry(one, shipped, made | {"standing": words_of(one.name)})
            else:
                entry = Entry(one, failure=f"{len(found.missing)} of {len(found.points)} points are not computed yet")
        except Exception as error:
            entry = Entry(one, failure=reason_of(error))
        yield entry
