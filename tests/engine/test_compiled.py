"""The compiled engine: its event queue, its memory, a user's protocol, errors for one that does not compile.

Array functions compiled for models: all kinds of arguments, and code that is never stale.

The plain kernel: it lacks rare features, and runs where none of them is used.
"""

import heapq
import subprocess
import sys
import textwrap
from typing import Any

import networkx as nx
import numba
import numpy as np
import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.engine.compiled.engine import CompiledEngine
from rdmacc.engine.compiled.kernel import rules as chance
from rdmacc.engine.compiled.kernel.events import (
    EVENT_BYTES,
    FAR_BITS,
    HEAP_PADDING,
    NODE_BYTES,
    pop_event,
    push_event,
    replace_event,
)
from rdmacc.engine.compiled.kernel.rows import globals_at
from rdmacc.engine.compiled.machine_code.address import FEATURES
from rdmacc.engine.compiled.machine_code.build import compiled_kernel, noting_kernel
from rdmacc.engine.compiled.machine_code.hooks import CompiledHooks
from rdmacc.engine.compiled.tables import layout, tables
from rdmacc.engine.compiled.tables.tables import routes_of
from rdmacc.engine.select import why_not_compiled
from rdmacc.faults import Clocks, Loss, ScriptedLoss
from rdmacc.interface import NEVER, hash63, uniform
from rdmacc.models.machine_code import call_on_arrays
from rdmacc.simulation import Simulation
from rdmacc.topology.fabric import Fabric
from tests.support import mostly_at_night, run_cell


@numba.njit(error_model="numpy")
def _push(address, time_ps, rank):
    push_event(globals_at(address), time_ps, rank)


@numba.njit(error_model="numpy")
def _pop(address):
    pop_event(globals_at(address))


@numba.njit(error_model="numpy")
def _replace(address, time_ps, rank):
    replace_event(globals_at(address), time_ps, rank)


@numba.njit(error_model="numpy")
def _chance_of_handlers(key, count):
    return hash63(key, count), uniform(key, count)


@pytest.mark.parametrize("shift", [0, 3, 10])
@pytest.mark.parametrize("near_shift", mostly_at_night([6, 8], every=2))
@pytest.mark.parametrize("furthest", [20, 2_000, 2**20, 2**45])
def test_event_queue_orders_as_heapq_does(shift, near_shift, furthest):
    """Random events as in a simulation, none before now: some soon, some beyond either wheel."""
    rng = np.random.default_rng(1)
    capacity = 300
    memory = np.full((capacity + HEAP_PADDING + 4, 2), NEVER, np.int64)
    nodes = np.full((capacity, NODE_BYTES // 8), NEVER, np.int64)
    wheels = [np.full(1 << bits, -1, np.int32) for bits in (near_shift, FAR_BITS)]
    bits = [np.zeros(1 << (bits - 6), np.int64) for bits in (near_shift, FAR_BITS)]
    g = np.zeros(1, layout.GLOBALS)
    g["heap"] = memory.ctypes.data + HEAP_PADDING * EVENT_BYTES
    g["nodes"], g["node_free"], g["far_first"] = nodes.ctypes.data, -1, NEVER
    g["beyond_head"], g["beyond_first"] = -1, NEVER
    g["wheel_shift"], g["near_shift"], g["near_mask"] = shift, near_shift, (1 << near_shift) - 1
    for name, wheel, words in zip(("near", "far"), wheels, bits):
        g[f"{name}_wheel"], g[f"{name}_bits"] = wheel.ctypes.data, words.ctypes.data
    expected: list[tuple[int, int]] = []
    now = 0
    for _ in range(8_000):
        span = furthest if rng.random() < 0.5 else 1 + furthest // 1000
        event = (now + int(rng.integers(span)), int(rng.integers(20)) << 40)
        choice = rng.random()
        if not expected or (choice < 0.45 and len(expected) < capacity):
            heapq.heappush(expected, event)
            _push(g.ctypes.data, *event)
        elif choice < 0.7:
            now, _ = heapq.heappop(expected)
            _pop(g.ctypes.data)
        else:
            now, _ = heapq.heapreplace(expected, event)
            _replace(g.ctypes.data, *event)
        assert g["heap_length"][0] + g["wheel_count"][0] == len(expected)
        assert (nodes[: g["node_used"][0], 0] < NEVER).sum() == g["wheel_count"][0]
        assert tuple(memory[HEAP_PADDING]) == (expected[0] if expected else (NEVER, NEVER))


def test_hooks_stay_loaded():
    """Their key is everything they depend on: another parameter value reuses the code, another handler does not."""
    schemes = map(rdmacc.scheme, ("dcqcn", "dcqcn", "swift"))
    hooks = [CompiledHooks(scheme, layout.Layout.of(scheme)) for scheme in schemes]
    assert hooks[0].addresses == hooks[1].addresses
    assert hooks[0].addresses["on_ack"] != hooks[2].addresses["on_ack"]
    slower = rdmacc.scheme("dcqcn", cnp_interval_ps="100us")
    assert CompiledHooks(slower, layout.Layout.of(slower)).addresses == hooks[0].addresses


@pytest.mark.nightly
def test_hundreds_of_simulations_leak_nothing():
    """Neither objects nor memory outside Python's view (Numba, LLVM, NumPy); leftovers of other tests do not count."""
    program = """
        import gc, resource, weakref, rdmacc

        def simulate(times):
            for _ in range(times):
                rdmacc.simulate(network, work, "dcqcn", engine="compiled", progress=False)
            gc.collect()
            # pandas sweeps out a frame's references to dead views only now and then.
            alive = [item for item in gc.get_objects() if type(item) is not weakref.ref or item() is not None]
            return len(alive), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

        network, work = rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "4kB")
        objects, peak = simulate(100)
        more_objects, higher_peak = simulate(300)
        assert more_objects - objects < 100, (objects, more_objects)
        assert higher_peak - peak < 10 * 1024, (peak, higher_peak)  # KiB; it was 306 MiB for 1,000
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


@pytest.mark.parametrize("key", [0, 1, 2**40 + 7, 2**63 - 1])
def test_chance_is_the_same_compiled(key):
    for count in (0, 1, 2**31, 2**62):
        assert chance.hash63(key, count) == hash63(key, count)
        assert chance.uniform(key, count) == uniform(key, count)
        assert _chance_of_handlers(key, count) == (hash63(key, count), uniform(key, count))


def _incast(engine_name: str, scheme: object, **more: object) -> rdmacc.Result:
    network = rdmacc.star(5)
    work = rdmacc.incast([f"h{i}" for i in range(1, 5)], "h0", "100kB")
    return rdmacc.simulate(network, work, scheme, engine=engine_name, progress=False, **more)


OWN_PROTOCOL = """
from dataclasses import dataclass
import rdmacc
from rdmacc import Scheme
from rdmacc.interface import Component, Float, Record, param

STEP = 0.5

@dataclass(frozen=True, kw_only=True)
class Halver(Component):
    floor_bps: float = param("1Gbps", "lowest rate")

    class Sender(Record):
        rate_bps = Float()

    class Header(Record):
        marked = Float()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_data(packet, reply):
        reply.marked = float(packet.ce)

    def on_ack(params, qp, sender, packet):
        lower(params, qp, sender, packet)

def lower(params, qp, sender, packet):
    if packet.marked > 0.0:
        sender.rate_bps = max(params.floor_bps, sender.rate_bps * STEP)
    else:
        sender.rate_bps = min(qp.line_bps, sender.rate_bps + 1e8)

scheme = Scheme(name="halver", control=Halver(), switch=rdmacc.EcnStep(kmin_bytes="20kB"))
"""


def _own_scheme() -> rdmacc.Scheme:
    namespace: dict[str, object] = {"__name__": "__main__"}
    run_cell(OWN_PROTOCOL, namespace)
    return namespace["scheme"]  # type: ignore[return-value]


def test_a_protocol_typed_in_a_cell_runs_on_both_engines():
    one, other = _incast("compiled", _own_scheme()), _incast("simpy", _own_scheme())
    assert one.flows.equals(other.flows)
    assert one.counters.equals(other.counters[one.counters.index])
    assert one.counters.marks_last_hop > 0


def test_growing_tables_change_no_result(monkeypatch):
    """Every table starts with room for a single entry."""
    for name in ("_FIRST_PACKETS", "_FIRST_EVENTS", "_FIRST_SAMPLES", "_FIRST_ROWS"):
        monkeypatch.setattr(tables, name, 0)
    work = rdmacc.incast([f"h{i}" for i in range(1, 20)], "h0", "100kB")

    def started(engine):
        return Simulation(
            rdmacc.star(20), work, "dcqcn", engine=engine, trace=True,
            probes=[rdmacc.probes.queue("s0", "h0"), rdmacc.probes.rate(0, every="1us")],
        )  # fmt: skip

    simulation, reference = started("compiled"), started("simpy")
    kernel = simulation.engine
    names = [f"{table}_capacity" for table in ("packet", "event", "sample", "trace")]
    before = {name: int(kernel.globals[name]) for name in names}
    result = simulation.run(progress=False)
    reference.run(progress=False)
    assert (result.flows.status == "finished").all()
    assert {name for name in names if kernel.globals[name] > 2 * before[name]} == set(names)
    assert not differences(simulation.engine.outcome(), reference.engine.outcome())


@pytest.mark.nightly
def test_auto_falls_back_to_simpy_with_a_reason():
    program = """
        import logging, rdmacc
        records = []
        emit = lambda handler, record: records.append(record.getMessage())
        logging.getLogger("rdmacc").addHandler(type("H", (logging.Handler,), {"emit": emit})())
        result = rdmacc.simulate(rdmacc.star(3), rdmacc.incast(["h1"], "h0", "5kB"), "line-rate", progress=False)
        assert result.engine == "simpy", result.engine
        assert any("NUMBA_DISABLE_JIT" in text for text in records), records
    """
    import os

    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, env=environment)
    assert why_not_compiled() == ""


def test_the_route_table_matches_the_fabric():
    """Also where the ports to choose from are not consecutive, because a port in between leads elsewhere."""
    mixed = nx.Graph()
    mixed.add_nodes_from([f"s{i}" for i in range(6)], kind="switch")
    mixed.add_nodes_from(["h0", "h1", "h2"], kind="host")
    wires = ["s0 h0", "s0 s1", "s0 s2", "s0 s3", "s1 s4", "s3 s4", "s4 h1", "s2 s5", "s5 h2"]
    mixed.add_edges_from([tuple(wire.split()) for wire in wires], rate="10Gbps", delay="1us")
    for graph in (mixed, rdmacc.fat_tree(4), rdmacc.topology.dart_clos()):
        fabric = Fabric.from_graph(graph)
        entries = routes_of(fabric)
        count, first = entries & layout.ROUTE_COUNT, entries >> layout.ROUTE_SHIFT
        is_in_row = (entries & layout.ROUTE_IN_ROW) > 0
        np.testing.assert_array_equal(count, fabric.route_count)
        for cell in zip(*np.nonzero(count)):
            start = fabric.route_first[cell]
            ports = fabric.route_ports[start : start + count[cell]]
            one_by_one = bool((np.diff(ports) == 1).all())
            assert is_in_row[cell] == one_by_one
            assert first[cell] == (ports[0] if one_by_one else start)
        if graph is mixed:
            assert not is_in_row[count > 1].all()


FACTOR = 2.0


def scaled(value):
    return FACTOR * value


def ranked(values, chosen, count, scale, order, found):
    """Write the indices of the chosen values, smallest first, and the smallest `count` of them, scaled twice."""
    queue = [(0.0, 0)]
    queue.clear()
    for i in range(len(values)):
        if chosen[i]:
            heapq.heappush(queue, (values[i], i))
    for rank in range(count):
        value, order[rank] = heapq.heappop(queue)
        found[rank] = scaled(scale * value)


def arguments():
    values = np.random.default_rng(3).random(100)
    return values, values > 0.5, 20, 3.0, np.zeros(20, np.int64), np.zeros(20)


def test_it_computes_the_same_as_python():
    for_python, for_machine = arguments(), arguments()
    ranked(*for_python)
    call_on_arrays(ranked, *for_machine)
    assert for_machine[4].tolist() == for_python[4].tolist() == sorted(for_python[4], key=for_python[0].__getitem__)
    assert for_machine[5].tolist() == for_python[5].tolist() != [0.0] * 20


def test_changes_to_what_the_function_uses_take_effect_at_once(monkeypatch):
    first, second = arguments(), arguments()
    call_on_arrays(ranked, *first)
    monkeypatch.setattr("tests.engine.test_compiled.FACTOR", 6.0)
    call_on_arrays(ranked, *second)
    assert second[5].tolist() == (3 * first[5]).tolist()


ASK: dict[str, dict[str, Any]] = {
    "tick_ps": {"scheme": {"tick_ps": "1ns"}},
    "has_scanning_nics": {"scheme": {"tick_ps": "1ns"}},
    "n_changes": {"probes": (rdmacc.probes.queue("s0", "h0"),)},
    "n_scripts": {"faults": (ScriptedLoss(message=0, psn=3),)},
    "has_clocks": {"faults": (Clocks(jitter_ps="1ns"),)},
    "has_paths": {"workload": {"path": "h1 s0 h0"}},
    "wrr_ratio": {"scheme": {"Queueing.wrr_ratio": 10}},
    "has_limits": {"scheme": {"Queueing.control_limit_bytes": "100kB"}},
    "credit_fraction": {"scheme": {"Queueing.credit_fraction": 0.05}},
    "returns_headers": {"scheme": {"Queueing.control_limit_bytes": "100kB", "Queueing.returns_headers": True}},
}
"""How a user enables each feature."""


def incast(
    scheme: str = "dcqcn", changed: dict[str, Any] | None = None, columns: dict[str, Any] | None = None, **options: Any
) -> CompiledEngine:
    """Return the engine of a small incast, not yet run."""
    work = rdmacc.incast(["h1"], "h0", "50kB").assign(**columns or {})
    chosen = rdmacc.scheme(scheme).replace(**changed or {})
    simulation = Simulation(rdmacc.star(4), work, chosen, engine="compiled", **options)
    assert isinstance(simulation.engine, CompiledEngine)
    return simulation.engine


@pytest.mark.parametrize("feature", FEATURES)
def test_using_a_feature_selects_the_kernel_that_has_it(feature):
    options = dict(ASK[feature])
    engine = incast(changed=options.pop("scheme", None), columns=options.pop("workload", None), **options)
    assert engine.globals[feature]
    assert engine._run is compiled_kernel().run


@pytest.mark.parametrize("options", [{"trace": True}, {"explain": True}])
def test_only_the_kernel_with_notes_keeps_a_trace(options):
    """With other features or without them."""
    counts = []
    for kernel in (noting_kernel(), compiled_kernel()):
        for run in (kernel.run, kernel.run_plain):
            engine = incast(**options)
            assert engine._run is noting_kernel().run_plain
            engine._run = run
            engine.run(10**12)
            counts.append(int(engine.globals["trace_count"]))
    assert counts[0] > 0
    assert counts == [counts[0], counts[0], counts[0], 0]


@pytest.mark.parametrize("name", ["dcqcn", "dart", "homa", "improved-go-back-n"])
def test_the_two_kernels_agree_where_nothing_is_used(name):
    outcomes = []
    for run in (compiled_kernel().run, compiled_kernel().run_plain):
        engine = incast(name, faults=(Loss(data=0.02),))
        engine._run = run
        engine.run(10**12)
        outcomes.append(engine.outcome())
    assert outcomes[0].ports["lost_packets"].sum() > 0
    assert not differences(*outcomes)
