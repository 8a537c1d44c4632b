"""A single port of a switch: its marking handlers, called as by an engine, with their operations counted.

For figures on REN's parts rather than on traffic: 4, 7, 10 and 13.
"""

import dis
import inspect
import sys
from collections import Counter, deque
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import rdmacc.switch
from rdmacc.interface import NEVER, RECORD_KINDS, Component, Packet, Port, Record
from rdmacc.interface.state import ACCEPT, DATA, DROP, IN_NETWORK, TRIM, TRIM_TAIL
from ..api import *

KINDS = {"comparisons": ("COMPARE_OP",), "arithmetic": ("BINARY_OP",), "writes": ("STORE_ATTR", "STORE_SUBSCR")}
"""Counted operations, as Python instructions, which stand in for a CPU's."""

_FOLDER = str(Path(rdmacc.switch.__file__).parent)
_TOOL = 4
"""Tool number for `sys.monitoring` that Python does not reserve."""


def make_packet(component: Component, wire_bytes: int, message: int = 0) -> Any:
    """Return a data packet with the header fields of a component."""
    header = component.record("Header")
    fields = header.fields if header is not None else ()
    packet = type("Packet", (Packet,), {"__slots__": tuple(field.name for field in fields)})()
    for field in fields:
        setattr(packet, field.name, field.default)
    packet.kind, packet.wire_bytes, packet.message = DATA, wire_bytes, message
    return packet


class LonePort:
    """A port between switches with a queue and the handlers of one component, which marks, trims or drops."""

    def __init__(self, component: Component, rate_bps: float) -> None:
        self.component = component
        self.port: Any = Port()
        self.port.rate_bps, self.port.link_class = rate_bps, IN_NETWORK
        self.port.chance_key = 1
        egress = component.record("Egress")
        self.egress: Any = egress() if egress is not None else Record()
        self.waiting: deque[Any] = deque()
        self.free_ps = 0
        self.operations: dict[str, Counter[str]] = {name: Counter() for name in ("enqueue", "dequeue", "period")}
        self._call("on_port", None, 0)

    @property
    def period_timer_ps(self) -> int:
        """When the handler of the sampling period is due."""
        return int(getattr(self.egress, "period_timer_ps", NEVER))

    def enqueue(self, packet: Any, now: int) -> bool:
        """Enqueue a packet if there is room; return whether there was."""
        packet.verdict = ACCEPT
        self._count("enqueue", lambda: self._call("on_enqueue", packet, now))
        if packet.verdict in (DROP, TRIM, TRIM_TAIL):
            return False
        self.waiting.append(packet)
        self.port.queue_bytes += packet.wire_bytes
        return True

    def dequeue(self, now: int) -> Any:
        packet = self.waiting.popleft()
        self.port.queue_bytes -= packet.wire_bytes
        self.port.tx_bytes += packet.wire_bytes
        self.free_ps = now + round(packet.wire_bytes * 8e12 / self.port.rate_bps)
        self._count("dequeue", lambda: self._call("on_dequeue", packet, now))
        return packet

    def end_period(self) -> None:
        """Call the handler of the sampling period, which sets the next one."""
        now, self.egress.period_timer_ps = self.period_timer_ps, NEVER
        self._count("period", lambda: self._call("on_period_timer", None, now))

    def run_until(self, now: int) -> None:
        """Run the link and the timer until a time."""
        while True:
            sends = max(self.free_ps, 0) if self.waiting else NEVER
            first = min(sends, self.period_timer_ps)
            if first > now or first == NEVER:
                return
            if self.period_timer_ps <= sends:
                self.end_period()
            else:
                self.dequeue(sends)

    def _call(self, hook: str, packet: Any, now: int) -> None:
        handler = getattr(self.component, hook, None)
        if handler is None:
            return
        offers = {"params": self.component, "port": self.port, "egress": self.egress, "packet": packet, "now": now}
        handler(*(offers[name] for name in inspect.signature(handler).parameters))

    def _count(self, name: str, call: Callable[[], None]) -> None:
        self.operations[name].update(count_operations(call))
        self.operations[name]["calls"] += 1


def count_operations(call: Callable[[], None]) -> Counter[str]:
    """Return the number of operations of each of `KINDS` that a call executes in the modules of `rdmacc.switch`."""
    counts: Counter[str] = Counter()

    def count(code: CodeType, offset: int) -> None:
        if kind := _kinds(code).get(offset):
            counts[kind] += 1

    with _counted_instructions(count):
        call()
    return counts


@cache
def _kinds(code: CodeType) -> dict[int, str]:
    """Return the kinds of a function's counted instructions, by offset."""
    kinds = {name: kind for kind, names in KINDS.items() for name in names}
    found = dis.get_instructions(code) if code.co_filename.startswith(_FOLDER) else ()
    return {one.offset: kinds[one.opname] for one in found if one.opname in kinds and one.argrepr != "[]"}  # no []


@contextmanager
def _counted_instructions(tell: Callable[[CodeType, int], None]) -> Iterator[None]:
    """Call `tell` with at least each counted instruction that runs.

    From Python 3.12 on, `sys.settrace` misses the instructions of a function's first call.
    """
    if sys.version_info >= (3, 12):
        monitoring = sys.monitoring
        monitoring.use_tool_id(_TOOL, "rdmacc")
        try:
            monitoring.register_callback(_TOOL, monitoring.events.INSTRUCTION, tell)
            monitoring.set_events(_TOOL, monitoring.events.INSTRUCTION)
            yield
        finally:
            monitoring.set_events(_TOOL, 0)
            monitoring.free_tool_id(_TOOL)
        return

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not _kinds(frame.f_code):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            tell(frame.f_code, frame.f_lasti)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def parts_of(components: tuple[Component, ...]) -> list[tuple[str, str, str]]:
    """Return component, handler and the place where it runs, according to the scheme's objects."""
    from rdmacc.interface import HOOKS

    rows = []
    for component in components:
        places = {field.handler_name: kind for kind, field in component.deadlines() if kind in RECORD_KINDS}
        for handler in component.handlers():
            place = HOOKS[handler].place if handler in HOOKS else "port" if places[handler] == "Egress" else "sender"
            rows.append((type(component).__name__, handler, place))
    return rows
