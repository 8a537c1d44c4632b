"""Mutants of functions, tried in one session of pytest that is forked for each.

The session collects once. A mutant within a function is put into the functions that live, and nothing is imported
again; what is computed at import needs a session of its own (`tests.mutation.trial`).
"""

import gc
import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeAlias

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.trial import ended

TEST_CPU_S = 5.0
"""For one test, of CPU time: a change may make a loop endless."""
TRY_S = 30.0
"""For the tests of a mutant, and ten times their CPU time: a test that waits uses none."""
_UNKNOWN_S = 0.02
Place: TypeAlias = tuple[str, str, int]
"""Of a function: its file, name and first line."""
_OPTIMIZED = 0x01


class Tries:
    """A plugin of pytest that tries mutants in place of running the tests once.

    Parameters
    ----------
    limit_s : float
        CPU time that the tests of a mutant may take together.
    mutants : dict
        By name, the path and the changed text of each mutant.
    answers : Path
        Where a JSON line for each mutant goes: the test that fails; of what runs at import, the tests to run.
    """

    def __init__(self, limit_s: float, mutants: dict[str, tuple[str, str]], answers: Path) -> None:
        self._limit_s, self._mutants, self._answers = limit_s, mutants, answers

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try each mutant on the tests that belong to it, the cheapest first as far as their cost is known."""
        items = {item.nodeid: item for item in session.items}
        cost: dict[str, float] = {}
        passes: set[str] = set()
        live = _functions()
        gc.freeze()  # a fork that collects garbage would copy all pages
        for name, (path, text) in self._mutants.items():
            named = _naming(Path(path).stem, {_file(one) for one in items})
            tests = sorted(items, key=lambda one: (_file(one) not in named, cost.get(one, 0.0), "simpy" in one))
            failed = ""
            while changed := changed_functions(Path(path), text):
                failed, seconds = _tried([items[one] for one in tests], changed, live, self._limit_s)
                cost |= seconds
                if not failed or failed in passes:
                    break
                if not _tried([items[failed]], {}, live, self._limit_s)[0]:
                    passes.add(failed)
                    break
                del items[failed]  # it fails without the change too: it takes too long, or wants the compiler
                tests.remove(failed)
            spent, asked = 0.0, []
            for test in tests:
                spent += cost.get(test, _UNKNOWN_S)
                if spent < self._limit_s:
                    asked.append(test)
            with self._answers.open("a") as answers:
                line = {"mutant": name, "tests": [] if changed else asked, "killer": failed}
                answers.write(json.dumps(line) + "\n")
        return True


def _file(test: str) -> str:
    return test.partition("::")[0]


def _naming(module: str, files: set[str]) -> set[str]:
    """Return the files of tests that have a module's name in theirs, or import it."""
    return {one for one in files if module in Path(one).stem or f".{module} import" in Path(one).read_text()}


def _functions() -> dict[Place, list[FunctionType]]:
    found: dict[Place, list[FunctionType]] = {}
    gc.unfreeze()  # what conftest has frozen is not listed
    for one in gc.get_objects():
        if type(one) is FunctionType:
            found.setdefault(_key(one.__code__), []).append(one)
    return found


def _tried(
    items: list[pytest.Item], changed: dict[Place, CodeType], live: dict[Place, list[FunctionType]], limit_s: float
) -> tuple[str, dict[str, float]]:
    """Return the test that fails first, does not end or kills its process, and what each before it cost."""
    with tempfile.NamedTemporaryFile("r") as told:
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                os.setsid()
                with open(told.name, "w", buffering=1) as lines:
                    _try(items, changed, live, limit_s, lines)
            os._exit(0)
        ended(child, TRY_S + 10 * limit_s)
        lines = told.read().splitlines()
    seconds: dict[str, float] = {}
    for name, _, spent in (line.partition("\t") for line in lines):
        if not spent:
            return name, seconds
        seconds[name] = float(spent)
    return "", seconds


def _try(items, changed, live, limit_s, lines) -> None:
    """Write the name of each test, and its CPU time if it passes."""
    gc.disable()
    for key, code in changed.items():
        for function in live.get(key, ()):
            function.__code__ = code
    for item, following in zip(items, [*items[1:], None]):
        began = time.process_time()
        lines.write(item.nodeid)
        lines.flush()
        if _failure(item, following):
            return
        lines.write(f"\t{time.process_time() - began}\n")
        if time.process_time() > limit_s:
            return


def _failure(item: pytest.Item, following: pytest.Item | None) -> bool:
    def stop(*_: object) -> None:
        raise TimeoutError("CPU time")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, TEST_CPU_S, 0.5)  # again, if a test tries what failed once more
    try:
        return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))
    except TimeoutError:
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _key(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def changed_functions(path: Path, text: str) -> dict[Place, CodeType]:
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
