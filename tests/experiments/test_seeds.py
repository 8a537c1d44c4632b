"""Several seeds of one experiment: computing, storing, judging and drawing."""

import json
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from typer.testing import CliRunner

from rdmacc.cli.main import app
from rdmacc.experiments import EXPERIMENTS, Claim, Outcome, Point, Seeding
from rdmacc.experiments.framework.bands import AtLeast, Each, MoreThan
from rdmacc.experiments.framework.claim import NotJudged
from rdmacc.sweep import Store, stored, sweep
from rdmacc.sweep.tidy import scalar, tidy
from tests.support import refused
from tests.sweeps import Apart, Tiny, incast


def swept(one, folder, seeds=None, **more):
    return sweep(one, engine="simpy", store=Store(folder), seeds=seeds, **more)


def test_more_seeds_add_to_the_stored_ones(tmp_path):
    own = swept(Apart(), tmp_path)
    assert "seed" not in own.table
    two = swept(Apart(), tmp_path, 2)
    three = swept(Apart(), tmp_path, 3)
    assert [one.reused for one in (own, two, three)] == [0, 2, 4]
    assert three.table["seed"].unique().tolist() == [0, 1, 2]
    assert three.table[three.table["seed"] < 2].equals(two.table)
    assert two.table[two.table["seed"] == 0].drop(columns="seed").equals(own.table)
    assert three.table.equals(Apart().run(engine="simpy", seeds=3))
    assert three.summary()["seeds"] == 3
    assert stored(Apart(), store=Store(tmp_path), seeds=3).missing == []
    rows = three.table[three.table["quantity"] == "mean FCT"]
    assert rows.groupby("point")["value"].nunique().min() > 1


def test_pooled_seeds_are_the_requested_ones(tmp_path):
    own = swept(Tiny(), tmp_path)  # two separate seeds
    one, three = swept(Tiny(), tmp_path, 1), swept(Tiny(), tmp_path, 3)
    assert (own.reused, one.reused, three.reused) == (0, 2, 4)
    assert one.table["seed"].unique().tolist() == [0]
    assert sorted(three.table["seed"].unique()) == [0, 1, 2]
    assert three.table["point"].nunique() == 6
    assert list(three.table) == list(own.table)


class Drawn(Apart):
    """Takes ten seeds per run, and one of its points has its own seed label."""

    name = "tests.drawn"
    seed_stride = 10

    def points(self, scale="quick", seed=0):
        extra = Point(name=f"drawn {seed + 1}", scenario=incast(2, seed + 1), labels={"k": 2, "seed": seed + 1})
        return [*super().points(scale, seed), extra]


def test_runs_that_take_several_seeds_do_not_overlap(tmp_path):
    table = swept(Drawn(), tmp_path, 2).table
    assert sorted(table["seed"].unique()) == [0, 1, 10, 11]
    parts = Drawn().rows_of_seeds(table)
    assert {seed: sorted(part["point"].unique()) for seed, part in parts.items()} == {
        0: ["drawn 1", "k=2", "k=3"], 10: ["drawn 11", "k=2", "k=3"],
    }  # fmt: skip
    single = swept(Drawn(), tmp_path).table  # the label is on some rows only
    assert len(Drawn().rows_of_seeds(single)) == 1


class Fixed(Apart):
    """Nothing is random."""

    name = "tests.fixed"
    seeding = Seeding.NONE

    def points(self, scale="quick", seed=0):
        return [Point(name=f"k={k}", scenario=incast(k, faults=()), labels={"k": k}) for k in (2, 3)]


class Unmoved(Fixed):
    """Declares that seeds matter although they do not."""

    name = "tests.unmoved"
    seeding = Seeding.SEPARATE


def test_without_chance_there_is_one_run(tmp_path):
    found = swept(Fixed(), tmp_path, 5)
    assert found.table["point"].tolist() == swept(Fixed(), tmp_path).table["point"].tolist()
    assert len(found.points) == 2
    checks = Fixed().check(found.table)
    assert checks[["seeds_judged", "seeds_held"]].to_numpy().tolist() == [[1, 1]]


def test_points_independent_of_the_seed_are_computed_once(tmp_path):
    found = swept(Unmoved(), tmp_path, 3)
    assert len(found.points) == 6
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    assert found.table["seed"].value_counts().nunique() == 1
    assert len(Unmoved().rows_of_seeds(found.table)) == 1


def positive(table):
    n = scalar(table, "a", "n")
    if n != n:
        raise NotJudged("no n")
    return n


class Judged(Apart):
    claims = (
        Claim("t-1", "1", "n", "any", "> 0", measure=positive, band=MoreThan(0), direction=AtLeast(0)),
    )  # fmt: skip

    def plot(self, table):
        figure, ax = plt.subplots()
        ax.plot([0, 1], [scalar(table, "a", "n"), 1.0])
        return figure


@pytest.mark.parametrize(
    ("numbers", "outcome", "held", "judged"),
    [
        ((1, 2, -3, 4, 5), Outcome.HOLDS, 4, 5), ((1, -1), Outcome.FAILS, 1, 2), ((0, 1, -1), Outcome.DIRECTION, 1, 3),
        ((1, 2, float("nan")), Outcome.HOLDS, 2, 2), ((-1, -2, 3), Outcome.FAILS, 1, 3),
        ((float("nan"), float("nan")), Outcome.NOT_JUDGED, 0, 0),
    ],
)  # fmt: skip
def test_a_claim_holds_if_it_holds_for_more_than_half_of_the_seeds(numbers, outcome, held, judged):
    table = pd.concat([tidy("a", {"n": (n, "")}).assign(seed=seed) for seed, n in enumerate(numbers)])
    (row,) = Judged().check(table).to_dict("records")
    assert (row["verdict"], row["seeds_held"], row["seeds_judged"]) == (outcome.value, held, judged)
    if judged:
        assert row["measured"].startswith("seed ")
        assert row["measured"].endswith(f": {numbers[int(row['measured'][5])]:g}")


@pytest.mark.parametrize(
    ("spread", "band", "outcome"),
    [
        (0.1, AtLeast(0.9), Outcome.HOLDS), (3.0, AtLeast(0.9), Outcome.UNDECIDED),
        (0.1, AtLeast(1.1), Outcome.DIRECTION), (3.0, AtLeast(1.1), Outcome.UNDECIDED),
        (0.0, AtLeast(1.0), Outcome.HOLDS),
    ],
)  # fmt: skip
def test_a_claim_is_undecided_if_the_seeds_scatter_across_an_edge(monkeypatch, spread, band, outcome):
    """A mean's interval is Student's over the seeds; a case with one seed has none and does not affect the others."""

    def means(table):
        return table["value"].groupby(table["k"]).mean()

    draws = 1 + 0.1 * spread * np.array([-1.0, 0.2, 0.8])
    parts = [tidy(f"a{seed}", {"n": (n, "")}).assign(k=2, seed=seed) for seed, n in enumerate(draws)]
    table = pd.concat([*parts, tidy("b0", {"n": (5.0, "")}).assign(k=3, seed=0)], ignore_index=True)
    one = Tiny()
    claim = Claim("tests-1", "1", "n", "any", "1", measure=means, band=Each(band), direction=Each(AtLeast(0.8)))
    monkeypatch.setattr(Tiny, "claims", (claim,))
    (row,) = one.judge(table)
    half = stats.t.ppf(0.975, 2) * draws.std(ddof=1) / math.sqrt(3)
    assert row["half_widths"] == {"2": pytest.approx(half, abs=1e-12), "3": 0.0}
    assert (row["verdict"], row["matches"]) == (outcome, outcome != Outcome.DIRECTION)
    same = "the others are the same" if spread else "the same"
    assert f"{same} whichever of 3 repetitions is left out" in row["measured"]
    assert "\u00b1 0" not in row["measured"]


def test_one_run_has_no_interval():
    table = pd.concat([tidy(f"k={k} seed=0", {"finished": (k, "")}).assign(k=k, seed=0) for k in (2, 3)])
    (row,) = Tiny().judge(table)
    assert (row["verdict"], row["half_widths"]) == ("holds", None)
    assert "\u00b1" not in row["measured"]


@pytest.mark.parametrize("seeds", [0, 100_001, -1, True, 1.5, "2"])
def test_other_numbers_of_seeds_are_refused(seeds):
    refused(lambda: Apart().seeded_points(seeds=seeds), "seeds =")


@pytest.fixture
def rdmacc(tmp_path, monkeypatch):
    for one in (Apart(), Fixed(), Unmoved(), Tiny()):
        monkeypatch.setitem(EXPERIMENTS, one.name, one)

    def call(*arguments, code=0):
        more = ("--store", tmp_path / "store", "--engine", "simpy")
        outcome = CliRunner().invoke(app, [str(one) for one in (*arguments, *more)])
        assert outcome.exit_code == code, outcome.output
        return outcome.stdout

    return call


def test_commands_take_seeds(rdmacc, tmp_path):
    text = rdmacc("verify", "tests.apart", "--seeds", 3)
    assert "holds in 3 of 3 seeds" in text
    assert "3 seeds, starting at 0" in text
    assert "holds in" not in rdmacc("verify", "tests.apart")
    content = json.loads(rdmacc("verify", "tests.tiny", "--seeds", 3, "--json"))
    assert (content["seeds"], content["checks"][0]["verdict"]) == (3, "holds")
    text = rdmacc("run", "tests.apart", "--seeds", 2, "--out", tmp_path / "out")
    assert "mean FCT (mean)" in text
    assert "4 points, 4 from the store" in text
    assert "Nothing here is random" in rdmacc("verify", "tests.fixed", "--seeds", 2)
    assert "Every seed gave the same numbers" in rdmacc("verify", "tests.unmoved", "--seeds", 2)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_declares_what_seeds_change(name):
    """The declaration is true for each point: whether a seed changes it, and whether it is among its labels."""
    one = EXPERIMENTS[name]
    first, second = one.points("quick", 0), one.points("quick", 1)

    def told(points):
        return [(point.name, dict(point.labels), point.scenario and point.scenario.seed) for point in points]

    assert (told(first) == told(second)) == (one.seeding is Seeding.NONE)
    if one.seeding is Seeding.POOLED:
        assert all(point.labels["seed"] in (0, 1, 2, 3, 4) for point in first)
        both = one.seeded_points("quick", 0, 2)
        assert {shown.labels["seed"] for _, shown in both.values()} == {0, 1}
