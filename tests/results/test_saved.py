"""Saved results can be loaded, and anything else is refused."""

import contextlib
import copy
import hashlib
import json
import os

import networkx as nx
import pandas as pd
import pytest

import rdmacc
from rdmacc import probes
from rdmacc.errors import ConfigError
from rdmacc.results.folders import FORMAT, _storable
from tests.support import mostly_at_night, refused


@pytest.fixture(scope="module")
def result(engine):
    work = rdmacc.messages([("h1", "h0", "64kB"), ("h2", "h0", "8kB", "5us"), ("h2", "h0", "1GB", "1s")])
    watched = [
        probes.rate(0),
        probes.rate(1, every="2us"),
        probes.queue("s0", "h0"),
        probes.throughput("s0", "h0", "2us"),
    ]
    return rdmacc.simulate(rdmacc.star(3), work, "dcqcn", engine=engine, until="50us", probes=watched)


@pytest.mark.parametrize("name", ["flows", "transfers", "probes", "ports", "buffers"])
def test_every_frame_is_restored(result, tmp_path, name):
    back = rdmacc.load(result.save(tmp_path / "run"))
    pd.testing.assert_frame_equal(getattr(back, name), getattr(result, name), check_dtype=False)


def test_a_run_without_messages_is_restored(tmp_path):
    nothing = rdmacc.simulate(rdmacc.star(3), rdmacc.open_work(), "dcqcn", until="1us", engine="simpy")
    assert len(rdmacc.load(nothing.save(tmp_path / "run")).jobs) == 0
    assert nothing.explanations([]) == []


def test_numbers_and_plots_are_restored(result, tmp_path):
    folder = result.save(tmp_path / "run")
    content = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps(dict(reversed(content.items()))))  # another order is equivalent
    back = rdmacc.load(folder)
    assert str(back.summary()) == str(result.summary())
    assert back.counters.to_dict() == result.counters.to_dict()
    assert back.provenance == json.loads(json.dumps(result.provenance))
    assert back.watched == result.watched
    pd.testing.assert_series_equal(back.samples("queue s0->h0"), result.samples("queue s0->h0"))
    for name in ("rates", "queues", "fct_cdf", "slowdown_by_size"):
        ours, theirs = getattr(back.plot, name)().get_lines(), getattr(result.plot, name)().get_lines()
        assert [line.get_xydata().tolist() for line in ours] == [line.get_xydata().tolist() for line in theirs]
    refused(lambda: back.plot.ladder(), "a saved result has no trace")


def test_names_of_one_type_stay_as_they_are():
    frame = pd.DataFrame({"host": pd.Series([7, 8], dtype=object), "peer": ["a", None], "mixed": [7, "a"]})
    pd.testing.assert_frame_equal(_storable(frame), frame.assign(mixed=["7", "a"]))


def test_names_of_mixed_types_become_strings(engine, tmp_path):
    graph = nx.relabel_nodes(rdmacc.star(3), {"h1": 1, "h2": ("rack", 2)})
    work = rdmacc.messages([(1, "h0", "1kB"), (("rack", 2), "h0", "1kB")])
    result = rdmacc.simulate(graph, work, "dcqcn", engine=engine, probes=[probes.queue("s0", ("rack", 2))])
    back = rdmacc.load(result.save(tmp_path))
    assert back.flows["src"].tolist() == ["1", "('rack', 2)"]
    assert back.plot.queues().get_lines()


def test_a_result_is_not_overwritten_by_mistake(result, tmp_path):
    folder = result.save(tmp_path / "run")
    refused(lambda: result.save(folder), "replace=True")
    assert result.save(folder, replace=True) == folder
    (tmp_path / "mine.txt").write_text("mine")
    refused(lambda: result.save(tmp_path, replace=True), "files other than a saved result")
    refused(lambda: result.save(tmp_path / "mine.txt"), "a folder, or a path that does not exist yet")


@pytest.mark.parametrize("damage", ["no json", "other format", "cut", "no frame", "changed", "pipe", "folder"])
def test_anything_but_a_result_is_refused(result, tmp_path, damage):
    folder = result.save(tmp_path / "run")
    about = folder / "result.json"
    if damage == "no json":
        about.unlink()
    elif damage == "other format":
        about.write_text(about.read_text().replace(f'"format": {FORMAT}', '"format": 9'))
    elif damage == "cut":
        about.write_text(about.read_text()[:50])
    elif damage == "changed":  # a single number, edited in the file
        content = json.loads(about.read_text())
        content["summary"]["drops"] += 1
        about.write_text(json.dumps(content))
    elif damage == "pipe":
        (folder / "flows.parquet").unlink()
        os.mkfifo(folder / "flows.parquet")
    elif damage == "folder":
        about.unlink()
        about.mkdir()
    else:
        (folder / "ports.parquet").write_bytes(b"PAR1")
    refused(lambda: rdmacc.load(folder), "a folder that Result.save wrote")


def test_another_run_replaces_the_whole_result_and_no_other_files(result, tmp_path, monkeypatch):
    folder = result.save(tmp_path / "run")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(*_, **__):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(pd.DataFrame, "to_parquet", fail)
        with pytest.raises(OSError, match="disk full"):
            result.save(folder, replace=True)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    (folder / "notes.txt").write_text("mine")
    refused(lambda: result.save(folder, replace=True), "notes.txt")
    assert (folder / "notes.txt").read_text() == "mine"


def places(value, path=()):
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


@pytest.mark.parametrize("engine", ["simpy"], indirect=True, scope="session")
@pytest.mark.parametrize("third", mostly_at_night(range(3), every=3))
def test_a_field_of_the_wrong_type_is_a_config_error(result, tmp_path, third):
    folder = result.save(tmp_path / "run")
    about = folder / "result.json"
    content = json.loads(about.read_text())
    tried = 0
    parts = {name: content[name] for name in ("summary", "counters", "watched", "provenance")}
    for number, path in enumerate(list(places(parts))[1 + third :: 3]):
        for other in [(None, -1.5), ("text", [])][number % 2]:
            changed = copy.deepcopy(content)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = other
            del changed["digest"]  # as someone who knows the format would
            text = json.dumps(changed, sort_keys=True, separators=(",", ":"))
            about.write_text(json.dumps({**changed, "digest": hashlib.sha256(text.encode()).hexdigest()}))
            tried += 1
            with contextlib.suppress(ConfigError):
                assert str(rdmacc.load(folder).summary())
    assert tried > 33


def test_flows_have_columns_in_readable_units(result):
    flows = result.flows
    assert flows["fct_us"][0] == flows["fct_ps"][0] / 1e6
    assert flows["goodput_gbps"][0] == flows["goodput_bps"][0] / 1e9
    assert pd.isna(flows["fct_us"][2])
