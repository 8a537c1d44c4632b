"""Turns a scheme's hooks into Python functions, by writing their source.

A hook such as `on_ack` of a scheme with go-back-N and DCQCN becomes ::

    def on_send(qp, message, packet, request, now):
        sender1, transfer0 = qp.sender1, message.transfer0
        on_send_0(params0, message, transfer0, packet, now)
        on_send_1(params1, qp, sender1, packet)
        qp.rate_bps = sender1.rate_bps
        if transfer0.retransmit_timer_ps < transfer0.retransmit_timer_armed: arm(message, transfer_slot0)

that is: the handlers in order, the lowest rate and window, and an event for each deadline that is now earlier than
the one pending. Set `source` to see what was written for a scheme.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from rdmacc.component import HOOKS, OWNERS, TIMERS, Hook
from rdmacc.handlers.checked import Checks, Trail
from rdmacc.handlers.hooks import Call, Slot, calls_of, limits_of, moved, records_of, slots_of, timer_call
from rdmacc.handlers.sides import written_by
from rdmacc.schemes import Scheme

_code_of = lru_cache(1024)(compile)  # studies and tests bind the same schemes again and again


class Binding:
    """The hooks of a scheme as functions, None where no component takes part; `source` is their source."""

    def __init__(
        self, scheme: Scheme, arm: Callable[[Any, Slot], None], trail: Trail | None = None, port_node: Any = None
    ) -> None:
        self._scheme, self._components = scheme, scheme.components
        self.checks = (
            None if trail is None else Checks(self._components, has_trail=False, port_node="port_node[{number}]")
        )
        self._limits = limits_of(self._components)
        self._namespace: dict[str, Any] = {"arm": arm, "trail": trail, "port_node": port_node}
        self.take(scheme)
        self._slots = {kind: slots_of(self._components, kind) for kind in OWNERS}
        for kind, slots in self._slots.items():
            for slot in slots:
                self._namespace[f"{kind.lower()}_slot{slot.number}"] = slot
        self.source = ""
        self.hooks: dict[str, Any] = {
            name: self._hook(name, calls) for name, calls in calls_of(self._components).items()
        }
        self.timers = {kind: [(slot, self._timer(kind, slot)) for slot in slots] for kind, slots in self._slots.items()}

    def take(self, scheme: Scheme) -> None:
        """Pass a scheme's parameters from now on."""
        for number, part in enumerate(scheme.components):
            self._namespace[f"params{number}"] = part

    def _hook(self, name: str, calls: list[Call]) -> Callable[..., None] | None:
        if not calls:
            return None
        return self._define(name, HOOKS[name], calls, limits_from=HOOKS[name].place == "sender")

    def _timer(self, kind: str, slot: Slot) -> Callable[..., None]:
        call = timer_call(self._components, slot)
        name = f"{kind}_{slot.number}"
        return self._define(name, TIMERS[kind], [call], limits_from=kind == "Sender", kind=kind)

    def _define(
        self, name: str, hook: Hook, calls: list[Call], limits_from: bool, kind: str = ""
    ) -> Callable[..., None]:
        lines: list[str] = []
        touched = {(argument.capitalize(), call.component) for call in calls for argument in call.arguments}
        records = {f"{kind.lower()}{number}": OWNERS[kind] for kind, number in sorted(touched) if kind in OWNERS}
        if records:
            owned = ", ".join(f"{owner}.{record}" for record, owner in records.items())
            lines.append(f"{', '.join(records)} = {owned}")
        for i, call in enumerate(calls):
            handler = f"{name}_{i}"
            self._namespace[handler] = call.function if self.checks is None else self.checks.function(call)
            arguments = [self._argument(argument, call.component) for argument in call.arguments]
            called = [f"{handler}({', '.join(arguments)})"]
            if self.checks is not None:
                record = partial(self._argument, component=call.component)
                before, after = self.checks.around(call.name, kind, call, record)
                called = [*before, *called, *after]
            lines += called
        if limits_from:
            lines += self._lowest(touched)
        written = written_by(self._components, calls)
        for held, owner in OWNERS.items():
            for slot in self._slots[held]:
                if owner in hook.passes and (held, slot.component, slot.field.name) in written:
                    at = f"{held.lower()}{slot.component}"
                    condition = moved(self._scheme, f"{at}.{slot.field.name}", f"{at}.{slot.field.armed_name}")
                    lines.append(f"if {condition}: arm({owner}, {held.lower()}_slot{slot.number})")
        source = f"def {name}({', '.join(hook.passes)}):\n" + "".join(f"    {line}\n" for line in lines)
        self.source += source
        exec(_code_of(source, f"<{self._scheme.name}: {name}>", "exec"), self._namespace)
        return self._namespace[name]

    def _lowest(self, touched: set[tuple[str, int]]) -> list[str]:
        """Return the lines that set the queue pair's limits, if a component that has one took part."""
        lines = []
        for limit, owners in self._limits.items():
            if any(("Sender", number) in touched for number in owners):
                values = [
                    f"{'' if ('Sender', number) in touched else 'qp.'}sender{number}.{limit}" for number in owners
                ]
                lines.append(f"qp.{limit} = " + (values[0] if len(values) == 1 else f"min({', '.join(values)})"))
        return lines

    @staticmethod
    def _argument(name: str, component: int) -> str:
        if name == "params":
            return f"params{component}"
        kind = name.capitalize()
        return f"{name}{component}" if kind in OWNERS else name

    def record_slots(self, owner: str) -> list[tuple[str, type]]:
        """Return (attribute, record class) of the component records that an engine record carries."""
        return [
            (f"{kind.lower()}{number}", record)
            for kind, of in OWNERS.items()
            if of == owner
            for number, record in records_of(self._components, kind)
        ]
