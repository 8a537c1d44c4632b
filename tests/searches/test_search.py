"""Searches: independent of the number of jobs, resumable, shrinking, and with clear errors."""

from dataclasses import dataclass

import pytest

import rdmacc
from rdmacc import Case, Component, ConfigError, search
from rdmacc.models import DasrIncast, DcqcnMargin
from rdmacc.searches.held_out import drawn
from rdmacc.searches.objectives import OBJECTIVES, fct_ps, period_ps, probes_for
from rdmacc.searches.space import axes_of
from tests.support import refused

optuna = pytest.importorskip("optuna")
JournalStorage, JournalFileBackend = optuna.storages.JournalStorage, optuna.storages.journal.JournalFileBackend

SPACE = {"senders": (1, 12), "size_bytes": ("1kB", "32kB")}


def peak(result):
    return float(result.counters["peak_queue_bytes"])


def test_a_search_does_not_depend_on_the_number_of_jobs():
    options = {"budget": 12, "seed": 3, "progress": False}
    alone, both = (search("dcqcn", SPACE, "peak queue", jobs=jobs, **options) for jobs in (1, 2))
    assert alone.runs == both.runs
    assert [run.number for run in alone.runs] == list(range(12))
    assert alone.best.objectives[0] == max(run.objectives[0] for run in alone.runs)
    assert len(alone.frame) == 12


@pytest.mark.parametrize("sampler", ["cma-es", "nsga-ii", "random"])
def test_each_sampler_finds_something_within_bounds(sampler):
    found = search("dcqcn", SPACE, "peak queue", budget=10, sampler=sampler, progress=False)
    assert all(1 <= run.values["senders"] <= 12 and 1000 <= run.values["size_bytes"] <= 32_000 for run in found.runs)
    assert found.best.objectives[0] > 0


def test_several_objectives_give_a_pareto_front():
    found = search("dcqcn", SPACE, ["peak queue", "Jain"], budget=16, progress=False, cases=Case(long_flows=1))
    assert 1 <= len(found.front) <= 16
    for one in found.front:
        queue, jain = one.objectives
        assert not any(
            other.objectives[0] >= queue and other.objectives[1] <= jain and other.objectives != one.objectives
            for other in found.runs
        )


def test_random_search_is_the_control():
    found = search("dcqcn", SPACE, "peak queue", budget=8, control=True, progress=False)
    assert found.control is not None
    assert len(found.control.runs) == 8
    assert found.runs_to(found.score(found.best)) == found.best.number + 1
    assert "by chance" in str(found)


def test_a_killed_search_resumes_and_a_stopped_one_returns_its_findings(tmp_path):
    path, calls = tmp_path / "runs.journal", tmp_path / "calls"

    def stops(result):
        with calls.open("a") as file:
            file.write(".")
        if calls.stat().st_size == 10:
            raise KeyboardInterrupt
        return peak(result)

    whole = search("dcqcn", SPACE, peak, budget=20, progress=False)
    found = search("dcqcn", SPACE, stops, budget=20, progress=False, storage=path)
    assert not found.is_complete
    assert found.runs == whole.runs[:9]
    with path.open("a") as file:
        file.write('{"op_code": 4, "wor')  # killed while writing
    for _ in range(2):
        again = search("dcqcn", SPACE, stops, budget=20, progress=False, storage=path, control=True)
        assert again.runs == whole.runs
        assert calls.stat().st_size == 10 + 11 + 4  # random search begins with the same 16 runs as TPE
    studies = optuna.get_all_study_summaries(JournalStorage(JournalFileBackend(str(path))))
    assert [(one.study_name.split()[0], one.n_trials) for one in studies] == [("tpe", 20), ("random", 4)]
    assert studies[0].best_trial.value == whole.best.objectives[0]
    refused(lambda: search("hpcc", SPACE, stops, budget=16, progress=False, storage=path), "same search")
    calls.write_text("notes")
    refused(lambda: search("dcqcn", SPACE, peak, budget=1, progress=False, storage=calls), "a journal of Optuna's")
    assert calls.read_text() == "notes"


def test_runs_before_a_nan_are_kept(tmp_path):
    path, calls = tmp_path / "runs.journal", tmp_path / "calls"

    def odd(result):
        with calls.open("a") as file:
            file.write(".")
        return float("nan") if calls.stat().st_size == 5 else peak(result)

    refused(lambda: search("dcqcn", SPACE, odd, budget=8, progress=False, storage=path), "senders", "a finite number")
    again = search("dcqcn", SPACE, odd, budget=8, progress=False, storage=path)
    assert len(again.runs) == 8
    assert calls.stat().st_size == 5 + 4


def test_shrinking_keeps_a_case_as_bad_and_its_line_reproduces_it():
    found = search("dcqcn", {**SPACE, "victims": (0, 3), "after_ps": ("0us", "9us")}, "peak queue", budget=16,
                   progress=False)  # fmt: skip
    small = found.shrink()
    assert small.best.objectives[0] >= 0.9 * found.best.objectives[0]
    assert len(small.best.values) < len(found.best.values)
    result = eval(small.line, {"rdmacc": rdmacc})
    assert peak(result) == small.best.objectives[0]
    assert "times the" in small.explain()


def test_a_failing_scheme_is_a_finding_and_refused_values_are_not():
    found = search("dcqcn", {"loss": (0.9, 1.0)}, "p99 slowdown", budget=4, progress=False)
    assert len(found.finds) == 4
    assert "never complete" in found.finds[0].problem
    assert found.best.objectives[0] > 1
    refused = search("dcqcn", {"Red.kmin_bytes": ("100kB", "400kB")}, "peak queue", budget=8, progress=False)
    assert not refused.finds
    assert any(run.is_refused for run in refused.runs)


def test_a_deadlock_is_a_finding_and_the_search_continues():
    ring = Case(network="ring", long_bytes="2 MB")
    space = {"buffer_share": (0.05, 1.0), "long_flows": (3, 7)}
    found = search("line-rate", space, "deadlock", cases=ring, budget=8, progress=False)
    assert len(found.runs) == 8
    assert 0 < len(found.finds) < 8
    assert found.best.objectives == (1.0,)
    small = found.shrink()
    assert "s0->s1 waits on s1->s2" in small.best.problem
    assert 'network="ring"' in small.explain()
    assert "s0->s1 waits on s1->s2" in small.explain()


@dataclass(frozen=True, kw_only=True)
class Fragile(Component):
    """Divides by the packets of a second round trip, which a short message lacks."""

    def on_ack(params, message, now):
        if message.packets > 20:
            message.timeouts = 1 // (message.packets - message.packets)


def test_a_handler_that_raises_is_a_finding_and_nothing_is_lost(tmp_path):
    scheme, path = rdmacc.Scheme(name="fragile", control=(Fragile(),)), tmp_path / "runs.journal"
    space = {"size_bytes": ("1 kB", "60 kB"), "senders": (1, 4)}
    found = search(scheme, space, "peak queue", budget=12, storage=path, progress=False)
    broken = [run.values["size_bytes"] > 20_000 for run in found.runs]
    assert [bool(run.problem) for run in found.runs] == broken
    assert 0 < len(found.finds) == sum(broken) < 12
    assert "ZeroDivisionError" in found.finds[0].problem
    assert "Fragile.on_ack" in found.finds[0].problem
    assert found.best.objectives[0] == max(run.objectives[0] for run in found.runs if run.objectives)
    assert search(scheme, space, "peak queue", budget=12, storage=path, progress=False).runs == found.runs
    assert search(scheme, space, "peak queue", budget=12, jobs=2, progress=False).runs == found.runs


def test_a_run_of_several_cases_has_a_line_for_each():
    cases = Case(senders=2), Case(senders=4)
    found = search("dcqcn", {"size_bytes": ("8kB", "64kB")}, "peak queue", budget=2, cases=cases, progress=False)
    queues = [eval(line).counters["peak_queue_bytes"] for line in found.line.splitlines()]
    assert sum(queues) / 2 == found.best.objectives[0] > 0


def test_a_model_alone_is_searched_over_its_sliders():
    found = search(DcqcnMargin(), None, lambda one: one.g, budget=1, progress=False)
    assert "g" in found.runs[0].values


def test_wrong_questions_about_a_search_are_named():
    found = search("dcqcn", SPACE, "Jain", budget=1, progress=False)
    for call, words in (
        (lambda: found.shrink(share=2), "share = 2: must be from 0 to 1"),
        (lambda: found.shrink(most="x"), "most"),
        (lambda: found.sign(1), "number = 1: must be from 0 to 0"),
        (lambda: found.runs_to("x"), "score"),
        (lambda: rdmacc.held_out("dcqcn", "hpcc", 1, ["Jain"]), "objective"),
    ):
        refused(call, words)


def raises(result):
    raise RuntimeError("no such thing")


def test_an_objective_that_raises_is_recorded():
    found = search("dcqcn", SPACE, raises, budget=2, progress=False)
    assert "RuntimeError: no such thing" in found.runs[0].problem
    refused(lambda: found.best, "in which a run has a value")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"space": {}}, "space = {}"),
        ({"space": []}, "space"),
        ({"space": "senders"}, "a mapping or a list"),
        ({"space": {"sender": (1, 2)}}, "did you mean 'senders'"),
        ({"space": {"loss": (0.0, 1.5)}}, "at most 1.0"),
        ({"space": {"senders": (5, 5)}}, "second larger"),
        ({"space": {"senders": 5}}, r"a pair \(low, high\)"),
        ({"space": {"g": (0.0, 2.0)}}, "at most 1.0"),
        ({"space": ["alpha_period_ps"]}, "the parameter declares none"),
        ({"space": {"network": []}}, "at least one choice"),
        ({"objective": "p98"}, "objective"),
        ({"objective": []}, "at least one"),
        ({"objective": lambda result: float("nan")}, "a finite number"),
        ({"objective": lambda result: None}, "a finite number"),
        ({"budget": 0}, "budget"),
        ({"most_events": 0}, "most_events"),
        ({"goal": "max"}, "goal"),
        ({"sampler": "grid"}, "sampler"),
        ({"sampler": "cma-es", "objective": ["Jain", "peak queue"]}, "several objectives"),
        ({"cases": [1]}, "a list, each a Case"),
        ({"jobs": 2, "objective": lambda result: 1.0}, "jobs"),
        ({"scheme": "dcqnc"}, "did you mean 'dcqcn'"),
        ({"scheme": DcqcnMargin(), "objective": str, "space": None, "cases": Case()}, "cases .* left out"),
        ({"space": 5}, "space = 5"),
        ({"objective": {"Jain"}}, "objective"),
        ({"seed": 2**32}, "seed"),
        ({"cases": None}, "cases = None"),
        ({"control": "x"}, "control"),
        ({"storage": 5}, "storage"),
    ],
)
def test_invalid_input_is_named(changes, message):
    given = {"scheme": "dcqcn", "space": SPACE, "objective": "Jain", "budget": 2, "progress": False} | changes
    with pytest.raises(ConfigError, match=message):
        search(given.pop("scheme"), given.pop("space"), given.pop("objective"), **given)


def test_every_objective_measures_a_healthy_case():
    case = Case(long_flows=2, long_bytes="2MB")
    result = case.scenario("dcqcn", probes=probes_for(case, tuple(OBJECTIVES.values()))).run()
    values = {name: one.measure(case, result) for name, one in OBJECTIVES.items()}
    assert 1 <= values["p99 slowdown"] < 10
    assert 0.9 < values["Jain"] <= 1
    assert 0 <= values["time to converge"] <= fct_ps(result).max() + period_ps(case)
    assert values["deadlock"] == values["pause time"] == values["needless retransmissions"] == 0
    assert OBJECTIVES["Jain"].badness(0.25) == 0.75


def test_the_default_space_is_every_field_with_a_slider():
    names = [one.name for one in axes_of(rdmacc.scheme("dcqcn"), None)]
    assert {"senders", "size_bytes", "loss", "slow"} <= set(names)
    assert "seed" not in names


def test_the_same_call_searches_a_model():
    model = DcqcnMargin()
    found = search(model, {"g": (0.001, 0.5)}, lambda one: one.g, budget=8, progress=False)
    assert found.subject.g == found.best.objectives[0]
    assert "DcqcnMargin" in str(found)
    refused(lambda: found.case, "asked of the search of a scheme")
    refused(lambda: search(model, {"g": (0.001, 0.5)}, "Jain", budget=2, progress=False), "distance to model")
    with pytest.raises(ConfigError, match="DcqcnMargin has no simulation"):
        search(model, {"g": (0.001, 0.5)}, "distance to model", budget=2, progress=False)


def test_where_a_model_and_a_simulation_differ_most():
    found = search(DasrIncast(), {"senders": (2, 64)}, "distance to model", budget=4, progress=False)
    summary = rdmacc.compare(found.subject).summary()
    larger = summary[["model", "simulation"]].max(axis=1)
    apart = (summary["model"] - summary["simulation"]).abs() / larger
    assert found.best.objectives[0] == pytest.approx(apart.max())
    assert 0 < found.best.objectives[0] < 1


def test_a_case_builds_what_its_fields_say():
    case = Case(network="leaf-spine", senders=3, rounds=2, long_flows=1, victims=2, slow=0.5, down_ps="2us",
                storm_ps="1us", jitter_ps="1ns", loss=0.001)  # fmt: skip
    scenario = case.scenario("dcqcn")
    assert len(scenario.messages()) == 1 + 3 * 2 + 2
    assert scenario.make_network().edges["h0", "leaf0"]["rate_bps"] == 50e9
    assert [type(one).__name__ for one in scenario.faults] == ["Loss", "LinkDown", "PauseStorm", "Clocks"]
    assert case.run("dcqcn").flows["fct_ps"].notna().all()


def test_held_out_cases_depend_on_the_seed_and_are_compared_both_ways():
    """Compared with itself a scheme is never better; compared with another, one's gain is the other's loss."""
    assert drawn(1, 6) == drawn(1, 6) != drawn(2, 6)
    same = rdmacc.held_out("dctcp", "dctcp", 5, count=6, progress=False)
    assert same.better[:1] == same.worse[:1] == (0.0,)
    one, other = (rdmacc.held_out(*pair, 5, count=6, progress=False) for pair in (("hpcc", "dctcp"), ("dctcp", "hpcc")))
    assert (one.better, one.worse) == (other.worse, other.better)
    fewest = rdmacc.held_out("hpcc", "dctcp", 5, "peak queue", count=6, progress=False)
    share, low, high = fewest.better
    assert 0 <= low <= share <= high <= 1
    assert str(fewest).startswith("hpcc against dctcp in 6 cases drawn by seed 5, peak queue:")
    row = fewest.frame.iloc[0]
    assert OBJECTIVES["peak queue"].measure(drawn(5, 1)[0], eval(row["line"])) == row["scheme"]
    refused(lambda: rdmacc.held_out("dctcp", "hpcc", 1, "slowness"), "objective")
