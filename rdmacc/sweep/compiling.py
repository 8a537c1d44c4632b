"""Compiles what the points of a sweep need before they are computed, so that no two processes compile the same.

Each unit of code is compiled by one process and kept in the cache, where the others find it; processes compile
different units side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from rdmacc.engine.select import why_not_compiled
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.simulation import is_checked
from rdmacc.sweep.fingerprint import PointLike

__all__ = ["compile_hooks", "compile_kernel", "units_of"]


def units_of(points: Iterable[PointLike]) -> list[Callable[[], None]]:
    """Return what compiles the units of code that points need, that which takes longest first.

    Parameters
    ----------
    points : iterable of Point
        The points to compute. What a point without a scenario simulates is not known here.

    Returns
    -------
    list of callable
        They can be pickled.
    """
    needed: dict[object, Callable[[], None]] = {}
    for point in points:
        if point.scenario is not None:
            scheme = as_scheme(point.scenario.scheme)
            checked = is_checked(scheme, point.scenario.check)
            parts = tuple((type(part), *part.handlers()) for part in scheme.components)
            needed[parts, scheme.tick_ps > 0, checked] = partial(compile_hooks, scheme, checked=checked)
    return [compile_kernel, *needed.values()]


def compile_kernel() -> None:
    """Compile the kernel, if the cache does not have it and it can be compiled here."""
    if not why_not_compiled():
        from rdmacc.engine.compiled.build import compiled_kernel

        compiled_kernel()


def compile_hooks(scheme: Scheme, *, checked: bool) -> None:
    """Compile a scheme's hooks, if the cache does not have them and they can be compiled here.

    Parameters
    ----------
    scheme : Scheme
        Whose.
    checked : bool
        With the checks of handlers that are not rdmacc's own.

    Raises
    ------
    CompileError
        If a handler cannot be compiled.
    """
    if not why_not_compiled():
        from rdmacc.engine.compiled.hooks import CompiledHooks
        from rdmacc.engine.compiled.layout import Layout

        CompiledHooks(scheme, Layout.of(scheme), is_checked=checked)
