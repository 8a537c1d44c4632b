"""A function's bytecode: its hash, without locations and docstrings, and the outside names that it uses."""

import dis
import hashlib
import types
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_FUTURE = 0xFFFF
"""Higher flags record imports from `__future__`, such as annotations, which no handler reads."""


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
    """Analyse bytecode."""
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
    """Return an equivalent with the same repr in every process, which includes a number's type."""
    if isinstance(value, types.CodeType):
        return bytecode_of(value).digest
    if isinstance(value, tuple):
        return ("tuple", *map(_constant, value))
    if isinstance(value, frozenset):
        return ("frozenset", *sorted(map(_constant, value), key=repr))
    return value
