"""Tracebacks of rdmacc's own errors end in the user's line: frames inside rdmacc and its libraries are left out.

Only what is printed is short, by Python or in a notebook: ``error.__traceback__`` and debuggers have every frame, and
with ``RDMACC_TRACEBACK=full`` in the environment all of them are printed too.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def shortened(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without the frames of rdmacc and of libraries that it calls; users' functions stay in it."""
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


def install(kind: type[BaseException]) -> None:
    """Print tracebacks of uncaught errors of a kind in short, by whatever printed them before."""
    before = sys.excepthook

    def hook(error_kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if isinstance(error, kind):
            whole, error.__traceback__ = error.__traceback__, shortened(trace)
            try:
                before(error_kind, error, error.__traceback__)
            finally:
                error.__traceback__ = whole
        else:
            before(error_kind, error, trace)

    sys.excepthook = hook


def rendered(error: BaseException) -> list[str]:
    """Return the lines of an error's short traceback, as IPython draws them if it runs."""
    short = shortened(error.__traceback__)
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if shell is None:
        return traceback.format_exception(type(error), error, short)
    lines: list[str] = shell.InteractiveTB.structured_traceback(type(error), error, short)
    return lines


def _is_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    return file.startswith(("<frozen", *_LIBRARIES)) or "site-packages" in Path(file).parts


def _is_generated(frame: FrameType) -> bool:
    """Tell whether a frame is the constructor that `dataclass` wrote."""
    return frame.f_code.co_filename == "<string>" and frame.f_code.co_name == "__init__"
