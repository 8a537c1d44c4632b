"""Turns a scheme's hooks into Python functions (`rdmacc.handlers.writing`)."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rdmacc.handlers.checked import Checks, Trail
from rdmacc.handlers.hooks import Slot, records_of
from rdmacc.handlers.writing import HookWriter
from rdmacc.interface import HOOKS
from rdmacc.interface.component import OWNERS, TIMERS
from rdmacc.schemes import Scheme

_code_of = lru_cache(1024)(compile)  # studies and tests bind the same schemes again and again


class Binding(HookWriter):
    """The hooks of a scheme as functions, None where no component takes part; `source` is their source."""

    def __init__(
        self, scheme: Scheme, arm: Callable[[Any, Slot], None], trail: Trail | None = None, port_node: Any = None
    ) -> None:
        is_checked, node = trail is not None, "port_node[{number}]"
        super().__init__(scheme, Checks(scheme.components, has_trail=False, port_node=node) if is_checked else None)
        self._namespace: dict[str, Any] = {"arm": arm, "trail": trail, "port_node": port_node}
        self.take(scheme)
        self.source = ""
        self.hooks: dict[str, Any] = dict.fromkeys(HOOKS)
        self.timers: dict[str, list[tuple[Slot, Any]]] = {kind: [] for kind in TIMERS}
        for name, calls, slot in self._wanted():
            touched, lines = self._lines(name, calls, slot)
            setup = [f"{', '.join(touched)} = {', '.join(touched.values())}"] if touched else []
            function = self._define(name, HOOKS[name] if slot is None else TIMERS[slot.kind], [*setup, *lines])
            if slot is None:
                self.hooks[name] = function
            else:
                self.timers[slot.kind].append((slot, function))

    def take(self, scheme: Scheme) -> None:
        """Pass a scheme's parameters from now on."""
        for number, part in enumerate(scheme.components):
            self._namespace[f"params{number}"] = part

    def _define(self, name: str, hook: Any, lines: list[str]) -> Any:
        source = f"def {name}({', '.join(hook.passes)}):\n" + "".join(f"    {line}\n" for line in lines)
        self.source += source
        self._namespace |= self._functions
        exec(_code_of(source, f"<{self._scheme.name}: {name}>", "exec"), self._namespace)
        return self._namespace[name]

    def _argument(self, name: str, component: int, touched: dict[str, str], function: Any = None) -> str:
        owner, own = OWNERS.get(name.capitalize()), f"{name}{component}"
        if owner is not None:
            touched[own] = f"{owner}.{own}"
        return own if owner is not None or name == "params" else name

    def _on_moved(self, slot: Slot) -> str:
        name = f"{slot.kind.lower()}_slot{slot.number}"
        self._namespace[name] = slot
        return f"arm({OWNERS[slot.kind]}, {name})"

    def record_slots(self, owner: str) -> list[tuple[str, type]]:
        """Return (attribute, record class) of the component records that an engine record carries."""
        return [
            (f"{kind.lower()}{number}", record)
            for kind, of in OWNERS.items()
            if of == owner
            for number, record in records_of(self._components, kind)
        ]
