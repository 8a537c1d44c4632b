"""Size distributions: the published means, closed forms, sampling, and every refusal."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rdmacc import workload
from rdmacc.errors import ConfigError
from rdmacc.workload import DART_SHORT, SIZES, SizeDistribution, size_distribution

mpl.use("Agg")

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
"""Knots of each published table, its mean, which large sizes make, and the mean logarithm, which small ones make."""


@st.composite
def distributions(draw):
    count = draw(st.integers(2, 8))
    sizes = sorted(draw(st.lists(st.integers(0, 50_000), min_size=count, max_size=count)))
    sizes[-1] += 1
    inner = sorted(draw(st.lists(st.integers(0, 20), min_size=count - 2, max_size=count - 2)))
    return SizeDistribution.from_cdf(zip(sizes, [0, *(chance / 20 for chance in inner), 1]))


def test_every_published_table_is_there():
    assert set(SIZES) == set(STATED)
    assert all(distribution.source for distribution in SIZES.values())


@pytest.mark.parametrize("name", STATED)
def test_published_means(name):
    knots, mean, of_logarithms = STATED[name]
    assert len(SIZES[name].sizes) == knots
    assert SIZES[name].mean == pytest.approx(mean, rel=2e-5)  # the tables are printed to six digits
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
    # A size above a knot by less than half a byte is rounded to the knot.
    assert np.abs(found - distribution.cdf(at + 0.499)).max() < 4 * 0.5 / len(sizes) ** 0.5


@pytest.mark.parametrize(
    ("name", "quantiles"),
    [
        ("web_search", {60: 200e3, 80: 2e6, 97: 10e6}),  # the smaller sizes are other ones there
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


def test_what_ren_says_of_data_mining():
    assert SIZES["data_mining"].cdf(100e3) == pytest.approx(0.822, abs=5e-4)
    assert 1 - SIZES["data_mining"].cdf(1e6) == pytest.approx(0.088, abs=5e-4)


@pytest.mark.parametrize(
    ("name", "percent"), [("data_mining", 99.7), ("hadoop", 90.7), ("web_search", 66), ("cache_follower", 38)]
)
def test_bytes_in_the_largest_tenth(name, percent):
    distribution = SIZES[name]
    assert 100 * (1 - distribution.byte_share(distribution.quantile(0.9))) == pytest.approx(percent, abs=0.5)


def test_darts_short_flows():
    assert np.unique(DART_SHORT.sample(np.random.default_rng(0), 1000)).tolist() == [2000, 4000, 8000]
    assert DART_SHORT.mean == pytest.approx(14_000 / 3)
    assert DART_SHORT.mean_packets(1000) == pytest.approx(14 / 3)


def test_point_masses_and_gaps():
    point = SizeDistribution.from_cdf([(1000, 0.5), (3000, 0.5), (3000, 1)])
    assert point.cdf([999, 1000, 2999, 3000]).tolist() == [0, 0.5, 0.5, 1]
    assert point.mean == 2000
    assert set(point.sample(np.random.default_rng(0), 100)) == {1000, 3000}
    assert point.byte_share([999, 1000, 3000]).tolist() == [0, 0.25, 1]
    assert point.knots["size_bytes"].tolist() == [1000, 1000, 3000, 3000]


@given(distributions(), st.integers(1, 5000), st.integers(0, 100))
def test_means_are_those_of_a_fine_grid(distribution, payload, header):
    grid = (np.arange(400_000) + 0.5) / 400_000
    sizes = np.maximum(np.rint(np.interp(grid, distribution.probabilities, distribution.sizes)), 1)
    tolerance = 1e-3 * distribution.sizes[-1] + 1
    assert distribution.mean == pytest.approx(sizes.mean(), abs=tolerance)
    packets = np.ceil(sizes / payload)
    assert distribution.mean_packets(payload) == pytest.approx(packets.mean(), rel=1e-3)
    wire = distribution.mean_wire_bytes(payload, header)
    assert wire == pytest.approx((sizes + header * packets).mean(), abs=tolerance + 0.001 * header * packets.max())


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
def test_capped_is_the_least_of_both(distribution, limit):
    capped = distribution.capped(limit)
    sizes = distribution.sample(np.random.default_rng(5), 1000)
    same = capped.sample(np.random.default_rng(5), 1000)
    assert (same == np.minimum(sizes, limit)).all()
    assert capped.mean <= distribution.mean + 1e-9


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6, unique=True), st.data())
def test_choice_by_weight(sizes, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(sizes), max_size=len(sizes)))
    distribution = SizeDistribution.choice(sizes, weights)
    assert distribution.mean == pytest.approx(np.average(sizes, weights=weights))
    assert set(distribution.sample(np.random.default_rng(0), 200)) <= set(sizes)


def test_uniform_samples():
    distribution = SizeDistribution.uniform("1kB", "9kB")
    sizes = distribution.sample(np.random.default_rng(2), 5000)
    assert stats.kstest(sizes, lambda x: distribution.cdf(x)).pvalue > 0.01
    assert distribution.mean == 5000


def test_from_cdf_takes_percent_units_and_arrays():
    expected = SizeDistribution.from_cdf([(1000, 0.25), (64_000, 1)])
    assert SizeDistribution.from_cdf([("1kB", 25), ("64kB", 100)]) == expected
    assert SizeDistribution.from_cdf(np.array([[1000, 0.25], [64_000, 1]])) == expected
    assert SizeDistribution.from_cdf([(1000, 0.25), (64_000, 1 - 1e-12)]) == expected, "a sum of shares"
    assert expected.sizes == (1000, 1000, 64_000)


def test_from_file(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("# size, unused, probability\n1000 1 0.25\n\n64000 1 1\n")
    found = SizeDistribution.from_file(path)
    assert (found.name, found.mean) == ("mine", 250 + 0.75 * 32_500)
    path.write_text("1000\n")
    with pytest.raises(ConfigError, match=r"line = '1000'.*must be a size and a probability"):
        SizeDistribution.from_file(path)


def test_size_distribution_of_anything():
    assert size_distribution("web_search") is SIZES["web_search"]
    assert size_distribution(DART_SHORT) is DART_SHORT
    assert size_distribution("64kB").mean == size_distribution(64_000).mean == 64_000


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: size_distribution("web search"), "size = 'web search': must be a size"),
        (lambda: size_distribution(0), "size = 0: must be at least 1 byte"),
        (lambda: SizeDistribution.from_cdf([]), "knots = [] (custom): must be (size, probability) pairs"),
        (lambda: SizeDistribution.from_cdf([(1, 2, 3)]), "knots = [(1, 2, 3)] (custom): must be (size, prob"),
        (
            lambda: SizeDistribution.from_cdf([(1, 0), (2, 0.9)]),
            "probabilities = (0.0, 0.9) (custom): must be",
        ),
        (
            lambda: SizeDistribution.from_cdf([(1, 0), (2, 0.9), (3, 0.8), (4, 1)]),
            "probabilities = (0.0, 0.9, 0.8",
        ),
        (
            lambda: SizeDistribution.from_cdf([(5, 0), (2, 1)]),
            "sizes = (5.0, 2.0) (custom): must be finite and",
        ),
        (
            lambda: SizeDistribution.from_cdf([(1, 0), (5, 0.5), (2, 1)]),
            "sizes = (1.0, 5.0, 2.0) (custom): must be finite and",
        ),
        (
            lambda: SizeDistribution("a", (1.0, np.inf, np.inf), (0.0, 0.5, 1.0)),
            "sizes = (1.0, inf, inf) (a): must be finite",
        ),
        (
            lambda: SizeDistribution.from_cdf([(-5, 0), (2, 1)]),
            "sizes = (-5.0, 2.0) (custom): must be finite",
        ),
        (lambda: SizeDistribution.from_cdf([(0, 0), (0, 1)]), "sizes = (0.0, 0.0) (custom): must be finite"),
        (
            lambda: SizeDistribution.from_cdf([(0, 0), (2**62 + 2**10, 1)]),
            "sizes = (0.0, 4.611686018427389e+18) (custom): must be finite",
        ),
        (lambda: SizeDistribution.from_cdf([(1, "x")]), "probability = 'x' (custom): must be from 0 to 1"),
        (
            lambda: SizeDistribution.from_cdf([(1, float("nan"))]),
            "probability = nan (custom): must be from 0",
        ),
        (lambda: SizeDistribution.from_cdf([(None, 1)]), "size = None (custom): must be a number of bytes"),
        (lambda: SizeDistribution("a", (1.0,), (1.0,)), "sizes = (1.0,) (a): must be at least two knots"),
        (lambda: SizeDistribution.choice([]), "sizes = []: must be at least one size"),
        (lambda: SizeDistribution.choice([5], [0]), "weights = [0]: must be 1 numbers above 0"),
        (lambda: SizeDistribution.uniform(5, 4), "low = 5: must be at least 1 byte and at most high = 4"),
        (lambda: DART_SHORT.capped(0), "limit = 0: must be at least 1 byte"),
        (lambda: DART_SHORT.mean_packets(0), "payload_bytes = 0: must be at least 1 byte"),
    ],
)
def test_sizes_refuse(make, text):
    with pytest.raises(ConfigError) as caught:
        make()
    assert str(caught.value).startswith(text)


def test_plot():

    for distribution in (*SIZES.values(), DART_SHORT):
        ax = distribution.plot()
        messages, in_bytes = ax.get_lines()[:2]
        assert messages.get_ydata()[-1] == pytest.approx(1)
        assert (messages.get_ydata() >= in_bytes.get_ydata() - 1e-9).all()
        ax.figure.canvas.draw()


def test_names_are_exported():
    assert workload.SIZES is SIZES
