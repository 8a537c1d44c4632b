"""Load: its definition against brute force, the generators' offered load, and the links' traffic.

Size distributions: published means, closed forms, sampling, and every error.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rdmacc import topology, workload
from rdmacc.topology.fabric import Fabric
from rdmacc.workload import DART_SHORT, SIZES, LoadDefinition, SizeDistribution
from rdmacc.workload.load import Traffic
from tests.support import networks, refused

NETWORK = topology.leaf_spine(4, 2, 4)
"""Oversubscribed 2 to 1."""


def by_hand(fabric, weights):
    """Return each port's share of all bytes: pair by pair, with an equal split at every hop."""
    crossing = np.zeros(fabric.n_ports)

    def send(node, dst, amount):
        candidates = fabric.candidates(node, dst)
        for port in candidates:
            crossing[port] += amount / len(candidates)
            if fabric.port_peer[port] != dst:
                send(int(fabric.port_peer[port]), dst, amount / len(candidates))

    for (src, dst), weight in weights.items():
        send(src, dst, weight / sum(weights.values()))
    return crossing


@given(networks(), st.booleans(), st.data())
def test_shares_equal_a_sum_over_pairs_by_hand(graph, is_incast, data):
    names = topology.hosts(graph)
    some = st.lists(st.sampled_from(names), min_size=1, unique=True)
    senders, receivers = data.draw(some), data.draw(some)
    if len({*senders, *receivers}) < 2:
        return
    traffic = Traffic(graph, senders, receivers, is_incast)
    fabric = traffic.fabric
    others = {dst: [src for src in senders if src != dst] for dst in receivers}
    weights = {
        (fabric.index[src], fabric.index[dst]): 1 / len(others[dst]) if is_incast else 1
        for dst in receivers
        for src in others[dst]
    }
    np.testing.assert_allclose(traffic.port_shares(), by_hand(fabric, weights), atol=1e-12)


@given(st.sampled_from(workload.LOAD_LINKS), st.sampled_from(["wire", "payload"]), st.integers(0, 99))
def test_exact_load(links, counting, seed):
    of = LoadDefinition(links, counting, payload_bytes=1460, header_bytes=60)
    work = workload.poisson(NETWORK, "cache_follower", 0.5, of=of, count=400, is_exact=True, seed=seed)
    fabric = Fabric.from_graph(NETWORK)
    ports = of.ports(fabric)
    counted = of.counted_bytes(work["size_bytes"].to_numpy())
    if counting == "wire":
        assert (counted == work["size_bytes"] + 60 * np.ceil(work["size_bytes"] / 1460)).all()
    else:
        assert (counted == work["size_bytes"]).all()
    found = workload.offered_load(work, NETWORK, of=of)
    assert found == pytest.approx(0.5, rel=1e-6)
    weights: dict[tuple[int, int], float] = {}
    for src, dst, size in zip(work["src"], work["dst"], counted, strict=True):
        pair = fabric.index[src], fabric.index[dst]
        weights[pair] = weights.get(pair, 0) + size
    begin, end = work.attrs["period_ps"]
    assert begin == 0
    assert work["start_ps"].max() <= end
    bits = 8e12 * by_hand(fabric, weights)[ports].sum() * sum(weights.values()) / end
    assert found == pytest.approx(bits / fabric.port_rate_bps[ports].sum())


@pytest.mark.parametrize(
    ("links", "expected"), [("host", 16 * 100e9), ("uplink", 8 * 100e9 / (12 / 15)), ("core", 8 * 100e9 / (12 / 15))]
)
def test_definition_in_closed_form(links, expected):
    """A load of 1 is the links' rate over the share of messages that cross one of them."""
    of = LoadDefinition(links, counting="payload")
    work = workload.poisson(NETWORK, "10kB", 1.0, of=of, duration="20ms", seed=1)
    assert len(work) * 80_000 / 20e-3 == pytest.approx(expected, rel=0.01)


def test_links_that_the_traffic_cannot_use_do_not_count():
    graph = topology.dumbbell(4, 4)
    left, right = topology.hosts(graph)[:4], topology.hosts(graph)[4:]
    work = workload.poisson(graph, "10kB", 0.5, of="core", count=5000, senders=left, receivers=right)
    again = workload.offered_load(work, graph, of=[("s0", "s1")])
    assert again == pytest.approx(0.5, rel=0.05)
    assert workload.offered_load(work, graph, "core", senders=left, receivers=right) == pytest.approx(again)
    assert set(work["src"]) == set(left)
    assert set(work["dst"]) == set(right)
    loads = workload.port_loads(work, graph).set_index("port")["load"]
    assert loads["s0->s1"] == pytest.approx(again)
    assert loads["s1->s0"] == 0


def test_arrivals_are_a_poisson_process():
    work = workload.poisson(NETWORK, "web_search", 0.3, count=20_000, seed=5)
    gaps = np.diff(work["start_ps"])
    assert stats.kstest(gaps / gaps.mean(), "expon").pvalue > 0.01
    timed = workload.poisson(NETWORK, "64kB", 0.3, duration="10ms", start="1ms", seed=5)
    assert timed["start_ps"].between(10**9, 11 * 10**9).all()
    assert timed["start_ps"].is_monotonic_increasing
    counts = [len(workload.poisson(NETWORK, "1MB", 0.5, duration="1ms", seed=seed)) for seed in range(200)]
    assert np.var(counts) == pytest.approx(np.mean(counts), rel=0.3)
    pairs = work.value_counts(["src", "dst"])
    assert len(pairs) == 16 * 15
    assert stats.chisquare(pairs).pvalue > 0.01


@given(st.integers(1, 7), st.integers(1, 40), st.integers(0, 99))
def test_incasts(degree, count, seed):
    graph = topology.star(8)
    work = workload.incasts(graph, degree, DART_SHORT, rate=1e5, count=count, jitter="1us", seed=seed, group=3)
    assert len(work) == degree * count
    assert set(work["size_bytes"]) <= {2000, 4000, 8000}
    groups = work.groupby("group", sort=False)
    assert list(groups.groups) == list(range(3, 3 + count))
    assert (groups["src"].nunique() == degree).all()
    assert (groups["dst"].nunique() == 1).all()
    assert (work["src"] != work["dst"]).all()
    assert (groups["start_ps"].max() - groups["start_ps"].min() <= 10**6).all()


def test_incasts_at_a_rate_and_at_a_load():
    graph = topology.star(64)
    by_rate = workload.incasts(graph, 16, "8kB", rate=20_000, duration="200ms", seed=2)
    assert by_rate["group"].nunique() == pytest.approx(4000, rel=0.05)
    by_load = workload.incasts(graph, 16, "8kB", load=0.5, of="receiver", count=20_000, seed=2)
    assert workload.offered_load(by_load, graph, "receiver") == pytest.approx(0.5, rel=0.02)
    assert stats.chisquare(by_load["src"].value_counts()).pvalue > 0.01
    assert stats.chisquare(by_load.drop_duplicates("group")["dst"].value_counts()).pvalue > 0.01
    one = workload.incasts(graph, 4, "8kB", load=0.5, of="receiver", receivers=["h0"], count=20_000)
    assert set(one["dst"]) == {"h0"}
    assert workload.offered_load(one, graph, [("s0", "h0")]) == pytest.approx(0.5, rel=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(("mix", "share"), [("light", 0.1), ("typical", 0.4), ("heavy", 0.7), (0.25, 0.25)])
def test_darts_mixes(mix, share):
    work = workload.dart_mix(NETWORK, 0.6, mix, degree=6, duration="50ms", seed=1)
    short = work["group"].notna()
    load, part = (workload.offered_load(rows, NETWORK, "uplink", "50ms") for rows in (work, work[short]))
    assert load == pytest.approx(0.6, rel=0.02)
    assert part / load == pytest.approx(share, rel=0.02)
    assert set(work.loc[short, "size_bytes"]) == {2000, 4000, 8000}
    assert set(work.loc[~short, "size_bytes"]) == {10**6}
    assert (work[short].groupby("group").size() == 6).all()


def test_darts_mix_with_persistent_long_flows():
    options = {"long": "1GB", "is_persistent": True, "start": "1us", "seed": 4}
    work = workload.dart_mix(NETWORK, 0.6, degree=6, duration="10ms", **options)
    long = work[work["group"].isna()]
    assert long["src"].tolist() == topology.hosts(NETWORK)
    assert (long["src"] != long["dst"]).all()
    assert set(long["size_bytes"]) == {10**9}
    assert set(long["start_ps"]) == {10**6}
    short = work[work["group"].notna()]
    assert workload.offered_load(short, NETWORK, "uplink", "10ms") == pytest.approx(0.24, rel=0.05)


@pytest.mark.slow
def test_darts_incasts_in_fixed_groups():
    """Every incast is from one group, groups are equally likely, and none shares its path with a long flow."""
    one = partial(workload.dart_mix, NETWORK, 0.6, degree=3, duration="50ms", long="30MB", seed=5)
    work, free = one(groups=4), one()
    long, short = (work[work["group"].isna() == is_long] for is_long in (True, False))
    sets = short.groupby("group").agg({"src": tuple, "dst": "first"}).value_counts()
    assert len(sets) == 4
    assert stats.chisquare(sets).pvalue > 0.01
    assert all(len({*src, dst}) == 4 for src, dst in sets.index)
    assert not set(zip(short["src"], short["dst"])) & set(zip(long["src"], long["dst"]))
    pd.testing.assert_frame_equal(work.drop(columns=["src", "dst"]), free.drop(columns=["src", "dst"]))
    pd.testing.assert_frame_equal(long, free[free["group"].isna()])
    refused(lambda: one(groups=0), "groups = 0")


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_same_seed_same_traffic(seed):
    make = [
        lambda seed: workload.poisson(NETWORK, "hadoop", 0.5, count=50, seed=seed),
        lambda seed: workload.incasts(NETWORK, 3, "hadoop", load=0.5, count=50, jitter="9us", seed=seed),
        lambda seed: workload.dart_mix(NETWORK, 0.5, duration="1ms", degree=4, seed=seed),
    ]
    for one in make:
        assert one(seed).equals(one(seed))
        assert not one(seed).equals(one(seed + 1))


# Size distributions
STATED = {
    "web_search": (12, 1_710_004, 11.9935896),
    "data_mining": (7, 7_487_884, 9.4090126),
    "cache_follower": (23, 712_574, 10.0728104),
    "web_server": (13, 66_121, 8.6144672),
    "hadoop": (20, 120_421, 7.9156168),
    "hadoop_wide": (34, 568_755, 7.9506196),
    "alibaba_storage": (9, 40_870, 8.8847465),
    "solar": (8, 39_424, 9.9429982),
}
"""Each published table: knots, the mean (dominated by large sizes), and the mean logarithm (by small ones)."""


@st.composite
def distributions(draw):
    count = draw(st.integers(2, 8))
    sizes = sorted(draw(st.lists(st.integers(0, 50_000), min_size=count, max_size=count)))
    sizes[-1] += 1
    inner = sorted(draw(st.lists(st.integers(0, 20), min_size=count - 2, max_size=count - 2)))
    return SizeDistribution.from_cdf(zip(sizes, [0, *(chance / 20 for chance in inner), 1]))


@pytest.mark.parametrize("name", SIZES)
def test_published_means(name):
    assert SIZES[name].source
    knots, mean, of_logarithms = STATED[name]
    assert len(SIZES[name].sizes) == knots
    assert SIZES[name].mean == pytest.approx(mean, rel=2e-5)  # the tables are printed with six digits
    evenly = SIZES[name].quantile((np.arange(200_000) + 0.5) / 200_000)
    assert np.log(np.maximum(evenly, 1)).mean() == pytest.approx(of_logarithms, abs=2e-7)


@pytest.mark.parametrize("name", STATED)
def test_published_samples(name):
    distribution = SIZES[name]
    sizes = distribution.sample(np.random.default_rng(1), 200_000)
    assert sizes.dtype == np.int64
    assert sizes.min() >= 1
    error = sizes.std() / len(sizes) ** 0.5
    assert abs(sizes.mean() - distribution.mean) < 4 * error
    at = np.array([knot for knot in distribution.sizes if knot >= 1])
    found = (sizes[:, None] <= at).mean(axis=0)
    # A size less than half a byte above a knot is rounded to the knot.
    assert np.abs(found - distribution.cdf(at + 0.499)).max() < 4 * 0.5 / len(sizes) ** 0.5


@pytest.mark.parametrize(
    ("name", "quantiles"),
    [
        ("web_search", {60: 200e3, 80: 2e6, 97: 10e6}),  # the smaller sizes differ there
        ("hadoop", {50: 700, 90: 120e3, 99: 2e6}),
        ("alibaba_storage", {69.21: 8000, 90.47: 32e3, 97.53: 256e3}),
    ],
)
def test_quantiles_are_those_of_hpccs_traffic_generator(name, quantiles):
    """`traffic_gen` of alibaba-edu/High-Precision-Congestion-Control: `WebSearch_distribution.txt` and
    `FbHdp_distribution.txt` at 9cf8b9e, `AliStorage2019.txt` at fe18e47.
    """
    shares = np.array([*quantiles]) / 100
    assert SIZES[name].quantile(shares) == pytest.approx([*quantiles.values()])


def test_what_ren_says_about_data_mining():
    assert SIZES["data_mining"].cdf(100e3) == pytest.approx(0.822, abs=5e-4)
    assert 1 - SIZES["data_mining"].cdf(1e6) == pytest.approx(0.088, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "percent"), [("data_mining", 99.7), ("hadoop", 90.7), ("web_search", 66), ("cache_follower", 38)]
)
def test_bytes_in_the_largest_tenth(name, percent):
    distribution = SIZES[name]
    assert 100 * (1 - distribution.byte_share(distribution.quantile(0.9))) == pytest.approx(percent, abs=0.5)


@given(distributions())
def test_cdf_ascends_and_inverts_the_quantile(distribution):
    grid = np.linspace(0, distribution.sizes[-1] * 1.1, 500)
    cdf, share = distribution.cdf(grid), distribution.byte_share(grid)
    for values in (cdf, share):
        assert (np.diff(values) >= -1e-12).all()
        assert values[-1] == pytest.approx(1)
    assert (share <= cdf + 1e-12).all()
    chances = np.linspace(0.01, 0.99, 50)
    assert (distribution.cdf(distribution.quantile(chances)) >= chances - 1e-9).all()


@given(distributions(), st.integers(1, 60_000))
def test_capped_is_the_minimum_of_both(distribution, limit):
    capped = distribution.capped(limit)
    sizes = distribution.sample(np.random.default_rng(5), 1000)
    same = capped.sample(np.random.default_rng(5), 1000)
    assert (same == np.minimum(sizes, limit)).all()
    assert capped.mean <= distribution.mean + 1e-9


def test_from_cdf_accepts_percent_units_and_arrays():
    expected = SizeDistribution.from_cdf([(1000, 0.25), (64_000, 1)])
    assert SizeDistribution.from_cdf([("1kB", 25), ("64kB", 100)]) == expected
    assert SizeDistribution.from_cdf(np.array([[1000, 0.25], [64_000, 1]])) == expected
    assert SizeDistribution.from_cdf([(1000, 0.25), (64_000, 1 - 1e-12)]) == expected, "a cumulative sum of shares"
    assert expected.sizes == (1000, 1000, 64_000)


def test_from_file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("# size, unused, probability\n1000 1 0.25\n\n64000 1 1\n")
    found = SizeDistribution.from_file(path)
    assert (found.name, found.mean) == ("mine", 250 + 0.75 * 32_500)
    path.write_text("1000\n")
    refused(lambda: SizeDistribution.from_file(path), "line = '1000'", "must be a size and a probability")
