"""Every experiment: its points, and the verdicts and figure of a quick run."""

import pickle

import pytest

from rdmacc.experiments import EXPERIMENTS, SCALES, experiment
from rdmacc.experiments.framework.claim import CHECK_COLUMNS
from rdmacc.sweep.tidy import TABLE_COLUMNS, scalars
from rdmacc.units import time_ps
from tests.experiments.quick import QuickTables

BY_BOTH = [
    "dart.fig1", "dart.fig2", "dart.fig3", "dart.fig4", "dart.fig5", "dart.fig6", "dart.fig8", "dart.look-ahead",
    "igbn.fig1", "igbn.fig4", "igbn.fig5", "igbn.table1", "ren.fig1", "ren.fig6",
]  # fmt: skip
COMPILED = [
    "dart.fig7", "dart.fig9", "dart.fig10", "dart.fig15", "micro.receivers", "micro.senders", "rcc.fig2", "rcc.fig3",
    "rcc.fig4", "rcc.fig6", "rcc.fig8", "rcc.fig13", "rcc.fig14", "rcc.table1", "ren.fig2", "ren.fig3", "ren.fig4",
    "ren.fig5", "ren.fig7", "ren.fig8", "ren.fig10", "ren.fig13", "validation.expresspass_ns2", "validation.homa_ns3",
    "validation.hpcc_ns3", "validation.htsim", "validation.uet_htsim", "validation.yaps",
]  # fmt: skip
"""Experiments that take seconds, at night; for the others, there are the bundled tables."""


@pytest.fixture(scope="module")
def tables(engine):
    return QuickTables(engine)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "name"),
    [("compiled", name) for name in BY_BOTH]
    + [pytest.param(engine, name, marks=pytest.mark.nightly)
       for engine, names in (("simpy", BY_BOTH), ("compiled", COMPILED)) for name in names],
    indirect=["engine"], scope="session",
)  # fmt: skip
def test_a_quick_run_gives_the_expected_verdicts_and_its_figure(tables, name, tmp_path):
    one, table = experiment(name), tables[name]
    assert tuple(table.columns[: len(TABLE_COLUMNS)]) == TABLE_COLUMNS
    assert not scalars(table).drop(columns="value").duplicated().any()
    checks = one.check(table)
    assert tuple(checks.columns) == CHECK_COLUMNS
    assert checks["matches"].all(), checks.loc[~checks["matches"], ["id", "measured"]].to_dict("records")
    assert (checks["measured"].str.len() > 0).all()
    figure = one.plot(table)
    figure.savefig(tmp_path / "figure.png")
    assert any(ax.lines or ax.texts or ax.patches or ax.tables or ax.collections for ax in figure.axes)


@pytest.mark.parametrize("one", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_points_have_names_and_pickle_and_the_papers_scale_is_larger(one):
    assert "." in one.name
    assert one.title
    assert one.description
    assert len({claim.id for claim in one.claims}) == len(one.claims)
    quick, paper = (one.checked_points(scale) for scale in SCALES)
    assert len(quick) <= len(paper)
    until = [[point.scenario.until for point in points if point.scenario] for points in (quick, paper)]
    if None not in until[0] + until[1]:
        assert sum(map(time_ps, until[0])) <= sum(map(time_ps, until[1]))
    for points in (quick, paper):
        first = points[0]
        assert pickle.loads(pickle.dumps(first)).name == first.name
