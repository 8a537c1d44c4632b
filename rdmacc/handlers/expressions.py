"""Type inference for expressions of the handlers' language; `Expressions` has one method per kind of expression.

Each expression is an integer, a float or a record. Compiled variables have one type: a value that is an integer on one
path and a float on another would always be a float in compiled code.
"""

import ast
import builtins
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from rdmacc.errors import ConfigError, unknown
from rdmacc.handlers.language import (
    BITS,
    BOOL,
    CALLS,
    FLOAT,
    INT,
    LARGEST,
    NATIVE,
    NOTHING,
    NUMBERS,
    OPERANDS,
    Kind,
    advice,
    constant,
    kind_of,
)
from rdmacc.handlers.source import MISSING, outside
from rdmacc.interface import bits, chance

Code = str | tuple[str, ...]
"""The type code of a field, or the allowed values of a string parameter."""

_INTEGER = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.FloorDiv: "", ast.Mod: "", ast.Pow: "power"}
_BITWISE = {ast.LShift: "shift_left", ast.RShift: "shift_right", ast.BitAnd: "word", ast.BitOr: "word",
            ast.BitXor: "word"}  # fmt: skip
_SAFE = {ast.RShift: 63, ast.BitAnd: LARGEST}
_CHANCE = ("random", "secrets", "time", "datetime", "uuid")
_EXACT = 2**53
_PACKETS = frozenset({"packet", "reply", "notice", "request"})
_LONG = "must be an integer of at most 63 bits"


def record_kind(*roles: str) -> Kind:
    return Kind("a record", roles=frozenset(roles))


class Expressions:
    """The names and expressions of a function, for arguments of given kinds."""

    def __init__(
        self, checker: Any, function: Callable[..., Any], tree: ast.FunctionDef, kinds: Mapping[str, Kind]
    ) -> None:
        self._checker, self._function, self._tree = checker, function, tree
        self._names = dict(kinds)
        self._set: set[str] | None = set(kinds)  # names with a value here; None in unreachable code
        self._ends: list[set[str] | None] = []  # of the enclosing loops: names with a value after them
        self._first: dict[str, int] = {}
        self._locals = _stored(tree) | kinds.keys()
        self._place = _places(tree)
        self._marks = checker.marks.setdefault(function, set())
        self._returned: Kind | None = None

    def _error(self, node: Any, allowed: str, text: str = "") -> ConfigError:
        return self._checker.error(self._function, node.lineno, text or ast.unparse(node), allowed)

    def _mark(self, node: ast.AST, name: str) -> None:
        place = self._place[node]
        if any(other == place and known != name for other, known in self._marks):
            raise self._error(node, "must have one type in all calls: write a function for each type")
        self._marks.add((place, name))

    def _of(self, node: Any) -> Kind:
        try:
            number = constant(node)
        except OverflowError:
            raise self._error(node, _LONG) from None
        if type(number) is int and abs(number) > LARGEST:
            raise self._error(node, _LONG)
        if number is not None:
            return {bool: BOOL, int: INT, float: FLOAT}[type(number)]
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is None:
            raise self._error(node, advice(type(node).__name__))
        kind: Kind = method(node)
        return kind

    def _operand(self, node: ast.expr, wanted: str = "n") -> Kind:
        """Return the kind of an operand; raise an error if it is not wanted, see `OPERANDS`."""
        kind = self._of(node)
        if wanted == "t":
            if not kind.parts and not kind.code:
                raise self._error(node, "must be a tuple of numbers or a vector field")
        elif wanted == "s":
            if kind is not BITS:
                raise self._error(node, "must be a set of packets, a `Bits` field")
        elif kind not in NUMBERS:
            hint = ""
            if kind.code or kind is BITS:
                hint = "; use a vector element by element, and a set of packets through rdmacc.interface.bits"
            elif kind.choices:
                hint = f"; compare it: {ast.unparse(node)} == {kind.choices[0]!r}"
            raise self._error(node, f"must be a number, not {kind.name}{hint}")
        elif kind not in OPERANDS[wanted][0]:
            raise self._error(node, OPERANDS[wanted][1])
        return kind

    def _condition(self, node: ast.expr) -> None:
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self._condition(value)
        else:
            self._operand(node, "v")

    def _join(self, node: Any, one: Kind, other: Kind, since: str = "") -> Kind:
        """Return the common kind of two alternatives."""
        if one == other:
            return one
        if {one, other} == {BOOL, INT}:
            return INT
        if one.roles and one.roles | other.roles <= _PACKETS:
            return record_kind(*one.roles, *other.roles)
        if one.parts and len(one.parts) == len(other.parts):
            parts = zip(one.parts, other.parts, strict=True)
            return Kind(one.name, parts=tuple(self._join(node, *pair, since) for pair in parts))
        hint = ": write 1.0 for 1, or use int(...) or float(...)" if {one, other} == {INT, FLOAT} else ""
        raise self._error(node, f"must have one type, not {one.name} here and {other.name} there{hint}{since}")

    # Names and fields

    def _of_Name(self, node: ast.Name) -> Kind:
        if node.id not in self._locals:
            return self._constant(node)
        if node.id not in self._names or (self._set is not None and node.id not in self._set):
            raise self._error(node, "must be set on every path to this line: assign it a value first")
        return self._names[node.id]

    def _constant(self, node: ast.expr) -> Kind:
        value = self._value(node)
        kind = kind_of(value)
        if kind is None:
            raise self._error(node, _LONG if type(value) is int else advice(topic(value), "value"))
        return kind

    def _value(self, node: ast.expr) -> Any:
        """Return the outside object that a name, or an attribute of a module, refers to."""
        if isinstance(node, ast.Attribute):
            module = self._value(node.value)
            if not isinstance(module, types.ModuleType):
                raise self._error(node, advice(topic(module), "value"))
        elif not isinstance(node, ast.Name) or node.id in self._locals:
            raise self._error(node, advice("call"))
        value = outside(self._function, ast.unparse(node))
        if value is MISSING:
            raise self._error(node, "must be a name defined in the module")
        self._checker.used[self._function, ast.unparse(node)] = kind_of(value) or value
        return value

    def _of_Attribute(self, node: ast.Attribute) -> Kind:
        code = self._field(node, is_write=False)
        if code is None:
            return self._constant(node)
        if isinstance(code, tuple):
            return Kind("a string", choices=code)
        if code == "bits":
            return BITS
        if code.endswith("[]"):
            return Kind("a vector", code=code.removesuffix("[]"))
        return FLOAT if code == "f8" else INT

    def _field(self, node: ast.Attribute, is_write: bool) -> Code | None:
        """Return the type code of a record's field; None if it is not a record's."""
        if not isinstance(node.value, ast.Name) or node.value.id not in self._locals:
            return None
        kind = self._of_Name(node.value)
        codes = set()
        if not kind.roles:
            raise self._error(node, f"must be a field of a record: {node.value.id} is {kind.name}")
        for role in sorted(kind.roles):
            known = self._checker.fields[role]
            if node.attr not in known:
                raise self._unknown(node, known, role)
            if is_write and node.attr not in self._checker.writable[role]:
                raise self._error(node, self._allowed(role), f"{ast.unparse(node)} = ...")
            codes.add(known[node.attr])
            self._checker.accesses.add((role, node.attr, is_write or known[node.attr] == "bits"))
        if len(codes) > 1:
            raise self._error(node, "must have the same type in all records that this may be")
        return codes.pop()

    def _unknown(self, node: ast.Attribute, known: Iterable[str], role: str) -> ConfigError:
        noun = "a parameter that handlers see" if role == "params" else f"a field of `{role}`"
        _, is_close, meant = unknown("", node.attr, sorted(known), noun).allowed.partition("; did you mean ")
        are = f"There are {', '.join(sorted(known))}" if known else "There is none"
        return self._error(node, f"must be {noun}" + (f"{is_close}{meant.rstrip('?')}? " if is_close else ". ") + are)

    def _allowed(self, role: str) -> str:
        names = sorted(self._checker.writable[role])
        if role == "params":
            return "must not write parameters, which are shared: keep what changes in a record"
        hook = self._checker.handler.rsplit(".", 1)[1]
        if not names:
            return f"must not write `{role}` in {hook}: its fields are the engine's"
        return f"must not write the engine's fields; of `{role}`, {hook} may write {', '.join(names)}"

    # Tuples and vectors

    def _of_Tuple(self, node: ast.Tuple) -> Kind:
        if not node.elts:
            raise self._error(node, "must have at least one element")
        return Kind("a tuple", parts=tuple(self._of(part) for part in node.elts))

    def _uniform(self, node: ast.expr, kind: Kind) -> Kind:
        """Return the kind of a tuple's elements."""
        is_constant = not any(
            isinstance(part, ast.Call) or (isinstance(part, ast.Name) and part.id in self._locals)
            for part in ast.walk(node)
        )
        if not kind.parts or len(set(kind.parts)) > 1 or kind.parts[0] not in (INT, FLOAT) or not is_constant:
            raise self._error(node, "must be range(...), or a tuple of constants of one type")
        return kind.parts[0]

    def _of_Subscript(self, node: ast.Subscript) -> Kind:
        kind = self._of(node.value)
        if kind.roles:
            raise self._error(node, "must name a record's field after a dot")
        if not kind.parts and not kind.code:
            raise self._error(node, "must be an element of a vector field, or of a tuple of numbers")
        if isinstance(node.slice, ast.Slice):
            raise self._error(node, advice("Slice"))
        self._operand(node.slice, "i")
        if kind.parts:
            return self._uniform(node.value, kind)
        return FLOAT if kind.code == "f8" else INT

    # Operators

    def _of_BinOp(self, node: ast.BinOp) -> Kind:
        return self._arithmetic(node, node.op, node.left, node.right)

    def _arithmetic(self, node: Any, op: ast.operator, left: ast.expr, right: ast.expr) -> Kind:
        kinds = self._operand(left), self._operand(right)
        are_integers, by, mark = kinds == (INT, INT), constant(right), ""
        if type(op) in _BITWISE:
            if not are_integers:
                raise self._error(node, "must take integers: use int(...)")
            is_safe = type(op) in _SAFE and by is not None and 0 <= by <= _SAFE[type(op)]
            mark = "" if is_safe else _BITWISE[type(op)]
        elif isinstance(op, ast.Div):
            mark = "divide" if are_integers else ""
        elif type(op) not in _INTEGER:
            raise self._error(node, advice(type(op).__name__))
        elif are_integers:
            mark = _INTEGER[type(op)]
        elif isinstance(op, ast.Pow):
            raise self._error(node, advice("pow"))
        if mark:
            self._mark(node, mark)
        return INT if are_integers and not isinstance(op, ast.Div) else FLOAT

    def _of_UnaryOp(self, node: ast.UnaryOp) -> Kind:
        if isinstance(node.op, ast.Not):
            self._condition(node.operand)
            return BOOL
        kind = self._operand(node.operand, "i" if isinstance(node.op, ast.Invert) else "n")
        if kind is INT and not isinstance(node.op, ast.UAdd):
            self._mark(node, "word" if isinstance(node.op, ast.Invert) else "negative")
        return kind

    def _of_BoolOp(self, node: ast.BoolOp) -> Kind:
        joined = self._operand(node.values[0], "v")
        for value in node.values[1:]:
            joined = self._join(node, joined, self._operand(value, "v"))
        return joined

    def _of_IfExp(self, node: ast.IfExp) -> Kind:
        self._condition(node.test)
        return self._join(node, self._of(node.body), self._of(node.orelse))

    def _of_Compare(self, node: ast.Compare) -> Kind:
        operands = [node.left, *node.comparators]
        texts = [one for one in operands if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if texts:
            return self._compared_text(node, texts[0])
        for i, op in enumerate(node.ops):
            pair = operands[i : i + 2]
            if isinstance(op, ast.Is | ast.IsNot):
                raise self._error(node, advice("Is"))
            if isinstance(op, ast.In | ast.NotIn):
                if self._of(pair[0]) is not self._uniform(pair[1], self._of(pair[1])) or len(node.ops) > 1:
                    raise self._error(node, "must look up a number in a tuple of numbers of the same type")
                continue
            left, right = (self._operand(one, "v") for one in pair)
            if BOOL in (left, right) and FLOAT in (left, right):
                raise self._error(node, "must not compare a bool with a float")
            if {left, right} == {INT, FLOAT}:
                whole = constant(pair[0 if left is INT else 1])
                if whole is None or abs(whole) > _EXACT:
                    self._mark(node, "exact")
        return BOOL

    def _compared_text(self, node: ast.Compare, text: ast.Constant) -> Kind:
        """Check the comparison of a string parameter with one of its allowed values."""
        operands = [node.left, *node.comparators]
        others = [operand for operand in operands if operand is not text]
        kind = self._of(others[0]) if len(operands) == 2 and isinstance(others[0], ast.Attribute) else None
        if kind is None or not kind.choices or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            raise self._error(node, "must compare a string only with a parameter that has choices, using == or !=")
        if text.value not in kind.choices:
            name = ast.unparse(others[0])
            raise self._error(text, unknown("", text.value, kind.choices, f"a choice of {name}").allowed)
        return BOOL

    # Calls

    def _of_Call(self, node: ast.Call) -> Kind:
        if any(isinstance(one, ast.Starred) for one in node.args) or any(word.arg is None for word in node.keywords):
            raise self._error(node, advice("Starred"))
        if isinstance(node.func, ast.Attribute):
            self._field(node.func, is_write=False)  # a record has no methods
        function = self._value(node.func)
        if isinstance(function, types.FunctionType) and function not in NATIVE:
            return self._plain(node, function)
        try:
            wanted, kind, mark = CALLS[function]
        except (KeyError, TypeError):  # unknown, or not hashable
            raise self._error(node, _no_call(function)) from None
        if isinstance(node.func, ast.Attribute) and self._value(node.func.value) not in (math, bits, chance):
            raise self._error(node, advice("function") + ": import it")
        if node.keywords:
            raise self._error(node, "must be called with positional arguments only")
        least, count = len(wanted.rstrip("*")), len(node.args)
        if count < least or (count > least and not wanted.endswith("*")):
            noun = f"{'at least ' * wanted.endswith('*')}{least} argument{'s' * (least > 1)}"
            raise self._error(node, advice("round") if function is round else f"must be called with {noun}")
        kinds = [self._operand(value, wanted[min(i, least - 1)]) for i, value in enumerate(node.args)]
        if mark == "in_message":
            own = [name for name, held in sorted(self._names.items()) if held.roles == {"message"}]
            if not own:
                needs = "checked mode needs its number of packets"
                raise self._error(node, f"must stand in a handler that takes `message`: {needs}")
            mark = f"{mark} {own[0]}"
        for one in kinds if kind is None else ():
            kind = one if kind is None else self._join(node, kind, one)
        if mark and not (mark == "to_int" and kinds == [BOOL]) and not (mark == "absolute" and kind is FLOAT):
            self._mark(node, mark)
        return kind or NOTHING

    def _plain(self, node: ast.Call, function: types.FunctionType) -> Kind:
        if topic(function):
            raise self._error(node, advice(topic(function)))
        if not isinstance(node.func, ast.Name):
            raise self._error(node, advice("function") + ": import it")
        if function in self._checker.under_way:
            raise self._error(node, "must not call itself: use a loop")
        positional = [self._of(value) for value in node.args]
        named = {str(word.arg): self._of(word.value) for word in node.keywords}
        signature = inspect.signature(function, follow_wrapped=False)
        try:
            bound = signature.bind(*positional, **named)
        except TypeError as error:
            raise self._error(node, f"must match the arguments of {function.__name__}: {error}") from None
        kinds: dict[str, Kind] = {}
        for name, parameter in signature.parameters.items():
            kind = bound.arguments.get(name) or kind_of(parameter.default)
            if kind is None or kind is NOTHING or not isinstance(kind, Kind):
                raise self._error(node, f"must pass a number or a record as `{name}`")
            kinds[name] = kind
        return self._checker.read(function, kinds)


@cache
def _places(tree: ast.FunctionDef) -> dict[ast.AST, int]:
    return {node: place for place, node in enumerate(ast.walk(tree))}


@cache
def _stored(tree: ast.FunctionDef) -> frozenset[str]:
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name))
    return frozenset(node.id for node in names if not isinstance(node.ctx, ast.Load))


def topic(value: Any) -> str:
    """Return the topic of the advice for an object of another module; "" if there is none."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    owner = getattr(value, "__self__", None)  # random.random is a method of a hidden generator
    module = str(module or type(owner).__module__)
    if module.startswith("numpy.random") or module.split(".")[0].lstrip("_") in _CHANCE:
        return "chance"
    if module.split(".")[0] == "numpy" or type(value).__module__ == "numpy":
        return "numpy"
    if type(value).__module__.split(".")[0] == "numba":
        return "numba"
    return "math" if module == "math" else ""


def _no_call(function: Any) -> str:
    """Return what to write instead of calling something."""
    name = getattr(function, "__name__", "")
    if getattr(builtins, name, None) is function or function is math.pow or function is math.hypot:
        return advice(name, "call")
    return advice(topic(function), "call")
