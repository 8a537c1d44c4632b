"""What a function's bytecode says: a hash without places and docstrings, and the names that it takes from outside."""

from __future__ import annotations

import dis
import hashlib
import types
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["Bytecode", "bytecode_of"]

_FUTURE = 0xFFFF
"""Flags above these say what the file imports from `__future__`: annotations, which no handler reads."""


@dataclass(frozen=True)
class Bytecode:
    """What is known of bytecode before it is known where it runs.

    Attributes
    ----------
    digest : str
        Hash of what it does; file, lines and docstring do not count.
    taken : tuple of (str, bool, tuple of str)
        Names that it takes from its module or (True) its closure, and the attributes that are read of each.
    names : frozenset of str
        All attributes that it may read.
    has_import : bool
        It imports something.
    can_raise : bool
        It raises an exception of its own, which names file and line.
    """

    digest: str
    taken: tuple[tuple[str, bool, tuple[str, ...]], ...]
    names: frozenset[str]
    has_import: bool
    can_raise: bool


@lru_cache(4096)
def bytecode_of(code: types.CodeType) -> Bytecode:
    """Return what bytecode says.

    Parameters
    ----------
    code : code
        A function's, or that of a part of it.
    """
    taken: dict[tuple[str, bool, tuple[str, ...]], None] = {}
    constants, names, has_import, can_raise = set(), set(code.co_names), False, False
    chain: list[str] = []
    is_free = False

    def end() -> None:
        if chain:
            taken[chain[0], is_free, tuple(chain[1:])] = None
            chain.clear()

    for step in dis.get_instructions(code):
        if step.opcode in dis.hasconst and step.arg is not None:
            constants.add(step.arg)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"):
            end()
            chain, is_free = [step.argval], step.opname.endswith("DEREF")
        elif step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            chain += [step.argval] if chain else []
        elif step.opname not in ("EXTENDED_ARG", "PUSH_NULL", "NOP"):
            end()
            has_import |= step.opname == "IMPORT_NAME"
            can_raise |= step.opname == "RAISE_VARARGS"
    end()
    described: list[Any] = []
    for number in sorted(constants):  # a docstring is a constant too, and is not used
        value = code.co_consts[number]
        if isinstance(value, types.CodeType):
            inner = bytecode_of(value)
            taken |= dict.fromkeys(inner.taken)
            names |= inner.names
            has_import |= inner.has_import
            can_raise |= inner.can_raise
        elif isinstance(value, str):
            names.add(value)
        described.append((number, _constant(value)))
    parts = (
        code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_argcount,
        code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & _FUTURE, code.co_exceptiontable, described,
    )  # fmt: skip
    own = tuple(one for one in taken if not one[1] or one[0] in code.co_freevars)
    return Bytecode(hashlib.sha256(repr(parts).encode()).hexdigest(), own, frozenset(names), has_import, can_raise)


def _constant(value: Any) -> Any:
    """Return what has the same repr in every process; that of a number tells its type."""
    if isinstance(value, types.CodeType):
        return bytecode_of(value).digest
    if isinstance(value, tuple):
        return ("tuple", *map(_constant, value))
    if isinstance(value, frozenset):
        return ("frozenset", *sorted(map(_constant, value), key=repr))
    return value
