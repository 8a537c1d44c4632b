"""Compile the code that a sweep needs in advance, so that no two processes compile the same code.

One process compiles each unit of code and stores it in the cache, where the others find it. Processes compile different
units in parallel.
"""

from collections.abc import Callable, Iterable
from functools import partial

from rdmacc.engine.select import why_not_compiled
from rdmacc.schemes import Scheme, as_scheme
from rdmacc.simulation import is_checked
from rdmacc.sweep.fingerprint import PointLike


def units_of(points: Iterable[PointLike]) -> list[Callable[[], None]]:
    """Return the functions that compile the code for some points, the slowest first."""
    needed: dict[object, Callable[[], None]] = {}
    for point in points:
        if point.scenario is not None:
            scheme = as_scheme(point.scenario.scheme)
            checked = is_checked(scheme, point.scenario.check)
            parts = tuple((type(part), *part.handlers()) for part in scheme.components)
            needed[parts, scheme.tick_ps > 0, checked] = partial(compile_hooks, scheme, checked=checked)
    return [compile_kernel, *needed.values()]


def compile_kernel() -> None:
    """Compile the kernel, unless the cache has it or it cannot be compiled here."""
    if not why_not_compiled():
        from rdmacc.engine.compiled.machine_code.build import compiled_kernel

        compiled_kernel()


def compile_hooks(scheme: Scheme, *, checked: bool) -> None:
    """Compile a scheme's hooks, unless the cache has them or they cannot be compiled here."""
    if not why_not_compiled():
        from rdmacc.engine.compiled.machine_code.hooks import CompiledHooks
        from rdmacc.engine.compiled.tables.layout import Layout

        CompiledHooks(scheme, Layout.of(scheme), is_checked=checked)
