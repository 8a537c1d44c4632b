"""Checked mode: run a scheme's handlers with errors caught and the same results.

Handlers are rewritten from their source (`rdmacc.handlers.rewriting`). After each handler the hook tests the values
that the engine will use: kinds, verdicts, classes, rates, windows, packet numbers. Both engines write the tests into
their hooks; a `Trail` records the location when one fails, and the error names component, handler and line.
"""

from collections.abc import Callable
from dataclasses import dataclass
from dis import opname
from functools import lru_cache
from traceback import walk_tb
from typing import Any

from rdmacc.errors import HandlerError
from rdmacc.handlers import marks_of
from rdmacc.handlers.hooks import Call, Components
from rdmacc.handlers.rewriting import NOT_FINITE, instrumented
from rdmacc.interface import (
    ACCEPT,
    ACK,
    ADVERT,
    CREDITS,
    DATA,
    DATA_CLASS,
    DEFLECT,
    HOOKS,
    NAK,
    NONE,
    NUM_CLASSES,
    REQUEST,
    TRIM_TAIL,
    UNLIMITED,
    Float,
    Int,
    Record,
)
from rdmacc.interface.component import TIMERS, WORDS

_LEAST_BPS, _MOST_BPS = 1e3, 1e18
_MOST_WIRE_BYTES = 2**24
_MOST_CREDITS = UNLIMITED

_TESTED = ("sender", "qp", "message", "host", "packet", "reply", "notice", "request")
"""Handler arguments that are tested after the call."""


class Trail(Record):
    """The current location of a run: written by checked hooks, read when an exception ends the run."""

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
    """A condition after a handler: a number between two bounds."""

    __test__ = False  # not a pytest test

    value: str
    low: str
    high: str
    field: str
    allowed: str
    shown: str = ""
    needs_ports: bool = False


def tests_of(
    components: Components, hook: str, kind: str, call: Call, record: Callable[[str], str], port_node: str
) -> list[Test]:
    tests: list[Test] = []

    def must(argument: str, field: str, low: object, high: object, allowed: str) -> None:
        at = record(argument)
        tests.append(Test(f"{at}.{field}", str(low), str(high), f"{argument}.{field}", allowed))

    given = set(call.arguments)
    if "sender" in given:
        own = components[call.component].record("Sender")
        names = {field.name for field in own.fields} if own is not None else set()
        if "rate_bps" in names:
            must("sender", "rate_bps", _LEAST_BPS, _MOST_BPS, "from 1 kb/s to 10**18 b/s")
        if "window_bytes" in names and hook != "on_open":  # some components set it when a message starts
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
            allowed = "-1 or the number of a port of this switch"
            route, port = f"{record('packet')}.route", record("port")
            must("packet", "route", -1, "trail.n_ports - 1", allowed)
            node, here = (port_node.format(port=port, number=number) for number in (route, f"{port}.number"))
            owner = f"({here} if {route} < 0 else {node})"
            tests.append(Test(owner, here, here, "packet.route", allowed, route, needs_ports=True))
            tests.append(_either(record("packet"), "packet.verdict", ACCEPT, DEFLECT, "ACCEPT or DEFLECT"))
        elif hook in ("on_enqueue", "on_dequeue"):
            must("packet", "verdict", ACCEPT, TRIM_TAIL, "ACCEPT, DROP, TRIM or TRIM_TAIL")
        if hook == "on_ack":
            must("packet", "kind", ACK, NAK, "ACK or NAK")
    for argument in ("reply", "notice"):
        if argument in given:
            at = record(argument)
            allowed = "NONE, ACK, NAK, CNP, CREDIT or ADVERT"
            sendable = (
                f"(0 if {at}.kind == {DATA} or {at}.kind == {REQUEST} or not {NONE} <= {at}.kind <= {ADVERT} else 1)"
            )
            tests.append(Test(sendable, "1", "1", f"{argument}.kind", allowed, f"{at}.kind"))
    if "request" in given:
        tests.append(_either(record("request"), "request.kind", NONE, REQUEST, "NONE or REQUEST"))
    for argument in ("reply", "notice", "request"):
        if argument in given:
            must(argument, "priority", CREDITS, NUM_CLASSES - 1, classes)
            must(argument, "wire_bytes", 0, _MOST_WIRE_BYTES, "from 0 (the scheme's) to 16 MiB")
            must(argument, "path", 0, 2**31 - 1, "at least 0")
            must(argument, "ce", 0, 1, "0 or 1")
    if kind == "Endpoint" and "reply" in given:
        must("reply", "message", 0, "trail.n_messages - 1", "the number of a message to this host")
    return tests


def _either(at: str, field: str, one: int, other: int, allowed: str) -> Test:
    name = field.split(".")[1]
    return Test(f"(0 if {at}.{name} == {one} or {at}.{name} == {other} else {at}.{name})", "0", "0", field, allowed)


def _lines(test: Test, number: str) -> list[str]:
    return [
        f"if not {test.low} <= {test.value} <= {test.high}:",
        f"    trail.test = {number}",
        f"    trail.value = {test.shown or test.value}",
        "    raise ValueError",
    ]


@lru_cache(maxsize=256)
def _function(head: str, *lines: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(compile("\n    ".join([head, *lines]), "<tests>", "exec"), namespace)
    function: Callable[..., Any] = namespace["tests"]
    return function


class Checks:
    """The checks in a scheme's hooks: handlers and tests by number."""

    def __init__(self, components: Components, *, has_trail: bool, port_node: str) -> None:
        self._components, self.has_trail, self._port_node = components, has_trail, port_node
        self._memo: dict[Any, Callable[..., Any]] = {}
        self.calls: list[tuple[str, Call, tuple[str, ...]]] = []
        self.tests: list[Test] = []

    def function(self, call: Call) -> Callable[..., Any]:
        marks = marks_of(self._components, self._components[call.component], call.name)
        return instrumented(call.function, marks, has_trail=self.has_trail, memo=self._memo)

    def around(
        self, name: str, kind: str, call: Call, record: Callable[[str], str], tests_name: str
    ) -> tuple[list[str], list[str], Callable[..., Any]]:
        """Return the lines before and after a handler's call, which may use `trail`, and the function that tests.

        Handlers with the same tests share that function.
        """
        before, first = self._before(name, kind, call, record), len(self.tests)
        arguments = [one for one in call.arguments if one in _TESTED]
        after = [f"{tests_name}({', '.join([*map(record, arguments), 'trail', str(first)])})"]
        lines = []
        formal = tests_of(self._components, name, kind, call, str, self._port_node)
        self.tests += tests_of(self._components, name, kind, call, record, self._port_node)
        for number, test in enumerate(formal):
            if test.needs_ports:
                after += _lines(self.tests[first + number], str(first + number))
            else:
                lines += _lines(test, f"first + {number}")
        return before, after, _function(f"def tests({', '.join([*arguments, 'trail', 'first'])}):", *lines, "return")

    def _before(self, name: str, kind: str, call: Call, record: Callable[[str], str]) -> list[str]:
        offers = (TIMERS[kind] if kind else HOOKS[name]).offers
        numbers = {"qp": "number", "message": "number", "port": "number", "host": "node"}
        before = [f"trail.{one} = {record(one)}.{numbers[one]}" for one in numbers if one in offers]
        before += [f"trail.handler = {len(self.calls)}", "trail.line = 0"]
        self.calls.append((name, call, offers))
        return before

    def explain(self, trail: Any, exception: BaseException, now: int) -> HandlerError:
        name, call, offers = self.calls[int(trail["handler"])]
        component = type(self._components[call.component]).__name__
        failed = int(trail["test"])
        if failed >= 0:
            line, test, value = None, self.tests[failed], float(trail["value"])
            shown = int(value) if value.is_integer() else value
            reason = f"{test.field} = {shown}: must be {test.allowed}"
        else:
            line = _line_in(exception, call.function) or int(trail["line"]) or None
            is_of_math = not self.has_trail and _is_of_math(exception)
            reason = f"ValueError: {NOT_FINITE}" if is_of_math else _reason(exception)
        place = ", ".join(f"{word} {int(trail[key])}" for key, word in WORDS.items() if key in offers)
        return HandlerError(f"{component}.{name}", reason, line, now, place, call.function.__code__.co_filename)


# Errors


def explain(components: Components, exception: BaseException, now: int) -> HandlerError | None:
    """Return the error for an exception raised by an unchecked handler; None if it came from elsewhere."""
    known = {
        (function.__code__.co_filename, function.__code__.co_name): type(part).__name__
        for part in components
        for function in part.handlers().values()
    }
    for (filename, name), line in _frames(exception):
        if (filename, name) in known:
            owner = known[filename, name]
            return HandlerError(f"{owner}.{name}", _reason(exception), line, now, filename=filename)
    return None


def _reason(exception: BaseException) -> str:
    text = str(exception)
    return f"{type(exception).__name__}: {text}" if text else type(exception).__name__


def _is_of_math(exception: BaseException) -> bool:
    """Return whether a function of `math` raised an exception, which compiled code finds by its result.

    It has no frame, and the last one is at a call: a handler's is at a `raise`, and our checks have frames.
    """
    *_, (frame, _) = walk_tb(exception.__traceback__)
    return isinstance(exception, ValueError | OverflowError) and "CALL" in opname[frame.f_code.co_code[frame.f_lasti]]


def _line_in(exception: BaseException, function: Callable[..., Any]) -> int | None:
    own = function.__code__.co_filename, function.__code__.co_name
    return next((line for place, line in reversed(_frames(exception)) if place == own), None)


def _frames(exception: BaseException) -> list[tuple[tuple[str, str], int]]:
    """Return file, function and line of each frame of a traceback, innermost last."""
    trace = walk_tb(exception.__traceback__)
    return [((frame.f_code.co_filename, frame.f_code.co_name), line) for frame, line in trace]
