"""The source of a function as a syntax tree, and what the function knows from outside."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["MISSING", "outside", "source_tree"]

MISSING = object()
"""What a name stands for that there is not."""


@cache
def source_tree(function: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the syntax tree of a function, with the line numbers of its file.

    None if its source cannot be read, or is another one: a file may have changed since it was imported.

    Parameters
    ----------
    function : callable
        A plain function. Of one that wraps another it is the function's own.
    """
    try:
        lines, first = inspect.getsourcelines(function.__code__)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    if not tree.body or not isinstance(tree.body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    if not _is_of(function.__code__, tree):
        return None
    ast.increment_lineno(tree, max(first, 1) - 1)
    return tree.body[0]


def _is_of(code: types.CodeType, tree: ast.Module) -> bool:
    """Tell whether code may come from a source, by its names and constants; pytest adds its own to an `assert`."""
    made = compile(tree, "", "exec", dont_inherit=True).co_consts
    read = next(constant for constant in made if isinstance(constant, types.CodeType))
    names = {*code.co_names, *code.co_freevars}
    if any(isinstance(node, ast.Assert) for node in ast.walk(tree)):
        return True
    is_named = names.issuperset(read.co_names) and code.co_varnames == read.co_varnames
    return is_named and _numbers(code) == _numbers(read)


def _numbers(code: types.CodeType) -> set[str]:
    return {repr(constant) for constant in code.co_consts if isinstance(constant, bool | int | float | tuple)}


def outside(function: Callable[..., Any], name: str) -> Any:
    """Return what a name stands for outside a function; `MISSING` if nothing.

    Parameters
    ----------
    function : callable
        A plain function.
    name : str
        A variable that is not its own, with a dot before each attribute of a module.
    """
    first, *attributes = name.split(".")
    code = function.__code__
    if first in code.co_freevars:
        cell: Any = (function.__closure__ or ())[code.co_freevars.index(first)]
        value = cell.cell_contents
    else:
        value = function.__globals__.get(first, getattr(builtins, first, MISSING))
    for attribute in attributes:
        value = getattr(value, attribute, MISSING) if isinstance(value, types.ModuleType) else MISSING
    if type(value).__module__.startswith("numba."):  # a function that the user has compiled: its source counts
        return getattr(value, "py_func", value)
    return value
