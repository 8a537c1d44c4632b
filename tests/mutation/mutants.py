"""Small wrong changes of the code, to see whether a test notices: the ones that once survived, and a random sample.

    python -m tests.mutation.mutants experiments/igbn rdmacc/protocols --sample 20

Each change is made in a copy of the package, never here, and the tests that belong to the file are run on it. A change
that no test notices has survived; survivors are named at the end, and the exit code is their number.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
JUDGES = ("tests/experiments/test_stored_tables.py",)
TIMEOUT_S = 900


@dataclass(frozen=True)
class Mutant:
    """A change of one file: `old`, at one place, becomes `new`."""

    path: str
    start: int
    end: int
    new: str
    tests: tuple[str, ...]
    only: str = ""
    """Pytest's -k."""

    @property
    def name(self) -> str:
        """Where it is and what it does."""
        text = (ROOT / self.path).read_text()
        line = text.count("\n", 0, self.start) + 1
        return f"{self.path}:{line}: {text[self.start : self.end]!r} -> {self.new!r}"


def named(path: str, old: str, new: str, *tests: str, only: str = "") -> Mutant:
    """Return the mutant that replaces a text that is in the file once."""
    text = (ROOT / path).read_text()
    assert text.count(old) == 1, (path, old)
    start = text.index(old)
    return Mutant(path, start, start + len(old), new, tests, only)


def once_survived() -> list[Mutant]:
    """Return the changes that no test noticed before every judge had a table that it must refuse."""
    return [
        named("experiments/dart/clos.py", "np.percentile(short_ps, 99)", "np.percentile(short_ps, 90)",
              "tests/experiments/test_dart_clos.py", only="measures_what_happened"),
        named("rdmacc/presets/dart_2020.py", '"beta": (0.8,', '"beta": (0.5,', "tests/test_presets.py", only="papers"),
        named("experiments/dart/table1.py", "has_size(more, was / now - 1)", "True", *JUDGES, only="t1"),
        named("experiments/dart/fig11.py", "bool(found.min() >= 0.5)", "True", *JUDGES, only="f11a or fig11"),
        named("experiments/igbn/fig03.py", "0.85 <= value <= 0.97", "0.5 <= value <= 1.0", *JUDGES, only="f3"),
        named("experiments/igbn/fig07.py", "0.10 <= value <= 0.20", "0.0 <= value <= 0.5", *JUDGES, only="f7a"),
        named("rdmacc/switch/pfc.py", "xon_offset_bytes <= xoff_bytes", "xon_offset_bytes < xoff_bytes",
              "tests/test_switch_rules.py", only="resume and plain"),
    ]  # fmt: skip


_SWAPS: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
_OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
_NOT_JUDGED = ("plot", "draw", "label", "explain")


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file: comparisons, sums, `and` and `or`, numbers. Drawing stays as it is."""
    text = path.read_text()
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def place(line: int, column: int) -> int:
        row = text[lines[line - 1] : lines[line]].encode()
        return lines[line - 1] + len(row[:column].decode())

    relative = str(path.relative_to(ROOT))
    tests, only = tests_of(relative)
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef) or any(word in function.name for word in _NOT_JUDGED):
            continue
        for node in ast.walk(function):
            for start, end, new in _changes(node, text, place):
                yield Mutant(relative, start, end, new, tests, only)


def _changes(node, text, place) -> Iterator[tuple[int, int, str]]:
    def between(left, right) -> tuple[int, int]:
        return place(left.end_lineno, left.end_col_offset), place(right.lineno, right.col_offset)

    if isinstance(node, ast.Compare):
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            start, end = between(left, right)
            if type(operator) in _SWAPS and text[start:end].strip(" ()"):
                yield start, end, f" {_SWAPS[type(operator)]} "
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        start, end = between(node.left, node.right)
        if not set(text[start:end]) & set("()"):
            yield start, end, f" {_OPERATORS[type(node.op)]} "
    elif isinstance(node, ast.BoolOp):
        start, end = between(node.values[0], node.values[1])
        if not set(text[start:end]) & set("()\n"):
            yield start, end, " or " if isinstance(node.op, ast.And) else " and "
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
        yield start, end, repr(node.value + 1 if type(node.value) is int else node.value * 1.25)


def tests_of(path: str) -> tuple[tuple[str, ...], str]:
    """Return the tests that belong to a file, and which of them."""
    name = Path(path).stem
    if path.startswith("experiments/"):
        own = {"dart": "test_dart_*.py", "igbn": "test_igbn.py"}.get(Path(path).parts[1], "test_base.py")
        files = sorted(str(one.relative_to(ROOT)) for one in (ROOT / "tests/experiments").glob(own))
        return (*JUDGES, *files), "not compiled"
    files = [f"tests/test_{name}.py"] if (ROOT / f"tests/test_{name}.py").exists() else []
    return (*files, "tests/test_loss_recovery.py", "tests/test_scheme.py"), "not compiled"


def copied(folder: Path) -> Path:
    """Return a copy of the package and its tests, laid out as installed."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "rdmacc", folder / "rdmacc", ignore=skip)
    for name in ("experiments", "models"):
        shutil.copytree(ROOT / name, folder / "rdmacc" / name, ignore=skip)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=skip)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    return folder


def survives(mutant: Mutant, folder: Path) -> bool:
    """Return whether no test notices the change; `folder` is a copy of the package, which stays as it was."""
    inside = folder / ("rdmacc" if mutant.path.split("/")[0] in ("experiments", "models") else "") / mutant.path
    text = inside.read_text()
    inside.write_text(text[: mutant.start] + mutant.new + text[mutant.end :])
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests]
    command += ["-m", "not nightly"]
    command += ["-k", mutant.only] if mutant.only else []
    environment = os.environ | {"PYTHONPATH": str(folder), "MPLBACKEND": "Agg"}
    try:
        code = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, timeout=TIMEOUT_S, check=False
        ).returncode
    except subprocess.TimeoutExpired:
        code = 1  # a change that makes a simulation endless is noticed
    finally:
        inside.write_text(text)
    if code not in (0, 1, 2):
        raise RuntimeError(f"{mutant.name}: pytest ended with {code}")
    return code == 0


def main() -> int:
    """Run a sample; return the number of survivors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", default=["experiments", "rdmacc/protocols"])
    parser.add_argument("--sample", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    files = sorted({one for path in asked.paths for one in _python_files(ROOT / path)})
    every = [mutant for path in files for mutant in mutants_of(path)]
    chosen = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    with tempfile.TemporaryDirectory() as name:
        folder = copied(Path(name))
        found = []
        for number, mutant in enumerate(chosen, 1):
            if survives(mutant, folder):
                found.append(mutant)
            _say(f"{number}/{len(chosen)} {'SURVIVES' if mutant in found else 'killed'} {mutant.name}")
    _say(f"{len(chosen) - len(found)} of {len(chosen)} killed, of {len(every)} possible")
    return len(found)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _python_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [one for one in path.rglob("*.py") if one.name not in ("__init__.py", "known.py")]


if __name__ == "__main__":
    sys.exit(min(main(), 100))
