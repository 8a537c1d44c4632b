"""The fields that handlers may read and write, and the check of a scheme's handlers before anything runs.

Both engines keep their own fields in the records that a handler sees. A handler that writes a field of another owner,
such as a packet's destination, would corrupt the compiled engine's memory, and one with a misspelt field would fail in
the middle of a run. So the handlers, and the functions that they call, are checked when the scheme is created.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.handlers.checker import Access, Checker, Code, Marks, record_kind
from rdmacc.handlers.hooks import Components
from rdmacc.handlers.language import INT, LARGEST, NOTHING, Kind, advice, kind_of
from rdmacc.handlers.source import outside
from rdmacc.interface import HOOKS, RECORD_KINDS, Component, Field, Host, Message, Packet, Port, QueuePair, Scaled

_RECORDS = {"packet": Packet, "reply": Packet, "notice": Packet, "request": Packet, "message": Message, "qp": QueuePair,
            "host": Host, "port": Port}  # fmt: skip
_OWN = {kind.lower(): kind for kind in RECORD_KINDS if kind != "Header"}

_MAY_WRITE: dict[str, frozenset[str]] = {
    "message": frozenset({"next_psn", "una_psn", "granted_psn", "received_packets", "timeouts", "failed", "priority"}),
    "qp": frozenset({"inflight_bytes", "credits"}),
    "host": frozenset({"announce", "pick"}),
    "port": frozenset({"chance_count"}),
    "reply": frozenset({"kind", "psn", "priority", "wire_bytes", "path", "ce"}),
    "notice": frozenset({"kind", "psn", "priority", "wire_bytes", "path", "ce"}),
    "request": frozenset({"kind", "psn", "priority", "wire_bytes", "path", "ce"}),
}
"""The engines' fields that handlers may write, by argument; they may write all fields of their own records."""


def check_handlers(components: Components) -> None:
    """Raise `ConfigError` if a handler leaves the language, reads an unknown field, or writes a foreign one."""
    headers = _headers(components)
    for part in components:
        params = _params(part)
        for name, function in part.handlers().items():
            _reading_of(part, name, function, params, headers)


def marks_of(components: Components, part: Component, name: str) -> Marks:
    """Return the marks for checked mode in a handler and in the functions that it calls."""
    return _reading(components, part, name).marks


def accesses_of(components: Components, part: Component, name: str) -> frozenset[Access]:
    """Return the fields of its arguments that a handler uses, directly or in functions that it calls."""
    return _reading(components, part, name).accesses


def _reading(components: Components, part: Component, name: str) -> _Reading:
    return _reading_of(part, name, part.handlers()[name], _params(part), _headers(components))


def _headers(components: Components) -> frozenset[Field]:
    return frozenset(
        field for each in components if (record := each.record("Header")) is not None for field in record.fields
    )


def _params(part: Component) -> frozenset[tuple[str, Code]]:
    """Return the types of a component's parameters; for a string, its allowed values."""
    values = {param: value.value if isinstance(value, Scaled) else value for param, value in vars(part).items()}
    for param, value in values.items():
        if type(value) is int and abs(value) > LARGEST:
            raise ConfigError(f"{type(part).__name__}.{param}", value, "an integer of at most 63 bits")
    choices = part.choices()
    return frozenset((param, choices.get(param, code)) for param, (code, _) in part.numbers().items())


def _reading_of(
    part: Component, name: str, function: Any, params: frozenset[tuple[str, Code]], headers: frozenset[Field]
) -> _Reading:
    if not isinstance(function, types.FunctionType):
        allowed = f"{advice('function')}, in the component"
        raise ConfigError(f"{type(part).__name__}.{name}", function, allowed)
    key = type(part), name, function, params, headers
    reading = _READ.get(key)
    if reading is None or not reading.is_current():
        reading = _READ[key] = _read(*key)
    return reading


@dataclass(frozen=True)
class _Reading:
    """The marks of a handler and the fields that it uses, with the inputs of that analysis."""

    marks: Marks
    accesses: frozenset[Access]
    used: Mapping[tuple[Callable[..., Any], str], Any]
    forms: Mapping[Callable[..., Any], Any]

    def is_current(self) -> bool:
        """Return whether the cached analysis still holds; values of numbers may differ."""
        if any(_form(function) != form for function, form in self.forms.items()):
            return False
        for one, was in self.used.items():
            value = outside(*one)
            if kind_of(value) != was if isinstance(was, Kind) else value is not was:
                return False
        return True


_READ: dict[Any, _Reading] = {}  # cache of checked handlers, because schemes are created often


def _form(function: Callable[..., Any]) -> Any:
    """Return a function's bytecode, which a user may replace, and the kinds of its defaults."""
    return function.__code__, tuple(map(kind_of, function.__defaults__ or ()))


def _read(
    owner: type[Component],
    name: str,
    function: types.FunctionType,
    params: frozenset[tuple[str, Code]],
    headers: frozenset[Field],
) -> _Reading:
    handler = f"{owner.__name__}.{name}"
    arguments = inspect.signature(function).parameters
    if len(arguments) != function.__code__.co_argcount:
        raise ConfigError(handler, function, "must take the arguments in its signature: it wraps another function")
    checker = Checker(handler, *_fields(owner, name, dict(params), headers))
    kinds = {argument: INT if argument == "now" else record_kind(argument) for argument in arguments}
    if checker.read(function, kinds) is not NOTHING:
        line = function.__code__.co_firstlineno
        raise checker.error(function, line, "return ...", _RETURNS)
    marks = {each: frozenset(marks) for each, marks in checker.marks.items()}
    return _Reading(marks, frozenset(checker.accesses), checker.used, {each: _form(each) for each in marks})


_RETURNS = "must return nothing: write the value into a record's field, as in `sender.rate_bps = ...`"


def _fields(
    owner: type[Component], name: str, params: dict[str, Code], headers: frozenset[Field]
) -> tuple[dict[str, dict[str, Code]], dict[str, frozenset[str]]]:
    """Return the type codes of the fields that a handler sees, and the names of those that it may write."""
    fields: dict[str, dict[str, Code]] = {"params": params}
    writable: dict[str, frozenset[str]] = {"params": frozenset()}
    for role, record in _RECORDS.items():
        fields[role] = {field.name: _code(field) for field in record.fields}
        writable[role] = _MAY_WRITE.get(role, frozenset())
        if record is Packet:
            fields[role] |= {field.name: _code(field) for field in headers}
            writable[role] |= {field.name for field in headers}
    if name in HOOKS:
        writable["packet"] |= set(HOOKS[name].writes)
    if name == "on_candidate":
        writable["message"] |= {"key"}
    for role, kind in _OWN.items():
        own = owner.record(kind)
        if own is not None:
            fields[role] = {field.name: _code(field) for field in own.fields}
            writable[role] = frozenset(field.name for field in own.fields if not field.is_bits)
    if name.endswith("_timer"):  # an endpoint's: the reply concerns the message that it names
        writable["reply"] |= {"message"}
    return fields, writable


def _code(field: Field) -> str:
    if field.is_bits:
        return "bits"
    return f"{field.code}[]" if field.length else field.code
