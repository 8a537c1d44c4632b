"""The source of a function as a syntax tree, its bytecode, and the outside objects that it uses."""

import ast
import builtins
import dis
import hashlib
import inspect
import linecache
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Function = ast.FunctionDef | ast.AsyncFunctionDef

MISSING: Any = object()
"""The value of an undefined name."""


def source_tree(code: types.CodeType) -> Function | None:
    """Return the syntax tree of a function, with the line numbers of its file. None if its source cannot be read, or
    has changed since it was imported.
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
    """Return the current lines of a function's file."""
    linecache.checkcache(code.co_filename)
    return linecache.getlines(code.co_filename) or inspect.findsource(code)[0]  # the second searches all modules


_TREES: dict[tuple[types.CodeType, bytes], Function] = {}
"""Cached trees: once a file has changed, its text no longer matches the bytecode compiled before."""


@lru_cache(8)
def _functions(text: str) -> list[tuple[Function, types.CodeType]]:
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


def cell_content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return MISSING


def outside(function: Callable[..., Any], name: str) -> Any:
    """Return the object that a name refers to outside a function; `MISSING` if none."""
    first, *attributes = name.split(".")
    code = function.__code__
    if first in code.co_freevars:
        value = cell_content((function.__closure__ or ())[code.co_freevars.index(first)])
    else:
        value = function.__globals__.get(first, getattr(builtins, first, MISSING))
    for attribute in attributes:
        value = getattr(value, attribute, MISSING) if isinstance(value, types.ModuleType) else MISSING
    return value


# Bytecode

_FUTURE = 0xFFFF  # higher flags record imports from `__future__`, such as annotations, which no handler reads


@dataclass(frozen=True)
class Bytecode:
    """Properties of bytecode that do not depend on where it runs."""

    digest: str
    taken: tuple[tuple[str, bool, tuple[str, ...]], ...]  # name, whether of the closure, attributes read
    names: frozenset[str]  # all attributes that it may read
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]  # module, level, names
    can_raise: bool


@lru_cache(4096)
def bytecode_of(code: types.CodeType) -> Bytecode:
    taken: dict[tuple[str, bool, tuple[str, ...]], None] = {}
    imports: dict[tuple[str, int, tuple[str, ...]], None] = {}
    constants, names, can_raise = set(), set(code.co_names), False
    values: list[Any] = []
    chain: list[str] = []
    is_free = False

    def end() -> None:
        if chain:
            taken[chain[0], is_free, tuple(chain[1:])] = None
            chain.clear()

    for step in dis.get_instructions(code):
        if step.opcode in dis.hasconst and step.arg is not None:
            constants.add(step.arg)
        if step.opname.startswith("LOAD_") and ("CONST" in step.opname or "SMALL_INT" in step.opname):
            values.append(step.argval)
        if step.opname == "IMPORT_NAME":
            imports[step.argval, values[-2], tuple(values[-1] or ())] = None
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            end()
            chain, is_free = [step.argval], step.opname.endswith("DEREF")
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            chain += [step.argval] if chain else []
        elif step.opname not in ("EXTENDED_ARG", "PUSH_NULL", "NOP"):
            end()
            can_raise |= step.opname == "RAISE_VARARGS"
    end()
    described: list[Any] = []
    for number in sorted(constants):  # a docstring is a constant too, but unused
        value = code.co_consts[number]
        if isinstance(value, types.CodeType):
            inner = bytecode_of(value)
            taken |= dict.fromkeys(inner.taken)
            names |= inner.names
            imports |= dict.fromkeys(inner.imports)
            can_raise |= inner.can_raise
        elif isinstance(value, str):
            names.add(value)
        described.append((number, _constant(value)))
    parts = (
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount,
        code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FUTURE, code.co_exceptiontable, described,
    )  # fmt: skip
    own = tuple(one for one in taken if not one[1] or one[0] in code.co_freevars)
    return Bytecode(hashlib.sha256(repr(parts).encode()).hexdigest(), own, frozenset(names), tuple(imports), can_raise)


def _constant(value: Any) -> Any:
    """Return an equivalent whose repr is the same in every process and includes a number's type."""
    if isinstance(value, types.CodeType):
        return bytecode_of(value).digest
    if isinstance(value, tuple):
        return ("tuple", *map(_constant, value))
    if isinstance(value, frozenset):
        return ("frozenset", *sorted(map(_constant, value), key=repr))
    return value
