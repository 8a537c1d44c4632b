"""Exceptions of compiled handlers, and what the compiler has against a handler.

The kernel calls hooks by their addresses, so that an exception cannot pass through it: Numba hands it to
`sys.unraisablehook`. There it is kept, what the handler has left in the records is made harmless, and the kernel ends
with the event under way, since it then sees no unfinished message.
"""

from __future__ import annotations

import ctypes
import linecache
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from rdmacc.engine.compiled.tables.layout import MESSAGE
from rdmacc.errors import CompileError
from rdmacc.handlers.checked import explain
from rdmacc.handlers.hooks import Call
from rdmacc.interface import CONTROL, CREDITS, DATA_CLASS, NUM_CLASSES

_HALTED = 2**60


class Catcher:
    """Catches what handlers raise while the kernel runs; `raised` is the first exception."""

    __slots__ = "_before", "_engine", "_trail", "raised"

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.raised: BaseException | None = None
        self._trail: dict[str, Any] | None = None

    def __enter__(self) -> Catcher:
        self._before = sys.unraisablehook
        sys.unraisablehook = self._take
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        sys.unraisablehook = self._before
        if self.raised is not None and not self._engine.globals["node_bits"]:
            self._engine.globals["unfinished"] += _HALTED

    def raise_again(self) -> None:
        if self.raised is None:
            return
        engine, raised = self._engine, self.raised
        if self._trail is not None and self._trail["handler"] >= 0:
            raise engine.hooks.checks.explain(self._trail, raised, engine.now) from None
        raise (explain(engine.plan.scheme.components, raised, engine.now) or raised) from None

    def _take(self, unraisable: Any) -> None:
        if "numba" not in str(unraisable.object) or unraisable.exc_value is None:
            self._before(unraisable)
            return
        trail = self._engine.trail
        if self.raised is None:
            self.raised = unraisable.exc_value
            if self._engine.globals["node_bits"]:
                self._engine.globals["is_halted"] = 1
                if trail is not None:  # one thread: its node does no more
                    self._engine.queue.empty_heap()
            else:
                self._engine.globals["unfinished"] -= _HALTED
            if trail is not None:
                self._trail = {name: trail[name] for name in trail.dtype.names}
        if trail is not None:
            self._make_harmless(trail)

    def _make_harmless(self, trail: Any) -> None:
        """End the current event safely: the handler may have written numbers that the kernel cannot use."""
        packets = self._engine.layout.packet
        for name in ("packet_row", "reply_row", "notice_row"):
            if trail[name]:
                packet = _row_at(int(trail[name]), packets)
                if name != "packet_row":
                    packet["kind"] = 0
                if not CREDITS <= packet["priority"] < NUM_CLASSES:
                    packet["priority"] = CONTROL
                packet["verdict"], packet["route"] = 0, -1
                packet["path"] = max(int(packet["path"]), 0)
                if not 0 <= packet["wire_bytes"] < 2**24:
                    packet["wire_bytes"] = 1
                if not 0 <= packet["message"] < len(self._engine.messages):
                    packet["message"] = 0
        if trail["message_row"]:
            message = _row_at(int(trail["message_row"]), MESSAGE)
            for name in ("next_psn", "una_psn", "granted_psn", "received_packets"):
                message[name] = min(max(int(message[name]), 0), int(message["packets"]))
            if not DATA_CLASS <= message["priority"] < NUM_CLASSES:
                message["priority"] = DATA_CLASS
        self._engine.hosts["pick"] = self._engine.hosts["announce"] = 0


def _row_at(address: int, dtype: np.dtype[np.void]) -> Any:
    memory: Any = (ctypes.c_char * dtype.itemsize).from_address(address)
    return np.frombuffer(memory, dtype)[0]


if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

_PLACES = re.compile(r'File "(.+?)", line (\d+)')


def compile_error(scheme: Scheme, hook: str, calls: Mapping[str, Call], error: Exception) -> CompileError:
    message = str(error)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith(("Failed", "File", "During", "-"))), repr(error))
    for path, number in _PLACES.findall(message):
        for call in calls.values():
            if _is_in(call, path, int(number)):
                file = call.function.__code__.co_filename
                name = f"{type(scheme.components[call.component]).__name__}.{call.name}"
                return CompileError(name, reason, int(number), linecache.getline(file, int(number)).strip(), file)
    return CompileError(f"{scheme.name}: {hook}", reason)


def _is_in(call: Call, path: str, line: int) -> bool:
    code = call.function.__code__
    lines = [number for *_, number in code.co_lines() if number]
    return Path(path).name == Path(code.co_filename).name and min(lines) <= line <= max(lines)
