"""Handlers rewritten from their source, with the checks of checked mode (`rdmacc.engine.checked`) in it.

A field is only given a number that it can hold, sums and products of integers stay within 63 bits, an integer is made
of a finite number, a set of packets is asked for packets of its message, and a loop ends. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

from rdmacc import bits
from rdmacc.component import RECORD_KINDS
from rdmacc.handlers import NATIVE, source_tree
from rdmacc.records import Field
from rdmacc.state import Host, Message, Packet, Port, QueuePair

__all__ = ["instrumented", "is_instrumented"]

MOST_TURNS = 10_000_000
"""A loop that makes more turns in one call of a handler does not end."""


# Functions that rewritten handlers call. Both engines have them; the compiled one gives them integers and floats.


def fit_byte(value):  # type: ignore[no-untyped-def]
    """Return a number that a `Byte` field can hold."""
    value = whole(value)  # type: ignore[no-untyped-call]
    if not -128 <= value <= 127:
        raise OverflowError("a Byte field holds -128 to 127")
    return value


def fit_int32(value):  # type: ignore[no-untyped-def]
    """Return a number that an `Int32` field can hold."""
    value = whole(value)  # type: ignore[no-untyped-call]
    if not -2147483648 <= value <= 2147483647:
        raise OverflowError("an Int32 field holds -2**31 to 2**31 - 1")
    return value


def fit_int(value):  # type: ignore[no-untyped-def]
    """Return a number that an `Int` field can hold."""
    value = whole(value)  # type: ignore[no-untyped-call]
    if not -9223372036854775808 <= value <= 9223372036854775807:
        raise OverflowError("an Int field holds -2**63 to 2**63 - 1")
    return value


def whole(value):  # type: ignore[no-untyped-def]
    """Return a number that is no float."""
    # The condition says nothing, but Numba must not see that the function only raises: it would return None then.
    if isinstance(value, float) and (value >= 0.0 or value <= 0.0 or value != value):
        raise TypeError("an integer field takes no float: use int(...)")
    return value


def number(value):  # type: ignore[no-untyped-def]
    """Return a finite number."""
    if not isinstance(value, (bool, int, float)):
        raise TypeError("a Float field takes a number")
    if not -1.7976931348623157e308 <= value <= 1.7976931348623157e308:  # where Python raises, compiled code goes on
        raise ValueError("a Float field takes a finite number")
    return value


def to_int(value):  # type: ignore[no-untyped-def]
    """Return int(value) of a finite number that 63 bits can hold."""
    if not -9.2e18 < value < 9.2e18:
        raise OverflowError("int() of a number that is not finite, or beyond 63 bits")
    return int(value)


_MOST = 9.2e18
"""Integers beyond it wrap in compiled code, and grow in Python."""


def add(a, b):  # type: ignore[no-untyped-def]
    """Return a + b."""
    if isinstance(a, int) and isinstance(b, int) and abs(float(a) + float(b)) > _MOST:
        raise OverflowError("an integer beyond 63 bits")
    return a + b


def subtract(a, b):  # type: ignore[no-untyped-def]
    """Return a - b."""
    if isinstance(a, int) and isinstance(b, int) and abs(float(a) - float(b)) > _MOST:
        raise OverflowError("an integer beyond 63 bits")
    return a - b


def multiply(a, b):  # type: ignore[no-untyped-def]
    """Return a * b."""
    if isinstance(a, int) and isinstance(b, int) and abs(float(a) * float(b)) > _MOST:
        raise OverflowError("an integer beyond 63 bits")
    return a * b


def shift(a, b):  # type: ignore[no-untyped-def]
    """Return a << b."""
    if b < 0 or b > 62 or abs(float(a)) * 2.0**b > _MOST:
        raise OverflowError("an integer beyond 63 bits, or a shift by a negative number")
    return a << b


def in_message(psn, packets):  # type: ignore[no-untyped-def]
    """Return a packet's number if a set of the message's packets has room for it."""
    if not 0 <= psn <= packets:
        raise IndexError("a packet number outside its message")
    return psn


_SETS = (bits.has_bit, bits.set_bit, bits.clear_bit, bits.find_set, bits.find_clear)
_ARITHMETIC = {ast.Add: "_add", ast.Sub: "_subtract", ast.Mult: "_multiply", ast.LShift: "_shift"}
_FITS = {"i1": fit_byte, "i4": fit_int32, "i8": fit_int, "f8": number}
_ENGINE = {"packet": Packet, "reply": Packet, "notice": Packet, "request": Packet, "message": Message, "qp": QueuePair,
           "host": Host, "port": Port}  # fmt: skip


_Fields = tuple[tuple[str, tuple[tuple[str, str], ...]], ...] | None

_REWRITTEN: WeakKeyDictionary[Callable[..., Any], dict[Hashable, types.CodeType | None]] = WeakKeyDictionary()
"""Each function's code with its checks, by what these depend on beside it: a component has many simulations."""


def instrumented(
    function: Callable[..., Any], owner: Any, *, has_trail: bool, memo: dict[Any, Callable[..., Any]]
) -> Callable[..., Any]:
    """Return a handler, or a function that one calls, with the checks of this mode in it.

    Parameters
    ----------
    function : callable
        A plain function. One whose source cannot be read is returned as it is.
    owner : Component or None
        The component whose handler it is; None for a function that handlers call.
    has_trail : bool
        The handler gets a last argument `trail`, and writes the line that it has come to into it.
    memo : dict
        What has been rewritten.
    """
    key = function, type(owner)
    if key in memo:
        return memo[key]
    memo[key] = function
    known = _REWRITTEN.setdefault(function, {})
    version = _fields_of(owner), has_trail and owner is not None, _set_functions(function)
    if version not in known:
        known[version] = _rewritten(function, *version)
    code = known[version]
    if code is None:
        return function
    namespace = dict(function.__globals__)  # as it is now: the constants in it may have changed
    for name in code.co_names:
        value = namespace.get(name)
        if isinstance(value, types.FunctionType) and value not in NATIVE:
            namespace[name] = instrumented(value, None, has_trail=has_trail, memo=memo)
    namespace |= {"_fit_i1": fit_byte, "_fit_i4": fit_int32, "_fit_i8": fit_int, "_fit_f8": number, "_to_int": to_int}
    namespace |= {"_in_message": in_message, "_add": add, "_subtract": subtract, "_multiply": multiply, "_shift": shift}
    made = types.FunctionType(code, namespace, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__rdmacc_is_instrumented__ = True  # type: ignore[attr-defined]
    memo[key] = made
    return made


def is_instrumented(function: Callable[..., Any]) -> bool:
    """Tell whether a handler has been rewritten."""
    return hasattr(function, "__rdmacc_is_instrumented__")


def _rewritten(
    function: Callable[..., Any], fields: _Fields, has_trail: bool, set_functions: frozenset[str]
) -> types.CodeType | None:
    """Return the code of a function with its checks; None if its source cannot be read."""
    tree = source_tree(function)
    if tree is None or function.__closure__:
        return None
    tree = copy.deepcopy(tree)
    tree.decorator_list, tree.returns = [], None
    for argument in (*tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    tree = _Rewriter(_codes_of(fields), has_trail, set_functions, function).visit(tree)
    if has_trail:
        tree.args.args.append(ast.arg("trail"))
    ast.fix_missing_locations(tree)
    code = compile(ast.Module([tree], []), function.__code__.co_filename, "exec")
    return next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))


def _fields_of(owner: Any) -> _Fields:
    """Return names and type codes of the numbers in a component's records, by kind; None for no component."""
    if owner is None:
        return None
    records = {kind: owner.record(kind) for kind in RECORD_KINDS}
    return tuple(
        (kind, tuple((field.name, _code(field)) for field in record.fields if not field.is_bits))
        for kind, record in records.items()
        if record is not None
    )


def _codes_of(fields: _Fields) -> dict[str, dict[str, str]]:
    """Return the type codes of the fields that a component's handlers see, by argument; nothing of other functions'."""
    if fields is None:
        return {}
    codes = {role: {field.name: _code(field) for field in record.fields} for role, record in _ENGINE.items()}
    for kind, own in fields:
        if kind == "Header":
            for role in ("packet", "reply", "notice", "request"):
                codes[role] |= own
        else:
            codes[kind.lower()] = dict(own)
    return codes


def _code(field: Field) -> str:
    return f"{field.code}[]" if field.length else field.code


def _set_functions(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names by which a function knows those for sets of packets."""
    names = function.__code__.co_names
    return frozenset(name for name in names if any(function.__globals__.get(name) is one for one in _SETS))


class _Rewriter(ast.NodeTransformer):
    """Puts checks into a function's syntax tree."""

    def __init__(
        self,
        codes: dict[str, dict[str, str]],
        has_trail: bool,
        set_functions: frozenset[str],
        function: Callable[..., Any],
    ) -> None:
        self._codes, self._has_trail, self._set_functions = codes, has_trail, set_functions
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self._last_packet = "message.packets" if "message" in names else "2147483647"
        self._loops = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = self._statements(node.body)
        if self._loops:
            node.body.insert(0, _parsed("_turns = 0", node))
        return node

    def _statements(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for statement in statements:
            if self._has_trail and not _is_docstring(statement):
                made.append(_parsed(f"trail.line = {statement.lineno}", statement))
            made.append(self.visit(statement))
        return made

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self.visit(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self.visit(node.iter)
        return self._loop(node)

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self.visit(node.test)
        return self._loop(node)

    def _loop(self, node: Any) -> Any:
        self._loops += 1
        node.body = [
            _parsed("_turns += 1", node),
            _parsed(f"if _turns > {MOST_TURNS}:\n    raise RuntimeError('a loop that does not end')", node),
            *self._statements(node.body),
        ]
        node.orelse = self._statements(node.orelse)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        fits = {fit for target in node.targets if (fit := self._fit(target))}
        if len(fits) == 1 and not any(isinstance(target, ast.Tuple) for target in node.targets):
            node.value = _call(fits.pop(), node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        fit = self._fit(node.target)
        if not fit:
            return node
        before = copy.deepcopy(node.target)
        for inner in ast.walk(before):
            if hasattr(inner, "ctx") and isinstance(inner.ctx, ast.Store):
                inner.ctx = ast.Load()
        value = _call(fit, _checked(ast.copy_location(ast.BinOp(before, node.op, node.value), node)))
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _checked(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1 and not node.keywords:
            node.func = ast.copy_location(ast.Name("_to_int", ast.Load()), node.func)
        elif isinstance(node.func, ast.Name) and node.func.id in self._set_functions:
            most: Any = ast.parse(self._last_packet, mode="eval").body
            node.args[1:] = [_call("_in_message", argument, most) for argument in node.args[1:]]
        return node

    def _fit(self, target: ast.AST) -> str:
        """Return the function that checks what a field is given, or nothing."""
        brackets = ""
        if isinstance(target, ast.Subscript):
            target, brackets = target.value, "[]"
        if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
            return ""
        code = self._codes.get(target.value.id, {}).get(target.attr, "")
        if not code.endswith(brackets) or code.removesuffix("[]") + brackets != code:
            return ""
        code = code.removesuffix("[]")
        return f"_fit_{code}" if code in _FITS else ""


def _checked(node: ast.BinOp) -> Any:
    """Return a sum, a product or a shift as a call that notices an overflow."""
    name = _ARITHMETIC.get(type(node.op))
    if name is None or not any(isinstance(inner, ast.Name | ast.Attribute) for inner in ast.walk(node)):
        return node  # a constant, which Python works out
    return _call(name, node.left, node.right)


def _call(name: str, value: ast.expr, *more: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [value, *more], []), value)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _parsed(source: str, at: Any) -> ast.stmt:
    statement = ast.parse(source).body[0]
    for node in ast.walk(statement):
        ast.copy_location(node, at)
    return statement
