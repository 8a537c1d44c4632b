"""`docs/validation.md`, written from the bundled tables, the other simulators' results and the claims."""

from pathlib import Path

from rdmacc.experiments.ledger.pages import page
from rdmacc.experiments.validation.flows import flows_of, summary_rows
from rdmacc.experiments.validation.references import CLOSE, SIMULATORS, Simulator, compared, theirs
from rdmacc.experiments.validation.uet_htsim import FLOW_BOUND, committed
from ..api import *


def _table(name: str) -> pd.DataFrame:
    table = load_summary(f"validation.{name}")
    assert table is not None
    return table


def _shown() -> dict[str, Simulator]:
    """Return the simulators whose experiment has a bundled table."""
    return {name: one for name, one in SIMULATORS.items() if load_summary(f"validation.{name}") is not None}


def summary_text() -> str:
    """Summarise the agreement with other simulators in three sentences."""
    runs = pd.concat({name: compared(_table(name), name) for name in _shown()})
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
    accepted, lines = list(_accepted()), committed()
    lines = lines[~lines["case"].str.endswith(FLOW_BOUND)]
    refused = lines.loc[lines["read"] != "same", "case"].unique()
    return page("validation.md", summary=summary_text(), sections=[_section(*item) for item in _shown().items()],
                accepted=accepted, same=sum(one[5] == one[6] for one in accepted), lines=len(lines),
                read=int((lines["read"] == "same").sum()), refused=refused)  # fmt: skip


def _section(name: str, simulator: Simulator) -> dict[str, Any]:
    one, table = experiment(f"validation.{name}"), _table(name)
    return {
        "name": one.name,
        "simulator": simulator,
        "commit": f"commit `{simulator.commit}`" if simulator.commit else "commit not recorded",
        "rows": list(_rows(name, table)),
        "claims": [row | {"is_shown": not _is_nested(row["numbers"])} for row in one.judge(table, "paper")],
    }


def _rows(name: str, table: pd.DataFrame) -> Iterator[list[str]]:
    rows = compared(table, name)
    scenarios = theirs(name).drop_duplicates("point").set_index("point")
    for point, row in rows.iterrows():
        there = scenarios.loc[point]
        seeds = f" ({row['runs']:.0f} seeds)" if row["runs"] > 1 else ""
        counts = (f"{row[key]:.0f}" for key in ("flows", "exact"))
        ratios = (f"{row[key]:.4f}" for key in ("mean", "p50", "p99"))
        apart = (f"{row[key]:.2%}" for key in ("typical", "largest"))
        yield [f"{point}{seeds}", *counts, *ratios, *apart, f"{there['scheme']} {there['scenario']}"]


def _accepted() -> Iterator[list[str]]:
    """Yield uet-htsim's bounds on its last completions, with its completions and the median of ours."""
    table = _table("uet_htsim")
    last_us = summary_rows(table)["last FCT"] / 1e6
    for row in committed().itertuples(index=False):
        name = f"{row.case.removesuffix(FLOW_BOUND)}, {row.scheme}"
        found = last_us[(last_us.index == name) | last_us.index.str.startswith(f"{name}, seed ")].to_numpy()
        if row.case.endswith(FLOW_BOUND):
            found = flows_of(table, name)["value"].to_numpy()[:1] / 1e6
        last = float(np.median(found)) if len(found) else math.nan
        words = ["inside" if one <= row.bound_us else "above" for one in (row.last_us, last)]
        other = "not run" if row.read == "same" else f"refused: {row.read}"
        shown = [f"{last:.2f}", *words] if len(found) else [other, words[0], ""]
        run = f"{row.case}, {row.scheme}"
        yield [row.list.replace("_", " "), run, f"{row.bound_us:g}", f"{row.last_us:.2f}", *shown]


def _is_nested(numbers: Any) -> bool:
    """Return whether numbers are nested; such numbers are in the page's table."""
    return isinstance(numbers, Mapping) and any(isinstance(one, Mapping) for one in numbers.values())


def write() -> None:
    """Write the page, if this is a checkout."""
    target = Path(__file__).parents[2] / "docs" / "validation.md"
    if target.parent.exists():
        target.write_text(validation_page(), encoding="utf-8")
