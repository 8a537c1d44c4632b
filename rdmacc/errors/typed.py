"""Checks of calls: a public function called with a wrong name or type raises a ConfigError that names the argument.

The annotations define what is allowed; `typed` reads them once, at the first call. `named` checks names alone.
Functions check ranges themselves.
"""

import dataclasses
import inspect
import math
import re
import sys
import typing
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, wraps
from importlib import import_module
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from rdmacc.errors import ConfigError, unknown

_P = ParamSpec("_P")
_R = TypeVar("_R")

_LATE = {
    "Any": "typing:Any",
    "Axes": "matplotlib.axes:Axes",
    "Fabric": "rdmacc.topology.fabric:Fabric",
    "Graph": "rdmacc.topology:Graph",
    "nx": "networkx:",
    "Sequence": "collections.abc:Sequence",
    "Result": "rdmacc.results.result:Result",
    "Probe": "rdmacc.probes:Probe",
}
"""Origin, as "module:name", of names that modules import only for type checking."""


_RENAMED = {
    "graph": "network", "topology": "network", "work": "workload", "sizes": "size", "window": "jitter",
    "spine_rate": "fabric_rate", "node": "hosts_per_node", "start_unit": "unit",
}  # fmt: skip
"""Former names of arguments: an error names the new word."""


@dataclass(frozen=True)
class _Kind:
    """The values that an annotation allows: a test, and a phrase that follows "must be"."""

    accepts: Callable[[Any], bool]
    words: str


def typed(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Check the arguments of each call against the function's annotations.

    >>> @typed
    ... def double(count: int) -> int:
    ...     return 2 * count
    >>> double("3")
    Traceback (most recent call last):
    ...
    rdmacc.errors.ConfigError: count = '3': must be a whole number
    """
    return _checking(function, has_types=True)


def named(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Check the names of the arguments of each call, but not their types, for which the function has better messages.

    >>> @named
    ... def wait(jitter):
    ...     return jitter
    >>> wait(jiter="1us")
    Traceback (most recent call last):
    ...
    rdmacc.errors.ConfigError: wait() = 'jiter': must be the name of an argument; did you mean 'jitter'?
    """
    return _checking(function, has_types=False)


def _checking(function: Callable[_P, _R], has_types: bool) -> Callable[_P, _R]:
    code: Any = getattr(function, "__code__", None)
    most = code.co_argcount if code else 0  # with up to this many, all by position, there is nothing to check

    @wraps(function)
    def checked(*given: _P.args, **by_name: _P.kwargs) -> _R:
        if by_name or len(given) > most:
            _check_names(function, given, by_name)
        if has_types:
            places, others, known = _arguments(function)
            for number, value in enumerate(given):
                _check(*(places[number] if number < len(places) else others), value)
            for name, value in by_name.items():
                if name in known:
                    _check(name, known[name], value)
        return function(*given, **by_name)

    return checked


def unknown_name(of: str, name: str, known: Sequence[str], noun: str) -> ConfigError:
    """Return the error for an argument that a function or a class does not have; a renamed one gets its new name."""
    new = _RENAMED.get(name)
    if new in known:
        return ConfigError(of, name, f"written {new!r}: the name has changed")
    return unknown(of, name, known, noun)


def _check_names(function: Any, given: tuple[Any, ...], by_name: Mapping[str, Any]) -> None:
    most, names, takes_all = _names(function)
    strange = () if takes_all else [name for name in by_name if name not in names]
    if len(given) <= most and not strange:
        return
    shown = f"{function.__qualname__.removesuffix('.__init__').rpartition('.')[2]}()"
    if len(given) > most:
        later = ", ".join(f"{name}=..." for name in names[int(most) :])
        raise ConfigError(shown, given[int(most)], f"given by name: {later}" if later else f"one of {most} values")
    known = [name for name in names if name != "self"]
    raise unknown_name(shown, next(iter(strange)), known, "the name of an argument")


@lru_cache(None)
def _names(function: Any) -> tuple[float, tuple[str, ...], bool]:
    """Return how many arguments a function takes by position, all their names, and whether it takes any name."""
    all_of_them = inspect.signature(function).parameters.values()
    kinds = [one.kind for one in all_of_them]
    names = tuple(one.name for one in all_of_them if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    by_place = kinds.count(inspect.Parameter.POSITIONAL_ONLY) + kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)
    most = math.inf if inspect.Parameter.VAR_POSITIONAL in kinds else by_place
    return most, names, inspect.Parameter.VAR_KEYWORD in kinds


def check_types(owner: Any) -> None:
    """Check the fields of a dataclass against their annotations; call it in ``__post_init__``."""
    kind: Any = type(owner)
    for name, allowed in _fields(kind):
        _check(f"{kind.__name__}.{name}", allowed, getattr(owner, name))


def checked_flag(field: str, value: object, allowed: str = "True or False") -> bool:
    """Return a bool, NumPy's too, as Python's; raise a ConfigError for anything else."""
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(field, value, allowed)
    return bool(value)


def _check(name: str, allowed: _Kind, value: object) -> None:
    if not allowed.accepts(value):
        shown = value if isinstance(value, _PLAIN) else type(value).__name__
        raise ConfigError(name, shown, allowed.words)


@lru_cache(None)
def _arguments(function: Any) -> tuple[list[tuple[str, _Kind]], tuple[str, _Kind], dict[str, _Kind]]:
    """Return the allowed types by position, for further positions, and by name."""
    places, others, by_name = [], ("", _ANYTHING), {}
    for one in inspect.signature(function).parameters.values():
        allowed = _allowed(one.annotation, vars(sys.modules[function.__module__]))
        if one.kind == one.VAR_POSITIONAL:
            others = (one.name, allowed)
        elif one.kind != one.VAR_KEYWORD:
            by_name[one.name] = allowed
            if one.kind != one.KEYWORD_ONLY:
                places.append((one.name, allowed))
    return places, others, by_name


@lru_cache(None)
def _fields(kind: type[Any]) -> list[tuple[str, _Kind]]:
    names = vars(sys.modules[kind.__module__])
    return [(one.name, _allowed(one.type, names)) for one in dataclasses.fields(kind)]


_BRACKETS = re.compile(r"\b((?:nx|pd)\.\w+)\[[^][]*\]")
"""Annotations with brackets that most of these classes accept only in type checking, not at run time."""


class _Names(dict[str, Any]):
    """The names of a module, and those that it imports only for type checking."""

    def __missing__(self, name: str) -> Any:
        if name not in _LATE:
            return getattr(import_module("builtins"), name)
        module, _, name = _LATE[name].partition(":")
        return getattr(import_module(module), name) if name else import_module(module)


def _allowed(value: Any, names: Mapping[str, Any]) -> _Kind:
    """Return what an annotation in a module with these names allows."""
    if isinstance(value, str):
        value = eval(_BRACKETS.sub(r"\1", value), {}, _Names(names))
    if value is None or value is NoneType:
        return _Kind(lambda one: one is None, "None")
    if value in _SIMPLE:
        return _SIMPLE[value]
    origin, inner = typing.get_origin(value), typing.get_args(value)
    if origin in (typing.Union, UnionType):
        return _either([_allowed(one, names) for one in inner])
    kind: Any = origin or value
    if kind in _SIMPLE or not isinstance(kind, type):
        return _SIMPLE.get(kind, _ANYTHING)
    held = [_allowed(one, names) for one in inner if one is not ...]
    return _container(kind, held, is_fixed=... not in inner)


def _container(kind: Any, held: Sequence[_Kind], is_fixed: bool) -> _Kind:
    """Return what a container class allows, given the kinds of its elements; a fixed tuple has one element of each."""
    if issubclass(kind, tuple) and held and is_fixed:
        words = f"a tuple ({', '.join(one.words for one in held)})"
        return _Kind(lambda given: _is_tuple_of(given, held), words)
    if kind is Sequence or issubclass(kind, list | tuple):
        each = held[0] if held else _ANYTHING
        words = f"a list, each {each.words}" if held else "a list"
        return _Kind(lambda given: _is_list(given) and all(map(each.accepts, given)), words)
    if kind.__module__ in ("builtins", "collections.abc"):
        words = {"Mapping": "a mapping", "dict": "a dict", "set": "a set"}.get(kind.__name__, "a list")
        return _Kind(lambda given: isinstance(given, kind) and not isinstance(given, str | bytes), words)
    package = kind.__module__.partition(".")[0]
    name = kind.__name__ if package == "rdmacc" else f"{package}.{kind.__name__}"
    return _Kind(lambda given: isinstance(given, kind), f"{'an' if name[0] in 'AEIO' else 'a'} {name}")


def _either(kinds: Sequence[_Kind]) -> _Kind:
    by_words: dict[str, _Kind] = {}
    for one in kinds:
        by_words.setdefault(one.words, one)  # a number of a quantity is wider than a float
    for wide, narrow in (("a path", "a string"), ("a number", "a whole number")):
        if wide in by_words:
            by_words.pop(narrow, None)
    accepts = [one.accepts for one in by_words.values()]
    return _Kind(lambda given: any(one(given) for one in accepts), " or ".join(by_words))


def _is_list(given: Any) -> bool:
    """Return whether a value is a sequence; arrays and columns of frames count."""
    return (isinstance(given, Sequence | range) and not isinstance(given, str | bytes | memoryview)) or (
        hasattr(given, "__array__") and getattr(given, "ndim", 0) == 1
    )  # fmt: skip


def _is_tuple_of(given: Any, held: Sequence[_Kind]) -> bool:
    return (
        isinstance(given, tuple | list)
        and len(given) == len(held)
        and all(one.accepts(value) for one, value in zip(held, given, strict=True))
    )


def _is_hashable(given: Any) -> bool:
    try:
        hash(given)
    except TypeError:
        return False
    return True


def _is_whole(given: Any) -> bool:
    return isinstance(given, Integral) and not isinstance(given, bool) and -(2**63) <= int(given) < 2**63


def _is_float(given: Any) -> bool:
    return isinstance(given, float | np.floating) or (_is_whole(given) and not isinstance(given, np.bool_))


def _are_numbers(given: Any) -> bool:
    try:
        return not isinstance(given, str) and np.asarray(given, np.float64).ndim >= 0
    except (TypeError, ValueError, OverflowError):
        return False


_PLAIN = (str, int, float, complex, bytes, list, tuple, dict, set, NoneType, np.generic)
"""Types whose values an error shows; for any other, it shows the type's name."""
_ANYTHING = _Kind(lambda _: True, "anything")
_NUMBER = _Kind(lambda given: isinstance(given, Real | Decimal) and not isinstance(given, bool | np.bool_), "a number")
_PATH = _Kind(lambda given: isinstance(given, str | PathLike) and "\0" not in str(given), "a path")
_SIMPLE: dict[Any, _Kind] = {
    **dict.fromkeys((inspect.Parameter.empty, Any, object), _ANYTHING),
    **dict.fromkeys((Real, Decimal), _NUMBER),
    **dict.fromkeys((Path, PathLike), _PATH),
    int: _Kind(_is_whole, "a whole number"),
    float: _Kind(_is_float, "a number"),
    bool: _Kind(lambda given: isinstance(given, bool | np.bool_), "True or False"),
    str: _Kind(lambda given: isinstance(given, str), "a string"),
    Hashable: _Kind(_is_hashable, "a name: a string or a number"),
    Callable: _Kind(callable, "a function"),
    npt.ArrayLike: _Kind(_are_numbers, "numbers"),
}
