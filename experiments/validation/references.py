"""Results of other simulators, from their own code on the same flows, compared with ours.

`data/references.csv.gz` has a row for each flow: our experiment and point, their names of the scheme and the scenario,
the flow's number in our workload, and its completion time, defined alike on both sides.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from rdmacc.experiments.framework.reading import read_texts
from rdmacc.experiments.validation.flows import BINS, flows_of
from ..api import *

CLOSE = 0.05
"""Tolerance of ratios around 1 for random runs, the same for all simulators."""
CLOSE_RUNS = Each(Each(Within(1, by=CLOSE)), of="run")


@dataclass(frozen=True, kw_only=True)
class Simulator:
    """Another simulator."""

    title: str
    repository: str
    commit: str = ""
    """Repository on GitHub; the commit is empty if it was not recorded."""
    completion: str
    """Definition of completion times, on both sides."""
    settings: str
    """Settings of the runs that differ from its defaults."""
    digits: int = 0
    """Significant digits of its times; 0: as many as ours."""
    why: str = ""
    """Why runs differ even with little randomness."""


SIMULATORS = {
    name: Simulator(**about) for name, about in read_texts(Path(__file__).with_name("simulators.toml")).items()
}
"""Simulators by the name of their experiment, without its group."""


@cache
def _references() -> pd.DataFrame:
    with resources.as_file(resources.files(__package__) / "data" / "references.csv.gz") as path:
        return pd.read_csv(path)


@cache
def theirs(name: str) -> pd.DataFrame:
    """Return `point, scheme, scenario, flow, fct_ps` of another simulator's flows."""
    rows = _references()
    return rows[rows["experiment"] == name].drop(columns="experiment").reset_index(drop=True)


def _pairs(table: pd.DataFrame, name: str, start: str | tuple[str, ...]) -> Iterator[tuple[str, list[pd.DataFrame]]]:
    """Yield common points, with the completion times of common flows for each of our seeds."""
    ran = {str(point): rows for point, rows in table.groupby("point", sort=False)}
    for point, rows in theirs(name).groupby("point", sort=False):
        seeds = [one for one in ran if one == point or one.startswith(f"{point}, seed ")]
        if seeds and str(point).startswith(start):
            yield str(point), [flows_of(ran[one], one).merge(rows, on="flow", validate="1:1") for one in seeds]


def _ratios(runs: list[pd.DataFrame]) -> dict[str, float]:
    """Return the ratios of our times to theirs, averaged over our seeds."""
    ours, others = [one["value"] for one in runs], runs[0]["fct_ps"]
    ratios = {"mean": float(np.mean([one.mean() for one in ours]) / others.mean())}
    for p in (50, 99):
        ratios[f"p{p}"] = float(np.mean([np.percentile(one, p) for one in ours]) / np.percentile(others, p))
    return ratios


def is_exact(ours_ps: pd.Series, theirs_ps: pd.Series, name: str) -> pd.Series[bool]:
    """Return a mask of the times that agree to the last digit of the other simulator."""
    digits = SIMULATORS[name].digits
    step_ps = 10 ** (np.floor(np.log10(theirs_ps)) - digits + 1) if digits else 0.0
    return (ours_ps - theirs_ps).abs() <= step_ps / 2


def compared(table: pd.DataFrame, name: str, start: str | tuple[str, ...] = "") -> pd.DataFrame:
    """Return a row for each common run: number of flows and of exact ones, and ratios of our times to theirs."""
    found = {}
    for point, runs in _pairs(table, name, start):
        rows = runs[0]
        apart = (rows["value"] / rows["fct_ps"] - 1).abs()
        found[point] = {
            "flows": len(rows), "exact": is_exact(rows["value"], rows["fct_ps"], name).sum(), "runs": len(runs),
            **_ratios(runs), "typical": apart.median(), "largest": apart.max(),
        }  # fmt: skip
    if not found:
        raise NotJudged("no run in common with the other simulator")
    return pd.DataFrame.from_dict(found, orient="index")


def inexact(table: pd.DataFrame, name: str, start: str | tuple[str, ...] = "") -> dict[str, float]:
    """Return the number of flows that differ, for each common run."""
    rows = compared(table, name, start)
    return dict(rows["flows"] - rows["exact"])


def by_run(table: pd.DataFrame, name: str, start: str | tuple[str, ...] = "") -> dict[str, dict[str, float]]:
    """Return the ratios of our mean, median and 99th percentile to theirs, for each common run."""
    rows = compared(table, name, start)[["mean", "p50", "p99"]]
    return {str(point): {str(key): float(value) for key, value in row.items()} for point, row in rows.iterrows()}


def by_size(table: pd.DataFrame, name: str) -> dict[str, dict[str, float]]:
    """Return the same ratios by size bin, over all runs together."""
    rows = pd.concat([runs[0] for _, runs in _pairs(table, name, "")])
    places = np.searchsorted(list(BINS.values()), rows["size_bytes"])
    return {label: _ratios([rows[places == place]]) for place, label in enumerate(BINS) if (places == place).any()}


def both(name: str, runs: Mapping[str, str], table: pd.DataFrame) -> pd.DataFrame:
    """Return completion times of runs, by label and point: `run, whose, time`; theirs only for runs that we have."""
    frames = []
    for run, point in runs.items():
        seeds = [one for one in dict.fromkeys(table["point"]) if one == point or one.startswith(f"{point}, seed ")]
        others = theirs(name)
        for whose, times in (
            ("ours", [flows_of(table, one)["value"] for one in seeds]),
            ("theirs", [others.loc[others["point"] == point, "fct_ps"]] if seeds else []),
        ):
            frames += [pd.DataFrame({"run": run, "whose": whose, "time": one}) for one in times]
    return pd.concat([pd.DataFrame(columns=["run", "whose", "time"]), *frames], ignore_index=True)


def distributions(name: str, runs: Mapping[str, str], title: str, **more: Any) -> Distributions:
    """Return the panel of completion times, with the other simulator's dashed."""
    looks: dict[Any, tuple[str, ...]] = {}
    for run, colour in zip(runs, COLOURS):
        looks |= {(run, "ours"): (run, colour, "-"), (run, "theirs"): ("_", colour, "--")}
    words: dict[str, Any] = {"title": title, "unit": "us", "label": "FCT", **more}
    return Distributions("time", looks, by=("run", "whose"), of=partial(both, name, runs), **words)


def dots(name: str, runs: Mapping[str, str], title: str, **more: Any) -> Sketch:
    """Return the panel of single completion times: ours blue, the other simulator's orange."""
    ticks = {"xticks": range(len(runs)), "xticklabels": [*runs]}
    axes = {"ylabel": "FCT of each flow (ms)", **ticks, **more.pop("axes", {})}
    return Sketch(title=title, how=partial(_draw_dots, name, runs), axes=axes, tilt=90.0, **more)


def _draw_dots(name: str, runs: Mapping[str, str], ax: Axes, table: pd.DataFrame) -> None:
    times = both(name, runs, table)
    for (x, run), (place, whose, colour) in product(
        enumerate(runs), ((-0.2, "ours", "blue"), (0.2, "theirs", "orange"))
    ):
        found = np.sort(chosen(times, run=run, whose=whose)["time"]) / 1e9
        ax.plot(x + place + np.linspace(-0.15, 0.15, len(found)), found, ".", markersize=3, color=COLOURS[colour])
