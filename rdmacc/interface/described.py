"""Docstrings and signatures written from declarations: of classes with parameters, of functions that share arguments.

``help(Nccl)``, a notebook's ``Nccl?`` and the API page show each parameter with its kind, default, bounds, meaning,
symbol and source.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from textwrap import fill, indent
from typing import Any, TypeVar, cast

from rdmacc.errors.typed import named
from rdmacc.units import format_rate, format_size, format_time

_FORMATS: dict[str, tuple[str, Callable[..., str]]] = {
    "ps": ("time", format_time),
    "bps": ("rate", format_rate),
    "bytes": ("size", format_size),
}


_Function = TypeVar("_Function", bound=Callable[..., Any])
_PARAMETERS = "Parameters\n----------\n"


def describes(**meanings: str) -> Callable[[_Function], _Function]:
    """Complete docstrings with arguments that several functions share, each as "kind: meaning"."""

    def complete(function: _Function) -> _Function:
        text = inspect.cleandoc(function.__doc__ or "")
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        stars = dict.fromkeys(
            code.co_varnames[count : count + 1] if code.co_flags & inspect.CO_VARKEYWORDS else (), "**"
        )
        names = (name for name in (*code.co_varnames[:count], *stars) if name in meanings)
        missing = (name for name in names if not re.search(rf"^(\w+, )*(\*\*)?{name}(, \w+)* : ", text, re.M))
        parts = ((stars.get(name, "") + name, *meanings[name].partition(": ")[::2]) for name in missing)
        rows = "\n".join(f"{name} : {kind}\n{indent(fill(meaning, 96), '    ')}" for name, kind, meaning in parts)
        heading = re.search(r"^\w+\n---+$", text, re.M)
        before, after = (text[: heading.start()].rstrip(), text[heading.start() :]) if heading else (text, "")
        own, _, rest = after.removeprefix(_PARAMETERS).partition("\n\n")
        if after.startswith(_PARAMETERS):
            rows, after = "\n".join(filter(None, (own, rows))), rest
        function.__doc__ = f"{before}\n\n{_PARAMETERS}{rows}" + (f"\n\n{after}" if after else "")
        return function

    return complete


def named_with(**meanings: str) -> Callable[[_Function], _Function]:
    """Return a decorator for functions that share arguments: as `describes`, and `named` checks each call."""
    complete = describes(**meanings)

    def checked(function: _Function) -> _Function:
        return cast(_Function, named(complete(function)))

    return checked


class Doc:
    """The docstring of a dataclass: its own text, followed by its parameters."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, owner: object, kind: type[Any]) -> str:
        fields = [one for one in _complete(kind) if one.init and "doc" in one.metadata]
        if not fields or "Parameters\n" in self.text:
            return self.text
        rows = [f"{one.name} : {_kind(one)}\n{indent(fill(_meaning(one.metadata), 96), '    ')}" for one in fields]
        return f"{inspect.cleandoc(self.text)}\n\nParameters\n----------\n" + "\n".join(rows)


class Signature:
    """The signature of a dataclass, with defaults as users write them."""

    def __get__(self, owner: object, kind: type[Any]) -> inspect.Signature:
        fields = _complete(kind)
        if not fields:
            raise AttributeError("__signature__")  # not a dataclass yet: Python finds out itself
        return inspect.Signature(
            [
                inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=_default(one))
                for one in fields
                if one.init
            ]
        )


def _complete(kind: type[Any]) -> tuple[dataclasses.Field[Any], ...]:
    """Return the fields of a finished dataclass; `dataclass` itself reads docstring and signature while it works."""
    return dataclasses.fields(kind) if "__match_args__" in vars(kind) else ()


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    if field.default is dataclasses.MISSING:
        return inspect.Parameter.empty
    return _written(field.default, field.metadata)


def _written(value: Any, metadata: Mapping[str, Any]) -> Any:
    """Return a value in base units as a user would give it."""
    unit = metadata.get("unit", "")
    if metadata.get("is_vector"):
        return tuple(_written(one, {**metadata, "is_vector": False}) for one in value)
    if metadata.get("is_optional") and value == 0:
        return None
    if unit not in _FORMATS:
        return getattr(value, "value", value)
    return _FORMATS[unit][1](getattr(value, "value", value), None)


def _kind(field: dataclasses.Field[Any]) -> str:
    """Return a parameter's kind, default and bounds."""
    about, unit = field.metadata, field.metadata["unit"]
    value = field.default[0] if about["is_vector"] and field.default else field.default  # type: ignore[index]
    value = getattr(value, "value", value)
    if about["choices"]:
        words = "{" + ", ".join(map(repr, about["choices"])) + "}"
    elif unit in _FORMATS:
        words = _FORMATS[unit][0]
    else:
        words = f"{type(value).__name__} ({unit})" if unit else type(value).__name__
    if about["is_vector"]:
        words = f"list of {words}"
    if about["is_optional"]:
        words += " or None"
    parts = [words, f"default {_default(field)!r}"]
    scaled: Any = field.default
    if hasattr(scaled, "rule"):
        parts[-1] += f" at {scaled.where()}, scaled {scaled.rule()}"
    for word, bound in (("at least", about["low"]), ("at most", about["high"])):
        if bound is not None:
            parts.append(f"{word} {_FORMATS[unit][1](bound, None) if unit in _FORMATS else f'{bound:g}'}")
    return ", ".join(parts)


def _meaning(about: Mapping[str, Any]) -> str:
    """Return what a parameter does, its symbol and equation in the paper, and its source."""
    notes = [about["doc"][:1].upper() + about["doc"][1:]]
    notes += [f"{word} {about[key]}" for word, key in (("Symbol", "symbol"), ("Equation", "equation")) if about[key]]
    notes += [f"Source: {about['source']}"] if about["source"] else []
    return ". ".join(note.rstrip(".") for note in notes) + "."
