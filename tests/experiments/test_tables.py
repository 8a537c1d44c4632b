"""The bundled tables: each is complete, agrees with the ledger, and its claims can fail at every bound."""

import contextlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS, experiment, load_summary, summary_path
from rdmacc.experiments.framework.claim import NotJudged, Outcome
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import DEFAULT
from rdmacc.experiments.framework.registry import select
from rdmacc.experiments.ledger import record
from rdmacc.experiments.ledger.record import behaviour
from rdmacc.sweep.store import read_table
from rdmacc.sweep.workers import Run
from tests.experiments.edges import edges
from tests.support import mostly_at_night, refused

TABLES = [name for name in EXPERIMENTS if summary_path(name).exists()]
HOW = "`python -m rdmacc.experiments.ledger` writes the ledger again, and says what has changed"


def test_every_figure_of_a_paper_has_a_table_and_every_table_a_figure():
    assert {one.name for paper in PAPERS for one in select(paper)} <= set(TABLES)
    files = {path for name in TABLES for path in summary_path(name).parent.glob("*.parquet")}
    assert files == {summary_path(name) for name in TABLES}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_complete_and_gives_the_recorded_verdicts_and_numbers(name):
    one = experiment(name)
    table, made = read_table(summary_path(name))
    points = one.points("paper")
    first = table.drop_duplicates("point").set_index("point")
    assert set(first.index) == {point.name for point in points}
    for point in points:
        known = first.loc[point.name]
        other = {
            label: value
            for label, value in point.labels.items()
            if known[label] != value and not (pd.isna(value) and pd.isna(known[label]))
        }
        assert not other, point.name
    assert (made["experiment"], made["points"]) == (name, len(points))
    assert not any(commit.endswith("+") for commit in made["commits"]), "computed from uncommitted files"
    found, rows = record.judged(one), one.view(table)
    assert found[DEFAULT].keys() == {claim.id for claim in one.claims}
    for claim in one.claims:
        verdict = found[DEFAULT][claim.id]["verdict"]
        if verdict == Outcome.UNDECIDED:  # noise over seeds is recorded in the ledger; `expect` is what the numbers say
            verdict = claim.check(rows, "paper")["verdict"]
        assert verdict == claim.expectation("paper"), (claim.id, found[DEFAULT][claim.id])
    line = record.recorded(name)
    assert record.differences(line, {"now": line.get("now", {}), "claims": found}) == [], HOW


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(TABLES, every=4))
def test_every_claim_can_fail(name):
    """Next to each bound of its band, and on a table with other numbers or labels."""
    one, table = experiment(name), load_summary(name)
    rows = one.view(table)
    unrefused = []
    for claim in one.claims:
        verdict = claim.verdict(rows)
        if verdict.numbers is not None:
            assert _said_at_bounds(claim, verdict.numbers) == {True, False}, f"{claim.id}: the band can say one thing"
        if verdict.is_judged:
            unrefused.append((claim, verdict))
    for other in _shuffled(table) if unrefused else ():
        with contextlib.suppress(*_NOT_A_VERDICT):
            seen = one.view(other)
            unrefused = [(claim, verdict) for claim, verdict in unrefused if not _refused(claim, seen, verdict)]
        if not unrefused:
            break
    assert not unrefused, [claim.id for claim, _ in unrefused]


_NOT_A_VERDICT = (NotJudged, ConfigError, ValueError, KeyError, IndexError, ZeroDivisionError, AssertionError)


def _said_at_bounds(claim, numbers):
    """Return a band's verdicts next to each of its bounds, for numbers in the form that the claim measures."""
    said = set()
    for found, holds in edges(claim.band, numbers):
        assert claim.band.holds(found) == holds, (claim.id, found)
        said.add(holds)
    return said


def _shuffled(table):
    """Return tables whose numbers differ strongly from a table's, each in another way."""
    draw = np.random.default_rng(7)
    values = table["value"].to_numpy(np.float64)
    for spread in (0.3, 1.0, 3.0):
        yield table.assign(value=np.where(values == 0, draw.integers(0, 3, len(values)),
                                          values * np.exp(draw.normal(0, spread, len(values)))))  # fmt: skip
    yield table.assign(value=table.groupby("quantity")["value"].transform(lambda each: each.to_numpy()[::-1]))
    yield table.assign(value=table.groupby("quantity")["value"].transform("mean"))
    for name in set(table.columns) - {"point", "quantity", "time_ps", "value", "unit"}:
        yield table.assign(**{name: table[name].iloc[0]})
    for _, rows in table.groupby("quantity", sort=False):
        mixed = values.copy()
        mixed[table.index.get_indexer(rows.index)] = draw.permutation(rows["value"]) * draw.uniform(0.3, 3, len(rows))
        yield table.assign(value=mixed)
        for factor in (0.01, 1e6, -1.0):
            changed = values.copy()
            changed[table.index.get_indexer(rows.index)] = np.where(rows["value"] == 0, 1.0, rows["value"] * factor)
            yield table.assign(value=changed)


def _refused(claim, rows, verdict):
    """Return whether a claim that held fails on another table; for a failed one, whether its numbers differ."""
    try:
        found = claim.verdict(rows)
    except _NOT_A_VERDICT:
        return False
    if verdict.outcome == Outcome.HOLDS:
        return found.outcome != Outcome.HOLDS
    return found.numbers != verdict.numbers


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(TABLES, every=6))
def test_a_table_can_be_drawn(name):
    figure = experiment(name).plot(load_summary(name))
    assert figure.axes


_AT_NIGHT = (
    "dart.fig11", "dart.fig12", "dart.fig13", "dart.fig14", "dart.readings", "dart.sensitivity", "dart.table1",
    "dart.table2", "igbn.fig6", "igbn.fig7", "igbn.readings", "micro.dragonfly", "micro.receivers", "micro.senders",
    "micro.step_time", "rcc.baselines", "rcc.fig7", "rcc.fig8", "rcc.fig9", "rcc.fig10", "rcc.fig11", "rcc.fig13",
    "rcc.fig14", "rcc.map", "ren.buffers", "ren.carried", "ren.fig3", "ren.fig9", "ren.fig11", "ren.fig12", "ren.fig13",
    "ren.fig14", "ren.fig16", "ren.fig17", "ren.fig18", "ren.fig19", "ren.gains", "ren.sensitivity",
    "validation.expresspass_ns2", "validation.hpcc_ns3", "validation.uet_htsim",
)  # fmt: skip
"""They take seconds to minutes. By day, golden runs of every scheme detect changes in components used only here."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if name in _AT_NIGHT else name for name in TABLES]
)
def test_the_code_behaves_as_recorded_in_the_ledger(name):
    assert behaviour(experiment(name)) == record.recorded(name).get("now"), HOW


_MOST_HOPS = 30e6
"""Packet-hops of a run to repeat: about ten seconds."""


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", TABLES)
def test_complete_runs_give_the_rows_of_the_table(name):
    """Canaries stop early, but losses may come late: the cheapest run of each scheme, with losses if possible."""
    one = experiment(name)
    table, made = read_table(summary_path(name))
    points = {key: point for key, (point, _) in one.seeded_points("paper", 0, None).items()}
    hops_of_cost = made["packet_hops"] / sum(point.cost for point in points.values())
    rows, chosen = dict(list(table.groupby("point"))), {}
    for key, point in points.items():
        values = rows[key].groupby("quantity")["value"].max()
        hops = values.get("packet hops", point.cost * hops_of_cost)
        order = (not values.reindex(["dropped", "timeouts"]).gt(0).any(), hops)
        case = tuple(str(point.labels.get(label)) for label in ("scheme", "changes", "reading"))
        if hops <= _MOST_HOPS and order < chosen.get(case, ((True, np.inf), ""))[0]:
            chosen[case] = order, key
    if not chosen:
        pytest.skip(f"its cheapest run takes more than {_MOST_HOPS:g} packet-hops")
    for _, key in chosen.values():
        again = one.execute(points[key], Run("auto"))
        columns = ["quantity", "time_ps"]
        found, kept = (part.sort_values([*columns, "value"], kind="stable") for part in (again, rows[key]))
        assert found[columns].astype(str).to_numpy().tolist() == kept[columns].astype(str).to_numpy().tolist(), key
        differing = ~np.isclose(
            found["value"].to_numpy(float), kept["value"].to_numpy(float), rtol=1e-6, equal_nan=True
        )
        assert not differing.any(), (key, found[differing])


@pytest.mark.parametrize("text", ["{", "[1]", "{}"])
def test_a_damaged_ledger_is_refused(monkeypatch, tmp_path, text):
    path = tmp_path / "ledger.jsonl"
    path.write_text(text)
    monkeypatch.setattr(record, "ledger_path", lambda name: path)
    refused(lambda: record.recorded("dart.fig1"), "ledger.jsonl")


def test_differences_are_listed():
    claims = {"default": {"a": {"verdict": "holds", "margin": 1.0, "numbers": {"": 2.0}}, "b": {"verdict": "holds"}}}
    old = {"now": {"quick": "x"}, "claims": claims}
    assert record.differences(old, old) == []
    new = {"now": {"quick": "y"}, "claims": {"default": {
        "a": {"verdict": "holds", "margin": 1.0, "numbers": {"": 2.1}}, "b": {"verdict": "does not hold"}, "c": {
            "verdict": "holds"},
    }}}  # fmt: skip
    assert record.differences(old, new) == [
        "behaviour of quick", "a (default): other numbers, the same verdict",
        "b (default): holds before, does not hold now", "c (default): new, holds",
    ]  # fmt: skip
    assert record.differences(new, old)[-1] == "c (default): gone"


def test_a_ledger_has_a_line_for_each_table():
    for path in {record.ledger_path(name) for name in TABLES}:
        lines = [name for name in TABLES if record.ledger_path(name) == path]
        assert sorted(record._lines(Path(path))) == sorted(lines), HOW
