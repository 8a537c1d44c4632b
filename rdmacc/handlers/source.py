"""The source of a function, as a syntax tree."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from functools import cache
from typing import Any

__all__ = ["source_tree"]


@cache
def source_tree(function: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Return the syntax tree of a function, with the line numbers of its file; None if its source cannot be read.

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
    ast.increment_lineno(tree, max(first, 1) - 1)
    return tree.body[0]
