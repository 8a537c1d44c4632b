"""Checked mode: a scheme's handlers run with their mistakes caught, at the same results.

Handlers are rewritten from their source: a field is only given a number that it can hold, a loop ends, an integer is
made of a finite number. After each handler the hook tests what the engine is going to use: kinds, verdicts, classes,
rates, windows, packet numbers. Either engine writes the tests into its hooks (`Trail` tells where a run was when one
fails), and `explain` makes of the exception an error that names component, handler and line.
"""

from __future__ import annotations

import ast
import copy
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rdmacc import bits
from rdmacc.component import HOOKS, RECORD_KINDS, TIMER_OFFERS
from rdmacc.engine.hooks import Call
from rdmacc.errors import HandlerError
from rdmacc.handlers import NATIVE, source_tree
from rdmacc.records import Field, Float, Int, Record
from rdmacc.state import (
    ACCEPT, ACK, ADVERT, CREDITS, DATA, DATA_CLASS, DEFLECT, NAK, NONE, NUM_CLASSES, REQUEST, TRIM_TAIL, UNLIMITED,
    Host, Message, Packet, Port, QueuePair,
)  # fmt: skip

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

__all__ = ["Checks", "Test", "Trail", "explain", "instrumented", "is_instrumented"]

MOST_TURNS = 10_000_000
"""A loop that makes more turns in one call of a handler does not end."""

_LEAST_BPS, _MOST_BPS = 1e3, 1e18
_MOST_WIRE_BYTES = 2**24
_MOST_CREDITS = UNLIMITED


class Trail(Record):
    """Where a run is: written by checked hooks, read when an exception ends it."""

    handler = Int(-1, "number of the handler that was called last")
    line = Int(0, "line of its file that it has come to, where the engine knows it")
    test = Int(-1, "number of the test that failed; -1 for none")
    value = Float(0.0, "the number that failed it")
    qp = Int(-1)
    message = Int(-1)
    port = Int(-1)
    host = Int(-1)
    n_ports = Int()
    n_messages = Int()
    # Addresses of the rows that the hook was called with, in the compiled engine.
    packet_row = Int()
    reply_row = Int()
    notice_row = Int()
    message_row = Int()
    place_row = Int()


@dataclass(frozen=True)
class Test:
    """What must hold after a handler: a number between two others."""

    __test__ = False  # no test of pytest's

    value: str
    low: str
    high: str
    field: str
    allowed: str
    shown: str = ""


# Functions that rewritten handlers call. Both engines have them; the compiled one gives them integers and floats.


def fit_byte(value):  # type: ignore[no-untyped-def]
    """Return a number that a `Byte` field can hold."""
    value = whole(value)
    if not -128 <= value <= 127:
        raise OverflowError("a Byte field holds -128 to 127")
    return value


def fit_int32(value):  # type: ignore[no-untyped-def]
    """Return a number that an `Int32` field can hold."""
    value = whole(value)
    if not -2147483648 <= value <= 2147483647:
        raise OverflowError("an Int32 field holds -2**31 to 2**31 - 1")
    return value


def fit_int(value):  # type: ignore[no-untyped-def]
    """Return a number that an `Int` field can hold."""
    value = whole(value)
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
    """Return a number."""
    if not isinstance(value, (bool, int, float)):
        raise TypeError("a Float field takes a number")
    return value


def to_int(value):  # type: ignore[no-untyped-def]
    """Return int(value) of a finite number that 63 bits can hold."""
    if not -9.2e18 < value < 9.2e18:
        raise OverflowError("int() of a number that is not finite, or beyond 63 bits")
    return int(value)


def in_message(psn, packets):  # type: ignore[no-untyped-def]
    """Return a packet's number if a set of the message's packets has room for it."""
    if not 0 <= psn <= packets:
        raise IndexError("a packet number outside its message")
    return psn


_SETS = (bits.has_bit, bits.set_bit, bits.clear_bit, bits.find_set, bits.find_clear)
_FITS = {"i1": fit_byte, "i4": fit_int32, "i8": fit_int, "f8": number}
_ENGINE = {"packet": Packet, "reply": Packet, "notice": Packet, "request": Packet, "message": Message, "qp": QueuePair,
           "host": Host, "port": Port}  # fmt: skip


def tests_of(scheme: Scheme, hook: str, kind: str, call: Call, record: Callable[[str], str]) -> list[Test]:
    """Return what must hold once a handler has run.

    Parameters
    ----------
    scheme : Scheme
        The scheme.
    hook : str
        Name of the hook, or of the handler that serves a deadline.
    kind : str
        For a timer the kind of the record that holds it, else empty.
    call : Call
        The handler.
    record : callable
        Returns the expression for an argument in the hook's source.
    """
    tests: list[Test] = []

    timer_kind = kind

    def must(argument: str, field: str, low: object, high: object, allowed: str) -> None:
        at = record(argument)
        tests.append(Test(f"{at}.{field}", str(low), str(high), f"{argument}.{field}", allowed))

    given = set(call.arguments)
    if "sender" in given:
        own = scheme.components[call.component].record("Sender")
        names = {field.name for field in own.fields} if own is not None else set()
        if "rate_bps" in names:
            must("sender", "rate_bps", _LEAST_BPS, _MOST_BPS, "from 1 kb/s to 10**18 b/s")
        if "window_bytes" in names:
            must("sender", "window_bytes", 1, UNLIMITED, "from 1 byte to UNLIMITED")
    if "qp" in given:
        must("qp", "credits", -_MOST_CREDITS, _MOST_CREDITS, "at most UNLIMITED")
        must("qp", "inflight_bytes", -(2**62), 2**62, "below 2**62")
    if "message" in given:
        packets = f"{record('message')}.packets"
        for field in ("next_psn", "una_psn", "granted_psn", "received_packets"):
            must("message", field, 0, packets, "from 0 to message.packets")
        must("message", "priority", DATA_CLASS, NUM_CLASSES - 1, f"a data class, {DATA_CLASS} to {NUM_CLASSES - 1}")
        must("message", "failed", 0, 1, "0 or 1")
        if hook == "on_candidate":
            must("message", "key", -(2**62), 2**62, "at most NEVER")
    if "host" in given:
        must("host", "announce", 0, 1, "0 or 1")
        must("host", "pick", 0, 2**31 - 1, "at least 0")
    classes = f"a class from {CREDITS} (CREDITS) to {NUM_CLASSES - 1}"
    if "packet" in given:
        must("packet", "priority", CREDITS, NUM_CLASSES - 1, classes)
        must("packet", "wire_bytes", 1, _MOST_WIRE_BYTES, "from 1 byte to 16 MiB")
        must("packet", "ce", 0, 1, "0 or 1")
        must("packet", "accepted", 0, 1, "0 or 1")
        must("packet", "path", 0, 2**31 - 1, "at least 0")
        if hook == "on_route":
            must("packet", "route", -1, "trail.n_ports - 1", "-1 or the number of a port of this switch")
        if hook == "on_route":
            tests.append(_either(record("packet"), "packet.verdict", ACCEPT, DEFLECT, "ACCEPT or DEFLECT"))
        elif hook in ("on_enqueue", "on_dequeue"):
            must("packet", "verdict", ACCEPT, TRIM_TAIL, "ACCEPT, DROP, TRIM or TRIM_TAIL")
        if hook == "on_ack":
            must("packet", "kind", ACK, NAK, "ACK or NAK")
    for argument in ("reply", "notice"):
        if argument in given:
            at = record(argument)
            allowed = "NONE, ACK, NAK, CNP, CREDIT or ADVERT"
            sendable = f"(0 if {at}.kind == {DATA} or {at}.kind == {REQUEST} or not {NONE} <= {at}.kind <= {ADVERT} else 1)"
            tests.append(Test(sendable, "1", "1", f"{argument}.kind", allowed, f"{at}.kind"))
    if "request" in given:
        tests.append(_either(record("request"), "request.kind", NONE, REQUEST, "NONE or REQUEST"))
    for argument in ("reply", "notice", "request"):
        if argument in given:
            must(argument, "priority", CREDITS, NUM_CLASSES - 1, classes)
            must(argument, "wire_bytes", 0, _MOST_WIRE_BYTES, "from 0 (the scheme's) to 16 MiB")
            must(argument, "path", 0, 2**31 - 1, "at least 0")
            must(argument, "ce", 0, 1, "0 or 1")
    if timer_kind == "Endpoint" and "reply" in given:
        must("reply", "message", 0, "trail.n_messages - 1", "the number of a message to this host")
    return tests


def _either(at: str, field: str, one: int, other: int, allowed: str) -> Test:
    name = field.split(".")[1]
    return Test(f"(0 if {at}.{name} == {one} or {at}.{name} == {other} else {at}.{name})", "0", "0", field, allowed)


class Checks:
    """What is checked in a scheme's hooks: handlers and tests by number.

    Attributes
    ----------
    calls : list of (str, Call, tuple of str)
        Each handler's name, call, and what its hook offers.
    tests : list of Test
        Every test of every hook.
    """

    def __init__(self, scheme: Scheme, *, has_trail: bool) -> None:
        self._scheme, self._has_trail = scheme, has_trail
        self._memo: dict[Any, Callable[..., Any]] = {}
        self.calls: list[tuple[str, Call, tuple[str, ...]]] = []
        self.tests: list[Test] = []

    def function(self, call: Call) -> Callable[..., Any]:
        """Return a handler with its checks."""
        owner = self._scheme.components[call.component]
        return instrumented(call.function, owner, has_trail=self._has_trail, memo=self._memo)

    def around(self, name: str, kind: str, call: Call, record: Callable[[str], str]) -> tuple[list[str], list[str]]:
        """Return the lines of a hook before and after a handler's call; `trail` is at hand there.

        Parameters
        ----------
        name : str
            The handler's name.
        kind : str
            For a timer the kind of the record that holds it, else empty.
        call : Call
            The handler.
        record : callable
            Returns the expression for an argument of the handler in the hook's source.
        """
        offers = TIMER_OFFERS[kind] if kind else HOOKS[name].offers
        numbers = {"qp": "number", "message": "number", "port": "number", "host": "node"}
        before = [f"trail.{one} = {record(one)}.{numbers[one]}" for one in numbers if one in offers]
        before += [f"trail.handler = {len(self.calls)}", "trail.line = 0"]
        self.calls.append((name, call, offers))
        after = []
        for test in tests_of(self._scheme, name, kind, call, record):
            after += [
                f"if not {test.low} <= {test.value} <= {test.high}:",
                f"    trail.test = {len(self.tests)}",
                f"    trail.value = {test.shown or test.value}",
                "    raise ValueError",
            ]
            self.tests.append(test)
        return before, after

    def explain(self, trail: Any, exception: BaseException, now: int) -> HandlerError:
        """Return the error that names component, handler, line and reason.

        Parameters
        ----------
        trail : dict
            Where the run was, by the names of `Trail`.
        exception : BaseException
            What the handler raised, or a test.
        now : int
            Simulated time, ps.
        """
        name, call, offers = self.calls[int(trail["handler"])]
        component = type(self._scheme.components[call.component]).__name__
        failed = int(trail["test"])
        if failed >= 0:
            line, test, value = None, self.tests[failed], float(trail["value"])
            shown = int(value) if value.is_integer() else value
            reason = f"{test.field} = {shown}: must be {test.allowed}"
        else:
            line = _line_in(exception, call.function) or int(trail["line"]) or None
            reason = _reason(exception)
        words = {"qp": "queue pair", "message": "message", "port": "port", "host": "host"}
        place = ", ".join(f"{word} {int(trail[key])}" for key, word in words.items() if key in offers)
        return HandlerError(f"{component}.{name}", reason, line, now, place, call.function.__code__.co_filename)


# Rewriting


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
    tree = source_tree(function)
    if tree is None or function.__closure__:
        return function
    tree = copy.deepcopy(tree)
    tree.decorator_list, tree.returns = [], None
    for argument in (*tree.args.args, *tree.args.kwonlyargs):
        argument.annotation = None
    codes = _codes_of(owner) if owner is not None else {}
    tree = _Rewriter(codes, has_trail and owner is not None, function).visit(tree)
    if has_trail and owner is not None:
        tree.args.args.append(ast.arg("trail"))
    ast.fix_missing_locations(tree)
    code = compile(ast.Module([tree], []), function.__code__.co_filename, "exec")
    inner = next(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    namespace = dict(function.__globals__)
    for name in inner.co_names:
        value = namespace.get(name)
        if isinstance(value, types.FunctionType) and value not in NATIVE:
            namespace[name] = instrumented(value, None, has_trail=has_trail, memo=memo)
    namespace |= {"_fit_i1": fit_byte, "_fit_i4": fit_int32, "_fit_i8": fit_int, "_fit_f8": number, "_to_int": to_int}
    namespace["_in_message"] = in_message
    made = types.FunctionType(inner, namespace, function.__name__, function.__defaults__)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__rdmacc_source__ = ast.unparse(tree)  # type: ignore[attr-defined]
    memo[key] = made
    return made


def is_instrumented(function: Callable[..., Any]) -> bool:
    """Tell whether a handler has been rewritten."""
    return hasattr(function, "__rdmacc_source__")


def _codes_of(owner: Any) -> dict[str, dict[str, str]]:
    """Return the type codes of the integer fields that a component's handlers see, by argument."""
    codes = {role: {field.name: _code(field) for field in record.fields} for role, record in _ENGINE.items()}
    for kind in RECORD_KINDS:
        record = owner.record(kind)
        if record is None:
            continue
        own = {field.name: _code(field) for field in record.fields if not field.is_bits}
        if kind == "Header":
            for role in ("packet", "reply", "notice", "request"):
                codes[role] = codes[role] | own
        else:
            codes[kind.lower()] = own
    return codes


def _code(field: Field) -> str:
    return f"{field.code}[]" if field.length else field.code


class _Rewriter(ast.NodeTransformer):
    """Puts checks into a function's syntax tree."""

    def __init__(self, codes: dict[str, dict[str, str]], has_trail: bool, function: Callable[..., Any]) -> None:
        self._codes, self._has_trail = codes, has_trail
        self._globals = function.__globals__
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
        value = _call(fit, ast.BinOp(before, node.op, node.value))
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1 and not node.keywords:
            node.func = ast.copy_location(ast.Name("_to_int", ast.Load()), node.func)
        elif isinstance(node.func, ast.Name) and self._globals.get(node.func.id) in _SETS:
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


def _call(name: str, value: ast.expr, *more: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), [value, *more], []), value)


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _parsed(source: str, at: Any) -> ast.stmt:
    statement = ast.parse(source).body[0]
    for node in ast.walk(statement):
        ast.copy_location(node, at)
    return statement


# When something went wrong


def explain(scheme: Scheme, exception: BaseException, now: int) -> HandlerError | None:
    """Return the error for an exception that a handler has raised without checks; None if no handler has.

    Parameters
    ----------
    scheme : Scheme
        The scheme.
    exception : BaseException
        The exception, with its traceback.
    now : int
        Simulated time, ps.
    """
    trace = exception.__traceback__
    known = {
        (function.__code__.co_filename, function.__code__.co_name): (type(part).__name__, function)
        for part in scheme.components
        for function in part.handlers().values()
    }
    while trace is not None:
        code = trace.tb_frame.f_code
        if (code.co_filename, code.co_name) in known:
            component, function = known[code.co_filename, code.co_name]
            name = f"{component}.{code.co_name}"
            return HandlerError(name, _reason(exception), trace.tb_lineno, now, filename=code.co_filename)
        trace = trace.tb_next
    return None


def _reason(exception: BaseException) -> str:
    text = str(exception)
    return f"{type(exception).__name__}: {text}" if text else type(exception).__name__


def _line_in(exception: BaseException, function: Callable[..., Any]) -> int | None:
    """Return the line of a function at which an exception passed, None if it did not."""
    trace, found = exception.__traceback__, None
    while trace is not None:
        code = trace.tb_frame.f_code
        if (code.co_filename, code.co_name) == (function.__code__.co_filename, function.__code__.co_name):
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
