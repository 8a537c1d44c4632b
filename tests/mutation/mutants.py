"""Small wrong changes to the code, to see whether a test notices: those that once survived, and a random sample.

    python -m tests.mutation.mutants experiments/igbn --judges --sample 20
    python -m tests.mutation.mutants rdmacc/switch --tests tests/switch tests/rules --sample 20

Each change is made in a copy of the package, never here, and its tests run until one fails: in
an experiment the judges, then the fast tests of the paper, then the slow ones; elsewhere the tests of some files on one
engine. A change that no test notices has survived; the exit code is the number of survivors.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.mutation.trial import SIMPY, Stage, Trials

ROOT = Path(__file__).parents[2]
JUDGES = "tests/experiments/test_tables.py"
_PUBLISHED = "tests/experiments/test_published.py"
_QUICK = "not nightly and not slow"


@dataclass(frozen=True)
class Mutant:
    """A change to one file: the text between `start` and `end` becomes `new`."""

    path: str
    start: int
    end: int
    new: str
    stages: tuple[Stage, ...] = ()
    """The tests to run; if empty, those that belong to the file."""

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    @property
    def line(self) -> int:
        return (ROOT / self.path).read_text().count("\n", 0, self.start) + 1

    @property
    def name(self) -> str:
        """Its place and its effect."""
        text = (ROOT / self.path).read_text()
        return f"{self.path}:{self.line}: {text[self.start : self.end]!r} -> {self.new!r}"


def named(path: str, old: str, new: str, *tests: str, only: str = "") -> Mutant:
    """Return the mutant that replaces a text that occurs once in the file."""
    text = (ROOT / path).read_text()
    assert text.count(old) == 1, (path, old)
    start = text.index(old)
    return Mutant(path, start, start + len(old), new, (Stage(tests, only),))


def once_survived() -> list[Mutant]:
    """Return changes that no test noticed at first: to bands, measurements, presets, published values in figures, and
    states that a protocol rarely reaches.
    """
    return [
        named("experiments/dart/clos.py", "np.percentile(short_ps, 99)", "np.percentile(short_ps, 90)",
              "tests/experiments/test_dart_clos.py", only="measures_what_happened"),
        named("rdmacc/presets/dart-2020.toml", "beta = [0.8,", "beta = [0.5,", "tests/presets/test_presets.py",
              only="papers"),
        named("experiments/dart/table1.py", "Part(dcqcn, whole=100)", "Part(dcqcn / 4, whole=100)", JUDGES,
              only="dart.table1"),
        named("experiments/dart/fig11.py", "Part(0.79, 0.89)", "Part(0.1, 0.89)", JUDGES, only="dart.fig11"),
        named("experiments/igbn/fig03.py", "band=Part(0.9)", "band=Part(0.5)", JUDGES, only="igbn.fig3"),
        named("experiments/igbn/fig07.py", "Part(0.132)", "Part(0.5)", JUDGES, only="igbn.fig7"),
        named("rdmacc/rules/pfc.py", "xon_offset_bytes <= xoff_bytes", "xon_offset_bytes < xoff_bytes",
              "tests/rules/test_rules.py", only="resume and plain"),
        named("experiments/dart/clos.py", 'ports["link_class"] == "last_hop"', 'ports["link_class"] != "last_hop"',
              "tests/experiments/test_dart_clos.py", only="by_hand"),
        named("experiments/dart/readings.py", "ratio - 1,", "ratio - 2,", JUDGES, only="dart.readings"),
        named("experiments/dart/sensitivity.py", 'rows["refused"].sum()', 'rows["refused"].min()',
              "tests/experiments/test_dart_clos.py", only="one_refused"),
        named("experiments/dart/fig11.py", '("typical", 0.4): 0.21', '("typical", 0.5): 0.21', _PUBLISHED, only="dart"),
        named("experiments/igbn/fig06.py", "band=Between(0, 0.1)", "band=Between(0.01, 0.1)", JUDGES, only="igbn.fig6"),
        named("experiments/igbn/fig06.py", "Each(AtMost(0.06)", "Each(AtMost(0.07)", JUDGES, only="igbn.fig6"),
        named("experiments/igbn/fig07.py", "[(2e-3, 0.68)", "[(2e-3, 0.85)", _PUBLISHED, only="igbn"),
        named("experiments/ren/fig03.py", "Part(0.2, 0.3)", "Part(0.2, 0.6)", JUDGES, only="ren.fig3"),
        named("experiments/ren/gains.py", "of.mean().mean() for", "of.mean().max() for", JUDGES, only="ren.gains"),
        named("experiments/ren/fig08.py", "51.696e6 / 1.2e6", "64.62e6 / 1.2e6",
              "tests/experiments/test_ren_leaf_spine.py", only="sum_of_its_parts"),
        named("experiments/rcc/fig06.py", "Between(92, 96)", "Between(93, 96)", JUDGES, only="rcc.fig6"),
        named("experiments/rcc/pid_forms.py", '"Jain": "min"', '"Jain": "max"', JUDGES, only="rcc.readings"),
        named("rdmacc/presets/hpcc-ns3.toml", '"Pfc.alpha" = [0.125,', '"Pfc.alpha" = [0.15625,',
              "tests/presets/test_presets.py", only="papers"),
        named("experiments/ren/fig12.py", "found.mean() if", "found.median() if", JUDGES, only="ren.fig12"),
        named("experiments/ren/gains.py", '_CREDIT = ("phost", "homa")', '_CREDIT = ("phost",)', JUDGES,
              only="ren.gains"),
        named("experiments/ren/fig19.py", "Part(value)", "Part(value / 3)", JUDGES, only="ren.fig19"),
        named("experiments/rcc/fig09.py", "/ lowest - 1).max()", "/ lowest - 1).mean()", JUDGES, only="rcc.fig9"),
        named("rdmacc/protocols/rcc.py", "endpoint.flow_num == 0 or base", "endpoint.round_ps == 0 or base",
              "tests/protocols/test_rcc.py", only="round_follows"),
        named("rdmacc/protocols/dasr.py", "max(params.unmarked_ps, rtt_ps)", "params.unmarked_ps",
              "tests/protocols/test_dasr.py", only="longer_base_rtt"),
    ]  # fmt: skip


_TIES: dict[type[ast.AST], str] = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
"""For components, which compare whole picoseconds and bytes, so that ties matter."""
_REVERSED = _TIES | {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<"}
"""For experiments, which compare measurements, so that ties have probability 0."""
_OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
_WORDS = {"min": "max", "max": "min", "any": "all", "all": "any", "median": "mean", "mean": "max"}
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)([kMG]i?B|B|[kMG]bps|[munp]?s)")
_NOT_JUDGED = ("plot", "draw", "label", "explain", "panel", "axes", "caption", "text", "picture", "graph", "repr")
_ONLY_SHOWN = {"cost", "strict", "figsize", "alpha", "linewidth", "title", "description", "seed_stride", "band"}


def mutants_of(path: Path, judges: bool = False) -> Iterator[Mutant]:
    """Yield the mutants of a file: comparisons, sums, `and`, `or` and `not`, numbers, quantities, means and extremes.

    Anything only displayed stays as it is: drawing, texts, types, the costs that order points. With `judges`, only what
    decides is changed: claims, their measurements, and bands.
    """
    text = path.read_text()
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def place(line: int, column: int) -> int:
        row = text[lines[line - 1] : lines[line]].encode()
        return lines[line - 1] + len(row[:column].decode())

    relative = str(path.relative_to(ROOT))
    swaps = _REVERSED if relative.startswith("experiments") else _TIES
    tree = ast.parse(text)
    roots = [one for one in ast.walk(tree) if _judges(one)] if judges and path.parent.name != "framework" else [tree]
    for node in (node for root in roots for node in _computing(root)):
        for start, end, new in _changes(node, text, place, swaps):
            yield Mutant(relative, start, end, new)


def _computing(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one on which a result may depend."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and _only_draws(child):
            continue
        if isinstance(child, ast.keyword) and child.arg in _ONLY_SHOWN:
            continue
        if isinstance(child, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.arguments | ast.Slice):
            continue
        if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
            continue  # a docstring
        if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
            continue
        if child in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            continue
        if child in getattr(node, "decorator_list", ()):
            continue
        yield child
        yield from _computing(child)


def _judges(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef):
        return isinstance(node.returns, ast.Name) and node.returns.id == "Measured"
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "claims"


def _only_draws(function: ast.FunctionDef) -> bool:
    drawn_on = {"ax", "axes", "figure"} & {one.arg for one in function.args.args}
    return bool(drawn_on) or any(word in function.name for word in _NOT_JUDGED)


def _changes(node, text, place, swaps) -> Iterator[tuple[int, int, str]]:
    def between(left, right) -> tuple[int, int]:
        return place(left.end_lineno, left.end_col_offset), place(right.lineno, right.col_offset)

    def whole(one) -> tuple[int, int]:
        return place(one.lineno, one.col_offset), place(one.end_lineno, one.end_col_offset)

    if isinstance(node, ast.Compare):
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            start, end = between(left, right)
            if type(operator) in swaps and not set(text[start:end]) & set("()\n#"):
                yield start, end, f" {swaps[type(operator)]} "
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        start, end = between(node.left, node.right)
        if not set(text[start:end]) & set("()"):
            yield start, end, f" {_OPERATORS[type(node.op)]} "
    elif isinstance(node, ast.BoolOp):
        start, end = between(node.values[0], node.values[1])
        if not set(text[start:end]) & set("()\n"):
            yield start, end, " or " if isinstance(node.op, ast.And) else " and "
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        start, end = whole(node)
        yield start, end, text[start:end].removeprefix("not ")
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
        word = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
        if word in _WORDS:
            end = whole(node.func)[1]
            yield end - len(word), end, _WORDS[word]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool, str):
        if changed := _other_value(node.value):
            yield *whole(node), changed


def _other_value(value: bool | float | str) -> str:
    if isinstance(value, str):
        found = _QUANTITY.fullmatch(value)
        return f'"{float(found[1]) * 1.25:g}{found[2]}"' if found and float(found[1]) else ""
    if isinstance(value, bool):
        return repr(not value)
    return repr(value + 1 if type(value) is int else value * 1.25 or 0.25)


def tests_of(mutant: Mutant, trials: Trials) -> tuple[Stage, ...]:
    """Return the tests that belong to a change of an experiment, the quickest and most sensitive ones first."""
    parts = Path(mutant.path).parts
    module = ".".join(("rdmacc", *Path(mutant.path).with_suffix("").parts))
    users = trials.users_of(module)
    ids = [f"{JUDGES}::{test}" for tests in users.values() for test in tests]
    folder = "base" if len(parts) == 2 else "ba" if parts[1] == "framework" else parts[1]
    files = _test_files(f"experiments/test_{folder}*.py")
    own = _using(module.replace(".", r"\."), files) or (files if len(users) > 3 else ())
    if parts[1] == "framework":  # all tables use it, so its tests come first
        return Stage(files, "not simpy", _QUICK), Stage(tuple(ids))
    published = f"{_PUBLISHED}::test_{parts[1]}"
    published = published if f"def test_{parts[1]}(" in (ROOT / _PUBLISHED).read_text() else ""
    stages = (
        Stage((*ids, published) if published else tuple(ids)),
        Stage(own, "not simpy", _QUICK),
        Stage(files, f"not simpy and not drawn and ({' or '.join(users)})"),
    )
    return tuple(one for one in stages if one.tests and not one.only.endswith("()"))


def _using(module: str, files: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that use a module, given an expression for its name."""
    named = re.compile(rf"(?:{module})\b")
    return tuple(file for file in files if named.search((ROOT / file).read_text()))


def _test_files(pattern: str) -> tuple[str, ...]:
    return tuple(sorted(str(one.relative_to(ROOT)) for one in (ROOT / "tests").glob(pattern)))


def copied(folder: Path) -> Path:
    """Return a copy of the package and its tests, laid out as installed."""
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "rdmacc", folder / "rdmacc", ignore=skip)
    for name in ("experiments", "models", "notebooks"):
        shutil.copytree(ROOT / name, folder / "rdmacc" / name, ignore=skip)
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=skip)
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, folder)
    return folder


def _place(mutant: Mutant) -> str:
    """Return the path in the copy, and the changed text."""
    return ("rdmacc/" if mutant.path.startswith(("experiments", "models")) else "") + mutant.path


def killer(mutant: Mutant, trials: Trials, stages: int | None = None) -> str:
    """Return the test that notices the change, or "" if none of the first stages does. The copy is restored."""
    inside = trials.folder / _place(mutant)
    asked = (mutant.stages or tests_of(mutant, trials))[:stages]
    return next((by for stage in asked if (by := trials.killer(stage, inside, mutant.applied(inside.read_text())))), "")


def main() -> int:
    """Run a sample, and return the number of survivors."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("path", help="a folder, or a file")
    parser.add_argument("--tests", nargs="*", default=[], help="for folders other than experiments")
    parser.add_argument("--sample", type=int, default=20, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stages", type=int, help="how many of the stages of tests to run, the quickest first")
    parser.add_argument("--judges", action="store_true", help="of experiments, only what decides on claims")
    parser.add_argument("--record", type=Path, default=Path("mutants.jsonl"), help="a line for each mutant, run once")
    parser.add_argument("--names", type=Path, help="try these mutants, a name a line, in place of a sample")
    parser.add_argument("--list", action="store_true", help="name the mutants, and run none")
    asked = parser.parse_args()
    if asked.tests:
        os.environ |= {
            "NUMBA_DISABLE_JIT": "1",
            "HYPOTHESIS_PROFILE": "few",
        }  # tests that name no engine run on SimPy
    lines = asked.record.read_text().splitlines() if asked.record.exists() else []
    known = {one["mutant"] for one in map(json.loads, lines)}
    path: str = asked.path
    every = [one for file in sorted(_python_files(ROOT / path)) for one in mutants_of(file, asked.judges)]
    drawn = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    if asked.names:
        names = set(asked.names.read_text().splitlines())
        drawn = [one for one in every if one.name in names]
    stages = (Stage(tuple(asked.tests), SIMPY, _QUICK),) if asked.tests else ()
    chosen = [replace(one, stages=stages) for one in drawn if one.name not in known]
    if asked.list:
        _say("\n".join(one.name for one in chosen))
        return 0
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        trials = Trials(copied(Path(name) / "copy"))
        for mutant in chosen:
            by = killer(mutant, trials, asked.stages)
            survivors += not by
            _say(f"{mutant.name}: {by or 'SURVIVES'}")
            with asked.record.open("a") as record:
                line = {"folder": path, "seed": asked.seed, "mutant": mutant.name, "killer": by}
                record.write(json.dumps(line) + "\n")
    _say(f"{len(chosen) - survivors} of {len(chosen)} killed, of {len(every)} possible")
    return survivors


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _python_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [one for one in path.rglob("*.py") if one.name not in ("__init__.py", "drawing.py", "pages.py")]


if __name__ == "__main__":
    sys.exit(min(main(), 100))
