"""The tables that rdmacc comes with: each loads, belongs to an experiment, and gives the recorded verdicts."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pytest

from rdmacc.experiments import EXPERIMENTS, Outcome, experiment, load_summary, summary_path
from rdmacc.experiments.ledger.score import PAPERS
from rdmacc.sweep.store import read_table
from tests.experiments import edges, edges_ren_rcc, flips, flips_rcc, flips_ren, flips_validation

STORED = sorted(name for name in EXPERIMENTS if summary_path(name).exists())


def test_every_table_is_of_an_experiment_and_every_figure_of_a_paper_has_one():
    assert set(STORED) <= set(EXPERIMENTS)
    assert {name for name in EXPERIMENTS if name.split(".")[0] in PAPERS} <= set(STORED)


@pytest.mark.parametrize("name", STORED)
def test_a_stored_table_gives_the_recorded_verdicts(name):
    table = load_summary(name)
    assert table is not None
    checks = experiment(name).check(table, "paper")
    assert len(checks) > 0
    surprises = checks.loc[~checks["matches"], ["id", "measured", "expected"]]
    assert surprises.empty, surprises.to_dict("records")


@pytest.mark.parametrize("name", STORED)
def test_a_stored_table_has_the_points_of_its_experiment(name):
    points = experiment(name).points("paper")
    table, provenance = read_table(summary_path(name))
    assert set(table["point"]) == {point.name for point in points}
    assert (provenance["experiment"], provenance["points"]) == (name, len(points))


@pytest.mark.parametrize("name", [
    pytest.param(name, marks=pytest.mark.nightly if name.split(".")[0] in PAPERS else pytest.mark.slow)
    for name in STORED
])  # fmt: skip
def test_a_stored_table_can_be_drawn(name):
    """The gallery of the documentation and the notebooks draw those of the papers, too."""
    figure = experiment(name).plot(load_summary(name))
    assert figure.axes
    plt.close(figure)


CLAIMS = [(name, claim) for name in STORED for claim in experiment(name).claims]
OTHERS = {id_: changes for id_, changes in flips_validation.FLIPS.items() if id_ in {claim.id for _, claim in CLAIMS}}
"""Of validations and micro-benchmarks whose table is stored; the others' judges are tested on their quick tables."""
FLIPS = flips.FLIPS | flips_ren.FLIPS | flips_rcc.FLIPS | OTHERS


def test_every_claim_has_a_table_that_changes_its_judges_mind():
    assert {claim.id for _, claim in CLAIMS} - flips.UNMEASURED == set(FLIPS)


def test_every_claim_of_a_validation_or_micro_benchmark_has_one():
    groups = ("validation.", "micro.")
    ids = {claim.id for name in EXPERIMENTS if name.startswith(groups) for claim in experiment(name).claims}
    assert ids == set(flips_validation.FLIPS)


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[claim.id for _, claim in CLAIMS])
def test_every_judge_says_yes_and_says_no(name, claim):
    table = load_summary(name)
    outcome = claim.verdict(judged(name, table)).outcome
    if claim.id in flips.UNMEASURED:
        assert outcome == Outcome.NOT_JUDGED
        return
    for number, change in enumerate(FLIPS[claim.id]):
        changed = claim.verdict(judged(name, change(table)))
        is_flipped = (changed.outcome == Outcome.HOLDS) != (outcome == Outcome.HOLDS)
        assert is_flipped, (number, outcome, changed.outcome, changed.measured)
        assert changed.outcome != Outcome.NOT_JUDGED


ALL_EDGES = edges.EDGES | edges_ren_rcc.EDGES
EDGES = [
    pytest.param(name, claim, change, outcome, id=f"{claim.id} {number}")
    for name, claim in CLAIMS
    for number, (change, outcome) in enumerate(ALL_EDGES.get(claim.id, ()))
]


def test_every_edge_is_of_a_claim():
    assert set(ALL_EDGES) <= {claim.id for _, claim in CLAIMS}


@pytest.mark.parametrize(("name", "claim", "change", "outcome"), EDGES)
def test_bands_end_where_the_claim_says(name, claim, change, outcome):
    found = claim.verdict(judged(name, change(load_summary(name))))
    assert found.outcome == outcome, found.measured


def judged(name, table):
    """Return what the claims of an experiment are judged by."""
    return experiment(name).view(table)
