"""The calls allowed in the handlers' language."""

import ast
import builtins
import inspect
import math
import types
from collections.abc import Callable
from typing import Any

from rdmacc import bits, chance
from rdmacc.handlers.expressions import Expressions, topic
from rdmacc.handlers.language import (
    ADVICE,
    BITS,
    BOOL,
    FLOAT,
    INT,
    MATH_BOOL,
    MATH_EXACT,
    MATH_FINITE,
    MATH_INT,
    NATIVE,
    NOTHING,
    SETS,
    Kind,
    kind_of,
)

_NATIVE: frozenset[Any] = frozenset(NATIVE)


class Calls(Expressions):
    """Expressions with their calls."""

    def _of_Call(self, node: ast.Call) -> Kind:
        if any(isinstance(one, ast.Starred) for one in node.args) or any(word.arg is None for word in node.keywords):
            raise self._error(node, ADVICE["Starred"])
        if isinstance(node.func, ast.Attribute):
            self._field(node.func, is_write=False)  # a record has no methods
        function = self._value(node.func)
        if isinstance(function, types.FunctionType) and function not in _NATIVE:
            return self._plain(node, function)
        try:
            method = _BUILT_IN.get(function)
        except TypeError:  # not hashable
            method = None
        if method is None:
            raise self._error(node, self._advice(function))
        if isinstance(node.func, ast.Attribute) and self._value(node.func.value) not in (math, bits, chance):
            raise self._error(node, ADVICE["function"] + ": import it")
        if node.keywords:
            raise self._error(node, "must be called with positional arguments only")
        kind: Kind = method(self, node, function)
        return kind

    def _advice(self, function: Any) -> str:
        name = getattr(function, "__name__", "")
        if getattr(builtins, name, None) is function or function is math.pow or function is math.hypot:
            return ADVICE.get(name, ADVICE["call"])
        return ADVICE[topic(function) or "call"].format(known=_known_math())

    def _plain(self, node: ast.Call, function: types.FunctionType) -> Kind:
        if topic(function):
            raise self._error(node, ADVICE[topic(function)])
        if not isinstance(node.func, ast.Name):
            raise self._error(node, ADVICE["function"] + ": import it")
        if function in self._checker.under_way:
            raise self._error(node, "must not call itself: use a loop")
        positional = [self._of(value) for value in node.args]
        named = {str(word.arg): self._of(word.value) for word in node.keywords}
        try:
            bound = inspect.signature(function, follow_wrapped=False).bind(*positional, **named)
        except TypeError as error:
            raise self._error(node, f"must match the arguments of {function.__name__}: {error}") from None
        kinds: dict[str, Kind] = {}
        for name, parameter in inspect.signature(function, follow_wrapped=False).parameters.items():
            kind = bound.arguments.get(name) or kind_of(parameter.default)
            if kind is None or kind is NOTHING or not isinstance(kind, Kind):
                raise self._error(node, f"must pass a number or a record as `{name}`")
            kinds[name] = kind
        return self._checker.read(function, kinds)

    def _arguments(self, node: ast.Call, least: int, most: int) -> list[Kind]:
        if not least <= len(node.args) <= most:
            count = f"{least} argument{'s' * (least > 1)}" if most == least else f"at least {least} arguments"
            raise self._error(node, f"must be called with {count}")
        return [self._checked_number(value, self._of(value)) for value in node.args]

    def _convert(self, node: ast.Call, function: Any) -> Kind:
        (kind,) = self._arguments(node, 1, 1)
        if function is float and kind is BOOL:
            raise self._error(node, "must take a number: use float(int(...))")
        if function is int and kind is not BOOL:
            self._mark(node, "to_int")
        return {bool: BOOL, int: INT, float: FLOAT}[function]

    def _extreme(self, node: ast.Call, function: Any) -> Kind:
        self._arguments(node, 2, 99)
        joined = self._number(node.args[0])
        for value in node.args[1:]:
            joined = self._join(node, joined, self._number(value))
        return joined

    def _abs(self, node: ast.Call, function: Any) -> Kind:
        self._arguments(node, 1, 1)
        kind = self._number(node.args[0])
        if kind is INT:
            self._mark(node, "absolute")
        return kind

    def _round(self, node: ast.Call, function: Any) -> Kind:
        if len(node.args) > 1 and function is round:
            raise self._error(node, ADVICE["round"])
        (kind,) = self._arguments(node, 1, 1)
        if kind is not FLOAT:
            raise self._error(node, "must take a float: an integer is already whole")
        self._mark(node, "bounded")
        return INT

    def _len(self, node: ast.Call, function: Any) -> Kind:
        kind = self._of(node.args[0]) if len(node.args) == 1 else NOTHING
        if not kind.parts and not kind.code:
            raise self._error(node, "must take a tuple of numbers or a vector field")
        return INT

    def _math(self, node: ast.Call, function: Any) -> Kind:
        count = 2 if function in (math.atan2, math.copysign) else 1
        for value in node.args:
            self._number(value)
        self._arguments(node, count, count)
        if function in MATH_BOOL:
            if self._of(node.args[0]) is not FLOAT:
                raise self._error(node, "must take a float")
            return BOOL
        if function in MATH_FINITE:
            self._mark(node, "finite")
        return FLOAT

    def _set(self, node: ast.Call, function: Any) -> Kind:
        count, kind = SETS[function]
        if len(node.args) != 1 + count or self._of(node.args[0]) is not BITS:
            noun = "a packet number" if count == 1 else "two packet numbers"
            raise self._error(node, f"must take a set of packets (a `Bits` field) and {noun}")
        for value in node.args[1:]:
            self._integer(value)
        own = [name for name, held in sorted(self._names.items()) if held.roles == {"message"}]
        if not own:
            raise self._error(
                node, "must stand in a handler that takes `message`: checked mode needs its number of packets"
            )
        self._mark(node, f"in_message {own[0]}")
        return kind

    def _chance(self, node: ast.Call, function: Any) -> Kind:
        self._arguments(node, 2, 2)
        for value in node.args:
            self._integer(value)
        return INT if function is chance.hash63 else FLOAT


_BUILT_IN: dict[Any, Callable[[Calls, ast.Call, Any], Kind]] = {
    **dict.fromkeys((bool, int, float), Calls._convert),
    **dict.fromkeys((min, max), Calls._extreme),
    **dict.fromkeys((round, *MATH_INT), Calls._round),
    **dict.fromkeys((*MATH_EXACT, *MATH_FINITE, *MATH_BOOL), Calls._math),
    **dict.fromkeys(SETS, Calls._set),
    **dict.fromkeys((chance.hash63, chance.uniform), Calls._chance),
    abs: Calls._abs,
    len: Calls._len,
}
"""Checks of calls to functions that are not written in the language."""


def _known_math() -> str:
    return ", ".join(sorted(one.__name__ for one in MATH_EXACT | MATH_FINITE | MATH_INT | MATH_BOOL))
