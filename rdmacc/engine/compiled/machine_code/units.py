"""Units of compiled code: functions that are called by their addresses, as an object file.

Numba never unloads what it has compiled, nor what it was compiled from. So a unit is emitted as an object file
(`object_code`), which `MachineCode` loads, and frees with the last reference to it. Numba's private interfaces make
that quick (`rdmacc.engine.compiled.machine_code.numba_private`); where one of them is missing, its public ones do.
"""

import ctypes
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numba
from llvmlite import binding
from numba import types

from rdmacc.engine.compiled.machine_code import numba_public
from rdmacc.engine.compiled.machine_code.numba_public import NotCompiledError, signature_of

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
        """Return a function for Python to call, which keeps the code; other threads of Python wait, if so."""
        arguments, result = signature_of(signature)
        kind = ctypes.PYFUNCTYPE if is_alone else ctypes.CFUNCTYPE
        entry: Any = kind(*(_CTYPES[kind] for kind in (result, *arguments)))(self.addresses[name])
        entry.code = self
        return entry
