"""Jobs: placement, and the time of each of several."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")

import pandas as pd
import pytest

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.workload import Nccl, job, jobs, nccl

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


def test_a_job_that_has_enough_drops_out():
    pair = nccl.all_reduce(["h0", "h1"], "400kB")
    work = jobs([f"h{number}" for number in range(10)], {"a": pair, "b": RING}, "round-robin")
    assert places(work) == {"a": ["h0", "h2"], "b": ["h1", "h3", "h4", "h5"]}


def test_a_random_placement_is_the_same_for_a_seed():
    hosts = [f"h{number}" for number in range(64)]
    one, same, other = (places(jobs(hosts, {"a": RING, "b": RING}, "random", seed=seed)) for seed in (1, 1, 2))
    assert one == same != other
    assert len({*one["a"], *one["b"]}) == 8


def test_gpus_of_a_node_stay_together():
    hosts = [f"h{number}" for number in range(16)]
    work = jobs(hosts, {"a": RING, "b": RING}, "round-robin", hosts_per_node=2)
    assert places(work) == {"a": ["h0", "h1", "h4", "h5"], "b": ["h2", "h3", "h6", "h7"]}


def test_a_list_places_one_job():
    work = job(RING, name="a", placement=["h9", "h5", "h7", "h1"])
    assert work["src"].tolist()[:4] == ["h9", "h5", "h7", "h1"]
    with pytest.raises(ConfigError, match="4 different hosts"):
        job(RING, name="a", placement=["h9", "h5"])
    with pytest.raises(ConfigError, match="at least the 8"):
        jobs(["h0", "h1", "h2"], {"a": RING, "b": RING})
    with pytest.raises(ConfigError, match="packed, random, round-robin"):
        jobs(["h0", "h1", "h2"], {"a": RING}, "alphabetical")


def test_jobs_are_compared_with_being_alone(engine):
    """Packed they share no link; in turn, both cross the spine. Alone, each takes the same paths."""
    net = rdmacc.leaf_spine(2, 1, 4)
    found = {}
    for placement in ("packed", "round-robin"):
        work = jobs(rdmacc.topology.hosts(net), {"a": RING, "b": RING}, placement)
        found[placement] = rdmacc.compare_jobs(
            rdmacc.Scenario(network=net, workload=work, scheme="line-rate", engine=engine)
        )
    assert found["packed"].frame["slowdown"].tolist() == [1.0, 1.0]
    table = found["round-robin"].frame
    assert (table["slowdown"] > 1.2).all()
    assert table["step_ps"].tolist() == found["round-robin"].result.jobs["step_ps"].tolist()
    assert (table["slowdown"] == table["step_ps"] / table["alone_ps"]).all()
    heights = [bar.get_height() for bar in found["round-robin"].plot().patches]
    assert heights == pytest.approx([*table["alone_ps"] / 1e6, *table["step_ps"] / 1e6])
    with pytest.raises(ConfigError, match="without jobs"):
        rdmacc.compare_jobs(rdmacc.Scenario(network=net, workload=RING, scheme="line-rate"))


def test_each_job_has_its_step_time(engine, tmp_path):
    """Packed, each ring stays on its leaf and is as fast as alone; in turn, both cross one spine link."""
    net = rdmacc.leaf_spine(2, 1, 4)
    hosts = rdmacc.topology.hosts(net)
    compute = rdmacc.messages(
        [
            {"src": "h0", "duration": "3us"},
            {"src": "h0", "duration": "5us", "start_ps": 1_000_000},
            {"src": "h0", "dst": "h1", "size": 1000, "after": (0, 1)},
        ]
    )
    table = {}
    for placement in ("packed", "round-robin"):
        work = jobs(hosts, {"a": RING, "b": RING}, placement)
        result = rdmacc.simulate(net, work, "line-rate", engine=engine, progress=False)
        table[placement] = result.jobs.set_index("job")
    alone = rdmacc.simulate(net, RING, "line-rate", engine=engine, progress=False).collectives["time_ps"][0]
    assert table["packed"]["step_ps"].tolist() == [alone, alone]
    assert (table["round-robin"]["step_ps"] > 1.2 * alone).all()
    assert table["packed"]["hosts"].tolist() == [4, 4]
    assert table["packed"]["messages"].tolist() == [24, 24]
    result = rdmacc.simulate(net, job(compute, name="c"), "line-rate", engine=engine, progress=False)
    assert result.jobs["computing_ps"].tolist() == [3_000_000], "6 us on one of two hosts; what overlaps counts once"
    inner = job(nccl.all_reduce(hosts[:4], "1MB", Nccl(algorithm="hierarchical", hosts_per_node=2)), name="d")
    result = rdmacc.simulate(net, inner, "line-rate", engine=engine, progress=False)
    assert result.computation["collective"].notna().any()
    assert result.jobs["computing_ps"].tolist() == [0.0], "transfers inside a node are not computation"
    back = rdmacc.load(result.save(tmp_path / "run"))
    pd.testing.assert_frame_equal(back.jobs, result.jobs, check_dtype=False)
    pd.testing.assert_frame_equal(back.collectives, result.collectives, check_dtype=False)
