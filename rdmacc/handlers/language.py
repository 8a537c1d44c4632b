"""The handlers' language: the kinds of values, and the calls that a handler may make.

`docs/interface.md` documents the language, `rdmacc.handlers.checker` enforces it. Everything in it gives bit-identical
results interpreted and compiled, which excludes `math.gamma` and `math.hypot`, powers of floats, `round` to digits, and
NumPy's numbers.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rdmacc.interface import bits, chance

LARGEST = 2**63 - 1
"""The largest integer; the smallest is its negative."""


@dataclass(frozen=True)
class Kind:
    name: str
    roles: frozenset[str] = frozenset()  # of a record: the handler arguments that may hold it
    parts: tuple[Kind, ...] = ()  # of a tuple
    code: str = ""  # of a vector: the NumPy type code of its elements
    choices: tuple[str, ...] = ()  # of a string parameter


BOOL, INT, FLOAT = Kind("a bool"), Kind("an integer"), Kind("a float")
NUMBERS = (BOOL, INT, FLOAT)
BITS, NOTHING = Kind("a set of packets"), Kind("nothing")

_KINDS = {bool: BOOL, int: INT, float: FLOAT}


def kind_of(value: object) -> Kind | None:
    """Return the kind of a constant from a module, a closure or a default; None if it is not a constant."""
    if type(value) is int and abs(value) > LARGEST:
        return None
    if type(value) is tuple and value:
        parts = tuple(_KINDS.get(type(part)) and kind_of(part) for part in value)
        return None if None in parts else Kind("a tuple", parts=parts)  # type: ignore[arg-type]
    return _KINDS.get(type(value))


NATIVE = (
    chance.hash63, chance.uniform, bits.has_bit, bits.set_bit, bits.clear_bit, bits.find_set, bits.find_clear,
)  # fmt: skip
"""Functions for handlers that each engine implements itself."""

CALLS: dict[Any, tuple[str, Kind | None, str]] = {
    **dict.fromkeys((
        math.asinh, math.atan, math.degrees, math.erf, math.erfc, math.fabs, math.radians, math.tanh,
    ), ("n", FLOAT, "")),
    **dict.fromkeys((math.atan2, math.copysign), ("nn", FLOAT, "")),
    # Undefined for some numbers, where Python raises but compiled code returns NaN or infinity
    **dict.fromkeys((
        math.acos, math.acosh, math.asin, math.atanh, math.cos, math.cosh, math.exp, math.exp2, math.expm1, math.log,
        math.log10, math.log1p, math.log2, math.sin, math.sinh, math.sqrt, math.tan,
    ), ("n", FLOAT, "finite")),
    **dict.fromkeys((round, math.ceil, math.floor, math.trunc), ("f", INT, "bounded")),
    **dict.fromkeys((math.isfinite, math.isinf, math.isnan), ("f", BOOL, "")),
    bool: ("v", BOOL, ""), int: ("v", INT, "to_int"), float: ("n", FLOAT, ""), abs: ("n", None, "absolute"),
    min: ("nn*", None, ""), max: ("nn*", None, ""), len: ("t", INT, ""),
    chance.hash63: ("ii", INT, ""), chance.uniform: ("ii", FLOAT, ""),
    bits.has_bit: ("si", BOOL, "in_message"), bits.set_bit: ("si", NOTHING, "in_message"),
    bits.clear_bit: ("si", NOTHING, "in_message"), bits.find_set: ("sii", INT, "in_message"),
    bits.find_clear: ("sii", INT, "in_message"),
}  # fmt: skip
"""Callable functions that are not written in the language: the kinds of their arguments (see `OPERANDS`; * allows any
number more) and of the result (None: the arguments'), and the mark for checked mode."""

OPERANDS: dict[str, tuple[tuple[Kind, ...], str]] = {
    "v": (NUMBERS, ""),
    "n": ((INT, FLOAT), "must be a number in arithmetic: use int(...)"),
    "i": ((INT,), "must be an integer: use int(...)"),
    "f": ((FLOAT,), "must be a float"),
}
"""Allowed kinds by letter, and the advice for other kinds; s is a packet set, t a tuple or a vector."""

EXCEPTIONS = frozenset({
    ArithmeticError, AssertionError, Exception, IndexError, LookupError, NotImplementedError, OverflowError,
    RuntimeError, TypeError, ValueError, ZeroDivisionError,
})  # fmt: skip
"""What a handler may raise."""

_OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip


def constant(node: ast.AST) -> int | float | None:
    """Return the value of a purely numeric expression such as `2**31`; None for other expressions."""
    if isinstance(node, ast.Constant):
        number = node.value
    elif isinstance(node, ast.UnaryOp | ast.BinOp) and type(node.op) in _OPERATIONS:
        nodes = [node.operand] if isinstance(node, ast.UnaryOp) else [node.left, node.right]
        operands: list[Any] = [constant(operand) for operand in nodes]
        if not all(type(operand) in (int, float) for operand in operands):
            return None
        if isinstance(node.op, ast.Pow | ast.LShift) and abs(operands[1]) > 1100:
            raise OverflowError
        try:
            number = _OPERATIONS[type(node.op)](*operands)
        except (ArithmeticError, ValueError, TypeError):
            return None
    else:
        return None
    if type(number) is int and abs(number) > 2**64:
        raise OverflowError
    return number if type(number) in _KINDS else None  # type: ignore[return-value]


@cache
def _advice() -> dict[str, str]:
    import tomllib  # imported on first use, by a handler that is refused

    return tomllib.loads(Path(__file__).with_name("advice.toml").read_text(encoding="utf-8"))


def advice(word: str, otherwise: str = "other") -> str:
    """Return what to write instead of a construct; `otherwise` names the entry for unlisted constructs."""
    text = _advice().get(word) or _advice()[otherwise]
    return text.format(math=", ".join(sorted(one.__name__ for one in CALLS if one.__module__ == "math")))
