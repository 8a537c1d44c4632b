"""Tests run on a copy of the package, each time in a fork of this process, which has already done the slow imports."""

import ast
import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest

TIMEOUT_S = 900
TEST_TIMEOUT_S = 120
"""A time limit, since a change may make a loop endless."""
SIMPY = "not compiled and not agree"
"""Only tests of the engine whose handlers are plain Python."""
_HEAVY = (
    "numpy", "pandas", "scipy.stats", "scipy.optimize", "scipy.integrate", "numba", "llvmlite.binding", "networkx",
    "matplotlib.pyplot", "pyarrow.parquet", "simpy", "hypothesis", "typer.testing", "tqdm.auto", "jinja2",
)  # fmt: skip
_PLUGINS = ("-p", "no:cacheprovider", "-p", "pytest_timeout")
_OK, _INTERNAL, _NO_SUCH, _NO_TESTS, _CRASHED = 0, 3, 4, 5, 99


@dataclass(frozen=True)
class Stage:
    """A set of tests: files or node ids, and pytest's -k and -m."""

    tests: tuple[str, ...]
    only: str = ""
    marks: str = "not nightly"
    timeout_s: int = TEST_TIMEOUT_S


_OF_A_TABLE = ("test_a_table_is_complete", "test_every_claim_can_fail")
"""Tests of each bundled table in `tests.experiments.test_tables`."""


def ended(child: int, limit_s: float) -> int | None:
    """Wait for a session's leader; return its exit code, None if it takes too long. No process of the session stays."""
    until, status = time.monotonic() + limit_s, None
    while status is None and time.monotonic() < until:
        done, found = os.waitpid(child, os.WNOHANG)
        status = found if done else None
        time.sleep(0 if done else 0.02)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    if status is None:
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(status)


class Trials:
    """Runs tests on a copy, and knows which experiments use which module.

    Parameters
    ----------
    folder : Path
        The copy, laid out as installed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._warm: set[str] = set()
        for name in _HEAVY:
            with suppress(ImportError):
                importlib.import_module(name)

    def killer(self, stage: Stage, path: Path, changed: str) -> str:
        """Return the test that fails if a file of the copy has another text; "" if none does."""
        self._warm_up(stage)
        text, time_ns = path.read_text(), path.stat().st_mtime_ns
        path.write_text(changed)
        try:
            return self.failure(stage)
        finally:
            path.write_text(text)
            os.utime(path, ns=(time_ns, time_ns))

    def failure(self, stage: Stage) -> str:
        """Return the first test that fails, or what else went wrong; "" if all pass or there are none."""
        assert stage.tests  # without any, pytest would run them all
        arguments = ["-q", "-x", *_PLUGINS, "--no-header", "-m", stage.marks, "--timeout", str(stage.timeout_s)]
        arguments += ["-k", stage.only] if stage.only else []
        code, told = self._forked(lambda: int(pytest.main([*arguments, *stage.tests])))
        if code in (_OK, _NO_TESTS):
            return ""
        files = tuple(dict.fromkeys(test.partition("::")[0] for test in stage.tests))
        if code == _NO_SUCH and files != stage.tests:
            return self.failure(replace(stage, tests=files))  # a test's name contains a value that has changed
        named = [line for line in told.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        if not named and code in (_INTERNAL, _NO_SUCH, _CRASHED):
            raise RuntimeError(told)
        if not named:
            return f"pytest ended with {code}: {told[-100:]!r}"
        return named[0].split(" - ")[0].split(" ", 1)[1]

    def _warm_up(self, stage: Stage) -> None:
        """Write bytecode of the tests and their imports while the copy is unchanged."""
        files = sorted({test.partition("::")[0] for test in stage.tests} - self._warm)
        if files:
            self._forked(lambda: int(pytest.main(["-q", "--collect-only", *_PLUGINS, *files])), writes_bytecode=True)
            self._warm |= set(files)

    def users_of(self, module: str) -> dict[str, list[str]]:
        """Return the experiments with stored tables to which a module belongs, and their tests.

        These are the ones defined in it or, if there are none, those whose module imports it, directly or not.
        """
        own = {name: tests for name, (of, tests) in self._experiments.items() if of == module}
        if own:
            return own
        return {name: tests for name, (of, tests) in self._experiments.items() if module in self._imports(of)}

    @cached_property
    def _experiments(self) -> dict[str, tuple[str, list[str]]]:
        def run() -> int:
            from rdmacc.experiments import EXPERIMENTS, summary_path
            from tests.experiments import test_tables

            checks = [name for name in vars(test_tables) if name.startswith(_OF_A_TABLE)]
            found = {
                name: (type(one).__module__, [f"{check}[{name}]" for check in checks])
                for name, one in EXPERIMENTS.items()
                if summary_path(name).exists()
            }
            sys.stdout.write(f"\n{json.dumps(found)}\n")
            return 0

        code, told = self._forked(run)
        if code:
            raise RuntimeError(told)
        return json.loads(told.splitlines()[-1])

    def _imports(self, module: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
        path = self.folder.joinpath(*module.split(".")).with_suffix(".py")
        if module in seen or not path.exists():
            return seen
        seen |= {module}
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                package = module.split(".")[: -node.level] if node.level else []
                base = ".".join([*package, *filter(None, [node.module])])
                if base.startswith("rdmacc.experiments"):
                    for name in (base, *(f"{base}.{alias.name}" for alias in node.names)):
                        seen = self._imports(name, seen)
        return seen

    def _forked(self, run: Callable[[], int], writes_bytecode: bool = False) -> tuple[int, str]:
        """Run a function in a fork, with the copy as its package; return the exit code and the output."""
        told = self.folder / "told.txt"
        child = os.fork()
        if child == 0:
            code = _CRASHED
            try:
                os.setsid()
                self._enter(told)
                sys.dont_write_bytecode = not writes_bytecode
                code = run()  # this imports the copy
            except BaseException:
                traceback.print_exc()
            finally:
                with suppress(Exception):
                    sys.stdout.flush()
                    sys.stderr.flush()
                os._exit(code)
        code = ended(child, TIMEOUT_S)
        return (1, f"endless: killed after {TIMEOUT_S} s") if code is None else (code, told.read_text(errors="replace"))

    def _enter(self, told: Path) -> None:
        output = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(self.folder)
        os.environ |= {"PYTHONPATH": str(self.folder), "MPLBACKEND": "Agg", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        for name in list(sys.modules):
            if name.split(".")[0] in ("rdmacc", "tests"):
                del sys.modules[name]
        here = {"", str(Path(__file__).parents[2])}
        sys.path[:] = [str(self.folder), *(entry for entry in sys.path if entry not in here)]
