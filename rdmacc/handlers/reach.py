"""Detect changes of a scheme: of its parameters, its classes, and everything that its handlers reach.

A scheme is checked, laid out and compiled once, then found in a cache by its content. The cache must notice when a
parameter, a class, a function's code or a global name that a function reads has changed, so all of these are recorded
and compared on each use. Objects that cannot be compared, such as a list that a function reads, make the scheme
uncertain, and it is not cached.
"""

from __future__ import annotations

import builtins
import types
from enum import Enum
from operator import is_
from typing import Any

import numpy as np

from rdmacc.caching.lifetimes import Kept, content_of
from rdmacc.handlers.content import OF_NO_EFFECT, OURS, is_library
from rdmacc.handlers.language import NATIVE
from rdmacc.handlers.reading import check_handlers
from rdmacc.handlers.source import MISSING, bytecode_of, cell_content
from rdmacc.interface import Packet, record_dtype

_SURE = (
    bool, int, float, complex, str, bytes, type(None), Enum, np.generic, np.ufunc, np.dtype,
    types.BuiltinFunctionType, types.ModuleType, types.MemberDescriptorType, types.GetSetDescriptorType,
)  # fmt: skip
"""Types whose values cannot change while they stay the same object; of a module, the attributes read count."""

_KNOWN = Kept(64)


def reach_of(scheme: Any) -> Reach:
    """Return what a scheme reaches: the same object until some of it changes. A new scheme is checked first."""
    content = content_of(scheme)
    known = _KNOWN.get(content, lambda: Reach(scheme))
    if content is not None and not known.is_unchanged():
        _KNOWN.take(content)
        known = _KNOWN.get(content, lambda: Reach(scheme))
    return known


class Reach:
    def __init__(self, scheme: Any) -> None:
        for part in scheme.components:
            part.check_interface()
        record_dtype(Packet, *filter(None, (part.record("Header") for part in scheme.components)))
        check_handlers(scheme.components)
        self._scheme = scheme
        self.kept = Kept()  # results that depend on the scheme alone
        self._classes: dict[type, tuple[Any, list[str], list[Any]]] = {}
        self._functions: dict[types.FunctionType, tuple[Any, ...]] = {}
        self._names: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.uncertain: list[Any] = []
        for part in (scheme, *scheme.components, scheme.buffer, scheme.queueing):
            for kind in type(part).__mro__:
                self._add(kind)
        for part in scheme.components:
            for function in part.handlers().values():
                self._add(function)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle only the scheme; the other process computes its reach again."""
        return reach_of, (self._scheme,)

    def is_unchanged(self) -> bool:
        if self.uncertain:
            return False
        for own, names, values in self._classes.values():
            if list(own) != names or not all(map(is_, own.values(), values)):
                return False
        for function, noted in self._functions.items():
            if len(noted) == 2 and function.__code__ is noted[0] and function.__defaults__ is noted[1]:
                if not (function.__kwdefaults__ or function.__dict__ or function.__closure__):
                    continue
            now = _noted(function)
            if len(now) != len(noted) or not all(map(is_, noted, now)):
                return False
        return all(place.get(name, MISSING) is value for place, name, value in self._names.values())

    def _add(self, value: Any) -> None:
        if isinstance(value, types.FunctionType):
            if value not in self._functions and value not in NATIVE and not is_library(str(value.__module__)):
                self._functions[value] = _noted(value)
                self._follow(value)
        elif isinstance(value, type):
            if value not in self._classes and value.__module__ not in OURS and not is_library(str(value.__module__)):
                own = vars(value)
                self._classes[value] = own, list(own), list(own.values())
                for name, item in own.items():
                    if name not in OF_NO_EFFECT and not (name.startswith("__") and name.endswith("__")):
                        self._add(item)
        elif isinstance(value, staticmethod | classmethod):
            self._add(value.__func__)
        elif isinstance(value, property):
            self._add(value.fget)
        elif isinstance(value, tuple | frozenset):
            for one in value:
                self._add(one)
        elif getattr(getattr(type(value), "__dataclass_params__", None), "frozen", False):
            for one in vars(value).values():
                self._add(one)
        elif not isinstance(value, _SURE) and value is not MISSING and not is_library(type(value).__module__):
            self.uncertain.append(value)

    def _follow(self, function: types.FunctionType) -> None:
        """Add everything that a function reads from outside."""
        for value in self._functions[function][1:]:
            self._add(value)
        for name, is_free, attributes in bytecode_of(function.__code__).taken:
            if is_free:
                continue
            found = self._name(function.__globals__, name)
            if found is MISSING:
                found = self._name(vars(builtins), name)
            for attribute in attributes:
                if isinstance(found, types.ModuleType):
                    found = self._name(vars(found), attribute)
            self._add(found)

    def _name(self, place: dict[str, Any], name: str) -> Any:
        value = place.get(name, MISSING)
        self._names[id(place), name] = place, name, value
        return value


def _noted(function: types.FunctionType) -> tuple[Any, ...]:
    """Return everything that defines a function, except the globals that it reads."""
    named = (function.__kwdefaults__ or {}) | vars(function)
    cells = map(cell_content, function.__closure__ or ())
    return (function.__code__, function.__defaults__, *named, *named.values(), *cells)
