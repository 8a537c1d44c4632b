"""Plots: content, axes, and messages about missing data.

The animation: what it shows agrees with probes and the trace, and a real browser plays it.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import rdmacc
from rdmacc import probes
from rdmacc.workload import Nccl, nccl
from tests.support import refused


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
    return rdmacc.simulate(rdmacc.star(4), work, "dcqcn", engine=engine, probes=watched)


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def test_plots_have_a_curve_per_item_and_units(result):
    ax = result.plot.rates()
    assert set(lines(ax)) == {"h1 -> h0", "link s0 -> h0"}
    assert lines(ax)["h1 -> h0"].get_ydata()[0] == 100.0
    assert (ax.get_ylabel(), ax.get_title(loc="left")) == ("rate (Gb/s)", "Rates under dcqcn")
    ax = result.plot.queues()
    assert set(lines(ax)) == {"s0 -> h0", "s0 -> h1"}
    assert lines(ax)["s0 -> h0"].get_ydata().max() * 1e3 == pytest.approx(result.counters["peak_queue_bytes"])
    ax = result.plot.fct_cdf()
    assert set(lines(ax)) == {"8 kB (1 flow)", "64 kB (2 flows)"}
    assert all(line.get_ydata()[-1] == 1.0 for line in ax.get_lines())
    assert {"median", "p99"} <= set(lines(result.plot.slowdown_by_size()))
    assert len(result.plot.probe("received_packets 0").get_lines()) == 1
    assert result.plot.probe("throughput s0->h0").get_ylabel() == "throughput (Gb/s)"


COUNT = probes.field("flow", 0, "received_packets", every="50us")


@pytest.fixture(scope="module")
def others(engine):
    """Return a later and an earlier flow between the same hosts, and one between other hosts, under two schemes."""
    work = rdmacc.messages([("h1", "h0", "64kB", "200us"), ("h1", "h0", "8kB", "0us"), ("h2", "h0", "8kB", "0us")])
    sampled = replace(probes.rate(0, every="3us"), name="rate 0, sampled")
    watched = [probes.rate(0), probes.rate(1), probes.rate(2), sampled, probes.queue("s0", "h0"), COUNT]
    return [
        rdmacc.simulate(rdmacc.star(3), work, scheme, engine=engine, probes=watched)
        for scheme in ("dcqcn", "line-rate")
    ]


def test_a_rate_is_drawn_only_while_its_flow_is_active(others):
    result = others[0]
    drawn = result.plot.rates().get_lines()
    flows = result.flows
    for line, row in zip(drawn, (0, 1, 2, 0), strict=True):
        time_ps = np.asarray(line.get_xdata()) * 1e6
        start_ps, end_ps = flows["start_ps"][row], flows["start_ps"][row] + flows["fct_acked_ps"][row]
        assert start_ps <= time_ps.min() < start_ps + 3e6
        assert end_ps - 3e6 < time_ps.max() <= end_ps
        assert np.asarray(line.get_ydata())[0] == 100.0
    assert result.plot.curve(COUNT)[0].min() < flows["start_ps"][0], "anything else is always drawn"


def test_a_timeline_shows_who_computes_sends_and_waits(engine, tmp_path):
    """h0 computes for 4 us and sends 1 MB; h1 computes for 2 us once it has arrived."""
    rows = [
        {"src": "h0", "duration": "4us"},
        {"src": "h0", "dst": "h1", "size": "1MB", "after": 0},
        {"src": "h1", "duration": "2us", "after": 1},
    ]
    work = rdmacc.messages(rows)
    result = rdmacc.simulate(rdmacc.star(2), rdmacc.workload.job(work, name="a"), "line-rate", engine=engine)
    come = 4 + result.flows["fct_us"][0]
    axes = result.plot.step()
    spans = [
        [(path.vertices[:, 0].min(), path.vertices[:, 0].max()) for path in bars.get_paths()]
        for bars in axes.collections
    ]
    assert spans == [[pytest.approx((0, 4))], [pytest.approx((4, come))], [pytest.approx((come, come + 2))]]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([come + 2] * 2), "afterwards, both wait"
    assert [text.get_text() for text in axes.get_yticklabels()] == ["h0", "h1"]
    assert [text.get_text() for text in axes.texts] == ["a"]
    saved = rdmacc.load(result.save(tmp_path / "run"))
    assert len(saved.plot.step(hosts=["h1"]).collections) == 1
    again = saved.plot.step()
    assert saved.job_of_host == result.job_of_host == {"h0": "a", "h1": "a"}
    assert [text.get_text() for text in again.texts] == ["a"], "a saved result distinguishes jobs"
    assert [bar.get_width() for bar in again.patches] == [bar.get_width() for bar in axes.patches]
    refused(lambda: result.plot.step(hosts=["h7"]), "h7")


def test_a_timeline_for_perfetto_has_each_span_of_each_host(tmp_path):
    ranks = [f"h{rank}" for rank in range(8)]
    ring = nccl.all_reduce(ranks, "1MB", Nccl(hosts_per_node=4))
    work = rdmacc.workload.jobs(ranks, {"one": ring})
    result = rdmacc.simulate(rdmacc.star(8), work, "line-rate")
    trace = json.loads(result.to_perfetto(tmp_path / "run.json").read_text())
    events = trace["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert list(names.values()) == [f"{rank} (one)" for rank in ranks]
    begins = {(event["pid"], event["id"]): event for event in events if event["ph"] == "b"}
    ends = {(event["pid"], event["id"]): event["ts"] for event in events if event["ph"] == "e"}
    assert begins.keys() == ends.keys()
    assert len(begins) == 2 * len(result.flows) + (result.computation["end_ps"] > result.computation["start_ps"]).sum()
    sent = [(event["ts"], ends[key] - event["ts"]) for key, event in begins.items() if event["cat"] == "sends"]
    expected = zip(result.flows["start_ps"] / 1e6, result.flows["fct_ps"] / 1e6, strict=True)
    for found, wanted in zip(sent, expected, strict=True):
        assert found == pytest.approx(wanted)


def incast(scheme="line-rate", network=None, **more):
    network = network or rdmacc.star(5)
    return rdmacc.simulate(network, rdmacc.incast(4, "h0", "100kB", hosts=network), scheme, **more)


def test_the_page_and_the_pictures(tmp_path):
    result = incast(explain=True)
    shown = result.animate("20us")
    page = shown.save(tmp_path / "new" / "x.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "srcdoc" in shown._repr_html_()
    from PIL import Image

    with Image.open(shown.save(tmp_path / "x.gif")) as moving:
        assert moving.n_frames == shown.utilisation.shape[1]
    assert "0: h1 to h0" in str([text.get_text() for text in result.plot.network("10us").get_legend().get_texts()])
    refused(lambda: shown.save(tmp_path / "x.mp4"), "ends in .html or .gif")


@pytest.mark.parametrize("recorded", ["trace", "explain"])
def test_links_and_queues_agree_with_probes(recorded):
    watched = [probes.queue("s0", "h0"), probes.utilisation("s0", "h0", "5us")]
    result = incast(probes=watched, **{recorded: True})
    shown = result.animate("5us")
    port = result.plan.fabric.port_name
    at = next(number for number in range(result.plan.fabric.n_ports) if port(number) == "s0->h0")
    used = result.samples("utilisation s0->h0").to_numpy()
    # a probe counts a packet when its transmission starts, the picture while it lasts
    np.testing.assert_allclose(shown.utilisation[at, : len(used)], used, atol=1048 * 8 / 100e9 / 5e-6)
    queue = result.samples("queue s0->h0")
    assert shown.queue_bytes[at].max() == pytest.approx(queue.max(), abs=1048)
    assert not shown.is_paused.any()
    assert not shown.is_down.any()
    sent_bytes = shown.utilisation[at].sum() * 5e-6 * 100e9 / 8
    assert sent_bytes == pytest.approx(result.ports["tx_bytes"][at])


def test_a_run_of_no_time_is_drawn_without_a_warning(engine):
    watched = [probes.queue("s0", "h0"), probes.throughput("h1", "s0", "1us")]
    work = rdmacc.incast(["h1", "h2"], "h0", "8kB")
    result = rdmacc.simulate(rdmacc.star(3), work, "dcqcn", engine=engine, until=0, probes=watched, explain=True)
    for ax in (result.plot.queues(), result.plot.rates(), result.plot.step(), result.plot.explain(0)):
        assert np.diff(ax.get_xlim()) > 0


def test_errors():
    result = incast(explain=True)
    refused(lambda: result.animate("1ns"), "at least ", "3 MB")
    refused(lambda: result.plot.network("1s"), "up to the run's")
