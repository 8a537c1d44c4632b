"""The compiled forms of handlers, which schemes share, and what each is made of.

Most of what a scheme new to this process is made of is not new: another one has the same switch, or the same recovery.
A handler and the plain functions that it calls become `Part`s. A process keeps the last of them, with what Numba found
out about their types, under all that they are made of: their code, their constants, the parts that they call.
"""

from __future__ import annotations

import inspect
import math
import types
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from rdmacc.engine.compiled.unit import Part
from rdmacc.handlers import NATIVE

__all__ = ["constituents", "names_in", "part_of"]

_CONSTANTS = (bool, int, float, str, bytes, tuple, np.generic)

_KEPT: OrderedDict[Hashable, Part] = OrderedDict()
"""The parts that were used last, under all that they are made of."""

_MOST_KEPT = 512
_MOST_VERSIONS = 16
"""A part for more kinds of arguments than these is made anew."""

_SOURCES: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()


def part_of(function: Callable[..., Any], **options: Any) -> Part:
    """Return the compiled form of a plain function, and of the plain functions that it calls.

    Parameters
    ----------
    function : callable
        The function.
    **options
        Numba's, as `rdmacc.engine.compiled.unit.CHECKED`.
    """
    code, cells = function.__code__, [cell.cell_contents for cell in function.__closure__ or ()]
    made_of: list[Hashable] = [code, code.co_filename, function.__module__, *options.items()]
    made_of += [repr((function.__defaults__, function.__kwdefaults__, cells)), *map(id, cells)]
    called = {}
    for name, value in _globals_of(function):
        if _is_plain(value):
            called[name] = part_of(value, **options)
        else:  # Numba freezes constants: another value is another function
            made_of.append((name, repr(value) if isinstance(value, _CONSTANTS) else id(value)))
    key = (*made_of, *called.items())
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


def constituents(function: Callable[..., Any], noted: set[Callable[..., Any]]) -> Iterator[str]:
    """Yield what a plain function, and those that it calls, are made of, in words that outlive this process.

    Parameters
    ----------
    function : callable
        The function.
    noted : set
        Functions to leave out; those that were not are added.
    """
    if function in noted:
        return
    noted.add(function)
    yield _source_of(function)
    for name, value in _globals_of(function):
        if _is_plain(value):
            yield from constituents(value, noted)
        elif isinstance(value, _CONSTANTS):
            yield f"{name} = {value!r}"
    for cell in function.__closure__ or ():
        yield repr(cell.cell_contents)


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


def _source_of(function: Callable[..., Any]) -> str:
    if function not in _SOURCES:
        try:
            _SOURCES[function] = inspect.getsource(function)
        except OSError:
            code = function.__code__
            _SOURCES[function] = repr((code.co_code, code.co_consts, code.co_names))
    return _SOURCES[function]
