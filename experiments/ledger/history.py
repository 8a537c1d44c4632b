"""When bands and defaults were chosen, by the history of the repository.

``python -m rdmacc.experiments.ledger history`` writes each paper's ``data/history.json`` in a clone with its history:
for each claim, since when its band has had today's numbers, and when the figure's first table came; for each question,
since when its default has been the default. A band that is younger than the table was chosen with results in sight, and
so was one whose date is not known, unless the paper states it (`Claim.chosen`).
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from rdmacc.experiments.framework.bands import Size, leaves
from rdmacc.experiments.framework.claim import Chosen, Claim, Kind
from rdmacc.experiments.framework.papers import PAPERS
from rdmacc.experiments.framework.reading import QUESTIONS, Question
from rdmacc.experiments.framework.registry import select

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
_WORDS = 5
"""Place of the band in words among a claim's arguments, before bands were data."""


@cache
def _dates(paper: str) -> dict[str, dict[str, Any]]:
    path = _path(paper)
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _path(paper: str) -> Path:
    return PAPERS[paper].folder / "data" / "history.json"


def chosen(one: Claim | Question, paper: str) -> Chosen:
    """Return when a claim's band, or the default answer to a question, was chosen."""
    if one.chosen is not None:
        return one.chosen
    if isinstance(one, Claim) and one.kind == Kind.IDENTITY:
        return Chosen.BY_TEXT  # an exact band leaves no choice
    if isinstance(one, Claim) and one.band and any(isinstance(part, Size) for part in leaves(one.band)):
        return Chosen.BY_RULE
    claims, defaults = (_dates(paper).get(name, {}) for name in ("claims", "defaults"))
    if isinstance(one, Claim):
        dates = claims.get(one.id, {})
        since, table = dates.get("band"), dates.get("table")
    else:
        since, table = defaults.get(one.title), min((each["table"] for each in claims.values()), default="")
    return Chosen.BEFORE if since and table and since < table else Chosen.IN_SIGHT


def write() -> None:
    """Write the dates of all papers, from the history of the checkout that this module is in."""
    versions: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for date, source, is_toml in _versions():
        for name, values in _defaults(source) if is_toml else _records(source):
            versions.setdefault(name, []).append((date, values))
    since = {name: _since(found) for name, found in versions.items()}
    for paper in PAPERS:
        claims: dict[str, dict[str, str]] = {}
        for one in select(paper):
            figure = one.name.partition(".")[2]
            table = _first(f"data/{one.name}.parquet", f"{paper}/data/{figure}.parquet")
            claims |= {claim.id: {"band": since.get(claim.id, ""), "table": table} for claim in one.claims}
        titles = {each.title: since.get(each.title, "") for each in QUESTIONS.get(paper, ())}
        text = json.dumps({"claims": claims, "defaults": titles}, indent=1, sort_keys=True, ensure_ascii=False)
        _path(paper).write_text(text + "\n", encoding="utf-8")
    _dates.cache_clear()


def _since(versions: list[tuple[str, frozenset[str]]]) -> str:
    """Return the date from which on each version has had all of the last one's numbers."""
    (since, now), *older = reversed(versions)
    for date, values in older:
        if not now <= values:
            break
        since = date
    return since


def _git(*words: str, given: bytes = b"") -> bytes:
    folder = Path(__file__).parent
    return subprocess.run(["git", *words], cwd=folder, input=given, capture_output=True, check=True).stdout


def _first(*patterns: str) -> str:
    """Return the date at which a file first came; empty if it never did."""
    words = ("log", "--reverse", "--diff-filter=A", "--format=%aI", "--")
    return _git(*words, *(f":(top,glob)**/{one}" for one in patterns)).decode().partition("\n")[0]


def _versions() -> Iterator[tuple[str, bytes, bool]]:
    """Return the date and text of each version of the experiments' modules and readings, and which it is, in order."""
    words = ("log", "--reverse", "--topo-order", "--diff-filter=AM", "--name-only", "--format=@%H %aI", "--")
    date, commit, wanted = "", "", []
    for line in (
        _git(*words, *(f":(top,glob)**/experiments/**/{one}" for one in ("*.py", "readings.toml")))
        .decode()
        .splitlines()
    ):
        if line.startswith("@"):
            commit, _, date = line[1:].partition(" ")
        elif line:
            wanted.append((date, f"{commit}:{line}"))
    out, place = _git("cat-file", "--batch", given="\n".join(name for _, name in wanted).encode()), 0
    for date, name in wanted:
        end = out.index(b"\n", place)
        size = int(out[place:end].rpartition(b" ")[2])
        yield date, out[end + 1 : end + 1 + size], name.endswith(".toml")
        place = end + 2 + size


def _defaults(source: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    """Return the questions in a ``readings.toml`` with their default."""
    for one in tomllib.loads(source.decode())["question"]:
        yield " ".join(one["title"].split()), frozenset([repr(one["reading"][0]["name"])])


def _is_id(text: str) -> bool:
    return text.partition("-")[0] in PAPERS and re.fullmatch(r"[\w-]+", text) is not None


def _records(source: bytes) -> Iterator[tuple[str, frozenset[str]]]:
    """Return the claims in a module with the numbers of their bands, and the questions with their default."""
    tree = ast.parse(source)
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        words = {one.arg: one.value for one in node.keywords}
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str) and _is_id(first.value):
            bands = node.args[_WORDS:] + [words[name] for name in ("band", "direction", "words") if name in words]
            yield first.value, frozenset(number for one in bands for number in _numbers(one, constants))
        elif isinstance(node.func, ast.Name) and node.func.id == "Question" and "title" in words:
            names = (one for one in ast.walk(words["readings"]) if isinstance(one, ast.keyword) and one.arg == "name")
            name = next(names).value
            found = constants.get(name.id, name) if isinstance(name, ast.Name) else name
            yield str(ast.literal_eval(words["title"])), frozenset([ast.unparse(found)])


def _numbers(node: ast.AST, constants: dict[str, ast.expr], depth: int = 3) -> Iterator[str]:
    """Return the significant digits of the numbers in an expression, so that 0.5 and "50%" are the same."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and depth and one.id in constants:
            yield from _numbers(constants[one.id], constants, depth - 1)
        elif isinstance(one, ast.Constant) and not isinstance(one.value, bool | bytes | None):
            found = _NUMBER.findall(one.value) if isinstance(one.value, str) else [str(one.value)]
            digits = (f"{float(number):e}".partition("e")[0].replace(".", "").strip("0") for number in found)
            yield from (each for each in digits if each not in ("", "1"))
