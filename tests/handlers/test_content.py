"""Nothing stale is used: changing anything that a handler uses changes the results, at once and in new processes."""

import copy
import ctypes
import functools
import importlib
import math
import operator
import os
import re
import subprocess
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import rdmacc
from rdmacc.engine.select import why_not_compiled
from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from tests.support import mostly_at_night

HELPERS = """
K = {module_attribute}
NESTED = {nested}


def twice(value):
    return value * NESTED
"""

MINE = """
from dataclasses import dataclass

import numba
import numpy as np

import rdmacc
from rdmacc.interface import Float, Int, Record

import lab_helpers
from lab_helpers import twice as doubled

CONSTANT = {constant}
TUPLE = (1.0, {tuple})


@numba.njit
def by_njit(value):
    return value * 0.5


by_lambda = lambda value: value * 0.5


def by_call(value):
    return inner(value)


def inner(value):
    return value * {function}


def quarter(value):
    return value * 0.25


def by_default(value, factor={default}):
    return value * factor


def by_keyword(value, factor={keyword_default}):
    return value * factor


def factor(value):
    return value * {closure_of_function}


def made(factor, pair, table, scale):
    def by_closure(value):
        return value * factor

    def by_tuple(value):
        return value * pair[1]

    def by_array(value):
        return value * table[4321]

    def by_function(value):
        return scale(value)

    return by_closure, by_tuple, by_array, by_function


by_closure, by_tuple, by_array, by_function = made({closure}, (1.0, {closure_of_tuple}), np.ones(5000), factor)


def slower(qp, sender, params):
    sender.rate_bps = qp.line_bps * 0.125


@dataclass(frozen=True, kw_only=True)
class Mine(rdmacc.Component):
    gain: float = rdmacc.interface.component.param({parameter}, "a gain")

    class Sender(Record):
        rate_bps = Float()
        held = Float({record})

    class Header(Record):
        stamp = Int()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_ack(qp, sender, params):
        value = qp.line_bps * 0.5
{body}
        sender.rate_bps = value


class Inherits(Mine):
    pass
"""
BODIES = {
    "module_attribute": "value *= lab_helpers.K",
    "nested": "value = doubled(value)",
    "constant": "value *= CONSTANT",
    "tuple": "low, high = TUPLE\n        value *= high / low",
    "function": "value = by_call(value)",
    "default": "value = by_default(value)",
    "keyword_default": "value = by_keyword(value=value)",
    "closure": "value = by_closure(value)",
    "closure_of_tuple": "value = by_tuple(value)",
    "closure_of_function": "value = by_function(value)",
    "parameter": "value *= params.gain",
    "record": "value *= sender.held",
}
"""How a handler uses each kind of object in the language."""
FIRST: dict[str, Any] = dict.fromkeys(BODIES, 0.5)
pytestmark = pytest.mark.skipif(bool(why_not_compiled()), reason="no compiled engine")


def write(folder: Path, values: dict[str, Any], bodies: dict[str, str] = BODIES) -> None:
    """Write a user's modules: one per kind of object that a handler uses, and one that they import."""
    (folder / "lab_helpers.py").write_text(HELPERS.format(**values))
    for name, body in bodies.items():
        own = FIRST | ({name: values[name]} if name in values else {})
        (folder / f"lab_{name}.py").write_text(MINE.format(body=f"        {body}", **own))


def cell_of(function: Any, name: str) -> types.CellType:
    return function.__closure__[function.__code__.co_freevars.index(name)]


def with_code(function: Any, other: Any) -> None:
    """Give a function another one's code, as IPython's autoreload does."""
    function.__code__ = other.__code__


CHANGES: dict[str, tuple[str, Any]] = {
    "attribute of a module": ("module_attribute", lambda lab: setattr(lab.lab_helpers, "K", 0.25)),
    "what a function of a module reads": ("nested", lambda lab: setattr(lab.lab_helpers, "NESTED", 0.25)),
    "constant": ("constant", lambda lab: setattr(lab, "CONSTANT", 0.25)),
    "type of a constant": ("constant", lambda lab: setattr(lab, "CONSTANT", 1)),
    "tuple": ("tuple", lambda lab: setattr(lab, "TUPLE", (1.0, 0.25))),
    "types of a tuple": ("tuple", lambda lab: setattr(lab, "TUPLE", (1, 0.25))),
    "function": ("function", lambda lab: setattr(lab, "inner", lab.quarter)),
    "code of a function": ("function", lambda lab: with_code(lab.inner, lab.quarter)),
    "default": ("default", lambda lab: setattr(lab.by_default, "__defaults__", (0.25,))),
    "type of a default": ("default", lambda lab: setattr(lab.by_default, "__defaults__", (1,))),
    "default by its name": ("keyword_default", lambda lab: setattr(lab.by_keyword, "__defaults__", (0.25,))),
    "closure": ("closure", lambda lab: setattr(cell_of(lab.by_closure, "factor"), "cell_contents", 0.25)),
    "tuple in a closure": (
        "closure_of_tuple",
        lambda lab: setattr(cell_of(lab.by_tuple, "pair"), "cell_contents", (1.0, 0.25)),
    ),
    "function in a closure": (
        "closure_of_function",
        lambda lab: setattr(cell_of(lab.by_function, "scale"), "cell_contents", lab.quarter),
    ),
    "handler": ("constant", lambda lab: setattr(lab.Mine, "on_ack", staticmethod(lab.slower))),
    "code of a handler": ("constant", lambda lab: with_code(lab.Mine.on_ack, lab.slower)),
    "handler of a base class": ("function", lambda lab: with_code(lab.Mine.on_ack, lab.slower)),
}
"""Changes made while Python runs, by kind of object in the module."""

NETWORK, WORK = rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "128kB")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = ("lab_helpers", *(f"lab_{name}" for name in BODIES))

    def imported(name: str) -> Any:
        write(tmp_path, FIRST)
        for module in names:
            sys.modules.pop(module, None)
        return importlib.import_module(f"lab_{name}")

    yield imported
    for module in names:
        sys.modules.pop(module, None)


def fcts_ps(scheme: Any, store: Path) -> list[int]:
    """Return FCTs from both engines, checked and unchecked, and from a study that must not find them in its store."""
    options = [{"engine": engine, "check": check} for engine in ("simpy", "compiled") for check in (True, False)]
    runs = [rdmacc.simulate(NETWORK, WORK, scheme, progress=False, **one) for one in options]
    study = rdmacc.study(NETWORK, WORK, scheme, engine="simpy", jobs=1, progress=False, store=store)
    assert not study.reused
    return [int(flows.fct_ps.max()) for flows in (*(run.flows for run in runs), study.flows)]


@pytest.mark.slow
@pytest.mark.parametrize("name", mostly_at_night(CHANGES, every=9))
def test_changes_to_what_a_handler_uses_take_effect_at_once(name: str, lab: Callable[..., Any], tmp_path: Path) -> None:
    kind, change = CHANGES[name]
    module = lab(kind)
    part = module.Inherits() if name == "handler of a base class" else module.Mine()
    scheme = rdmacc.Scheme(name="lab", control=part)
    first = fcts_ps(scheme, tmp_path / "store")
    change(module)
    changed = fcts_ps(scheme, tmp_path / "store")
    assert len(set(first)) == len(set(changed)) == 1
    assert first != changed


LEAVES: dict[str, tuple[str, Any]] = {
    "constant": ("constant", lambda lab: setattr(lab, "CONSTANT", np.float64(0.25))),
    "function": ("function", lambda lab: setattr(lab, "inner", lab.by_lambda)),
    "compiled": ("function", lambda lab: setattr(lab, "inner", lab.by_njit)),
    "code": ("function", lambda lab: with_code(lab.inner, lab.by_lambda)),
    "default": ("default", lambda lab: setattr(lab.by_default, "__defaults__", (np.ones(1),))),
    "handler": ("constant", lambda lab: setattr(lab.Mine, "on_ack", lab.by_lambda)),
    "code of a handler": ("constant", lambda lab: with_code(lab.Mine.on_ack, lab.by_lambda)),
}
"""Changes that take a handler out of the language."""


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("engine", ["simpy", "compiled"])
@pytest.mark.parametrize("name", LEAVES)
def test_code_outside_the_language_is_refused_at_run_time(
    name: str, engine: str, check: bool, lab: Callable[..., Any]
) -> None:
    kind, change = LEAVES[name]
    module = lab(kind)
    scheme = rdmacc.Scheme(name="lab", control=module.Mine())
    change(module)
    with pytest.raises(ConfigError, match=r"^Mine\.on_ack.*: must|^Mine\.on_ack.*an argument that the hook offers"):
        rdmacc.simulate(NETWORK, WORK, scheme, engine=engine, check=check, progress=False)


def with_globals(**names: Any) -> Any:
    """Return a function that reads these names from its module."""
    source = "def handler():\n    return " + ", ".join(names)
    exec(source, names)
    return names["handler"]


def hash_of(*values: Any) -> str:
    return content_hash(with_globals(**{f"v{number}": value for number, value in enumerate(values)}), "test")


@dataclass(frozen=True)
class Constants:
    gain: float
    table: Any = ()


class Weight:
    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value


def gain(low: float) -> type:
    return type("Gains", (), {"low": low, "__module__": "theirs"})


DIFFERENT = [
    (0.0, -0.0), (1, 1.0), (1, True), ((1, 2), [1, 2]), ({"a": 1}, {"a": 2}), ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({1, 2}, {1, 3}), (np.float64(1), 1.0), (np.int32(1), np.int64(1)), (np.zeros(3), np.zeros((1, 3))),
    (np.zeros(3), np.zeros(3, "f4")), (np.array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]).T),
    (np.zeros((2, 3)), np.zeros((2, 3), order="F")), (np.array([1, None], object), np.array([2, None], object)),
    (np.ma.array([1, 2], mask=[0, 1]), np.ma.array([1, 2], mask=[1, 0])), (Constants(0.5), Constants(0.25)),
    (Constants(0.5, [1]), Constants(0.5, [2])), (Weight(1.0), Weight(2.0)), (gain(0.5), gain(0.25)),
    (gain(0.5)(), gain(0.25)()), (partial(pow, 2), partial(pow, 3)), (lambda: 1, lambda: 2),
    (lambda *, a=1: a, lambda *, a=2: a), (contextmanager(lambda: 1), contextmanager(lambda: 2)), (range(3), range(4)),
    (min, max), (np.sin, np.cos), (math.pi, math.e), ("numpy", np), (re.compile("a"), re.compile("b")),
    (functools.lru_cache(lambda: 1), functools.lru_cache(lambda: 2)), (Weight(1.0).__init__, Weight(2.0).__init__),
    (operator.itemgetter(1), operator.itemgetter(2)), (Decimal("0.1"), Decimal("0.2")),
    (int, float), (b"a", "a"), (None, "None"), (complex(1, 0), complex(1, -0.0)), (frozenset({1}), {1}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("one", "other"), DIFFERENT, ids=[f"{n} {type(one).__name__}" for n, (one, _) in enumerate(DIFFERENT)]
)
def test_different_content_has_a_different_hash(one: Any, other: Any) -> None:
    assert hash_of(one) == hash_of(one) != hash_of(other)
    if not isinstance(one, type | types.FunctionType | type(np.sin) | type(np)):
        try:
            twin = copy.deepcopy(one)
        except TypeError:
            return
        assert hash_of(twin) == hash_of(one)


@pytest.mark.nightly
def test_a_hash_is_the_same_in_every_process() -> None:
    """It does not depend on the order of sets, on addresses or on the seed of string hashes."""
    script = (
        "import rdmacc; from rdmacc.handlers import content_hash;"
        "print(*(content_hash(type(part), '') for name in sorted(rdmacc.SCHEMES) for part in"
        " (lambda one: (*one.components, one.buffer, one.queueing))(rdmacc.scheme(name))))"
    )
    environments = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    run = partial(subprocess.run, [sys.executable, "-c", script], capture_output=True, check=True)
    found = {run(env=one).stdout for one in environments}
    assert len(found) == 1


def test_comments_docstrings_and_locations_do_not_count() -> None:
    sources = (
        "def handler(a):\n    return a + 1",
        '\n\ndef handler(a):\n    """Add."""\n    # one\n    return a + 1',
        "def handler(a):\n    return a + 2",
    )
    one, same, other = (content_hash(defined(source), "test") for source in sources)
    assert one == same != other


def defined(source: str, **names: Any) -> Any:
    exec(source, names)
    return names["handler"]


def test_only_the_attributes_read_from_a_module_count() -> None:
    lab = types.ModuleType("lab")
    lab.inner = types.ModuleType("inner")  # type: ignore[attr-defined]
    lab.inner.K, lab.other = 1, 1  # type: ignore[attr-defined]
    direct = defined("def handler():\n    return lab.inner.K", lab=lab)
    passed = defined("def read(module):\n    return module.inner.K\ndef handler():\n    return read(lab)", lab=lab)
    for handler in (direct, passed):
        lab.inner.K = 1  # type: ignore[attr-defined]
        before = content_hash(handler, "test")
        lab.other += 1  # type: ignore[attr-defined]
        assert content_hash(handler, "test") == before
        lab.inner.K = 2  # type: ignore[attr-defined]
        assert content_hash(handler, "test") != before


def test_self_reference_terminates() -> None:
    one: list[Any] = [1]
    one.append(one)
    other: list[Any] = [2]
    other.append(other)
    assert hash_of(one) == hash_of(one) != hash_of(other)
    assert content_hash(defined("def handler(n):\n    return handler(n - 1)"), "test")


class Secretive:
    def __reduce__(self) -> Any:
        return Secretive, ()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (threading.Lock(), "lock"), (ctypes.CDLL(None).abs, "_FuncPtr"), (Secretive(), "Secretive"),
        (np.frompyfunc(abs, 1, 1), "ufunc"), (numba.njit(lambda: 1), "CPUDispatcher"),
        (numba.cfunc("f8(f8)")(lambda value: value), "CFunc"),
        (open(os.devnull), "TextIOWrapper"),  # noqa: SIM115
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_objects_without_comparable_content_are_refused_by_name(value: Any, kind: str) -> None:
    lab = types.ModuleType("lab")
    lab.table = {"deep": [value]}  # type: ignore[attr-defined]
    handler = defined("def handler():\n    return lab.table", lab=lab)
    with pytest.raises(
        ConfigError, match=rf"^Mine\.on_ack = 'handler\.lab\.table\.deep \({kind}\)': must have content"
    ):
        content_hash(handler, "Mine.on_ack")


@pytest.mark.parametrize("body", ["eval('K')", "globals()['K']", "getattr(lab, 'K')"])
def test_values_reached_indirectly_are_refused(body: str) -> None:
    lab = types.ModuleType("lab")
    with pytest.raises(ConfigError, match="must have content"):
        content_hash(defined(f"def handler():\n    return {body}", K=1, lab=lab), "test")


@dataclass(frozen=True, kw_only=True)
class Locked(rdmacc.Component):
    """Uses something that cannot be compared, outside its handlers."""

    def extra_bytes(self, group_size: int) -> int:
        return 0 if LOCK else 1


LOCK = threading.Lock()


def test_the_store_keeps_no_row_of_a_component_that_cannot_be_compared(tmp_path: Path, caplog) -> None:
    scheme = rdmacc.Scheme(name="locked", control=Locked())
    assert len(rdmacc.study(NETWORK, WORK, scheme, engine="simpy", jobs=1, store=tmp_path, progress=False).runs) == 1
    assert "without storing them: Locked = 'Locked.extra_bytes.LOCK (lock)': must have content" in caplog.text
    assert not list(tmp_path.rglob("*.parquet"))
