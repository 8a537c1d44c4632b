"""Plots: what they show, on which axes, and that they say what is missing."""

from __future__ import annotations

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc import probes
from rdmacc.errors import ConfigError
from rdmacc.plotting import style as plotting
from rdmacc.results.summary import slowdown_by_size


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result(engine):
    """Return the result of a small incast with probes of all kinds."""
    work = rdmacc.combine(rdmacc.incast(["h1", "h2"], "h0", "64kB"), rdmacc.messages([("h3", "h0", "8kB", "5us")]))
    watched = [
        probes.rate(0),
        probes.throughput("s0", "h0", every="2us"),
        probes.queue("s0", "h0"),
        probes.queue("s0", "h1", every="1us"),
        probes.field("flow", 0, "received_packets", every="5us"),
    ]
    return rdmacc.simulate(rdmacc.star(4), work, "dcqcn", engine=engine, probes=watched, progress=False)


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_rates_shows_every_rate_in_gbps(result):
    ax = result.plot.rates()
    assert set(lines(ax)) == {"rate 0", "throughput s0->h0"}
    assert lines(ax)["rate 0"].get_ydata()[0] == 100.0
    assert ax.get_ylabel() == "rate (Gb/s)"
    assert ax.get_title(loc="left") == "Rates under dcqcn"


def test_queues_shows_every_queue_in_kb(result):
    ax = result.plot.queues()
    assert set(lines(ax)) == {"queue s0->h0", "queue s0->h1"}
    peak = lines(ax)["queue s0->h0"].get_ydata().max()
    assert peak * 1e3 == pytest.approx(result.counters["peak_queue_bytes"])
    assert "kB" in ax.get_ylabel()


def test_a_change_holds_until_the_end(result):
    line = lines(result.plot.queues())["queue s0->h0"]
    assert line.get_drawstyle() == "steps-post"
    assert line.get_xdata()[-1] * 1e6 == pytest.approx(result.now_ps)


def test_fct_cdf_has_a_curve_for_each_size_that_reaches_one(result):
    ax = result.plot.fct_cdf()
    assert set(lines(ax)) == {"8 kB (1 flows)", "64 kB (2 flows)"}
    assert all(line.get_ydata()[-1] == 1.0 for line in ax.get_lines())
    assert "µs" in ax.get_xlabel()


def test_slowdown_by_size_draws_median_and_p99(result):
    ax = result.plot.slowdown_by_size()
    assert {"median", "p99"} <= set(lines(ax))
    assert ax.get_xscale() == "log"


def test_probe_draws_the_one_that_is_named(result):
    ax = result.plot.probe("received_packets 0")
    assert len(ax.get_lines()) == 1
    assert ax.get_ylabel() == "received_packets"
    assert result.plot.probe("throughput s0->h0").get_ylabel() == "throughput (Gb/s)"


@pytest.mark.parametrize("name", ["rates", "queues", "fct_cdf", "slowdown_by_size"])
def test_plots_draw_on_the_axes_that_are_given(result, name):
    _, ax = plt.subplots()
    assert getattr(result.plot, name)(ax=ax) is ax
    assert len(plt.get_fignums()) == 1


def test_plots_say_which_probe_is_missing(engine):
    work = rdmacc.messages([("h1", "h0", "1kB")])
    bare = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine, progress=False)
    with pytest.raises(ConfigError, match=r"plot\.rates\(\).*rdmacc\.probes\.rate"):
        bare.plot.rates()
    with pytest.raises(ConfigError, match=r"rdmacc\.probes\.queue"):
        bare.plot.queues()
    with pytest.raises(ConfigError, match="probe = 'x'"):
        bare.plot.probe("x")


def test_fct_cdf_needs_a_delivery(engine):
    work = rdmacc.messages([("h1", "h0", "1MB")])
    early = rdmacc.simulate(rdmacc.star(2), work, "line-rate", engine=engine, until="5us", progress=False)
    with pytest.raises(ConfigError, match="none delivered"):
        early.plot.fct_cdf()


def test_slowdown_by_size_keeps_few_sizes_apart_and_bins_many():
    few = pd.DataFrame({"size_bytes": [1, 1, 2], "slowdown": [1.0, 3.0, 5.0]})
    table = slowdown_by_size(few)
    assert table["size_bytes"].tolist() == [1, 2]
    assert table["flows"].tolist() == [2, 1]
    assert table["median"].tolist() == [2.0, 5.0]
    many = pd.DataFrame({"size_bytes": np.arange(1, 101), "slowdown": np.arange(1, 101) / 10})
    table = slowdown_by_size(many, bins=4)
    assert table["flows"].tolist() == [25] * 4
    assert table["size_bytes"].tolist() == [25, 50, 75, 100]
    undelivered = pd.DataFrame({"size_bytes": [1, 2], "slowdown": [1.0, np.nan]})
    assert len(slowdown_by_size(undelivered)) == 1


def test_ecdf_sorts_and_counts():
    values, fraction = plotting.ecdf([3, 1, 2, 2])
    assert values.tolist() == [1, 2, 2, 3]
    assert fraction.tolist() == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("span_ps", "unit"), [(5e12, "s"), (3e9, "ms"), (1e9, "µs"), (2.5e3, "ns"), (1, "ps"), (0, "ps")]
)
def test_time_unit_reads_well(span_ps, unit):
    assert plotting.time_unit(span_ps)[1] == unit


def test_style_does_not_leak(result):
    before = dict(matplotlib.rcParams)
    result.plot.rates()
    assert dict(matplotlib.rcParams) == before


def test_lines_take_the_palette(result):
    colours = [line.get_color().lower() for line in result.plot.rates().get_lines()]
    assert colours == [plotting.COLOURS["blue"].lower(), plotting.COLOURS["vermilion"].lower()]


def test_save_makes_the_folder_and_closes_the_figure(result, tmp_path):
    path = plotting.save(result.plot.rates().figure, tmp_path / "new" / "rates.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert not plt.get_fignums()


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, rdmacc, rdmacc.cli.main; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
