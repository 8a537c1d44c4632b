"""The classes of a scheme's objects: the engine's, with places for the components' records, and code of their own."""

from __future__ import annotations

from functools import cache
from types import FunctionType

__all__ = ["class_with"]


@cache
def class_with(base: type, slots: tuple[str, ...]) -> type:
    """Return a subclass with more slots, and with a copy of each method.

    Python finds an attribute fastest where a function has met it on the same class before (PEP 659), and forgets that
    when another class comes: ports of hosts and of switches, or of two schemes, must not share a function's code.
    The copies are of the same source lines, where a debugger finds them; tracebacks and profiles name the class.
    """
    return type(base)(base.__name__, (base,), {**_own_methods(base), "__slots__": slots})


def _own_methods(base: type) -> dict[str, FunctionType]:
    """Return copies of the methods of a class, inherited ones too."""
    methods = {}
    for cls in reversed(base.__mro__[:-1]):
        for name, method in vars(cls).items():
            if isinstance(method, FunctionType):
                code = method.__code__.replace(co_name=f"{base.__name__}.{name}")
                methods[name] = FunctionType(code, method.__globals__, name, method.__defaults__, method.__closure__)
    return methods
