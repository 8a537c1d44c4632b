"""The command line: ``rdmacc demo``, ``list``, ``run`` and so on; ``rdmacc --help`` has them all.

Each command imports only what it needs, which keeps ``rdmacc --help`` fast. Commands about experiments are in
`rdmacc.cli.commands`.
"""

import io
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal, NoReturn

import typer

from rdmacc.cli.commands import (
    EngineOption,
    JsonOption,
    SeedOption,
    list_experiments,
    list_readings,
    plot,
    refuse,
    run,
    text_of,
    verify,
)
from rdmacc.cli.reproduce import reproduce
from rdmacc.errors import ConfigError, RdmaccError, install_command

app = typer.Typer(
    name="rdmacc",
    help="Simulate congestion control in RDMA datacenter networks, packet by packet.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


_RTT = "12us"

app.command("list")(list_experiments)
app.command("readings")(list_readings)
app.command()(run)
app.command()(plot)
app.command()(verify)
app.command()(reproduce)


def main() -> NoReturn:
    """Run the command line; an invalid input or a failed run prints one line on standard error and exits with 2."""
    sys.stdout, sys.stderr = (one or io.StringIO() for one in (sys.stdout, sys.stderr))  # None if closed
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
def demo(
    out: Annotated[Path, typer.Option(help="Folder to save the figure in.", file_okay=False)] = Path(),
    seed: SeedOption = 0,
    engine: EngineOption = "simpy",
) -> None:
    """Run a 16-to-1 incast next to a long flow under DCQCN and DASR; print a table, save a figure. Takes seconds."""
    from rdmacc.cli import demo as example
    from rdmacc.show.style import save

    found = example.run(engine=engine, seed=seed)
    typer.echo(example.table_text(example.measure(found)))
    typer.echo(f"\nSaved {save(example.figure(found), out / 'rdmacc-demo.png')}")


@app.command()
def schemes(
    name: Annotated[str | None, typer.Argument(help="Scheme whose parameters to print.")] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="Settings of a paper or simulator; without a scheme, list the preset's schemes."),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(help="Rate of the hosts' links: print the values a scheme takes at that rate."),
    ] = None,
    rtt: Annotated[str, typer.Option(help="Largest base RTT of the network; needs --rate.")] = _RTT,
) -> None:
    """List schemes and presets, the settings of a preset, or the parameters of a scheme with their sources."""
    from rdmacc.interface import Links
    from rdmacc.presets import PRESETS
    from rdmacc.presets import preset as find_preset
    from rdmacc.schemes import SCHEMES, about, scheme_table
    from rdmacc.schemes.evidence import evidence_of
    from rdmacc.show.tables import table
    from rdmacc.units import format_rate

    if rate is not None and name is None:
        raise ConfigError("--rate", rate, "given with a scheme")
    if rtt != _RTT and rate is None:
        raise ConfigError("--rtt", rtt, "given with --rate")
    chosen = find_preset(preset) if preset is not None else None
    if name is None and chosen is None:
        typer.echo(table(["scheme", "what it does"], [(known, about(known)) for known in SCHEMES], "<<"))
        titles = [(known, one.title, format_rate(one.line_bps), ", ".join(one)) for known, one in PRESETS.items()]
        typer.echo("\n" + table(["preset", "source", "link rate", "schemes"], titles, "<<><"))
    elif name is None and chosen is not None:
        settings = [
            (one.scheme, one.parameter, str(one.value), evidence_of(one.source), one.source)
            for each in chosen
            for one in chosen.settings(each)
        ]
        typer.echo(table(["scheme", "parameter", "value", "evidence", "source"], settings, "<<><<"))
    else:
        assert name is not None
        links = None if rate is None else Links(rate, rtt)
        sources = {} if chosen is None else chosen.sources(name)
        typer.echo(_scheme_text(scheme_table(name if chosen is None else chosen[name], sources, links), links is None))


def _scheme_text(rows: list[dict[str, Any]], shows_rules: bool) -> str:
    from rdmacc.show.tables import table

    parameters = [
        (
            f"{row['component']}.{row['parameter']}",
            _parameter(row["scaled"] if shows_rules and row["scaled"] else row["value"], row["unit"]),
            row["unit"],
            row["symbol"],
            row["evidence"],
            row["source"],
            row["doc"],
        )
        for row in rows
    ]
    headers = ["parameter", "value", "base unit", "symbol", "evidence", "source", "what it does"]
    return table(headers, parameters, "<><<<<<")


def _parameter(value: Any, unit: str) -> str:
    from rdmacc.interface import Scaled
    from rdmacc.show.tables import format_value

    if isinstance(value, Scaled):
        return value.text(unit)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return format_value(value, unit) if unit else f"{value:g}"


@app.command()
def explore(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Python files that register your own schemes.", dir_okay=False)
    ] = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve it on.")] = 8866,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Open the explorer in the browser: small scenarios, schemes side by side, sliders for parameters."""
    from rdmacc.explorer import serve

    raise typer.Exit(serve(files or (), port, opens_browser=browser))


@app.command()
def notebooks(
    folder: Annotated[Path, typer.Argument(help="Folder to copy them to.", file_okay=False)] = Path("rdmacc-notebooks"),
) -> None:
    """Copy the bundled notebooks into a folder, to open them with jupyter lab."""
    from rdmacc.notebooks import copy_notebooks

    for path in copy_notebooks(folder):
        typer.echo(f"Saved {path}")
    if find_spec("jupyterlab") is None:
        typer.echo(f"\nTo run them, install JupyterLab first: {install_command('notebooks')}")
    typer.echo(f"\nOpen them with: jupyter lab {quote(str(folder))}")


labs = typer.Typer(no_args_is_help=True, help="Five labs for a class: starter notebooks and checks.")
app.add_typer(labs, name="labs")


@labs.command("start")
def start_labs(
    folder: Annotated[Path, typer.Argument(help="Folder to copy them to.", file_okay=False)] = Path("rdmacc-labs"),
) -> None:
    """Copy the starter notebooks into a folder."""
    from rdmacc.notebooks import copy_notebooks
    from rdmacc.notebooks.labs import FOLDER

    for path in copy_notebooks(folder, FOLDER):
        typer.echo(f"Saved {path}")
    shown = quote(str(folder))
    typer.echo(f"\nOpen them with: jupyter lab {shown}\nCheck the first with: rdmacc labs check 1 {shown}")


@labs.command("check")
def check_lab(
    number: Annotated[int, typer.Argument(help="Number of the lab, 1 to 5.")],
    path: Annotated[
        Path, typer.Argument(help="Your notebook, its folder, or a Python file that assigns the answers.")
    ] = Path(),
) -> None:
    """Run a lab's notebook, and say which answers are right. The exit code is 0 if all are."""
    from rdmacc.notebooks.labs import check, starter

    found = check(number, path / starter(number).name if path.is_dir() else path)
    for name, wrong in found.items():
        typer.echo(f"{name:20} {wrong or 'right'}")
    raise typer.Exit(any(found.values()))


@app.command()
def determinism(
    scenario: Annotated[
        Path | None, typer.Argument(help="File from Scenario.to_toml; default: a small permutation.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this file, too.")] = None,
) -> None:
    """Run a scenario twice on both engines, in both orders and on two threads: is every bit the same?"""
    from rdmacc.cli.determinism import example, report
    from rdmacc.simulation.scenario import Scenario

    text, is_equal = report(example() if scenario is None else Scenario.from_toml(scenario), out)
    typer.echo(text, nl=False)
    raise typer.Exit(0 if is_equal else 1)


@app.command()
def explain(
    scenario: Annotated[
        Path | None, typer.Argument(help="File from Scenario.to_toml; default: a small incast.")
    ] = None,
    message: Annotated[str | None, typer.Option(help="Label of the message; default: the slowest one.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw its time into this file, too.")] = None,
) -> None:
    """Run a scenario and say why a message took as long as it did."""
    from rdmacc import incast, star
    from rdmacc.show.style import save
    from rdmacc.simulation.scenario import Scenario

    if scenario is None:
        one = Scenario(network=star(9), workload=incast(8, "h0", "300kB", hosts=star(9)), scheme="dctcp")
    else:
        one = Scenario.from_toml(scenario)
    result = one.simulation(probes=(), explain=one.explain or True).run(one.until)
    labels = {str(label): label for label in result.flows["flow"]}
    if message is None:
        explained = result.flows[result.plan.explained]
        message = str(explained.sort_values("slowdown", ascending=False)["flow"].iloc[0])  # missing ones last
    if message not in labels:
        raise ConfigError("--message", message, f"a message of the workload, such as {next(iter(labels))}")
    typer.echo(str(result.explain(labels[message])))
    if plot is not None:
        figure: Any = result.plot.explain(labels[message]).figure
        typer.echo(f"\nSaved {save(figure, plot)}")


@app.command()
def scorecard(
    context: typer.Context,
    schemes: Annotated[
        list[str] | None, typer.Argument(help="Schemes, or Python files that register your own; default: all.")
    ] = None,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Instead, compare one scheme with another on cases drawn by --seed.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="With --held-out: a seed of your choice.", min=0)] = None,
    against: Annotated[str, typer.Option(help="With --held-out: the other scheme.")] = "dcqcn",
    objective: Annotated[str, typer.Option(help="With --held-out: what to compare.")] = "p99 over fair",
    count: Annotated[int, typer.Option(help="With --held-out: number of cases.", min=1)] = 200,
    jobs: Annotated[int, typer.Option(help="Processes for the searches.", min=1)] = 1,
    out: Annotated[
        Path | None, typer.Option(help="Search again, and write the rows into this table (Parquet).")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the map into this file, too.")] = None,
    finds: Annotated[
        bool, typer.Option("--finds", help="Instead, run the cases whose cause is known, with and without it.")
    ] = False,
    page: Annotated[Path | None, typer.Option(help="With --finds: write them into this page.")] = None,
) -> None:
    """Show each scheme's worst cases, with cause, verdict and rank among all schemes."""
    from rdmacc.cli import scorecard as card

    if finds:
        refuse(context, "schemes held_out seed against objective count jobs out plot", "left out with --finds")
        typer.echo(card.on_finds(page))
        return
    refuse(context, "page", "given with --finds")
    if not held_out:
        refuse(context, "seed against objective count", "given with --held-out")
    names = card.registered(schemes or [])
    if held_out:
        refuse(context, "jobs out plot", "left out with --held-out")
        typer.echo(card.on_held_out(names, seed, against, objective, count))
        return
    for line in card.report(names, jobs, out, plot):
        typer.echo(line)


@app.command()
def bench(
    context: typer.Context,
    as_json: JsonOption = False,
    engine: Annotated[Literal["simpy", "compiled", "both"], typer.Option(help="Engine to measure.")] = "simpy",
    only: Annotated[
        list[str] | None, typer.Option(help="Run only case a, b, c, dart, k16, k32 or nscc; repeatable.")
    ] = None,
    scale: Annotated[float | None, typer.Option(help="Fraction of each case's messages to run.")] = None,
    order: Annotated[
        str, typer.Option(help="Take events by their 'time' or in 'windows' of nodes; default: 'auto'.")
    ] = "auto",
    threads: Annotated[
        list[int] | None, typer.Option(help="Run with this many threads; repeatable, for a comparison.", min=1)
    ] = None,
    rounds: Annotated[int, typer.Option(help="Repeat each case's measurements by turns; show the fastest.", min=1)] = 1,
    compare: Annotated[
        Path | None,
        typer.Option(help="File from --json: run its cases with its code and with this code, alternating."),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(help="Append each measurement to this file as a line of JSON, with the commit."),
    ] = None,
    gpus: Annotated[
        list[int] | None,
        typer.Option(help="Instead of benchmarks, all-reduce 1 GB on a cluster of this many GPUs; repeatable."),
    ] = None,
    plausible: Annotated[
        bool,
        typer.Option(
            "--plausible", help="Instead of benchmarks, run every scheme with its defaults on simple workloads."
        ),
    ] = False,
    scheme: Annotated[
        list[str] | None, typer.Option(help="With --plausible: run only this scheme; repeatable.")
    ] = None,
    page: Annotated[Path | None, typer.Option(help="With --plausible: write the table into this page.")] = None,
) -> None:
    """Measure speed and memory: an incast, a permutation, 1,024 and 8,192 hosts, then each scheme."""
    from tqdm.auto import tqdm

    of_cases = "engine only scale order threads rounds compare record"
    if plausible:
        refuse(context, f"{of_cases} gpus", "left out with --plausible")
        _plausible(scheme or [], as_json, page)
        return
    refuse(context, "scheme page", "given with --plausible")
    if gpus:
        from rdmacc.cli.bench import clusters_text, run_clusters

        refuse(context, of_cases, "left out with --gpus")
        for count in gpus:
            if count < 16 or count % 8:
                raise ConfigError("--gpus", count, "a multiple of 8, at least 16: a node has 8")
        rows = list(tqdm(run_clusters(gpus), desc="rdmacc bench", unit="run", total=4 * len(gpus), leave=False))
        typer.echo(json.dumps(rows, indent=2) if as_json else clusters_text(rows))
        return

    from rdmacc.cli import bench as benchmark
    from rdmacc.cli.bench import CASES
    from rdmacc.schemes import SCHEMES

    engines = ["simpy", "compiled"] if engine == "both" else [engine]
    cases = only or list(CASES)
    strangers = [name for name in cases if name not in CASES]
    if strangers:
        raise ConfigError("--only", strangers[0], f"one of {', '.join(CASES)}")
    if compare is not None:
        refuse(context, "engine scale order threads rounds record as_json", "left out with --compare")
        typer.echo(benchmark.compared_text(compare, cases))
        return
    if engine == "simpy":
        refuse(context, "order threads", "given with --engine compiled or both")
    if record is not None:
        benchmark.append_to(record, [])  # a file that cannot be written is an error at once
    total = len(cases) * (len(engines) + ("compiled" in engines) * (len(threads or [1]) - 1))
    running = benchmark.run(engines, cases, scale, order, threads or [1], rounds)
    measured = list(tqdm(running, desc="rdmacc bench", unit="case", total=total, leave=False))
    if record is not None:
        benchmark.append_to(record, measured)
    fixed = [] if only else [benchmark.fixed_cost(name) for name in engines]
    both = [] if only or "compiled" not in engines else benchmark.together(scale=1.0 if scale is None else scale)
    each = () if only else benchmark.run_schemes(engines[-1])
    by_scheme = list(tqdm(each, desc="schemes", unit="scheme", total=len(SCHEMES), leave=False, disable=bool(only)))
    if as_json:
        content = {"root": str(benchmark.ROOT), "measurements": measured, "fixed": fixed, "together": both,
                   "schemes": by_scheme, "compiled_over_simpy": benchmark.ratios(measured)}  # fmt: skip
        typer.echo(json.dumps(content, indent=2))
        return
    typer.echo(benchmark.table_text(measured))
    if fixed:
        typer.echo("\n" + "\n".join(map(benchmark.fixed_text, fixed)))
    if both:
        alone = next(row for row in measured if (row["case"], row["engine"]) == (both[0]["case"], "compiled"))
        typer.echo(benchmark.together_text(alone, both))
    if by_scheme:
        typer.echo("\n" + benchmark.schemes_text(by_scheme))


def _plausible(names: list[str], as_json: bool, page: Path | None) -> None:
    from tqdm.auto import tqdm

    from rdmacc.experiments.ledger import plausible as bench
    from rdmacc.schemes import SCHEMES

    total, before = len(names or SCHEMES) * len(bench.RATES), text_of(page)
    found = list(tqdm(bench.plausible(names), desc="rdmacc bench", unit="row", total=total, leave=False))
    if page is not None:
        page.write_text(bench.fill(before, found), encoding="utf-8")
    typer.echo(json.dumps([one.to_dict() for one in found], indent=2) if as_json else bench.text(found))
