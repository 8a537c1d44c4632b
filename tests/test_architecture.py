"""The architecture, read from the imports of all modules: no circles, few modules at the top, arrows that go down.

Import-linter checks `rdmacc` by the contracts in pyproject.toml; here models and experiments count too, which lie in
folders of their own.
"""

import ast
import runpy
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import networkx as nx

from rdmacc.sources import PACKAGE

ROOT = PACKAGE.parent


def find_modules() -> dict[str, Path]:
    """Return all modules of the distribution: their files by their names."""
    found = {}
    for folder, prefix in (("rdmacc", ""), ("models", "rdmacc."), ("experiments", "rdmacc.")):
        for path in (ROOT / folder).rglob("*.py"):
            name = prefix + ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def import_statements(node: ast.AST, for_types: bool = False) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Yield the imports in a node, at whatever depth, in functions too, and whether each is for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, for_types
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from import_statements(child, for_types or is_for_types(child))


def imported(module: str, node: ast.Import | ast.ImportFrom) -> set[str]:
    """Return the modules that a statement in one imports."""
    if isinstance(node, ast.Import):
        return MODULES.keys() & {alias.name for alias in node.names}
    base = node.module or ""
    if node.level:
        package = module.split(".")[: None if MODULES[module].name == "__init__.py" else -1]
        base = ".".join([*package[: len(package) - node.level + 1], *([base] if base else [])])
    inside = {f"{base}.{alias.name}" for alias in node.names}
    return MODULES.keys() & {name if name in MODULES else base for name in inside}


MODULES = find_modules()


@cache
def statements() -> list[tuple[str, ast.Import | ast.ImportFrom, bool]]:
    return [(name, *one) for name, path in MODULES.items() for one in import_statements(ast.parse(path.read_bytes()))]


@cache
def graph_of(*, with_types: bool) -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(MODULES)
    for name, node, for_types in statements():
        if with_types or not for_types:
            graph.add_edges_from((name, other) for other in imported(name, node))
    return graph


def largest_cycle(graph: nx.DiGraph) -> list[str]:
    return sorted(max(nx.strongly_connected_components(graph), key=len))


def test_nothing_imports_itself_by_way_of_others():
    """Imports in functions count: they only put off a circle."""
    cycle = largest_cycle(graph_of(with_types=False))
    assert len(cycle) == 1, cycle


def test_the_wheel_has_every_package(monkeypatch):
    """A checkout imports what setup.py leaves out: only an installed wheel would tell."""
    on_disk = set()
    for folder in ("rdmacc", "models", "experiments", "notebooks"):
        for path in (ROOT / folder).rglob("__init__.py"):
            parts = path.parent.relative_to(ROOT).parts
            on_disk.add(".".join(parts if folder == "rdmacc" else ("rdmacc", *parts)))
    given = {}
    monkeypatch.setattr("setuptools.setup", given.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    assert sorted(given["packages"]) == sorted(on_disk - {"rdmacc.experiments._template"})


def test_what_numba_alone_compiles_is_neither_typed_nor_measured():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    loose = {one for rule in tool["mypy"]["overrides"] if "disallow_untyped_defs" in rule for one in rule["module"]}
    omitted = {path.removeprefix("*/")[:-3].replace("/", ".") for path in tool["coverage"]["run"]["omit"]}
    assert omitted == {one for one in loose if "engine" in one}
