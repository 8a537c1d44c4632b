"""The compiled forms of handlers, which schemes share.

A scheme that is new to this process mostly reuses handlers that others have compiled: their switch, their recovery.
A handler and the plain functions that it calls become `Part`s. A process keeps the last of them, with what Numba found
out about their types, under their content (`rdmacc.handlers.content`) and the parts that they call.
"""

import dis
import types
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from itertools import pairwise
from typing import Any

from rdmacc.engine.compiled.machine_code.units import Part
from rdmacc.handlers import NATIVE, bytecode_of, content_hash, outside
from rdmacc.parameters import number_of

_KEPT: OrderedDict[Hashable, Part] = OrderedDict()  # parts used last, keyed by everything that they are made of

_MOST_KEPT = 512
_MOST_VERSIONS = 16  # a part with more kinds of arguments than this is compiled again


def part_of(function: Callable[..., Any], **options: Any) -> Part:
    """Return the compiled form of a plain function, and of the plain functions that it calls."""
    code = function.__code__
    called = {name: part_of(value, **options) for name, value in _called_by(function)}
    content = content_hash(function, function.__qualname__)  # Numba freezes constants: another value, another part
    # Equal code of another place would be named with the wrong lines when it cannot be compiled.
    key = (content, code, code.co_filename, function.__module__, *options.items(), *called.items())
    part = _KEPT.pop(key, None)
    if part is None or len(part.overloads) > _MOST_VERSIONS:
        namespace = function.__globals__ | called
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        closure = tuple(types.CellType(called[name]) if name in called else cell for name, cell in cells)
        copy = types.FunctionType(_without_texts(code), namespace, function.__name__, function.__defaults__, closure)
        copy.__kwdefaults__ = function.__kwdefaults__
        part = Part(copy, **options)
    _KEPT[key] = part
    if len(_KEPT) > _MOST_KEPT:
        _KEPT.popitem(last=False)
    return part


def _without_texts(code: types.CodeType) -> types.CodeType:
    """Return bytecode with the numbers that stand for the texts that parameters are compared with."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE")]
    constants = list(code.co_consts)
    for step, after in pairwise(steps):
        # What is called with a text is an exception.
        if isinstance(step.argval, str) and step.opname == "LOAD_CONST" and after.opname not in ("PRECALL", "CALL"):
            constants[step.arg or 0] = number_of(step.argval)
    return code.replace(co_consts=tuple(constants))


def names_in(function: Callable[..., Any]) -> frozenset[str]:
    """Return all names that a plain function, and those that it calls, mention: what they do not, they cannot read."""
    found: set[str] = set()
    functions = [function]
    for each in functions:
        found.update(bytecode_of(each.__code__).names)
        functions += [value for _, value in _called_by(each) if value not in functions]
    return frozenset(found)


def _called_by(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield name and value of the plain functions that a function takes from its module or its closure."""
    for name in sorted({name for name, _, _ in bytecode_of(function.__code__).taken}):
        value = outside(function, name)
        if isinstance(value, types.FunctionType) and value not in NATIVE:
            yield name, value
