"""Compiles the kernel, or loads what was compiled before."""

import logging
import time
from functools import cache
from types import SimpleNamespace
from typing import Any

from rdmacc.caching.sources import patched, taint
from rdmacc.engine.compiled.kernel import loop as kernel
from rdmacc.engine.compiled.kernel.messages import add_message
from rdmacc.engine.compiled.kernel.windows import run_windows
from rdmacc.engine.compiled.machine_code.address import IN_TIME, PLAIN, SILENT
from rdmacc.engine.compiled.machine_code.cache import cache_folder, is_kept, kept
from rdmacc.engine.compiled.machine_code.units import MachineCode, object_code

_log = logging.getLogger(__name__)


_Entries = dict[str, tuple[Any, str, str]]

_ENTRIES: _Entries = {
    "run": (kernel.run_kernel, "int64(int64, int64, int64)", IN_TIME),
    "run_plain": (kernel.run_kernel, "int64(int64, int64, int64)", PLAIN + SILENT + IN_TIME),
    "run_windows": (run_windows, "int64(int64, int64, int64)", PLAIN + SILENT),
    "call_rows": (kernel.call_rows, "int64(int64, int64, int64, int64, int64, int64, int64)", ""),
    "add_message": (add_message, "void(int64, int64)", ""),
    "fail_message": (kernel.fail_message, "void(int64, int64, int64)", ""),
    "find_nodes": (kernel.find_nodes, "void(int64, int64, int64, int64)", ""),
    "move_packets": (kernel.move_packets, "void(int64, int64, int64)", ""),
    "push_events": (kernel.push_events, "void(int64, int64, int64)", ""),
    "fault_port": (kernel.fault_port, "void(int64, int64, int64)", ""),
}
"""The kernel's entry points: source, types, and what each is linked with."""

_NOTING = {
    name: (function, signature, definitions.replace(SILENT, ""))
    for name, (function, signature, definitions) in _ENTRIES.items()
    if SILENT in definitions
}
"""Those that can keep a trace."""


class Kernel(SimpleNamespace):
    """The entry points as functions for Python, as `rdmacc.engine.compiled.kernel.loop` describes them.

    `run_plain` and `run_windows` are for simulations without features (`machine_code.address`); `run_beside` is
    `run_windows` for one of several threads.
    """

    def __init__(self, unit: str, entries: _Entries) -> None:
        code = _loaded(unit, entries)
        for name, (_, signature, _) in entries.items():
            setattr(self, name, code.function(name, signature))
        self.run_beside = code.function("run_windows", entries["run_windows"][1], is_alone=False)


@cache
def compiled_kernel() -> Kernel:
    """Return the kernel, compiled now if this version of the sources has never run here."""
    return Kernel("kernel", _ENTRIES)


@cache
def noting_kernel() -> Kernel:
    """Return the kernel whose plain loops, too, keep a trace and what explanations need."""
    noting = Kernel("noting", _NOTING)
    vars(noting).update(vars(compiled_kernel()) | vars(noting))
    return noting


def _loaded(unit: str, entries: _Entries) -> MachineCode:
    changed = patched()
    if changed:  # even if that is undone later, this kernel stays
        taint(changed)
    is_new = not is_kept(unit)
    begin = time.perf_counter()
    if is_new:
        _log.warning("rdmacc: compiling the simulation kernel; this takes 10 to 20 s, once per version")
    code = MachineCode(kept(unit, lambda: _compile(entries)).values(), entries)
    if is_new:
        where = f"later runs load it from {cache_folder()}" if cache_folder() else "it is not cached"
        _log.warning("rdmacc: compiled in %.1f s; %s", time.perf_counter() - begin, where)
    return code


def _compile(entries: _Entries) -> dict[str, bytes]:
    """Compile each entry on its own, so that what only it calls is inlined."""
    return {
        name: object_code({name: function}, signature, definitions)
        for name, (function, signature, definitions) in entries.items()
    }
