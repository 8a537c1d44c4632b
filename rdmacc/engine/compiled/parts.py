"""The compiled forms of handlers, which schemes share.

Most of what a scheme new to this process is made of is not new: another one has the same switch, or the same recovery.
A handler and the plain functions that it calls become `Part`s. A process keeps the last of them, with what Numba found
out about their types, under their content (`rdmacc.handlers.content`) and the parts that they call.
"""

from __future__ import annotations

import math
import types
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

from rdmacc.engine.compiled.unit import Part
from rdmacc.handlers import NATIVE, content_hash

__all__ = ["names_in", "part_of"]

_CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)

_KEPT: OrderedDict[Hashable, Part] = OrderedDict()
"""The parts that were used last, under all that they are made of."""

_MOST_KEPT = 512
_MOST_VERSIONS = 16
"""A part for more kinds of arguments than these is made anew."""


def part_of(function: Callable[..., Any], **options: Any) -> Part:
    """Return the compiled form of a plain function, and of the plain functions that it calls.

    Parameters
    ----------
    function : callable
        The function.
    **options
        Numba's, as `rdmacc.engine.compiled.unit.CHECKED`.
    """
    code = function.__code__
    called = {name: part_of(value, **options) for name, value in _globals_of(function) if _is_plain(value)}
    content = content_hash(function, function.__qualname__)  # Numba freezes constants: another value, another part
    # Equal code of another place would be named with the wrong lines when it cannot be compiled.
    key = (content, code, code.co_filename, function.__module__, *options.items(), *called.items())
    part = _KEPT.pop(key, None)
    if part is None or len(part.overloads) > _MOST_VERSIONS:
        namespace = function.__globals__ | called
        copy = types.FunctionType(code, namespace, function.__name__, function.__defaults__, function.__closure__)
        copy.__kwdefaults__ = function.__kwdefaults__
        part = Part(copy, **options)
    _KEPT[key] = part
    if len(_KEPT) > _MOST_KEPT:
        _KEPT.popitem(last=False)
    return part


def names_in(function: Callable[..., Any]) -> frozenset[str] | None:
    """Return all names that a plain function, and those that it calls, mention: what they do not, they cannot read.

    None if it calls something whose names are not known.
    """
    found: set[str] = set()
    todo, seen = [function], {function}
    while todo:
        each = todo.pop()
        if each.__closure__:
            return None
        for code in _codes(each.__code__):
            found.update(code.co_names, (constant for constant in code.co_consts if isinstance(constant, str)))
        for _, value in _globals_of(each):
            if _is_plain(value):
                todo += [value] if value not in seen else []
                seen.add(value)
            elif not _is_known(value):
                return None
    return frozenset(found)


def _is_plain(value: Any) -> bool:
    """Tell whether something is a function to compile with those that call it."""
    return isinstance(value, types.FunctionType) and value not in NATIVE


def _is_known(value: Any) -> bool:
    """Tell whether something that a function takes from its module reads no record."""
    known = *_CONSTANTS, type, types.BuiltinFunctionType
    return isinstance(value, known) or any(value is one for one in (math, np, *NATIVE))


def _globals_of(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of what a function takes from its module."""
    used = {name for code in _codes(function.__code__) for name in code.co_names}
    for name in sorted(used & function.__globals__.keys()):
        yield name, function.__globals__[name]


def _codes(code: types.CodeType) -> tuple[types.CodeType, ...]:
    nested = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return (code, *(inner for item in nested for inner in _codes(item)))
