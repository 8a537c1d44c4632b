"""Units of compiled code: functions that are called by their addresses, as an object file.

Numba never unloads what it has compiled, nor what it was compiled from. So a unit is emitted as an object file
(`object_code`), which `MachineCode` loads, and frees with the last reference to it. Numba's private interfaces make
that quick (`rdmacc.engine.compiled.machine_code.numba_private`); where one of them is missing, its public ones do.
"""

import ctypes
import dis
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from types import CellType, CodeType, FunctionType
from typing import Any

import numba
from llvmlite import binding
from numba import types

from rdmacc.caching.lifetimes import Kept
from rdmacc.engine.compiled.machine_code import numba_public
from rdmacc.engine.compiled.machine_code.numba_public import NotCompiledError, signature_of
from rdmacc.handlers import NATIVE, bytecode_of, content_hash, outside
from rdmacc.interface.parameters import number_of

__all__ = [
    "CHECKED", "INTERFACE", "OVERLOAD", "MachineCode", "NotCompiledError", "Part", "cold", "object_code",
]  # fmt: skip

_log = logging.getLogger(__name__)

_numba: Any
try:
    from rdmacc.engine.compiled.machine_code import numba_private as _numba
except (ImportError, AttributeError) as error:
    _log.warning(
        "rdmacc: Numba %s lacks what fast compilation needs (%s); compiling takes minutes",
        numba.__version__, error,
    )  # fmt: skip
    _numba = numba_public

INTERFACE: str = _numba.__name__  # the module that compiles

OVERLOAD = _numba.OVERLOAD
"""Options for the compiled form of a function that handlers call."""

Part, cold = _numba.Part, _numba.cold
"""Compile a function that compiled code calls; `cold` keeps a rarely called one out of line."""

CHECKED: dict[str, Any] = {"error_model": "python", "boundscheck": True}
"""Options for handlers whose mistakes are caught: division by zero and an index out of range are exceptions."""

_CTYPES: dict[Any, Any] = {types.void: None, types.int64: ctypes.c_int64, types.float64: ctypes.c_double}


def object_code(
    functions: Mapping[str, Callable[..., Any]], signature: str, definitions: str = "", **options: Any
) -> bytes:
    code: bytes = _numba.object_code(functions, signature, definitions, **options)
    return code


class MachineCode:
    """Functions in memory, by their names in object files; they are freed with the last reference to this."""

    def __init__(self, objects: Iterable[bytes], names: Iterable[str]) -> None:
        _numba.prepare()  # so that the linker knows what is called
        machine = binding.Target.from_default_triple().create_target_machine(jit=True)
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        for code in objects:
            self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self.addresses = {name: int(self._engine.get_function_address(name)) for name in names}

    def function(self, name: str, signature: str, is_alone: bool = True) -> Callable[..., Any]:
        """Return a function for Python to call, which keeps the code loaded; the call holds the GIL if `is_alone`."""
        arguments, result = signature_of(signature)
        kind = ctypes.PYFUNCTYPE if is_alone else ctypes.CFUNCTYPE
        entry: Any = kind(*(_CTYPES[kind] for kind in (result, *arguments)))(self.addresses[name])
        entry.code = self
        return entry


# The compiled forms of handlers, which schemes share. A scheme that is new to this process mostly reuses handlers that
# others have compiled: their switch, their recovery. So a process keeps the last ones, with what Numba found out about
# their types, under their content (`rdmacc.handlers.content`) and the parts that they call.

_KEPT = Kept(512)  # parts used last, keyed by everything that they are made of

_MOST_VERSIONS = 16  # a part with more kinds of arguments than this is compiled again


def part_of(function: Callable[..., Any], **options: Any) -> Any:
    """Return the compiled form of a plain function and of its plain callees."""
    code = function.__code__
    called = {name: part_of(value, **options) for name, value in _called_by(function)}
    content = content_hash(function, function.__qualname__)  # Numba freezes constants: another value, another part
    # Equal code of another place would be named with the wrong lines when it cannot be compiled.
    key = (content, code, code.co_filename, function.__module__, *options.items(), *called.items())

    def make() -> Any:
        namespace = function.__globals__ | called
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
        closure = tuple(CellType(called[name]) if name in called else cell for name, cell in cells)
        copy = FunctionType(_without_texts(code), namespace, function.__name__, function.__defaults__, closure)
        copy.__kwdefaults__ = function.__kwdefaults__
        return Part(copy, **options)

    if len(_KEPT.get(key, make).overloads) > _MOST_VERSIONS:
        _KEPT.take(key)
    return _KEPT.get(key, make)


def _without_texts(code: CodeType) -> CodeType:
    """Return bytecode in which strings that parameters are compared with are replaced by their numbers."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE")]
    constants = list(code.co_consts)
    for step, after in pairwise(steps):
        # What is called with a text is an exception.
        if isinstance(step.argval, str) and step.opname == "LOAD_CONST" and after.opname not in ("PRECALL", "CALL"):
            constants[step.arg or 0] = number_of(step.argval)
    return code.replace(co_consts=tuple(constants))


def names_in(function: Callable[..., Any]) -> frozenset[str]:
    """Return every name that a plain function or its callees mention, hence all that they can read."""
    found: set[str] = set()
    functions = [function]
    for each in functions:
        found.update(bytecode_of(each.__code__).names)
        functions += [value for _, value in _called_by(each) if value not in functions]
    return frozenset(found)


def _called_by(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """Yield the names and values of the plain functions in a function's module or closure that it calls."""
    for name in sorted({name for name, _, _ in bytecode_of(function.__code__).taken}):
        value = outside(function, name)
        if isinstance(value, FunctionType) and value not in NATIVE:
            yield name, value
