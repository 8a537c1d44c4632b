"""The runs to compare with uet-htsim: its matrices by their rules, its options, and the claims on them."""

from __future__ import annotations

import pickle

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest

from rdmacc.experiments import experiment
from rdmacc.experiments.validation.references import theirs
from rdmacc.experiments.validation.uet_htsim import (
    ONE_VALUE,
    PERMUTATION,
    QUICK,
    SEEDS,
    SMALL_PERMUTATION,
    committed,
)
from rdmacc.sweep.tidy import tidy
from rdmacc.units import us
from tests.experiments.quick import quick_table

EXPERIMENT = experiment("validation.uet_htsim")


def of(name, scale="paper"):
    return next(point for point in EXPERIMENT.points(scale) if point.name == name)


def pairs(name):
    work = of(name).scenario.workload()
    return list(zip(work["src"], work["dst"], strict=True))


def test_the_matrices_are_those_of_the_simulator():
    """As it says of them: perm_1024n starts 334-395, 404-414, 135-874; 14 pairs in three words each."""
    assert pairs(f"{PERMUTATION}, nscc")[:3] == [("h334", "h395"), ("h404", "h414"), ("h135", "h874")]
    small = pairs(f"{SMALL_PERMUTATION}, nscc")
    assert sorted(one for one, _ in small) == sorted(other for _, other in small) == sorted(f"h{i}" for i in range(16))
    assert len(pairs("1,023 to 1, nscc")) == 1023
    late = of("3 to 1, rccc").scenario.workload()
    assert late["start_ps"].tolist() == [0, us(40), us(40)]
    out = pairs("outcast, nscc")
    assert len(out) == 21
    assert {to for one, to in out if one == "h3"} == {"h0", *(f"h{i}" for i in range(13, 22))}


def test_options_of_the_runs():
    many = of(f"{PERMUTATION}, 8 slow, reps, ACK each, rccc").scenario
    path = many.scheme.control[-1]
    assert (path.choice, path.values) == ("reps", 128)
    assert many.scheme.recovery.ack_every_bytes == 4000
    assert [(one.link, one.share, one.both_ways) for one in many.faults] == [
        ((f"core{i}", "agg0"), 0.25, False) for i in range(8)
    ]
    few = of("3 to 1, nscc").scenario
    assert few.scheme.control[0].largest_window == pytest.approx(207_500 / 175_284)
    assert few.faults == []


def test_points_of_both_scales():
    quick, paper = EXPERIMENT.points(), EXPERIMENT.points("paper")
    names = [point.name for point in paper]
    assert len(names) == len(set(names))
    assert {point.name for point in quick} <= set(names)
    assert {point.labels["case"] for point in quick} >= set(QUICK)
    assert set(theirs("uet_htsim")["point"]) <= set(names)
    assert pickle.loads(pickle.dumps(quick[0])).name == quick[0].name
    assert len(committed()) == 85
    assert not committed().duplicated(["case", "scheme"]).any()


def test_one_path_a_message_is_judged_by_the_seeds():
    """Theirs is one draw, so it must lie between the extremes of ours; it may not be faster or slower than all."""
    rows = [row for row in committed().itertuples() if ONE_VALUE in row.case and "nscc-rccc" not in row.scheme]
    for first, last, holds in ((0.9, 1.1, True), (1.01, 1.4, False), (0.7, 0.99, False)):
        parts = []
        for row in rows:
            names = [f"{row.case}, {row.scheme}", *(f"{row.case}, {row.scheme}, seed {i}" for i in range(1, SEEDS))]
            times = np.linspace(first, last, SEEDS) * row.last_us * 1e6
            parts += [tidy(name, {"last FCT": (time, "ps")}) for name, time in zip(names, times, strict=True)]
        claim = next(one for one in EXPERIMENT.claims if one.id == "validation-uet-4b")
        assert claim.band.holds(claim.measure(pd.concat(parts, ignore_index=True))) is holds


def test_runs_with_one_path_a_message_have_ten_seeds():
    names = [point.name for point in EXPERIMENT.points("paper")]
    runs = [name for name in names if ONE_VALUE in name]
    assert len(runs) == 5 * SEEDS
    assert not any("seed" in name for name in names if ONE_VALUE not in name)
    first, last = of(f"{PERMUTATION}{ONE_VALUE}, rccc"), of(f"{PERMUTATION}{ONE_VALUE}, rccc, seed 9")
    assert (first.scenario.seed, last.scenario.seed) == (0, 9)


@pytest.mark.slow
def test_the_claims_and_the_figure():
    table = quick_table(EXPERIMENT.name)
    checks = EXPERIMENT.check(table)
    assert checks["matches"].all(), checks["measured"].tolist()
    EXPERIMENT.plot(table)
