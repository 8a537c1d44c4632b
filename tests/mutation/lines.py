"""Which tests run which lines, and mutants of functions tried on them: one session of pytest, forked for each mutant.

The session collects once. A mutant within a function is put into the functions that live, so that nothing is imported
again; what is computed at import needs a session of its own (`tests.mutation.trial`), and so does every survivor.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType, FunctionType

import coverage
import pytest
from _pytest.runner import runtestprotocol

TEST_CPU_S = 5.0
"""For one test, of CPU time: a change may make a loop endless."""
MEASURED_CPU_S = 1.5
"""For one test while lines are noted: a longer one would try no mutant anyway."""
_OPTIMIZED = 0x01


class Lines:
    """A plugin of pytest that notes which tests run which lines of a folder, and tries mutants on them.

    Parameters
    ----------
    folder : str
        Folder of the package.
    limit_s : float
        CPU time that the tests of a mutant may take together.
    mutants : list
        Path, line and changed text of each mutant, by name.
    answers : Path
        Where a JSON line for each mutant goes: its tests, and the one that fails.
    """

    def __init__(self, folder: str, limit_s: float, mutants: dict[str, tuple[str, int, str]], answers: Path) -> None:
        self._folder, self._limit_s, self._mutants, self._answers = folder, limit_s, mutants, answers

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Measure all tests once, then try each mutant on the tests that run its line, the cheapest first."""
        items = {item.nodeid: item for item in session.items}
        seconds, of_lines = self._measured(list(items.values()))
        for name, (path, line, text) in self._mutants.items():
            lines = of_lines.get(path, {})
            tests = lines.get(max((one for one in lines if one <= line), default=0))
            if not tests:  # it runs at import: all tests of the files in which one runs the module
                files = {_file(test) for some in lines.values() for test in some}
                tests = {test for test in seconds if _file(test) in files}
            asked = self._chosen(tests, seconds)
            changed = _changed(Path(path), text) if asked else {}
            failed = _forked(lambda: _first_failure([items[one] for one in asked], changed)) if changed else ""
            with self._answers.open("a") as answers:
                answers.write(json.dumps({"mutant": name, "tests": asked, "killer": failed}) + "\n")
        return True

    def _measured(self, items: list[pytest.Item]) -> tuple[dict[str, float], dict[str, dict[int, set[str]]]]:
        data = self._answers.with_suffix(".coverage")

        def run() -> str:
            measured = coverage.Coverage(data_file=str(data), source=[self._folder], config_file=False)
            seconds = {}
            measured.start()
            for item, following in zip(items, [*items[1:], None]):
                measured.switch_context(item.nodeid)
                began = time.process_time()
                if not _failure(item, following, MEASURED_CPU_S):
                    seconds[item.nodeid] = time.process_time() - began
            measured.stop()
            measured.save()
            return json.dumps(seconds)

        seconds = json.loads(_forked(run, 3600))
        read = coverage.CoverageData(str(data))
        read.read()
        here = Path.cwd()
        return seconds, {
            str(Path(file).relative_to(here)): {
                line: set(tests) & seconds.keys() for line, tests in read.contexts_by_lineno(file).items()
            }
            for file in read.measured_files()
        }

    def _chosen(self, tests: set[str], seconds: dict[str, float]) -> list[str]:
        spent, chosen = 0.0, []
        for test in sorted(tests, key=seconds.__getitem__):
            spent += seconds[test]
            if chosen and spent > self._limit_s:
                break
            chosen.append(test)
        return chosen


def _file(test: str) -> str:
    return test.partition("::")[0]


def _first_failure(items: list[pytest.Item], changed: dict[tuple[str, str, int], CodeType]) -> str:
    for one in gc.get_objects():
        if type(one) is FunctionType and (code := changed.get(_key(one.__code__))):
            one.__code__ = code
    pairs = zip(items, [*items[1:], None])
    return next((item.nodeid for item, following in pairs if _failure(item, following)), "")


def _failure(item: pytest.Item, following: pytest.Item | None, limit_s: float = TEST_CPU_S) -> bool:
    def stop(_: int, frame: FrameType | None) -> None:
        while frame:
            if "coverage" in frame.f_code.co_filename:  # it may hold a lock
                signal.setitimer(signal.ITIMER_PROF, 0.01)
                return
            frame = frame.f_back
        raise TimeoutError("CPU time")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
    except TimeoutError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _forked(run, limit_s: float = 300) -> str:
    """Return what a function returns in a fork of this process; "endless" or "crashed" if it does not."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.write(writes, b"=")
            os.close(reads)
            with os.fdopen(writes, "w") as pipe:
                pipe.write(run())
        os._exit(0)
    os.close(writes)
    signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    with os.fdopen(reads) as pipe:
        told = pipe.read()
    signal.setitimer(signal.ITIMER_REAL, 0)
    _, status = os.waitpid(child, 0)
    return told.removeprefix("=") if status == 0 else "endless, or a crash"


def _key(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _changed(path: Path, text: str) -> dict[tuple[str, str, int], CodeType]:
    """Return the code of all functions of a file whose text has changed; none if what runs at import has."""
    name = str(path.resolve())
    old, new = (compile(one, name, "exec", dont_inherit=True) for one in (path.read_text(), text))
    found = {}
    for before, after, is_function in _pairs(old, new, False):
        if not is_function and _own(before) != _own(after):
            return {}
        if is_function:
            found[_key(before)] = after
    return found


def _pairs(old: CodeType, new: CodeType, is_function: bool) -> Iterator[tuple[CodeType, CodeType, bool]]:
    yield old, new, is_function
    inner = [[one for one in code.co_consts if isinstance(one, CodeType)] for code in (old, new)]
    for before, after in zip(*inner):
        is_named = before.co_flags & _OPTIMIZED and (before.co_name == "<lambda>" or before.co_name[0] != "<")
        yield from _pairs(before, after, is_function or bool(is_named))


def _own(code: CodeType) -> tuple:
    return code.co_code, code.co_names, [repr(one) for one in code.co_consts if not isinstance(one, CodeType)]
