"""Check that a handler, and the plain functions that it calls, stay within the handlers' language.

`_Body` has a method for each kind of statement (`_do_If`) and of expression (`_of_Call`); all others are errors. Each
expression is an integer, a float or a record. Compiled variables have one type: a value that is an integer on one path
and a float on another would always be a float in compiled code. Places that can only be checked at run time are marked
for checked mode (`rdmacc.handlers.rewriting`): where integers may exceed 63 bits, a field may not hold a number, or
`math` may have no result.
"""

import ast
import builtins
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import EllipsisType
from typing import Any

from rdmacc.errors import ConfigError, unknown
from rdmacc.handlers.language import *
from rdmacc.handlers.source import MISSING, outside, source_tree
from rdmacc.interface import bits, chance

Mark = tuple[int, str]
"""A node of a function's tree, by its position in `ast.walk`, and its treatment in checked mode."""

Access = tuple[str, str, bool]
"""An argument, the used field, and whether it is written."""

Marks = Mapping[Callable[..., Any], frozenset[Mark]]

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


class Checker:
    """Checks a handler and the plain functions that it calls, for one component.

    `fields` has type codes by argument and field. A vector's code ends in "[]", a packet set's is "bits"; a string
    parameter has its allowed values instead.
    """

    def __init__(
        self, handler: str, fields: Mapping[str, Mapping[str, Code]], writable: Mapping[str, frozenset[str]]
    ) -> None:
        self.handler, self.fields, self.writable = handler, fields, writable
        self.marks: dict[Callable[..., Any], set[Mark]] = {}
        self.used: dict[tuple[Callable[..., Any], str], Any] = {}  # outside objects: a number's kind, or the object
        self.accesses: set[Access] = set()
        self.under_way: list[Callable[..., Any]] = []
        self._returned: dict[Any, Kind] = {}

    def read(self, function: Callable[..., Any], kinds: Mapping[str, Kind]) -> Kind:
        key = function, tuple(kinds.items())
        if key not in self._returned:
            tree = source_tree(function.__code__)
            if not isinstance(tree, ast.FunctionDef):
                line = function.__code__.co_firstlineno
                word = "async def" if isinstance(tree, ast.AsyncFunctionDef) else f"{function.__name__}(...)"
                allowed = f"{advice('function')}, whose source can be read: in a file or a notebook cell"
                raise self.error(function, line, word, allowed)
            given = tree.args
            if given.vararg or given.kwarg or given.kwonlyargs:
                word = f"{tree.name}({ast.unparse(given)})"
                raise self.error(function, tree.lineno, word, "must take plain arguments, without *")
            self.under_way.append(function)
            self._returned[key] = _Body(self, function, tree, kinds).read()
            self.under_way.pop()
        return self._returned[key]

    def error(self, function: Callable[..., Any], line: int, text: str, allowed: str) -> ConfigError:
        where = f"line {line} of {Path(function.__code__.co_filename).name}"
        return ConfigError(self.handler, _Text(text.split("\n")[0]), allowed, where=where)


class _Body:
    """A function's statements and expressions, for arguments of given kinds."""

    def __init__(
        self, checker: Checker, function: Callable[..., Any], tree: ast.FunctionDef, kinds: Mapping[str, Kind]
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

    # Statements

    def read(self) -> Kind:
        self._block(self._tree.body)
        returned = self._returned or NOTHING
        if returned is not NOTHING and self._set is not None:
            raise self._error(self._tree, "must return a value on every path", f"{self._tree.name}(...)")
        return returned

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            method = getattr(self, f"_do_{type(statement).__name__}", None)
            if method is None:
                raise self._error(statement, advice(type(statement).__name__))
            method(statement)

    def _do_Pass(self, node: ast.stmt) -> None:
        pass

    def _do_Continue(self, node: ast.stmt) -> None:
        self._set = None

    def _do_Break(self, node: ast.stmt) -> None:
        self._ends[-1] = _on_both(self._ends[-1], self._set)
        self._set = None

    def _do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str | EllipsisType):
            return
        self._of(node.value)
        if not isinstance(node.value, ast.Call):
            raise self._error(node, "must have an effect: assign the value, or call a function")

    def _do_Assign(self, node: ast.Assign) -> None:
        kind = self._of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple | ast.List):
                self._take_apart(node, target, kind)
            else:
                self._store(node, target, kind)

    def _take_apart(self, node: ast.Assign, target: ast.Tuple | ast.List, kind: Kind) -> None:
        if not all(isinstance(one, ast.Name) for one in target.elts):
            raise self._error(node, "must unpack a tuple into names only; assign to a field in a statement of its own")
        if len(kind.parts) != len(target.elts):
            raise self._error(node, f"must unpack a tuple of {len(target.elts)} values")
        for one, part in zip(target.elts, kind.parts, strict=True):
            self._store(node, one, part)

    def _do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is None or not isinstance(node.target, ast.Name):
            raise self._error(node, "must annotate only variables that are assigned a value")
        self._store(node, node.target, self._of(node.value))

    def _do_AugAssign(self, node: ast.AugAssign) -> None:
        if any(isinstance(part, ast.Call) for part in ast.walk(node.target)):
            allowed = "must not call a function in an index that is read and written: assign the index to a variable"
            raise self._error(node, allowed)
        self._store(node, node.target, self._arithmetic(node, node.op, node.target, node.value))

    def _store(self, node: ast.stmt, target: ast.AST, kind: Kind) -> None:
        if isinstance(target, ast.Name):
            if kind is NOTHING:
                raise self._error(node, "must be assigned a value, but the function returns none")
            known = self._names.get(target.id, kind)
            since = f"; {target.id} is {known.name} in line {self._first.get(target.id, self._tree.lineno)}"
            self._names[target.id] = self._join(node, known, kind, since)
            if self._set is not None:
                self._set = self._set | {target.id}
            self._first.setdefault(target.id, node.lineno)
            return
        code = self._place_to_write(target)
        if kind not in NUMBERS:
            raise self._error(node, f"must be assigned a number, not {kind.name}")
        if code == "f8" and kind is BOOL:
            raise self._error(node, "must be assigned a float or an integer: use float(int(...))")
        if code != "f8" and kind is FLOAT:
            raise self._error(node, "must be assigned an integer, not a float: use int(...)")
        self._mark(target, f"fit_{code}")

    def _place_to_write(self, target: Any) -> str:
        """Return the type code of a target that is a field or an element."""
        if isinstance(target, ast.Attribute):
            code = self._field(target, is_write=True)
            if isinstance(code, str) and not code.endswith("[]"):
                return code
            raise self._error(target, advice("Slice") if code else "must be a variable, or a field of a record")
        if isinstance(target, ast.Subscript):
            vector = self._of(target.value)
            if isinstance(target.value, ast.Attribute):
                self._field(target.value, is_write=True)
            if vector.code:
                self._of(target)
                return vector.code
        raise self._error(target, "must be a variable, a field of a record, or an element of a vector field")

    def _do_If(self, node: ast.If) -> None:
        self._condition(node.test)
        before = self._set
        self._block(node.body)
        self._set, after = before, self._set
        self._block(node.orelse)
        self._set = _on_both(after, self._set)

    def _do_While(self, node: ast.While) -> None:
        self._condition(node.test)
        is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self._loop(node, None if is_endless else self._set)

    def _do_For(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise self._error(node, "must have one loop variable", f"for {ast.unparse(node.target)} in ...")
        called = node.iter
        if isinstance(called, ast.Call) and self._value(called.func) is range:
            for argument in called.args:
                self._operand(argument, "i")
            if called.keywords or not 1 <= len(called.args) <= 3:
                raise self._error(called, "must have one to three arguments")
            kind = INT
        else:
            kind = self._uniform(node.iter, self._of(node.iter))
        before = self._set
        self._store(node, node.target, kind)
        self._loop(node, before)

    def _loop(self, node: ast.For | ast.While, after: set[str] | None) -> None:
        """Check the body of a loop; `after` has the names that are set if the loop ends by its condition."""
        self._ends.append(after)
        self._block(node.body)
        if node.orelse:
            raise self._error(node.orelse[0], "must not stand in the `else` of a loop: set a variable in the loop")
        self._set = self._ends.pop()

    def _do_Return(self, node: ast.Return) -> None:
        kind = NOTHING if node.value is None else self._of(node.value)
        if kind is NOTHING and node.value is not None:
            raise self._error(node, "must return a value, but the function returns none")
        self._returned = kind if self._returned is None else self._join(node, self._returned, kind)
        self._set = None

    def _do_Assert(self, node: ast.Assert) -> None:
        self._condition(node.test)
        if node.msg is not None and not _is_text(node.msg):
            raise self._error(node.msg, "must be a string literal")

    def _do_Raise(self, node: ast.Raise) -> None:
        raised = node.exc
        if node.cause is not None or raised is None:
            raise self._error(node, "must raise an exception, without `from`")
        given = raised.args if isinstance(raised, ast.Call) else []
        kind = self._value(raised.func if isinstance(raised, ast.Call) else raised)
        names = ", ".join(sorted(one.__name__ for one in EXCEPTIONS))
        if not (isinstance(kind, type) and kind in EXCEPTIONS):
            raise self._error(node, f"must raise one of {names}")
        if len(given) > 1 or not all(map(_is_text, given)) or getattr(raised, "keywords", None):
            raise self._error(node, "must take at most a string literal")
        self._set = None


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


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _on_both(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    """Return the names that are set on both of two paths; None stands for a path that ends."""
    return one & other if one is not None and other is not None else one if other is None else other
