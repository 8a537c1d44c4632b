"""Windows: processing one node at a time gives the results of time order; where it would not, windows do not run."""

import _thread
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.engine.compiled import engine as compiled_engine
from rdmacc.engine.compiled import threads, windows
from rdmacc.engine.compiled.engine import CompiledEngine
from rdmacc.engine.compiled.tables import memory as event_queue
from rdmacc.engine.compiled.tables import memory as packet_rows
from rdmacc.engine.compiled.tables import tables
from rdmacc.engine.outcome import RunOutcome
from rdmacc.errors import HandlerError, LivelockError, SimulationError, StalledError
from rdmacc.faults import LinkDown, Loss, SlowLink
from rdmacc.interface import Component, Deadline, Record
from rdmacc.schemes import SCHEMES
from rdmacc.simulation import running
from rdmacc.topology.fabric import Fabric
from rdmacc.workload.schedule import Schedule
from tests.engine.scenarios import Scenario, draw, with_equal_links, without_features
from tests.support import mostly_at_night

FEW_SCHEMES = ("dcqcn", "hpcc", "irn", "swift", "dart", "dctcp", "timely", "infiniband-cc")
ROUTINGS = ("ecmp", "spray-random", "adaptive")
QUICK, MANY = 6, 400
WORK = rdmacc.permutation([f"h{n}" for n in range(16)], "100kB")


def scenario_of(number: int) -> Scenario:
    """Return a random network, workload and faults; for small numbers with a scheme that windows can run."""
    drawn, rng = without_features(draw(number)), np.random.default_rng([38, number])
    for _, _, link in drawn.topology.edges(data=True):
        link["delay_ps"] = max(link["delay_ps"], 500_000) if number % 4 else link["delay_ps"]
    for switch in rdmacc.topology.switches(drawn.topology):
        drawn.topology.nodes[switch]["buffer_bytes"] += 3_000_000
    schemes = FEW_SCHEMES if number < QUICK else tuple(SCHEMES)
    turn, place = divmod(number, len(schemes))
    scheme = rdmacc.scheme(schemes[(place + turn) % len(schemes)]).replace(start_delay_ps=0)  # faults depend on parity
    own_routing = scheme.routing in ("entropy", "source")  # by all links of a host
    if not own_routing and scheme.name != "go-back-0":  # would never end if packets overtook each other
        scheme = replace(scheme, routing=ROUTINGS[turn % len(ROUTINGS)])
    scenario = replace(
        drawn,
        scheme=scheme,
        workload=waiting_at_hand(drawn.workload, rng),
        probes=() if number % 3 else probes_of(drawn.topology, len(drawn.workload), rng, 1 if number % 2 else 1000),
        faults=() if number % 2 else drawn.faults,
    )
    return with_equal_links(scenario) if own_routing else scenario


def waiting_at_hand(work: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Make each row wait only for rows that end at its host, and a third of them for computation there or elsewhere."""
    work = work.drop(columns=["delay_ps"], errors="ignore")
    if rng.random() < 0.5:
        return work.drop(columns=["after"], errors="ignore")
    sources, targets = work["src"].tolist(), work["dst"].tolist()

    def at_hand(host: Any, number: int) -> tuple[int, ...]:
        return tuple(k for k in work["after"][number] if host in (sources[k], targets[k]))

    waits = [at_hand(host, number) for number, host in enumerate(sources)]
    held = [number for number in range(len(work)) if rng.random() < 0.3]
    if not held:
        return work.assign(after=waits)
    hosts = [sources[rng.integers(len(work)) if rng.random() < 0.4 else number] for number in held]
    thought = rdmacc.messages([{"src": host, "duration": f"{rng.integers(20_000)}ns"} for host in hosts])
    thought["after"] = [at_hand(host, number) for host, number in zip(hosts, held, strict=True)]
    for place, number in enumerate(held):
        waits[number] = (len(work) + place,)
    return pd.concat([work.assign(after=waits), thought], ignore_index=True)


def probes_of(topology: Any, messages: int, rng: np.random.Generator, rarely: int) -> tuple[Any, ...]:
    """Return probes of ports, hosts and both ends of messages, with periods different from a window."""
    links = [pair for link in topology.edges for pair in (link, link[::-1])]
    hosts = rdmacc.topology.hosts(topology)
    fields = ("rate_bps", "next_psn", "una_psn", "received_packets", "delivered_ps", "start_ps", "inflight_bytes")
    every = [f"{rarely * period}ps" for period in rng.integers(300_000, 3_000_000, 4)]
    some = rng.choice(len(links), 3)
    return (
        *(rdmacc.probes.queue(*links[number], every[0]) for number in sorted(set(some.tolist()))),
        *(rdmacc.probes.field("flow", n % messages, name, every[1]) for n, name in enumerate(fields)),
        *(rdmacc.probes.field("host", host, "rx_packets", every[2]) for host in hosts[:3]),
        rdmacc.probes.throughput(*links[0], every[3]),
    )


def run(
    order: str, arguments: dict[str, Any], stops: list[int], count: int = 1
) -> tuple[str, list[RunOutcome], rdmacc.Simulation]:
    """Run to some times, then to the end; return how it ends, the outcomes and the simulation."""
    simulation = rdmacc.Simulation(**{"check": False} | arguments, engine="compiled", order=order, threads=count)
    outcomes, ending = [], "finished"
    try:
        for stop in [*stops, None]:
            if not simulation.is_finished and (stop is None or stop > simulation.now_ps):
                simulation.run(stop if stop is None else f"{stop}ps", progress=False)
                outcomes.append(simulation.engine.outcome())
    except SimulationError as error:
        ending = str(error)
    return ending, [*outcomes, simulation.engine.outcome()], simulation


def compare(arguments: dict[str, Any], stops: list[int], count: int = 1) -> CompiledEngine:
    """Run in both orders, and return the engine that was asked to use windows and `threads` threads."""
    with mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0, _LEAST_PS=2**9):
        ending, outcomes, _ = run("time", arguments, stops)
        other_ending, others, simulation = run("windows", arguments, stops, count)
    assert ending == other_ending
    assert len(outcomes) == len(others)
    assert [differences(*pair) for pair in zip(outcomes, others, strict=True)] == [[]] * len(others)
    assert isinstance(simulation.engine, CompiledEngine)
    return simulation.engine


def with_odd_parts(scenario: Scenario) -> Scenario:
    """Return a scenario with switches that only hosts lead to: a second plane, or one for some hosts."""
    graph, rng = scenario.topology.copy(), np.random.default_rng([39, scenario.number])
    hosts, links = rdmacc.topology.hosts(graph), list(scenario.topology.edges(data=True))
    if scenario.number % 2:
        planes = rng.integers(2, 4)
        for plane in range(1, planes):
            copied = {node: f"p{plane}{node}" for node in rdmacc.topology.switches(scenario.topology)}
            graph.add_nodes_from((name, graph.nodes[node]) for node, name in copied.items())
            kept = [link for link in links if not {link[0], link[1]} & set(hosts) or rng.random() < 0.8]
            graph.add_edges_from(
                (copied.get(one, one), copied.get(other, other), dict(link)) for one, other, link in kept
            )
    else:
        for number in range(int(rng.integers(1, 4))):
            rdmacc.topology.add_switch(graph, f"x{number}", "30MB")
            for host in rng.choice(hosts, int(rng.integers(1, min(4, len(hosts)) + 1)), replace=False):
                rdmacc.topology.add_link(graph, f"x{number}", str(host), "40Gbps", "600ns")
        one, other = (str(host) for host in rng.choice(hosts, 2, replace=False))
        rdmacc.topology.add_link(graph, one, other, "25Gbps", "700ns")
    scenario = replace(scenario, topology=graph)
    return with_equal_links(scenario) if scenario.scheme.routing in ("entropy", "source") else scenario


def check(number: int, count: int, *, odd: bool = False) -> CompiledEngine:
    """Compare the orders on a scenario; with several threads, each node's thread is drawn unless the network is odd."""
    rng = np.random.default_rng(number)
    stops = sorted(rng.integers(10**6, 3 * 10**8, rng.integers(4)).tolist())
    if odd:
        return compare(with_odd_parts(scenario_of(number)).arguments(), stops, count)
    if count == 1:
        return compare(scenario_of(number).arguments(), stops)
    arguments = scenario_of(number).arguments()
    n_nodes = len(arguments["network"])
    shares = rng.integers(count, size=2 * n_nodes + 2 * count)  # hosts with several links have a node more
    with (
        mock.patch.object(packet_rows, "_PART", 8),
        mock.patch.multiple(threads, _FIRST_EVENTS=8, racks_of=lambda _: np.arange(count)),
        mock.patch.multiple(tables, _FIRST_PACKETS=16, _FIRST_EVENTS=16),
        mock.patch.object(compiled_engine, "_STARTS", 2),
        mock.patch.object(threads, "threads_of", lambda fabric, *_: shares[: fabric.n_nodes]),
    ):
        return compare(arguments, stops, count)


@pytest.mark.parametrize("number", range(QUICK))
def test_both_orders_agree_on_random_scenarios(number: int) -> None:
    check(number, 1)


@pytest.mark.parametrize("number", range(QUICK))
def test_threads_agree_on_random_scenarios(number: int) -> None:
    """Each node's thread is drawn, so most links cross threads; all tables grow."""
    check(number, 2 + number % 2)


@pytest.mark.parametrize("number", range(QUICK))
def test_threads_agree_where_only_hosts_lead_to_some_switches(number: int) -> None:
    check(number, 1 + number % 3, odd=True)


@pytest.mark.nightly
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("odd", [False, True], ids=["plain", "odd"])
@pytest.mark.parametrize("number", range(QUICK, MANY))
def test_both_orders_agree_on_many_random_scenarios(number: int, odd: bool, count: int) -> None:
    check(number, count, odd=odd)


def tree(**options: Any) -> dict[str, Any]:
    """Return a permutation of 16 hosts on a fat tree."""
    return {"network": rdmacc.fat_tree(4), "workload": WORK, "scheme": "dcqcn"} | options


@pytest.mark.parametrize("count", [1, 2])
def test_a_training_step_runs_in_windows(count: int):
    """Messages wait for computation at both ends; when one ends for the other host, time order takes over briefly."""
    model = rdmacc.workload.LLAMA_7B.replace(hidden=256, layers=2, mlp=512, vocabulary=256)
    step = rdmacc.workload.TrainingStep(model=model, data=8, tensor=8, nccl=rdmacc.workload.Nccl(hosts_per_node=8))
    network = rdmacc.leaf_spine(leaves=8, spines=4, hosts_per_leaf=8, rate="400Gbps", delay="500ns")
    work = step.workload(rdmacc.topology.hosts(network))
    scheme = rdmacc.scheme("dcqcn", payload_bytes=4096)
    arguments = {"network": network, "workload": work, "scheme": scheme}
    with mock.patch.object(windows.Windows, "pause", autospec=True, side_effect=windows.Windows.pause) as pause:
        engine = compare(arguments, [], count)
    assert windows.ends_elsewhere(engine.plan).any()
    assert pause.call_count > 1
    assert engine.globals["window_events"] > 0.5 * engine.events if count > 1 else engine.outcome().visits > 1000


@pytest.mark.parametrize("order", ["windows", "time"])
@pytest.mark.parametrize("kind", ["computation", "chain", "delays", "messages", "probes", "links", "rates"])
def test_waiting_rows_cost_a_step_nothing(kind: str, order: str):
    """A hundred thousand waiting rows, compared with a hundred: CPU time of the same 10 us, the least of six."""
    network, count = rdmacc.leaf_spine(leaves=4, spines=4, hosts_per_leaf=16, rate="400Gbps", delay="500ns"), 100_000
    names = np.array(rdmacc.topology.hosts(network), dtype=object)
    times = [(f"{2 * turn + 1}us", f"{2 * turn + 2}us") for turn in range(30)]
    link, options = ("leaf0", "spine0"), {}
    if kind == "probes":
        options["probes"] = [rdmacc.probes.queue(*link, every="500ns")]
    elif kind == "links":
        options["faults"] = [LinkDown(link=link, at_ps=at, until_ps=until) for at, until in times]
    elif kind == "rates":
        options["faults"] = [SlowLink(link=link, share=0.5, at_ps=at, until_ps=until) for at, until in times]
    least = []
    for waiting in (100, count):
        schedule = Schedule()
        first = schedule.send(names, np.roll(names, -16), 4_000_000, queue_pair=0)
        if kind == "messages":
            rows = schedule.send(names[[16] * waiting], names[[40] * waiting], 1000, queue_pair=7)
        else:
            rows = schedule.compute(names[[16] * waiting], 1000)
        if kind == "chain":
            schedule.wait(rows[1:], rows[:-1])
        schedule.wait(rows[: 1 if kind == "chain" else None], first[0], 5000 * (kind == "delays"))
        simulation = rdmacc.Simulation(network, schedule.frame(), "dcqcn", order=order, **options)
        spent_s = []
        for turn in range(1, 8):
            begin = time.process_time()
            simulation.run_to(turn * 10_000_000)
            spent_s.append(time.process_time() - begin)
        assert simulation.engine.unfinished > waiting
        least.append(min(spent_s[1:]))
    assert least[1] < 2.5 * least[0]


@pytest.mark.parametrize(
    ("reason", "options"),
    [
        ("the scheme has a tick", {"scheme": rdmacc.scheme("dcqcn").replace(tick_ps="1ns")}),
        ("a trace is kept", {"trace": True}),
        ("two ends", {"probes": (rdmacc.probes.field("port", ("tor0", "h0"), "lost_packets", every="1us"),)}),
        ("two other hosts", {"workload": WORK.assign(after=[()] + [(0,)] * (len(WORK) - 1))}),
        ("plain kernel", {}),
        ("almost no delay", {"network": rdmacc.fat_tree(4, delay="1ns")}),
        ("message.failed", {"scheme": "homa"}),
        ("GoBackN.gap_psn", {"faults": (Loss(data=0.01),)}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reasons_for_time_order(reason: str, options: dict[str, Any]):
    plan = rdmacc.Simulation(**tree(**options), engine="simpy").plan
    assert reason in windows.why_by_time(plan, has_features=reason == "plain kernel")


@pytest.mark.parametrize("count", [1, 2, 3])
def test_routes_change_for_all_threads(count: int):
    """At the start of a window, where the kernel may stop without returning to time order."""
    engine = rdmacc.Simulation(**tree(), engine="compiled", order="windows").engine
    assert isinstance(engine, CompiledEngine)
    late_ps = engine.windows.round_up(20_000_000) - 5_000_000
    fault = LinkDown(link=("tor0", "agg0"), at_ps="5us", convergence_ps=late_ps)
    assert compare(tree(scheme="irn", faults=(fault,)), [], count).outcome().visits > 0


def test_a_run_that_ends_within_a_window_starts_again():
    """All messages fail at once, long before they could be delivered."""
    scheme = rdmacc.scheme("irn").replace(retry_limit=0)
    down = tuple(LinkDown(link=(f"h{n}", "s0"), at_ps="2us", until_ps="1s") for n in range(3))
    work = rdmacc.incast(["h1", "h2"], "h0", "1MB")
    arguments = {"network": rdmacc.star(3), "workload": work, "scheme": scheme, "faults": down}
    with mock.patch.object(
        CompiledEngine, "_begin_again", autospec=True, side_effect=CompiledEngine._begin_again
    ) as again:
        engine = compare(arguments, [])
    assert again.call_count == 1
    assert engine.outcome().messages["failed"].all()


@pytest.mark.parametrize("count", [1, 2])
def test_messages_waiting_for_one_that_fails_fail_at_once(count: int):
    scheme = rdmacc.scheme("irn").replace(retry_limit=0)
    rows = [{"src": f"h{n}", "dst": f"h{(n + 5) % 16}", "size": "100kB"} for n in range(16)]
    rows += [{"src": f"h{(n + 5) % 16}", "dst": f"h{n}", "size": "1kB", "after": n} for n in range(16)]
    rows += [{"src": "h6", "duration": "3us", "after": 1}, {"src": "h6", "dst": "h0", "size": "1kB", "after": 32}]
    down = LinkDown(link=("h1", "tor0"), at_ps="5us", until_ps="1s")
    engine = compare(tree(workload=rdmacc.messages(rows), scheme=scheme, faults=(down,)), [], count)
    assert engine.outcome().computation["failed"].all()


@pytest.mark.parametrize(
    ("topology", "why"),
    [
        (rdmacc.fat_tree(4), "time: the network fits into the cache"),
        (rdmacc.fat_tree(8), "time: too little happens"),
        (rdmacc.fat_tree(8, rate="10Gbps"), "time: a link has too few packets in a window"),
    ],
    ids=["small", "large", "slow"],
)
def test_large_networks_with_fast_links_run_in_windows(topology: Any, why: str):
    engine = rdmacc.Simulation(**tree(network=topology, workload=WORK.iloc[:1]), engine="compiled").engine
    assert isinstance(engine, CompiledEngine)
    assert engine.order == why


def test_threads_share_a_fat_tree_by_racks():
    fabric = Fabric.from_graph(rdmacc.fat_tree(4))
    owners = threads.threads_of(fabric, np.where(fabric.is_host, 10.0, 0.0), 4)
    assert (owners[fabric.hosts] == owners[threads.racks_of(fabric)]).all()
    assert np.bincount(owners).tolist() == [9, 9, 9, 9]
    crossing = owners[fabric.port_node] != owners[fabric.port_peer]
    assert crossing.sum() == 2 * 3 / 4 * 16  # of the links to the core, those of pods on other threads than the switch


PLANES = rdmacc.topology.multi_plane(3, leaves=4, spines=2, hosts_per_leaf=4)
RAILS = rdmacc.topology.rail_optimised(3, groups=4, spines=2, hosts_per_group=4)


@pytest.mark.parametrize("count", [2, 3])
def test_every_node_has_a_thread(count: int):
    drawn = [with_odd_parts(scenario_of(number)).topology for number in range(2 * QUICK)]
    for graph in [PLANES, RAILS, *drawn]:
        fabric = Fabric.from_graph(graph)
        owners = threads.threads_of(fabric, np.where(fabric.is_host, 10.0, 0.0), count)
        assert set(owners) <= set(range(count))
        if graph in (PLANES, RAILS):  # switches that only hosts lead to are distributed as well
            assert np.bincount(owners[~fabric.is_host], minlength=count).min() >= 2


def test_a_node_without_a_thread_is_refused():
    """Before anything runs: it would write into another thread's memory."""
    with mock.patch.object(threads, "threads_of", lambda fabric, *_: np.arange(fabric.n_nodes) % 3 - 1):
        arguments = tree(network=PLANES) | {"engine": "compiled", "order": "windows", "threads": 2}
        with (
            mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0),
            pytest.raises(SimulationError, match=r"12 of 34 nodes have no thread \(h0, .*; use threads=1"),
        ):
            rdmacc.simulate(**arguments)


@pytest.mark.parametrize(
    ("topology", "asked", "account"),
    [
        (rdmacc.fat_tree(4), 2, "2"),
        (rdmacc.star(16), 2, "1: one switch has all hosts"),
        (rdmacc.fat_tree(4), 11, "8: only 8 switches have hosts"),
    ],
    ids=["two", "star", "racks"],
)
def test_the_result_records_how_many_threads_ran(topology: Any, asked: int, account: str):
    engine = compare(tree(network=topology), [], asked)
    assert engine.outcome().threads == account
    assert 0.5 < engine.outcome().balance <= 1.0


@pytest.mark.slow
@pytest.mark.parametrize("scheme", mostly_at_night(["irn", "dcqcn", "phost"], every=3))
def test_checked_handlers_run_in_windows_on_one_thread(scheme: str):
    engine = compare(tree(scheme=scheme) | {"check": True}, [], 2)
    assert engine.plan.is_checked
    assert engine.outcome().visits > 0
    assert engine.outcome().threads == "1: handlers are checked"


def test_an_interrupt_comes_between_windows_and_the_run_can_continue():
    """The first join is interrupted; the threads finish their windows nevertheless."""
    joined = threading.Thread.join
    interrupts = iter([KeyboardInterrupt])

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        for interrupt in interrupts:
            raise interrupt
        joined(thread, timeout)

    with mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0):
        whole = rdmacc.Simulation(**tree(), engine="compiled", order="time").run(progress=False).outcome
        simulation = rdmacc.Simulation(**tree(), engine="compiled", order="windows", threads=2)
        with mock.patch.object(threading.Thread, "join", join), pytest.raises(KeyboardInterrupt) as caught:
            simulation.run(progress=False)
        assert 0 < caught.value.result.outcome.totals["events"] < whole.totals["events"]
        assert not differences(whole, simulation.run(progress=False).outcome)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell's background job ignores SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("count", mostly_at_night([2, 1], every=2))
@pytest.mark.parametrize(
    "where", ["EventQueue.lay", "ThreadPool.begin", "ThreadPool.end", "ThreadPool.provide", "ThreadPool.run"]
)
def test_an_interrupt_waits_for_consistent_tables(where: str, count: int):
    """It is raised at every change of the tables, and the run continues from there."""
    owner, name = where.split(".")
    changed = getattr(event_queue.EventQueue if owner == "EventQueue" else threads.ThreadPool, name)
    interrupts = 0

    def change(*arguments: Any) -> Any:
        _thread.interrupt_main()
        return changed(*arguments)

    arguments = tree(scheme="irn", faults=(SlowLink(link=("tor0", "agg0"), share=0.5, at_ps="5us"),))
    with (
        mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0),
        mock.patch.multiple(tables, _FIRST_PACKETS=16, _FIRST_EVENTS=16),
        mock.patch.object(packet_rows, "_PART", 8),
    ):
        whole = rdmacc.Simulation(**arguments, engine="compiled", order="time").run(progress=False).outcome
        simulation = rdmacc.Simulation(**arguments, engine="compiled", order="windows", threads=count)
        with mock.patch(f"{changed.__module__}.{where}", change):
            for _ in range(100):
                try:
                    simulation.run(progress=False)
                except KeyboardInterrupt:
                    interrupts += 1
    assert interrupts > 0
    assert simulation.is_finished
    assert not differences(whole, simulation.result().outcome)


def raised_in_both_orders(
    kind: type[SimulationError], text: str, count: int = 1, **arguments: Any
) -> list[SimulationError]:
    """Return the error that both orders raise, equal and at the same time; in windows on any number of threads."""
    errors, times = [], []
    with mock.patch.multiple(windows, _EVENTS=-1, _EVENTS_EACH=0):
        for order, asked in (("time", 1), ("windows", count)):
            simulation = rdmacc.Simulation(**arguments, engine="compiled", order=order, threads=asked)
            with pytest.raises(kind, match=text) as caught:
                simulation.run(progress=False)
            errors.append(caught.value)
            times.append(simulation.now_ps)
    assert str(errors[0]) == str(errors[1])
    assert times[0] == times[1]
    return errors


@dataclass(frozen=True, kw_only=True)
class Fragile(Component):
    """Raises an exception when a packet of an odd message arrives that is not the first."""

    def on_data(params, message, packet, now):
        if packet.psn == 3 + message.number and message.number % 2:
            raise ValueError("odd")


@pytest.mark.parametrize(("count", "is_checked"), [(1, False), (1, True), (2, False), (3, False)])
def test_an_exception_is_the_first_by_time(count: int, is_checked: bool):
    scheme = rdmacc.scheme("irn")
    arguments = tree(scheme=replace(scheme, control=(*scheme.control, Fragile())))
    one, other = raised_in_both_orders(HandlerError, "odd", count, **arguments, check=is_checked)
    assert one.result.outcome.totals == other.result.outcome.totals


@dataclass(frozen=True, kw_only=True)
class Restless(Component):
    """Sets a timer to now, forever, once a packet of the last message arrives."""

    class Receiver(Record):
        again_timer_ps = Deadline()

    def on_data(params, receiver, message, packet, now):
        if message.number == 15 and packet.psn == 20:
            receiver.again_timer_ps = now

    def on_again_timer(params, receiver, now):
        receiver.again_timer_ps = now


@pytest.mark.parametrize("count", [1, 2])
def test_time_that_stands_still_is_named(count: int):
    scheme = rdmacc.scheme("irn")
    arguments = tree(scheme=replace(scheme, control=(*scheme.control, Restless())))
    text = "Restless.on_again_timer must not set it"
    raised_in_both_orders(LivelockError, text, count, **arguments, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_a_stall_is_explained_alike(count: int):
    """All data is lost, and the receivers keep requesting it."""
    raised_in_both_orders(StalledError, "stalled", count, **tree(scheme="phost", faults=(Loss(data=1.0),)))


@pytest.mark.parametrize("count", [1, 2])
def test_a_slow_machine_chooses_the_same_order(count: int):
    """There, steps become shorter, so less happens in each."""
    work = rdmacc.permutation([f"h{n}" for n in range(16)], "1MB")
    arguments = tree(workload=work, scheme="irn", faults=(SlowLink(link=("tor0", "agg0"), share=0.5, at_ps="5us"),))
    visits = []
    for step_s in ((0.0, 0.0), (1e9, 1e9)):
        with mock.patch.multiple(running, _STEP_S=step_s, _FEW_EVENTS=-1):
            visits.append(run("windows", arguments, [], count)[1][-1].visits)
    assert visits[0] == visits[1] > 0
