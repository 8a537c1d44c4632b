"""Compiled code and stored results match their keys: the text that was imported, with nothing patched."""

import importlib
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import rdmacc
from rdmacc.caching import sources
from rdmacc.engine.compiled.machine_code import cache

COMPILED = "engine/compiled"


@pytest.fixture
def scratch(tmp_path):
    """A copy of the package that tests may change; its `__init__` imports little."""
    shutil.copytree(sources.PACKAGE, tmp_path / "rdmacc", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "rdmacc" / "__init__.py").write_text("from rdmacc.caching import sources\n")
    return tmp_path


def run(scratch: Path, program: str) -> str:
    folders = {"PYTHONPATH": str(scratch), "RDMACC_CACHE_DIR": str(scratch / "cache")}
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | folders
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=environment, cwd=scratch, capture_output=True, text=True, check=True)
    return done.stdout.strip()


KEY = """
    import sys
    import rdmacc
    from rdmacc.engine.compiled.machine_code import build, cache, hooks
    print(rdmacc.__file__, cache.kernel_hash(), *[name for name in sys.modules if name.startswith("rdmacc.")])
"""


@pytest.mark.slow
def test_the_key_covers_what_compiles_and_no_scheme_plan_or_topology(scratch):
    """Editing the latter recompiles nothing."""
    file, digest, *modules = run(scratch, KEY).split()
    assert Path(file).is_relative_to(scratch)
    names = {name.removeprefix("rdmacc.").replace(".", "/") for name in modules}
    counted = {name for name in names if any(file.startswith(cache._COUNTED) for file in (f"{name}.py", f"{name}/"))}
    assert names - counted == {"engine"}  # one sentence
    assert len(counted) > 50
    assert digest == cache.kernel_hash()  # the same sources elsewhere
    heap, fabric = scratch / "rdmacc/engine/compiled/kernel/events.py", scratch / "rdmacc/topology/fabric.py"
    fabric.write_text(fabric.read_text() + "\n# A comment.\n")
    assert run(scratch, KEY).split()[1] == digest
    heap.write_text(heap.read_text() + "\n# A comment.\n")
    assert run(scratch, KEY).split()[1] != digest


TINY_KERNEL = """
from rdmacc.engine.compiled.middle import value


def run_kernel(address, until_ps, max_events):
    return value()


def fault_port(address, number, kind):
    pass


def call_rows(address, hook, base, stride, count, first, last):
    return 0


def push_events(address, events, count):
    pass


def fail_message(address, number, status):
    pass


def add_message(address, number, start_ps, first, second):
    pass


def find_nodes(address, events, nodes, count):
    pass


def move_packets(source, target, count):
    pass
"""
TINY_LOOP = """
def run_windows(address, until_ps, max_events):
    return 0
"""
MIDDLE = """
from rdmacc.engine.compiled.machine_code.address import jit
from rdmacc.engine.compiled.deep import VALUE


@jit
def value():
    return VALUE
"""
CALL = """
    import logging
    logging.disable()
    from rdmacc.engine.compiled.machine_code.build import compiled_kernel
    from rdmacc.engine.compiled.machine_code.cache import is_kept
    was_kept = is_kept("kernel")
    print(compiled_kernel().run(0, 0, 0), int(was_kept))
"""
LOAD = """
    import logging
    logging.disable()
    from rdmacc.engine.compiled.machine_code.build import compiled_kernel
"""
EDIT = """
    from pathlib import Path
    from rdmacc.engine.compiled import deep
    Path(deep.__file__).write_text("VALUE = 2\\n")
"""
PATCH = """
    from rdmacc.engine.compiled import deep
    deep.VALUE = 5
"""


@pytest.mark.nightly
def test_a_kernel_matches_its_key(scratch):
    """The kernel's file does not change, so Numba alone would load the old machine code."""
    folder = scratch / "rdmacc" / COMPILED
    (folder / "kernel" / "loop.py").write_text(TINY_KERNEL)
    (folder / "kernel" / "windows.py").write_text(TINY_LOOP)
    (folder / "middle.py").write_text(MIDDLE)
    deep = folder / "deep.py"
    deep.write_text("VALUE = 1\n")
    assert run(scratch, PATCH + CALL) == "5 0"
    assert run(scratch, LOAD + EDIT + CALL) == "1 0"  # patched code was not kept
    assert run(scratch, CALL) == "2 0"  # code compiled before the edit is not kept for the edited file
    assert run(scratch, CALL) == "2 1"
    assert run(scratch, PATCH + CALL) == "5 0"
    deep.write_text("VALUE = 1\n")
    assert run(scratch, CALL) == "1 1"
    assert len([path for path in (scratch / "cache").iterdir() if (path / "kernel.zip").exists()]) == 2


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("rdmacc.rules.pfc.must_pause", lambda *_: True), ("rdmacc.schemes.composition.Scheme.replace", None),
        ("rdmacc.rules.pfc.min", max), ("rdmacc.interface.records.NEVER", 5), ("rdmacc.experiments.experiment", None),
        ("rdmacc.protocols.dcqcn.Dcqcn.on_timer", None), ("rdmacc.sweep.tidy.tidy", None),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_patches_are_noticed_until_they_are_undone(monkeypatch, place, value):
    for name in ("sweep.study", "experiments", "engine.reference.core"):
        importlib.import_module(f"rdmacc.{name}")
    assert sources.patched() == ""
    monkeypatch.setattr(place, value, raising=False)
    assert sources.patched() in (place, place.rpartition(".")[0])
    monkeypatch.undo()
    assert sources.patched() == ""


def test_changes_inside_functions_are_noticed_and_registrations_ignored(monkeypatch):
    from rdmacc.rules import pfc

    code = pfc.must_pause.__code__
    pfc.must_pause.__code__ = (lambda state, rules: True).__code__.replace(co_freevars=code.co_freevars)
    assert sources.patched() == "rdmacc.rules.pfc.must_pause"
    pfc.must_pause.__code__ = code
    name = next(iter(rdmacc.SCHEMES))
    monkeypatch.setitem(rdmacc.SCHEMES, "mine", rdmacc.SCHEMES[name])
    assert sources.patched() == ""


def test_the_text_is_that_of_the_import(tmp_path, monkeypatch):
    """An edit counts once the module is imported again."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    path = tmp_path / "rdmacc_example_text.py"
    path.write_text("K = 1\n")
    module = importlib.import_module(path.stem)
    first = {path.stem: sources.user_sources()[path.stem]}
    path.write_text("K = 22\n")
    assert sources.are_current(first)
    importlib.reload(module)
    assert not sources.are_current(first)
    del sys.modules[path.stem]
    assert sources.are_current({path.stem: sources._digest(path)})  # the file that an import would read
    assert not sources.are_current(first)
    assert not sources.are_current({"rdmacc_no_module.at_all": "0"})
    assert not sources.are_current({"cell 123": "123"})
