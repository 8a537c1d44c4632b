"""The sources of modules, what they import, and a hash of them: worked out from syntax trees, nothing is run.

Both caches are keyed by it: compiled code by the sources of the kernel, stored points by those of a simulation.
Comments, docstrings and imports for type checkers do not count. Nor does the ``__init__`` of a package count as
imported by what imports a module in it: it may show names, not change them.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.garbage import uncollected

PACKAGE = Path(__file__).parent
"""The folder of `rdmacc` itself."""

_ROOT = "rdmacc"
_SITES = frozenset({"site-packages", "dist-packages"})
"""Folders that pip installs into."""


@cache
def source_file(module: str) -> Path | None:
    """Return a module's source file; None if there is no such module, or it has none."""
    file = getattr(sys.modules.get(module), "__file__", None)  # a script has a file, and no spec
    if file is None:
        try:
            spec = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        file = spec.origin if spec is not None else None
    return Path(file) if file and file.endswith(".py") else None


@cache
def syntax_tree(module: str) -> ast.Module:
    """Return a module's syntax tree, without docstrings and imports for type checkers."""
    file = source_file(module)
    if file is None:
        raise ConfigError(
            "module", module, "must be a module with a source file, because results are keyed by its code"
        )
    tree = ast.parse(file.read_bytes())
    for node in [tree, *statements_of(tree)]:
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [item for item in body if not _has_no_effect(item)]  # type: ignore[attr-defined]
    return tree


def statements_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all statements in a node, at whatever depth, without a look at the expressions in them: quick."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        inside = getattr(node, name, ())
        for item in inside if isinstance(inside, list) else ():
            yield item
            yield from statements_of(item)


def _has_no_effect(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return not node.orelse and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def digest_of(*trees: ast.AST) -> str:
    """Return a hash of syntax trees, which comments and line numbers do not change."""
    return hashlib.sha256("\n".join(map(ast.dump, trees)).encode()).hexdigest()


def imports_of(nodes: Iterable[ast.AST], module: str) -> Iterator[tuple[str, str]]:
    """Yield (bound name, imported module) for each import among some nodes of a module.

    Those of `rdmacc`, of the package that `module` is in, and of nothing that is installed count.
    """
    own = {_ROOT, module.partition(".")[0]}
    is_package = _is_package(module)
    for node in nodes:
        if isinstance(node, ast.Import):
            found = [(alias.asname or alias.name.partition(".")[0], alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            source = node.module or ""
            if node.level:
                above = module.split(".")[: None if is_package and node.level == 1 else int(is_package) - node.level]
                source = ".".join([*above, source] if source else above)
            inside = [(alias.asname or alias.name, f"{source}.{alias.name}") for alias in node.names]
            may_be_modules = _is_counted(source, own) and _is_package(source)
            found = [(bound, name if may_be_modules and source_file(name) else source) for bound, name in inside]
        else:
            continue
        yield from ((bound, name) for bound, name in found if _is_counted(name, own))


def _is_package(module: str) -> bool:
    file = source_file(module)
    return file is None or file.name == "__init__.py"  # without a file: a folder


def _is_counted(name: str, packages: set[str]) -> bool:
    top = name.partition(".")[0]
    return top in packages or not _is_installed(top)


@cache
def _is_installed(package: str) -> bool:
    """Tell whether a package or a module belongs to Python or to a library; what is nowhere does, too."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return True
    places = [spec.origin, *(spec.submodule_search_locations or ())] if spec is not None else []
    paths = [Path(place) for place in places if place and Path(place).exists()]
    return all(is_standard(path) or not _SITES.isdisjoint(path.parts) for path in paths)


def is_standard(path: Path) -> bool:
    """Tell whether a file or a folder belongs to Python itself."""
    folders = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return any(map(path.is_relative_to, folders)) and _SITES.isdisjoint(path.parts)


def import_closure(roots: Iterable[str], skipped: Collection[str] = ()) -> set[str]:
    """Return the modules that some modules import, at whatever depth and in functions too; themselves included."""
    seen: set[str] = set()
    waiting = [name for name in roots if name not in skipped]
    for name in waiting:
        syntax_tree(name)
    while waiting:
        name = waiting.pop()
        if name in seen or name in skipped or source_file(name) is None:
            continue
        seen.add(name)
        waiting += _imported(name)
    return seen


@cache
def _imported(module: str) -> list[str]:
    """Return the modules that a module imports, in functions too."""
    return [name for _, name in imports_of(statements_of(syntax_tree(module)), module)]


@uncollected()  # none of the syntax trees' many objects is garbage
def source_hashes(roots: Iterable[str], skipped: Collection[str] = ()) -> dict[str, str]:
    """Return the hash of each module's source, by name, for all that `import_closure` finds."""
    return {name: _digest(name) for name in sorted(import_closure(roots, skipped))}


@cache
def _digest(module: str) -> str:
    return digest_of(syntax_tree(module))


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its names when they are first asked for.

    The package's stub lists them: ``from rdmacc.topology import star as star`` says where a name is from, to type
    checkers and to `__getattr__`. pandas and networkx take most of the time of an import, and not all need them.
    """
    stub = ast.parse(Path(str(sys.modules[package].__file__)).with_suffix(".pyi").read_bytes())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    home = {alias.name: str(node.module) for node in imports for alias in node.names}
    modules = {module for name in home.values() for module in _with_parents(name)} | {
        f"{package}.{name}" for name, module in home.items() if module == package
    }

    def get(name: str) -> Any:
        own = f"{package}.{name}"
        if own in modules:
            value: Any = import_module(own)
        elif name in home:
            value = getattr(import_module(home[name]), name)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return get, names, sorted(home)


def _with_parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[: number + 1]) for number in range(len(parts))]
