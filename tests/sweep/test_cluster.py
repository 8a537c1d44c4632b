"""Clusters: a local Dask cluster gives the same tables as one process, whatever happens to its workers."""

import gc
import multiprocessing
import os
import signal
import threading
import time

import pytest
from typer.testing import CliRunner

from rdmacc.cli.main import app
from rdmacc.errors import ConfigError
from rdmacc.experiments import EXPERIMENTS
from rdmacc.sweep import Store, stored, sweep
from rdmacc.sweep.cluster import check_alike, dask_executor
from rdmacc.sweep.store import write_table
from tests.support import refused
from tests.sweeps import Many

distributed = pytest.importorskip("distributed")


class Slow(Many):
    """An experiment that keeps a worker busy long enough for something else to happen."""

    name = "tests.slow"

    def measure(self, point, result):
        if multiprocessing.parent_process() is not None:
            time.sleep(0.3)
        return super().measure(point, result)


@pytest.fixture
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started:
        yield started


def files(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*.parquet")}


@pytest.mark.nightly
def test_a_cluster_gives_the_same_table_and_a_worker_that_dies_changes_nothing(cluster, tmp_path):
    alone = sweep(Slow(), engine="simpy", store=tmp_path / "alone")
    with dask_executor(cluster.scheduler_address) as executor:
        (doomed, _) = (worker.process.process.pid for worker in cluster.workers.values())
        threading.Timer(1.5, os.kill, (doomed, signal.SIGKILL)).start()
        found = sweep(Slow(), engine="simpy", store=tmp_path / "cluster", executor=executor)
    assert not found.failures
    assert found.table.equals(alone.table)
    assert set(files(tmp_path / "cluster")) == set(files(tmp_path / "alone"))
    for name, one in (("cluster", found), ("alone", alone)):
        write_table(tmp_path / f"{name}.parquet", one.table, one.summary())
    assert (tmp_path / "cluster.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()


@pytest.mark.nightly
def test_a_lost_scheduler_leaves_the_store_intact_and_the_command_resumes(cluster, tmp_path, monkeypatch):
    monkeypatch.setitem(EXPERIMENTS, Slow.name, Slow())

    def reproduce(*more):
        report, store = str(tmp_path / "report"), str(tmp_path / "store")
        arguments = ["reproduce", Slow.name, "--engine", "simpy", "--out", report, "--store", store, *more]
        return CliRunner().invoke(app, arguments)

    def go_away():
        while len(files(tmp_path / "store")) < 3:
            time.sleep(0.01)
        cluster.close()

    threading.Thread(target=go_away, daemon=True).start()
    stopped = reproduce("--dask", cluster.scheduler_address)
    assert stopped.exit_code == 1, stopped.output
    assert "the same command" in stopped.output
    assert "run the same command to continue" in (tmp_path / "report" / "index.html").read_text()
    kept = files(tmp_path / "store")
    found = stored(Slow(), store=Store(tmp_path / "store"))
    assert 3 <= len(found.tables) == len(kept) < len(found.points)
    assert reproduce().exit_code == 0
    after = files(tmp_path / "store")
    assert len(after) == len(found.points)
    assert {name: after[name] for name in kept} == kept
    whole = sweep(Slow(), engine="simpy", store=tmp_path / "alone").table
    assert stored(Slow(), store=Store(tmp_path / "store")).table.equals(whole)


def test_a_worker_with_different_versions_is_refused():
    with pytest.raises(
        ConfigError, match=r"worker tcp://a = 'rdmacc 9\.9': must be rdmacc .*, the version installed here"
    ):
        check_alike({"tcp://a": {"rdmacc": "9.9"}})
    refused(lambda: check_alike({"tcp://a": {}}), "rdmacc missing")


@pytest.mark.parametrize(
    "address",
    ["local:", "local:0", "local:x", pytest.param("tcp://127.0.0.1:1", marks=pytest.mark.nightly), "nonsense"],
)
def test_unreachable_addresses_are_refused(address, monkeypatch):
    monkeypatch.setattr("rdmacc.sweep.cluster._CONNECT_S", 1)
    with pytest.raises(ConfigError, match="--dask"), dask_executor(address):
        pass
    open_clients = [one for one in gc.get_objects() if type(one) is distributed.Client and one.status != "closed"]
    assert not open_clients  # if collected in one of Dask's threads, it would wait for itself
