"""The command line: ``rdmacc demo | list | run NAME | schemes [NAME] | bench``.

Each command imports what it needs, so that ``rdmacc --help`` is quick.
"""

from __future__ import annotations

import json
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from rdmacc.errors import ConfigError, RdmaccError

if TYPE_CHECKING:
    import pandas as pd

    from rdmacc.scheme import Scheme

__all__ = ["app", "main"]

app = typer.Typer(
    name="rdmacc",
    help="Study congestion control in RDMA datacenter networks, packet by packet.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Engine(StrEnum):
    """Engines to simulate with."""

    auto = "auto"
    compiled = "compiled"
    simpy = "simpy"


class Scale(StrEnum):
    """Scales of an experiment."""

    quick = "quick"
    paper = "paper"


class BenchEngine(StrEnum):
    """Engines to measure."""

    simpy = "simpy"
    compiled = "compiled"
    both = "both"


OutOption = Annotated[Path, typer.Option("--out", help="Folder for the picture.", file_okay=False)]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed of all randomness.")]
EngineOption = Annotated[Engine, typer.Option("--engine", help="Engine to simulate with.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def main() -> NoReturn:
    """Run the command line; a wrong input or a failed run is one line on standard error, and exit code 2."""
    try:
        app()
    except (RdmaccError, OSError) as error:
        typer.echo(f"rdmacc: {error}", err=True)
        raise SystemExit(2) from None
    raise SystemExit(0)


def _version(wanted: bool) -> None:
    if wanted:
        from rdmacc import __version__

        typer.echo(f"rdmacc {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(out: OutOption = Path(), seed: SeedOption = 0, engine: EngineOption = Engine.simpy) -> None:
    """Run a 16-to-1 incast beside a long flow, under DCQCN and DASR: a table and a picture, in seconds."""
    from rdmacc import demo as example

    found = example.run(engine=engine.value, seed=seed)
    typer.echo(example.table_text(example.measure(found)))
    typer.echo(f"\nSaved {example.save(found, out)}")


@app.command("list")
def list_experiments() -> None:
    """List the experiments: figures and tables of the papers."""
    from rdmacc.experiments import EXPERIMENTS
    from rdmacc.tables import text_table

    rows = [(name, one.description, str(len(one.claims))) for name, one in EXPERIMENTS.items()]
    typer.echo(text_table(["experiment", "what it shows", "claims"], rows, "<<>"))


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Experiment, such as dart.fig3: see `rdmacc list`.")],
    scale: Annotated[Scale, typer.Option("--scale", help="Seconds, or the paper's own.")] = Scale.quick,
    seed: SeedOption = 0,
    out: OutOption = Path(),
    as_json: JsonOption = False,
    engine: EngineOption = Engine.auto,
) -> None:
    """Run an experiment: print what was measured and which claims hold, and save the figure."""
    from rdmacc import plotting
    from rdmacc.experiments import experiment
    from rdmacc.tidy import scalars

    one = experiment(name)
    table = one.run(scale.value, seed, engine.value)
    checks = one.check(table, scale.value)
    path = plotting.save(one.plot(table), out / f"{name}.png")
    if as_json:
        typer.echo(_run_json(name, scale.value, seed, scalars(table), checks, path))
        return
    typer.echo(f"{one.description} ({scale.value} scale, seed {seed})\n")
    typer.echo(_scalars_text(scalars(table)))
    typer.echo(f"\n{_checks_text(checks)}\n\nSaved {path}")


def _run_json(name: str, scale: str, seed: int, numbers: pd.DataFrame, checks: pd.DataFrame, path: Path) -> str:
    from rdmacc import __version__

    content = {
        "experiment": name,
        "scale": scale,
        "seed": seed,
        "version": __version__,
        "figure": str(path),
        "measured": json.loads(numbers.to_json(orient="records", double_precision=15)),
        "checks": json.loads(checks.to_json(orient="records")),
    }
    return json.dumps(content, indent=2)


def _scalars_text(numbers: pd.DataFrame) -> str:
    """Return the numbers of a table: a column for each point, in blocks that fit the terminal."""
    from rdmacc.tables import text_table

    columns: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for point, rows in numbers.groupby("point", sort=False):
        cells = [_quantity(value, unit) for value, unit in zip(rows["value"], rows["unit"], strict=True)]
        columns.setdefault(tuple(rows["quantity"]), {})[str(point)] = cells
    blocks = []
    for quantities, by_point in columns.items():
        for points in _fitting(quantities, by_point):
            rows_of_block = [list(row) for row in zip(quantities, *(by_point[point] for point in points))]
            blocks.append(text_table(["", *points], rows_of_block))
    return "\n\n".join(blocks)


def _fitting(quantities: tuple[str, ...], by_point: dict[str, list[str]]) -> list[list[str]]:
    """Return the points in groups whose columns fit beside the quantities' names, at least one in each."""
    room = max(shutil.get_terminal_size((120, 24)).columns, 80) - max(map(len, quantities))
    groups: list[list[str]] = []
    left = 0
    for point, cells in by_point.items():
        width = 2 + max(map(len, (point, *cells)))
        if not groups or width > left:
            groups.append([])
            left = room
        groups[-1].append(point)
        left -= width
    return groups


def _quantity(value: float, unit: str) -> str:
    from rdmacc.units import format_rate, format_size, format_time

    if value != value:
        return "-"
    formats = {"ps": format_time, "bps": format_rate, "bytes": format_size}
    return formats[unit](value) if unit in formats else f"{value:,.6g}"


def _checks_text(checks: pd.DataFrame) -> str:
    """Return the claims, each with what was measured under what was published."""
    lines = []
    for row in checks.to_dict("records"):
        lines.append(f"[{'holds' if row['holds'] else 'DOES NOT HOLD'}] {row['id']} ({row['place']})")
        lines.append(f"    {row['quantity']}, {row['condition']}")
        lines.append(f"    paper:    {row['published']}  [{row['band']}]")
        lines.append(f"    measured: {row['measured']}")
    held = int(checks["holds"].sum())
    lines.append(f"{held} of {len(checks)} claims hold")
    return "\n".join(lines)


@app.command()
def schemes(
    name: Annotated[str | None, typer.Argument(help="Scheme: prints all its parameters.")] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", help="As this paper or simulator sets them, or what it sets."),
    ] = None,
) -> None:
    """List schemes and presets, what a preset sets, or all parameters of one scheme with unit, symbol and source."""
    from rdmacc.presets import PRESETS
    from rdmacc.presets import preset as find_preset
    from rdmacc.scheme import SCHEMES, scheme, scheme_table
    from rdmacc.tables import text_table
    from rdmacc.units import format_rate

    chosen = find_preset(preset) if preset is not None else None
    if name is None and chosen is None:
        composed = [(known, _composition(scheme(known))) for known in SCHEMES]
        typer.echo(text_table(["scheme", "composed of"], composed, "<<"))
        titles = [(known, one.title, format_rate(one.line_bps), ", ".join(one)) for known, one in PRESETS.items()]
        typer.echo("\n" + text_table(["preset", "of", "link", "schemes"], titles, "<<><"))
    elif name is None and chosen is not None:
        settings = [
            (one.scheme, one.parameter, str(one.value), one.source) for each in chosen for one in chosen.settings(each)
        ]
        typer.echo(text_table(["scheme", "parameter", "value", "source"], settings, "<<><"))
    else:
        assert name is not None
        table = scheme_table(name) if chosen is None else scheme_table(chosen[name], chosen.sources(name))
        typer.echo(_scheme_text(table))


def _composition(one: Scheme) -> str:
    return ", ".join(type(part).__name__ for part in (*one.components, one.buffer))


def _scheme_text(table: list[dict[str, Any]]) -> str:
    from rdmacc.tables import text_table

    parameters = [
        (
            f"{row['component']}.{row['parameter']}",
            _parameter(row["value"], row["unit"]),
            row["unit"],
            row["symbol"],
            row["source"],
            row["doc"],
        )
        for row in table
    ]
    headers = ["parameter", "value", "base unit", "symbol", "source", "what it does"]
    return text_table(headers, parameters, "<><<<<")


def _parameter(value: Any, unit: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return _quantity(value, unit) if unit else f"{value:g}"


@app.command()
def bench(
    as_json: JsonOption = False,
    engine: Annotated[BenchEngine, typer.Option("--engine", help="What to measure.")] = BenchEngine.simpy,
    only: Annotated[list[str] | None, typer.Option("--only", help="Case a, b or c; may be repeated.")] = None,
    scale: Annotated[float | None, typer.Option("--scale", help="Part of each case's messages.")] = None,
) -> None:
    """Measure packet-hops per second and memory: incast, permutation, random flows on 1,024 hosts."""
    from tqdm.auto import tqdm

    from rdmacc import bench as benchmark

    engines = ["simpy", "compiled"] if engine is BenchEngine.both else [engine.value]
    cases = only or list(benchmark.CASES)
    unknown = [name for name in cases if name not in benchmark.CASES]
    if unknown:
        raise ConfigError("--only", unknown[0], f"one of {', '.join(benchmark.CASES)}")
    total = len(engines) * len(cases)
    running = benchmark.run(engines, cases, scale)
    measured = list(tqdm(running, desc="rdmacc bench", unit="case", total=total, leave=False))
    if as_json:
        ratios = benchmark.ratios(measured)
        content = {"measurements": [one.to_dict() for one in measured], "compiled_over_simpy": ratios}
        typer.echo(json.dumps(content, indent=2))
    else:
        typer.echo(benchmark.table_text(measured))


if __name__ == "__main__":
    sys.exit(main())
