"""Check that a handler, and the plain functions that it calls, stay within the handlers' language.

`_Body` has one method per kind of allowed statement; all others are errors. Places that can only be checked at run time
are marked for checked mode (`rdmacc.handlers.rewriting`): where integers may exceed 63 bits, a field may not hold a
number, or `math` may have no result.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import EllipsisType
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.handlers.expressions import Code, Expressions
from rdmacc.handlers.language import BOOL, EXCEPTIONS, FLOAT, INT, NOTHING, NUMBERS, Kind, advice
from rdmacc.handlers.source import source_tree

Mark = tuple[int, str]
"""A node of a function's tree, by its position in `ast.walk`, and its treatment in checked mode."""

Access = tuple[str, str, bool]
"""An argument, the used field, and whether it is written."""

Marks = Mapping[Callable[..., Any], frozenset[Mark]]


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
                raise self.error(
                    function, tree.lineno, f"{tree.name}({ast.unparse(given)})", "must take plain arguments, without *"
                )
            self.under_way.append(function)
            self._returned[key] = _Body(self, function, tree, kinds).read()
            self.under_way.pop()
        return self._returned[key]

    def error(self, function: Callable[..., Any], line: int, text: str, allowed: str) -> ConfigError:
        where = f"line {line} of {Path(function.__code__.co_filename).name}"
        return ConfigError(self.handler, _Text(text.split("\n")[0]), allowed, where=where)


class _Body(Expressions):
    """The statements of a function. `_set` has the names that are assigned on every path to the current statement."""

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
        inner = list(ast.walk(node.target))
        if any(isinstance(part, ast.Call) for part in inner):
            raise self._error(
                node,
                "must not call a function in an index that is read and written: assign the index to a variable first",
            )
        kind = self._arithmetic(node, node.op, node.target, node.value)
        self._store(node, node.target, kind)

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


class _Text(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _on_both(one: set[str] | None, other: set[str] | None) -> set[str] | None:
    """Return the names that are set on both of two paths; None stands for a path that ends."""
    return one & other if one is not None and other is not None else one if other is None else other
