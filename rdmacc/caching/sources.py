"""The text of the code that this process runs, as of its import, and what has since been changed in memory.

Stored rows and compiled code are keyed by this text. `_Notes` is the first of Python's module finders: it records each
module's text and what each module of rdmacc defines once it has run. Later edits of a file count from its next import.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib.util
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from operator import attrgetter, is_not
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from rdmacc.caching import uncollected

PACKAGE = Path(__file__).parents[1]
"""The folder of `rdmacc`."""

_ROOT = "rdmacc"
_MAPPED = {name: PACKAGE / name if (PACKAGE / name).is_dir() else PACKAGE.parent / name
           for name in ("models", "experiments")}  # fmt: skip
"""Packages that are next to `rdmacc` in a checkout."""

_SITES = frozenset({"site-packages", "dist-packages"})
_FOLDERS = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")]
_READ = (".py", ".csv", ".gz", ".jsonl")
_NO_MATTER = ("rdmacc.cli", "rdmacc.explorer", "rdmacc.show", "rdmacc.sweep")
_MATTERS = ("rdmacc.sweep.tidy", "rdmacc.sweep.study_runs")

_TEXTS: dict[str, str | None] = {}
"""Hash of each module's text when it was imported, by name; None if unknown."""
_ON_DISK: dict[str, str] = {}  # the same for files of rdmacc that are not imported, when they were first read
_DEFINED: dict[str, tuple[list[_Space], list[FunctionType], list[Any]]] = {}
"""What each module of rdmacc defined right after it had run, by name."""
_CONTAINERS: dict[int, Any] = {}  # dictionaries and lists that modules defined, by identity
_PARTS = attrgetter("__code__", "__defaults__", "__kwdefaults__")
_TAINTS: list[str] = []
_BUILT_IN = frozenset(name for name in vars(builtins) if not name.startswith("__"))


def _digest(path: Path | str) -> str | None:
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()


@cache
def is_installed(file: str) -> bool:
    """Return whether a file belongs to Python or to an installed package, or is a command installed by one."""
    path = Path(file)
    if not path.is_absolute():  # built-in or frozen
        return not path.exists()
    return not _SITES.isdisjoint(path.parts) or any(path.is_relative_to(folder) for folder in _FOLDERS)


def is_standard(path: Path) -> bool:
    """Return whether a file belongs to Python itself."""
    return any(map(path.is_relative_to, _FOLDERS[:2])) and _SITES.isdisjoint(path.parts)


@cache
def is_own(file: str) -> bool:
    """Return whether a file belongs to rdmacc."""
    return any(Path(file).is_relative_to(folder) for folder in (PACKAGE, *_MAPPED.values()))


class _Notes:
    """A module finder that delegates to the other finders, and records the text of what they find."""

    def __init__(self) -> None:
        self._installed: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        top = name.partition(".")[0]
        if top in self._installed or (target is None and name in sys.modules):
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(name, path, target) if hasattr(finder, "find_spec") else None
            if spec is not None:
                self._note(spec, top)
                return spec
        return None

    def _note(self, spec: ModuleSpec, top: str) -> None:
        if top == _ROOT:
            text = _digest(str(spec.origin))
            if {_TEXTS.get(spec.name), _ON_DISK.get(spec.name)} - {None, text}:
                taint(spec.name)  # other modules hold its old definitions, or keys contain its old text
            _TEXTS[spec.name] = text
            _own_text.cache_clear()
            loader = spec.loader
            matters = not spec.name.startswith(_NO_MATTER) or spec.name in _MATTERS
            if matters and isinstance(loader, SourceFileLoader):
                run = loader.exec_module

                def exec_module(module: ModuleType) -> None:
                    run(module)
                    _DEFINED[module.__name__] = _spaces(module)

                loader.exec_module = exec_module  # type: ignore[method-assign]
        elif spec.origin is not None and is_installed(spec.origin):
            if spec.name == top:
                self._installed.add(top)
        elif spec.origin is not None:
            _TEXTS[spec.name] = _digest(spec.origin)


@cache
def git_commit() -> str:
    """Return the package's checked-out commit, with a plus if files have been modified; "" outside a checkout."""
    root = PACKAGE.resolve().parent

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, timeout=10, check=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.stdout.splitlines()

    try:
        folder, commit = git("rev-parse", "--show-toplevel", "HEAD")
        if Path(folder).resolve() != root:
            return ""
        return commit + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def run_file(file: Path | str) -> None:
    """Import a user's file, which may register schemes, as a module of that name."""
    name = Path(file).stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


# What has been changed in memory


class _Space(NamedTuple):
    """A module, a class, a dict or a list: what it held right after its module had run, and what it holds now."""

    name: str
    now: Any
    held: dict[Any, Any]
    size: int

    def changed(self) -> str:
        """Return a name that is now bound to another object, or a new one that hides something; "" if there is none."""
        now: Any = dict(enumerate(self.now)) if isinstance(self.now, list) else self.now
        if any(map(is_not, map(now.get, self.held), self.held.values())):
            return next(f"{self.name}.{key}" for key, value in self.held.items() if now.get(key) is not value)
        is_class = not isinstance(now, dict)
        if len(now) <= self.size or not (is_class or "__name__" in now):
            return ""  # later registrations do not count
        for key in set(now) - set(self.held):
            if not key.startswith("_") if is_class else key in _BUILT_IN and not isinstance(now[key], ModuleType):
                return f"{self.name}.{key}"
        return ""


def _spaces(module: ModuleType) -> tuple[list[_Space], list[FunctionType], list[Any]]:
    """Return the spaces that a module defines, its functions, and the parts of them that can be changed."""
    name, functions = module.__name__, []
    own = {key: value for key, value in vars(module).items() if not key.startswith("__")}
    spaces = [_Space(name, vars(module), own, len(vars(module)))]
    for key, value in own.items():
        held: dict[Any, Any] = {}
        if isinstance(value, FunctionType) and value.__module__ == name:
            functions.append(value)
        elif isinstance(value, type) and value.__module__ == name:
            held, value = dict(vars(value)), vars(value)
            inside = (getattr(item, "__func__", item) for item in held.values())
            functions += [item for item in inside if isinstance(item, FunctionType)]
        elif isinstance(value, dict | list) and id(value) not in _CONTAINERS:
            _CONTAINERS[id(value)] = value  # only where it is defined: by an importer's turn, more may be registered
            held = dict(value if isinstance(value, dict) else enumerate(value))
        if held:
            spaces.append(_Space(f"{name}.{key}", value, held, len(value)))
    return spaces, functions, list(map(_PARTS, functions))


def patched() -> str:
    """Return a name in rdmacc that has changed since its module defined it, or had when code was compiled, or ""."""
    for spaces, functions, parts in _DEFINED.values():
        for space in spaces:
            if changed := space.changed():
                return changed
        if list(map(_PARTS, functions)) != parts:
            other = next(one for one, held in zip(functions, parts, strict=True) if _PARTS(one) != held)
            return f"{other.__module__}.{other.__qualname__}"
    return _TAINTS[0] if _TAINTS else ""


def taint(what: str) -> None:
    """Record that this process holds two versions of something, so it must no longer store results or compiled code."""
    _TAINTS.append(what)


# The text of rdmacc


@cache
def _files() -> dict[str, tuple[str, Path]]:
    """Return the module and the path of each file of rdmacc, by its path within the package."""
    found = {}
    for prefix, folder in {"": PACKAGE, **_MAPPED}.items():
        for path in folder.rglob("*"):
            name = "/".join((*filter(None, [prefix]), *path.relative_to(folder).parts))
            counts = path.suffix in _READ or (path.suffix == ".toml" and not prefix)  # experiments' only judge results
            if counts and (prefix or name.partition("/")[0] not in _MAPPED):
                module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                found[name] = (f"{_ROOT}.{module}" if path.suffix == ".py" else name, path)
    return dict(sorted(found.items()))


def own_text(counts: Callable[[str], bool]) -> str:
    """Return a hash of the text of the files of rdmacc for whose names, such as ``rules/pfc.py``, `counts` is true."""
    return _own_text(tuple(filter(counts, _files())))


@lru_cache(8)
def _own_text(names: tuple[str, ...]) -> str:
    lines = []
    for name in names:
        module, path = _files()[name]
        text = _TEXTS.get(module)
        if text is None:
            text = _ON_DISK[module] = _ON_DISK.get(module) or str(_digest(path))
        lines.append(f"{name} {text}")
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


# The text of the user's modules


def user_sources() -> dict[str, str | None]:
    """Return a hash of the text of each imported module that is neither installed nor part of rdmacc, by name.

    ``__main__`` is the script, or the code given to ``python -c``; each cell of a notebook has its own entry. The hash
    is None if the imported text is unknown.
    """
    found = {}
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        is_other = name in ("__main__", "__mp_main__") or name.partition(".")[0] == _ROOT
        if isinstance(file, str) and not is_other and not is_installed(file):
            found[name] = _text(name, file)
    return found | _main()


def _main() -> dict[str, str | None]:
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is not None:
        return {} if is_installed(file) or is_own(str(Path(file).resolve())) else {"__main__": _text("__main__", file)}
    cells = vars(main).get("In")
    if isinstance(cells, list) and "get_ipython" in vars(main):
        texts = [hashlib.sha256(str(cell).encode()).hexdigest() for cell in cells[1:]]
        return {f"cell {text}": text for text in texts}
    given = sys.orig_argv
    code = given[given.index("-c") + 1] if "-c" in given[1:-1] else None
    return {"__main__": None if code is None else hashlib.sha256(code.encode()).hexdigest()}


def _text(name: str, file: str) -> str | None:
    if name not in _TEXTS:
        _TEXTS[name] = _digest(file) if _is_as_compiled(name, file) else None
    return _TEXTS[name]


def _is_as_compiled(name: str, file: str) -> bool:
    """Return whether the file of a module imported before rdmacc has not changed since Python compiled it, if known."""
    try:
        head = Path(str(getattr(sys.modules[name], "__cached__", None))).read_bytes()[:16]
        about = Path(file).stat()
    except OSError:
        return True
    flags, *noted = (int.from_bytes(head[place : place + 4], "little") for place in (4, 8, 12))
    return bool(flags) or noted == [int(about.st_mtime) & 0xFFFFFFFF, about.st_size & 0xFFFFFFFF]


def are_current(sources: Mapping[str, str | None]) -> bool:
    """Return whether modules, or the files that an import would read, still have the text that `user_sources` found."""
    now = user_sources() if sources else {}
    for name, text in sources.items():
        if name in now:
            if now[name] != text:
                return False
        elif name == "__main__" or name.startswith("cell ") or _text_to_import(name) != text:
            return False
    return True


def _text_to_import(name: str) -> str | None:
    """Return a hash of the text of a module or package that is not imported, without importing anything."""
    path, parts = None, name.split(".")
    for number in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: number + 1]), path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return _digest(spec.origin) if spec is not None and spec.origin else None


def installed_text(packages: Iterable[str]) -> dict[str, str]:
    """Return a hash of the text of each given installed package, by name."""
    found = {}
    for name in sorted(set(packages)):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            continue
        files = [Path(spec.origin)]
        if spec.submodule_search_locations:
            files = sorted(file for place in spec.submodule_search_locations for file in Path(place).rglob("*.py"))
        found[name] = hashlib.sha256("".join(map(str, map(_digest, files))).encode()).hexdigest()
    return found


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package that imports its names on first use.

    The package's stub lists them: ``from rdmacc.topology import star as star`` tells type checkers and `__getattr__`
    where a name comes from. Most of an import's time goes to pandas and networkx, which not every use needs.
    """
    stub = ast.parse(Path(str(sys.modules[package].__file__)).with_suffix(".pyi").read_bytes())
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    home = {alias.name: str(node.module) for node in imports for alias in node.names}

    def get(name: str) -> Any:
        own, place = f"{package}.{name}", home.get(name)
        is_module = place == package or any(f"{module}.".startswith(f"{own}.") for module in home.values())
        if place is None and not is_module:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with uncollected():  # scanning a library's objects would take a sixth of the time to a first result
            value: Any = import_module(own) if is_module else getattr(import_module(str(place)), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return get, names, sorted(home)


if not any(type(finder).__name__ == _Notes.__name__ for finder in sys.meta_path):
    for _name, _module in list(sys.modules.items()):
        _file = getattr(_module, "__file__", None)
        if isinstance(_file, str) and not is_installed(_file):
            _text(_name, _file)
    sys.meta_path.insert(0, _Notes())
