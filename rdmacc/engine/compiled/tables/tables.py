"""The kernel's memory for a plan: tables filled from it, and tables that grow during the run."""

import sys
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rdmacc.engine.compiled.kernel.nic import line_bytes, line_depth
from rdmacc.engine.compiled.kernel.rules import words_of
from rdmacc.engine.compiled.machine_code.hooks import TRAIL
from rdmacc.engine.compiled.tables import layout
from rdmacc.engine.compiled.tables.memory import EventQueue, Log, PacketRows, filled, in_python, zeroed
from rdmacc.engine.compiled.tables.queue_pairs import QueuePairs
from rdmacc.engine.compiled.tables.scheme_tables import SchemeTables
from rdmacc.engine.plan import Plan
from rdmacc.engine.records import MESSAGE_COLUMNS
from rdmacc.engine.trace import ROW
from rdmacc.handlers.hooks import bits_of
from rdmacc.interface import DATA_CLASS, NEVER, NUM_CLASSES, Field, record_dtype
from rdmacc.interface.component import OWNERS
from rdmacc.rules.ranks import LAST_ORDER, PROBE, START, rank_in
from rdmacc.rules.routing import FLOWLETS
from rdmacc.topology.fabric import Fabric

_PREFETCH_BYTES = 2**18, 2**20
"""Sizes of the port table from which the kernel prefetches for the next event, and for those after it. A core has a
second-level cache of 0.5 to 1 MiB, which packets share. Prefetching what is already there costs 4 to 15%."""

_FIRST_PACKETS = 2**18 if sys.platform == "win32" else 2**22
"""Initial rows, at most; two for each packet of the messages are enough. Unused rows take no memory, except on Windows.
"""

_FIRST_EVENTS, _FIRST_SAMPLES = 2**17, 1024
"""Initial rows; of events at most, since two for each port are enough for most schemes."""

_ROWS_EACH, _FIRST_ROWS = 16, 2**25
"""Initial rows of the trace: for each data packet, and at most. Unwritten rows take no memory."""

_MOST_COPIED_BYTES = 2**20  # tables of a larger simulation are made again for the next one

_SPARE_PLACES = 64
"""If messages are sent during the run, a NIC has room for four times its queue pairs and this many more; together the
NICs have room for four times the queue pairs of the messages that there is room for."""

_CODES = {"i8": 0, "i4": 1, "i1": 2, "f8": 3}


def routes_of(fabric: Fabric) -> npt.NDArray[np.int64]:
    """Return the entries of the table of routes (see `ROUTE_SHIFT`)."""
    first, count, ports = (x.astype(np.int64) for x in (fabric.route_first, fabric.route_count, fabric.route_ports))
    # Of each place in the list: how many places from the one before which the numbers do not go on by one.
    breaks = np.concatenate([[0], np.cumsum(np.diff(ports) != 1)])
    is_in_row = breaks[np.maximum(first + count - 1, 0)] == breaks[first]
    place, in_row = np.where(is_in_row, ports[first], first), np.where(is_in_row, layout.ROUTE_IN_ROW, 0)
    return place << layout.ROUTE_SHIFT | in_row | count


def is_plain(plan: Plan) -> bool:
    """Return whether a simulation depends on its setting and seed alone."""
    return not (plan.faults or plan.watches or plan.has_trace or plan.is_checked)


def kind_of(plan: Plan) -> Any:
    """Return a key; simulations with equal keys can reuse each other's tables, filling in what differs."""
    if plan.dependents is not None or len(plan.computation) or len(plan.paths.nodes) or len(plan.hash_as):
        return plan.kept
    return plan.reach, plan.fabric


class Tables:
    """A scenario in structured arrays, which the kernel addresses directly."""

    trail: Any
    bits: list[tuple[int, Field, npt.NDArray[np.int64]]]
    _added: tuple[Any, int] | None
    """The row in which the kernel is asked to add a message, and its address; None until one is added."""

    def __init__(self, plan: Plan, spare: int = 0) -> None:
        self.plan, self.spare = plan, spare
        self._start: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        kept, made = plan.reach.kept, partial(SchemeTables, plan.scheme, plan.is_checked)
        self._of_scheme = kept.get((SchemeTables, plan.is_checked), made)
        self.layout, self.hooks = self._of_scheme.layout, self._of_scheme.hooks
        self._first_start = rank_in(plan.scheme, START, LAST_ORDER)
        self._first_probe = rank_in(plan.scheme, PROBE, LAST_ORDER)
        self._memory: dict[str, Any] = {}
        self.take_rows(self._of_scheme.rows.copy())
        self.queue = EventQueue(self.rows, plan)
        self.globals["free_head"] = self.globals["notice_packet"] = self.globals["first_ended"] = -1
        self._fill_scheme()
        self._fill_nodes()
        self._fill_flows()
        self.fill_routes(plan.fabric)
        self._fill_faults()
        self._fill_watches()
        self.queue.set_wheels()
        self._reserve()
        self._fill_seed()

    def take_rows(self, rows: npt.NDArray[np.void]) -> None:
        self.rows, self._unopened = rows, rows
        self.globals, self.address = rows[0], int(rows.ctypes.data)
        self.words = in_python(rows.view(np.int64))

    def _copies(self) -> list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Return the tables that a run changes with copies of their initial content; none if they are large."""
        if not is_plain(self.plan) or self.spare:
            return []
        tables = [self.rows, self.backlogs, self.ingresses, self.computation]
        tables += self.queue.tables() + self.queue_pairs.tables()
        tables += [table for name, table in self._memory.items() if name != "qp" and table.flags.writeable]
        self.queue.has_grown = self.packet_rows.has_grown = False
        is_small = sum(table.nbytes for table in tables) <= _MOST_COPIED_BYTES
        raw = [table.reshape(-1).view(np.uint8) for table in tables if table.size]  # fields are copied one by one
        return [(table, table.copy()) for table in raw] if is_small else []

    @property
    def has_grown(self) -> bool:
        """Whether any table has moved since the start, because it grew."""
        return self.queue.has_grown or self.packet_rows.has_grown

    def _rewind(self, plan: Plan) -> None:
        """Restore the initial tables, for a plan that may have another seed; none has grown."""
        self.plan = plan
        for table, start in self._start:
            table[...] = start
        self.queue_pairs.rewind(plan)
        self._fill_seed()

    def _refill(self, plan: Plan) -> None:
        """Restore the initial tables, for a plan of the same kind with other messages."""
        self._rewind(self.plan)
        self.plan, self.rows[...] = plan, self._unopened
        self.queue.rewind()
        self.packet_rows.rewind()
        self._fill_rooms()
        self._fill_flows()
        self._reserve_for_events()
        self._fill_seed()

    def _fill_rows(self, name: str, count: int, spare: int = 0) -> None:
        self._memory[name] = filled(self.layout.defaults[name], max(count, 1), spare)

    def _rows(self, name: str, count: int, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
        strides = (self.layout.row_bytes[name],)
        return np.ndarray(max(count, 1), dtype, buffer=self._memory[name], strides=strides)[:count]

    def view_nodes(self, count: int) -> None:
        self.ports = self._rows("port", count, layout.PORT)
        nodes = self.plan.fabric.n_nodes
        self.hosts, self.switches = self._rows("host", nodes, layout.HOST), self._rows("switch", nodes, layout.SWITCH)
        strides = self.layout.row_bytes["port"], layout.QUEUE.itemsize
        self.queues = np.ndarray((count, NUM_CLASSES), layout.QUEUE, self._memory["port"], layout.QUEUES_AT, strides)
        self.backlog_rows = self.backlogs.view(layout.BACKLOG).reshape(count, NUM_CLASSES)

    @property
    def messages(self) -> npt.NDArray[np.void]:
        """The messages so far."""
        return self._rows("message", int(self.globals["n_messages"]), layout.MESSAGE)

    def _table(self, name: str, values: Any, dtype: str = "i4") -> int:
        array = np.ascontiguousarray(values, dtype=dtype)
        self._memory[name] = array if array.size else np.zeros(1, dtype)
        return int(self._memory[name].ctypes.data)

    def memory(self, name: str) -> Any:
        raw = self._memory[name]
        return raw[: int(self.globals["n_messages"]) * self.layout.row_bytes[name]] if name == "message" else raw

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            self.globals[name] = value

    def _fill_scheme(self) -> None:
        params = self._memory["params"] = self._of_scheme.params
        self._set(params=params.ctypes.data, timers=self._table("timers", self._of_scheme.timers, "i8"))
        self.trail = None
        if self.hooks.checks is not None:
            self.take_params(params.copy())
            self.trail["handler"] = self.trail["test"] = -1
            self.trail["n_ports"], self.trail["n_messages"] = self.plan.fabric.n_ports, self.plan.n_messages

    def take_params(self, params: npt.NDArray[np.uint8]) -> None:
        """Switch to another copy of the parameters and the trail behind them."""
        self._memory["params"] = params
        self._set(params=params.ctypes.data)
        self.trail = np.ndarray(1, TRAIL, buffer=params, offset=self.hooks.trail_offset)[0]

    def _fill_nodes(self) -> None:
        plan, fabric = self.plan, self.plan.fabric
        count = fabric.n_ports
        self._fill_rows("port", count)
        self._fill_rows("host", fabric.n_nodes)
        self._fill_rows("switch", fabric.n_nodes)
        self.backlogs = zeroed(count * NUM_CLASSES * layout.BACKLOG.itemsize)
        accounts = zeroed(count * NUM_CLASSES * layout.INGRESS.itemsize).view(layout.INGRESS)
        self.ingresses = accounts.reshape(count, NUM_CLASSES)
        self.view_nodes(count)
        ports, hosts = self.ports, self.hosts
        ports["number"] = self.ports_in_order = np.arange(count)
        ports["link_class"] = fabric.port_class
        ports["climbs"] = fabric.port_climbs
        ports["rate_bps"], ports["byte_ps"] = fabric.port_rate_bps, fabric.port_byte_ps
        ports["delay_ps"] = fabric.port_delay_ps
        ports["node"], ports["peer"], ports["reverse"] = fabric.port_node, fabric.port_peer, fabric.port_reverse
        ports["is_nic"] = fabric.is_host[fabric.port_node]
        ports["peer_is_host"] = fabric.is_host[fabric.port_peer]
        ports["loss_data"], ports["loss_control"] = plan.loss_data, plan.loss_control
        ports["wire_bytes"] = plan.scheme.wire_bytes
        ports["credit_tokens"] = plan.scheme.queueing.credit_burst_bytes
        ports["has_loss"] = (plan.loss_data > 0) | (plan.loss_control > 0)
        hosts["node"] = np.arange(fabric.n_nodes)
        hosts["line_bps"][fabric.hosts] = fabric.port_rate_bps[fabric.node_first_port[fabric.hosts]]
        hosts["clock_offset_ps"] = plan.clock_offset_ps
        self.switches["route_row"], self.switches["is_nic"] = fabric.route_row, fabric.is_nic
        self._fill_rooms()
        self._set(
            ports=self._memory["port"].ctypes.data, port_bytes=self.layout.row_bytes["port"],
            hosts=self._memory["host"].ctypes.data, host_bytes=self.layout.row_bytes["host"],
            switches=self._memory["switch"].ctypes.data, switch_bytes=self.layout.row_bytes["switch"],
            has_clocks=plan.has_clocks, clock_jitter_ps=plan.clock_jitter_ps, backlogs=self.backlogs.ctypes.data,
            ingresses=self.ingresses.ctypes.data,
            prefetch_depth=sum(self._memory["port"].nbytes > limit for limit in _PREFETCH_BYTES),
        )  # fmt: skip

    def _fill_rooms(self) -> None:
        """Write what depends on the messages and their classes into the rows of ports, hosts and switches."""
        plan = self.plan
        self.ports["base_rtt_ps"], self.hosts["base_rtt_ps"] = plan.port_base_rtt_ps, plan.host_base_rtt_ps
        self.switches["shared_bytes"] = plan.shared_bytes
        self.ingresses["headroom_bytes"] = plan.headroom_bytes[plan.fabric.port_reverse][:, np.newaxis]

    def _fill_seed(self) -> None:
        """Write what depends on the seed, except in the rows of queue pairs."""
        plan = self.plan
        self.ports["chance_key"], self.ports["loss_key"] = plan.chance_key, plan.loss_key
        self.hosts["clock_key"], self.switches["salt"] = plan.clock_key, plan.ecmp_salt
        self.globals["symmetric_salt"] = plan.symmetric_salt

    def _fill_flows(self) -> None:
        plan = self.plan
        self._fill_rows("message", plan.n_messages, self.spare)
        self.room = plan.n_messages + self.spare  # for messages
        self._set(n_messages=plan.n_messages)
        messages, self._added = self.messages, None
        messages["number"] = np.arange(plan.n_messages)
        for name in MESSAGE_COLUMNS:
            messages[name] = getattr(plan, name)[: plan.n_messages]
        messages["payload_bytes"] = plan.scheme.payload_bytes
        messages["granted_psn"] = plan.packets
        if plan.explains:
            messages["is_explained"] = plan.explained
            self.ports["is_watched"][plan.qp_port[plan.qp[plan.explained]]] = 1
        self.queue_pairs = QueuePairs(plan, self.layout.defaults["qp"], self._fill_lines(), self.spare)
        self._memory["qp"] = self.queue_pairs.raw
        self._fill_bits()
        self._set(hash_as=self._table("hash_as", plan.hash_as) if len(plan.hash_as) else 0)
        order = np.lexsort((np.arange(plan.n_messages), plan.start_ps))
        starts = self.starts = np.ascontiguousarray(order[plan.waits_for[order] == 0], np.int32)
        self._set(
            qps=self._memory["qp"].ctypes.data, qp_bytes=self.layout.row_bytes["qp"],
            messages=self._memory["message"].ctypes.data, message_bytes=self.layout.row_bytes["message"],
            starts=starts.ctypes.data, n_starts=len(starts), unfinished=len(plan.waits_for),
            undelivered=plan.n_messages,
        )  # fmt: skip
        if plan.dependents is not None:
            first = plan.dependents.first
            self._set(
                has_dependents=1,
                dependent_first=self._table(
                    "dependent_first", np.pad(first, (0, self.spare), "edge") if self.spare else first
                ),
                dependents=self._table("dependents", plan.dependents.rows),
                dependent_delays=self._table("dependent_delays", plan.dependents.delay_ps, "i8"),
            )
        self._fill_computation()
        self._fill_groups()

    def _fill_computation(self) -> None:
        plan = self.plan
        rows = self.computation = np.zeros(max(len(plan.computation), 1), layout.COMPUTATION)[: len(plan.computation)]
        rows["src"], rows["end_ps"], rows["next_pending"] = plan.computation.host, -1, -1
        rows["start_ps"], rows["duration_ps"] = plan.computation.start_ps, plan.computation.duration_ps
        rows["waits_for"] = plan.waits_for[plan.n_messages :]
        self._set(computation=rows.ctypes.data)

    def _fill_lines(self) -> npt.NDArray[np.int32]:
        """Allocate the NICs' lines, and return each queue pair's place in its line."""
        nic = self.plan.qp_port
        order = np.argsort(nic, kind="stable")
        used = np.bincount(nic, minlength=len(self.ports))
        count, is_nic = used, self.ports["is_nic"].astype(np.int64)
        if self.spare:
            count = used + is_nic * (3 * used + _SPARE_PLACES + 4 * self.spare // max(int(is_nic.sum()), 1))
        self.used_places, self.all_places = in_python(used.copy()), in_python(count)
        first = np.concatenate(([0], np.cumsum(count)))
        place = np.zeros(len(nic), np.int32)
        place[order] = np.arange(len(nic)) - np.concatenate(([0], np.cumsum(used)))[nic[order]]
        places = np.zeros(int(first[-1]), np.int32)
        places[first[nic] + place] = np.arange(len(nic))
        self.ports["first_place"] = first[:-1]
        self.ports["line_words"] = -(-count // 64)
        self.ports["line_depth"], self.ports["line"] = 1, 0
        large = np.flatnonzero(count > 64)
        sizes = [(NUM_CLASSES - DATA_CLASS) * line_bytes(int(count[port])) for port in large]
        lines = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        base = self._table("lines", np.zeros(int(lines[-1]) // 8), "i8")
        self.ports["line_depth"][large] = [line_depth(int(count[port])) for port in large]
        self.ports["line"][large] = base + lines[:-1]
        self._set(places=self._table("places", places))
        return place

    def _fill_bits(self) -> None:
        """Allocate the sets of packets that components and the kernel keep for each message."""
        words = words_of(self.plan.packets.astype(np.int64))
        begins = np.concatenate(([0], np.cumsum(words)))
        self.used_words = int(begins[-1])
        count = self.all_words = self.used_words + (self.used_words + 4 * self.spare) * (self.spare > 0)
        self.bits = []
        for component, field in bits_of(self.plan.scheme.components):
            memory = self._memory[f"bits {component} {field.name}"] = np.zeros(count, np.int64)
            self.transfer_column(component, field)[:] = memory.ctypes.data + 8 * begins[:-1]
            self.bits.append((component, field, memory))
        skipped = self._memory["skipped"] = np.zeros(count, np.int64)  # takes space once it is used
        begins = np.pad(begins[:-1], (0, self.spare))
        self._set(skipped=skipped.ctypes.data, skipped_first=self._table("skipped_first", begins))

    def row_to_add(self) -> tuple[Any, int]:
        """Return the row in which the kernel is asked to add a message, and its address."""
        row, at = np.zeros(1, layout.ADDED), self.layout.fields
        default = self._memory["message_template"] = filled(self.layout.defaults["message"], 1)
        sets = [(at["Transfer", number, field.name][1], memory.ctypes.data) for number, field, memory in self.bits]
        row["sets"], row["n_sets"], row["message"] = self._table("sets", sets, "i8"), len(sets), default.ctypes.data
        row["on_open"] = self.hooks.addresses["on_open"]
        self._added = row, int(row.ctypes.data)
        return self._added

    def _timer_offset(self, kind: str, slot: int) -> int:
        """Return a deadline's offset in its row; the time of its pending event follows it."""
        return int(self._memory["timers"][layout.KINDS.index(kind), slot, 0])

    def transfer_column(self, component: int, field: Field) -> npt.NDArray[Any]:
        """Return a field of a component's Transfer record over all messages."""
        rows, stride = self._memory["message"], self.layout.row_bytes["message"]
        offset = self.layout.fields["Transfer", component, field.name][1]
        return np.ndarray(int(self.globals["n_messages"]), field.code, rows, offset, (stride,))

    def _fill_groups(self) -> None:
        """Tables for announcements: the messages of each group to one host, the queue pairs to each host."""
        plan, hooks = self.plan, self.hooks.addresses
        self.lists_messages = bool(hooks["on_candidate"] or hooks["on_advertise"] or self.trail is not None)
        self._fan_in, self._incoming = 1, np.zeros(0, np.int64)
        if hooks["on_candidate"]:  # one event may pick every message to a host
            self._incoming = np.bincount(plan.dst, minlength=plan.fabric.n_nodes)
            self._fan_in = int(self._incoming.max(initial=0))
        if not hooks["on_announce"] and not hooks["on_advertise"]:
            return
        first, count = np.zeros((2, plan.n_messages + self.spare), np.int64)
        members = np.flatnonzero(plan.group >= 0)
        members = members[np.lexsort((members, plan.dst[members], plan.group[members]))]
        if len(members):
            keys = np.stack([plan.group[members], plan.dst[members]])
            begins = np.flatnonzero(np.concatenate(([True], (keys[:, 1:] != keys[:, :-1]).any(axis=0))))
            lengths = np.diff(np.append(begins, len(members)))
            first[members], count[members] = np.repeat(begins, lengths), np.repeat(lengths, lengths)
        self._fan_in = int(max(self._fan_in, count.max(initial=1)))
        self._set(
            member_first=self._table("member_first", first), member_count=self._table("member_count", count),
            members=self._table("members", members),
        )  # fmt: skip
        self._fill_advertised(plan.qp_dst)

    def _fill_advertised(self, qp_dst: npt.NDArray[np.int32]) -> None:
        self._qp_dst, per_host = qp_dst, np.bincount(qp_dst, minlength=self.plan.fabric.n_nodes)
        self._fan_in = int(max(self._fan_in, per_host.max(initial=1)))
        self._set(
            qps_to=self._table("qps_to", np.argsort(qp_dst, kind="stable")),
            qps_to_first=self._table("qps_to_first", np.concatenate(([0], np.cumsum(per_host)))),
        )

    def fill_routes(self, fabric: Fabric) -> None:
        names = "attach", "attachments", "last_port", "route_ports", "node_first_port"
        self._set(**{name: self._table(name, getattr(fabric, name)) for name in names})
        self._set(routes=self._table("routes", routes_of(fabric), "i8"), n_attachments=len(fabric.attachments))

    def _fill_faults(self) -> None:
        plan = self.plan
        scripts = [(*s.key, s.nth, 0) for s in plan.scripts]
        cells = plan.fabric.route_count.size
        sprays = cells if plan.scheme.routing == "spray-round-robin" else 0
        has_flowlets = plan.scheme.routing == "adaptive" and plan.scheme.flowlet_gap_ps > 0
        flowlets = len(plan.fabric.route_count) * FLOWLETS if has_flowlets else 0
        self._set(
            path_first=self._table("path_first", plan.paths.first), has_paths=len(plan.paths.nodes) > 0,
            path_nodes=self._table("path_nodes", plan.paths.nodes),
            path_ports=self._table("path_ports", plan.paths.ports),
            distance=self._table("distance", plan.distance),
            spray_counts=self._table("spray_counts", np.zeros(sprays)),
            flowlets=self._table("flowlets", np.full((flowlets, 2), [-NEVER, 0]), "i8"),
            scripts=self._table("scripts", scripts, "i8"), n_scripts=len(scripts),
            has_trace=plan.has_trace + plan.is_whole, explains=2 if plan.is_partial else int(plan.explains),
        )  # fmt: skip

    def _fill_watches(self) -> None:
        self.watches = np.zeros(max(1, len(self.plan.watches)), layout.WATCH)
        self.watches["last"] = np.nan
        for number, watch in enumerate(self.plan.watches):
            owner = OWNERS.get(watch.record.capitalize(), watch.record)
            base, stride = int(self._memory[owner].ctypes.data), self.layout.row_bytes[owner]
            key, fields = (watch.record.capitalize(), watch.component, watch.field.name), self.layout.fields
            own: Any = record_dtype(*layout.RECORDS[owner]).fields
            offset = fields[key][1] if watch.component >= 0 else own[watch.field.name][1]
            row = self.watches[number]
            row["address"] = base + watch.number * stride + offset
            row["every_ps"] = watch.probe.every_ps or 0
            row["code"] = _CODES[watch.field.code]
        changes = sum(watch.probe.every_ps is None for watch in self.plan.watches)
        self._set(watches=self.watches.ctypes.data, n_watches=len(self.plan.watches), n_changes=changes)

    def _reserve_for_events(self) -> None:
        released = 0 if self.plan.dependents is None else int(np.diff(self.plan.dependents.first).max())
        self._set(reserve_packets=8 + self._fan_in, reserve_events=65 + 16 * self._fan_in + released)

    def _reserve(self) -> None:
        """Allocate the growing tables, and schedule the first events."""
        plan = self.plan
        self._reserve_for_events()
        default = self._memory["packet_template"] = filled(self.layout.defaults["packet"], 1)
        self._set(
            packet_bytes=len(default), header_offset=layout.PACKET.itemsize, header_words=self.layout.header_words,
            packet_template=default.ctypes.data,
        )  # fmt: skip
        packets = min(1024 + 2 * int(plan.packets.sum(dtype=np.int64)), _FIRST_PACKETS)
        packets += int(self.globals["reserve_packets"])
        self.packet_rows = PacketRows(self.rows, self.layout.packet, len(default), packets)
        armed = len(self.ports) * len(self.hooks.timers["Egress"])
        events = min(_FIRST_EVENTS, 1024 + 2 * len(self.ports))
        first = len(plan.watches) + int(np.count_nonzero(self.computation["waits_for"] == 0))
        self.first_events = events + int(self.globals["reserve_events"]) + armed + first
        self.queue.grow(self.first_events)
        self.samples = Log(self.globals, "sample", layout.SAMPLE, _FIRST_SAMPLES + 2 * len(plan.watches))
        rows = min(_ROWS_EACH * int(plan.packets.sum(dtype=np.int64)), _FIRST_ROWS)
        rows += 4 * int(self.globals["reserve_events"])
        self.trace = Log(self.globals, "trace", ROW, rows if plan.has_trace else 1)

    def _first_events(self) -> npt.NDArray[np.int64]:
        """Return time and rank of the first events: probes, computation that waits for nothing, the first message."""
        watches = enumerate(self.plan.watches)
        events = [(0, self._first_probe + i) for i, watch in watches if watch.probe.every_ps is not None]
        if len(self.starts):
            first = int(self.starts[0])
            events.append((int(self.plan.start_ps[first]), self._first_start + first))
        for row in np.flatnonzero(self.computation["waits_for"] == 0).tolist():
            ends_ps = int(self.computation["start_ps"][row]) + int(self.computation["duration_ps"][row])
            events.append((ends_ps, self._first_start + self.plan.n_messages + row))
        return np.array(events, np.int64).reshape(-1, 2)
