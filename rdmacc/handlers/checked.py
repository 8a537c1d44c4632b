"""Checked mode: run a scheme's handlers with errors caught and the same results.

Handlers are rewritten from their source (`rdmacc.handlers.rewriting`). After each handler the hook tests the values
that the engine will use: kinds, verdicts, classes, rates, windows, packet numbers. Both engines write the tests into
their hooks; a `Trail` records the location when one fails, and the error names component, handler and line.
"""

from collections.abc import Callable, Iterable
from dis import opname
from functools import lru_cache
from traceback import walk_tb
from typing import Any, NamedTuple

from rdmacc.errors import HandlerError
from rdmacc.handlers import marks_of
from rdmacc.handlers.hooks import Call, Components
from rdmacc.handlers.rewriting import NOT_FINITE, instrumented
from rdmacc.interface import *
from rdmacc.interface.component import TIMERS, WORDS


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


class Test(NamedTuple):
    """A condition on a field after a handler, for all hooks or some; a timer's is called as the kind of its record."""

    field: str
    condition: str
    allowed: str
    hooks: tuple[str, ...] = ()

    def lines(self, number: str) -> list[str]:
        return [
            f"if not ({self.condition}):",
            f"    trail.test = {number}",
            f"    trail.value = {self.field}",
            "    raise ValueError",
        ]


def _range(field: str, low: object, high: object, allowed: str, *hooks: str) -> Test:
    return Test(field, f"{low} <= {field} <= {high}", allowed, hooks)


def _among(field: str, numbers: Iterable[int], allowed: str, *hooks: str) -> Test:
    return Test(field, " or ".join(f"{field} == {number}" for number in numbers), allowed, hooks)


_MOST_WIRE_BYTES = 2**24
_CLASSES = CREDITS, NUM_CLASSES - 1, f"a class from {CREDITS} (CREDITS) to {NUM_CLASSES - 1}"
_NOT_NEGATIVE = 0, 2**31 - 1, "at least 0"
_FLAG = 0, 1, "0 or 1"
_REPLIES = {*range(NONE, ADVERT + 1)} - {DATA, REQUEST}

_TESTS = (
    _range("sender.rate_bps", 1e3, 1e18, "from 1 kb/s to 10**18 b/s"),
    _range("sender.window_bytes", 1, UNLIMITED, "from 1 byte to UNLIMITED"),
    _range("qp.credits", -UNLIMITED, UNLIMITED, "at most UNLIMITED"),
    _range("qp.inflight_bytes", -(2**62), 2**62, "below 2**62"),
    *(
        _range(f"message.{name}", 0, "message.packets", "from 0 to message.packets")
        for name in ("next_psn", "una_psn", "granted_psn", "received_packets")
    ),
    _range("message.priority", DATA_CLASS, NUM_CLASSES - 1, f"a data class, {DATA_CLASS} to {NUM_CLASSES - 1}"),
    _range("message.failed", *_FLAG),
    _range("host.announce", *_FLAG),
    _range("host.pick", *_NOT_NEGATIVE),
    _range("packet.priority", *_CLASSES),
    _range("packet.wire_bytes", 1, _MOST_WIRE_BYTES, "from 1 byte to 16 MiB"),
    _range("packet.ce", *_FLAG),
    _range("packet.accepted", *_FLAG),
    _range("packet.path", *_NOT_NEGATIVE),
    _range("packet.route", -1, "trail.n_ports - 1", "-1 or the number of a port of this switch", "on_route"),
    _among("packet.verdict", (ACCEPT, DEFLECT), "ACCEPT or DEFLECT", "on_route"),
    _range("packet.verdict", ACCEPT, TRIM_TAIL, "ACCEPT, DROP, TRIM or TRIM_TAIL", "on_enqueue", "on_dequeue"),
    _range("packet.kind", ACK, NAK, "ACK or NAK", "on_ack"),
    *(
        _among(f"{argument}.kind", sorted(_REPLIES), "NONE, ACK, NAK, CNP, CREDIT or ADVERT")
        for argument in ("reply", "notice")
    ),
    _among("request.kind", (NONE, REQUEST), "NONE or REQUEST"),
    *(
        _range(f"{argument}.{name}", *bounds)
        for argument in ("reply", "notice", "request")
        for name, bounds in (
            ("priority", _CLASSES), ("wire_bytes", (0, _MOST_WIRE_BYTES, "from 0 (the scheme's) to 16 MiB")),
            ("path", _NOT_NEGATIVE), ("ce", _FLAG),
        )
    ),
    _range("reply.message", 0, "trail.n_messages - 1", "the number of a message to this host", "Endpoint"),
)  # fmt: skip
_TESTED = {test.field.split(".")[0] for test in _TESTS}
"""Handler arguments that are tested after the call."""


def tests_of(component: Component, hook: str, kind: str, call: Call) -> list[Test]:
    own = component.record("Sender")
    absent = {"sender.rate_bps", "sender.window_bytes"} - {f"sender.{one.name}" for one in (own.fields if own else ())}
    if hook == "on_open":
        absent.add("sender.window_bytes")  # some components set it when a message starts
    return [
        test
        for test in _TESTS
        if test.field.split(".")[0] in call.arguments and test.field not in absent
        and (not test.hooks or (kind or hook) in test.hooks)
    ]  # fmt: skip


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
        tests, lines = tests_of(self._components[call.component], name, kind, call), []
        for number, test in enumerate(tests):
            lines += test.lines(f"first + {number}")
        self.tests += tests
        if name == "on_route" and "packet" in arguments:  # of what follows, only the hook knows where ports are
            route, port = f"{record('packet')}.route", record("port")
            node, here = (self._port_node.format(port=port, number=one) for one in (route, f"{port}.number"))
            after += Test(route, f"{route} < 0 or {node} == {here}", "").lines(
                str(first + [test.field for test in tests].index("packet.route"))
            )
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
