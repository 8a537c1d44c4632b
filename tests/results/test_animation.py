"""The network in motion: what is shown agrees with probes and the trace, and a real browser plays it."""

from __future__ import annotations

import numpy as np
import pytest

import rdmacc
from rdmacc import faults, probes
from rdmacc.errors import ConfigError


def incast(scheme="line-rate", network=None, **more):
    network = network or rdmacc.star(5)
    return rdmacc.simulate(network, rdmacc.incast(4, "h0", "100kB", hosts=network), scheme, **more)


@pytest.mark.parametrize("recorded", ["trace", "explain"])
def test_links_and_queues_agree_with_probes(recorded):
    watched = [probes.queue("s0", "h0"), probes.utilisation("s0", "h0", "5us")]
    result = incast(probes=watched, **{recorded: True})
    shown = result.animate("5us")
    port = result.plan.fabric.port_name
    at = next(number for number in range(result.plan.fabric.n_ports) if port(number) == "s0->h0")
    used = result.samples("utilisation s0->h0").to_numpy()
    # a probe counts a packet when it begins, the picture while it is sent
    np.testing.assert_allclose(shown.utilisation[at, : len(used)], used, atol=1048 * 8 / 100e9 / 5e-6)
    queue = result.samples("queue s0->h0")
    assert shown.queue_bytes[at].max() == pytest.approx(queue.max(), abs=1048)
    assert not shown.is_paused.any()
    assert not shown.is_down.any()
    sent_bytes = shown.utilisation[at].sum() * 5e-6 * 100e9 / 8
    assert sent_bytes == pytest.approx(result.ports["tx_bytes"][at])


def test_pauses_and_links_that_are_down_are_shown():
    network = rdmacc.star(5, buffer="260kB")
    down = faults.LinkDown(link=("s0", "h4"), at_ps="20us", until_ps="30us")
    result = incast(network=network, faults=[down], explain=True)
    shown, port = result.animate("10us"), result.plan.fabric.port_name
    paused = {port(number) for number in np.flatnonzero(shown.is_paused.any(axis=1))}
    assert "h1->s0" in paused
    assert paused <= {f"h{i}->s0" for i in range(1, 5)}
    assert {(port(number), step) for number, step in np.argwhere(shown.is_down)} == {("s0->h4", 2), ("h4->s0", 2)}


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
    with pytest.raises(ConfigError, match="ends in .html or .gif"):
        shown.save(tmp_path / "x.mp4")


def test_errors():
    result = incast(explain=True)
    with pytest.raises(ConfigError, match=r"at least .*3 MB"):
        result.animate("1ns")
    with pytest.raises(ConfigError, match="up to the run's"):
        result.plot.network("1s")


def test_128_hosts_and_200_periods_fit(tmp_path):
    network = rdmacc.fat_tree(8)
    result = incast(rdmacc.scheme("dctcp"), network, explain=True)
    shown = result.animate(f"{result.now_ps // 199} ps")
    assert shown.utilisation.shape[1] >= 199
    assert len(shown.page().encode()) < 3_000_000
