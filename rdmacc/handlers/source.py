"""The source of a function as a syntax tree, and the outside objects that it uses."""

import ast
import builtins
import inspect
import linecache
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rdmacc.handlers.bytecode import bytecode_of

Function = ast.FunctionDef | ast.AsyncFunctionDef

MISSING: Any = object()
"""The value of an undefined name."""


def source_tree(code: types.CodeType) -> Function | None:
    """Return the syntax tree of a function, with the line numbers of its file.

    None if its source cannot be read or differs, because a file may have changed since it was imported.
    """
    key = code, code.co_linetable
    if key not in _TREES:
        try:
            functions = _functions("".join(_lines(code)))
        except (OSError, TypeError, SyntaxError, ValueError, IndexError):
            return None
        found = [one for one in functions if _is_of(code, one[1])]
        if not found:
            return None
        _TREES[key] = min(found, key=lambda one: abs(one[1].co_firstlineno - code.co_firstlineno))[0]
    return _TREES[key]


def _lines(code: types.CodeType) -> list[str]:
    """Return the lines of a function's file, as it is now."""
    linecache.checkcache(code.co_filename)
    return linecache.getlines(code.co_filename) or inspect.findsource(code)[0]  # the second looks at every module


_TREES: dict[tuple[types.CodeType, bytes], Function] = {}
"""Trees found so far: once a file has changed, its text no longer matches bytecode compiled earlier."""


@lru_cache(8)
def _functions(text: str) -> list[tuple[Function, types.CodeType]]:
    """Return the functions of a file, and their bytecode."""
    tree = ast.parse(text)
    codes = [compile(tree, "", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    by_place = {(code.co_name, code.co_firstlineno): code for code in codes}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, Function):
            line = min(part.lineno for part in (node, *node.decorator_list))
            found += [(node, by_place[node.name, line])] if (node.name, line) in by_place else []
    return found


def _is_of(code: types.CodeType, read: types.CodeType) -> bool:
    """Return whether a function's code matches its source; pytest rewrites assertions."""
    if code.co_qualname != read.co_qualname:
        return False
    if "@pytest_ar" in code.co_names:
        return code.co_firstlineno == read.co_firstlineno
    return bytecode_of(code).digest == bytecode_of(read).digest


def outside(function: Callable[..., Any], name: str) -> Any:
    """Return the object that a name refers to outside a function; `MISSING` if none."""
    first, *attributes = name.split(".")
    code = function.__code__
    if first in code.co_freevars:
        cell: Any = (function.__closure__ or ())[code.co_freevars.index(first)]
        try:
            value = cell.cell_contents
        except ValueError:  # a variable without a value yet
            value = MISSING
    else:
        value = function.__globals__.get(first, getattr(builtins, first, MISSING))
    for attribute in attributes:
        value = getattr(value, attribute, MISSING) if isinstance(value, types.ModuleType) else MISSING
    return value
