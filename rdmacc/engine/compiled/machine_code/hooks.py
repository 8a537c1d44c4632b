"""Compiles a scheme's hooks: one function of addresses each, which the kernel calls by its address.

As in the reference engine (`rdmacc.engine.reference.binding`), the source of each hook is generated: the handlers in
order, the lowest rate and window, and the set of deadlines that moved. Machine code is cached under a hash of
everything that it depends on. A process keeps the hooks it used last in memory, so another simulation of the same
scheme finds them there.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.component import HOOKS, RECORD_KINDS, Component
from rdmacc.engine.compiled.kernel import rules  # registers the functions of `rdmacc.bits` and `rdmacc.chance`
from rdmacc.engine.compiled.kernel.timers import KINDS, MAX_SLOTS
from rdmacc.engine.compiled.machine_code.address import record_at
from rdmacc.engine.compiled.machine_code.cache import kept
from rdmacc.engine.compiled.machine_code.callees import names_in, part_of
from rdmacc.engine.compiled.machine_code.exceptions import compile_error
from rdmacc.engine.compiled.machine_code.units import CHECKED, MachineCode, NotCompiledError, object_code
from rdmacc.engine.compiled.tables.layout import PACKET, RECORDS, Layout, packet_with
from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.handlers.checked import Checks, Trail
from rdmacc.handlers.hooks import Call, Slot, calls_of, limits_of, moved, slots_of, timer_call
from rdmacc.handlers.sides import written_by
from rdmacc.records import record_dtype

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

TRAIL = record_dtype(Trail)

_ROWS = {"packet": "packet_row", "reply": "reply_row", "notice": "notice_row", "message": "message_row",
         "place": "place_row"}  # fmt: skip
_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64, int64, int64)"
_ARGUMENTS = "params, place, qp, message, packet, reply, notice, now"
_OWNERS = {"Sender": "qp", "Receiver": "qp", "Transfer": "message", "Endpoint": "place", "Egress": "place",
           "Chip": "qp"}  # fmt: skip
_ENGINE_RECORDS = {"qp": "qp", "message": "message", "host": "place", "port": "place"}
_PACKETS = {"packet": "packet", "reply": "reply", "notice": "notice", "request": "notice"}

_LOADED: OrderedDict[str, MachineCode] = OrderedDict()
"""Hooks that this process used last, by the hash of everything that they depend on."""

_MOST_LOADED = 256  # most schemes kept compiled. Code in use stays loaded as long as its simulation exists.

assert rules


@lru_cache(1024)
def _text_of(dtype: np.dtype[np.void]) -> str:
    return repr(dtype)


def params_dtype(component: Component) -> np.dtype[np.void]:
    columns: list[Any] = []
    for name, (code, value) in component.numbers().items():
        columns.append((name, code.removesuffix("[]"), (len(value),)) if code.endswith("[]") else (name, code))
    return np.dtype(columns or [("nothing", "i8")], align=True)


class CompiledHooks:
    """The hooks of a scheme as machine code.

    `addresses` has each hook's by name, 0 where no component takes part, `timers` a slot and its handler's address for
    each deadline, by record kind. The trail of checked hooks is behind the parameters, at `trail_offset`.
    """

    def __init__(self, scheme: Scheme, layout: Layout, is_checked: bool = False) -> None:
        self._scheme, self._layout = scheme, layout
        port_node = f"port_at(place + ({{number}} - {{port}}.number) * {layout.row_bytes['port']}).node"
        self.checks = Checks(scheme.components, has_trail=True, port_node=port_node) if is_checked else None
        self._limits = limits_of(scheme.components)
        self._slots = {kind: slots_of(scheme.components, kind) for kind in KINDS}
        for kind, slots in self._slots.items():
            if len(slots) > MAX_SLOTS:
                raise ConfigError(f"deadlines in {kind} records", len(slots), f"at most {MAX_SLOTS}")
        self.params_offsets: list[int] = []
        self.params_bytes = 0
        self._inputs: list[str] = []
        """What the machine code depends on besides its source: layouts, and the handlers with all that they reach."""
        self._namespace: dict[str, Any] = {"__name__": __name__}
        for number, part in enumerate(scheme.components):
            dtype = params_dtype(part)
            self.params_offsets.append(self.params_bytes)
            self.params_bytes += -(-dtype.itemsize // 8) * 8
            self._namespace[f"params{number}_at"] = record_at(dtype)
            self._inputs.append(_text_of(dtype))
            for kind in RECORD_KINDS:
                record = part.record(kind)
                if record is not None and kind != "Header":
                    self._namespace[f"{kind.lower()}{number}_at"] = record_at(record_dtype(record))
                    self._inputs.append(_text_of(record_dtype(record)))
        self.trail_offset = self.params_bytes
        if is_checked:
            self.params_bytes += TRAIL.itemsize
            self._namespace["trail_at"] = record_at(TRAIL)
            self._inputs.append(repr(CHECKED))
        self._headers = (layout.packet.names or ())[len(PACKET.names or ()) :]
        self._packets: dict[tuple[str, ...], str] = {}
        for name in _ENGINE_RECORDS:
            self._namespace[f"{name}_at"] = record_at(record_dtype(*RECORDS[name]))
        self.may_arm_on_open = False  # whether on_open may set a timer
        self._handlers: dict[str, Callable[..., Any]] = {}
        self._calls: dict[str, Call] = {}
        sources: dict[str, str] = {}
        for name, calls in calls_of(scheme.components).items():
            if calls:
                sources[name] = self._write(name, calls, HOOKS[name].place == "sender")
        timer_names: dict[str, list[tuple[Slot, str]]] = {}
        for kind, slots in self._slots.items():
            timer_names[kind] = [(slot, f"{kind.lower()}_timer_{slot.number}") for slot in slots]
            for slot, name in timer_names[kind]:
                sources[name] = self._write(name, [timer_call(scheme.components, slot)], kind == "Sender", kind)
        self.source = "\n\n".join(sources.values())
        self._code = self._load(list(sources))
        addresses = self._code.addresses
        self.addresses = {name: addresses.get(name, 0) for name in HOOKS}
        self.timers = {kind: [(slot, addresses[name]) for slot, name in names] for kind, names in timer_names.items()}

    def _write(self, name: str, calls: list[Call], has_limits: bool, timer_kind: str = "") -> str:
        touched: dict[str, str] = {}  # local name -> expression
        lines = []
        if self.checks is not None:
            touched["trail"] = f"trail_at(params + {self.trail_offset})"
            lines += [f"trail.{field} = {argument}" for argument, field in _ROWS.items()]
        touched_components: set[tuple[str, int]] = set()
        for i, call in enumerate(calls):
            handler = f"{name}_{i}"
            function = call.function if self.checks is None else self.checks.function(call)
            self._handlers[handler], self._calls[handler] = function, call
            owner = type(self._scheme.components[call.component]).__name__
            self._inputs.append(content_hash(function, f"{owner}.{call.name}", has_places=True))
            headers = self._headers_of(function) if _PACKETS.keys() & set(call.arguments) else ()
            arguments = [self._argument(argument, call.component, touched, headers) for argument in call.arguments]
            if self.checks is None:
                lines.append(f"{handler}({', '.join(arguments)})")
            else:
                record = partial(self._argument, component=call.component, touched=touched)
                tests = f"{handler}_tests"
                before, after, self._handlers[tests] = self.checks.apart(call.name, timer_kind, call, record, tests)
                self._inputs.append(content_hash(self._handlers[tests], tests))
                arguments.append("trail")
                lines += [*before, f"{handler}({', '.join(arguments)})", *after]
            touched_components |= {(argument.capitalize(), call.component) for argument in call.arguments}
        if has_limits:
            for limit, owners in self._limits.items():
                if any(("Sender", number) in touched_components for number in owners):
                    values = [f"{self._argument('sender', number, touched)}.{limit}" for number in owners]
                    lowest = values[0] if len(values) == 1 else f"min({', '.join(values)})"
                    lines.append(f"{self._argument('qp', 0, touched)}.{limit} = {lowest}")
        lines.append("due = 0")
        written = written_by(self._scheme.components, calls)
        for position, kind in enumerate(KINDS):
            for slot in self._slots[kind]:
                if (kind, slot.component, slot.field.name) in written:
                    at = f"{kind.lower()}{slot.component}_r"
                    bit = 1 << (position * MAX_SLOTS + slot.number)
                    condition = moved(self._scheme, f"{at}.{slot.field.name}", f"{at}.{slot.field.armed_name}")
                    lines.append(f"if {condition}:")
                    lines.append(f"    due |= {bit}")
                    self.may_arm_on_open |= name == "on_open"
        lines.append("return due")
        setup = [f"{local} = {expression}" for local, expression in touched.items()]
        return f"def {name}({_ARGUMENTS}):\n" + "".join(f"    {line}\n" for line in setup + lines)

    def _headers_of(self, function: Callable[..., Any]) -> tuple[str, ...]:
        """Return the scheme's header fields that a handler may read: with no others, schemes can share it."""
        known = names_in(function) if self._headers else frozenset()
        return tuple(name for name in self._headers if name in known)

    def _packet_at(self, headers: tuple[str, ...]) -> str:
        """Return the name of the function from an address to a packet with some of the scheme's header fields."""
        if headers not in self._packets:
            name = self._packets[headers] = f"packet_with{len(self._packets)}_at"
            dtype = packet_with(self._layout.packet, headers)
            self._namespace[name] = record_at(dtype)
            self._inputs.append(_text_of(dtype))
        return self._packets[headers]

    def _argument(self, name: str, component: int, touched: dict[str, str], headers: tuple[str, ...] = ()) -> str:
        """Return the local name of a handler's argument, which this sets up if need be."""
        if name == "now":
            return "now"
        kind = name.capitalize()
        if name == "params":
            local = f"params{component}_r"
            touched[local] = f"params{component}_at(params + {self.params_offsets[component]})"
        elif kind in _OWNERS:
            local = f"{name}{component}_r"
            offset = self._layout.offsets[kind, component]
            touched[local] = f"{name}{component}_at({_OWNERS[kind]} + {offset})"
        elif name in _PACKETS:
            packet_at = self._packet_at(headers)
            local = f"{name}{packet_at.removeprefix('packet').removesuffix('_at')}_r"
            touched[local] = f"{packet_at}({_PACKETS[name]})"
        else:
            local = f"{name}_r"
            touched[local] = f"{name}_at({_ENGINE_RECORDS[name]})"
        return local

    def _load(self, names: list[str]) -> MachineCode:
        """Take the written functions' machine code from this process, or from the cache, or compile it."""
        text = "\n".join([self.source, *self._inputs])
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in _LOADED:
            unit = f"hooks_{key[:16]}"
            objects = kept(unit, lambda: {"hooks": self._compile(names, unit)})
            _LOADED[key] = MachineCode(objects.values(), names)
            if len(_LOADED) > _MOST_LOADED:
                _LOADED.popitem(last=False)
        _LOADED.move_to_end(key)
        return _LOADED[key]

    def _compile(self, names: list[str], unit: str) -> bytes:
        options = CHECKED if self.checks is not None else {}
        namespace = self._namespace | {name: part_of(function, **options) for name, function in self._handlers.items()}
        exec(compile(self.source, f"{unit}.py", "exec"), namespace)
        try:
            return object_code({name: namespace[name] for name in names}, _SIGNATURE, **options)
        except NotCompiledError as failed:
            name, error = failed.args
            calls = {handler: call for handler, call in self._calls.items() if handler.startswith(f"{name}_")}
            raise compile_error(self._scheme, name, calls, error) from None
