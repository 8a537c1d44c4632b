"""Studies: schemes, parameters and seeds compared in one call."""

import io
import os
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc import study
from rdmacc.errors import ConfigError
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.results.folders import write_folder
from rdmacc.results.summary import half_width
from rdmacc.sweep import Store, SweepError, processes
from rdmacc.sweep.study import Study
from rdmacc.sweep.study_runs import QUANTITIES
from tests.support import refused

SENDERS = ["h1", "h2", "h3"]


def work(size="8kB", degree=3, seed=0):
    """Return an incast whose start times depend on the seed."""
    chance = np.random.default_rng(seed)
    return rdmacc.messages([(SENDERS[i], "h0", size, f"{chance.integers(0, 9)}us") for i in range(degree)])


@pytest.fixture
def run(tmp_path):
    def call(schemes, **options):
        settings = {"engine": "simpy", "store": tmp_path, "progress": False} | options
        return study(settings.pop("network", rdmacc.star(4)), settings.pop("work", work), schemes, **settings)

    return call


def test_every_combination_runs_once_and_equals_simulate(run):
    found = run(["dcqcn", "line-rate"], vary={"size": ["8kB", "32kB"], "degree": [1, 3]}, seeds=2)
    assert len(found.runs) == 2 * 2 * 2 * 2
    assert found.parameters == ("size", "degree")
    row = found.runs.query("scheme == 'dcqcn' and size == '32kB' and degree == 3 and seed == 1").iloc[0]
    alone = rdmacc.simulate(rdmacc.star(4), work("32kB", 3, 1), "dcqcn", engine="simpy", seed=1, progress=False)
    assert row["fct_mean_ps"] == pytest.approx(alone.flows["fct_ps"].mean())
    assert row["peak_queue_bytes"] == alone.counters["peak_queue_bytes"]
    assert row["goodput_bps"] == pytest.approx(alone.summary().goodput_bps)
    flows = found.flows.query("scheme == 'dcqcn' and size == '32kB' and degree == 3 and seed == 1")
    assert flows["fct_ps"].tolist() == alone.flows["fct_ps"].tolist()
    assert flows["slowdown"].tolist() == alone.flows["slowdown"].tolist()
    assert len(found.flows) == 2 * 2 * 2 * (1 + 3)


def test_a_parameter_goes_to_the_schemes_that_have_it(run):
    found = run(["dcqcn", "line-rate"], vary={"g": [1 / 256, 1 / 4]})
    assert found.runs["scheme"].tolist() == ["dcqcn", "dcqcn", "line-rate"]
    assert found.runs["g"].tolist()[:2] == [1 / 256, 1 / 4]
    assert pd.isna(found.runs["g"].iloc[2])


def test_the_network_may_depend_on_varied_values_too(run):
    found = run("line-rate", network=lambda rate: rdmacc.star(4, rate=rate), vary={"rate": ["10Gbps", "100Gbps"]})
    slow, fast = found.runs.set_index("rate")["fct_mean_ps"]
    assert slow > 5 * fast


def test_schemes_with_the_same_name_are_distinguished_by_their_differences(run):
    found = run(["dcqcn", rdmacc.scheme("dcqcn", g=1 / 16), "line-rate"])
    assert found.runs["scheme"].tolist() == [f"dcqcn (g={1 / 256})", f"dcqcn (g={1 / 16})", "line-rate"]
    mine = run({"mine": rdmacc.scheme("dcqcn", g=1 / 16)})
    assert mine.runs["scheme"].tolist() == ["mine"]


def test_stored_runs_are_not_computed_again(run, tmp_path):
    first = run(["dcqcn"], seeds=2)
    again = run(["dcqcn"], seeds=3, store=Store(tmp_path))
    assert (first.reused, again.reused) == (0, 2)
    pd.testing.assert_frame_equal(again.runs.iloc[:2], first.runs)


@pytest.mark.slow
def test_processes_and_executors_give_the_same(run, tmp_path):
    alone = run(["dcqcn"], seeds=2, store=tmp_path / "a")
    processes = run(["dcqcn"], seeds=2, store=tmp_path / "b", jobs=2)
    with ThreadPoolExecutor(2) as executor:
        threads = run(["dcqcn"], seeds=2, store=tmp_path / "c", executor=executor)
    for other in (processes, threads):
        pd.testing.assert_frame_equal(other.runs, alone.runs)
        pd.testing.assert_frame_equal(other.flows, alone.flows)


def test_a_component_that_cannot_be_pickled_runs_here_and_is_not_stored(run, tmp_path):
    class Local(Dcqcn):
        """A class defined in a function."""

    found = run({"mine": rdmacc.scheme("dcqcn").replace(control=Local())}, seeds=2)
    assert len(found.runs) == 2
    assert not list(tmp_path.rglob("*.parquet"))


def test_the_summary_has_students_interval(run, monkeypatch):
    found = run(["dcqcn"], seeds=4)
    row = found.summary("fct_mean_ps").iloc[0]
    values = found.runs["fct_mean_ps"]
    assert row["seeds", ""] == 4
    assert row["fct_mean_ps", "mean"] == pytest.approx(values.mean())
    # Student's t of 95% with 3 degrees of freedom is 3.182.
    half = 3.182446 * values.std(ddof=1) / 2
    assert row["fct_mean_ps", "high"] - row["fct_mean_ps", "mean"] == pytest.approx(half, rel=1e-6)
    assert row["fct_mean_ps", "mean"] - row["fct_mean_ps", "low"] == pytest.approx(half, rel=1e-6)
    assert "mean ± 95% confidence" in repr(found)
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
        assert "mean +- 95% confidence" in repr(found)
    assert "<table>" in found._repr_html_()


def test_one_seed_has_no_interval(run):
    found = run(["dcqcn"])
    assert "confidence" not in repr(found)
    row = found.summary("goodput_bps").iloc[0]
    assert np.isnan(row["goodput_bps", "low"])
    assert half_width(pd.Series([np.nan, 1.0]), pd.Series([1, 2]), 0.5).tolist()[1] == pytest.approx(1 / 2**0.5)


def test_a_comparison_pairs_the_runs_of_each_seed(run):
    found = run(["dcqcn", "line-rate"], seeds=4, vary={"degree": [1, 3], "g": [1 / 256]})
    compared = found.compare("line-rate", "fct_mean_ps")
    values = found.runs.pivot(index=["degree", "seed"], columns="scheme", values="fct_mean_ps")
    differs = (values["dcqcn"] - values["line-rate"]).loc[3]
    row = compared.frame.loc["dcqcn", 3, 1 / 256]
    assert row["seeds", ""] == 4
    assert row["fct_mean_ps", "mean"] == pytest.approx(differs.mean())
    half = 3.182446 * differs.std(ddof=1) / 2
    assert row["fct_mean_ps", "high"] - row["fct_mean_ps", "mean"] == pytest.approx(half, rel=1e-6)
    assert len(compared.frame) == 2
    assert "difference from line-rate, seed by seed" in repr(compared)
    assert "<table>" in compared._repr_html_()
    whole = found.compare("dcqcn").frame["fct_mean_ps", "mean"]
    assert whole.tolist() == pytest.approx((-compared.frame["fct_mean_ps", "mean"]).tolist())


@pytest.mark.parametrize(
    ("baseline", "given", "words"),
    [
        ("dcqn", {}, "baseline = 'dcqn'.*did you mean.*dcqcn"), ("dcqcn", {}, "with one value of g"),
        ("line-rate", {"confidence": 1.0}, "confidence"),
    ],
)  # fmt: skip
def test_comparisons_that_are_impossible_are_refused(run, baseline, given, words):
    found = run(["dcqcn", "line-rate"], vary={"g": [1 / 256, 1 / 4]})
    with pytest.raises(ConfigError, match=words):
        found.compare(baseline, **given)
    refused(lambda: run(["dcqcn"]).compare("dcqcn"), "no other")
    refused(lambda: found.compare("line-rate", "fct"), "quantity = 'fct'")


class Host:
    """A node's name; all have the same repr."""

    def __repr__(self):
        return "host"


def test_nodes_with_equal_reprs_are_computed_and_not_stored(run, tmp_path, caplog):
    nodes = [Host(), Host()]
    network = rdmacc.star(3)
    network = nx.relabel_nodes(network, {"h0": nodes[0], "h1": nodes[1]})
    work = rdmacc.messages([(nodes[0], nodes[1], "8kB")])
    for _ in range(2):
        assert run("line-rate", network=network, work=work).reused == 0
    assert not list(tmp_path.rglob("*.parquet"))
    assert caplog.text.count("computing points of study without storing them: node = host: must be plain data") == 1


def test_a_window_counts_as_in_a_result_and_reruns_nothing(tmp_path):
    network, window = rdmacc.star(5), ("100us", "400us")
    work = rdmacc.poisson(network, "20kB", 0.5, duration="500us", seed=1)
    given = {"engine": "simpy", "store": tmp_path, "progress": False}
    whole = rdmacc.study(network, work, "dcqcn", **given)
    found = rdmacc.study(network, work, "dcqcn", window=window, **given)
    assert (whole.reused, found.reused) == (0, 1)
    result = rdmacc.simulate(network, work, "dcqcn", engine="simpy", progress=False)
    for one, summary in ((whole, result.summary()), (found, result.summary(window))):
        row = one.runs.iloc[0]
        for name in set(QUANTITIES) & set(summary.to_series().index):
            assert row[name] == pytest.approx(getattr(summary, name)), name
        assert len(one.flows) == summary.flows
    assert 0 < len(found.flows) < len(whole.flows)
    assert found.flows["start_ps"].between(100e6, 400e6, inclusive="left").all()
    refused(lambda: rdmacc.study(network, work, "dcqcn", window="1ms", **given), "window = '1ms'")


def test_a_failed_run_does_not_affect_others(run, caplog):
    def network(n):
        return rdmacc.star(4, delay="1us") if n else rdmacc.star(2)

    found = run(["dcqcn"], network=network, vary={"n": [1, 0]})
    assert len(found.runs) == 1
    assert list(found.failures) == ["dcqcn, n=0, seed 0"]
    assert "FAILED" in repr(found)
    assert "n=0" in caplog.text
    with pytest.raises(SweepError):
        run(["dcqcn"], network=rdmacc.star(2))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schemes": []}, "schemes"), ({"schemes": ["dcqcn", "dcqcn"]}, "without repeats"),
        ({"schemes": ["dcqn"]}, "did you mean.*dcqcn"), ({"schemes": 3}, "schemes = 3"), ({"seeds": 0}, "seeds = 0"),
        ({"seeds": [1, 1]}, "seeds"), ({"seeds": "two"}, "seeds"), ({"vary": {"gg": [1]}}, "vary = 'gg'"),
        ({"vary": {"g": 1}}, "vary, g = 1"), ({"vary": {"g": []}}, "vary, g"),
        ({"vary": {"g": [0.5, 0.25, 0.5]}}, "without repeats"), ({"vary": {"seed": [1]}}, "seeds="),
        ({"vary": 3}, "vary = 3"), ({"work": lambda: 3}, "workload = 3"), ({"engine": "fast"}, "engine"),
        ({"vary": {"g": [2.0]}}, "g = 2.0"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named_before_anything_runs(run, tmp_path, options, words):
    with pytest.raises(ConfigError, match=words):
        run(options.pop("schemes", ["dcqcn"]), **options)
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_study_can_be_saved_and_loaded(run, tmp_path):
    found = run(["dcqcn", "line-rate"], vary={"g": [1 / 256, 1 / 4]}, seeds=2)
    back = Study.load(found.save(tmp_path / "kept" / "study"))
    for name in ("runs", "flows"):  # a scheme without the parameter has None or NaN
        ours, theirs = (getattr(one, name).convert_dtypes() for one in (back, found))
        pd.testing.assert_frame_equal(ours, theirs)
    assert str(back) == str(found)
    assert back.plot.versus("g").get_lines()
    refused(lambda: rdmacc.load(tmp_path / "kept" / "study"), "Result.save")
    refused(lambda: found.save(tmp_path / "kept" / "study"), "replace=True")


@pytest.mark.parametrize("wrong", [{"parameters": "g"}, {"failures": None}, {"reused": "1"}])
def test_files_of_other_programs_are_refused(tmp_path, wrong):
    about = {"parameters": ["g"], "failures": {}, "reused": 1} | wrong
    frames = dict.fromkeys(("runs", "flows"), pd.DataFrame())
    folder = write_folder(tmp_path / "study", "study", about, frames, replace=False)
    refused(lambda: Study.load(folder), "Study.save")


@pytest.mark.parametrize("name", ["size_bytes", "fct_ps", "drops", "goodput_bps", "start_ps"])
def test_varied_values_cannot_be_named_like_the_frames_columns(run, name):
    refused(lambda: run("dcqcn", work=lambda **given: None, vary={name: [1, 2]}), "another name")


def test_values_with_equal_text_are_refused(run):
    slow = rdmacc.star(4, rate="25Gbps")
    given = {"network": lambda net: net, "workload": work, "schemes": "dcqcn", "progress": False}
    refused(lambda: study(**given, vary={"net": [rdmacc.star(4), slow]}), "vary, net", "named by their values' text")
    refused(lambda: run("dcqcn", vary={"size": [8000, "8000"]}), "vary, size = '8000'")
    refused(lambda: run("dcqcn", vary={"size": [np.arange(2), np.arange(3)]}), "can be a key")


def test_short_runs_are_not_stored_and_give_the_same_measurements(tmp_path, monkeypatch):
    monkeypatch.setattr("rdmacc.sweep.store.default_folder", lambda: tmp_path / "default")
    given = {"vary": {"size": ["8kB", "40kB"]}, "seeds": 3, "progress": False}
    short = study(rdmacc.star(4), work, ["dcqcn", "hpcc"], **given)
    assert not list(tmp_path.rglob("*.parquet"))
    stored = study(rdmacc.star(4), work, ["dcqcn", "hpcc"], store=tmp_path / "store", **given)
    assert list(tmp_path.rglob("*.parquet"))
    pd.testing.assert_frame_equal(short.runs, stored.runs)
    pd.testing.assert_frame_equal(short.flows, stored.flows)


def _drawn(seed):
    if seed == 40:
        raise ValueError("a draw that fails")
    return rdmacc.messages([(one, "h0", 1000 + seed) for one in SENDERS])


@pytest.mark.skipif(not processes.may_fork(), reason="forks of this process")
def test_many_short_runs_are_distributed_to_forks_and_give_the_same_measurements(monkeypatch):
    """Workloads are drawn in the forks too; a fork that dies is replaced by this process."""
    monkeypatch.setattr("rdmacc.sweep.study._BLOCK", 3)
    own, here = os.getpid(), {"engine": "compiled", "progress": False}

    def drawn(seed):
        if seed == 10 and os.getpid() != own:
            os._exit(1)
        return _drawn(seed)

    monkeypatch.setattr("rdmacc.sweep.processes._WORTH_FORKING_S", float("inf"))
    alone = study(rdmacc.star(4), _drawn, ["dcqcn", "hpcc"], seeds=8, **here)
    monkeypatch.setattr("rdmacc.sweep.processes._WORTH_FORKING_S", 0.0)
    forked = study(rdmacc.star(4), _drawn, ["dcqcn", "hpcc"], seeds=8, **here)
    assert forked.runs.equals(alone.runs)
    assert forked.flows.equals(alone.flows)
    assert forked.explain("hpcc", "dcqcn").frame.equals(alone.explain("hpcc", "dcqcn").frame)
    assert len(study(rdmacc.star(4), drawn, "dcqcn", seeds=12, **here).runs) == 12
    with pytest.raises(ValueError, match="a draw that fails"):
        study(rdmacc.star(4), _drawn, "dcqcn", seeds=range(30, 50), **here)
