"""The commands about experiments, ``list``, ``run``, ``plot`` and ``verify``, and the options that commands share.

Each command imports only what it needs, which keeps ``rdmacc --help`` fast.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rdmacc.errors import ConfigError, reason_of, written

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import pandas as pd

    from rdmacc.experiments import Experiment
    from rdmacc.sweep.run import Sweep

FAILED, _INTERRUPTED = 1, 130  # exit codes; 2 is for a wrong input


SeedOption = Annotated[int, typer.Option(min=0, help="Random seed.")]
SeedsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Number of seeds, starting at --seed. Default: the experiment's own number."),
]
EngineOption = Annotated[Literal["auto", "compiled", "simpy"], typer.Option(help="Simulation engine.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
_NameArgument = Annotated[str, typer.Argument(help="Experiment, such as dart.fig3, or group, such as dart.")]
Scale = Literal["quick", "paper"]
ScaleOption = Annotated[Scale, typer.Option(help="quick takes seconds; paper uses the paper's own size.")]
JobsOption = Annotated[
    int | None,
    typer.Option(min=1, help="Number of processes. Default: 1 at quick scale, otherwise one per CPU."),
]
_SetOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Set a scheme parameter; repeatable.")
]
StoreOption = Annotated[
    Path | None,
    typer.Option(help="Folder of computed points. Default: $RDMACC_STORE_DIR, or a folder in the user's data."),
]


_ReadingOption = Annotated[
    str,
    typer.Option(help="Reading of a sentence that the paper leaves open; `rdmacc readings` lists them."),
]
DaskOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Compute on a Dask cluster; local:4 starts four workers on this machine."),
]


def executor_of(dask: str | None) -> AbstractContextManager[Executor | None]:
    """Return the executor for ``--dask``; None without it."""
    if dask is None:
        return nullcontext()
    from rdmacc.sweep.cluster import dask_executor

    return dask_executor(dask)


def refuse(context: typer.Context, names: str, allowed: str) -> None:
    """Raise a ConfigError for the first of some options that was given, because it would have no effect."""
    for one in context.command.params:
        source = context.get_parameter_source(one.name or "")
        if one.name in names.split() and source is not None and source.name == "COMMANDLINE":
            value = context.params[one.name]
            raise ConfigError(one.opts[0], str(value) if isinstance(value, Path) else value, allowed)


def text_of(page: Path | None) -> str:
    """Return the text of a page to fill in; read it first, so that a missing page is an error at once."""
    return "" if page is None else page.read_text(encoding="utf-8")


def check_folder(folder: Path) -> None:
    """Make a folder, and raise a ConfigError if no file can be written in it; call it before what takes long."""
    from tempfile import TemporaryFile

    with written(folder, "folder"):
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()


def say_failed(name: str, reason: str) -> None:
    typer.echo(f"rdmacc: {reason if reason.startswith(name) else f'{name}: {reason}'}", err=True)


@contextmanager
def resumable() -> Iterator[None]:
    """Say on Ctrl-C that finished points are kept."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo("rdmacc: interrupted; finished points are kept; the same command resumes from them", err=True)
        raise typer.Exit(_INTERRUPTED) from None


class _Failures:
    """Failed experiments: each failure is reported when it happens, and all are listed at the end."""

    def __init__(self, chosen: Sequence[Experiment]) -> None:
        self.names: list[str] = []
        self._total = len(chosen)

    @contextmanager
    def caught(self, one: Experiment) -> Iterator[None]:
        """Record a failure of `one` and go on; with a single experiment, re-raise a wrong input for its exit code."""
        try:
            yield
        except BrokenPipeError:  # whoever reads the output, such as head, has gone
            raise
        except Exception as error:
            if self._total == 1 and isinstance(error, ConfigError | OSError):
                raise
            self.names.append(one.name)
            say_failed(one.name, reason_of(error))

    def tell(self) -> None:
        if self.names:
            if self._total > 1:
                typer.echo(f"rdmacc: {len(self.names)} of {self._total} failed: {', '.join(self.names)}", err=True)
            raise typer.Exit(FAILED)


def _asked(
    scale: Scale, seed: int, seeds: int | None, changed: Iterable[str] | None, store: Path | None
) -> dict[str, Any]:
    """Return the arguments that `sweep` and `stored` share."""
    from rdmacc.sweep.store import Store

    return {"scale": scale, "seed": seed, "seeds": seeds, "changes": _changes(changed), "store": Store(store)}


def _changes(pairs: Iterable[str] | None) -> dict[str, Any]:
    """Return parameters by name: numbers and true or false are converted; other values, such as 55us, stay strings."""
    changes: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise ConfigError("--set", pair, "of the form KEY=VALUE, such as alpha_period_ps=55us")
        try:
            changes[name] = json.loads(value)
        except json.JSONDecodeError:
            changes[name] = value
    return changes


def list_experiments(
    name: Annotated[
        str | None, typer.Argument(help="Experiment, such as dart.fig3, or group, such as dart; default: all.")
    ] = None,
) -> None:
    """List the experiments, one per figure or table of a paper."""
    from rdmacc.experiments import EXPERIMENTS, select
    from rdmacc.show.tables import table

    chosen = EXPERIMENTS.values() if name is None else select(name)
    rows = [(one.name, one.description, str(len(one.claims))) for one in chosen]
    typer.echo(table(["experiment", "what it shows", "claims"], rows, "<<>"))


def list_readings(name: _NameArgument) -> None:
    """List the questions that a paper leaves open and their readings; the first one of each is the default."""
    from rdmacc.experiments import select
    from rdmacc.experiments.framework.reading import questions_of

    paper = select(name)[0].name
    for question in questions_of(paper):
        typer.echo(f'{question.title} ({question.place}: "{question.sentence}")')
        for one in question.readings:
            typer.echo(f"  {one.name}{' (default)' if one is question.default else ''}: {one.answer}")
            typer.echo(f"      {one.evidence}")
        typer.echo(f"  why the default: {question.why}\n")
    if not questions_of(paper):
        typer.echo(f"{name} has no recorded questions")


def run(
    name: _NameArgument,
    scale: ScaleOption = "quick",
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    changed: _SetOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for each experiment's table.parquet, figure.png and claims.csv.", file_okay=False),
    ] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    engine: EngineOption = "auto",
    dask: DaskOption = None,
) -> None:
    """Run experiments; print their measurements and which claims hold. Stored points are not rerun."""
    from rdmacc.experiments import select

    asked = _asked(scale, seed, seeds, changed, store)
    if out is not None:
        check_folder(out)
    contents, failures = [], _Failures(select(name))
    for one, found in _swept(name, asked, jobs, engine, dask, failures):
        with failures.caught(one):
            table = found.table
            checks = one.check(table, scale)
            saved = _save(one, found, table, checks, out / one.name) if out is not None else []
            if as_json:
                contents.append(_content(one, found, table, checks))
            else:
                typer.echo(_text(one, found, table, checks, saved))
    if as_json:
        typer.echo(json.dumps(contents, indent=2))
    failures.tell()


def verify(
    name: _NameArgument,
    scale: ScaleOption = "quick",
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    jobs: JobsOption = None,
    changed: _SetOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
    engine: EngineOption = "auto",
    dask: DaskOption = None,
    reading: _ReadingOption = "default",
) -> None:
    """Check the claims of the papers. The exit code is 0 if all could be judged, and all verdicts match the record.

    Readings other than the default have no recorded verdicts; the default reading's are shown for comparison.
    """
    import pandas as pd

    from rdmacc.experiments import select
    from rdmacc.experiments.framework.reading import DEFAULT, check_reading
    from rdmacc.experiments.ledger import printed as report

    asked = _asked(scale, seed, seeds, changed, store)
    reading, every, failures = check_reading(name, reading), [], _Failures(select(name))
    for one, found in _swept(name, asked, jobs, engine, dask, failures):
        with failures.caught(one):
            if reading != DEFAULT and reading not in one.readings_in(found.table):
                continue
            checks = one.check(found.table, scale, reading)
            if reading != DEFAULT:
                checks = report.under_reading(checks, one.check(found.table, scale))
            every.append(checks.assign(experiment=one.name))
            if not as_json and len(checks):
                parts = (one.description, report.seeding_text(one, found.table, seeds), report.checks_text(checks))
                typer.echo("\n\n".join(part for part in parts if part) + "\n")
    if not every:
        failures.tell()
        raise ConfigError("--reading", reading, f"a reading that the table of {name} at {scale} scale covers")
    checks = pd.concat(every, ignore_index=True)
    good = not report.surprises_in(checks)
    if as_json:
        content = {
            "scale": scale,
            "seed": seed,
            "seeds": seeds,
            "as_expected": good,
            "failed": failures.names,
            "checks": report.records(checks),
        }
        typer.echo(json.dumps(content, indent=2))
    else:
        typer.echo(report.match_text(checks))
        typer.echo(f"{name}, {scale} scale, {report.seeds_text(seed, seeds)}: {report.counts_text(checks)}")
        _say_standing([str(one) for one in checks["experiment"].unique()])
    failures.tell()
    if not good:
        raise typer.Exit(FAILED)


def plot(
    name: _NameArgument,
    scale: ScaleOption = "quick",
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    changed: _SetOption = None,
    out: Annotated[Path, typer.Option(help="Folder to save the figures in.", file_okay=False)] = Path(),
    store: StoreOption = None,
    reading: _ReadingOption = "default",
) -> None:
    """Plot stored points or bundled tables, without computing anything."""
    from rdmacc.experiments import load_summary, select
    from rdmacc.experiments.framework.reading import DEFAULT, check_reading
    from rdmacc.show.style import save
    from rdmacc.sweep.run import stored

    asked = _asked(scale, seed, seeds, changed, store)
    chosen = select(name)
    failures = _Failures(chosen)
    for one in chosen:
        with failures.caught(one):
            found = stored(one, **asked)
            table = None if found.missing else found.table
            if table is None and not asked["changes"] and seeds is None:
                table = load_summary(one.name, scale, seed)
                _say_standing([one.name])
            if table is None:
                allowed = f"computed first; run `rdmacc run {one.name} --scale {scale}`"
                raise ConfigError("points", f"{len(found.missing)} of {len(found.points)} missing", allowed)
            if reading != DEFAULT:
                rows = one.under(table, check_reading(one.name, reading))
                if rows is None:
                    typer.echo(f"{one.name}: its table does not cover the reading {reading!r}", err=True)
                    continue
                table = rows
            suffix = "" if reading == DEFAULT else f".{reading.replace(' ', '-').replace(',', '')}"
            typer.echo(f"Saved {save(one.figure(table), out / f'{one.name}{suffix}.png')}")
    failures.tell()


def _swept(
    name: str, asked: dict[str, Any], jobs: int | None, engine: str, dask: str | None, failures: _Failures
) -> Iterable[tuple[Experiment, Sweep]]:
    from rdmacc.experiments import select
    from rdmacc.sweep.run import sweep

    with executor_of(dask) as executor:
        for one in select(name):
            found = None
            with resumable(), failures.caught(one):
                found = sweep(one, engine=engine, jobs=jobs, executor=executor, progress=True, **asked)
            if found is not None:
                yield one, found


def _say_standing(names: Sequence[str]) -> None:
    """Name stale bundled tables: the code that computed them behaved differently from the current code."""
    from rdmacc.experiments.ledger.score import standing

    found = standing().reindex(list(names)).dropna()
    for name in found.index[~found.astype(bool)]:
        typer.echo(
            f"{name}: the bundled table is stale; to recompute it, run `rdmacc run {name} --scale paper`", err=True
        )


def _save(one: Experiment, found: Sweep, table: pd.DataFrame, checks: pd.DataFrame, folder: Path) -> list[Path]:
    from rdmacc.show.style import save
    from rdmacc.sweep.store import write_atomically, write_table

    paths = [folder / name for name in ("table.parquet", "figure.png", "claims.csv")]
    summary = found.summary()
    if found.scale == "paper":  # lets a later version check whether the table is stale
        from rdmacc.experiments.ledger.record import behaviour

        summary["behaviour"] = behaviour(one)
    write_table(paths[0], table, summary)
    save(one.figure(table), paths[1])
    write_atomically(paths[2], lambda draft: checks.to_csv(draft, index=False))
    return paths


def _text(one: Experiment, found: Sweep, table: pd.DataFrame, checks: pd.DataFrame, saved: list[Path]) -> str:
    from rdmacc.experiments.ledger import printed as report
    from rdmacc.sweep.tidy import scalars

    summary = found.summary()
    changes = "".join(f", {name}={value}" for name, value in found.changes.items())
    parts = [
        f"{one.description} ({found.scale} scale, {report.seeds_text(found.seed, found.seeds)}{changes})",
        report.seeding_text(one, table, found.seeds),
        report.scalars_text(report.over_seeds(scalars(table), found.seeds)),
        report.checks_text(checks) if len(checks) else "",
        report.effort_text(found.reused, len(found.points), found.effort(), summary["packet_hops"]),
        "\n".join(f"Saved {path}" for path in saved),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _content(one: Experiment, found: Sweep, table: pd.DataFrame, checks: pd.DataFrame) -> dict[str, Any]:
    from rdmacc.experiments.ledger import printed as report
    from rdmacc.sweep.tidy import scalars

    return {
        **found.summary(),
        "effort": found.effort() | {"reused": found.reused},
        "measured": report.records(scalars(table)),
        "checks": report.records(checks),
        "as_expected": not report.surprises_in(checks),
    }
