"""Workloads: generators, files, every error with its text.

Workloads survive a round trip through files, by hand and at random.

Jobs: placement, and the time of each job.
"""

import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc import topology, workload
from rdmacc.errors import ConfigError
from rdmacc.topology.fabric import Fabric
from rdmacc.units import us
from rdmacc.workload import Nccl, job, jobs, nccl
from rdmacc.workload.paths import node_names
from tests.support import refused, workloads

HOSTS = [f"h{i}" for i in range(8)]
same = pd.testing.assert_frame_equal


@pytest.fixture(scope="module")
def fabric():
    graph = topology.star(8)
    topology.add_host(graph, "far0")
    topology.add_host(graph, "far1")
    topology.add_link(graph, "far0", "far1", "1Gbps", "1us")
    return Fabric.from_graph(graph)


def test_messages_fill_defaults(fabric):
    frame = workload.messages([("h0", "h1", "64KiB")])
    assert list(frame.columns) == list(workload.COLUMNS)
    assert frame.index.name == "message"
    row = frame.loc[0]
    assert (row["size_bytes"], row["start_ps"], row["after"], row["weight"]) == (65_536, 0, (), 1.0)
    assert frame["group"].isna().all()
    assert frame.dtypes.astype(str).to_dict() == {
        "src": "object", "dst": "object", "size_bytes": "int64", "start_ps": "int64", "group": "Int64",
        "after": "object", "weight": "float64",
    }  # fmt: skip
    same(workload.validate(frame, fabric), frame)


def test_messages_from_any_rows():
    tuples = workload.messages([("h0", "h1", 1000), ("h1", "h2", "2kB", "1us", 3, (0,), 2.0)])
    second = {"src": "h1", "dst": "h2", "size": "2kB", "start": "1us", "group": 3, "after": 0, "weight": 2}
    rows = [("h0", "h1", 1000.0, 0, np.nan, None, 1), ("h1", "h2", 2000.0, us(1), 3.0, [0, 0], 2)]
    frame = workload.messages(pd.DataFrame(rows, columns=list(workload.COLUMNS)))
    same(tuples, workload.messages([{"src": "h0", "dst": "h1", "size": 1000}, second]))
    same(tuples, frame)
    assert frame["after"].tolist() == [(), (0,)]


def test_messages_copies_its_input_and_keeps_other_columns():
    given_frame = pd.DataFrame({"src": ["h0"], "dst": ["h1"], "size": ["1kB"], "kind": ["mouse"]})
    before = given_frame.copy(deep=True)
    frame = workload.messages(given_frame)
    same(given_frame, before)
    assert frame.loc[0, "kind"] == "mouse"
    assert "size" not in frame


def test_incast_rounds_by_period():
    frame = workload.incast(["h1", "h2", "h3"], "h0", "64kB", start="1us", jitter="100ns", rounds=2, period="50us")
    assert frame["src"].tolist() == ["h1", "h2", "h3"] * 2
    assert set(frame["dst"]) == {"h0"}
    assert frame["group"].tolist() == [0, 0, 0, 1, 1, 1]
    offset = frame["start_ps"] - us(1) - frame["group"].astype(int) * us(50)
    assert offset.between(0, 100_000).all()
    assert offset.nunique() > 1
    assert frame["after"].tolist() == [()] * 6


def test_incast_rounds_in_a_closed_loop(fabric):
    frame = workload.incast(["h1", "h2"], "h0", "64kB", rounds=3, group=5)
    assert frame["after"].tolist() == [(), (), (0, 1), (0, 1), (2, 3), (2, 3)]
    assert frame["group"].tolist() == [5, 5, 6, 6, 7, 7]
    same(workload.validate(frame, fabric), frame)


def test_incast_draws_senders():
    frame = workload.incast(5, "h0", "64kB", hosts=HOSTS, rounds=2, seed=1)
    drawn = frame["src"].tolist()
    assert drawn[:5] == drawn[5:]
    assert len(set(drawn)) == 5
    assert "h0" not in drawn
    assert len({tuple(workload.incast(3, "h0", 1, hosts=HOSTS, seed=seed)["src"]) for seed in range(20)}) > 5
    assert len(workload.incast(np.int64(7), "h0", 1, hosts=HOSTS)) == 7


def test_long_flows():
    pairs = [("h0", "h1"), ("h2", "h3")]
    frame = workload.long_flows(pairs)
    assert frame["size_bytes"].tolist() == [10**9] * 2
    staggered = workload.long_flows(pairs, "1MB", start=["0us", "5us"])
    assert staggered["start_ps"].tolist() == [0, us(5)]
    assert workload.long_flows(pairs, start=np.array(["0us", "5us"]))["start_ps"].tolist() == [0, us(5)]
    assert workload.long_flows(pairs, start="5us")["start_ps"].tolist() == [us(5)] * 2


@given(st.integers(2, 40), st.integers(0, 1000))
def test_permutation_is_a_derangement(count, seed):
    names = [f"h{i}" for i in range(count)]
    frame = workload.permutation(names, "1MB", seed=seed)
    assert frame["src"].tolist() == names
    assert sorted(frame["dst"]) == sorted(names)
    assert (frame["src"] != frame["dst"]).all()


@given(st.integers(1, 200), st.integers(0, 1000))
def test_random_pairs(count, seed):
    frame = workload.random_pairs(HOSTS, count, "64kB", seed=seed, start="1us", jitter="10us")
    assert len(frame) == count
    assert (frame["src"] != frame["dst"]).all()
    assert set(frame["src"]) | set(frame["dst"]) <= set(HOSTS)
    assert frame["start_ps"].is_monotonic_increasing
    assert frame["start_ps"].between(us(1), us(11)).all()
    same(frame, workload.random_pairs(HOSTS, count, "64kB", seed=seed, start="1us", jitter="10us"))


def test_combine_renumbers():
    loop = workload.incast(["h1", "h2"], "h0", 1, rounds=2, group=7)
    loop.index = pd.Index(["a", "b", "c", "d"], name="message")
    loop["after"] = pd.Series([(), (), ("a", "b"), ("b",)], loop.index)
    plain = workload.permutation(HOSTS[:2], 2)
    whole = workload.combine(loop, plain, loop)
    assert whole.index.tolist() == list(range(10))
    assert whole["after"].tolist() == [(), (), (0, 1), (1,), (), (), (), (), (6, 7), (7,)]
    assert whole["group"].fillna(-1).tolist() == [0, 0, 1, 1, -1, -1, 2, 2, 3, 3]
    assert whole["size_bytes"].tolist() == [1, 1, 1, 1, 2, 2, 1, 1, 1, 1]
    same(workload.combine(plain), plain)


def test_csv_by_hand(tmp_path, fabric):
    path = tmp_path / "w.csv"
    rows = ["message, src, dst, size, start, after", "ask, h0, h1, 1kB, 1us,", "answer, h1, h0, 64KiB, 2us, ask"]
    path.write_text("\n".join(rows))
    frame = workload.from_csv(path)
    assert frame.loc["answer", "after"] == ("ask",)
    checked = workload.validate(frame, fabric)
    assert checked["after"].tolist() == [(), (0,)]
    assert checked["id"].tolist() == ["ask", "answer"]
    path.write_text("src,dst,size\nh0,h1,100\n")
    assert workload.from_csv(path)["size_bytes"].tolist() == [100]


def test_validate_sorts_and_renumbers(fabric):
    frame = workload.incast(["h1", "h2"], "h0", 1, rounds=2)
    frame["size_bytes"] = [10, 11, 12, 13]
    checked = workload.validate(frame, fabric)
    same(workload.validate(frame.iloc[::-1], fabric), checked)
    part = workload.validate(frame.iloc[[3, 0, 1]], fabric)
    assert part.index.tolist() == [0, 1, 2]
    assert part["id"].tolist() == [3, 0, 1]
    assert part["after"].tolist() == [(1, 2), (), ()]
    assert part["size_bytes"].tolist() == [13, 10, 11]
    same(workload.validate(part.drop(columns="id"), fabric), part.drop(columns="id"))


@pytest.mark.parametrize(("names", "given"), [((0, 1, 2), ("0", "1")), (("0", "1", "2"), (0, 1))])
def test_a_node_is_found_by_number_and_by_its_text(names, given):
    net = nx.relabel_nodes(topology.star(2), dict(zip(("h0", "h1", "s0"), names, strict=True)))
    checked = workload.validate(workload.messages([(*given, 1)]), Fabric.from_graph(net))
    assert checked[["src", "dst"]].to_numpy().tolist() == [[*names[:2]]]
    with pytest.raises(ConfigError, match=r"dst = (True|'01')"):
        workload.validate(workload.messages([(given[0], True if given[0] == 0 else "01", 1)]), Fabric.from_graph(net))


def test_validate_accepts_odd_ids(fabric):
    frame = workload.messages([("h0", "h1", 1), ("h1", "h0", 1)])
    frame.index = pd.Index([("a", 1), ("b", 2)], tupleize_cols=False, name="message")
    frame["after"] = pd.Series([(), (("a", 1),)], frame.index)
    assert workload.validate(frame, fabric)["after"].tolist() == [(), (0,)]


GOOD = {"src": ["h0", "h1", "h2"], "dst": ["h1", "h2", "h3"], "size_bytes": [1, 2, 3], "start_ps": [0, 1, 2]}
SIZE = "must be a whole number of bytes, at least 1"
START = "must be a whole number of picoseconds, at least 0"
WEIGHT = "must be a finite number above 0"
CIRCLE = "must not make messages wait on each other in a cycle"


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("src", "h9", "src = 'h9' (row 1): must be a node of the network"),
        ("src", "s0", "src = 's0' (row 1): must be a host, not a switch"),
        ("dst", "h1", "dst = 'h1' (row 1): must differ from src"),
        ("dst", "far0", "dst = 'far0' (row 1): must be reachable from src = 'h1'"),
        ("size_bytes", 0, f"size_bytes = 0 (row 1): {SIZE}"),
        ("size_bytes", "1us", "size_bytes = '1us' (row 1): must be a size"),
        ("start_ps", -1, f"start_ps = -1 (row 1): {START}"),
        ("start_ps", 0.5, f"start_ps = 0.5 (row 1): {START}"),
        ("start_ps", "1kB", "start_ps = '1kB' (row 1): must be a time"),
        ("weight", 0, f"weight = 0.0 (row 1): {WEIGHT}"),
        ("group", 1.5, "group = 1.5 (row 1): must be a whole number or missing"),
        ("after", (7,), "after = 7 (row 1): must be the id of a message"),
        ("after", (1,), f"after = '1 -> 1': {CIRCLE}"),
        ("delay", "1us", "delay = '1us' (row 1): must be missing where after is empty: use start"),
        ("delay", "soon", "delay = 'soon' (row 1): must be a time"),
    ],
)
def test_validate_names_the_bad_row(fabric, column, value, text):
    defaults = {"weight": 1, "group": 0, "after": (), "delay": None}
    columns = dict(GOOD)
    values = columns[column] if column in columns else [defaults[column]] * 3
    changed = [values[0], value, values[2]]
    mixed = any(isinstance(item, (str, bool, list, tuple)) for item in changed)
    columns[column] = pd.Series(changed, dtype=object if mixed else None)
    error = refused(lambda: workload.validate(pd.DataFrame(columns), fabric))
    assert str(error).startswith(text)
    assert error.field == column


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (pd.DataFrame(GOOD).iloc[:0], "workload = '0 messages': must have at least one message"),
        ([("h0", "h1", 1)], "workload = 'list': must be a pandas DataFrame"),
        (pd.DataFrame(GOOD).drop(columns="dst"), "dst = None: must be a column of the workload, which has"),
        (pd.DataFrame(GOOD).drop(columns="size_bytes"), "size_bytes = None: must be a column of the workload"),
        (
            pd.DataFrame(GOOD).assign(size=1),
            "size = 'a column': must not be given together with size_bytes, which means the same",
        ),
        (pd.DataFrame(GOOD, index=[5, 5, 5]), "message = 5: must be unique; it labels several rows"),
        (pd.DataFrame(GOOD, index=[4, 5, 6]).assign(id=0), "id = 'a column': must have another name"),
    ],
)
def test_validate_refuses(fabric, frame, text):
    assert str(refused(lambda: workload.validate(frame, fabric))).startswith(text)


def test_validate_reports_the_cycle(fabric):
    frame = workload.messages([("h0", "h1", 1)] * 6)
    frame.index = pd.Index(list("abcdef"), name="message")
    frame["after"] = pd.Series([(), ("a", "d"), ("b",), ("c", "a"), ("d",), ("e",)], frame.index)
    assert str(refused(lambda: workload.validate(frame, fabric))) == f"after = 'b -> d -> c -> b': {CIRCLE}"


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=15))
def test_validate_finds_cycles_as_networkx_does(fabric, edges):
    frame = workload.messages([("h0", "h1", 1)] * 10)
    after = [tuple(dict.fromkeys(wanted for waits, wanted in edges if waits == row)) for row in range(10)]
    frame["after"] = pd.Series(after)
    graph = nx.DiGraph(edges)
    if nx.is_directed_acyclic_graph(graph):
        assert workload.validate(frame, fabric)["after"].tolist() == after
        return
    with pytest.raises(ConfigError, match=CIRCLE) as caught:
        workload.validate(frame, fabric)
    circle = [int(part) for part in caught.value.value.split(" -> ")]
    assert circle[0] == circle[-1]
    assert all(graph.has_edge(*edge) for edge in pairwise(circle))


FILES = {"csv": (workload.to_csv, workload.from_csv), "parquet": (workload.to_parquet, workload.from_parquet)}
both = pytest.mark.parametrize("kind", FILES)


def there_and_back(frame, kind, folder, **options):
    write, read = FILES[kind]
    write(frame, folder / f"w.{kind}")
    return read(folder / f"w.{kind}", **options)


@both
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_workloads_survive_a_round_trip(tmp_path, kind, data):
    frame = data.draw(workloads(topology.star(6)))
    frame["weight"] = np.arange(1, len(frame) + 1) / 7
    same(there_and_back(frame, kind, tmp_path), frame)


@both
def test_paths_survive_a_round_trip(tmp_path, kind):
    frame = workload.messages([("h0", "h1", 10), ("h1", "h0", 20)])
    frame["path"] = ["h0 s0 h1", None]
    found = there_and_back(frame, kind, tmp_path)
    assert found["path"].iloc[0] == "h0 s0 h1"
    assert pd.isna(found["path"].iloc[1])
    frame["path"] = [("h0", "s0", "h1"), None]
    assert list(node_names(there_and_back(frame, kind, tmp_path)["path"].iloc[0])) == ["h0", "s0", "h1"]


@both
def test_labels_and_extra_columns_survive_a_round_trip(tmp_path, kind):
    frame = workload.messages([("h0", "h1", 10), ("h1", "h0", 20, "1us", 3)])
    frame.index = pd.Index(["ask", "answer"], name="message")
    frame["after"] = pd.Series([(), ("ask",)], frame.index)
    frame["deadline_ps"] = [5, 6]
    back = there_and_back(frame, kind, tmp_path, **({"others": ["deadline_ps"]} if kind == "csv" else {}))
    assert back.loc["answer", "after"] == ("ask",)
    assert back["deadline_ps"].tolist() == [5, 6]
    assert back["size_bytes"].tolist() == [10, 20]
    assert back["group"].tolist() == [pd.NA, 3]


@both
def test_columns_with_a_meaning_come_back_without_being_named(tmp_path, kind):
    ring = nccl.all_reduce(["h0", "h1"], "4kB")
    frame = jobs(["h0", "h1"], {"a": ring}).assign(priority=4, in_turn=True)
    pd.testing.assert_frame_equal(there_and_back(frame, kind, tmp_path), frame, check_dtype=False)


def test_parquet_files_of_other_programs(tmp_path):
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
    late = workload.messages([("h0", "h1", 1)]).set_axis([2**70])
    refused(lambda: workload.to_parquet(late, tmp_path / "w.parquet"), "message = 'a column': must be strings")
    pq.write_table(pa.table({"src": ["h0"], "dst": ["h1"]}), tmp_path / "w.parquet")
    with pytest.raises(ConfigError, match="size_bytes = None: must be a column of the workload"):
        workload.from_parquet(tmp_path / "w.parquet")
    flat = pa.table({"src": ["h0"], "dst": ["h1"], "size": [1], "after": ["0"]})
    pq.write_table(flat, tmp_path / "w.parquet")
    refused(lambda: workload.from_parquet(tmp_path / "w.parquet"), "after = 'string': must be a column of lists of ids")


@pytest.mark.parametrize(
    ("labels", "host", "words"),
    [
        ((("a", 1), "b"), "h0", "after = "),
        (("a b", "b"), "h0", "after = "),
        ((0, 1), ("h", 0), "src = ('h', 0) (row 0)"),
    ],
)
def test_csv_refuses(tmp_path, labels, host, words):
    index = pd.Index(labels, tupleize_cols=False)
    frame = workload.messages(pd.DataFrame({"src": [host, "h2"], "dst": "h1", "size": 1}, index))
    refused(lambda: workload.to_csv(frame.assign(after=[(), labels[:1]]), tmp_path / "w.csv"), words)


@pytest.mark.parametrize(
    ("header", "row", "words"),
    [
        *[("src,dst,size", row, "without rows longer than its header") for row in ("h0,h1,10,", "h0,h1,10,5,6")],
        ("src,dst,size,start_us", "h0,h1,10,5", "column = 'start_us': must be named start_ps, or start, whose values"),
        ("src,dst,size_kB", "h0,h1,10", "column = 'size_kB': must be named size_bytes, or size"),
        ("src,dst,size,wieght", "h0,h1,10,5", "did you mean 'weight'"),
        ("src,dst,size,deadline", "h0,h1,10,5", "column = 'deadline'"),
        ("", "", "must be a CSV file with a header"),
    ],
)
def test_values_that_would_be_ignored_in_a_csv_are_refused(tmp_path, header, row, words):
    (tmp_path / "w.csv").write_text(f"{header}\n{row}\n" if header else "")
    with pytest.raises(ConfigError, match=re.escape(words)):
        workload.from_csv(tmp_path / "w.csv")


@pytest.mark.parametrize("name", ["w.csv.gz", "w.csv.xz", "w.csv.zip", "w.csv.tar"])
def test_a_csv_must_be_compressed_as_its_name_says(tmp_path, name):
    (tmp_path / name).write_text("src,dst,size\nh0,h1,10\n")
    with pytest.raises(ConfigError, match="a CSV file that can be read"):
        workload.from_csv(tmp_path / name)


RING = nccl.all_reduce([f"h{rank}" for rank in range(4)], "400kB")


def places(work: pd.DataFrame) -> dict[str, list[str]]:
    return {name: pd.unique(part["src"]).tolist() for name, part in work.groupby("job")}


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        ("packed", {"a": ["h0", "h1", "h2", "h3"], "b": ["h4", "h5", "h6", "h7"]}),
        ("round-robin", {"a": ["h0", "h2", "h4", "h6"], "b": ["h1", "h3", "h5", "h7"]}),
    ],
)
def test_placements(placement, expected):
    hosts = [f"h{number}" for number in range(10)]
    work = jobs(hosts, {"a": RING, "b": RING}, placement)
    assert places(work) == expected
    assert work["collective"].tolist() == [0] * 24 + [1] * 24


def test_a_job_with_enough_hosts_drops_out():
    pair = nccl.all_reduce(["h0", "h1"], "400kB")
    work = jobs([f"h{number}" for number in range(10)], {"a": pair, "b": RING}, "round-robin")
    assert places(work) == {"a": ["h0", "h2"], "b": ["h1", "h3", "h4", "h5"]}


def test_gpus_of_a_node_stay_together():
    hosts = [f"h{number}" for number in range(16)]
    work = jobs(hosts, {"a": RING, "b": RING}, "round-robin", hosts_per_node=2)
    assert places(work) == {"a": ["h0", "h1", "h4", "h5"], "b": ["h2", "h3", "h6", "h7"]}


def test_a_list_places_one_job():
    work = job(RING, name="a", placement=["h9", "h5", "h7", "h1"])
    assert work["src"].tolist()[:4] == ["h9", "h5", "h7", "h1"]
    refused(lambda: job(RING, name="a", placement=["h9", "h5"]), "4 different hosts")
    refused(lambda: jobs(["h0", "h1", "h2"], {"a": RING, "b": RING}), "at least the 8")
    refused(lambda: jobs(["h0", "h1", "h2"], {"a": RING}, "alphabetical"), "packed, random, round-robin")


def test_jobs_are_compared_with_running_alone(engine):
    """Packed, they share no link; placed in turn, both cross the spine. Alone, each takes the same paths."""
    net = rdmacc.leaf_spine(2, 1, 4)
    found = {}
    for placement in ("packed", "round-robin"):
        work = jobs(rdmacc.topology.hosts(net), {"a": RING, "b": RING}, placement)
        scenario = rdmacc.Scenario(network=net, workload=work, scheme="line-rate", engine=engine)
        found[placement] = rdmacc.compare_jobs(scenario)
    assert found["packed"].frame["slowdown"].tolist() == [1.0, 1.0]
    table = found["round-robin"].frame
    assert (table["slowdown"] > 1.2).all()
    assert found["packed"].result.jobs[["hosts", "messages"]].to_numpy().tolist() == [[4, 24]] * 2
    assert table["step_ps"].tolist() == found["round-robin"].result.jobs["step_ps"].tolist()
    assert (table["slowdown"] == table["step_ps"] / table["alone_ps"]).all()
    heights = [bar.get_height() for bar in found["round-robin"].plot().patches]
    assert heights == pytest.approx([*table["alone_ps"] / 1e6, *table["step_ps"] / 1e6])
    recipe = rdmacc.cluster(2, 2).schedule("all_reduce", "1MB")
    for other in (RING, recipe):
        refused(partial(rdmacc.compare_jobs, replace(scenario, workload=other)), "without jobs")


def test_overlapping_computation_of_a_job_counts_once(engine, tmp_path):
    net = rdmacc.leaf_spine(2, 1, 4)
    hosts = rdmacc.topology.hosts(net)
    rows = [
        {"src": "h0", "duration": "3us"},
        {"src": "h0", "duration": "5us", "start_ps": 1_000_000},
        {"src": "h0", "dst": "h1", "size": 1000, "after": (0, 1)},
    ]
    result = rdmacc.simulate(net, job(rdmacc.messages(rows), name="c"), "line-rate", engine=engine)
    assert result.jobs["computing_ps"].tolist() == [3_000_000], "6 us on one of two hosts"
    inner = job(nccl.all_reduce(hosts[:4], "1MB", Nccl(algorithm="hierarchical", hosts_per_node=2)), name="d")
    result = rdmacc.simulate(net, inner, "line-rate", engine=engine)
    assert result.computation["collective"].notna().any()
    assert result.jobs["computing_ps"].tolist() == [0.0], "transfers inside a node are not computation"
    back = rdmacc.load(result.save(tmp_path / "run"))
    pd.testing.assert_frame_equal(back.jobs, result.jobs, check_dtype=False)
    pd.testing.assert_frame_equal(back.collectives, result.collectives, check_dtype=False)
