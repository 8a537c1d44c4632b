"""How long objects live: results of pure functions are kept by content, and the cycle collector can be switched off.

Content is values with their types, not identity: what has been edited has other content. Only plain values have content
that can be compared: numbers, texts, tuples, lists, dicts, sets, frozen dataclasses of these. What was made of anything
else is made again.
"""

import dataclasses
import gc
import io
import pickle
import sys
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T")

_LONGEST = 2**18  # bytes of content: what was made of more takes too much memory to be kept

_PARTS = (tuple, np.dtype, np.float64(0).__reduce__()[0])
"""Functions that pickles of plain values and of NumPy's numbers name."""


class Kept:
    """The last results, by the content that they were made of."""

    def __init__(self, most: int = 8) -> None:
        self._most, self._made, self._lock = most, OrderedDict[Hashable, Any](), Lock()

    def get(self, content: Hashable | None, make: Callable[[], _T]) -> _T:
        """Return what was made of this content, or make it. None is no content: nothing is kept."""
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
        """Return what was made of this content, which is not kept any longer; None if nothing was."""
        with self._lock:
            return self._made.pop(content, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (self._most,)


class _NotPlainError(Exception):
    """Raised for a value that might change unseen."""


class _Content(pickle.Pickler):
    """Pickles plain values. A dataclass counts by its class, not by its name, which another one may have."""

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
    """Return what tells values from all others; None if they are not plain, or long."""
    file = io.BytesIO()
    pickler = _Content(file)
    try:
        pickler.dump(values)
    except (_NotPlainError, pickle.PicklingError, RecursionError):
        return None
    return (file.getvalue(), *pickler.kinds) if file.tell() <= _LONGEST else None


def frozen(owner: Any) -> Any:
    """Return a dataclass whose arrays can no longer be written: it is shared."""
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return owner


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the cycle collector off while many objects are made: it would scan all. Also a decorator."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
