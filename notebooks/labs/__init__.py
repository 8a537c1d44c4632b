"""Five labs for a class: starter notebooks, and the checks of what students put into them (``rdmacc labs``).

A starter has `name = ...` for each question. A check runs a notebook from the top and judges these names; where an
answer is a number, it computes the number anew, so that no check holds a measurement that has gone stale.
"""

import contextlib
import io
import json
import linecache
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from rdmacc.errors import ConfigError

FOLDER = Path(__file__).parent
NUMBERS = range(1, 6)


@dataclass(frozen=True)
class Question:
    """What a lab asks for.

    Attributes
    ----------
    name : str
        The variable that holds the answer.
    asks : str
        What it should be, with its unit.
    judge : function
        Takes the answer and what the starter defines, and returns what is wrong, without giving the answer away; ""
        if it is right.
    """

    name: str
    asks: str
    judge: Callable[[Any, SimpleNamespace], str]


def starter(number: int) -> Path:
    """Return the notebook of a lab.

    Parameters
    ----------
    number : int
        1 to 5.

    Raises
    ------
    ConfigError
        If there is no such lab.
    """
    if number not in NUMBERS:
        raise ConfigError("lab", number, f"must be {NUMBERS.start} to {NUMBERS.stop - 1}")
    return next(FOLDER.glob(f"lab{number}_*.ipynb"))


def check(number: int, path: str | Path | None = None) -> dict[str, str]:
    """Run a lab's notebook and judge its answers.

    Parameters
    ----------
    number : int
        1 to 5.
    path : path, optional
        The notebook, or a Python file of answers, which runs after the starter. Default: the starter itself.

    Returns
    -------
    dict
        By name of the answer: what is wrong with it; "" if it is right.

    Raises
    ------
    ConfigError
        If there is no such lab, no such file, or a cell fails; it says which one and how.
    """
    import matplotlib

    from rdmacc.notebooks.labs.questions import LABS

    path = starter(number) if path is None else Path(path)
    backend = matplotlib.get_backend()
    matplotlib.use("agg")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            given = _run(starter(number))
            answers = _run(*[starter(number)] * (path.suffix == ".py"), path)
    finally:
        matplotlib.use(backend)
    return {question.name: _judged(question, answers, given) for question in LABS[number]}


def _run(*paths: Path) -> SimpleNamespace:
    """Run notebooks and Python files in one namespace, and return what they define."""
    module = ModuleType("rdmacc_lab")
    sys.modules[module.__name__] = module  # dataclasses look for their module
    for path in paths:
        for place, code in _code(path):
            linecache.cache[place] = (len(code), None, code.splitlines(True), place)  # where handlers' source is read
            try:
                exec(compile(code, place, "exec"), vars(module))
            except Exception as error:
                raise ConfigError("lab", place, f"must run, but {type(error).__name__}: {error}") from error
    return SimpleNamespace(**vars(module))


def _code(path: Path) -> list[tuple[str, str]]:
    """Return the pieces of code of a notebook or a Python file, each with its place; lines for IPython are left out."""
    try:
        text = path.read_text(encoding="utf-8")
        cells = [{"cell_type": "code", "source": text}] if path.suffix == ".py" else json.loads(text)["cells"]
        pieces = [
            (f"{path.name}, cell {place}", "".join(cell["source"]))
            for place, cell in enumerate(cells, 1)
            if cell["cell_type"] == "code"
        ]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            "lab", str(path), f"must be a notebook with cells, or a Python file ({type(error).__name__}: {error})"
        ) from None
    return [(at, "".join(line for line in code.splitlines(True) if line[:1] not in "%!")) for at, code in pieces]


def _judged(question: Question, answers: SimpleNamespace, given: SimpleNamespace) -> str:
    answer = getattr(answers, question.name, ...)
    if answer is ...:
        return f"not answered; wanted: {question.asks}"
    try:
        return question.judge(answer, given)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError) as error:
        return f"must be {question.asks} ({type(error).__name__}: {error})"
