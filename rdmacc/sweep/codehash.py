"""A hash of the code that computes a point's rows, so that stored rows are never older than their code.

The hash covers everything that can change a result, and nothing else: the modules of `rdmacc` that a simulation
imports, the modules of the scheme's components, and whatever the experiment's class uses from its own module, except
`plot`, `claims` and captions. For a component it also covers the current content of everything that its handlers reach
(`rdmacc.handlers.content`), wherever that is defined. Comments, docstrings and protocols that the point does not run
have no effect.
"""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.sources import PACKAGE, digest_of, imports_of, source_file, source_hashes, syntax_tree

_SIMULATION = ("rdmacc.simulation", "rdmacc.scenario", "rdmacc.sweep.tidy", "rdmacc.engine.compiled.engine")
_NO_RESULT = (
    "rdmacc", "rdmacc.experiments", *(f"rdmacc.experiments.framework{name}" for name in (
        "", ".band", ".bands", ".claim", ".experiment", ".point", ".reading", ".registry", ".scale",
    )),
    "rdmacc.show", *(f"rdmacc.show.{name}" for name in ("bands", "png", "style", "tables", "timeline")),
    "rdmacc.results.ladder", "rdmacc.results.plots", "rdmacc.results.pcapng", "rdmacc.topology.drawing",
    "rdmacc.presets",
)  # fmt: skip
"""Modules that only show or judge results, or only name things; a scheme's parameters are part of the point's data."""
_NOT_MEASURED = ("plot", "draw", "claims", "title", "description", "name", "seeding", "seed_stride")
"""Members of an experiment's class that do not affect its rows."""
_NOT_SIMULATING = ("cli", "experiments", "explorer", "models", "notebooks", "show", "sweep")
"""Packages that no simulation needs; modules that an experiment imports from them still count."""


def code_hash(experiment: type[Any], components: frozenset[type[Any]] | None) -> str:
    """Return the hash of the code that computes a point."""
    contents = sorted(content_hash(kind, kind.__name__) for kind in components or ())
    key: Any = experiment  # the class itself is the key in the cache
    return hashlib.sha256("\n".join([_sources_hash(key, components), *contents]).encode()).hexdigest()


@cache
def _sources_hash(experiment: type[Any], components: frozenset[type[Any]] | None) -> str:
    """Return the hash of all relevant sources, which are read once, as Python imports them."""
    roots = _package_modules() if components is None else {_module(part) for part in components}
    parts: dict[str, str] = {}
    for kind in experiment.__mro__:
        if _module(kind) in (*sys.stdlib_module_names, *_NO_RESULT):
            continue
        source, imported = _reached(kind)
        parts[f"{_module(kind)}:{kind.__qualname__}"] = source
        roots = roots | {name for name in imported if source_file(name)}
    parts |= source_hashes([*_SIMULATION, *roots], _NO_RESULT)
    text = "\n".join(f"{name} {digest}" for name, digest in sorted(parts.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _module(kind: type[Any]) -> str:
    """Return the module of a class; in the processes that a script starts, its module has another name."""
    return "__main__" if kind.__module__ == "__mp_main__" else kind.__module__


def _package_modules() -> set[str]:
    paths = (path.relative_to(PACKAGE).with_suffix("").parts for path in PACKAGE.rglob("*.py"))
    names = (".".join(("rdmacc", *parts)) for parts in paths if parts[0] not in _NOT_SIMULATING)
    return {name.removesuffix(".__init__") for name in names}


def _reached(kind: type[Any]) -> tuple[str, set[str]]:
    """Return the digest of the code that a class uses in its module, and the modules that this code imports."""
    module = _module(kind)
    if source_file(module) is None:
        raise ConfigError(
            "experiment", module, "a class of a module with a source file, because results are keyed by its code"
        )
    tree = syntax_tree(module)
    defined: dict[str, list[ast.stmt]] = {}
    for node in tree.body:
        for name in _bound(node):
            defined.setdefault(name, []).append(node)
    top = kind.__qualname__.partition(".")[0]
    waiting, used, nodes = [top], set(), []
    while waiting:
        name = waiting.pop()
        if name in used:
            continue
        used.add(name)
        for node in defined.get(name, ()):
            measured = _measured(node)
            nodes.append(measured)
            waiting += [part.id for part in ast.walk(measured) if isinstance(part, ast.Name)]
    # In source order, without repeats, because a statement may bind several names.
    ordered = list(dict.fromkeys(sorted(nodes, key=lambda node: node.lineno)))
    statements = [node for node in ordered if not isinstance(node, ast.Import | ast.ImportFrom)]
    bound = {one: name for one, name in imports_of(ast.walk(tree), module) if one in used}
    local = imports_of((part for node in statements for part in ast.walk(node)), module)
    return digest_of(*statements), {*bound.values(), *(name for _, name in local)}


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a module-level statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def _measured(node: ast.stmt) -> ast.stmt:
    """Return a class without the members that only show or judge its table; return other nodes unchanged."""
    if not isinstance(node, ast.ClassDef):
        return node
    kept = [item for item in node.body if not set(_bound(item)) & set(_NOT_MEASURED)]
    trimmed = ast.ClassDef(
        name=node.name, bases=node.bases, keywords=node.keywords, body=kept, decorator_list=node.decorator_list
    )
    return ast.copy_location(trimmed, node)


@cache
def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    packages = ("numba", "numpy", "pandas", "scipy")
    return {"python": ".".join(map(str, sys.version_info[:2]))} | {name: metadata.version(name) for name in packages}


@cache
def git_commit() -> str:
    """Return the checked-out commit of the package, with a plus if files differ; "" outside a checkout."""
    root = PACKAGE.resolve().parent

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=root,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        return done.stdout.strip()

    try:
        if Path(git("rev-parse", "--show-toplevel")).resolve() != root:
            return ""
        return git("rev-parse", "HEAD") + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return ""
