"""Clusters: who sends through which NIC, closed forms, NCCL's choice, and the content of an answer."""

import math
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.errors import ConfigError
from rdmacc.workload import Nccl, TrainingStep, Transformer
from rdmacc.workload.nccl_tuning import predictions
from rdmacc.workload.schedule import Schedule
from tests.support import refused

NODES, GPUS = 4, 4
RANKS = NODES * GPUS
SIZE = RANKS * GPUS * 4_000_000
SCHEME = rdmacc.scheme("nscc", payload_bytes=4096)
BETA_PS = (4096 + SCHEME.header_bytes) / 4096 * 20


@pytest.fixture(scope="module")
def small() -> rdmacc.Cluster:
    return rdmacc.cluster(nodes=NODES, gpus=GPUS)


@pytest.mark.parametrize(
    ("operation", "changes", "share"),
    [
        ("all_reduce", {"algorithm": "ring"}, 2 * (RANKS - 1) / RANKS / GPUS),
        ("all_reduce", {"algorithm": "hierarchical"}, 2 * (NODES - 1) / NODES / GPUS),
        ("reduce_scatter", {}, (RANKS - 1) / RANKS / GPUS),
        ("all_gather", {}, (RANKS - 1) / RANKS / GPUS),
        ("all_to_all", {"channels": RANKS}, (RANKS - GPUS) / RANKS),
        ("all_to_all", {"pxn": True}, (RANKS - GPUS) / RANKS),
    ],
)
def test_nics_send_the_bytes_and_take_the_time_of_the_closed_form(small, operation, changes, share):
    """Exact bytes on every NIC and rail; time within 2%, including transfers inside nodes before and after."""
    work = small.collective(operation, SIZE, **changes)
    result = rdmacc.simulate(small.network, work, SCHEME)
    messages = work[work["duration_ps"].isna()]
    assert set(messages.groupby("src")["size_bytes"].sum()) == set(messages.groupby("dst")["size_bytes"].sum())
    assert messages.groupby("src")["size_bytes"].sum().to_dict() == dict.fromkeys(small.hosts, share * SIZE)
    rails = [messages[end].str[1:].astype(int) % GPUS for end in ("src", "dst")]
    if operation != "all_to_all" or "pxn" in changes:
        assert (rails[0] == rails[1]).all()
        through = result.ports.loc[result.ports["port"].str.contains("spine"), "tx_bytes"]
        assert through.sum() == 0, "traffic within a rail crosses no spine"
    how = small.choose(operation, SIZE)
    inner_ps = {"hierarchical": 2 * (GPUS - 1) / GPUS, True: 2 * (GPUS - 1) / RANKS}
    inside = next((inner_ps[value] for value in changes.values() if value in inner_ps), 0) * float(how.inner_ps(SIZE))
    assert result.collectives["time_ps"][0] == pytest.approx(share * SIZE * BETA_PS + inside, rel=0.02)


@pytest.mark.parametrize("fabric", ["rail", "leaf-spine"])
@pytest.mark.parametrize("algorithm", ["ring", "tree"])
def test_each_nic_and_each_leaf_sends_exact_bytes(fabric, algorithm):
    """On the wire: data with headers, and ACKs of incoming data; with rails, or with a leaf for each node."""
    made = rdmacc.cluster(NODES, GPUS, fabric=fabric, ports_per_leaf=NODES)
    work, scheme = made.all_reduce("4MB", algorithm=algorithm), made.scheme("line-rate")
    sent = rdmacc.simulate(made.network, work, scheme).ports.set_index("port")["tx_bytes"]
    leaf = {host: switch for node in range(NODES) for host, switch in made.nics(node)}
    messages = work[work["duration_ps"].isna()]
    packets = -(-messages["size_bytes"] // scheme.payload_bytes)
    data, acks = messages["size_bytes"] + packets * scheme.header_bytes, packets * scheme.ack_bytes
    rises = messages["src"].map(leaf) != messages["dst"].map(leaf)
    assert rises.any() == (fabric == "leaf-spine"), "rings and trees stay on their rails"
    for host, switch in leaf.items():
        wanted = data[messages["src"] == host].sum() + acks[messages["dst"] == host].sum()
        assert sent[f"{host}->{switch}"] == wanted > 0
    for switch in set(leaf.values()):
        begins, ends = (messages[end].map(leaf) == switch for end in ("src", "dst"))
        wanted = data[rises & begins].sum() + acks[rises & ends].sum()
        assert sent[sent.index.str.startswith(f"{switch}->spine")].sum() == wanted


def test_chains_and_trees_take_the_time_of_their_closed_forms(small):
    """Within 2%: the busiest NIC's data, and one chunk's way through all nodes."""
    chunk, hop_ps = 131_072, 2 * 500_000 + 4096 * BETA_PS
    chain = Nccl(hosts_per_node=GPUS, chunk_bytes=chunk)
    inside_ps = chain.inner_delay_ps + float(chain.inner_ps(GPUS * chunk))
    closed_ps = (SIZE / GPUS + (NODES - 1) * chunk) * BETA_PS + (NODES - 1) * hop_ps + NODES * (GPUS - 1) * inside_ps
    tree = rdmacc.models.AlphaBeta(
        ranks=RANKS, size_bytes=SIZE, settings=chain.replace(algorithm="tree"), rate_bps="400Gbps", delay_ps="500ns",
        scheme="nscc",
    )  # fmt: skip
    for operation, scheme, time_ps in (
        ("broadcast", SCHEME, closed_ps),
        ("all_reduce", rdmacc.scheme("nscc"), tree.evaluate([SIZE])["time_ps"][0]),
    ):
        work = small.collective(operation, SIZE, algorithm="tree", chunk_bytes=chunk)
        found = rdmacc.simulate(small.network, work, scheme).collectives["time_ps"][0]
        assert found == pytest.approx(time_ps, rel=0.02)


def test_a_row_of_a_collective_takes_little_memory():
    """From the schedule to the bandwidth: a ring of 1,024 GPUs has 4.2 million rows."""
    big = rdmacc.cluster(12, 8, fabric="leaf-spine")
    first = rdmacc.simulate(big.network, big.schedule("all_reduce", "1MB", algorithm="tree"), SCHEME)
    assert len(first.collectives) == 1, "imports everything it needs"
    tracemalloc.start()
    work = big.schedule("all_reduce", "100MB", algorithm="ring").make()
    made = tracemalloc.get_traced_memory()[0]
    simulation = rdmacc.Simulation(big.network, work, SCHEME)
    tracemalloc.reset_peak()
    assert simulation.run("20us").collectives["time_ps"].isna().all()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert made < 100 * len(work)
    assert peak < 400 * len(work)


@settings(max_examples=20)
@given(
    sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)).filter(lambda sizes: math.prod(sizes) > 1),
    operation=st.sampled_from(["all_reduce", "all_gather", "all_to_all", "broadcast"]),
    changes=st.fixed_dictionaries(
        {},
        optional={
            "algorithm": st.sampled_from(["ring", "tree", "hierarchical"]),
            "chunk_bytes": st.sampled_from([30_000, 90_000]), "slices": st.integers(1, 2),
            "channels": st.integers(1, 5), "queue_pairs": st.integers(1, 2), "splits": st.booleans(),
            "pxn": st.booleans(),
        },
    ),
    engine=st.sampled_from(["simpy", "compiled"]),
)  # fmt: skip
def test_a_schedule_runs_like_its_frame(sizes, operation, changes, engine):
    """All numbers of the plan are equal, and so are both engines' results."""
    made = rdmacc.cluster(*sizes, ports_per_leaf=1)
    work = made.schedule(operation, "200kB", **changes)
    runs = [rdmacc.simulate(made.network, one, "dcqcn", engine=engine) for one in (work, work.frame())]
    one, other = (run.plan for run in runs)
    assert isinstance(one.rows.given, type(work))
    for name, value in vars(one).items():
        for part in vars(value) if name in ("computation", "dependents") and value is not None else [""]:
            pair = [getattr(getattr(plan, name), part) if part else getattr(plan, name) for plan in (one, other)]
            if isinstance(pair[0], np.ndarray):
                assert pair[0].dtype == pair[1].dtype
                assert np.array_equal(*pair), name
    assert not differences(runs[0].outcome, runs[1].outcome)
    for frame in ("collectives", "flows", "computation"):
        pd.testing.assert_frame_equal(getattr(runs[0], frame), getattr(runs[1], frame), check_exact=True)
    pd.testing.assert_frame_equal(one.workload, other.workload)


def test_a_schedule_that_does_not_fit_raises_its_frames_error():
    for src, dst, size in (("h0", "h9", 5), ("h0", "h0", 5), ("h0", "h1", 0)):
        schedule = Schedule()
        schedule.send(src, dst, size)
        errors = []
        for work in (schedule, schedule.frame()):
            errors.append(str(refused(lambda: rdmacc.simulate(rdmacc.star(3), work, "dcqcn"))))
        assert errors[0] == errors[1]


@pytest.mark.parametrize(
    ("nodes", "size", "algorithm", "protocol", "time_us"),
    [
        (8, 2**28, "ring", "LL128", 14 + 112 * 1.9 + 14 * 4 + 2**28 * 126 / 64 / (8 * 36_700)),
        (16, 256e6, "tree", "Simple", 8.4 + 2 * (7 * 4 + 4 * 14) + 256e6 * 2 / (0.9 * 8 * 36_000)),
        (8, 16e6, "tree", "LL128", 14 + 2 * (7 * 1.25 + 3 * 8.5) + 16e6 * 2 / (0.9 * 8 * 29_000)),
        (16, 1e9, "ring", "Simple", 1.4 * (8.4 + 224 * 3.4 + 30 * 14) + 1e9 * 254 / 128 / 400_000),
        (64, 1e9, "tree", "Simple", 8.4 + 2 * (7 * 4 + 6 * 14) + 1e9 * 2 / (8 * 36_000)),
        (64, 4e9, "ring", "Simple", 1.4 * (8.4 + 896 * 3.4 + 126 * 14) + 4e9 * 1022 / 512 / 400_000),
    ],
)
def test_tree_or_ring(nodes, size, algorithm, protocol, time_us):
    """As in docs/howto/collective.md; the times from the terms of NCCL's tuning.cc, written out."""
    found = predictions("all-reduce", int(size), nodes, Nccl(hosts_per_node=8), 4e11).iloc[0]
    assert (found["algorithm"], found["protocol"]) == (algorithm, protocol)
    assert found["time_us"] == pytest.approx(time_us, rel=1e-9)


@pytest.mark.parametrize(("fabric", "leaves", "spines"), [("rail", 4, 2), ("leaf-spine", 4, 2), ("fat-tree", 4, 2 + 8)])
def test_fabrics_have_the_links_of_their_oversubscription(fabric, leaves, spines):
    made = rdmacc.cluster(4, 4, fabric=fabric, oversubscription=2, ports_per_leaf=4)
    assert len(made.hosts) == 16
    found = rdmacc.topology.switches(made.network)
    assert len(found) == leaves + spines
    for leaf in [name for name in found if "rail" in name or name.startswith(("leaf", "tor"))]:
        kinds = [made.network.nodes[peer]["kind"] for peer in made.network[leaf]]
        assert kinds.count("host") == 2 * kinds.count("switch")
    on_rail = {switch for _, switch in made.nics(1)}
    assert len(on_rail) == (4 if fabric == "rail" else 1)


def test_an_answer_says_what_ran_and_how_far_to_trust_it(small):
    leaves = rdmacc.cluster(4, 4, fabric="leaf-spine", ports_per_leaf=8)
    answer, work = leaves.ask("all_reduce", "8MB", ["dcqcn"], seeds=2), leaves.all_reduce("8MB")
    scheme = leaves.scheme("dcqcn")
    run = rdmacc.simulate(leaves.network, work, scheme, seed=1)
    row = answer.frame.iloc[0]
    assert row["fastest_ps"] < row["slowest_ps"], "paths differ"
    assert row["busbw_gbytes"] == pytest.approx(row["algbw_gbytes"] * 30 / 16)
    assert abs(row["max_min_error"]) < 0.5
    fair = rdmacc.models.MaxMin(network=answer.cluster.network, workload=work, scheme=scheme, seed=1).solve()
    errors = row["least_error"], row["most_error"]
    found = float((fair["start_ps"] + fair["fct_ps"]).max()) / run.collectives["time_ps"][0] - 1
    assert found in [pytest.approx(one, rel=1e-9) for one in errors], "two draws, each with different paths"
    assert sum(errors) / 2 == pytest.approx(row["max_min_error"])
    text = str(answer)
    for words in ("NCCL's model", "over 2 draws of paths", "max-min", "published: ", "not modelled: "):
        assert words in text
        assert words.removesuffix(": ") in answer._repr_html_()
    assert text.count("not modelled: ") == 3
    assert small.nearest("all_to_all").source == "nccl-tests#267"
    assert small.nearest("broadcast") is None


def test_draws_in_forks_equal_those_of_one_process(small, monkeypatch):
    alone = small.ask("all_reduce", "1MB", seeds=2, jobs=1, progress=False).frame
    monkeypatch.setattr("rdmacc.sweep.processes._WORTH_FORKING_S", 0.0)
    pd.testing.assert_frame_equal(small.ask("all_reduce", "1MB", seeds=2, jobs=2, progress=False).frame, alone)


def test_schemes_that_cannot_share_queue_pairs_answer_too():
    """On rails nothing competes, so that NDP and DCQCN take what the links take."""
    frame = rdmacc.cluster(4, 4).ask("all_reduce", "4MB", ["ndp", "dcqcn"], seeds=1).frame
    assert frame["max_min_error"].abs().max() < 0.01


def test_steps_and_jobs_stay_on_their_nodes(small):
    model = Transformer(hidden=256, layers=2, mlp=512, vocabulary=256)
    step = small.step(TrainingStep(model=model, data=2, tensor=4))
    messages = step[step["size_bytes"] > 0]
    assert set(messages["src"]) == set(small.hosts[:8])
    both = small.jobs([step, step], "round-robin")
    nodes = both.assign(node=both["src"].str[1:].astype(int) // GPUS).groupby("job")["node"].agg(set).to_dict()
    assert nodes == {"job 0": {0, 2}, "job 1": {1, 3}}


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"fabric": "torus"}, "fabric"),
        ({"nodes": 48}, "ports_per_leaf = 32"),
        ({"oversubscription": 3}, "oversubscription"),
        ({"fabric": rdmacc.star(3)}, "at least 64"),
        ({"fabric": None}, "fabric = None"),
        ({"fabric": rdmacc.star(64), "oversubscription": 2}, "oversubscription = 2: must be left out"),
        ({"fabric": rdmacc.star(64), "delay": "1us"}, "delay"),
        ({"fabric": rdmacc.star(64), "rate": "200Gbps"}, "rate"),
        ({"oversubscription": "2"}, "oversubscription"),
        ({"oversubscription": 1e-300}, "oversubscription"),
        ({"inner": "1.2.3GBps"}, "^inner"),
        ({"inner": 900}, "inner = 900: must carry its unit"),
        ({"inner": 0}, "^inner"),
        ({"nodes": 1, "gpus": 1}, "at least 2"),
    ],
)
def test_invalid_clusters_are_errors(arguments, match):
    with pytest.raises(ConfigError, match=match):
        rdmacc.cluster(**arguments)


def test_invalid_questions_are_errors(small):
    refused(lambda: small.ask("allreduce", "1MB"), "operation")
    refused(lambda: small.all_reduce("1MB", algorithm="star"), "algorithm")
    refused(lambda: small.all_reduce("1MB", channels=10**9), "Nccl.channels")
    refused(lambda: small.ask("all_reduce", "1MB", []), "schemes", "at least one")
    refused(lambda: small.nearest("allreduce"), "operation", "did you mean 'all_reduce'")
    refused(lambda: small.nics(4), "node = 4", "from 0 to 3")
    for call in (small.nics, small.step, small.scheme, small.nearest, small.jobs):
        refused(partial(call, None), "None")


def test_a_network_has_its_own_rate():
    made = rdmacc.cluster(2, 2, fabric=rdmacc.star(4, rate="100Gbps"))
    assert (made.rate_bps, repr(made)) == (100e9, "Cluster(4 GPUs: 2 nodes of 2, 100 Gb/s each, a network of its own)")


@pytest.mark.parametrize(("nodes", "algorithm"), [(1, "ring"), (4, "hierarchical"), (4, "tree")])
def test_the_estimate_counts_what_gpus_do_after_the_last_message(nodes, algorithm):
    made = rdmacc.cluster(nodes, GPUS, inner="400Gbps")
    row = made.ask("all_reduce", "4MB", ["nscc"], seeds=1, algorithm=algorithm).frame.iloc[0]
    assert abs(row["max_min_error"]) < 0.03
