"""Python's collector of cycles, which looks at every object now and then, stands aside while much is made."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the collector off meanwhile; as it was before, afterwards. Also a decorator: ``@uncollected()``."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
