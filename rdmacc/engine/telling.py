"""What an engine is told from outside while it runs, kept so that it can be told again."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

Told = list[tuple[int, str, tuple[Any, ...]]]
"""Times, names of methods, and their arguments."""


_Method = TypeVar("_Method", bound=Callable[..., None])


def told(method: _Method) -> _Method:
    """Decorate a method that changes an engine from outside: its calls are kept in the engine's `told`."""

    @wraps(method)
    def telling(self: Any, *args: Any) -> None:
        self.told.append((self.now, method.__name__, args))
        method(self, *args)

    return telling  # type: ignore[return-value]
