"""Compiles through Numba's public interfaces where the private ones are missing: slower, with the same results.

Each function that compiled code calls is optimized on its own, together with everything that it calls. The LLVM module
of a function called by address comes from `numba.cfunc`.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numba
from llvmlite import binding
from numba import types


class NotCompiledError(Exception):
    """A function cannot be compiled; `args` are its name and what the compiler raised."""


OVERLOAD = {"error_model": "numpy"}  # options: division by zero is as in C


def Part(function: Callable[..., Any], **options: Any) -> Any:
    return numba.njit(**{**OVERLOAD, **options})(function)


cold = Part


def signature_of(text: str) -> tuple[tuple[Any, ...], Any]:
    """Return the types of arguments and result of ``int64(int64, float64)``."""
    result, _, arguments = text.removesuffix(")").partition("(")
    return tuple(getattr(types, name.strip()) for name in arguments.split(",")), getattr(types, result)


def object_code(
    functions: Mapping[str, Callable[..., Any]], signature: str, definitions: str = "", **options: Any
) -> bytes:
    """As `rdmacc.engine.compiled.machine_code.units.object_code`. Constants are those that the functions come with."""
    arguments, result = signature_of(signature)
    module = binding.parse_assembly("")
    for name, function in functions.items():
        try:
            made = numba.cfunc(result(*arguments), nopython=True, **{**OVERLOAD, **options})(function)
        except Exception as error:  # Numba raises others than its own, too
            raise NotCompiledError(name, error) from error
        code = binding.parse_assembly(made.inspect_llvm())
        for each in code.functions:
            if each.name == made.native_name:
                each.name, each.linkage = name, "external"
            elif not each.is_declaration:
                each.linkage = "internal"
        for constant in code.global_variables:
            if not constant.is_declaration:
                constant.linkage = "internal"
        module.link_in(code)
    return native(module)


def native(module: Any) -> bytes:
    """Compile an LLVM module to an object file for this machine, checking that it has all its callees."""
    module.verify()
    missing = [each.name for each in module.functions if each.is_declaration and not _is_known(each.name)]
    if missing:  # the linker would say nothing, and leave all calls that go outside at address 0
        raise RuntimeError(f"nothing defines {', '.join(missing)}")
    return bytes(_machine().emit_object(module))


def _is_known(name: str) -> bool:
    return name.startswith("llvm.") or bool(binding.address_of_symbol(name))


@cache
def _machine() -> Any:
    """Return the target machine of this processor."""
    features = binding.get_host_cpu_features().flatten()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(cpu=binding.get_host_cpu_name(), features=features, opt=3, jit=True)


@cache
def prepare() -> None:
    numba.cfunc("void()")(lambda: None)
