"""What the compiler objects to in a handler, said with its name, its line and what that line says.

Numba's messages run over a page: the passes that failed, the types that it tried, the lines that called each other, of
which those of the hook were written here. The first line of a handler in it is the one to show.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdmacc.engine.hooks import Call
from rdmacc.errors import CompileError
from rdmacc.handlers import source_tree

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

__all__ = ["compile_error"]

_PLACES = re.compile(r'File "(.+?)", line (\d+)|(?: at| from) (.+?) \((\d+)\)$', re.MULTILINE)
_PACKAGE = Path(__file__).parents[1]
_WORDS = (
    (r': %".*| Raised from .*|, defined at .*| for \'\$.*', ""), (r"Literal\[(\w+)\]\(.*?\)", r"\1"),
    (r"\bunicode_type\b", "str"), (r"\bnone\b", "None"), (r"\bu?int\d+\b", "int"), (r"\bfloat\d+\b", "float"),
)  # fmt: skip
"""What Numba calls by other names than a handler's author, and what is about its own inside."""


def compile_error(scheme: Scheme, hook: str, calls: Mapping[str, Call], error: Exception) -> CompileError:
    """Return the error for what Numba has raised while it compiled a hook.

    Parameters
    ----------
    scheme : Scheme
        The scheme.
    hook : str
        Name of the hook, as in the source that was written for it.
    calls : mapping
        Its handlers, by the names that they have in that source.
    error : Exception
        What was raised.
    """
    message = str(error)
    reason = _reason(error)
    places = [(file or other, int(line or number)) for file, line, other, number in _PLACES.findall(message)]
    found = _called(calls, places, message, reason, scheme)
    if found is None:
        return CompileError(f"{scheme.name}: {hook}", reason)
    call, line = found
    file = call.function.__code__.co_filename
    inner = next(((path, number) for path, number in places if _code(path, number)), None)
    if inner is not None and not _is_in(call, *inner) and not _is_ours(inner[0]):  # a function that the handler calls
        reason = f"{reason} ({Path(inner[0]).name}, line {inner[1]}: {_code(*inner)})"
    name = f"{type(scheme.components[call.component]).__name__}.{call.name}"
    return CompileError(name, reason, line, _code(file, line), file)


def _called(
    calls: Mapping[str, Call], places: Iterable[tuple[str, int]], message: str, reason: str, scheme: Scheme
) -> tuple[Call, int | None] | None:
    """Return the handler that cannot be compiled, and the line in its file."""
    for path, line in places:
        for call in calls.values():
            if _is_in(call, path, line):
                return call, line
    named = [call for name, call in calls.items() if re.search(rf"^\s+{name}\(", message, re.MULTILINE)]
    foreign = [
        call for call in calls.values() if type(scheme.components[call.component]).__module__.split(".")[0] != "rdmacc"
    ]
    suspects = named or foreign or list(calls.values())
    for call in suspects:
        for line in _mentions(call, re.findall(r"'(\w+)'", reason)):
            return call, line
    return (suspects[0], None) if len(suspects) == 1 else None


def _is_in(call: Call, path: str, line: int) -> bool:
    code = call.function.__code__
    lines = [number for *_, number in code.co_lines() if number]  # known even where the source is not
    return Path(path).name == Path(code.co_filename).name and min(lines) <= line <= max(lines)


def _is_ours(path: str) -> bool:
    """Tell whether a file is a hook that was written here, or one of the engine's."""
    return Path(path).name.startswith("hooks_") or _PACKAGE in Path(path).parents


def _mentions(call: Call, words: Sequence[Any]) -> Iterator[int]:
    """Yield the lines on which a handler uses a name or an attribute."""
    tree = source_tree(call.function)
    nodes: Iterable[Any] = ast.walk(tree) if tree is not None else ()
    for node in nodes:
        if getattr(node, "id", None) in words or getattr(node, "attr", None) in words:
            yield node.lineno


def _code(path: str, line: int | None) -> str:
    return linecache.getline(path, line).strip() if line else ""


def _reason(error: Exception) -> str:
    """Pick the reason out of Numba's message."""
    message = str(error)
    own = re.findall(r"raised a specific error:\s*\w+: (.*)", message)
    unknown = re.search(r"No implementation of function Function\(<.*?(\w+)[ >].*?found for signature", message)
    lines = [
        text.strip()
        for text in message.splitlines()
        if text.strip() and not text.startswith(("File", "-", "During", "Failed", "\x1b"))
    ]
    reason = own[-1] if own else lines[0] if lines else type(error).__name__
    if reason.startswith("All arguments must be Sets, got "):
        reason = f"no operation on {reason.removeprefix('All arguments must be Sets, got ')}"
    elif unknown and not own:
        operation = re.search(r"<(?:built-in function|ufunc|function) '?(\w+)", unknown[0])
        reason = f"{operation[1] if operation else unknown[1]} does not take values of these types"
    for pattern, word in _WORDS:
        reason = re.sub(pattern, word, reason)
    return reason if "numba" in type(error).__module__ or not lines else f"{type(error).__name__}: {reason}"
