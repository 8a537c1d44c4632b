"""The store: a point's identity, the place of its rows, and files that are never trusted."""

import logging
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.experiments import Point
from rdmacc.faults import Clocks, LinkDown, ScriptedLoss
from rdmacc.sweep.fingerprint import identify
from rdmacc.sweep.run import stored, sweep
from rdmacc.sweep.store import Store, default_folder, read_table, write_atomically, write_table
from rdmacc.sweep.tidy import tidy
from rdmacc.units import ms
from tests.support import refused, without_home
from tests.sweeps import Tiny, Troubled, incast

ROOT = Path(__file__).parents[2]


def identity(point, one=None):
    return identify(one or Tiny(), {point.name: point})[point.name]


def point(**changes):
    return Point(name="a", scenario=incast(2, **changes), labels={"k": 2})


TABLE = tidy("a", {"n": (1, ""), "rate": (2.5, "bps")}, {"queue": (pd.Series([1.0], index=[5]), "bytes")})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path)


@pytest.fixture
def kept(store):
    """Return the identity of a stored point, and its file."""
    known = identity(point())
    store.save(TABLE, known | {"wall_s": 1.5})
    return known, store.path(known["experiment"], known["key"])


def test_rows_are_restored_exactly(store, kept):
    table, provenance = store.load(kept[0])
    pd.testing.assert_frame_equal(table, TABLE)
    assert provenance["wall_s"] == 1.5
    assert provenance["describes"]["scenario"]["network"]["name"] == "star(3)"
    assert list(store.folder.rglob("*")) == [kept[1].parent, kept[1]]


def test_missing_files_do_no_harm(store, caplog):
    assert store.load(identity(point())) is None
    assert not caplog.records


class Bomb:
    """Goes off when it is unpickled."""

    def __reduce__(self):
        return exec, ("import sys; sys.rdmacc_bomb = True",)


def flipped(content):
    """Flip one bit of the data, which Parquet's footer does not notice."""
    return content[:40] + bytes([content[40] ^ 1]) + content[41:]


def other_scenario():
    known = identity(point())
    return known | {"describes": known["describes"] | {"labels": {"k": 3}}}


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-200]),
    "empty": lambda path: path.write_bytes(b""),
    "flip": lambda path: path.write_bytes(flipped(path.read_bytes())),
    "pickled": lambda path: path.write_bytes(pickle.dumps(Bomb())),
    "foreign": lambda path: pq.write_table(pa.table({"x": [1, 2]}), path),
    "unlabelled": lambda path: pq.write_table(pa.Table.from_pandas(TABLE), path),
    "other columns": lambda path: write_table(path, TABLE[["point", "value"]], read_table(path)[1]),
    "other point": lambda path: write_table(path, TABLE, identity(Point(name="b", scenario=incast(2)))),
    "other rows": lambda path: write_table(path, TABLE.assign(point="b"), read_table(path)[1]),
    "other scenario": lambda path: write_table(path, TABLE, other_scenario()),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_untrustworthy_file_is_reported_and_not_used(store, kept, caplog, damage):
    known, path = kept
    DAMAGES[damage](path)
    with caplog.at_level(logging.WARNING):
        assert store.load(known) is None
    (record,) = caplog.records
    assert path.name in record.getMessage()
    assert "recomputing a" in record.getMessage()
    assert not hasattr(sys, "rdmacc_bomb")
    if damage == "cut":
        refused(lambda: read_table(path), "a complete Parquet table written by rdmacc")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    write_atomically(path, lambda draft: draft.write_text("first"))

    def fail(draft):
        draft.write_text("sec")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space"):
        write_atomically(path, fail)
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_the_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path))
    assert Store().folder == tmp_path
    monkeypatch.delenv("RDMACC_STORE_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_folder() == tmp_path / "rdmacc" / "points"
    monkeypatch.chdir(tmp_path)
    assert Store("mine").folder == tmp_path / "mine"
    without_home(monkeypatch)
    refused(Store, "RDMACC_STORE_DIR = None: must be set")
    monkeypatch.setenv("RDMACC_STORE_DIR", str(tmp_path))
    assert Store().folder == tmp_path


CHANGES = {
    "network": {"network": partial(rdmacc.star, 4, rate="100Gbps", delay="1us")},
    "rate": {"network": partial(rdmacc.star, 3, rate="40Gbps", delay="1us")},
    "delay": {"network": partial(rdmacc.star, 3, rate="100Gbps", delay="2us")},
    "buffer": {"network": partial(rdmacc.star, 3, rate="100Gbps", delay="1us", buffer="5MB")},
    "size": {"workload": partial(rdmacc.incast, ["h1", "h2"], "h0", "8kB")},
    "sender": {"workload": partial(rdmacc.incast, ["h2", "h1"], "h0", "4kB")},
    "start": {"workload": partial(rdmacc.incast, ["h1", "h2"], "h0", "4kB", start="1us")},
    "to come": {"workload": rdmacc.open_work(rdmacc.incast(["h1", "h2"], "h0", "4kB"))},
    "to come, classes": {"workload": rdmacc.open_work(rdmacc.incast(["h1", "h2"], "h0", "4kB"), [3, 4])},
    "after": {"workload": rdmacc.messages([("h1", "h0", 4000), ("h2", "h0", 4000, 0, None, (0,))])},
    "scheme": {"scheme": "dcqcn"},
    "parameter": {"scheme": rdmacc.scheme("line-rate", timeout_ps="1ms")},
    "buffer policy": {"scheme": rdmacc.scheme("line-rate").replace(buffer=rdmacc.DropTail())},
    "seed": {"seed": 1},
    "until": {"until": "1ms"},
    "probe": {"probes": []},
    "period": {"probes": [rdmacc.probes.queue("s0", "h0", every="1us")]},
    "loss": {"faults": [rdmacc.Loss(data=0.06)]},
    "script": {"faults": [ScriptedLoss(message=0, psn=1)]},
    "link": {"faults": [LinkDown(link=("s0", "h1"), at_ps="1us")]},
    "clocks": {"faults": [Clocks(offset_ps="1us")]},
    "trace": {"trace": True},
}


def test_a_key_changes_with_every_part_of_a_scenario():
    keys = {name: identity(point(**changed))["key"] for name, changed in CHANGES.items()}
    keys["itself"] = identity(point())["key"]
    keys["point"] = identity(replace(point(), name="b"))["key"]
    keys["label"] = identity(replace(point(), labels={"k": 3}))["key"]
    keys["experiment"] = identity(point(), Troubled())["key"]
    assert len(set(keys.values())) == len(keys)


def test_a_key_does_not_depend_on_how_a_scenario_is_written():
    known = identity(point())["key"]
    assert identity(point(network=rdmacc.star(3, rate="100Gbps", delay="1us")))["key"] == known
    assert identity(point(workload=rdmacc.incast(["h1", "h2"], "h0", 4000)))["key"] == known
    assert identity(point(scheme=rdmacc.scheme("line-rate")))["key"] == known
    assert identity(point(engine="simpy"))["key"] == known
    assert identity(replace(point(), cost=9))["key"] == known
    assert identity(point(until=ms(1)))["key"] == identity(point(until="1ms"))["key"]


def test_a_key_does_not_depend_on_the_order_of_names():
    def keyed(names):
        network = rdmacc.star(3)
        network.nodes["s0"].update(dict.fromkeys(names, 1))
        labels = dict.fromkeys(names, 2)
        return identity(replace(point(network=network), labels=labels))["key"]

    assert keyed(["a", "b"]) == keyed(["b", "a"]) != keyed(["a", "c"])


def test_values_other_than_plain_data_are_named():
    refused(lambda: identity(replace(point(), labels={"k": object()})), "labels of a, k")
    refused(lambda: identity(point(network=lambda: rdmacc.star(3))), "must be picklable")
    refused(lambda: identity(point(workload=[1])), "workload")


def test_a_key_covers_what_an_experiment_or_a_scheme_uses(monkeypatch):
    keys = [identity(point(), Tiny())["key"]]
    keys.append(identity(point(), Other())["key"])
    monkeypatch.setattr(Other, "limit", 4)
    keys.append(identity(point(), Other())["key"])
    changed = Other()
    changed.limit = 5
    keys.append(identity(point(), changed)["key"])
    changed.limit = 6
    keys.append(identity(point(), changed)["key"])
    assert len(set(keys)) == len(keys)
    changed.limit = threading.Lock()
    assert "(lock)" in identity(point(), changed)["uncertain"]


class Other(Tiny):
    limit = 3


def test_results_computed_under_a_patch_are_not_stored(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("rdmacc.rules.pfc.must_pause", lambda *_: False)
    for _ in range(2):
        assert sweep(Tiny(), engine="simpy", store=tmp_path).reused == 0
    assert not list(tmp_path.rglob("*.parquet"))
    assert caplog.text.count("rdmacc.rules.pfc.must_pause has been changed in this process") == 1
    monkeypatch.undo()
    sweep(Tiny(), engine="simpy", store=tmp_path)
    assert sweep(Tiny(), engine="simpy", store=tmp_path).reused == 4


CELLS = """
import sys
from types import ModuleType
import rdmacc
from rdmacc.sweep import sweep
main = ModuleType("__main__")
main.get_ipython, main.In = None, [""]
sys.modules["__main__"] = main
for cell in ["from tests.sweeps import Tiny", *sys.argv[2:]]:
    main.In.append(cell)
    exec(cell, vars(main))
sys.stdout.write(str(sweep(main.Own(), engine="simpy", store=sys.argv[1]).reused))
"""


@pytest.mark.nightly
def test_cells_of_a_notebook_count(tmp_path):
    """Running all cells again, or additional ones, costs nothing; running a different cell does."""
    define = "class Own(Tiny):\n    name = 'tests.cells'\n    k = {}\n"
    for cells, reused in (
        ([define.format(1)], 0), ([define.format(1)], 4), ([define.format(1), "x = 1"], 4), ([define.format(2)], 0),
    ):  # fmt: skip
        command = [sys.executable, "-c", CELLS, tmp_path, *cells]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        assert int(done.stdout) == reused


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_special_files_are_refused_without_waiting(store, kept, caplog, make):
    known, path = kept
    path.unlink()
    make(path)
    refused(lambda: read_table(path), "not a folder, a pipe or a device")
    assert store.load(known) is None
    assert "recomputing" in caplog.text


@pytest.mark.parametrize("given", [5, "a\0b", "x" * 5000, os.devnull])
def test_a_store_that_cannot_be_a_folder_is_refused(given):
    with pytest.raises(ConfigError, match="^store = .*must be the path of a folder"):
        Store(given)


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", ".hidden", "", "a\0b", "x" * 201, "..", 5, None])
def test_a_name_that_points_outside_is_refused(store, name):
    assert refused(lambda: store.path(name, "abc")).field == "experiment"
    assert refused(lambda: store.path("dart.fig1", name)).field == "key"


def test_points_that_cannot_be_stored_are_in_the_table_with_a_warning(tmp_path, monkeypatch, caplog):
    def save(self, table, provenance):
        if provenance["point"] in first:
            raise OSError(28, "No space left on device")
        whole(self, table, provenance)

    found = sweep(Tiny(), store=tmp_path / "one", jobs=1, progress=False)
    first, whole = list(found.tables)[:2], Store.save
    monkeypatch.setattr(Store, "save", save)
    again = sweep(Tiny(), store=tmp_path / "other", jobs=1, progress=False)
    assert not again.failures
    pd.testing.assert_frame_equal(again.table, found.table)
    (warning,) = (one.getMessage() for one in caplog.records if "cannot be stored" in one.getMessage())
    assert first[0] in warning
    assert "No space left on device" in warning
    monkeypatch.undo()
    assert [point.name for point in stored(Tiny(), store=tmp_path / "other").missing] == first
