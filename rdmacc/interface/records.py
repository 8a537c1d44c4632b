"""Records: a protocol's state, declared once for both engines.

A `Record` subclass lists its fields with `Int`, `Int32`, `Byte`, `Float`, `Ints`, `Floats`, `Bits` and `Deadline`. The
reference engine turns it into slotted Python objects, and the compiled engine into rows of a NumPy structured array
with the same field names.

A `Deadline` is a time in picoseconds at which the engine calls a handler: for the field `alpha_timer_ps`, the handler
`on_alpha_timer`. Handlers arm it by writing a time and cancel it by writing `NEVER`.

>>> class Sender(Record):
...     rate_bps = Float(1e9)
...     alpha_timer_ps = Deadline()
>>> sender = Sender()
>>> sender.rate_bps, sender.alpha_timer_ps == NEVER
(1000000000.0, True)
>>> [field.name for field in Sender.fields]
['rate_bps', 'alpha_timer_ps']
"""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from rdmacc.errors import ConfigError
from rdmacc.interface.described import describes

__all__ = [
    "NEVER", "Bits", "Byte", "Deadline", "Field", "Float", "Floats", "Int", "Int32", "Ints", "Record",
]  # fmt: skip

NEVER = 2**62
"""A time later than any event (53 days of simulated time)."""

_LONGEST = 2**16  # most entries of an array; every record of its kind, such as each queue pair's, has them all

BANNED_NAMES = frozenset(
    name for kind in (np.ndarray, np.void, np.record, np.generic) for name in dir(kind) if name[0] != "_"
)
"""Attributes of NumPy's arrays. A field with such a name would mean one thing interpreted and another compiled."""


@dataclass(frozen=True)
class Field:
    """One field of a record."""

    code: str  # NumPy type code, such as "i8"
    default: int | float
    doc: str = ""
    is_deadline: bool = False  # the engine calls a handler at the time (in ps) that it holds
    is_bits: bool = False  # a set of the message's packets, one bit per packet
    name: str = ""
    length: int = 0  # entries of an array; 0 for a single number
    is_feature: bool = False  # runs in which it is always 0 have a kernel compiled without it

    @property
    def armed_name(self) -> str:
        """The engine's companion of a deadline: the earliest time at which an event is pending for it."""
        return self.name.removesuffix("_ps") + "_armed"

    @property
    def handler_name(self) -> str:
        """The handler that serves a deadline."""
        return "on_" + self.name.removesuffix("_ps")


_described = describes(
    length="int: Number of entries.",
    default="number: Value in a new record.",
    doc="str: What the field holds.",
)


@_described
def Int(default: int = 0, doc: str = "") -> int:
    """Return a 64-bit integer field. Like the functions below, it is typed as the attribute of a record."""
    return Field("i8", default, doc)  # type: ignore[return-value]


@_described
def Int32(default: int = 0, doc: str = "") -> int:
    """Return a 32-bit integer field (counts and ids that stay below 2**31)."""
    return Field("i4", default, doc)  # type: ignore[return-value]


@_described
def Byte(default: int = 0, doc: str = "") -> int:
    """Return an 8-bit field, -128 to 127 (flags, states, small enumerations)."""
    return Field("i1", default, doc)  # type: ignore[return-value]


@_described
def Float(default: float = 0.0, doc: str = "") -> float:
    """Return a 64-bit floating-point field."""
    return Field("f8", default, doc)  # type: ignore[return-value]


@_described
def Ints(length: int, default: int = 0, doc: str = "") -> list[int]:
    """Return an array of 64-bit integers of fixed length, from 1 to 65,536."""
    return Field("i8", default, doc, length=_length(length))  # type: ignore[return-value]


def _length(length: int) -> int:
    if isinstance(length, bool) or not isinstance(length, int) or not 1 <= length <= _LONGEST:
        raise ConfigError("length", length, f"a whole number from 1 to {_LONGEST}")
    return length


@_described
def Floats(length: int, default: float = 0.0, doc: str = "") -> list[float]:
    """Return an array of 64-bit floating-point numbers of fixed length, from 1 to 65,536."""
    return Field("f8", default, doc, length=_length(length))  # type: ignore[return-value]


@_described
def Bits(doc: str = "") -> Any:
    """Return a field for a set of packets in a `Transfer` record: one bit per packet; see `rdmacc.interface.bits`."""
    return Field("i8", 0, doc, is_bits=True)


@_described
def Deadline(doc: str = "") -> int:
    """Return a deadline, in ps; its name must end in `_timer_ps`."""
    return Field("i8", NEVER, doc, is_deadline=True)  # type: ignore[return-value]


class _RecordMeta(type):
    fields: tuple[Field, ...]
    deadlines: tuple[Field, ...]

    def __new__(mcs, name: str, bases: tuple[Any, ...], namespace: dict[str, Any]) -> _RecordMeta:
        own = []
        for key, value in list(namespace.items()):
            if isinstance(value, Field):
                del namespace[key]
                own.append(_named(value, key, owner=name))
        inherited = tuple(field for base in bases[:1] for field in getattr(base, "fields", ()))
        own[:0] = [field for base in bases[1:] for field in base.fields]
        slots = [field.name for field in own] + [field.armed_name for field in own if field.is_deadline]
        namespace["__slots__"] = (*slots, *namespace.get("__slots__", ()))
        cls = super().__new__(mcs, name, bases[:1], namespace)  # Python cannot combine several bases with slots
        cls.fields = inherited + tuple(own)
        cls.deadlines = tuple(field for field in cls.fields if field.is_deadline)
        cls.reset = _make_reset(cls.fields)  # type: ignore[attr-defined]
        return cls


def _named(field: Field, name: str, owner: str) -> Field:
    if name in BANNED_NAMES:
        raise ConfigError(f"{owner}.{name}", name, "a name that is not an attribute of NumPy's arrays")
    if field.is_deadline and not name.endswith("_timer_ps"):
        raise ConfigError(f"{owner}.{name}", name, "must end in '_timer_ps', as the name of every deadline does")
    return replace(field, name=name, default=_default(field, f"{owner}.{name}"))


def _default(field: Field, name: str) -> int | float:
    """Return a field's default as a plain number; raise a ConfigError if its type cannot hold it."""
    value: Any = field.default
    if field.code == "f8":
        if isinstance(value, numbers.Real):
            return float(value)
        raise ConfigError(name, value, "a number")
    most = int(np.iinfo(field.code).max)
    least = -most - (field.code != "i8")  # the range is symmetric, so that handlers can negate every integer
    if isinstance(value, numbers.Integral) and least <= int(value) <= most:
        return int(value)
    raise ConfigError(name, value, f"a whole number from {least} to {most}")


def _initial(field: Field) -> str:
    if field.is_bits:
        return "bytearray()"
    return f"[{field.default!r}] * {field.length}" if field.length else repr(field.default)


def _make_reset(fields: tuple[Field, ...]) -> Any:
    lines = [f"    self.{field.name} = {_initial(field)}" for field in fields]
    lines += [f"    self.{field.armed_name} = {NEVER}" for field in fields if field.is_deadline]
    namespace: dict[str, Any] = {"inf": math.inf, "nan": math.nan}
    exec("def reset(self):\n" + "\n".join(lines or ["    pass"]), namespace)
    return namespace["reset"]


class Record(metaclass=_RecordMeta):
    """A named set of typed fields. Subclass it and list the fields. With several bases, their fields are combined."""

    fields: ClassVar[tuple[Field, ...]]
    deadlines: ClassVar[tuple[Field, ...]]

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Set every field to its default."""

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in self.fields)
        return f"{type(self).__name__}({values})"


@lru_cache(512)  # bounded: each rerun of a notebook cell defines new classes
def record_dtype(*records: type[Record]) -> np.dtype[np.void]:
    """Return the aligned structured dtype of the records' fields, one after another.

    A deadline is followed by its `_armed` companion.
    """
    columns: list[Any] = []
    owners: dict[str, str] = {}
    for record in records:
        for field in record.fields:
            if field.name in owners:
                place = f"field of {record.__qualname__.rpartition('<locals>.')[2]}"
                raise ConfigError(place, field.name, f"another name: `{owners[field.name]}` already has this field")
            owners[field.name] = record.__qualname__
            columns.append((field.name, field.code, (field.length,)) if field.length else (field.name, field.code))
            if field.is_deadline:
                columns.append((field.armed_name, "i8"))
    return np.dtype(columns, align=True)
