"""Checkpoints: a run continues from its file in another process, killed or not; a file that does not fit is refused."""

import itertools
import multiprocessing
import os
import signal
import time
from typing import Any

import numpy as np
import pytest

import rdmacc
from rdmacc import Simulation
from rdmacc.engine import checkpoints
from rdmacc.errors import ConfigError
from rdmacc.simulation.copies import Regular
from rdmacc.units import ps
from tests.simulation.test_fork import same, work
from tests.simulation.test_sending import TIMES, apply, network
from tests.support import refused

WORK = rdmacc.random_pairs(network("leaf-spine"), 4000, "60kB", jitter="200ms", seed=1)
"""A run of about 200 steps, with a checkpoint after each."""


@pytest.mark.parametrize("scheme", ["dcqcn", "homa", "irn", "ndp", "rcp", "expresspass", "dart"])
def test_a_loaded_run_continues_as_if_never_stopped(tmp_path, scheme):
    given = {"engine": "compiled", "seed": 2, "faults": [rdmacc.Loss(data=0.01)]}
    whole = rdmacc.simulate(network(), work(1), scheme, **given)
    simulation = Simulation(network(), work(1), scheme, **given)
    simulation.run(ps(40_000_000), progress=False)
    simulation.save(tmp_path / "state")
    same(Simulation.load(tmp_path / "state").run(progress=False), whole)
    same(simulation.run(progress=False), whole)


def test_a_checkpoint_contains_sent_messages(tmp_path):
    simulation = Simulation(network(), rdmacc.open_work(work(2)), "dcqcn", engine="compiled")
    apply(simulation, 1)
    simulation.save(tmp_path / "state")
    loaded = Simulation.load(tmp_path / "state")
    for one in (simulation, loaded):
        apply(one, 2)
    assert simulation.run(progress=False).flows[TIMES].equals(loaded.run(progress=False).flows[TIMES])


def test_a_checkpoint_contains_future_faults(tmp_path):
    faults = [rdmacc.LinkDown(link=("h1", "s0"), at_ps="45us", until_ps="60us", convergence_ps="2us")]
    simulation = Simulation(network(), work(3), "dcqcn", engine="compiled", faults=faults)
    simulation.run("50us", progress=False)
    simulation.save(tmp_path / "state")
    same(Simulation.load(tmp_path / "state").run(progress=False), simulation.run(progress=False))


def test_a_file_damaged_in_any_byte_is_refused(tmp_path):
    path = tmp_path / "state"
    Simulation(network(), work(3), "dcqcn", engine="compiled").save(path)
    content = bytearray(path.read_bytes())
    places = [*range(100), *np.random.default_rng(1).integers(100, len(content), 60).tolist(), len(content) - 1]
    for place in places:
        content[place] ^= 1
        path.write_bytes(content)
        refused(lambda: Simulation.load(path), "damaged")
        content[place] ^= 1
    path.write_bytes(content[:-1])
    refused(lambda: Simulation.load(path), "damaged")
    refused(lambda: Simulation.load(tmp_path / "none"), "can be read")
    refused(lambda: Simulation.load(None), "path = None")


@pytest.mark.parametrize("what", ["rdmacc", "numba", "python"])
def test_a_file_from_other_code_is_refused(tmp_path, monkeypatch, what):
    path = tmp_path / "state"
    others = checkpoints._versions() | {what: "another"}
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "_versions", lambda: others)
        Simulation(network(), work(3), "dcqcn", engine="compiled").save(path)
    refused(lambda: Simulation.load(path), f"by the same {what}: there another, here")


def test_runs_that_cannot_be_saved_are_refused(tmp_path):
    refused(lambda: Simulation(network(), work(3), "dcqcn", engine="simpy").save(tmp_path / "state"), "compiled engine")
    with pytest.raises(ConfigError, match="compiled engine"):
        rdmacc.simulate(network(), work(3), "dcqcn", engine="simpy", checkpoint=tmp_path / "state")
    for every in ("5 lightyears", -1, True):
        with pytest.raises(ConfigError, match="every"):
            rdmacc.simulate(network(), work(3), "dcqcn", checkpoint=tmp_path / "state", every=every)
    Simulation(network(), work(3), "dcqcn", engine="compiled").save(tmp_path / "state")
    with pytest.raises(ConfigError, match="of this scenario"):
        rdmacc.simulate(network(), work(4), "dcqcn", engine="compiled", checkpoint=tmp_path / "state")


def test_a_full_disk_spares_the_earlier_file_and_the_run(tmp_path, monkeypatch, caplog):
    path = tmp_path / "state"
    simulation = Simulation(network(), work(3), "dcqcn", engine="compiled")
    simulation.save(path)
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = rdmacc.simulate(network(), work(3), "dcqcn", engine="compiled", checkpoint=path, every=0)
    assert result.flows["status"].eq("finished").all()
    assert "No space left" in caplog.text
    simulation._after_step = Regular(path, 0.0)
    path.write_bytes(before)
    simulation.run(progress=False)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("until", [None, "60us"])
def test_the_file_is_deleted_with_the_result_but_kept_after_an_exception(until, tmp_path, monkeypatch):
    monkeypatch.setattr("rdmacc.simulation.running._FEW_HOSTS", 1)  # so that there are several steps
    path, given = tmp_path / "state", {"engine": "compiled", "until": until}
    whole = rdmacc.simulate(network(), work(3), "dcqcn", **given)

    def interrupted(simulation):
        Regular.__call__(regular[0], simulation)
        raise KeyboardInterrupt

    regular = [Regular(path, 0.0)]
    simulation = Simulation(network(), work(3), "dcqcn", engine="compiled")
    simulation._after_step = interrupted
    with pytest.raises(KeyboardInterrupt):
        simulation.run(until)
    assert path.exists()

    def broken(self, _):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Regular, "__call__", broken)
        with pytest.raises(KeyboardInterrupt):
            rdmacc.simulate(network(), work(3), "dcqcn", checkpoint=path, **given)
    assert path.exists()
    same(rdmacc.simulate(network(), work(3), "dcqcn", checkpoint=path, **given), whole)
    assert not list(tmp_path.iterdir())
    same(rdmacc.simulate(network(), work(3), "dcqcn", checkpoint=path, **given), whole)  # from the start
    assert not list(tmp_path.iterdir())


def _run(path: str) -> None:
    rdmacc.simulate(
        network("leaf-spine"), WORK, "dcqcn", engine="compiled", checkpoint=path, every=0, progress=False
    )  # fmt: skip


KILLS = 5
CONTEXT = multiprocessing.get_context("fork")


def killed(path, count: int, fewest: int, most_s: float) -> int:
    """Kill a run again and again, each time at a random moment after some checkpoints; return how often.

    No process loses what an earlier one has saved.
    """
    rng, kills, kept_ps = np.random.default_rng(3), 0, 0
    for _ in range(count):
        process, seen = CONTEXT.Process(target=_run, args=(str(path),)), {_file(path)}
        wanted = fewest and int(rng.integers(fewest, fewest + 5))
        process.start()
        while process.is_alive() and len(seen) < wanted:
            time.sleep(0.001)
            seen.add(_file(path))
        process.join(float(rng.uniform(0.0, most_s)))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.join()
        before_ps, kept_ps = kept_ps, Simulation.load(path).now_ps if path.exists() else 0
        assert kept_ps >= before_ps
    return kills


def _file(path) -> int:
    """Return when a checkpoint was written; 0 if there is none."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def goes_on_to_its_end(path) -> None:
    """Assert that a killed run reaches the result of an undisturbed one and leaves no file."""
    given = {"engine": "compiled", "progress": False}
    whole = rdmacc.simulate(network("leaf-spine"), WORK, "dcqcn", **given)
    if path.exists():
        assert 0 < Simulation.load(path).now_ps < whole.now_ps
    same(rdmacc.simulate(network("leaf-spine"), WORK, "dcqcn", checkpoint=path, **given), whole)
    assert not list(path.parent.iterdir())


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes that find the kernel loaded")


@forks
@pytest.mark.parametrize("count", [KILLS, pytest.param(30, marks=pytest.mark.nightly)])
def test_killed_at_any_time_nothing_is_lost(tmp_path, count):
    assert killed(tmp_path / "state", count, 2, 0.02) == count
    goes_on_to_its_end(tmp_path / "state")


@forks
@pytest.mark.parametrize("count", [KILLS, pytest.param(30, marks=pytest.mark.nightly)])
def test_killed_while_it_starts_nothing_is_lost(tmp_path, count):
    """At random times: before it has read its file, while it lays out memory, in its first steps."""
    killed(tmp_path / "state", 1, 2, 0.0)
    assert killed(tmp_path / "state", count, 0, 0.2) == count
    goes_on_to_its_end(tmp_path / "state")


def _killed_in_a_write(path: str, number: int, name: str) -> None:
    """Run, and die during a checkpoint: with half a file written, or before the file has its name."""
    calls, real = itertools.count(1), getattr(os, name)

    def dies(*given: Any) -> None:
        if next(calls) == number:
            if name == "fsync":
                os.ftruncate(given[0], os.fstat(given[0]).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        real(*given)

    setattr(os, name, dies)
    _run(path)


@forks
@pytest.mark.parametrize("name", ["fsync", "replace"])
def test_killed_in_a_write_nothing_is_lost(tmp_path, name):
    path, reached = tmp_path / "state", []
    for number in (1, 2, 4):
        process = CONTEXT.Process(target=_killed_in_a_write, args=(str(path), number, name))
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert checkpoints.part_of(path).exists()
        reached.append(Simulation.load(path).now_ps if path.exists() else 0)
    assert 0 == reached[0] < reached[1] < reached[2]
    goes_on_to_its_end(path)
