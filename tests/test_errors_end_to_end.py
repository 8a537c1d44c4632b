"""Bad input: one exception of ours that names the field, the value and what is allowed, before anything runs."""

from __future__ import annotations

import pandas as pd
import pytest

import rdmacc
from rdmacc import ConfigError, probes


def network():
    return rdmacc.star(3)


def work(**changes):
    row = {"src": "h1", "dst": "h0", "size": "10kB"} | changes
    return rdmacc.messages([row])


def rejected(match, topology=None, workload=None, scheme="dcqcn", engine="simpy", **more):
    """Simulate, expect a ConfigError, and check that it names what is wrong."""

    def run():
        graph = topology() if callable(topology) else topology or network()
        frame = workload() if callable(workload) else work()
        rdmacc.simulate(graph, frame, scheme, engine=engine, progress=False, **more)

    with pytest.raises(ConfigError) as caught:
        run()
    error = caught.value
    assert match in str(error)
    assert error.field
    assert error.allowed
    return error


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"src": "nobody"}, "nobody"),
        ({"dst": "s0"}, "s0"),
        ({"dst": "h1"}, "h1"),
        ({"size": 0}, "0"),
        ({"size": -5}, "-5"),
        ({"size": "10 parsecs"}, "10 parsecs"),
        ({"size": "100Gbps"}, "100Gbps"),
        ({"start": "-1us"}, "-1us"),
        ({"weight": 0.0}, "weight"),
        ({"after": (7,)}, "7"),
        ({"priority": 1}, "priority"),
    ],
)
def test_a_bad_message(changes, match):
    rejected(match, workload=lambda: work(**changes))


def test_an_empty_workload():
    rejected("", workload=lambda: rdmacc.messages([]))


def test_duplicate_ids():
    frame = pd.concat([work(), work()])
    frame.index = [0, 0]
    assert "0" in str(rejected("", workload=lambda: frame))


def test_messages_that_wait_in_a_circle():
    rows = [
        {"src": "h1", "dst": "h0", "size": 1000, "after": (1,)},
        {"src": "h2", "dst": "h0", "size": 1000, "after": (0,)},
    ]
    rejected("after", workload=lambda: rdmacc.messages(rows))


def test_a_csv_without_a_column(tmp_path):
    path = tmp_path / "work.csv"
    path.write_text("src,dst\nh1,h0\n")
    rejected("size", workload=lambda: rdmacc.from_csv(path))


def test_no_path():
    graph = network()
    rdmacc.topology.add_host(graph, "island")
    rdmacc.topology.add_switch(graph, "s1", "1MB")
    rdmacc.topology.add_link(graph, "island", "s1", "100Gbps", "1us")
    rejected("island", topology=graph, workload=lambda: work(src="island"))


@pytest.mark.parametrize("rate", [0, -1.0, float("nan"), "fast", "10us"])
def test_a_bad_rate(rate):
    rejected("rate", topology=lambda: rdmacc.star(3, rate=rate))


@pytest.mark.parametrize("delay", [0, "-1us", "10Gbps"])
def test_a_bad_delay(delay):
    rejected("delay", topology=lambda: rdmacc.star(3, delay=delay))


def test_a_buffer_too_small_for_pfc():
    error = rejected("buffer_bytes of s0", topology=lambda: rdmacc.star(3, buffer="1kB"))
    assert "headroom" in error.allowed


@pytest.mark.parametrize(
    ("scheme", "match"),
    [("dctcpp", "dctcpp"), (3, "3"), (None, "None")],
)
def test_an_unknown_scheme(scheme, match):
    rejected(match, scheme=scheme)


def test_an_unknown_parameter_of_a_scheme():
    with pytest.raises(ConfigError, match="alpha_periodd"):
        rdmacc.scheme("dcqcn", alpha_periodd="1us")


def test_a_parameter_with_the_wrong_unit():
    with pytest.raises(ConfigError, match="100Gbps"):
        rdmacc.scheme("dcqcn", cnp_interval_ps="100Gbps")


def test_a_parameter_out_of_range():
    with pytest.raises(ConfigError, match=r"Dcqcn\.g = 2"):
        rdmacc.scheme("dcqcn", g=2.0)


@pytest.mark.parametrize("engine", ["fast", "", None])
def test_an_unknown_engine(engine):
    rejected("engine", engine=engine)


@pytest.mark.parametrize("seed", [-1, 1.5, "one", True])
def test_a_bad_seed(seed):
    rejected("seed", seed=seed)


@pytest.mark.parametrize("until", ["soon", "-1us", "5kB"])
def test_a_bad_until(until):
    rejected("until", until=until)


@pytest.mark.parametrize(
    ("probe", "match"),
    [
        (probes.queue("s0", "nobody"), "nobody"),
        (probes.rate(5), "5"),
        (probes.field("host", "s0", "rx_packets"), "s0"),
        (probes.field("host", "h0", "colour"), "colour"),
        ("queue", "queue"),
    ],
)
def test_a_bad_probe(probe, match):
    error = rejected(match, probes=[probe])
    assert "probe" in error.field.lower() or error.field == "port"


def test_a_probe_without_a_period():
    with pytest.raises(ConfigError, match="every"):
        probes.throughput("s0", "h0", every=0)


@pytest.mark.parametrize("probability", [-0.1, 1.5, "often"])
def test_a_bad_loss(probability):
    with pytest.raises(ConfigError, match=r"Loss\.data"):
        rdmacc.Loss(data=probability)


def test_a_fault_on_a_link_that_is_not_there():
    rejected("h1->h2", faults=[rdmacc.Loss(data=0.1, links=(("h1", "h2"),))])
    rejected("h1->h2", faults=[rdmacc.LinkDown(link=("h1", "h2"), at_ps="1us")])
    rejected("9", faults=[rdmacc.Script(message=9, psn=0)])
