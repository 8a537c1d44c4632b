"""Rewrite handlers from their source, with the checks of checked mode (`rdmacc.handlers.checked`).

The checks ensure that a field can hold the assigned number, integers stay within 63 bits, only finite numbers are
converted to integers, packet sets are only accessed with packets of their message, and loops end. The handlers' checker
has marked where checks are needed. Line numbers stay the same.
"""

import ast
import copy
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from rdmacc.handlers import Mark, Marks, bytecode_of, outside, source_tree

MOST_TURNS = 10_000_000
"""Iterations in one call of a handler above which a loop counts as endless."""


# Rewritten handlers call these functions, in both engines. Integer checks let floats pass, because a function may be
# called with either.


def fit_i1(value):  # type: ignore[no-untyped-def]
    if not -128 <= value <= 127:
        raise OverflowError("a Byte field holds -128 to 127")
    return int(value)


def fit_i4(value):  # type: ignore[no-untyped-def]
    if not -2147483648 <= value <= 2147483647:
        raise OverflowError("an Int32 field holds -2**31 to 2**31 - 1")
    return int(value)


def fit_i8(value):  # type: ignore[no-untyped-def]
    return int(value)


def fit_f8(value):  # type: ignore[no-untyped-def]
    if not -1.7976931348623157e308 <= value <= 1.7976931348623157e308:  # Python raises here; compiled code continues
        raise ValueError("a Float field takes a finite number")
    return float(value)


NOT_FINITE = "a math function without a finite result"
_MOST = 9.2e18  # beyond it, integers wrap in compiled code


def to_int(value):  # type: ignore[no-untyped-def]
    """Return int(value), which must fit into 63 bits."""
    return int(bounded(value))  # type: ignore[no-untyped-call]


def bounded(value):  # type: ignore[no-untyped-def]
    """Return a number that fits into 63 bits once it is rounded."""
    if not -_MOST < value < _MOST:
        raise OverflowError("int() of a number that is not finite or needs more than 63 bits")
    return value


def finite(value):  # type: ignore[no-untyped-def]
    """Return the result of a `math` function, if finite; otherwise raise, as Python does."""
    if not -1.7976931348623157e308 <= value <= 1.7976931348623157e308:
        raise ValueError(NOT_FINITE)
    return value


def add(a, b):  # type: ignore[no-untyped-def]
    if isinstance(a, int) and isinstance(b, int) and abs(float(a) + float(b)) > _MOST:
        raise OverflowError("an integer of more than 63 bits")
    return a + b


def subtract(a, b):  # type: ignore[no-untyped-def]
    if isinstance(a, int) and isinstance(b, int) and abs(float(a) - float(b)) > _MOST:
        raise OverflowError("an integer of more than 63 bits")
    return a - b


def multiply(a, b):  # type: ignore[no-untyped-def]
    if isinstance(a, int) and isinstance(b, int) and abs(float(a) * float(b)) > _MOST:
        raise OverflowError("an integer of more than 63 bits")
    return a * b


def divide(a, b):  # type: ignore[no-untyped-def]
    """Return a / b of numbers that floats represent exactly: compiled code rounds large integers before dividing."""
    return exact(a) / exact(b)  # type: ignore[no-untyped-call]


def exact(value):  # type: ignore[no-untyped-def]
    """Return a number that a float represents exactly."""
    if isinstance(value, int) and abs(value) > 9007199254740992 and int(float(value)) != value:
        raise OverflowError("an integer of more than 53 bits combined with a float")
    return value


def negative(value):  # type: ignore[no-untyped-def]
    return 0 - value  # widens a narrow field to 63 bits


def word(value):  # type: ignore[no-untyped-def]
    """Return the result of a bitwise operation; -2**63, which has no negative, is not in the language."""
    if value < -9223372036854775807:
        raise OverflowError("an integer of more than 63 bits")
    return value


def absolute(value):  # type: ignore[no-untyped-def]
    return abs(value)


def power(a, b):  # type: ignore[no-untyped-def]
    if b < 0:
        raise ValueError("an integer to a negative power, which is a float: write 1.0 / ...")
    if a == 0 or a == 1:
        return a if b > 0 else a - a + 1
    if a == -1:
        return 1 - 2 * (b % 2)
    if b > 62 or abs(float(a)) ** b > _MOST:
        raise OverflowError("an integer of more than 63 bits")
    return a**b


def shift_left(a, b):  # type: ignore[no-untyped-def]
    if b < 0 or b > 62 or abs(float(a)) * 2.0**b > _MOST:
        raise OverflowError("an integer of more than 63 bits, or a shift by a negative number")
    return a << b


def shift_right(a, b):  # type: ignore[no-untyped-def]
    if b < 0 or b > 63:
        raise ValueError("a shift by a negative number, or by more than 63 bits")
    return a >> b


def in_message(psn, packets):  # type: ignore[no-untyped-def]
    """Return a packet's number if a set of the message's packets has room for it."""
    if not 0 <= psn <= packets:
        raise IndexError("a packet number outside its message")
    return psn


_CHECKS = (
    absolute, add, bounded, divide, exact, finite, fit_f8, fit_i1, fit_i4, fit_i8, in_message, multiply, negative,
    power, shift_left, shift_right, subtract, to_int, word,
)  # fmt: skip

_OURS = "_rdmacc_"  # prefix of names inserted into handlers, which no handler uses


def instrumented(
    function: Callable[..., Any], marks: Marks, *, has_trail: bool, memo: dict[Any, Callable[..., Any]]
) -> Callable[..., Any]:
    """Return a handler, or a function that one calls, with the checks inserted."""
    code = function.__code__
    known = {name: outside(function, name) for name, _, _ in bytecode_of(code).taken}
    called = {
        name: instrumented(value, marks, has_trail=False, memo=memo)
        for name, value in known.items()
        if isinstance(value, types.FunctionType) and value in marks
    }
    key = function, marks[function], has_trail, *called.values()
    if key not in memo:
        rewritten = _rewritten(code, code.co_filename, marks[function], has_trail)
        closed = {name: outside(function, name) for name in code.co_freevars}
        checks = {f"{_OURS}{check.__name__}": check for check in _CHECKS}
        namespace = function.__globals__ | closed | called | checks  # current values: constants may have changed
        memo[key] = types.FunctionType(rewritten, namespace, function.__name__, function.__defaults__)
    return memo[key]


@lru_cache(4096)  # a component has many simulations
def _rewritten(code: types.CodeType, filename: str, marks: frozenset[Mark], has_trail: bool) -> types.CodeType:
    """Return the code of a function with its checks; the file name tells equal code of two files apart."""
    tree: Any = copy.deepcopy(source_tree(code))
    by_place = dict(marks)
    node: Any
    for place, node in enumerate(ast.walk(tree)):
        node.check = by_place.get(place, "")
    tree.decorator_list, tree.returns = [], None
    for argument in (*tree.args.posonlyargs, *tree.args.args):
        argument.annotation = None
    tree.args.defaults = []  # the new function gets the defaults of the old one
    tree = _Rewriter(has_trail).visit(tree)
    if has_trail:
        tree.args.args.append(ast.arg(f"{_OURS}trail"))
    ast.fix_missing_locations(tree)
    made = compile(ast.Module([tree], []), filename, "exec")
    return next(constant for constant in made.co_consts if isinstance(constant, types.CodeType))


class _Rewriter(ast.NodeTransformer):
    """Inserts checks into a function's syntax tree."""

    def __init__(self, has_trail: bool) -> None:
        self._has_trail = has_trail
        self._loops = 0

    def visit(self, node: Any) -> Any:
        """Rewrite a node; before a statement, note its line."""
        made = super().visit(node)
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not self._has_trail or not isinstance(node, ast.stmt) or isinstance(node, ast.FunctionDef) or is_docstring:
            return made
        noted = _parsed(f"{_OURS}trail.line = {node.lineno}", node)
        return [noted, *(made if isinstance(made, list) else [made])]

    def generic_visit(self, node: Any) -> Any:
        """Rewrite the parts of a node, then insert its check. `visit_Assign` inserts those of fields that are set."""
        super().generic_visit(node)
        check, _, message = getattr(node, "check", "").partition(" ")
        if not check or isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        if check in ("finite", "word"):
            return _call(check, node)
        if check == "exact":
            node.left = _call(check, node.left)
            node.comparators = [_call(check, value) for value in node.comparators]
        elif check == "bounded":
            node.args = [_call(check, value) for value in node.args]
        elif message:
            most: Any = ast.parse(f"{message}.packets", mode="eval").body
            node.args[1:] = [_call(check, value, most) for value in node.args[1:]]
        elif isinstance(node, ast.BinOp):
            return _call(check, node.left, node.right)
        else:
            return _call(check, *(node.args if isinstance(node, ast.Call) else [node.operand]))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if self._loops:
            node.body.insert(0, _parsed(f"{_OURS}turns = 0", node))
        return node

    def visit_For(self, node: Any) -> Any:
        self.generic_visit(node)
        self._loops += 1
        node.body[:0] = [
            _parsed(f"{_OURS}turns += 1", node),
            _parsed(f"if {_OURS}turns > {MOST_TURNS}:\n    raise RuntimeError('a loop that does not end')", node),
        ]
        return node

    visit_While = visit_For

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST]:
        self.generic_visit(node)
        if len(node.targets) == 1:
            return _store(node.targets[0], node.value, node)
        value: Any = ast.copy_location(ast.Name(f"{_OURS}value", ast.Load()), node)
        first = ast.copy_location(ast.Assign([ast.Name(f"{_OURS}value", ast.Store())], node.value), node)
        return [first, *(_store(target, value, node) for target in node.targets)]

    def visit_AugAssign(self, node: Any) -> Any:
        before = copy.deepcopy(node.target)
        before.ctx, before.check = ast.Load(), ""
        value: Any = ast.copy_location(ast.BinOp(before, node.op, node.value), node)
        value.check = node.check
        return self.visit_Assign(ast.copy_location(ast.Assign([node.target], value), node))


def _store(target: Any, value: Any, at: ast.AST) -> ast.Assign:
    """Return the assignment, with the check of a field."""
    check = getattr(target, "check", "")
    return ast.copy_location(ast.Assign([target], _call(check, value) if check else value), at)


def _call(name: str, value: Any, *more: ast.expr) -> Any:
    return ast.copy_location(ast.Call(ast.Name(f"{_OURS}{name}", ast.Load()), [value, *more], []), value)


def _parsed(source: str, at: Any) -> ast.stmt:
    statement = ast.parse(source).body[0]
    for node in ast.walk(statement):
        ast.copy_location(node, at)
    return statement
