"""Which tests run which lines: a plugin of pytest that names the running test to coverage.py, and what reads its data.

    coverage run -m pytest -p tests.mutation.ran -k "not compiled" tests/workload

What each test cost, in seconds of CPU time, is written beside the data.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

_SECONDS: dict[str, float] = {}


def seconds_path(data: Path) -> Path:
    """Return the file of what each test cost."""
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


def pytest_sessionfinish() -> None:
    """Write what each test cost."""
    if measured := coverage.Coverage.current():
        path = seconds_path(Path(measured.get_option("run:data_file")))
        path.write_text(json.dumps(_SECONDS))


class Ran:
    """The tests that run a line, of a run under coverage.py.

    Parameters
    ----------
    data : Path
        coverage.py's file.
    limit_s : float
        CPU time that the tests of a line may take together.
    """

    def __init__(self, data: Path, limit_s: float) -> None:
        self._limit_s = limit_s
        self._seconds: dict[str, float] = json.loads(seconds_path(data).read_text())
        self._data = coverage.CoverageData(str(data))
        self._data.read()

    def of(self, path: str, line: int) -> tuple[str, ...]:
        """Return the tests that run a line, the cheapest first.

        A line that runs at import belongs to all tests in whose file one runs any line of the module.
        """
        of_line = self._data.contexts_by_lineno(str(Path(path).resolve()))
        begins = max((one for one in of_line if one <= line), default=0)
        tests = set(of_line.get(begins, ())) & self._seconds.keys()
        if not tests:
            files = {test.partition("::")[0] for some in of_line.values() for test in some if test}
            tests = {test for test in self._seconds if test.partition("::")[0] in files}
        spent, chosen = 0.0, []
        for test in sorted(tests, key=self._seconds.__getitem__):
            spent += self._seconds[test]
            if chosen and spent > self._limit_s:
                break
            chosen.append(test)
        return tuple(chosen)
