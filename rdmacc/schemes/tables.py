"""Schemes as tables of plain values, as in scenario files and in `schemes.toml`, which lists the registered schemes."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from rdmacc.errors import unknown
from rdmacc.interface import Parameters, Scaled, answer_timer
from rdmacc.schemes.composition import Scheme

PARTS = ("recovery", "control", "switch", "buffer", "queueing")
_OURS = ("rdmacc.protocols.", "rdmacc.switch.")


def scheme_table_of(scheme: Scheme) -> dict[str, Any]:
    """Return a scheme's table: values that differ from the defaults; a part's class is its `type`."""
    parts: dict[str, Any] = {}
    for name in PARTS:
        value = getattr(scheme, name)
        parts[name] = list(map(_table_of, value)) if isinstance(value, tuple) else _table_of(value)
    return {"name": scheme.name, **_plain(scheme), **parts}


def _table_of(part: Parameters) -> dict[str, Any]:
    return {"type": _full_name(type(part)), **_plain(part)}


def _plain(part: Parameters) -> dict[str, Any]:
    return {
        name: {key: each for key, each in one.to_dict().items() if each is not None} if isinstance(one, Scaled) else one
        for name, one in part.changed().items()
    }


def scheme_from(table: Mapping[str, Any]) -> Scheme:
    return Scheme(**values_from(table))


def values_from(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table's values, including parts."""
    return {name: _part(value) if name in PARTS else value_of(value) for name, value in table.items()}


def value_of(value: Any) -> Any:
    """Return a parameter's value; a table becomes `Scaled` or a timer."""
    if isinstance(value, dict):
        return answer_timer(value["timer"]) if "timer" in value else Scaled(**value)
    return value


def _part(one: Any) -> Any:
    if isinstance(one, list):
        return tuple(map(_part, one))
    if isinstance(one, str):
        return _kind(one)()
    return _kind(one["type"])(**{name: value_of(value) for name, value in one.items() if name != "type"})


def _kind(name: str) -> Any:
    """Return a component class by its full name; only modules of rdmacc are imported for it."""
    module, _, own_name = name.rpartition(".")
    if module.startswith(_OURS):  # only these: importing one of rdmacc's programs would run it
        with suppress(ImportError):
            import_module(module)
    kind = getattr(sys.modules.get(module), own_name, None)
    if isinstance(kind, type) and issubclass(kind, Parameters):
        return kind
    known = {_full_name(one): one for one in _subclasses(Parameters)}
    if name not in known:
        raise unknown("component", name, known, "an imported component: import its module first")
    return known[name]


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _full_name(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
