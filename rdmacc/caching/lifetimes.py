"""A cache of pure functions' results by content.

Content means values and types, not identity, so an edited object has different content. Only plain values have
comparable content: numbers, strings, tuples, lists, dicts, sets, and frozen dataclasses of these. A result of anything
else is computed again each time.
"""

import dataclasses
import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T")

_LONGEST = 2**18  # bytes of content: results of more would take too much memory

_PARTS = (tuple, np.dtype, np.float64(0).__reduce__()[0])
"""Functions that appear in pickles of plain values and NumPy numbers."""


class Kept:
    """A cache of the most recent results, keyed by content."""

    def __init__(self, most: int = 8) -> None:
        self._most, self._made, self._lock = most, OrderedDict[Hashable, Any](), Lock()

    def get(self, content: Hashable | None, make: Callable[[], _T]) -> _T:
        """Return the result cached for this content, or make it. With None, nothing is cached."""
        if content is None:
            return make()
        with self._lock:
            if content in self._made:
                self._made.move_to_end(content)
                found: _T = self._made[content]
                return found
        made = make()
        with self._lock:
            self._made[content] = made
            if len(self._made) > self._most:
                self._made.popitem(last=False)
        return made

    def take(self, content: Hashable) -> Any:
        """Remove the result cached for this content and return it, or None if there is none."""
        with self._lock:
            return self._made.pop(content, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (self._most,)


class _NotPlainError(Exception):
    """Raised for a value that might change unnoticed."""


class _Content(pickle.Pickler):
    """Pickles plain values. A dataclass is identified by its class, not by its name, which another class may share."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 5)
        self.kinds: list[type] = []

    def reducer_override(self, value: Any) -> Any:
        kind = type(value)
        if value in _PARTS if isinstance(value, type) or callable(value) else isinstance(value, np.generic | np.dtype):
            return NotImplemented
        if value is getattr(sys.modules.get("pandas"), "NA", _NotPlainError):
            return NotImplemented
        parameters = getattr(kind, "__dataclass_params__", None)
        if parameters is None or not parameters.frozen or not hasattr(value, "__dict__"):
            raise _NotPlainError
        self.kinds.append(kind)
        return tuple, ((id(kind),),), vars(value)


def content_of(*values: Any) -> Hashable | None:
    """Return a key for the content of values; None if they are not plain, or too long."""
    file = io.BytesIO()
    pickler = _Content(file)
    try:
        pickler.dump(values)
    except (_NotPlainError, pickle.PicklingError, RecursionError):
        return None
    return (file.getvalue(), *pickler.kinds) if file.tell() <= _LONGEST else None


def frozen(owner: Any) -> Any:
    """Make a dataclass's arrays read-only, since it is shared, and return it."""
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return owner
