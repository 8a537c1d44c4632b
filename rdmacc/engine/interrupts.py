"""Ctrl-C while an engine's tables change: the interrupt waits until they are whole again."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts() -> Iterator[None]:
    """Let Ctrl-C take effect after the block only. Also a decorator: ``@held_interrupts()``.

    A run that is interrupted can be continued, so none of its steps may be left half done. Python raises
    `KeyboardInterrupt` in the main thread alone, after any instruction.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda *arguments: held.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held and callable(before):
            before(*held[0])
