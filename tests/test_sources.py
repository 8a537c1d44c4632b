"""A stale kernel never runs: its cache follows the imports of its sources, wherever they move."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rdmacc import ConfigError, sources
from rdmacc.engine.compiled import cache

COMPILED = "engine/compiled"


@pytest.fixture
def scratch(tmp_path):
    """A copy of the package that may be changed; its `__init__` is empty, to import quickly."""
    shutil.copytree(sources.PACKAGE, tmp_path / "rdmacc", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "rdmacc" / "__init__.py").write_text("")
    return tmp_path


def run(scratch: Path, program: str) -> str:
    environment = os.environ | {
        "PYTHONPATH": str(scratch),
        "PYTHONDONTWRITEBYTECODE": "1",
        "RDMACC_CACHE_DIR": str(scratch / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment,
        cwd=scratch,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def move(scratch: Path, old: str, new: str) -> None:
    """Move a module of the package, and mend all that import it."""
    (scratch / "rdmacc" / f"{old}.py").rename(scratch / "rdmacc" / f"{new}.py")
    before, after = (f"rdmacc.{name.replace('/', '.')}" for name in (old, new))
    for path in (scratch / "rdmacc").rglob("*.py"):
        text = path.read_text()
        if f"from {before} import" in text:
            path.write_text(text.replace(f"from {before} import", f"from {after} import"))


KEY = """
    import rdmacc
    from rdmacc.engine.compiled import cache
    from rdmacc.sources import import_closure
    print(rdmacc.__file__, cache.kernel_hash(), *sorted(import_closure(cache._ROOTS)))
"""


def key(scratch: Path) -> tuple[str, list[str]]:
    file, digest, *modules = run(scratch, KEY).split()
    assert Path(file).is_relative_to(scratch)
    return digest, modules


@pytest.mark.slow
def test_a_moved_module_changes_the_kernels_key_and_still_counts_where_it_went(scratch):
    first, modules = key(scratch)
    assert first == cache.kernel_hash()  # the same sources elsewhere
    assert "rdmacc.engine.compiled.heap" in modules
    edit(scratch / "rdmacc" / COMPILED / "heap.py", "from __future__", "# A comment.\nfrom __future__")
    assert key(scratch)[0] == first
    move(scratch, f"{COMPILED}/heap", "engine/event_heap")
    moved, modules = key(scratch)
    assert moved != first
    assert "rdmacc.engine.event_heap" in modules
    assert "rdmacc.engine.compiled.heap" not in modules
    edit(scratch / "rdmacc" / "engine" / "event_heap.py", "EVENT_BYTES = 16", "EVENT_BYTES = 32")
    assert key(scratch)[0] not in (first, moved)


TINY_KERNEL = """
from rdmacc.engine.compiled.middle import value


def run_kernel(address, until_ps, max_events):
    return value()


def upset_port(address, number, kind):
    pass


def call_rows(address, hook, base, stride, count, first, last):
    return 0


def push_events(address, events, count):
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
from rdmacc.engine.compiled.address import jit
from rdmacc.engine.compiled.deep import VALUE


@jit
def value():
    return VALUE
"""
CALL = """
    import logging
    logging.disable()
    from rdmacc.engine.compiled.build import compiled_kernel
    from rdmacc.engine.compiled.cache import is_kept
    was_kept = is_kept("kernel")
    print(compiled_kernel().run(0, 0, 0), int(was_kept))
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_a_kernel_is_compiled_anew_when_what_it_imports_has_moved_and_changed(scratch):
    """The file of the kernel itself stays as it is: Numba alone would load the old machine code."""
    folder = scratch / "rdmacc" / COMPILED
    (folder / "kernel.py").write_text(TINY_KERNEL)
    (folder / "window_kernel.py").write_text(TINY_LOOP)
    (folder / "middle.py").write_text(MIDDLE)
    (folder / "deep.py").write_text("VALUE = 1\n")
    assert run(scratch, CALL).split()[0] == "1"
    hits = run(scratch, CALL).split()
    assert hits == ["1", "1"]
    move(scratch, f"{COMPILED}/deep", "engine/deeper")
    for versions, value in ((2, "2"), (3, "3")):
        (scratch / "rdmacc" / "engine" / "deeper.py").write_text(f"VALUE = {value}\n")
        assert run(scratch, CALL).split() == [value, "0"]
        assert len(list((scratch / "cache").iterdir())) == versions


def test_only_folders_that_were_made_here_are_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("RDMACC_CACHE_DIR", str(tmp_path))
    (tmp_path / "notes").mkdir()
    os.utime(tmp_path / "notes", (0, 0))
    for number in range(6):
        monkeypatch.setattr(cache, "kernel_hash", lambda number=number: f"version{number}")
        made = cache.cache_folder.__wrapped__()
        os.utime(made, (number + 1, number + 1))
    assert (tmp_path / "notes").is_dir()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", *(f"version{n}" for n in range(2, 6))]


def test_a_root_that_is_gone_is_an_error():
    with pytest.raises(ConfigError, match=r"module = 'rdmacc\.engine\.compiled\.gone': must be a module with a source"):
        sources.import_closure(["rdmacc.engine.compiled.gone", "rdmacc.units"])


def test_the_kernel_depends_on_no_scheme_plan_or_topology():
    """An edit there recompiles nothing."""
    closure = sources.import_closure(cache._ROOTS)
    assert closure >= {"rdmacc.engine.compiled.kernel", "rdmacc.state", "rdmacc.chance", "rdmacc.rules.pfc"}
    assert not closure & {"rdmacc", "rdmacc.schemes", "rdmacc.engine.plan", "rdmacc.engine.compiled.engine"}
    assert not [name for name in closure if name.startswith(("rdmacc.protocols", "rdmacc.topology", "rdmacc.workload"))]


SOURCE = '''
"""A module."""
from __future__ import annotations
from typing import TYPE_CHECKING
import rdmacc.units as u
from rdmacc import chance, state
from . import sibling
from rdmacc.state import DATA
if TYPE_CHECKING:
    from rdmacc.schemes import Scheme

def late():
    """In a function, under a condition."""
    if u:
        try:
            from rdmacc.records import NEVER
        except ImportError:
            import rdmacc.faults
    return NEVER
'''


def test_imports_are_found_wherever_they_stand(tmp_path, monkeypatch):
    package = tmp_path / "rdmacc_imports_example"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "sibling.py").write_text("import math\n")
    (package / "one.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    tree = sources.syntax_tree("rdmacc_imports_example.one")
    found = {name for _, name in sources.imports_of(sources.statements_of(tree), "rdmacc_imports_example.one")}
    assert found == {
        "rdmacc.units", "rdmacc.chance", "rdmacc.state", "rdmacc.records", "rdmacc.faults",
        "rdmacc_imports_example.sibling",
    }  # fmt: skip
