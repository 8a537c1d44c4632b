"""Collectives as in NCCL: messages, and times against closed forms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.models.alpha_beta import AlphaBeta
from rdmacc.workload import Nccl, nccl
from rdmacc.workload.nccl_schedules import peer_order, ring_orders, tree_of_gpus, tree_parents

HOSTS = [f"h{rank}" for rank in range(8)]


def test_one_ring_is_the_ring_all_reduce():
    one, other = nccl.all_reduce(HOSTS, "1MB"), rdmacc.ring_all_reduce(HOSTS, "1MB")
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
def test_trees_are_nccl_s(n, one, two):
    found = tree_parents(n)
    assert found[0] == one
    if two is not None:
        assert found[1] == two
    if n % 2 == 0:
        inner = [{parent for parent in parents if parent >= 0} - {parents.index(-1)} for parents in found]
        assert not inner[0] & inner[1], "no rank is inside both trees"


def test_peers_are_in_nccl_s_order():
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
def test_a_rank_of_a_ring_sends_what_it_must(settings, call, sends):
    work = call(HOSTS, 4_800_000, settings)
    assert work.groupby("src")["size_bytes"].sum().to_numpy() == pytest.approx(sends * 4_800_000, rel=1e-3)
    if settings.chunk_bytes:
        assert 16_000 < work["size_bytes"].max() <= 32_000


@pytest.mark.parametrize("channels", [1, 2])
def test_ranks_of_a_tree_send_at_most_twice_the_data(channels):
    work = nccl.all_reduce(HOSTS, 8_000_000, Nccl(algorithm="tree", channels=channels, chunk_bytes="100kB"))
    sent = work.groupby("src")["size_bytes"].sum()
    assert sent.sum() == 2 * 7 * 8_000_000
    assert sent.max() == 16_000_000


@pytest.mark.parametrize("half", [0, 1, 2, 3])
def test_gpus_of_a_node_are_a_chain_whose_head_is_in_the_tree_of_nodes(half):
    """Between heads the tree is that of the nodes; each other GPU is below one of its node."""
    parents, head = tree_of_gpus(24, 4, half), half // 2
    between = {rank // 4: parent // 4 for rank, parent in enumerate(parents) if parent >= 0 and rank % 4 == head}
    assert [between.get(node, -1) for node in range(6)] == tree_parents(6)[half % 2]
    for rank, parent in enumerate(parents):
        if rank % 4 == head:
            assert parent < 0 or parent % 4 == head, "a channel leaves each node by one NIC"
        else:
            assert parent == rank // 4 * 4 + (rank - 1) % 4
    assert sorted(parents).count(-1) == 1


def test_only_heads_of_a_tree_send_over_the_network():
    work = nccl.all_reduce(HOSTS, 8_000_000, Nccl(algorithm="tree", hosts_per_node=4, channels=1, chunk_bytes="100kB"))
    messages = work[work["duration_ps"].isna()]
    assert messages.groupby(["src", "dst"])["size_bytes"].sum().to_dict() == {
        ("h0", "h4"): 8_000_000, ("h4", "h0"): 8_000_000,
    }  # fmt: skip


@pytest.mark.parametrize(("protocol", "factor"), [("Simple", 1), ("LL", 2), ("LL128", 128 / 120)])
def test_a_protocol_sends_its_flags_too(protocol, factor):
    work = nccl.all_reduce(HOSTS, 960_000, Nccl(protocol=protocol))
    assert work["size_bytes"].unique().tolist() == [120_000 * factor]
    assert set(work["buffer_bytes"]) == {960_000}, "busbw is that of the data"


def test_every_pair_exchanges_once():
    work = nccl.all_to_all(HOSTS, 8_000_000, Nccl(chunk_bytes="300kB"))
    sent = work.groupby(["src", "dst"])["size_bytes"].sum()
    assert len(sent) == 56
    assert set(sent) == {1_000_000}


def test_rings_leave_a_node_by_all_its_nics():
    work = nccl.all_reduce(HOSTS, 8_000_000, Nccl(hosts_per_node=4))
    messages = work[work["duration_ps"].isna()]
    assert set(messages["src"]) == set(HOSTS)
    ends = messages["src"].str[1:].astype(int), messages["dst"].str[1:].astype(int)
    assert (ends[0] // 4 != ends[1] // 4).all(), "inside a node nothing is sent over the network"
    assert messages.groupby("src")["size_bytes"].sum().to_numpy() == pytest.approx(2 * 7 / 8 * 8e6 / 4, rel=1e-3)


def test_a_hierarchy_sends_its_part_over_each_nic():
    work = nccl.all_reduce(HOSTS, 8_000_000, Nccl(algorithm="hierarchical", hosts_per_node=4))
    sent = work[work["duration_ps"].isna()].groupby("src")["size_bytes"].sum()
    assert set(sent) == {2_000_000}
    computing = work["duration_ps"].dropna().unique().tolist()
    assert computing == [3 * (936_250 + 5_000_000)], "each half inside: (g - 1) (a' + S b' / g) at 400 GB/s"


def test_queue_pairs_of_a_connection_share_its_messages():
    turns = nccl.all_reduce(HOSTS, "1MB", Nccl(queue_pairs=2))
    assert sorted(turns["queue_pair"].unique()) == [0, 1]
    assert len(turns) == 112
    split = nccl.all_reduce(HOSTS, "1MB", Nccl(queue_pairs=2, splits=True))
    assert len(split) == 224
    assert split["size_bytes"].sum() == turns["size_bytes"].sum()


def test_a_connection_has_one_path_and_its_messages_come_in_order(engine):
    """Slices of one connection: one queue pair, one hash; each is delivered before the next one."""
    net = rdmacc.leaf_spine(2, 4, 2)
    work = nccl.send_receive([("h0", "h2"), ("h1", "h3")], "400kB", Nccl(chunk_bytes="50kB"))
    result = rdmacc.simulate(net, work, "line-rate", engine=engine, trace=True, progress=False)
    for _, part in result.flows.groupby("src"):
        ends = (part["start_ps"] + part["fct_ps"]).to_numpy(np.int64)
        assert (np.diff(ends) > 0).all()
    trace = result.packet_trace
    leaf, hosts = next(iter(net["h0"])), rdmacc.topology.hosts(net)
    up = trace[(trace["node"] == leaf) & (trace["kind"] == "data") & ~trace["peer"].isin(hosts)]
    assert up.groupby(up["message"] // 8)["peer"].nunique().tolist() == [1, 1]
    assert len(result.plan.qp_src) == 2


@pytest.mark.parametrize(("protocol", "step"), [("Simple", 524_288), ("LL", 32_768), ("LL128", 576_000)])
def test_what_is_passed_on_is_passed_on_in_steps_of_the_buffer(protocol, step):
    """An eighth of the buffer: 4 MiB, 256 KiB of data, 15/16 of 4,915,200 B. Rings send their parts whole."""
    settings = Nccl(protocol=protocol)
    for call, change, data in ((nccl.broadcast, {}, 1), (nccl.all_reduce, {"algorithm": "tree"}, 2)):
        work = call(HOSTS, data * 8 * step, settings.replace(**change))
        assert set(work["size_bytes"]) == {settings.sent_bytes(step)}
    assert set(nccl.all_reduce(HOSTS, 64 * step, settings)["size_bytes"]) == {settings.sent_bytes(8 * step)}


def test_more_chunks_than_memory_holds_are_an_error():
    with pytest.raises(ConfigError, match="chunk_bytes = 524288"):
        nccl.broadcast(HOSTS, 2**62)


def test_a_byte_is_the_least():
    assert nccl.send_receive([("h0", "h1")], 1)["size_bytes"].tolist() == [1]
    with pytest.raises(ConfigError, match="at least 1 byte"):
        nccl.send_receive([("h0", "h1")], 0)


def test_a_queue_pair_must_be_a_number():
    work = nccl.send_receive([("h0", "h1")], "1kB").assign(queue_pair=[-2])
    with pytest.raises(ConfigError, match="queue_pair = -2"):
        rdmacc.Simulation(rdmacc.star(2), work, "dcqcn")


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
def test_a_collective_alone_takes_its_closed_form(name):
    """Within 2%: the first and the last chunk meet no ACKs, and last packets are short."""
    model = AlphaBeta(**CASES[name])
    comparison = rdmacc.compare(model)
    times = comparison.frame[comparison.frame["quantity"] == "time"].iloc[0]
    assert times["simulation"] == pytest.approx(times["model"], rel=0.02)


def test_double_trees_take_their_closed_form_by_the_buffer_s_steps():
    """Without them, chunks that nobody needs yet go first."""
    excess = {}
    for steps in (8, 0):
        settings = Nccl(algorithm="tree", chunk_bytes="16kB", buffer_steps=steps)
        model = AlphaBeta(ranks=8, size_bytes="4MB", settings=settings)
        excess[steps] = rdmacc.compare(model).frame.set_index("quantity")["relative"]["time"]
    assert abs(excess[8]) < 0.02
    assert excess[0] - excess[8] > 0.01


def test_a_rank_of_a_tree_is_eight_chunks_ahead():
    """On four ranks: 1 and 3 below 2, 2 below 0, and mirrored. What a chunk waits for, by sender and receiver."""
    work = nccl.all_reduce(HOSTS[:4], "1MB", Nccl(algorithm="tree", chunk_bytes="50kB"))
    ends = list(zip(work["src"], work["dst"], strict=True))
    waits = {}
    for row, wanted in enumerate(work["after"]):
        waits.setdefault(ends[row], []).append({(ends[one], row - one) for one in wanted})
    first, ninth = (waits["h1", "h2"][chunk] for chunk in (0, 8))
    assert first == set()
    assert [end for end, _ in ninth] == [("h2", "h0")], "the receiver has passed on the chunk eight before"


def test_busbw_of_a_perfect_run_is_the_link(engine):
    work = rdmacc.combine(nccl.all_reduce(HOSTS[:4], "2MB"), nccl.all_gather(HOSTS[4:], "2MB"))
    result = rdmacc.simulate(rdmacc.star(8), work, "line-rate", engine=engine, progress=False)
    table = result.collectives
    assert table["operation"].tolist() == ["all-reduce", "all-gather"]
    assert table["collective"].tolist() == [0, 1]
    assert table["ranks"].tolist() == [4, 4]
    payload = 1000 / (1048 + 64)
    assert table["busbw_bps"].to_numpy() == pytest.approx(1e11 * payload, rel=0.08)
    large = AlphaBeta(ranks=4).evaluate([10**11])  # no alpha to speak of
    assert large["busbw_bps"][0] == pytest.approx(1e11 * payload, rel=1e-3)
    assert table["algbw_bps"][0] * 1.5 == table["busbw_bps"][0]
    assert table["time_ps"][0] == (result.flows["start_ps"] + result.flows["fct_ps"])[:24].max()
    for readable, base, factor in (("time_us", "time_ps", 1e6), ("busbw_gbytes", "busbw_bps", 8e9)):
        assert (table[readable] * factor).to_numpy() == pytest.approx(table[base].to_numpy())


def test_a_collective_under_way_has_no_time():
    result = rdmacc.simulate(rdmacc.star(8), nccl.all_reduce(HOSTS, "1MB"), "dcqcn", until="20us")
    assert result.collectives["time_ps"].isna().all()
    assert len(rdmacc.simulate(rdmacc.star(2), rdmacc.incast(["h1"], "h0", 5), "dcqcn").collectives) == 0


@pytest.mark.parametrize("settings", [Nccl(), Nccl(chunk_bytes="16kB", slices=2), Nccl(channels=4)])
@pytest.mark.parametrize("call", [nccl.all_reduce, nccl.all_gather])
def test_a_way_through_a_node_takes_as_long_as_its_transfers_one_by_one(call, settings):
    """Every chunk is equally long, so behind the port where it enters it waits nowhere."""
    settings = settings.replace(hosts_per_node=4, channels=settings.rings, inner_rate_bps=2e11)
    hosts = [f"h{rank}" for rank in range(12)]
    work = call(hosts, 12 * 4 * 64_000, settings)
    steps, loops = 22 if call is nccl.all_reduce else 11, 16 if settings.chunk_bytes else 1
    rows: list[dict[str, object]] = []
    for ring in ring_orders(12, settings):
        parts = settings.slices if settings.chunk_bytes else 1
        size = 12 * 4 * 64_000 // settings.rings // 12 // loops // parts
        came: dict[tuple[int, int], int] = {}  # the row after which a part is at its next rank, by rank and part
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


@pytest.mark.parametrize(
    ("change", "match"),
    [({"algorithm": "star"}, "algorithm"), ({"channels": -1}, "channels"), ({"chunk_bytes": "-1kB"}, "chunk_bytes")],
)
def test_wrong_settings_are_errors(change, match):
    with pytest.raises(ConfigError, match=match):
        Nccl(**change)


def test_nodes_must_be_whole():
    with pytest.raises(ConfigError, match="a divisor of the 8 ranks"):
        nccl.all_reduce(HOSTS, "1MB", Nccl(hosts_per_node=3))
