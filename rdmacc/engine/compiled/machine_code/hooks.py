"""Compiles a scheme's hooks: one function of addresses each, which the kernel calls by its address.

A hook returns the set of deadlines that moved (`rdmacc.handlers.writing`). Machine code is cached under a hash of
everything that it depends on. A process keeps the hooks it used last in memory, so another simulation of the same
scheme finds them there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.caching.lifetimes import Kept
from rdmacc.engine.compiled.kernel import rules  # registers the functions of `interface.bits` and `interface.chance`
from rdmacc.engine.compiled.machine_code import units
from rdmacc.engine.compiled.machine_code.address import record_at
from rdmacc.engine.compiled.machine_code.cache import kept
from rdmacc.engine.compiled.machine_code.exceptions import compile_error
from rdmacc.engine.compiled.tables import layout as rows
from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.handlers.checked import Checks, Trail
from rdmacc.handlers.hooks import Call, Slot
from rdmacc.handlers.writing import HookWriter
from rdmacc.interface import HOOKS, RECORD_KINDS, Component, record_dtype
from rdmacc.interface.component import OWNERS

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

TRAIL = record_dtype(Trail)

_ROWS = {"packet": "packet_row", "reply": "reply_row", "notice": "notice_row", "message": "message_row",
         "place": "place_row"}  # fmt: skip
_SIGNATURE = "int64(int64, int64, int64, int64, int64, int64, int64, int64)"
_ARGUMENTS = "params, place, qp, message, packet, reply, notice, now"
_ENGINE_RECORDS = {"qp": "qp", "message": "message", "host": "place", "port": "place"}
_OWNERS = {kind: _ENGINE_RECORDS.get(owner, "qp") for kind, owner in OWNERS.items()}
_PACKETS = {"packet": "packet", "reply": "reply", "notice": "notice", "request": "notice"}

_LOADED = Kept(256)
"""Hooks that this process used last, by the hash of everything that they depend on. Code in use stays loaded as long as
its simulation exists."""

assert rules


@lru_cache(1024)
def _text_of(dtype: np.dtype[np.void]) -> str:
    return repr(dtype)


def params_dtype(component: Component) -> np.dtype[np.void]:
    columns: list[Any] = []
    for name, (code, value) in component.numbers().items():
        columns.append((name, code.removesuffix("[]"), (len(value),)) if code.endswith("[]") else (name, code))
    return np.dtype(columns or [("nothing", "i8")], align=True)


class CompiledHooks(HookWriter):
    """The hooks of a scheme as machine code.

    `addresses` has each hook's by name, 0 where no component takes part, `timers` a slot and its handler's address for
    each deadline, by record kind. The trail of checked hooks is behind the parameters, at `trail_offset`.
    """

    def __init__(self, scheme: Scheme, layout: rows.Layout, is_checked: bool = False) -> None:
        node = f"port_at(place + ({{number}} - {{port}}.number) * {layout.row_bytes['port']}).node"
        super().__init__(scheme, Checks(scheme.components, has_trail=True, port_node=node) if is_checked else None)
        self._layout = layout
        for kind, slots in self._slots.items():
            if len(slots) > rows.MAX_SLOTS:
                raise ConfigError(f"deadlines in {kind} records", len(slots), f"at most {rows.MAX_SLOTS}")
        self.params_offsets: list[int] = []
        self.params_bytes = 0
        self._inputs: list[str] = []
        """What the machine code depends on besides its source: layouts, and handlers with everything they call."""
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
            self._inputs.append(repr(units.CHECKED))
        self._headers = (layout.packet.names or ())[len(rows.PACKET.names or ()) :]
        self._packets: dict[tuple[str, ...], str] = {}
        for name in _ENGINE_RECORDS:
            self._namespace[f"{name}_at"] = record_at(record_dtype(*rows.RECORDS[name]))
        sources: dict[str, str] = {}
        timers: dict[str, list[tuple[Slot, str]]] = {kind: [] for kind in rows.KINDS}
        for name, calls, slot in self._wanted():
            sources[name] = self._write(name, calls, slot)
            if slot is not None:
                timers[slot.kind].append((slot, name))
        for name, function in self._functions.items():
            call = self._calls.get(name)
            if call is None:  # tests
                self._inputs.append(content_hash(function, name))
            else:
                owner = type(scheme.components[call.component]).__name__
                self._inputs.append(content_hash(function, f"{owner}.{call.name}", has_places=True))
        self.may_arm_on_open = "due |=" in sources.get("on_open", "")  # whether on_open may set a timer
        self.source = "\n\n".join(sources.values())
        self._code = self._load(list(sources))
        addresses = self._code.addresses
        self.addresses = {name: addresses.get(name, 0) for name in HOOKS}
        self.timers = {kind: [(slot, addresses[name]) for slot, name in names] for kind, names in timers.items()}

    def _write(self, name: str, calls: list[Call], slot: Slot | None) -> str:
        touched, lines = self._lines(name, calls, slot)
        setup = [f"{local} = {expression}" for local, expression in touched.items()]
        if self.checks is not None:
            setup.append(f"trail = trail_at(params + {self.trail_offset})")
            setup += [f"trail.{field} = {argument}" for argument, field in _ROWS.items()]
        lines = [*setup, "due = 0", *lines, "return due"]
        return f"def {name}({_ARGUMENTS}):\n" + "".join(f"    {line}\n" for line in lines)

    def _on_moved(self, slot: Slot) -> str:
        return f"due |= {1 << (rows.KINDS.index(slot.kind) * rows.MAX_SLOTS + slot.number)}"

    def _headers_of(self, function: Callable[..., Any]) -> tuple[str, ...]:
        """Return the header fields that a handler may read: schemes that agree on these share its code."""
        known = units.names_in(function) if self._headers else frozenset()
        return tuple(name for name in self._headers if name in known)

    def _packet_at(self, headers: tuple[str, ...]) -> str:
        """Return the name of the function from an address to a packet with some of the scheme's header fields."""
        if headers not in self._packets:
            name = self._packets[headers] = f"packet_with{len(self._packets)}_at"
            dtype = rows.packet_with(self._layout.packet, headers)
            self._namespace[name] = record_at(dtype)
            self._inputs.append(_text_of(dtype))
        return self._packets[headers]

    def _argument(self, name: str, component: int, touched: dict[str, str], function: Any = None) -> str:
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
            packet_at = self._packet_at(() if function is None else self._headers_of(function))
            local = f"{name}{packet_at.removeprefix('packet').removesuffix('_at')}_r"
            touched[local] = f"{packet_at}({_PACKETS[name]})"
        else:
            local = f"{name}_r"
            touched[local] = f"{name}_at({_ENGINE_RECORDS[name]})"
        return local

    def _load(self, names: list[str]) -> units.MachineCode:
        """Return the generated functions' machine code: from this process, from the cache, or compiled now."""
        text = "\n".join([self.source, *self._inputs])
        key = hashlib.sha256(text.encode()).hexdigest()
        unit = f"hooks_{key[:16]}"

        def load() -> units.MachineCode:
            return units.MachineCode(kept(unit, lambda: {"hooks": self._compile(names, unit)}).values(), names)

        return _LOADED.get(key, load)

    def _compile(self, names: list[str], unit: str) -> bytes:
        options = units.CHECKED if self.checks is not None else {}
        namespace = self._namespace | {
            name: units.part_of(function, **options) for name, function in self._functions.items()
        }
        exec(compile(self.source, f"{unit}.py", "exec"), namespace)
        try:
            return units.object_code({name: namespace[name] for name in names}, _SIGNATURE, **options)
        except units.NotCompiledError as failed:
            name, error = failed.args
            calls = {handler: call for handler, call in self._calls.items() if handler.startswith(f"{name}_")}
            raise compile_error(self._scheme, name, calls, error) from None
