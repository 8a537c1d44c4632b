"""A hash of everything that a handler can reach: part of the keys of compiled code and of stored rows.

A function's behaviour follows from its bytecode, its defaults, its closure and the names that it uses from its module.
All of these are followed recursively and described by content, so equal content has the same hash in every process.
Only objects defined by a release of Python, NumPy or Numba count by name. A module counts with the attributes that are
read. Objects that cannot be described are errors, because a key without them could find stale code.

For stored rows (`is_row`), installed packages count by name, and so does rdmacc, whose source is in their key. Imports
inside functions are executed here, so that the imported objects can be described.
"""

from __future__ import annotations

import builtins
import copyreg
import enum
import functools
import hashlib
import importlib.util
import os
import sys
import types
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rdmacc.caching.sources import is_installed, is_own, is_standard
from rdmacc.errors import ConfigError
from rdmacc.handlers.language import NATIVE
from rdmacc.handlers.source import MISSING, bytecode_of, cell_content

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented)})
_LIBRARIES = ("numpy", "numba", "scipy")  # their versions are part of both keys, as Python's is

OURS = (
    "rdmacc.interface.component", "rdmacc.interface.parameters", "rdmacc.interface.records", "rdmacc.interface.scaling",
    "rdmacc.schemes.composition",
)  # fmt: skip
"""Classes of these modules count by name, because both keys contain the modules' sources."""

_CHECKING = "rdmacc.errors.typed"  # its wrappers only check arguments; the wrapped functions count

_HIDDEN = frozenset({"globals", "vars", "eval", "exec", "locals", "__import__"})
"""Built-in functions that reach objects not named in the bytecode."""

OF_NO_EFFECT = frozenset({
    "__module__", "__qualname__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__dataclass_fields__",
    "__dataclass_params__", "__match_args__", "__firstlineno__", "__static_attributes__", "__parameters__",
    "__orig_bases__", "__abstractmethods__", "_abc_impl", "__annotate__", "__annotate_func__", "__annotations_cache__",
    "__slotnames__", "_render_traceback_",
})  # fmt: skip
"""Class attributes that do not affect behaviour. Values of a dataclass's fields are described with its instances."""

_WRITTEN = frozenset({
    "__init__", "__repr__", "__eq__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__", "__setattr__", "__delattr__",
    "__replace__", "__getstate__", "__setstate__",
})  # fmt: skip
"""Methods that the dataclass decorator generates."""

_DYNAMIC = frozenset({
    "import_module", "spec_from_file_location", "run_path", "run_module", "exec_module", "load_module",
})  # fmt: skip
"""Functions that import or run code not named in the bytecode."""

_ENVIRONMENT = frozenset({"environ", "environb", "getenv", "getenvb"})

_HEAP_TYPE = 1 << 9  # flag of types created at run time

_PICKLING = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
_ALLOWED = (
    "must have content that rdmacc can compare, such as a number, a string, a tuple, an array, an enumeration or a"
    " plain function: the keys of compiled code and stored rows depend on it"
)


def content_hash(value: Any, field: str, has_places: bool = False, is_row: bool = False) -> str:
    try:
        return _Walk(has_places, is_row).digest(value)
    except _UnknownError as unknown:
        raise ConfigError(field, unknown.name, _ALLOWED) from None


class _UnknownError(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._kind, self._path = type(value).__name__, ""

    def within(self, name: str) -> _UnknownError:
        self._path = f"{name}.{self._path}" if self._path else name
        return self

    @property
    def name(self) -> str:
        return f"{self._path} ({self._kind})"


class _Walk:
    """Describes values as nested tuples of plain ones, whose repr is the same in every process.

    Functions and classes are numbered in the order in which they are found, and described in that order.
    """

    def __init__(self, has_places: bool, is_row: bool) -> None:
        self._has_places, self._is_row = has_places, is_row
        self._numbers: dict[int, int] = {}
        self._found: list[Any] = []
        self._around: list[int] = []
        self._modules: list[types.ModuleType] = []
        self._names: set[str] = set()

    def digest(self, value: Any) -> str:
        described = [self.of(value)]
        done = 0
        read: set[tuple[int, str]] = set()
        while done < len(self._found):
            for one in self._found[done:]:
                try:
                    described.append(self._class(one) if isinstance(one, type) else self._function(one))
                except _UnknownError as unknown:
                    raise unknown.within(one.__qualname__) from None
                done += 1
            for number, module in enumerate(self._modules):
                if not self._names.isdisjoint(("getattr", "__dict__")):
                    raise _UnknownError(module)
                for name in sorted(self._names & vars(module).keys()):
                    if (number, name) not in read:
                        read.add((number, name))
                        described.append((number, name, self._named(name, vars(module)[name])))
        if self._is_row and not self._names.isdisjoint(_DYNAMIC):
            raise _UnknownError(importlib).within(min(self._names & _DYNAMIC))
        if not self._names.isdisjoint(_ENVIRONMENT):
            described.append([(name, os.environ[name]) for name in sorted(self._names & os.environ.keys())])
        return hashlib.sha256(repr(described).encode()).hexdigest()

    def of(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is types.FunctionType:
            if value.__globals__.get("__name__") == _CHECKING:
                value = getattr(value, "__wrapped__", value)
            # A library function with a closure may hold one of ours.
            if value in NATIVE or (not value.__closure__ and self._is_library_file(value.__code__.co_filename)):
                return ("name", value.__module__, value.__qualname__)
            return ("function", self._number(value))
        if isinstance(value, type):
            if value.__module__ in OURS or self._is_known(value):
                return ("name", value.__module__, value.__qualname__)
            return ("class", self._number(value))
        if value is MISSING:
            return ("missing",)
        if isinstance(value, enum.Enum):
            return ("member", self.of(kind), value.name)
        if kind is types.ModuleType:
            return self._module(value)
        if value is os.environ:  # only the variables read by name count
            return ("environ",)
        if value is sys.modules:
            raise _UnknownError(value)
        if id(value) in self._around:
            return ("around", len(self._around) - self._around.index(id(value)))
        self._around.append(id(value))
        try:
            return self._container(value, kind)
        finally:
            self._around.pop()

    def _container(self, value: Any, kind: type[Any]) -> Any:
        if kind in (tuple, list):
            return (kind.__name__, *map(self.of, value))
        if kind is dict:
            return ("dict", *((self.of(key), self._named(str(key), item)) for key, item in value.items()))
        if kind in (set, frozenset):
            return (kind.__name__, *sorted((self.of(item) for item in value), key=repr))
        if kind in (staticmethod, classmethod):
            return (kind.__name__, self.of(value.__func__))
        if kind is property:
            return ("property", *map(self.of, (value.fget, value.fset, value.fdel)))
        if kind is types.MappingProxyType:
            return ("proxy", self.of(dict(value)))
        if isinstance(value, functools._lru_cache_wrapper):
            return ("cached", self.of(value.__wrapped__))
        if isinstance(value, functools.cached_property):
            return ("cached", self.of(value.func))
        if self._is_known(value):
            return ("name", _module_of(value), value.__name__)
        if hasattr(value, "__objclass__"):  # a method of a C type, such as str.upper
            return ("name", value.__name__, self.of(value.__objclass__))
        if isinstance(value, types.MethodType):
            return ("method", self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, types.BuiltinMethodType) and not isinstance(value.__self__, types.ModuleType):
            return ("method", value.__name__, self.of(value.__self__))
        if kind.__module__.startswith("numba."):  # Numba has frozen the values that it read
            raise _UnknownError(value)
        return self._instance(value, kind)

    def _instance(self, value: Any, kind: type[Any]) -> Any:
        """Describe an object by its pickled form, unless its own class customises pickling."""
        reduce = copyreg.dispatch_table.get(kind)
        methods = [next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None) for name in _PICKLING]
        own = [method for method in (*methods, reduce) if isinstance(method, types.FunctionType)]
        if any(not self._is_library_file(method.__code__.co_filename) for method in own):
            raise _UnknownError(value)
        try:
            parts = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        except Exception:  # an unpicklable class may raise anything
            raise _UnknownError(value) from None
        if isinstance(parts, str):
            raise _UnknownError(value)
        rows = (list(part) if number in (3, 4) and part is not None else part for number, part in enumerate(parts))
        return ("object", self.of(kind), *map(self.of, rows))

    def _named(self, name: str, value: Any, attributes: tuple[str, ...] = ()) -> Any:
        try:
            return self._module(value, attributes) if type(value) is types.ModuleType else self.of(value)
        except _UnknownError as unknown:
            raise unknown.within(name) from None

    def _number(self, value: Any) -> int:
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._found)
            self._found.append(value)
        return self._numbers[id(value)]

    def _module(self, module: types.ModuleType, attributes: tuple[str, ...] = ()) -> Any:
        """Describe the attribute read from a module, or all that might be read if the module itself is passed on."""
        value: Any = module
        for depth, name in enumerate(attributes):
            value = getattr(value, name, MISSING)
            if type(value) is not types.ModuleType:
                return self._named(".".join(attributes[: depth + 1]), value)
        if not self._is_library(value.__name__) and value not in self._modules:
            self._modules.append(value)
        return ("module", value.__name__)

    def _function(self, function: Any) -> Any:
        code = bytecode_of(function.__code__)
        self._names |= code.names
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))
        parts: list[Any] = [code.digest]
        if self._has_places and code.can_raise:
            place = function.__code__
            parts.append((place.co_filename, place.co_firstlineno, place.co_linetable))
        if self._is_row:
            parts += [self._imported(function, *each) for each in code.imports]
        elif code.imports and not _is_ours(function):
            raise _UnknownError(__import__)
        for name, is_free, attributes in code.taken:
            value = cell_content(cells[name]) if is_free else function.__globals__.get(name, MISSING)
            if value is MISSING and not is_free:
                value = getattr(builtins, name, MISSING)
                if name in _HIDDEN and not _is_ours(function):
                    raise _UnknownError(value)
            parts.append(self._named(name, value, attributes))
        for name in sorted(cells.keys() - {name for name, is_free, _ in code.taken if is_free}):
            parts.append((name, self.of(cell_content(cells[name]))))
        for part in (function.__defaults__, function.__kwdefaults__, vars(function)):
            parts.append(self.of(part) if part else None)
        return parts

    def _class(self, kind: type[Any]) -> Any:
        parts: list[Any] = [self.of(type(kind)), *map(self.of, kind.__bases__)]
        if issubclass(kind, enum.Enum):
            parts += [(name, self.of(member.value)) for name, member in kind.__members__.items()]
        return parts + [(name, self._named(name, item)) for name, item in self._own(kind)]

    def _own(self, kind: type[Any]) -> Iterator[tuple[str, Any]]:
        is_enum = issubclass(kind, enum.Enum)
        for name, item in sorted(vars(kind).items()):
            file = item.__code__.co_filename if isinstance(item, types.FunctionType) else None
            if name in OF_NO_EFFECT or isinstance(item, types.MemberDescriptorType | types.GetSetDescriptorType):
                continue
            if name in _WRITTEN and file is not None and (file == "<string>" or self._is_library_file(file)):
                continue
            if is_enum and file is None and (name.startswith("_") or name in kind.__members__):
                continue
            yield name, item

    def _is_known(self, value: Any) -> bool:
        """Return whether a library defines an object under its name."""
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        module = _module_of(value)
        if not isinstance(name, str) or not isinstance(module, str) or not self._is_library(module):
            return False
        found: Any = sys.modules.get(module)
        for part in name.split("."):
            found = getattr(found, part, None)
        return found is value or (isinstance(value, type) and not value.__flags__ & _HEAP_TYPE)

    def _is_library(self, module: str) -> bool:
        return is_library(module) or (self._is_row and _is_counted(module))

    def _is_library_file(self, file: str) -> bool:
        return _is_library_file(file) or (self._is_row and (is_installed(file) or is_own(file)))

    def _imported(self, function: Any, name: str, level: int, names: tuple[str, ...]) -> Any:
        """Describe what a function imports when it is called."""
        if level:
            package = function.__globals__.get("__package__") or ""
            name = importlib.util.resolve_name("." * level + name, package)
        if self._is_library(name):
            return ("module", name)
        found = []
        for each in (name, *(f"{name}.{one}" for one in names)):
            parts = each.split(".")
            for number in range(len(parts)):
                part = ".".join(parts[: number + 1])
                try:
                    found.append(self._module(importlib.import_module(part)))
                except Exception:  # a user's module may raise anything, and a name may be an attribute
                    found.append(("missing", part))
                    break
        return found


def _module_of(value: Any) -> Any:
    """Return the name of the module that defines an object; NumPy's ufuncs may not have it."""
    return getattr(value, "__module__", None) or ("numpy" if isinstance(value, np.ufunc) else None)


def _is_ours(function: Any) -> bool:
    return str(function.__globals__.get("__name__")).partition(".")[0] == "rdmacc"


@cache
def is_library(module: str) -> bool:
    """Return whether a module belongs to Python itself, or to a library whose version counts."""
    top = module.partition(".")[0]
    if top in _LIBRARIES or top in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(top), "__file__", None)
    return top in sys.stdlib_module_names and (file is None or _is_library_file(file))


@cache
def _is_counted(module: str) -> bool:
    """Return whether a module is installed, or is rdmacc's."""
    top = module.partition(".")[0]
    if top == "rdmacc":
        return True
    spec = importlib.util.find_spec(top) if top not in sys.modules else None
    file = getattr(sys.modules.get(top), "__file__", None) if spec is None else spec.origin
    return file is not None and is_installed(file)


@cache
def _is_library_file(file: str) -> bool:
    if file.startswith("<frozen "):
        return True
    folders = set(Path(file).parents)
    libraries = (getattr(sys.modules.get(name), "__file__", None) for name in _LIBRARIES)
    return not folders.isdisjoint(Path(path).parent for path in libraries if path) or is_standard(Path(file))
