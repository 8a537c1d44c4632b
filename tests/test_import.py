"""`import rdmacc` is quick: modules that need pandas or networkx load on first use, unnoticed."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import rdmacc
from rdmacc import models

HEAVY = {"pandas", "networkx", "pyarrow", "scipy", "matplotlib", "numba", "simpy", "control", "tqdm"}


def test_the_import_loads_no_large_library():
    program = """
import sys, rdmacc, rdmacc.cli.main
rdmacc.scheme("dcqcn"), rdmacc.errors, rdmacc.faults, rdmacc.switch.red
print(*{name.partition(".")[0] for name in sys.modules})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"rdmacc", "numpy"} <= loaded
    assert not HEAVY & loaded


def test_a_scheme_imports_its_own_protocols_and_no_others():
    program = """
import sys, rdmacc
def protocols():
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith("rdmacc.protocols.")}
before = protocols()
rdmacc.scheme("dasr")
print(*protocols() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"dasr", "dcqcn"}


@pytest.mark.parametrize("package", [rdmacc, models], ids=lambda package: package.__name__)
def test_the_stub_says_where_each_name_is_from(package):
    """Names come from where the stub says, for Python as well as type checkers."""
    seen = set()
    for node in ast.parse(Path(package.__file__).with_suffix(".pyi").read_bytes()).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            assert alias.asname == alias.name  # otherwise type checkers take it for a private import
            home = importlib.import_module(f"rdmacc.{alias.name}" if node.module == "rdmacc" else node.module)
            assert getattr(package, alias.name) is (home if node.module == "rdmacc" else getattr(home, alias.name))
            seen.add(alias.name)
    assert seen == set(package.__all__) <= set(dir(package))
    assert len(seen) > 15


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'incats'"):
        _ = rdmacc.incats
    assert not hasattr(rdmacc, "incats")


WITHOUT_UNIX = """
import importlib, os, pkgutil, sys
import control, matplotlib.pyplot, numba, pandas, platformdirs, scipy.stats, simpy, tqdm.auto, typer  # have their ways
for name in ("resource", "fcntl", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("getuid", "geteuid", "getgid", "sched_getaffinity"):
    if hasattr(os, name):
        delattr(os, name)
import rdmacc, rdmacc.models
for package in (rdmacc, rdmacc.models):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not module.name.startswith(("rdmacc.experiments", "rdmacc.notebooks", "rdmacc.explorer")):
            importlib.import_module(module.name)
from rdmacc.cli.bench import peak_memory_bytes
from rdmacc.engine.compiled.machine_code.cache import cache_folder
result = rdmacc.simulate(rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "4kB"), "dcqcn", engine="simpy")
print(peak_memory_bytes(), len(result.flows), cache_folder().is_dir())
"""


@pytest.mark.nightly
def test_nothing_unix_only_is_needed():
    done = subprocess.run([sys.executable, "-c", WITHOUT_UNIX], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["0", "2", "True"]
