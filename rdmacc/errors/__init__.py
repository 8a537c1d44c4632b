"""The exceptions that rdmacc raises.

Everything derives from :class:`RdmaccError`. Invalid input raises :class:`ConfigError` before anything runs, a run that
goes wrong :class:`SimulationError`, a handler that cannot be compiled :class:`CompileError`. All of them survive
pickling, so a sweep over several processes reports the original error.
"""

import os
import pickle
import reprlib
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

__all__ = [
    "CompileError", "ConfigError", "DeadlockError", "HandlerError", "LivelockError", "RdmaccError", "SimulationError",
    "StalledError",
]  # fmt: skip

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})

_SHOWN = 8
_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 80


def _show(value: object) -> str:
    """Return `value` as a user would write it, shortened."""
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        value = item()
    return _repr.repr(value)


def _listed(items: Sequence[object]) -> str:
    """Return the first few of `items`, comma-separated, and the number of others."""
    text = ", ".join(str(item) for item in items[:_SHOWN])
    more = len(items) - _SHOWN
    return f"{text} and {more} more" if more > 0 else text


class RdmaccError(Exception):
    """Base of every exception that rdmacc raises on purpose.

    Its printed traceback ends at the user's line. ``error.__traceback__`` has every frame; set
    ``RDMACC_TRACEBACK=full`` in the environment to print them all.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the fields: `args` lacks those that were given by keyword."""
        values = [getattr(self, one.name) for one in fields(self)] if is_dataclass(self) else self.args
        return type(self), tuple(values), vars(self)

    def _render_traceback_(self) -> list[str]:
        """Return the traceback's lines for IPython, which looks for this method."""
        short = shortened(self.__traceback__)
        shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if shell is None:
            return traceback.format_exception(type(self), self, short)
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(self), self, short)
        return lines


class ConfigError(RdmaccError, ValueError):
    """A parameter, a topology or a workload is invalid.

    Parameters
    ----------
    field : str
        Name of the invalid field, as the user knows it.
    value : object
        Its value.
    allowed : str
        The allowed values, phrased to follow "must be": "at least 1 byte". If another verb is needed, the whole clause:
        "must differ from src".
    where : str, optional
        Location, such as "row 3" or "edge h0-s0".

    Examples
    --------
    >>> raise ConfigError("size_bytes", -4, "at least 1 byte", where="row 3")
    Traceback (most recent call last):
    ...
    rdmacc.errors.ConfigError: size_bytes = -4 (row 3): must be at least 1 byte
    """

    def __init__(self, field: str, value: object, allowed: str, where: str = "") -> None:
        allowed = allowed if allowed.startswith("must ") else f"must be {allowed}"
        super().__init__(field, value, allowed, where)
        self.field = field
        self.value = value
        self.allowed = allowed
        self.where = where

    def __str__(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.field} = {_show(self.value)}{place}: {self.allowed}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the value if possible, otherwise its text."""
        value = self.value
        try:
            pickle.dumps(value)
        except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError):
            value = _show(value)
        notes = getattr(self, "__notes__", None)
        state = {"__notes__": notes} if notes else None
        return type(self), (self.field, value, self.allowed, self.where), state


def microseconds(time_ps: int) -> str:
    """Return a time in microseconds, exact to the picosecond."""
    whole, rest = divmod(time_ps, 10**6)
    return f"{whole:,}.{rest:06d}".rstrip("0").rstrip(".") + " us"


def unknown(field: str, value: object, known: Iterable[object], noun: str = "", where: str = "") -> ConfigError:
    """Return the error for an unknown name, with a suggestion for the one that was probably meant."""
    names = [str(name) for name in known]
    given = str(value).lower()
    close = get_close_matches(given, {name.lower(): name for name in names}, n=2)
    if close:
        meant_names = [name for name in names if name.lower() in close]
        meant_names.sort(key=lambda name: SequenceMatcher(None, name.lower(), given).ratio(), reverse=True)
        meant = " or ".join(map(repr, meant_names))
        return ConfigError(field, value, f"{noun or 'a known name'}; did you mean {meant}?", where)
    if not names:
        return ConfigError(field, value, f"{noun or 'a known name'}; there is none", where)
    listed = _listed(names)
    return ConfigError(field, value, f"{noun}: {listed}" if noun else f"one of {listed}", where)


@contextmanager
def written(path: object, kind: str = "file") -> Iterator[None]:
    """Turn an error of the system, or of the encoding, into a ConfigError that names the file, or the folder."""
    try:
        yield
    except (OSError, UnicodeEncodeError, ImportError) as error:
        raise ConfigError(
            "path" if kind == "file" else kind, str(path), f"a {kind} that can be written ({error})"
        ) from None


def install_command(extra: str) -> str:
    """Return the command that installs an extra into the existing installation, even one from a checkout."""
    return f'pip install "rdmacc[{extra}]"'


def not_installed(field: str, package: str, extra: str) -> ConfigError:
    """Return the error for a package that only an extra of rdmacc installs, with the command to install it."""
    return ConfigError(field, package, f"installed: {install_command(extra)}")


class SimulationError(RdmaccError):
    """A run failed. This is the base class of run-time errors."""


@dataclass(eq=False, repr=False)
class DeadlockError(SimulationError):
    """Ports wait on each other in a cycle.

    Parameters
    ----------
    ports : list of str
        Names of the ports, each waiting on the next one and the last on the first.
    time_ps : int
        When the cycle was found, in picoseconds.
    """

    ports: list[str]
    time_ps: int

    def __str__(self) -> str:
        circle = " waits on ".join([*self.ports, *self.ports[:1]])
        return f"deadlock at {self.time_ps} ps: {circle}"


@dataclass(eq=False, repr=False)
class StalledError(SimulationError):
    """Messages are unfinished, and only futile retries are left to happen.

    Parameters
    ----------
    messages : sequence of int
        Ids of the unfinished messages.
    time_ps : int
        When this was detected, in picoseconds.
    reason : str, optional
        Which message waits for what.
    """

    messages: Sequence[int]
    time_ps: int
    reason: str = ""

    def __str__(self) -> str:
        count = len(self.messages)
        noun = "message" if count == 1 else "messages"
        at = microseconds(self.time_ps)
        text = f"stalled at {at} with {count} {noun} unfinished: {_listed(self.messages)}"
        return f"{text} ({self.reason})" if self.reason else text


@dataclass(eq=False, repr=False)
class LivelockError(SimulationError):
    """Simulated time does not advance: `what`, such as a component's timer, repeats without end at `time_ps`."""

    what: str
    time_ps: int

    def __str__(self) -> str:
        return f"livelock at {self.time_ps} ps: simulated time does not advance; repeating: {self.what}"


@dataclass(eq=False, repr=False)
class HandlerError(SimulationError):
    """A handler, such as ``"Dcqcn.on_cnp"``, raised an exception or wrote a value that an engine cannot use.

    `reason` is the exception, or the field with its value and the allowed values. `line` and `filename` say where in
    the user's file, if known, `time_ps` when, and `place` for which queue pair, message, port or host.
    """

    handler: str
    reason: str
    line: int | None = None
    time_ps: int = 0
    place: str = ""
    filename: str = ""

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        place = f", {self.place}" if self.place else ""
        return f"{self.handler}{line} (at {self.time_ps} ps{place}): {self.reason}"


@dataclass(eq=False, repr=False)
class CompileError(RdmaccError):
    """A handler cannot be compiled.

    Parameters
    ----------
    handler : str
        Qualified name of the handler.
    reason : str
        What the compiler objects to.
    line : int, optional
        Line number in the handler's file, if known.
    code : str
        The source code of that line.
    filename : str
        The handler's file.
    """

    handler: str
    reason: str
    line: int | None = None
    code: str = ""
    filename: str = ""

    def __str__(self) -> str:
        place = "" if self.line is None else f" (line {self.line})"
        code = f"{self.code}: " if self.code else ""
        return f"{self.handler}{place} cannot be compiled: {code}{self.reason}"


def reason_of(error: Exception) -> str:
    """Return the error message and, if the message does not give it, the location: the last line outside libraries."""
    if isinstance(error, RdmaccError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    ours = [one for one in frames if "site-packages" not in one.filename or "/rdmacc/" in one.filename]
    last = (ours or frames)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno}, in {last.name})"


def shortened(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of rdmacc and the libraries it calls; users' functions stay."""
    if os.environ.get("RDMACC_TRACEBACK") == "full":
        return trace
    kept: list[TracebackType] = []
    is_inside = False
    step = trace
    while step is not None:
        is_own = str(step.tb_frame.f_globals.get("__name__")).partition(".")[0] == "rdmacc"
        is_inside |= is_own
        if not is_own and not (is_inside and _is_library(step.tb_frame)) and not _is_generated(step.tb_frame):
            kept.append(step)
        step = step.tb_next
    short: TracebackType | None = None
    for one in reversed(kept):
        short = TracebackType(short, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return short


def _is_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(("<frozen", *_LIBRARIES)) or "site-packages" in Path(file).parts


def _is_generated(frame: FrameType) -> bool:
    """Return whether a frame is the constructor that `dataclass` wrote."""
    return frame.f_code.co_filename == "<string>" and frame.f_code.co_name == "__init__"


_print_before = sys.excepthook


def _print_short(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Shorten the traceback of Ctrl-C or an uncaught error of rdmacc, and print it through the previous hook."""
    if not isinstance(error, RdmaccError | KeyboardInterrupt):
        return _print_before(kind, error, trace)
    whole, error.__traceback__ = error.__traceback__, shortened(trace)
    try:
        _print_before(kind, error, error.__traceback__)
    finally:
        error.__traceback__ = whole


sys.excepthook = _print_short
