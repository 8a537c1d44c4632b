"""PFC deadlocks: a circle of full buffers is found, named and never waited for."""

from __future__ import annotations

import networkx as nx
import pytest

import rdmacc
from rdmacc.topology import add_host, add_link, add_switch


def ring(switches: int = 4, buffer: str = "150kB") -> nx.Graph:
    """Return switches in a ring, a host at each: two hops clockwise or counter-clockwise are equally short."""
    graph = nx.Graph(name="ring")
    for i in range(switches):
        add_switch(graph, f"s{i}", buffer)
        add_host(graph, f"h{i}")
        add_link(graph, f"h{i}", f"s{i}", "100Gbps", "100ns")
    for i in range(switches):
        add_link(graph, f"s{i}", f"s{(i + 1) % switches}", "25Gbps", "100ns")
    return graph


def clockwise(switches: int, size: str) -> object:
    """Return messages that each go (switches - 1) // 2 hops on, all the same way round."""
    hops = (switches - 1) // 2
    return rdmacc.messages([(f"h{i}", f"h{(i + hops) % switches}", size) for i in range(switches)])


def test_a_ring_that_sends_two_hops_on_deadlocks(engine):
    """Five switches: h0 to h2, h1 to h3 ... only go clockwise, so each link waits for the next one."""
    simulation = rdmacc.Simulation(ring(5), clockwise(5, "2MB"), "line-rate", engine=engine)
    with pytest.raises(rdmacc.DeadlockError) as caught:
        simulation.run(progress=False)
    ports = caught.value.ports
    assert set(ports) == {f"s{i}->s{(i + 1) % 5}" for i in range(5)}
    for one, following in zip(ports, [*ports[1:], ports[0]], strict=True):
        assert one.split("->")[1] == following.split("->")[0]
    result = caught.value.result
    assert 0 < result.counters.accepted_bytes < result.counters.sent_bytes
    assert result.counters.dropped_packets == 0


def test_both_engines_find_it_at_the_same_time():
    found = []
    for engine in ("simpy", "compiled"):
        with pytest.raises(rdmacc.DeadlockError) as caught:
            rdmacc.simulate(ring(5), clockwise(5, "2MB"), "line-rate", engine=engine, progress=False)
        found.append((caught.value.ports, caught.value.time_ps))
    assert found[0] == found[1]


def test_a_lossy_ring_does_not_deadlock(engine):
    scheme = rdmacc.Scheme(name="lossy", control=rdmacc.scheme("dcqcn").control, switch=(rdmacc.Red(),),
                           buffer=rdmacc.DropTail()).replace(timeout_ps="100us", retry_limit=100)  # fmt: skip
    result = rdmacc.simulate(ring(5), clockwise(5, "200kB"), scheme, engine=engine, progress=False)
    assert (result.flows.status == "finished").all()


def test_pauses_without_a_circle_are_no_deadlock(engine):
    network = rdmacc.leaf_spine(2, 1, 4, buffer="700kB")
    work = rdmacc.incast([f"h{i}" for i in range(1, 8)], "h0", "1MB")
    result = rdmacc.simulate(network, work, "line-rate", engine=engine, progress=False)
    assert result.counters.pfc_pauses > 0
    assert (result.flows.status == "finished").all()
