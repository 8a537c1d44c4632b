"""Workloads in files come back as written, by hand and at random."""

from __future__ import annotations

import io
import re
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rdmacc import topology, workload
from rdmacc.errors import ConfigError
from rdmacc.workload.paths import node_names
from tests.support import calls_made, workloads

HOSTS = [f"h{i}" for i in range(6)]
FILES = {
    "csv": (workload.to_csv, workload.from_csv),
    "parquet": (workload.to_parquet, workload.from_parquet),
}
both = pytest.mark.parametrize("kind", FILES)


def same(one, other):
    pd.testing.assert_frame_equal(one, other)


def there_and_back(frame, kind, folder, **options):
    write, read = FILES[kind]
    write(frame, folder / f"w.{kind}")
    return read(folder / f"w.{kind}", **options)


@both
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_workloads_come_back(tmp_path, kind, data):
    frame = data.draw(workloads(topology.star(6)))
    frame["weight"] = np.arange(1, len(frame) + 1) / 7
    same(there_and_back(frame, kind, tmp_path), frame)


@both
def test_generated_workloads_come_back(tmp_path, kind):
    for frame in (
        workload.sequence(workload.ring_all_reduce(HOSTS, "1kB"), workload.all_to_all(HOSTS, 9)),
        workload.partition_aggregate("h0", HOSTS[1:], 1, 2, rounds=2),
        workload.poisson(topology.star(6), "solar", 0.5, count=50),
    ):
        same(there_and_back(frame, kind, tmp_path), frame)


@both
def test_paths_come_back(tmp_path, kind):
    frame = workload.messages([("h0", "h1", 10), ("h1", "h0", 20)])
    frame["path"] = ["h0 s0 h1", None]
    found = there_and_back(frame, kind, tmp_path)
    assert found["path"].iloc[0] == "h0 s0 h1"
    assert pd.isna(found["path"].iloc[1])
    frame["path"] = [("h0", "s0", "h1"), None]
    assert list(node_names(there_and_back(frame, kind, tmp_path)["path"].iloc[0])) == ["h0", "s0", "h1"]


@both
def test_own_labels_and_columns_come_back(tmp_path, kind):
    frame = workload.messages([("h0", "h1", 10), ("h1", "h0", 20, "1us", 3)])
    frame.index = pd.Index(["ask", "answer"], name="message")
    frame["after"] = pd.Series([(), ("ask",)], frame.index)
    frame["deadline_ps"] = [5, 6]
    back = there_and_back(frame, kind, tmp_path, **({"others": ["deadline_ps"]} if kind == "csv" else {}))
    assert back.loc["answer", "after"] == ("ask",)
    assert back["deadline_ps"].tolist() == [5, 6]
    assert back["size_bytes"].tolist() == [10, 20]
    assert back["group"].tolist() == [pd.NA, 3]


def test_parquet_keeps_node_numbers(tmp_path):
    frame = workload.messages([(0, 1, 10), (1, 0, 20)])
    back = there_and_back(frame, "parquet", tmp_path)
    same(back, frame)
    assert [type(name) for name in back["src"]] == [int, int]


def test_parquet_of_others(tmp_path):
    path = tmp_path / "trace.parquet"
    table = pa.table({"src": ["h0", "h1"], "dst": ["h1", "h0"], "size": ["1kB", "2kB"], "start": ["0us", "1us"]})
    pq.write_table(table, path)
    frame = workload.from_parquet(path)
    assert frame["size_bytes"].tolist() == [1000, 2000]
    assert frame["start_ps"].tolist() == [0, 10**6]
    assert frame["after"].tolist() == [(), ()]
    after = pa.array([None, [0]], pa.list_(pa.int32()))
    pq.write_table(table.append_column("after", after), path)
    assert workload.from_parquet(path)["after"].tolist() == [(), (0,)]
    pq.write_table(table.slice(0, 0).append_column("after", after.slice(0, 0)), path)
    assert len(workload.from_parquet(path)) == 0


def test_parquet_in_row_groups(tmp_path):
    frame = workload.ring_all_reduce(HOSTS, 100)
    path = tmp_path / "w.parquet"
    workload.to_parquet(frame, path)
    pq.write_table(pq.read_table(path), path, row_group_size=7)
    same(workload.from_parquet(path), frame)


@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=pytest.mark.nightly)])
def test_a_parquet_file_with_a_flipped_bit_is_read_or_refused(tmp_path, count):
    frame = workload.messages([("h0", "h1", 1000), ("h1", "h0", 2000, "1us", 3, (0,))])
    workload.to_parquet(frame, tmp_path / "whole.parquet")
    whole, rng = (tmp_path / "whole.parquet").read_bytes(), np.random.default_rng(53)
    for _ in range(count):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        (tmp_path / "w.parquet").write_bytes(damaged)
        with suppress(ConfigError):
            workload.from_parquet(tmp_path / "w.parquet")


def test_parquet_refuses(tmp_path):
    with pytest.raises(ConfigError, match=r"src = 'a column': must be strings, or numbers of one type"):
        workload.to_parquet(workload.messages([("h0", "h1", 1), (3, "h1", 1)]), tmp_path / "w.parquet")
    pq.write_table(pa.table({"src": ["h0"], "dst": ["h1"]}), tmp_path / "w.parquet")
    with pytest.raises(ConfigError, match="size_bytes = None: must be a column of the workload"):
        workload.from_parquet(tmp_path / "w.parquet")
    flat = pa.table({"src": ["h0"], "dst": ["h1"], "size": [1], "after": ["0"]})
    pq.write_table(flat, tmp_path / "w.parquet")
    with pytest.raises(ConfigError, match="after = 'string': must be a column of lists of ids"):
        workload.from_parquet(tmp_path / "w.parquet")


def test_work_grows_with_the_messages(tmp_path):
    def there_and_back(count):
        frame = workload.poisson(topology.star(64), "web_search", 0.5, count=count)
        frame["after"] = np.fromiter([(), *zip(range(count - 1))], dtype=object, count=count)
        workload.to_parquet(frame, tmp_path / "w.parquet")
        same(workload.from_parquet(tmp_path / "w.parquet"), frame)

    few, many = (calls_made(lambda count=count: there_and_back(count)) for count in (4_000, 16_000))
    assert many < 4.5 * few


@pytest.mark.parametrize("row", ["h0,h1,10,", "h0,h1,10,5", "h0,h1,10,5,6"])
def test_a_row_with_more_cells_than_the_header_is_refused(tmp_path, row):
    path = tmp_path / "w.csv"
    path.write_text(f"src,dst,size\n{row}\n")
    with pytest.raises(ConfigError, match="without rows longer than its header"):
        workload.from_csv(path)


def test_csv_from_an_open_file():
    frame = workload.from_csv(io.StringIO("src,dst,size\nh0,h1,100\n"))
    assert frame["size_bytes"].tolist() == [100]


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("src,dst,size,start_us", "column = 'start_us': must be named start_ps, or start, whose values have units"),
        ("src,dst,size_kB", "column = 'size_kB': must be named size_bytes, or size"),
        ("src,dst,size,wieght", "did you mean 'weight'"), ("src,dst,size,deadline", "column = 'deadline'"),
        ("", "must be a CSV file with a header"),
    ],
)  # fmt: skip
def test_a_column_that_would_be_ignored_is_refused(tmp_path, header, words):
    path = tmp_path / "w.csv"
    cells = ("h0", "h1", "10", "5")[: header.count(",") + 1]
    path.write_text(f"{header}\n{','.join(cells)}\n" if header else "")
    with pytest.raises(ConfigError, match=re.escape(words)):
        workload.from_csv(path)
