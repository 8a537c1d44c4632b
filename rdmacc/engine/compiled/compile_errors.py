"""Compiler errors in a handler, reported with its name, line and source text.

Handlers keep to a language that compiles (`rdmacc.handlers`), so this covers only what the language's checks have
missed.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rdmacc.errors import CompileError
from rdmacc.handlers.hooks import Call

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

_PLACES = re.compile(r'File "(.+?)", line (\d+)')


def compile_error(scheme: Scheme, hook: str, calls: Mapping[str, Call], error: Exception) -> CompileError:
    """Return the error for what Numba has raised while it compiled a hook."""
    message = str(error)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    reason = next((line for line in lines if not line.startswith(("Failed", "File", "During", "-"))), repr(error))
    for path, number in _PLACES.findall(message):
        for call in calls.values():
            if _is_in(call, path, int(number)):
                file = call.function.__code__.co_filename
                name = f"{type(scheme.components[call.component]).__name__}.{call.name}"
                return CompileError(name, reason, int(number), linecache.getline(file, int(number)).strip(), file)
    return CompileError(f"{scheme.name}: {hook}", reason)


def _is_in(call: Call, path: str, line: int) -> bool:
    code = call.function.__code__
    lines = [number for *_, number in code.co_lines() if number]
    return Path(path).name == Path(code.co_filename).name and min(lines) <= line <= max(lines)
