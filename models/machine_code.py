"""Functions of arrays as machine code: compiled as handlers are, and kept in the same cache."""

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray
from numba.extending import intrinsic
from numba.types import CPointer, bool_, float64, int64

from rdmacc.engine.compiled.machine_code.address import load_f8, load_i8
from rdmacc.engine.compiled.machine_code.cache import kept
from rdmacc.engine.compiled.machine_code.units import MachineCode, Part, object_code, part_of
from rdmacc.handlers import content_hash


def _array_at(kind: Any) -> Part:
    @intrinsic
    def pointer(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
            return builder.inttoptr(arguments[0], context.get_value_type(CPointer(kind)))

        return CPointer(kind)(int64), generate

    @Part
    def array_at(entry: int) -> Any:
        return carray(pointer(load_i8(entry)), load_i8(entry + 8))

    return array_at


_ARGUMENTS: dict[str, Any] = {
    "int64[]": _array_at(int64), "float64[]": _array_at(float64), "bool[]": _array_at(bool_),
    "int": load_i8, "float": load_f8,
}  # fmt: skip
"""Readers of an argument's 16-byte entry in the argument table, by its kind."""


def call_on_arrays(function: Callable[..., None], *arguments: Any) -> None:
    """Call a plain function as machine code, compiled on the first call with these kinds of arguments."""
    table = np.empty((len(arguments), 2), np.int64)
    for row, argument in zip(table, arguments, strict=True):
        if isinstance(argument, np.ndarray):
            assert argument.flags.c_contiguous
            assert argument.ndim == 1
            row[:] = argument.ctypes.data, len(argument)
        else:
            row.view(np.float64 if isinstance(argument, float) else np.int64)[0] = argument
    kinds = tuple(f"{a.dtype}[]" if isinstance(a, np.ndarray) else type(a).__name__ for a in arguments)
    _entry(function, content_hash(function, function.__qualname__), kinds)(table.ctypes.data)


@cache
def _entry(function: Callable[..., None], content: str, kinds: tuple[str, ...]) -> Callable[[int], None]:
    readers = {f"read{number}": _ARGUMENTS[kind] for number, kind in enumerate(kinds)}
    values = ", ".join(f"{name}(table + {16 * number})" for number, name in enumerate(readers))
    source = f"def entry(table):\n    function({values})\n"
    unit = f"{function.__name__}_{hashlib.sha256(f'{content} {kinds}'.encode()).hexdigest()[:16]}"

    def compiled() -> dict[str, bytes]:
        namespace: dict[str, Any] = {"function": part_of(function), **readers}
        exec(compile(source, f"{unit}.py", "exec"), namespace)
        return {"entry": object_code({"entry": namespace["entry"]}, "void(int64)")}

    return MachineCode(kept(unit, compiled).values(), ["entry"]).function("entry", "void(int64)")
