"""Every public object says what it is for, what it takes, what it gives and what it raises.

Public is what users import: the names of the modules that docs/api.md lists (their ``__all__``, or what they define),
and the public methods of the classes among them. What only rdmacc itself calls needs a sentence at most. The rules:

- everything has a docstring; a method that overrides a documented one with the same arguments may leave it at that one,
  and a handler (`on_*`) at what `rdmacc.component` says of its hook and of its arguments;
- a function with arguments has a Parameters section that names each of them, but for those that a paragraph of its
  class ("All methods take `ax`, ... They return ...") describes for all of its methods;
- a dataclass describes each of its fields: in Attributes or Parameters, in a string below
  it, or in the `doc` of `param` and `parameter`;
- a function that returns something has a Returns or Yields section, or its summary begins with a verb such as Return;
- a function whose own body raises one of our errors has a Raises section that names it;
- a number that is a quantity has its unit in its name, or in its description.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import itertools
import pkgutil
import re
import textwrap
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import Protocol

import rdmacc

FACES = re.findall(
    r"^   (rdmacc\.(?!experiments)[\w.]+)$", (Path(__file__).parents[2] / "docs" / "api.md").read_text(), re.MULTILINE
)
SECTION = re.compile(r"^(Parameters|Attributes|Returns|Yields|Raises)\n-+\n", re.MULTILINE)
HEADING = re.compile(r"^\S.*\n-+$", re.MULTILINE)
UNITS = re.compile(
    r"_(ps|ns|us|s|bps|gbps|bytes|packets|rtts|rad|hz|degrees|seconds)(_|$)|per_|bandwidth_share|fraction|share|count"
)
QUANTITY = re.compile(
    r"(^|_)(time|delay|duration|period|interval|timeout|rate|bandwidth|size|queue|window|length|rtt|threshold)$"
)
SAYS_UNIT = re.compile(
    r"\bps\b|picosecond|second|\bns\b|b/s|bit/s|bits? per|byte|packet|\bRTT|degree|\bms\b|unit|fraction|share"
    r"|[Nn]umber of|[Rr]ounds|``\"|\b1/s\b|base"
)


def shown(name):
    """Yield the public objects of a face: of protocols and switches, the components that their modules define."""
    face = importlib.import_module(name)
    if hasattr(face, "__all__"):
        yield from (getattr(face, key) for key in face.__all__)
        return
    for info in pkgutil.iter_modules(face.__path__, name + "."):
        module = importlib.import_module(info.name)
        yield from (v for v in vars(module).values() if isinstance(v, type) and issubclass(v, rdmacc.Component))


def plain(value):
    """Return the Python function under a static method, a class method, a wrapper or a compiled function, or None."""
    if isinstance(value, staticmethod | classmethod):
        value = value.__func__
    value = inspect.unwrap(getattr(value, "py_func", value)) if callable(value) else value
    return value if isinstance(value, FunctionType) else None


@functools.cache
def public():
    """Return functions and classes by their full names, and the class of each method."""
    found = {}
    for value in itertools.chain.from_iterable(map(shown, FACES)):
        home = getattr(value, "__module__", None)
        if not isinstance(home, str) or not home.startswith("rdmacc"):
            continue
        if inspect.isclass(value):
            found[f"{home}.{value.__qualname__}"] = (value, None)
            for key, member in vars(value).items():
                function = plain(member)
                if function and not key.startswith("_") and function.__module__ == home:
                    found[f"{home}.{function.__qualname__}"] = (function, value)
        elif function := plain(value):
            found[f"{home}.{function.__qualname__}"] = (function, None)
    return found


def functions():
    return {name: pair for name, pair in public().items() if isinstance(pair[0], FunctionType)}


def classes():
    return {name: kind for name, (kind, _) in public().items() if inspect.isclass(kind)}


def arguments(function):
    names = inspect.signature(function).parameters
    return [name for name in names if name not in ("self", "cls") and not name.startswith("_")]


def text_of(function, owner):
    """Return a function's docstring; of an undocumented override with the same arguments, the overridden one's."""
    if function.__doc__ or owner is None:
        return inspect.cleandoc(function.__doc__ or "")
    for base in owner.__mro__[1:]:
        other = plain(vars(base).get(function.__name__))
        if other and other.__doc__ and arguments(other) == arguments(function):
            return inspect.cleandoc(other.__doc__)
    return ""


def overridden(function, owner):
    """Return the docstring of the method that a method overrides with the same arguments, or nothing."""
    for base in owner.__mro__[1:] if owner else ():
        other = plain(vars(base).get(function.__name__))
        if other and other.__doc__ and arguments(other) == arguments(function):
            return inspect.cleandoc(other.__doc__)
    return ""


def section(text, name):
    """Return a section's entries as {name: description}, without indentation; None if there is no such section."""
    for found in SECTION.finditer(text):
        if found[1] != name:
            continue
        body = text[found.end() :]
        end = HEADING.search(body)
        entries: dict[str, str] = {}
        names: list[str] = []
        for line in (body[: end.start()] if end else body).partition("\n\n")[0].splitlines():
            if line and not line.startswith(" "):
                head, _, kind = line.partition(" : ")
                names = [part.strip().lstrip("*") for part in head.split(",")]
                entries.update(dict.fromkeys(names, kind + " "))
            else:
                for entry in names:
                    entries[entry] += line.strip() + " "
        return entries
    return None


def shared(owner):
    """Return the paragraph of a class on what all of its methods take and return, or nothing."""
    found = (
        re.search(r"^All methods take .*?(?=\n\n|\Z)", inspect.cleandoc(owner.__doc__ or ""), re.S | re.M)
        if owner
        else None
    )
    return found[0] if found else ""


def raised(function):
    """Return the names of the errors that a function's own body raises."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    found, ahead = set(), list(ast.iter_child_nodes(tree))
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(node, ast.Try) and node.handlers:  # what it raises, it catches
            ahead += [*node.handlers, *node.orelse, *node.finalbody]
            continue
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            found.add(node.exc.func.id)
        ahead += ast.iter_child_nodes(node)
    return {name for name in found if isinstance(getattr(rdmacc, name, None), type)}


def problems(function, owner):
    if function.__name__.startswith("on_"):
        return []
    if not (own := text_of(function, owner)):
        return ["no docstring"]
    texts = [own, overridden(function, owner)]
    found, common = [], shared(owner)
    if names := arguments(function):
        described = functools.reduce(lambda a, b: {**b, **a}, [section(text, "Parameters") or {} for text in texts])
        found += [
            f"Parameters: {name} is missing" for name in names if name not in described and f"`{name}`" not in common
        ]
        if function.__doc__ and (stale := set(section(own, "Parameters") or {}) - {*names, *_wrapped(function)}):
            found.append(f"Parameters: {', '.join(sorted(stale))} do not exist")
        found += [
            f"Parameters: {name} without a unit"
            for name in names
            if QUANTITY.search(name)
            and not UNITS.search(name)
            and name in described
            and _is_number(function, name)
            and not SAYS_UNIT.search(described[name])
        ]
    gives = function.__annotations__.get("return") not in (None, "None")
    if (
        gives
        and "They return" not in common
        and not any(
            section(text, "Returns")
            or section(text, "Yields")
            or re.match(r"(Return|Yield|Tell|Say|Read|Load|Parse|Create|Convert|Combine)\b", text)
            for text in texts
        )
    ):
        found.append("no Returns")
    named = functools.reduce(lambda a, b: {**a, **b}, [section(text, "Raises") or {} for text in texts])
    found += [f"Raises: {error} is missing" for error in sorted(raised(function)) if error not in named]
    return found


def _wrapped(function):
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_KEYWORD]


def _is_number(function, name):
    return bool(re.search(r"\b(int|float)\b", str(function.__annotations__.get(name, ""))))


def test_functions_say_what_they_take_give_and_raise():
    assert {name: found for name, pair in functions().items() if (found := problems(*pair))} == {}


def field_docstrings(kind):
    """Return the names of the fields that a string stands below of, in a class and its bases."""
    names = set()
    for base in kind.__mro__[:-1]:
        if base.__module__.startswith("rdmacc"):
            body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body
            for line, below in pairwise(body):
                if isinstance(line, ast.AnnAssign) and isinstance(below, ast.Expr):
                    names.add(line.target.id)
    return names


def test_classes_say_what_they_hold():
    assert [name for name, kind in classes().items() if not vars(kind).get("__doc__")] == []
    assert {name: missing for name, kind in classes().items() if (missing := undescribed(kind))} == {}


def undescribed(kind):
    """Return the fields of a class that no docstring describes."""
    described: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if vars(base).get("__doc__"):
            for heading in ("Attributes", "Parameters"):
                described |= section(inspect.cleandoc(base.__doc__), heading) or {}
    if dataclasses.is_dataclass(kind):
        described |= dict.fromkeys(field_docstrings(kind), "")
        fields = [field for field in dataclasses.fields(kind) if field.init and not field.name.startswith("_")]
        return [f.name for f in fields if f.name not in described and not f.metadata.get("doc")]
    if "__init__" in vars(kind) and Protocol not in kind.__bases__:
        return [name for name in arguments(kind.__init__) if name not in described]
    return []


def test_the_test_sees_what_it_should():
    assert len(functions()) > 300
    assert len(classes()) > 80
    assert {"rdmacc.simulation.simulate", "rdmacc.models.rcp.RcpFluid.integrate"} <= set(functions())

    def bad(delay: float, size_bytes: int) -> int:
        """Do something.

        Parameters
        ----------
        delay : float
            How late.
        other : int
            Gone.
        """
        if size_bytes < 0:
            raise rdmacc_error(delay)
        raise ConfigError("size_bytes", 1, "must be less")

    rdmacc_error = ConfigError = rdmacc.ConfigError
    assert problems(bad, None) == [
        "Parameters: size_bytes is missing",
        "Parameters: other do not exist",
        "Parameters: delay without a unit",
        "no Returns",
        "Raises: ConfigError is missing",
    ]
