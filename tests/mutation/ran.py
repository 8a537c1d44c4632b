"""Which tests run which lines: a pytest plugin that names the running test to coverage.py, and a reader of its data.

    NUMBA_DISABLE_JIT=1 coverage run -m pytest -p tests.mutation.ran -k "not compiled and not agree" tests/workload

Without the compiler every simulation that names no engine runs on SimPy, whose handlers coverage.py sees. What each
test that passes cost, in seconds of CPU time, is written beside the data.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

_SECONDS: dict[str, float] = {}
_FAILED: set[str] = set()
_FILES = 12
"""That tests of a line are taken from."""


def seconds_path(data: Path) -> Path:
    """Return the file of each test's cost."""
    return data.with_name(f"{data.name}-seconds.json")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Tell coverage.py whose lines follow."""
    measured = coverage.Coverage.current()
    began = time.process_time()
    if measured:
        measured.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _SECONDS[item.nodeid] = time.process_time() - began
        if measured:
            measured.switch_context("")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Drop tests that fail without the compiler."""
    if not report.passed:
        _FAILED.add(report.nodeid)


def pytest_sessionfinish() -> None:
    """Write each test's cost."""
    if measured := coverage.Coverage.current():
        path = seconds_path(Path(measured.get_option("run:data_file")))
        path.write_text(json.dumps({test: cost for test, cost in _SECONDS.items() if test not in _FAILED}))


class Ran:
    """The tests that run a line, of a run under coverage.py.

    Parameters
    ----------
    data : Path
        coverage.py's file.
    limit_s : float
        CPU time that the tests of a line may take, in files named after the module and elsewhere.
    """

    def __init__(self, data: Path, limit_s: float) -> None:
        self._limit_s = limit_s
        self._seconds: dict[str, float] = json.loads(seconds_path(data).read_text())
        self._data = coverage.CoverageData(str(data))
        self._data.read()

    def of(self, path: str, line: int) -> tuple[tuple[str, ...], ...]:
        """Return the tests that run a line, the cheapest first: those of the files named after the module, then others.

        A line that runs at import, or while tests are collected, belongs to all tests in whose file one runs any line
        of the module.
        """
        of_line = self._data.contexts_by_lineno(str(Path(path).resolve()))
        begins = max((one for one in of_line if one <= line), default=0)
        contexts = set(of_line.get(begins, ()))
        tests = contexts & self._seconds.keys()
        if not tests or "" in contexts:
            files = {_file(test) for some in of_line.values() for test in some if test}
            tests |= {test for test in self._seconds if _file(test) in files}
        own = {test for test in tests if Path(path).stem in Path(_file(test)).stem}
        return tuple(some for some in (self._cheapest(own), self._cheapest(tests - own)) if some)

    def _cheapest(self, tests: set[str]) -> tuple[str, ...]:
        spent, chosen, files = 0.0, [], set[str]()
        for test in sorted(tests, key=self._seconds.__getitem__):
            if len(files) == _FILES and _file(test) not in files:
                continue  # to collect many files costs more than to run their tests
            spent += self._seconds[test]
            if chosen and spent > self._limit_s:
                break
            chosen.append(test)
            files.add(_file(test))
        return tuple(chosen)


def _file(test: str) -> str:
    return test.partition("::")[0]
