"""Sweeps: the same table however computed, and nothing lost to failures, kills and signals.

Processes of a sweep: a script needs no `__main__` guard unless it defines the computed functions.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.experiments import experiment
from rdmacc.simulation import Simulation, copies, running
from rdmacc.sweep.processes import Processes, why_not_elsewhere
from rdmacc.sweep.run import SweepError, stored, sweep
from rdmacc.sweep.store import Store
from rdmacc.sweep.workers import Failed, Run, Task, compute
from tests import sweeps
from tests.support import refused
from tests.sweeps import Long, Stopped, Tiny, Troubled

ROOT = Path(__file__).parents[2]


def run(one, folder, **options):
    return sweep(one, store=Store(folder), **({"engine": "simpy"} | options))


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": -1}, {"seed": 1.5}, {"seed": "x"}, {"seed": None}, {"seed": True}, {"seeds": 0}, {"seeds": 10**30},
        {"seeds": "2"}, {"changes": 5}, {"changes": {"x": 1}}, {"jobs": 0}, {"engine": None}, {"scale": []},
        {"engine": "fast"}, {"scale": "huge"},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_swept_is_refused(tmp_path, wrong):
    with pytest.raises(ConfigError, match=f"^{next(iter(wrong))}|^parameter = 'x'"):
        run(Tiny(), tmp_path, **wrong)
    assert not list(tmp_path.iterdir())


def test_a_class_defined_in_a_function_is_refused_before_anything_runs(tmp_path):
    class Local(Tiny):
        pass

    with pytest.raises(ConfigError, match=r"^point = '.*': must be made of what modules define.*Local"):
        sweep(Local(), store=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_sweep_gives_the_same_as_a_run(tmp_path, engine):
    found = run(Tiny(), tmp_path, engine=engine)
    pd.testing.assert_frame_equal(found.table, Tiny().run(engine=engine))
    assert list(found.table["point"].unique()) == [point.name for point in Tiny().points()]
    assert (0 < found.effort()["wall_s"] < 600, found.effort()["engines"]) == (True, [engine])


def test_stored_points_are_not_computed_again(tmp_path):
    first = run(Tiny(), tmp_path)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert len(times) == 4
    assert first.reused == 0
    second = run(Tiny(), tmp_path)
    assert second.reused == 4
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == times
    pd.testing.assert_frame_equal(first.table, second.table)
    assert first.summary() == second.summary()
    assert first.effort() == second.effort()
    shifted = run(Tiny(), tmp_path, seed=1)
    assert shifted.reused == 2  # seed 1 is in both


@pytest.mark.slow
def test_a_failed_point_does_not_affect_others(tmp_path):
    """One raises, one returns no table, one kills its process; all others are as computed in one process."""
    found = run(Troubled(), tmp_path, jobs=2)
    alone = run(Tiny(), tmp_path, jobs=1).tables
    assert set(found.tables) == set(alone)
    for name, table in alone.items():
        pd.testing.assert_frame_equal(found.tables[name], table, check_exact=True)
    assert set(found.failures) == {"fails", "dies", "gives none", "gives a mixture"}
    reasons = {name: failed.reason for name, failed in found.failures.items()}
    assert reasons["fails"].startswith("KeyError: 'fails' (sweeps.py, line ")
    assert "died" in reasons["dies"]
    assert "a DataFrame with the columns point" in reasons["gives none"]
    assert "columns have one type each" in reasons["gives a mixture"]
    with pytest.raises(
        SweepError, match=r"tests\.troubled: 4 of 8 points failed; the others are kept\n  fails: KeyError"
    ):
        found.table  # noqa: B018
    assert stored(Troubled(), store=Store(tmp_path)).reused == 4


@pytest.mark.slow
def test_calls_whose_process_dies_are_repeated_alone(tmp_path):
    """One kills its process each time, one only while others run; the rest run once."""
    calls = {name: partial(sweeps.write_and_die, str(tmp_path), name) for name in ("a", "b", "always", "once", "c")}
    with Processes(2, imports_script=False) as processes:
        found = dict(processes.outcomes(calls))
    assert {name for name, future in found.items() if future.exception()} == {"always"}
    assert isinstance(found["always"].exception(), BrokenExecutor)
    runs = Counter(path.name.partition(" ")[0] for path in tmp_path.iterdir())
    assert runs == {"a": 1, "b": 1, "c": 1, "always": 2, "once": 2}


def test_a_failure_on_an_executor_does_not_affect_others(tmp_path):
    with ThreadPoolExecutor(1) as executor:
        found = run(Troubled(), tmp_path, scale="paper", executor=executor)
    assert set(found.failures) == {"fails"}
    assert len(found.tables) == 4


def test_sources_changed_during_a_sweep_are_noticed(tmp_path):
    found = stored(Tiny(), store=Store(tmp_path))
    (point, *_), code = found.points, dict(next(iter(found.identities.values()))["code"])

    payload = pickle.dumps((Tiny(), point, "simpy", 1))
    assert not isinstance(Task(payload, code)(), Failed)
    assert "the code" in Task(payload, code | {"hash": "another"})().reason
    assert "UnpicklingError" in Task(b"nonsense", code)().reason


def test_parameters_reach_the_schemes_that_have_them(tmp_path):
    changed = run(Tiny(), tmp_path, changes={"timeout_ps": "50us"})
    assert {point.scenario.scheme.recovery.timeout_ps for point in changed.points} == {50_000_000}
    assert changed.summary()["set"] == {"timeout_ps": "50us"}
    assert run(Tiny(), tmp_path).reused == 0
    one = experiment("dart.fig3")
    both = stored(one, store=Store(tmp_path), changes={"idle_ps": "1s"})
    assert both.missing
    with pytest.raises(ConfigError, match=r"parameter = 'timeout': must be a parameter .*; did you mean .*timeout_ps"):
        run(Tiny(), tmp_path, changes={"timeout": 1})
    refused(lambda: run(Tiny(), tmp_path, changes={"timeout_ps": "soon"}), "timeout_ps")


def test_an_incomplete_table_counts_as_missing(tmp_path):
    with pytest.raises(SweepError, match="4 of 4 points failed.*\n.*not computed yet"):
        stored(Tiny(), store=Store(tmp_path)).table  # noqa: B018


def test_old_drafts_are_removed(tmp_path):
    folder = tmp_path / "tests.tiny"
    folder.mkdir()
    old, new = folder / ".a-1.tmp", folder / ".a-2.tmp"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (1, 1))
    run(Tiny(), tmp_path)
    assert not old.exists()
    assert new.exists()


def python(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def killed(folder, kills):
    code = f"from tests.sweeps import *; print(json.dumps(kill_again_and_again({str(folder)!r}, {kills}, 5)))"
    with python(f"import json; {code}") as process:
        output, error = process.communicate()
    assert not process.returncode, error
    return json.loads(output)


def check_killed(found):
    assert found["lost"] == 0
    assert found["reused"] >= found["announced"]
    assert found["equal"]


def test_sigterm_keeps_finished_points(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        run(Stopped(), tmp_path)
    assert signal.getsignal(signal.SIGTERM) is before
    assert [point.name for point in stored(Stopped(), store=Store(tmp_path)).missing] == ["k=2 seed=1"]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_killed_sweep_loses_nothing(tmp_path):
    found = killed(tmp_path, 8)
    assert found["kills"] == 8
    check_killed(found)


def children(pid):
    try:
        own = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except FileNotFoundError:
        return []
    return [int(child) for child in own] + [one for child in own for one in children(int(child))]


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, what):
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(what)


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_signal_ends_every_process_and_keeps_finished_points(tmp_path, number):
    code = "import sys; from tests import sweeps; getattr(sweeps, sys.argv[1])(sys.argv[2])"
    with python(code, "run_forever", tmp_path) as process:
        try:
            wait_until(lambda: len(list(tmp_path.rglob("*.parquet"))) == 2, "two points stored")
            below = children(process.pid)
            assert len(below) >= 2
            process.send_signal(number)
            process.wait(timeout=300)
            wait_until(lambda: not any(map(is_alive, below)), "workers end with their parent")
            error = process.stderr.read()
        finally:
            process.kill()  # it never ends on its own
    assert number != signal.SIGTERM or "KeyboardInterrupt" in error
    with python(code, "print_missing", tmp_path) as process:
        assert json.loads(process.communicate()[0]) == ["waits 0", "waits 1", "waits 2"]


DEFINES = """
from dataclasses import dataclass, replace
import rdmacc

@dataclass(frozen=True, kw_only=True)
class Half(rdmacc.Component):
    "Sends at half the line rate."

    class Sender(rdmacc.interface.Record):
        rate_bps = rdmacc.interface.Float()

    def on_open(params, qp, sender):
        sender.rate_bps = qp.line_bps / 2

def compare():
    half = replace(rdmacc.scheme("go-back-n"), name="half", control=Half())
    found = rdmacc.study(
        rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "8kB"), [half, "dcqcn"], engine="simpy", jobs=2,
        store={store!r},
    )
    print(len(found.runs), "runs")
"""

UNGUARDED = DEFINES + "\ncompare()\n"
DEFINES_NOTHING = UNGUARDED.replace("[half, ", "['line-rate', ")
GUARDED = DEFINES + '\nif __name__ == "__main__":\n    compare()\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "warning"),
    [
        pytest.param(UNGUARDED, 'under `if __name__ == "__main__":`', id="defines"),
        pytest.param(DEFINES_NOTHING, "", id="defines nothing"),
        pytest.param(GUARDED, "", id="defines, guarded", marks=pytest.mark.nightly),
    ],
)
def test_a_script_computes_in_processes(text, warning, tmp_path):
    """Once and without pages of errors; in one process, with a warning, if others would run the whole script again."""
    text = text.format(store=str(tmp_path / "store"))
    script = tmp_path / "script.py"
    script.write_text(text)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.stdout == "2 runs\n", done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert ("computing in one process" in done.stderr) == bool(warning)
    assert warning in done.stderr


@pytest.mark.parametrize(
    ("payload", "source", "reason"),
    [
        (b"rdmacc.simulation.scenario", None, None),
        (b"rdmacc.simulation.scenario", "run()", None),
        (b"__main__ Half", "run()", "x.py"),
        (b"__main__ Half", 'if __name__ == "__main__":\n    run()', None),
        (b"__main__ Half", None, "not in a file"),
    ],
)
def test_what_other_processes_cannot_compute(payload, source, reason, tmp_path, monkeypatch):
    main = ModuleType("__main__")
    if source is not None:
        (tmp_path / "x.py").write_text(source)
        main.__file__ = str(tmp_path / "x.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    found = why_not_elsewhere([b"", payload])
    assert (found is None) == (reason is None)
    assert reason is None or reason in found


def test_a_killed_point_continues_from_its_checkpoint(tmp_path, monkeypatch):
    """The third step writes a checkpoint and dies; the next process starts from it."""
    monkeypatch.setenv("RDMACC_CHECKPOINT_EVERY", "0s")
    point = Tiny().checked_points("quick", 0)[0]
    whole, save, begun = compute(Tiny(), point, "compiled"), copies.save, []
    monkeypatch.setattr(running, "_FIRST_STEP_PS", 1_000)

    def dies(one, path):
        save(one, path)
        begun.append(one.now_ps)
        if len(begun) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(copies, "save", dies)
    path = str(tmp_path / "folder" / "point.checkpoint")
    with pytest.raises(KeyboardInterrupt):
        compute(Tiny(), point, "compiled", 1, path)
    (left,) = tmp_path.rglob("*.checkpoint.*")
    assert Simulation.load(left).now_ps == begun[-1] > 0
    again = compute(Tiny(), point, "compiled", 1, path)
    pd.testing.assert_frame_equal(again.table, whole.table, check_exact=True)
    assert begun[3] > begun[2]
    assert left.exists()  # until the point is stored, since its other runs may be killed
    left.write_bytes(b"damaged")
    assert compute(Tiny(), point, "compiled", 1, path).table.equals(whole.table)


def test_a_stored_point_has_no_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setenv("RDMACC_CHECKPOINT_EVERY", "0s")
    monkeypatch.setenv("RDMACC_TESTS_FOLDER", str(tmp_path))
    table = sweep(Long(), store=tmp_path, engine="compiled", progress=False).table
    assert table["value"].tolist() == [1]
    assert not list(tmp_path.rglob("*.checkpoint.*"))


@pytest.mark.parametrize("trace", [False, True])
def test_runs_of_several_seeds_are_those_one_by_one_and_cost_the_same(engine, trace):
    scenario = rdmacc.Scenario(
        network=partial(rdmacc.star, 4),
        workload=partial(rdmacc.incast, ["h1", "h2", "h3"], "h0", "20kB"),
        scheme="dcqcn",
        faults=[rdmacc.Loss(data=0.02)],
        until="5ms",
        trace=trace,
    )
    one_by_one, together = Run(engine), Run(engine)
    wanted = [one_by_one(replace(scenario, seed=seed)).digest() for seed in (3, 5, 4)]
    assert [result.digest() for result in together.each(scenario, (3, 5, 4))] == wanted
    assert len(set(wanted)) == 3
    assert together.runs == one_by_one.runs
