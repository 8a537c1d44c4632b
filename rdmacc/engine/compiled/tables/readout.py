"""Reads counters back from the tables, and moves the state of a run from one engine's tables to another's.

Addresses differ from engine to engine, and the tables may have other sizes: state is what has changed since the other
engine was made.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine import outcome
from rdmacc.engine.compiled.kernel.nic import line_bytes, line_depth
from rdmacc.engine.compiled.tables.layout import COMPUTATION, GLOBALS, HOST, MESSAGE, PORT
from rdmacc.engine.plan import Plan
from rdmacc.engine.records import TOTALS
from rdmacc.interface import DATA_CLASS, NUM_CLASSES
from rdmacc.rules.ranks import LAST_ORDER, START, numbers_of_starts, rank_in

if TYPE_CHECKING:
    from rdmacc.engine.compiled.engine import CompiledEngine


def _places(dtype: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: dtype.fields[name] for name in names}


_MESSAGE_PLACES, _PORT_PLACES = _places(MESSAGE, outcome.MESSAGE_COUNTERS), _places(PORT, outcome.PORT_COUNTERS)
_HOST_PLACES = _places(HOST, outcome.HOST_COUNTERS)
_COMPUTATION_PLACES = _places(COMPUTATION, outcome.COMPUTATION_COUNTERS)
_TOTAL_PLACES = {name: at // 8 for name, (_, at) in _places(GLOBALS, TOTALS).items()}


def _rows(engine: CompiledEngine, name: str, count: int) -> npt.NDArray[np.uint8]:
    width = engine.layout.row_bytes[name]
    rows: npt.NDArray[np.uint8] = engine.memory(name)[: count * width].reshape(count, width)
    return rows


def outcome_of(engine: CompiledEngine) -> outcome.RunOutcome:
    in_flight, watches = 0, range(len(engine.plan.watches))
    rows, port_rows = _rows(engine, "message", len(engine.messages)), _rows(engine, "port", len(engine.ports)).copy()
    if rows.nbytes <= outcome.LATER_BYTES:  # of a larger table, `Columns` reads all now
        rows = rows.copy()
    host_rows, computed = _rows(engine, "host", len(engine.hosts)).copy(), engine.computation.copy()
    totals, is_paused = {name: engine.words[place] for name, place in _TOTAL_PLACES.items()}, engine.ports["paused"]
    if is_paused.any():
        paused = np.flatnonzero(is_paused)
        ports = np.ndarray(len(engine.ports), PORT, port_rows, 0, port_rows.strides[:1])
        ports["paused_ps"][paused] += engine.now - ports["paused_since_ps"][paused]
    if totals["live_packets"]:
        heads = np.concatenate([engine.queues["head"].ravel(), engine.ports["flight_head"]])
        packets = engine.packet_rows.rows
        payload = packets["payload_bytes"]
        in_flight = sum(int(payload[n]) for head in heads[heads >= 0] for n in _chain(packets, int(head)))
    samples: Any = engine.pool.samples if engine.plan.watches else None
    return outcome.RunOutcome(
        messages=outcome.Columns(rows, _MESSAGE_PLACES, np.int64),
        computation=outcome.Columns(
            computed.view(np.uint8).reshape(-1, COMPUTATION.itemsize), _COMPUTATION_PLACES, np.int64
        ),
        ports=outcome.Columns(port_rows, _PORT_PLACES, np.int64),
        hosts=outcome.Columns(host_rows, _HOST_PLACES, np.int64),
        buffer_peak_bytes=engine.switches["peak_bytes"].copy(),
        totals=totals | {"in_flight_bytes": in_flight},
        samples=[
            (samples["time_ps"][samples["watch"] == i].copy(), samples["value"][samples["watch"] == i].copy())
            for i in watches
        ],
        now_ps=engine.now,
        transfers=outcome.Columns(rows, engine._of_scheme.transfer_places),
        traces=engine.pool.traces if engine.plan.has_trace else [],
        order=engine.order,
        threads=engine.pool.account,
        balance=engine.pool.balance,
        visits=int(engine.globals["visits"]),
    )


def pfc_state_of(engine: CompiledEngine) -> outcome.PfcState:
    state = outcome.PfcState({}, defaultdict(lambda: defaultdict(int)))
    queues = engine.queues.reshape(-1, NUM_CLASSES)
    ports, packets = engine.ports, engine.packet_rows.rows
    for port in range(len(ports)):
        reverse = int(ports["reverse"][port])
        for cls in range(DATA_CLASS, NUM_CLASSES):
            account = engine.ingresses[port, cls]
            if account["pause_sent"] and ports["paused"][reverse] & 1 << cls:
                under_way = _chain(packets, int(ports["flight_head"][reverse]))
                if all(packets["priority"][n] != cls for n in under_way):
                    state.ingress[port, cls] = int(account["ingress_bytes"]), int(account["headroom_used"])
            if ports["paused"][port] & 1 << cls and not ports["is_nic"][port]:
                for number in _chain(packets, int(queues["head"][port, cls])):
                    ingress = divmod(int(packets["ingress"][number]), NUM_CLASSES)
                    state.held[port, cls][ingress] += int(packets["wire_bytes"][number])
    return state


def _chain(packets: Any, head: int) -> list[int]:
    numbers = []
    while head >= 0:
        numbers.append(head)
        head = int(packets["next"][head])
    return numbers


_GLOBALS = (
    "now_ps", "unfinished", "undelivered", "visits", "free_head", "free_count", "notice_packet", "first_ended", "order",
    "order_now", "window_events", "longest_events", "reserve_packets", "reserve_events", "is_halted", *TOTALS,
)  # fmt: skip
_TABLES = "spray_counts", "flowlets", "scripts"
_LINE = "line", "line_words", "line_depth", "first_place"

State = dict[str, Any]


def state_of(engine: Any, plan: Plan) -> State:
    """Return the state of an engine, in part as views of its tables, which the engine goes on to change.

    The plan is of all its messages, also of those that were sent while it ran.
    """
    engine.windows.leave()
    engine.pool.gather()
    events, packets, pairs = engine.pool.pending(), engine.packet_rows, engine.queue_pairs
    numbers = numbers_of_starts(plan.scheme, events[:, 1])
    is_chained = (numbers >= 0) & (numbers < plan.n_messages)
    which = numbers[is_chained]
    is_chained[is_chained] = (engine.messages["is_delayed"][which] == 0) & (plan.waits_for[which] == 0)
    in_chain = len(engine.starts) - int(engine.globals["next_start"])  # the first of them is pending
    return {
        "globals": {name: engine.globals[name] for name in _GLOBALS},
        "events": events[~is_chained],
        "left": int(is_chained.sum()) + in_chain - (in_chain > 0),
        "rows": {name: engine.memory(name) for name in ("message", "host", "port", "switch")},
        "packets": packets.used_bytes,
        "pairs": [(block, pairs.block(block)) for block in pairs.blocks.tolist()],
        "open": pairs.is_open,
        "lines": _lines_of(engine),
        "waiting_bytes": engine.backlog_rows["waiting_bytes"],
        "tables": {name: engine.memory(name) for name in _TABLES}
        | {"skipped": engine.memory("skipped")[: engine.used_words]},
        "bits": [memory[: engine.used_words] for _, _, memory in engine.bits],
        "ingresses": engine.ingresses,
        "computation": engine.computation,
        "watched": engine.watches["last"],
        "samples": engine.pool.samples,
        "trace": np.concatenate(engine.pool.traces),
        "routed": engine.routed,
        "awaited": engine.awaited,
    }


def restore(engine: Any, state: State) -> None:
    """Put a state into an engine that has just been made for the same plan."""
    row, ports = engine.globals, engine.ports
    columns = [engine.transfer_column(component, field) for component, field, _ in engine.bits]
    begins, places = [column.copy() for column in columns], {name: ports[name].copy() for name in _LINE}
    for name, values in state["rows"].items():
        engine.memory(name)[: len(values)] = values
    for column, begin in zip(columns, begins, strict=True):
        column[:] = begin
    for name, values in places.items():
        ports[name] = values
    for name, value in state["globals"].items():
        row[name] = value
    engine.packet_rows.take_back(state["packets"])
    engine.queue_pairs.blocks = np.array([block for block, _ in state["pairs"]], np.int64)
    for block, values in state["pairs"]:
        engine.queue_pairs.block(block)[:] = values
    engine.queue_pairs.is_open[: len(state["open"])] = state["open"]
    engine.backlog_rows["waiting_bytes"] = state["waiting_bytes"]
    for at, values in state["lines"]:
        _wait(engine, at, values)
    for name, values in state["tables"].items():
        engine.memory(name)[: len(values)] = values
    for (_, _, memory), values in zip(engine.bits, state["bits"], strict=True):
        memory[: len(values)] = values
    engine.ingresses[:], engine.computation[:], engine.watches["last"] = (
        state["ingresses"], state["computation"], state["watched"],
    )  # fmt: skip
    engine.samples.take_back(state["samples"])
    engine.trace.take_back(state["trace"])
    if state["routed"] is not None:
        engine.routed = state["routed"]
        engine.fill_routes(state["routed"])
    engine.awaited = set(state["awaited"])
    row["next_start"] = begun = len(engine.starts) - state["left"]
    if not engine.is_early:
        engine.n_ready = begun
    engine.pool.note_ready()
    events = state["events"]
    if state["left"]:
        first = int(engine.starts[begun])
        start = [int(engine.plan.start_ps[first]), rank_in(engine.plan.scheme, START + first, LAST_ORDER)]
        events = np.concatenate([events, np.array([start], np.int64)])
    engine.queue.lay(engine.kernel, events, 0)


def _lines_of(engine: Any) -> list[tuple[tuple[int, int], Any]]:
    """Return (port, class) and the places in its line, for each line that is not empty."""
    found = []
    for port, cls in np.argwhere(engine.backlog_rows["ready"] != 0).tolist():
        words = engine.backlog_rows["ready"][port, cls : cls + 1]
        if engine.ports["line_depth"][port] > 1:
            words = _level(engine, port, cls)[: int(engine.ports["line_words"][port])]
        found.append(((port, cls), np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))))
    return found


def _wait(engine: Any, at: tuple[int, int], places: Any) -> None:
    """Fill an empty line: the lowest level, and above it a bit for each word that is not 0."""
    port, cls = at
    if engine.ports["line_depth"][port] > 1:
        rest, count = _level(engine, port, cls), int(engine.ports["line_words"][port])
        for _ in range(int(engine.ports["line_depth"][port]) - 1):
            level, rest = rest[:count], rest[count:]
            np.bitwise_or.at(level, places >> 6, np.int64(1) << (places & 63))
            places, count = np.unique(places >> 6), (count + 63) >> 6
    engine.backlog_rows["ready"][at] = np.bitwise_or.reduce(np.int64(1) << places)


def _level(engine: Any, port: int, cls: int) -> Any:
    lines, count = engine.memory("lines"), engine.all_places[port]
    assert line_depth(count) == engine.ports["line_depth"][port]
    words = line_bytes(count) // 8
    begin = (int(engine.ports["line"][port]) - int(lines.ctypes.data)) // 8 + (cls - DATA_CLASS) * words
    return lines[begin : begin + words]
