"""Patterns, closed loops and collectives: counts, sizes, groups, dependencies.

Collectives as in NCCL: messages, and times compared with closed forms.

A training step: the bytes of the worked 7B example, and times compared with closed forms.
"""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rdmacc
from rdmacc import topology, workload
from rdmacc.errors import ConfigError
from rdmacc.models.alpha_beta import AlphaBeta
from rdmacc.topology.fabric import Fabric
from rdmacc.workload import Nccl, nccl
from rdmacc.workload.nccl import peer_order, ring_orders, tree_of_gpus, tree_parents
from rdmacc.workload.training import LLAMA_7B, MIXTRAL_8X7B, TrainingStep, Transformer
from tests.support import refused

HOSTS = [f"h{i}" for i in range(12)]
FABRIC = Fabric.from_graph(topology.star(12))

counts = st.integers(2, 12)


def check(frame):
    """Assert that engines would accept the workload, and return its dependency graph."""
    pd.testing.assert_frame_equal(workload.validate(frame, FABRIC), frame)
    graph = nx.DiGraph()
    graph.add_nodes_from(frame.index)
    graph.add_edges_from((before, row) for row, after in frame["after"].items() for before in after)
    assert nx.is_directed_acyclic_graph(graph)
    return graph


def steps(frame):
    """Return the length of the longest chain of dependent messages."""
    return nx.dag_longest_path_length(check(frame)) + 1


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 3))
def test_many_to_many(senders, receivers, shared):
    left = HOSTS[:senders]
    right = HOSTS[max(senders - shared, 0) :][:receivers]
    pairs = {(src, dst) for src in left for dst in right if src != dst}
    if not pairs:
        return
    frame = workload.many_to_many(left, right, "1kB", start="1us", jitter="1us", group=4)
    assert set(zip(frame["src"], frame["dst"], strict=True)) == pairs
    assert len(frame) == len(pairs)
    assert set(frame["group"]) == {4}
    assert frame["start_ps"].between(10**6, 2 * 10**6).all()
    check(frame)


@given(counts)
def test_all_to_all(n):
    frame = workload.all_to_all(HOSTS[:n], "1kB")
    assert len(frame) == n * (n - 1)
    assert (frame.groupby("src")["dst"].nunique() == n - 1).all()
    assert steps(frame) == 1


@given(counts, st.integers(1, 10**6))
def test_ring_all_reduce_moves_the_necessary_bytes(n, size):
    hosts = HOSTS[:n]
    if size < n:
        refused(lambda: workload.ring_all_reduce(hosts, size), "must be at least 1 byte for each of the")
        return
    frame = workload.ring_all_reduce(hosts, size, group=1)
    assert len(frame) == 2 * n * (n - 1)
    assert frame["size_bytes"].sum() == 2 * (n - 1) * size
    sent = frame.groupby("src")["size_bytes"].sum()
    assert ((sent - 2 * (n - 1) * size / n).abs() <= 2).all()
    exact = workload.ring_all_reduce(hosts, size * n)
    for end in ("src", "dst"):
        assert (exact.groupby(end)["size_bytes"].sum() * n == 2 * (n - 1) * size * n).all()
    assert frame["size_bytes"].max() - frame["size_bytes"].min() <= 1
    assert steps(frame) == 2 * (n - 1)
    assert frame["group"].nunique() == 2 * (n - 1)
    follows = {host: hosts[(i + 1) % n] for i, host in enumerate(hosts)}
    assert (frame["src"].map(follows) == frame["dst"]).all()


@given(counts, st.integers(12, 200))
def test_ring_all_reduce_reduces(n, size):
    """Move sets of contributions along the messages: at the end every host has all chunks of all hosts."""
    frame = workload.ring_all_reduce(HOSTS[:n], size)
    sizes = [size // n + (chunk < size % n) for chunk in range(n)]
    has = [[{host} for _ in range(n)] for host in range(n)]
    for step in range(2 * (n - 1)):
        moved = []
        for host in range(n):
            row, chunk = step * n + host, (host - step) % n
            assert frame.loc[row, "size_bytes"] == sizes[chunk]
            assert all(frame.loc[before, "dst"] == frame.loc[row, "src"] for before in frame.loc[row, "after"])
            moved.append(((host + 1) % n, chunk, set(has[host][chunk])))
        for to, chunk, parts in moved:
            has[to][chunk] |= parts
    assert all(parts == set(range(n)) for chunks in has for parts in chunks)


@given(counts, st.integers(1, 4), st.integers(1, 3), st.integers(4, 10**5))
def test_tree_all_reduce(n, chunks, fan_out, size):
    frame = workload.tree_all_reduce(HOSTS[:n], size, chunks=chunks, fan_out=fan_out)
    assert len(frame) == 2 * (n - 1) * chunks
    assert frame["size_bytes"].sum() == 2 * (n - 1) * size
    check(frame)
    m = n - 1
    has = [[{host} for _ in range(chunks)] for host in range(n)]
    for row, (src, dst, after) in enumerate(zip(frame["src"], frame["dst"], frame["after"], strict=True)):
        chunk, place = divmod(row, 2 * m)
        assert all(frame.loc[before, "dst"] == src or before == row - 2 * m for before in after)
        if place < m:
            assert HOSTS.index(dst) == (HOSTS.index(src) - 1) // fan_out
        assert frame.loc[row, "group"] == 2 * chunk + (place >= m)
    order = nx.topological_sort(check(frame))
    for row in order:
        chunk = row // (2 * m)
        to, of = HOSTS.index(frame.loc[row, "dst"]), HOSTS.index(frame.loc[row, "src"])
        has[to][chunk] |= has[of][chunk]
    assert all(parts == set(range(n)) for pieces in has for parts in pieces)


@given(st.integers(1, 6), st.integers(1, 4))
def test_partition_aggregate(workers, rounds):
    frame = workload.partition_aggregate("h0", HOSTS[1 : 1 + workers], "1kB", "20kB", rounds=rounds, group=2)
    n = workers
    assert len(frame) == 2 * n * rounds
    requests, responses = frame[frame["src"] == "h0"], frame[frame["dst"] == "h0"]
    assert set(requests["size_bytes"]) == {1000}
    assert set(responses["size_bytes"]) == {20_000}
    assert requests["group"].isna().all()
    assert responses["group"].tolist() == [2 + turn for turn in range(rounds) for _ in range(n)]
    for row, after in responses["after"].items():
        assert after == (row - n,)
        assert frame.loc[row - n, "dst"] == frame.loc[row, "src"]
    for row, after in requests["after"].items():
        first = row // (2 * n) * 2 * n
        assert after == (tuple(range(first - n, first)) if first else ())
    assert steps(frame) == 2 * rounds


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 5), st.integers(0, 99))
def test_request_response(clients, servers, rounds, seed):
    pool = HOSTS[3 : 3 + servers]
    if clients > 3 and servers == 1:
        with pytest.raises(ConfigError, match="must include a host other than the client"):
            workload.request_response(HOSTS[:clients], pool, 1, 2)
        return
    frame = workload.request_response(
        HOSTS[:clients], pool, "1kB", "web_search", rounds=rounds, start="1us", jitter="5us", seed=seed
    )
    assert len(frame) == 2 * clients * rounds
    requests, responses = frame.iloc[::2], frame.iloc[1::2]
    assert requests["src"].tolist() == [host for host in HOSTS[:clients] for _ in range(rounds)]
    assert responses["dst"].tolist() == requests["src"].tolist()
    assert responses["src"].tolist() == requests["dst"].tolist()
    assert set(requests["dst"]) <= set(pool)
    assert set(requests["size_bytes"]) == {1000}
    for row, after in frame["after"].items():
        assert after == (() if row % (2 * rounds) == 0 else (row - 1,))
    assert frame["start_ps"].between(10**6, 6 * 10**6).all()
    assert steps(frame) == 2 * rounds


@given(st.lists(st.sampled_from(["ring", "pairs", "incast"]), min_size=1, max_size=4))
def test_sequence_waits_for_all(kinds):
    make = {
        "ring": lambda: workload.ring_all_reduce(HOSTS[:3], 300),
        "pairs": lambda: workload.random_pairs(HOSTS, 4, 10),
        "incast": lambda: workload.incast(HOSTS[1:4], "h0", 10, rounds=2),
    }
    parts = [make[kind]() for kind in kinds]
    frame = workload.sequence(*parts)
    graph = check(frame)
    closure = nx.transitive_closure_dag(graph)
    ends = np.cumsum([0, *map(len, parts)])
    for low, middle, high in zip(ends, ends[1:], ends[2:]):
        assert all(set(range(low, middle)) <= set(closure.predecessors(row)) for row in range(middle, high))
    assert frame["size_bytes"].tolist() == [size for part in parts for size in part["size_bytes"]]
    same = workload.combine(*parts)
    first = len(parts[0])
    assert frame["after"].tolist()[:first] == same["after"].tolist()[:first]


NET = rdmacc.leaf_spine(2, 1, 3)
OF_HOSTS = {
    "all_to_all": lambda hosts: workload.all_to_all(hosts, 10),
    "many_to_many": lambda hosts: workload.many_to_many(hosts, hosts, 10),
    "nccl": lambda hosts: workload.nccl.all_gather(hosts, "1MB"),
    "permutation": lambda hosts: workload.permutation(hosts, 10, seed=1),
    "poisson": lambda hosts: workload.poisson(NET, 10, 0.5, count=9, senders=hosts, receivers=hosts),
    "random_pairs": lambda hosts: workload.random_pairs(hosts, 5, 10),
    "ring_all_reduce": lambda hosts: workload.ring_all_reduce(hosts, 100),
    "tree_all_reduce": lambda hosts: workload.tree_all_reduce(hosts, 100),
    "jobs": lambda hosts: workload.jobs(hosts, {"a": workload.permutation(["h0", "h1"], 10)}),
    "request_response": lambda hosts: workload.request_response(hosts, hosts, 10, 10),
    "a drawn incast": lambda hosts: workload.incast(3, "h1", 10, hosts=hosts, seed=4),
    "drawn pairs": lambda hosts: workload.many_to_many(2, 3, 10, hosts=hosts, seed=4),
    "drawn workers": lambda hosts: workload.partition_aggregate("h1", 3, 10, 10, hosts=hosts, seed=4),
    "drawn clients": lambda hosts: workload.request_response(2, 2, 10, 10, hosts=hosts, seed=4),
    "a step": workload.TrainingStep(
        model=workload.Transformer(hidden=64, layers=1, mlp=64, vocabulary=64), data=6, sequence=64
    ).workload,
}


@pytest.mark.parametrize("name", OF_HOSTS)
def test_a_network_stands_for_its_hosts(name):
    for network in (NET, topology.fabric.Fabric.from_graph(NET)):
        pd.testing.assert_frame_equal(OF_HOSTS[name](network), OF_HOSTS[name](topology.hosts(NET)))


def test_a_network_excludes_the_receiver_and_drawn_hosts_differ():
    others = [host for host in topology.hosts(NET) if host != "h1"]
    pd.testing.assert_frame_equal(workload.incast(NET, "h1", 10), workload.incast(others, "h1", 10))
    pd.testing.assert_frame_equal(
        workload.partition_aggregate("h1", NET, 10, 10), workload.partition_aggregate("h1", others, 10, 10)
    )
    drawn = workload.many_to_many(3, 3, 10, hosts=NET, seed=2)
    assert set(drawn["src"]) | set(drawn["dst"]) == set(topology.hosts(NET))
    refused(lambda: workload.many_to_many(3, 4, 10, hosts=NET), "receivers = 4: must be at most 3")
    with pytest.raises(ConfigError, match="workers = 2: must be a list of hosts; to draw this many"):
        workload.partition_aggregate("h1", 2, 10, 10)


EIGHT_HOSTS = [f"h{rank}" for rank in range(8)]


def test_one_ring_is_the_ring_all_reduce():
    one, other = nccl.all_reduce(EIGHT_HOSTS, "1MB"), rdmacc.ring_all_reduce(EIGHT_HOSTS, "1MB")
    columns = ["src", "dst", "size_bytes", "after"]
    pd.testing.assert_frame_equal(one[columns], other[columns])


@pytest.mark.parametrize(
    ("n", "one", "two"),
    [
        (4, [-1, 2, 0, 2], [1, 3, 1, -1]),
        (6, [-1, 2, 4, 2, 0, 4], [1, 5, 3, 1, 3, -1]),
        (7, [-1, 2, 4, 2, 0, 6, 4], [5, -1, 3, 5, 3, 1, 0]),
        (8, [-1, 2, 4, 2, 0, 6, 4, 6], [1, 3, 1, 7, 5, 3, 5, -1]),
        (16, [-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 14, 12, 14], None),
    ],
)
def test_trees_match_nccl(n, one, two):
    found = tree_parents(n)
    assert found[0] == one
    if two is not None:
        assert found[1] == two
    if n % 2 == 0:
        inner = [{parent for parent in parents if parent >= 0} - {parents.index(-1)} for parents in found]
        assert not inner[0] & inner[1], "no rank is an inner node of both trees"


def test_peers_are_in_nccls_order():
    assert [group for group, _ in peer_order(8)] == [1, 3, 6, 2, 7, 5, 4]
    assert [group for group, _ in peer_order(16)] == [1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]
    assert [group for group, _ in peer_order(6)] == [1, 3, 2, 5, 4]
    for n in range(2, 40):
        assert sorted(group for group, _ in peer_order(n)) == list(range(1, n))
    assert peer_order(8, node=4)[:4] == [(0, 1), (0, 2), (0, 3), (1, 0)]


@pytest.mark.parametrize("settings", [Nccl(), Nccl(channels=3), Nccl(channels=2, chunk_bytes="64kB", slices=2)])
@pytest.mark.parametrize(
    ("call", "sends"), [(nccl.all_reduce, 2 * 7 / 8), (nccl.reduce_scatter, 7 / 8), (nccl.all_gather, 7 / 8)]
)
def test_a_rank_of_a_ring_sends_the_necessary_bytes(settings, call, sends):
    work = call(EIGHT_HOSTS, 4_800_000, settings)
    assert work.groupby("src")["size_bytes"].sum().to_numpy() == pytest.approx(sends * 4_800_000, rel=1e-3)
    if settings.chunk_bytes:
        assert 16_000 < work["size_bytes"].max() <= 32_000


@pytest.mark.parametrize("half", [0, 1, 2, 3])
def test_gpus_of_a_node_form_a_chain_whose_head_is_in_the_tree_of_nodes(half):
    """Heads form the tree of the nodes; each other GPU is below one of its own node."""
    parents, head = tree_of_gpus(24, 4, half), half // 2
    between = {rank // 4: parent // 4 for rank, parent in enumerate(parents) if parent >= 0 and rank % 4 == head}
    assert [between.get(node, -1) for node in range(6)] == tree_parents(6)[half % 2]
    for rank, parent in enumerate(parents):
        if rank % 4 == head:
            assert parent < 0 or parent % 4 == head, "a channel leaves each node through one NIC"
        else:
            assert parent == rank // 4 * 4 + (rank - 1) % 4
    assert sorted(parents).count(-1) == 1


@pytest.mark.parametrize(("protocol", "factor"), [("Simple", 1), ("LL", 2), ("LL128", 128 / 120)])
def test_a_protocol_also_sends_flags(protocol, factor):
    work = nccl.all_reduce(EIGHT_HOSTS, 960_000, Nccl(protocol=protocol))
    assert work["size_bytes"].unique().tolist() == [120_000 * factor]
    assert set(work["buffer_bytes"]) == {960_000}, "busbw counts only the data"


def test_queue_pairs_of_a_connection_share_its_messages():
    turns = nccl.all_reduce(EIGHT_HOSTS, "1MB", Nccl(queue_pairs=2))
    assert sorted(turns["queue_pair"].unique()) == [0, 1]
    assert len(turns) == 112
    split = nccl.all_reduce(EIGHT_HOSTS, "1MB", Nccl(queue_pairs=2, splits=True))
    assert len(split) == 224
    assert split["size_bytes"].sum() == turns["size_bytes"].sum()


def test_a_connection_has_one_path_and_its_messages_come_in_order(engine):
    """Slices of one connection have one queue pair and one hash; each is delivered before the next."""
    net = rdmacc.leaf_spine(2, 4, 2)
    work = nccl.send_receive([("h0", "h2"), ("h1", "h3")], "400kB", Nccl(chunk_bytes="50kB"))
    result = rdmacc.simulate(net, work, "line-rate", engine=engine, trace=True)
    for _, part in result.flows.groupby("src"):
        ends = (part["start_ps"] + part["fct_ps"]).to_numpy(np.int64)
        assert (np.diff(ends) > 0).all()
    trace = result.packet_trace
    leaf, hosts = next(iter(net["h0"])), rdmacc.topology.hosts(net)
    up = trace[(trace["node"] == leaf) & (trace["kind"] == "data") & ~trace["peer"].isin(hosts)]
    assert up.groupby(up["message"] // 8)["peer"].nunique().tolist() == [1, 1]
    assert len(result.plan.qp_src) == 2


@pytest.mark.parametrize(("protocol", "step"), [("Simple", 524_288), ("LL", 32_768), ("LL128", 576_000)])
def test_data_is_forwarded_in_steps_of_the_buffer(protocol, step):
    """An eighth of the buffer: 4 MiB, 256 KiB of data, 15/16 of 4,915,200 B. Rings send whole parts."""
    settings = Nccl(protocol=protocol)
    for call, change, data in ((nccl.broadcast, {}, 1), (nccl.all_reduce, {"algorithm": "tree"}, 2)):
        work = call(EIGHT_HOSTS, data * 8 * step, settings.replace(**change))
        assert set(work["size_bytes"]) == {settings.sent_bytes(step)}
    assert set(nccl.all_reduce(EIGHT_HOSTS, 64 * step, settings)["size_bytes"]) == {settings.sent_bytes(8 * step)}


_TREE = Nccl(algorithm="tree", channels=1, chunk_bytes="16kB")
CASES = {
    "ring": {},
    "ring, slices that fill the link": {"size_bytes": "4MB", "settings": Nccl(slices=8)},
    "ring, slices that do not": {"settings": Nccl(slices=4)},
    "reduce-scatter": {"operation": "reduce-scatter", "size_bytes": "4MB"},
    "all-gather": {"operation": "all-gather", "size_bytes": "4MB"},
    "all-to-all, one after the other": {"operation": "all-to-all", "size_bytes": "4MB"},
    "all-to-all at once": {"operation": "all-to-all", "size_bytes": "4MB", "settings": Nccl(channels=7)},
    "broadcast": {"operation": "broadcast", "size_bytes": "4MB", "settings": Nccl(chunk_bytes="256kB")},
    "broadcast, in NCCL's chunks": {"operation": "broadcast", "size_bytes": "16MB"},
    "hierarchical": {"size_bytes": "8MB", "settings": Nccl(algorithm="hierarchical", hosts_per_node=4)},
    "trees of 2 nodes of 4": {"size_bytes": "4MB", "settings": _TREE.replace(hosts_per_node=4)},
    "trees of 4 nodes of 4": {"ranks": 16, "size_bytes": "4MB", "settings": _TREE.replace(hosts_per_node=4)},
    "trees, a channel for each NIC": {"size_bytes": "8MB", "settings": _TREE.replace(hosts_per_node=2, channels=2)},
    "ring, LL": {"size_bytes": "4MB", "settings": Nccl(protocol="LL")},
    "trees of nodes, LL128": {"size_bytes": "4MB", "settings": _TREE.replace(hosts_per_node=2, protocol="LL128")},
}


@pytest.mark.parametrize("name", CASES)
def test_a_lone_collective_takes_its_closed_form(name):
    """Within 2%: the first and the last chunk meet no ACKs, and the last packets are short."""
    model = AlphaBeta(**CASES[name])
    comparison = rdmacc.compare(model)
    times = comparison.frame[comparison.frame["quantity"] == "time"].iloc[0]
    assert times["simulation"] == pytest.approx(times["model"], rel=0.02)


def test_a_rank_of_a_tree_is_at_most_eight_chunks_ahead():
    """Four ranks: 1 and 3 below 2, 2 below 0, and mirrored. What a chunk waits for, by sender and receiver."""
    work = nccl.all_reduce(EIGHT_HOSTS[:4], "1MB", Nccl(algorithm="tree", chunk_bytes="50kB"))
    ends = list(zip(work["src"], work["dst"], strict=True))
    waits = {}
    for row, wanted in enumerate(work["after"]):
        waits.setdefault(ends[row], []).append({(ends[one], row - one) for one in wanted})
    first, ninth = (waits["h1", "h2"][chunk] for chunk in (0, 8))
    assert first == set()
    assert [end for end, _ in ninth] == [("h2", "h0")], "the receiver has forwarded the chunk eight before"


@pytest.mark.parametrize("chunks", [2, 400])
def test_chunks_of_an_all_to_all_wait_for_those_of_the_step_before_in_linear_memory(chunks):
    """In each of six steps and for each of eight ranks, each chunk is waited for once and waits once."""
    schedule = nccl.alone("all-to-all", EIGHT_HOSTS, 8 * 1000 * chunks, Nccl(chunk_bytes=1000))
    assert len(schedule.waits()[0]) == 6 * 8 * 2 * chunks


def test_busbw_of_a_perfect_run_is_the_link(engine):
    work = rdmacc.combine(nccl.all_reduce(EIGHT_HOSTS[:4], "2MB"), nccl.all_gather(EIGHT_HOSTS[4:], "2MB"))
    result = rdmacc.simulate(rdmacc.star(8), work, "line-rate", engine=engine)
    table = result.collectives
    told = table[["operation", "collective", "ranks"]].to_numpy().tolist()
    assert told == [["all-reduce", 0, 4], ["all-gather", 1, 4]]
    payload = 1000 / (1048 + 64)
    assert table["busbw_bps"].to_numpy() == pytest.approx(1e11 * payload, rel=0.08)
    large = AlphaBeta(ranks=4).evaluate([10**11])  # negligible alpha
    assert large["busbw_bps"][0] == pytest.approx(1e11 * payload, rel=1e-3)
    assert table["algbw_bps"][0] * 1.5 == table["busbw_bps"][0]
    assert table["time_ps"][0] == (result.flows["start_ps"] + result.flows["fct_ps"])[:24].max()


@pytest.mark.parametrize("settings", [Nccl(), Nccl(chunk_bytes="16kB", slices=2), Nccl(channels=4)])
@pytest.mark.parametrize("call", [nccl.all_reduce, nccl.all_gather])
def test_a_path_through_a_node_takes_as_long_as_its_transfers_in_sequence(call, settings):
    """All chunks are equally long, so a chunk waits only at the port where it enters."""
    settings = settings.replace(hosts_per_node=4, channels=settings.rings, inner_rate_bps=2e11)
    hosts = [f"h{rank}" for rank in range(12)]
    work = call(hosts, 12 * 4 * 64_000, settings)
    steps, loops = 22 if call is nccl.all_reduce else 11, 16 if settings.chunk_bytes else 1
    rows: list[dict[str, object]] = []
    for ring in ring_orders(12, settings):
        parts = settings.slices if settings.chunk_bytes else 1
        size = 12 * 4 * 64_000 // settings.rings // 12 // loops // parts
        came: dict[tuple[int, int], int] = {}  # the row after which a part is at the next rank, by rank and part
        busy: dict[int, int] = {}
        for _ in range(loops * steps):
            now: dict[tuple[int, int], int] = {}
            for place, part in np.ndindex(12, parts):
                src, dst = (int(ring[spot % 12]) for spot in (place, place + 1))
                before = [came[src, part]] if came else []
                if src // 4 != dst // 4:
                    rows.append({"src": f"h{src}", "dst": f"h{dst}", "size": size, "after": before, "queue_pair": 0})
                else:
                    busy_ps = int(settings.inner_ps(size * settings.rings))
                    before += [busy[src]] if src in busy else []
                    rows.append({"src": f"h{src}", "duration": f"{busy_ps}ps", "after": before})
                    busy[src] = len(rows) - 1
                    rows.append({"src": f"h{dst}", "duration": "936250ps", "after": [len(rows) - 1]})
                now[dst, part] = len(rows) - 1
            came = now
    network = rdmacc.leaf_spine(3, 1, 4, rate="400Gbps", delay="500ns")
    one, other = (rdmacc.simulate(network, each, "line-rate").flows for each in (work, rdmacc.messages(rows)))
    ends = [sorted(flows["start_ps"] + flows["fct_ps"]) for flows in (one, other)]
    assert len(work) < 0.5 * len(rows)
    assert ends[0] == ends[1]


GPUS = [f"h{rank}" for rank in range(64)]
SMALL = Transformer(hidden=64, layers=4, mlp=128, vocabulary=512)


def volume(step: TrainingStep) -> dict[str, tuple[int, int, int]]:
    return {row.what: (row.calls, row.buffer_bytes, row.sent_bytes) for row in step.volumes().itertuples()}


def test_models_have_their_number_of_parameters():
    assert LLAMA_7B.layer_parameters == 202_383_360
    assert LLAMA_7B.parameters_in_all == 6_738_415_616
    assert TrainingStep(data=8).routed_bytes == 0
    assert LLAMA_7B.forward_flop(4096) / 400e12 == pytest.approx(4.83e-3, rel=1e-3)
    assert MIXTRAL_8X7B.parameters_in_all == pytest.approx(46.70e9, rel=1e-4)
    assert MIXTRAL_8X7B.expert_parameters == pytest.approx(176.2e6, rel=1e-3)


def test_the_bytes_of_the_worked_example():
    assert volume(TrainingStep(data=64)) == {"gradients, all-reduce": (106, 13_476_831_232, 26_532_511_488)}
    sharded = TrainingStep(data=64, optimizer="sharded", gradient_bytes=4)
    assert volume(sharded) == {
        "gradients, reduce-scatter": (106, 26_953_662_464, 26_532_511_488),
        "parameters, all-gather": (106, 13_476_831_232, 13_266_255_744),
    }
    assert {size * 4 for size in sharded.bucket_sizes(0)[:-1]} == {256_000_000}
    node = Nccl(hosts_per_node=8)
    tensor = volume(TrainingStep(data=8, tensor=8, nccl=node))
    assert tensor["tensor parallel, all-reduce"][:2] == (128, 128 * 33_554_432)
    assert tensor["gradients, all-reduce"][1:] == (1_684_603_904, 2_948_056_832)
    stages = TrainingStep(data=8, pipeline=8)
    assert sum(stages.stage_parameters(3)) == 809_533_440
    assert sum(stages.stage_parameters(0)) - 809_533_440 == 131_072_000
    assert volume(stages)["activations, send"] == (1, 33_554_432, 33_554_432)
    sharded = volume(TrainingStep(data=64, optimizer="fsdp"))
    assert sum(sent for _, _, sent in sharded.values()) == pytest.approx(3 * 63 / 64 * 13.4768e9, rel=1e-4)
    experts = volume(TrainingStep(model=MIXTRAL_8X7B, data=8, experts=8))
    assert experts["experts, all-to-all"][:2] == (128, 128 * 67_108_864)


@pytest.mark.parametrize(
    "change",
    [
        {"data": 8},
        {"data": 8, "optimizer": "sharded", "gradient_bytes": 4},
        {"data": 8, "optimizer": "fsdp"},
        {"data": 4, "tensor": 2},
        {"data": 2, "pipeline": 4, "micro_batches": 3},
        {"data": 2, "pipeline": 2, "micro_batches": 4},
        {"data": 8, "experts": 4, "model": Transformer(hidden=64, layers=4, mlp=128, vocabulary=512, experts=8, top=2)},
    ],
    ids=str,
)
def test_messages_have_the_announced_bytes(change):
    """By rank, exact for each chunk: the schedule against the sums."""
    step = TrainingStep(**{"model": SMALL, "sequence": 256, "bucket": 20_000} | change)
    work = step.workload(GPUS)
    sends = work[work["size_bytes"] > 0]
    first = [f"h{rank}" for rank in range(step.data * step.tensor)]
    sent = sends[sends["src"].isin(first)].groupby("src")["size_bytes"].sum()
    assert sent.to_numpy() == pytest.approx(step.volumes()["sent_bytes"].sum(), rel=2e-3)
    waited_for = {row for after in work["after"] for row in after}
    stage_of = {host: rank // (step.data * step.tensor) for rank, host in enumerate(GPUS)}
    assert set(sends.index[sends["src"].map(stage_of) != sends["dst"].map(stage_of)]) <= waited_for


def test_the_pipeline_bubble(engine):
    """(m + p - 1) (f + b) + 2 (p - 1) T, with enough micro-batches to keep every stage busy."""
    step = TrainingStep(model=SMALL, sequence=256, pipeline=4, micro_batches=4, flops=1e11)
    result = rdmacc.simulate(rdmacc.star(4), step.workload(GPUS), "line-rate", engine=engine)
    forward_ps = 1e12 * SMALL.forward_flop(256) / 1e11
    transfer = AlphaBeta(ranks=2, scheme="line-rate")
    one_ps = transfer.alpha_ps + step.activation_bytes * 1.048 * 80
    expected = (4 + 3) * 3 * forward_ps + 2 * 3 * one_ps
    assert result.computation["end_ps"].max() == pytest.approx(expected, rel=0.01)
    assert len(result.flows) == 2 * 3 * 4


def test_a_layer_is_split_where_a_bucket_is_full():
    """A layer of 41,088 parameters has one part with large buckets and three or four with buckets of 12,000."""

    def parts(bucket):
        work = TrainingStep(model=SMALL, sequence=256, data=4, bucket=bucket).workload(GPUS)
        return work.loc[work["src"] == "h0", "duration_ps"].dropna()

    whole, split = parts(10**9), parts(12_000)
    assert len(split) > 3 * len(whole)
    assert split.sum() == pytest.approx(whole.sum(), abs=len(split))


def test_exchange_between_gpus_of_a_node_takes_its_closed_form():
    """Twice per layer and direction, 2 (t - 1) steps of the latency and a share of the activations."""
    nccl = Nccl(hosts_per_node=4)
    alone, shared = (
        TrainingStep(model=SMALL, sequence=256, tensor=tensor, nccl=nccl, flops=1e12 / tensor) for tensor in (1, 4)
    )
    works = alone.workload(GPUS), shared.workload(GPUS)
    one, other = (work[work["src"] == "h0"]["duration_ps"].sum() for work in works)
    step_ps = nccl.inner_delay_ps + shared.activation_bytes / 4 * 8e12 / nccl.inner_rate_bps
    assert other - one == pytest.approx(4 * SMALL.layers * 2 * 3 * step_ps, rel=1e-6)
