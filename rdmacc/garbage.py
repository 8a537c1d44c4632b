"""Turn off Python's cycle collector while many objects are created, because it would scan all of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Yield with the collector switched off, then restore its state. Also a decorator: ``@uncollected()``."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
