"""Checks that a handler, and the plain functions that it calls, keep to the handlers' language.

`_Body` has one method for each kind of statement (`do_...`) and of expression (`of_...`) that there is; all others are
refused. It works out whether each expression is an integer, a float or a record, since compiled code gives a variable
one type: what may be an integer on one way and a float on another would be a float there.

What only a run can show is marked for checked mode (`rdmacc.engine.rewriting`): where integers may outgrow 63 bits, a
field may not hold a number, `math` has no value.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rdmacc import bits, chance
from rdmacc.errors import ConfigError, unknown
from rdmacc.handlers.language import (
    ADVICE, BITS, BOOL, EXCEPTIONS, FLOAT, INT, LARGEST, MATH_BOOL, MATH_EXACT, MATH_FINITE, MATH_INT, NOTHING, NUMBERS, SETS, Kind,
    constant, kind_of,
)  # fmt: skip
from rdmacc.handlers.source import source_tree
from rdmacc.handlers.unbound import falls_through, first_unbound

__all__ = ["Checker", "Mark", "Marks", "record_kind"]

Mark = tuple[int, str]
"""A node of a function's tree by its place in `ast.walk`, and what checked mode does with it."""

Marks = Mapping[Callable[..., Any], frozenset[Mark]]

_INTEGER = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.FloorDiv: "", ast.Mod: "", ast.Pow: "power"}
_BITWISE = {ast.LShift: "shift_left", ast.RShift: "shift_right", ast.BitAnd: "word", ast.BitOr: "word",
            ast.BitXor: "word"}  # fmt: skip
_SAFE = {ast.RShift: 63, ast.BitAnd: LARGEST}
_CHANCE = ("random", "secrets", "time", "datetime", "uuid")
_EXACT = 2**53
_UNSET = "must be set on every way to this line: give it a value first"


def record_kind(*roles: str) -> Kind:
    """Return the kind of a record, by the handlers' arguments that it may be."""
    return Kind("a record", roles=frozenset(roles))


class Checker:
    """Checks a handler and the plain functions that it calls, for one component.

    Parameters
    ----------
    handler : str
        Component and handler, as errors name it.
    fields : mapping
        Type codes of the fields by argument and name; a vector's ends in "[]", that of a set of packets is "bits".
    writable : mapping
        Names of those that the handler may write.

    Attributes
    ----------
    marks : dict
        By function, what checked mode puts into it.
    """

    def __init__(
        self, handler: str, fields: Mapping[str, Mapping[str, str]], writable: Mapping[str, frozenset[str]]
    ) -> None:
        self.handler, self.fields, self.writable = handler, fields, writable
        self.marks: dict[Callable[..., Any], set[Mark]] = {}
        self.under_way: list[Callable[..., Any]] = []
        self._returned: dict[Any, Kind] = {}

    def read(self, function: Callable[..., Any], kinds: Mapping[str, Kind], at: _Body | None = None) -> Kind:
        """Check a function for arguments of some kinds, and return the kind of what it returns.

        Raises
        ------
        ConfigError
            For the first line that is not in the language.
        """
        key = function, tuple(kinds.items())
        if key not in self._returned:
            tree = source_tree(function)
            if not isinstance(tree, ast.FunctionDef):
                line = function.__code__.co_firstlineno
                word = "async def" if isinstance(tree, ast.AsyncFunctionDef) else f"{function.__name__}(...)"
                allowed = f"{ADVICE['function']}, whose source can be read: in a file, or a notebook's cell"
                raise self.error(function, line, word, allowed)
            given = tree.args
            if given.vararg or given.kwarg or given.kwonlyargs:
                raise self.error(
                    function, tree.lineno, f"{tree.name}({ast.unparse(given)})", "must take plain arguments, without *"
                )
            self.under_way.append(function)
            self._returned[key] = _Body(self, function, tree, kinds).read()
            self.under_way.pop()
        return self._returned[key]

    def error(self, function: Callable[..., Any], line: int, text: str, allowed: str) -> ConfigError:
        """Return the error for a line of a function."""
        where = f"line {line} of {Path(function.__code__.co_filename).name}"
        return ConfigError(self.handler, _Code(text.split("\n")[0]), allowed, where=where)


class _Body:
    """One function, for arguments of some kinds."""

    def __init__(
        self, checker: Checker, function: Callable[..., Any], tree: ast.FunctionDef, kinds: Mapping[str, Kind]
    ) -> None:
        self._checker, self._function, self._tree = checker, function, tree
        self._names = dict(kinds)
        self._first: dict[str, int] = {}
        self._locals = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not _is_read(node)}
        self._locals |= kinds.keys()
        self._outside = _outside(function)
        self._place = _places(tree)
        self._marks = checker.marks.setdefault(function, set())
        self._returned: Kind | None = None

    def read(self) -> Kind:
        """Check all of it."""
        self._block(self._tree.body)
        unset = first_unbound(self._tree)
        if unset is not None:
            raise self._error(unset, _UNSET)
        returned = self._returned or NOTHING
        if returned is not NOTHING and falls_through(self._tree.body):
            raise self._error(self._tree, "must return a value on every way", f"{self._tree.name}(...)")
        return returned

    # Errors and marks

    def _error(self, node: Any, allowed: str, text: str = "") -> ConfigError:
        return self._checker.error(self._function, node.lineno, text or ast.unparse(node), allowed)

    def _mark(self, node: ast.AST, name: str) -> None:
        place = self._place[node]
        if any(other == place and known != name for other, known in self._marks):
            raise self._error(node, "must be of one type in all calls: write a function for each")
        self._marks.add((place, name))

    # Statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            name = type(statement).__name__
            method = getattr(self, f"do_{name}", None)
            if method is None:
                raise self._error(statement, ADVICE.get(name, ADVICE[""]))
            method(statement)

    def do_Pass(self, node: ast.stmt) -> None:
        pass

    do_Break = do_Continue = do_Pass

    def do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return
        self._of(node.value)
        if not isinstance(node.value, ast.Call):
            raise self._error(node, "must do something: assign it, or call a function")

    def do_Assign(self, node: ast.Assign) -> None:
        kind = self._of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple | ast.List):
                self._take_apart(node, target, kind)
            else:
                self._store(node, target, kind)

    def _take_apart(self, node: ast.Assign, target: ast.Tuple | ast.List, kind: Kind) -> None:
        if not all(isinstance(one, ast.Name) for one in target.elts):
            raise self._error(node, "must assign to names when it takes a tuple apart, and to a field by itself")
        if len(kind.parts) != len(target.elts):
            raise self._error(node, f"must be given a tuple of {len(target.elts)} values")
        for one, part in zip(target.elts, kind.parts, strict=True):
            self._store(node, one, part)

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or not isinstance(node.target, ast.Name):
            raise self._error(node, "must annotate nothing but a variable that is given a value")
        self._store(node, node.target, self._of(node.value))

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        inner = list(ast.walk(node.target))
        if any(isinstance(part, ast.Call) for part in inner):
            raise self._error(node, "must call no function in an index that is read and written: name the index before")
        kind = self._arithmetic(node, node.op, node.target, node.value)
        self._store(node, node.target, kind)

    def _store(self, node: ast.stmt, target: ast.AST, kind: Kind) -> None:
        """Check what a variable, a field or an element is given."""
        if isinstance(target, ast.Name):
            if kind is NOTHING:
                raise self._error(node, "must be given a value: the function returns none")
            known = self._names.get(target.id, kind)
            since = f"; {target.id} is {known.name} in line {self._first.get(target.id, self._tree.lineno)}"
            self._names[target.id] = self._join(node, known, kind, since)
            self._first.setdefault(target.id, node.lineno)
            return
        code = self._place_to_write(target)
        if kind not in NUMBERS:
            raise self._error(node, f"must be given a number, not {kind.name}")
        if code == "f8" and kind is BOOL:
            raise self._error(node, "must be given a float or an integer: use float(int(...))")
        if code != "f8" and kind is FLOAT:
            raise self._error(node, "must be given an integer, not a float: use int(...)")
        self._mark(target, f"fit_{code}")

    def _place_to_write(self, target: Any) -> str:
        """Return the type code of the field or the element that a target is."""
        if isinstance(target, ast.Attribute):
            code = self._field(target, is_write=True)
            if code is not None and not code.endswith("[]"):
                return code
            raise self._error(target, ADVICE["Slice"] if code else "must be a variable, or a field of a record")
        if isinstance(target, ast.Subscript):
            vector = self._of(target.value)
            if isinstance(target.value, ast.Attribute):
                self._field(target.value, is_write=True)
            if vector.code:
                self._index(target)
                return vector.code
        raise self._error(target, "must be a variable, a field of a record, or an element of a vector field")

    def do_If(self, node: ast.If) -> None:
        self._condition(node.test)
        self._block(node.body)
        self._block(node.orelse)

    def do_While(self, node: ast.While) -> None:
        self._condition(node.test)
        self._loop(node)

    def do_For(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise self._error(node, "must count by one variable", f"for {ast.unparse(node.target)} in ...")
        called = node.iter
        if isinstance(called, ast.Call) and self._value(called.func) is range:
            for argument in called.args:
                self._integer(argument)
            if called.keywords or not 1 <= len(called.args) <= 3:
                raise self._error(called, "must have one to three arguments")
            kind = INT
        else:
            kind = self._uniform(node.iter, self._of(node.iter))
        self._store(node, node.target, kind)
        self._loop(node)

    def _loop(self, node: ast.For | ast.While) -> None:
        self._block(node.body)
        if node.orelse:
            raise self._error(node.orelse[0], "must not stand in the `else` of a loop: set a variable in the loop")

    def do_Return(self, node: ast.Return) -> None:
        kind = NOTHING if node.value is None else self._of(node.value)
        if kind is NOTHING and node.value is not None:
            raise self._error(node, "must return a value: the function returns none")
        self._returned = kind if self._returned is None else self._join(node, self._returned, kind)

    def do_Assert(self, node: ast.Assert) -> None:
        self._condition(node.test)
        if node.msg is not None and not _is_text(node.msg):
            raise self._error(node.msg, "must be a text as it stands")

    def do_Raise(self, node: ast.Raise) -> None:
        raised = node.exc
        if node.cause is not None or raised is None:
            raise self._error(node, "must be `raise` with an exception, without a cause")
        given = raised.args if isinstance(raised, ast.Call) else []
        kind = self._value(raised.func if isinstance(raised, ast.Call) else raised)
        names = ", ".join(sorted(one.__name__ for one in EXCEPTIONS))
        if not (isinstance(kind, type) and kind in EXCEPTIONS):
            raise self._error(node, f"must raise one of {names}")
        if len(given) > 1 or not all(map(_is_text, given)) or getattr(raised, "keywords", None):
            raise self._error(node, "must name at most a text as it stands")

    # Expressions

    def _of(self, node: Any) -> Kind:
        """Return the kind of an expression."""
        try:
            number = constant(node)
        except OverflowError:
            raise self._error(node, "must stay within 63 bits, in each of its steps") from None
        if number is not None:
            return {bool: BOOL, int: INT, float: FLOAT}[type(number)]
        name = type(node).__name__
        method = getattr(self, f"of_{name}", None)
        if method is None:
            raise self._error(node, ADVICE.get(name, ADVICE[""]))
        kind: Kind = method(node)
        return kind

    def _number(self, node: ast.expr) -> Kind:
        """Return the kind of an operand: an integer or a float."""
        kind = self._of(node)
        if kind is BOOL:
            raise self._error(node, "must be a number to compute with: use int(...)")
        return self._checked_number(node, kind)

    def _checked_number(self, node: ast.expr, kind: Kind) -> Kind:
        if kind not in NUMBERS:
            element = "; use a vector element by element, a set of packets by the functions of rdmacc.bits"
            raise self._error(node, f"must be a number, not {kind.name}{element if kind.code or kind is BITS else ''}")
        return kind

    def _integer(self, node: ast.expr) -> None:
        if self._number(node) is not INT:
            raise self._error(node, "must be an integer: use int(...)")

    def _condition(self, node: ast.expr) -> None:
        """Check what is true or false: any number, and what `and`, `or` and `not` make of them."""
        if isinstance(node, ast.BoolOp):
            for value in node.values:
                self._condition(value)
        else:
            self._checked_number(node, self._of(node))

    def _join(self, node: Any, one: Kind, other: Kind, since: str = "") -> Kind:
        """Return the kind of what is the one or the other."""
        if one == other:
            return one
        if {one, other} == {BOOL, INT}:
            return INT
        if one.roles and other.roles:
            return record_kind(*one.roles, *other.roles)
        if one.parts and len(one.parts) == len(other.parts):
            parts = zip(one.parts, other.parts, strict=True)
            return Kind(one.name, parts=tuple(self._join(node, *pair, since) for pair in parts))
        hint = ": write 1.0 for 1, or use int(...) or float(...)" if {one, other} == {INT, FLOAT} else ""
        raise self._error(node, f"must be of one type, not {one.name} here and {other.name} there{hint}{since}")

    def of_Name(self, node: ast.Name) -> Kind:
        if node.id in self._locals:
            if node.id not in self._names:
                raise self._error(node, _UNSET)
            return self._names[node.id]
        return self._constant(node)

    def _constant(self, node: ast.expr) -> Kind:
        """Return the kind of a constant from outside the function."""
        value = self._value(node)
        kind = kind_of(value)
        if kind is None:
            if type(value) is int:
                raise self._error(node, "must be an integer within 63 bits")
            raise self._error(node, ADVICE[_topic(value) or "value"])
        return kind

    def _value(self, node: ast.expr) -> Any:
        """Return what a name, or an attribute of a module, stands for outside the function."""
        if isinstance(node, ast.Attribute):
            module = self._value(node.value)
            if isinstance(module, types.ModuleType) and hasattr(module, node.attr):
                return getattr(module, node.attr)
            if isinstance(module, types.ModuleType):
                raise self._error(node, f"must be a name of the module {module.__name__}")
            raise self._error(node, ADVICE[_topic(module) or "value"])
        if not isinstance(node, ast.Name) or node.id in self._locals:
            raise self._error(node, ADVICE["call"])
        if node.id not in self._outside:
            raise self._error(node, "must be a name that the module has")
        return self._outside[node.id]

    def of_Attribute(self, node: ast.Attribute) -> Kind:
        code = self._field(node, is_write=False)
        if code is None:
            return self._constant(node)
        if code == "bits":
            return BITS
        if code.endswith("[]"):
            return Kind("a vector", code=code.removesuffix("[]"))
        return FLOAT if code == "f8" else INT

    def _field(self, node: ast.Attribute, is_write: bool) -> str | None:
        """Return the type code of a record's field; None if it is not a record's."""
        if not isinstance(node.value, ast.Name) or node.value.id not in self._locals:
            return None
        kind = self.of_Name(node.value)
        codes = set()
        if not kind.roles:
            raise self._error(node, f"must be a field of a record: {node.value.id} is {kind.name}")
        for role in sorted(kind.roles):
            known = self._checker.fields[role]
            if node.attr not in known:
                noun = "a parameter that is a number" if role == "params" else f"a field of `{role}`"
                raise self._unknown(node, known, noun)
            if is_write and node.attr not in self._checker.writable[role]:
                raise self._error(node, self._allowed(role), f"{ast.unparse(node)} = ...")
            codes.add(known[node.attr])
        if len(codes) > 1:
            raise self._error(node, "must have one type in all records that it may be of")
        return codes.pop()

    def _unknown(self, node: ast.Attribute, known: Iterable[str], noun: str) -> ConfigError:
        names = sorted(known)
        guess = unknown("", node.attr, names, noun).allowed
        meant = guess.split("; did you mean ")[1].rstrip("?") if "; did you mean " in guess else ""
        allowed = f"must be {noun}" + (f"; did you mean {meant}?" if meant else ".")
        return self._error(node, f"{allowed} There are {', '.join(names)}" if names else f"{allowed} There is none")

    def _allowed(self, role: str) -> str:
        names = sorted(self._checker.writable[role])
        if role == "params":
            return "must not write parameters: they are the same for all; keep what changes in a record"
        hook = self._checker.handler.rsplit(".", 1)[1]
        if not names:
            return f"must not write `{role}` in {hook}: its fields are the engine's"
        return f"must write no field of the engine's; of `{role}` {hook} may write {', '.join(names)}"

    def of_Tuple(self, node: ast.Tuple) -> Kind:
        if not node.elts:
            raise self._error(node, "must have an element")
        return Kind("a tuple", parts=tuple(self._of(part) for part in node.elts))

    def _uniform(self, node: ast.expr, kind: Kind) -> Kind:
        """Return the kind of a tuple's elements."""
        if not kind.parts or len(set(kind.parts)) > 1 or kind.parts[0] not in (INT, FLOAT):
            raise self._error(node, "must be range(...), or a tuple of numbers of one type")
        return kind.parts[0]

    def _index(self, node: ast.Subscript) -> None:
        if isinstance(node.slice, ast.Slice):
            raise self._error(node, ADVICE["Slice"])
        self._integer(node.slice)

    def of_Subscript(self, node: ast.Subscript) -> Kind:
        kind = self._of(node.value)
        if kind.roles:
            raise self._error(node, "must name a record's field after a dot")
        if not kind.parts and not kind.code:
            raise self._error(node, "must be an element of a vector field, or of a tuple of numbers")
        self._index(node)
        if kind.parts:
            return self._uniform(node.value, kind)
        return FLOAT if kind.code == "f8" else INT

    def of_BinOp(self, node: ast.BinOp) -> Kind:
        return self._arithmetic(node, node.op, node.left, node.right)

    def _arithmetic(self, node: Any, op: ast.operator, left: ast.expr, right: ast.expr) -> Kind:
        kinds = self._number(left), self._number(right)
        by = constant(right)
        if type(op) in _BITWISE:
            if kinds != (INT, INT):
                raise self._error(node, "must be of integers: use int(...)")
            if not (isinstance(op, ast.RShift | ast.BitAnd) and by is not None and 0 <= by <= _SAFE[type(op)]):
                self._mark(node, _BITWISE[type(op)])
            return INT
        if isinstance(op, ast.Div):
            if kinds == (INT, INT):
                self._mark(node, "divide")
            return FLOAT
        if type(op) not in _INTEGER:
            raise self._error(node, ADVICE.get(type(op).__name__, ADVICE[""]))
        if kinds == (INT, INT):
            if _INTEGER[type(op)]:
                self._mark(node, _INTEGER[type(op)])
            return INT
        if isinstance(op, ast.Pow):
            raise self._error(node, ADVICE["pow"])
        return FLOAT

    def of_UnaryOp(self, node: ast.UnaryOp) -> Kind:
        if isinstance(node.op, ast.Not):
            self._condition(node.operand)
            return BOOL
        kind = self._number(node.operand)
        if isinstance(node.op, ast.Invert):
            if kind is not INT:
                raise self._error(node, "must be of an integer: use int(...)")
            self._mark(node, "word")
        if isinstance(node.op, ast.USub) and kind is INT:
            self._mark(node, "negative")
        return kind

    def of_BoolOp(self, node: ast.BoolOp) -> Kind:
        kinds = [self._of(value) for value in node.values]
        joined = kinds[0]
        for kind in kinds[1:]:
            joined = self._join(node, joined, kind)
        return self._checked_number(node, joined)

    def of_IfExp(self, node: ast.IfExp) -> Kind:
        self._condition(node.test)
        return self._join(node, self._of(node.body), self._of(node.orelse))

    def of_Compare(self, node: ast.Compare) -> Kind:
        operands = [node.left, *node.comparators]
        kinds = [self._of(operand) for operand in operands]
        for i, op in enumerate(node.ops):
            left, right = kinds[i : i + 2]
            if isinstance(op, ast.In | ast.NotIn):
                if left is not self._uniform(operands[i + 1], right) or len(node.ops) > 1:
                    raise self._error(node, "must look for a number in a tuple of numbers of its type")
            elif isinstance(op, ast.Is | ast.IsNot):
                raise self._error(node, ADVICE["Is"])
            else:
                for operand, kind in zip(operands[i : i + 2], (left, right), strict=True):
                    self._checked_number(operand, kind)
                if BOOL in (left, right) and FLOAT in (left, right):
                    raise self._error(node, "must not compare a truth value with a float")
                if {left, right} == {INT, FLOAT}:
                    whole = constant(operands[i if left is INT else i + 1])
                    if whole is None or abs(whole) > _EXACT:
                        self._mark(node, "exact")
        return BOOL

    # Calls

    def of_Call(self, node: ast.Call) -> Kind:
        if any(isinstance(one, ast.Starred) for one in node.args) or any(word.arg is None for word in node.keywords):
            raise self._error(node, ADVICE["Starred"])
        if isinstance(node.func, ast.Attribute):
            self._field(node.func, is_write=False)  # a record has no methods
        function = self._value(node.func)
        if isinstance(function, types.FunctionType) and function not in SETS and not _is_chance(function):
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
            raise self._error(node, "must be called without names of arguments")
        kind: Kind = method(self, node, function)
        return kind

    def _advice(self, function: Any) -> str:
        name = getattr(function, "__name__", "")
        if getattr(builtins, name, None) is function or function is math.pow or function is math.hypot:
            return ADVICE.get(name, ADVICE["call"])
        return ADVICE[_topic(function) or "call"].format(known=_known_math())

    def _plain(self, node: ast.Call, function: types.FunctionType) -> Kind:
        if _topic(function):
            raise self._error(node, ADVICE[_topic(function)])
        if not isinstance(node.func, ast.Name):
            raise self._error(node, ADVICE["function"] + ": import it")
        if function in self._checker.under_way:
            raise self._error(node, "must not call itself: use a loop")
        positional = [self._of(value) for value in node.args]
        named = {str(word.arg): self._of(word.value) for word in node.keywords}
        try:
            bound = inspect.signature(function, follow_wrapped=False).bind(*positional, **named)
        except TypeError as error:
            raise self._error(node, f"must give what {function.__name__} takes: {error}") from None
        kinds: dict[str, Kind] = {}
        for name, parameter in inspect.signature(function, follow_wrapped=False).parameters.items():
            kind = bound.arguments.get(name) or kind_of(parameter.default)
            if kind is None or kind is NOTHING or not isinstance(kind, Kind):
                raise self._error(node, f"must give `{name}` a number or a record")
            kinds[name] = kind
        return self._checker.read(function, kinds)

    def _arguments(self, node: ast.Call, least: int, most: int) -> list[Kind]:
        if not least <= len(node.args) <= most:
            count = f"{least} argument{'s' * (least > 1)}" if most == least else f"{least} arguments or more"
            raise self._error(node, f"must be called with {count}")
        return [self._checked_number(value, self._of(value)) for value in node.args]

    def _convert(self, node: ast.Call, function: Any) -> Kind:
        (kind,) = self._arguments(node, 1, 1)
        if function is float and kind is BOOL:
            raise self._error(node, "must be of a number: use float(int(...))")
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
            raise self._error(node, "must be of a float: an integer is whole already")
        self._mark(node, "bounded")
        return INT

    def _len(self, node: ast.Call, function: Any) -> Kind:
        kind = self._of(node.args[0]) if len(node.args) == 1 else NOTHING
        if not kind.parts and not kind.code:
            raise self._error(node, "must be of a tuple of numbers, or of a vector field")
        return INT

    def _math(self, node: ast.Call, function: Any) -> Kind:
        count = 2 if function in (math.atan2, math.copysign) else 1
        for value in node.args:
            self._number(value)
        self._arguments(node, count, count)
        if function in MATH_BOOL:
            if self._of(node.args[0]) is not FLOAT:
                raise self._error(node, "must be of a float")
            return BOOL
        if function in MATH_FINITE:
            self._mark(node, "finite")
        return FLOAT

    def _set(self, node: ast.Call, function: Any) -> Kind:
        count, kind = SETS[function]
        if len(node.args) != 1 + count or self._of(node.args[0]) is not BITS:
            noun = "a packet number" if count == 1 else "two packet numbers"
            raise self._error(node, f"must be of a set of packets, a `Bits` field, and {noun}")
        for value in node.args[1:]:
            self._integer(value)
        own = [name for name, held in sorted(self._names.items()) if held.roles == {"message"}]
        if not own:
            raise self._error(node, "must be where `message` is an argument: checked mode asks it for its packets")
        self._mark(node, f"in_message {own[0]}")
        return kind

    def _chance(self, node: ast.Call, function: Any) -> Kind:
        self._arguments(node, 2, 2)
        for value in node.args:
            self._integer(value)
        return INT if function is chance.hash63 else FLOAT


_BUILT_IN: dict[Any, Callable[[_Body, ast.Call, Any], Kind]] = {
    **dict.fromkeys((bool, int, float), _Body._convert),
    **dict.fromkeys((min, max), _Body._extreme),
    **dict.fromkeys((round, *MATH_INT), _Body._round),
    **dict.fromkeys((*MATH_EXACT, *MATH_FINITE, *MATH_BOOL), _Body._math),
    **dict.fromkeys(SETS, _Body._set),
    **dict.fromkeys((chance.hash63, chance.uniform), _Body._chance),
    abs: _Body._abs,
    len: _Body._len,
}
"""What checks the call of a function that is not written in the language."""


class _Code(str):
    """Source text: shown as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@cache
def _places(tree: ast.FunctionDef) -> dict[ast.AST, int]:
    return {node: place for place, node in enumerate(ast.walk(tree))}


def _outside(function: Callable[..., Any]) -> dict[str, Any]:
    """Return what a function knows from outside by name."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: cell.cell_contents for name, cell in cells}
    return {**vars(builtins), **function.__globals__, **closed}


def _topic(value: Any) -> str:
    """Return the word of `ADVICE` for something of another module."""
    module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    owner = getattr(value, "__self__", None)  # random.random is a method of a hidden generator
    module = str(module or type(owner).__module__)
    if module.startswith("numpy.random") or module.split(".")[0].lstrip("_") in _CHANCE:
        return "chance"
    if module.split(".")[0] == "numpy" or type(value).__module__ == "numpy":
        return "numpy"
    return "math" if module == "math" else ""


def _known_math() -> str:
    return ", ".join(sorted(one.__name__ for one in MATH_EXACT | MATH_FINITE | MATH_INT | MATH_BOOL))


def _is_chance(function: Any) -> bool:
    return function is chance.hash63 or function is chance.uniform


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
