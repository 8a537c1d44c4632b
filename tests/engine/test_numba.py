"""Numba's private interfaces: used in one module only, and if one is missing, the public ones give the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from rdmacc.engine.select import why_not_compiled

pytestmark = pytest.mark.skipif(bool(why_not_compiled()), reason="no compiled engine")


HIDE = """
import numba.core.codegen, numba.core.registry, numba.core.compiler
del {name}
"""
PRIVATE = (
    "numba.core.codegen.JITCodeLibrary",
    "numba.core.codegen.CPUCodeLibrary._get_module_for_linking",
    "numba.core.compiler.DefaultPassBuilder.define_nopython_pipeline",
)


def run(script: str, folder: Path, *, has_own_cache: bool = True) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    if has_own_cache:
        environment["RDMACC_CACHE_DIR"] = str(folder / "cache")
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)


@pytest.mark.nightly
@pytest.mark.parametrize("name", PRIVATE)
def test_a_missing_private_name_is_noticed_at_once(name, tmp_path):
    show = "from rdmacc.engine.compiled.machine_code.units import INTERFACE; print(INTERFACE)"
    done = run(HIDE.format(name=name) + show, tmp_path)
    assert done.stdout.strip() == "rdmacc.engine.compiled.machine_code.numba_public"
    (line,) = done.stderr.splitlines()
    assert name.rpartition(".")[2] in line


def test_compiling_leaves_numba_as_it_was():
    """Caching the types of number operators replaces a function of Numba only while compiling."""
    from rdmacc.engine.compiled.machine_code.units import NotCompiledError, object_code

    def odd(number):
        return number.nothing + number

    before = dict(vars(numba.types.BaseFunction))
    with pytest.raises(NotCompiledError, match="odd"):
        object_code({"odd": odd}, "int64(int64)")
    object_code({"even": lambda number: number + number}, "int64(int64)")
    assert dict(vars(numba.types.BaseFunction)) == before


RUN = """
import json
import sys
from dataclasses import dataclass

import rdmacc
from rdmacc.interface import Float, Record


@dataclass(frozen=True, kw_only=True)
class Divides(rdmacc.Component):
    class Sender(Record):
        rate_bps = Float()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps

    def on_ack(qp, sender, packet):
        sender.rate_bps = qp.line_bps / (3 - packet.psn)


network, work = rdmacc.leaf_spine(2, 2, 2), rdmacc.incast(["h1", "h2", "h3"], "h0", "64kB")
found = []
for scheme, settings in (
    ("dcqcn", {"check": False}),
    ("dcqcn", {"check": True}),
    ("ndp", {"faults": [rdmacc.Loss(data=0.01)], "trace": True}),
    (rdmacc.Scheme(name="divides", control=Divides()), {}),
):
    try:
        result = rdmacc.simulate(network, work, scheme, engine="compiled", progress=False, **settings)
        found.append([result.flows["fct_ps"].tolist(), {key: float(value) for key, value in result.counters.items()}])
    except rdmacc.SimulationError as error:
        found.append(str(error))
print(json.dumps(found))
"""


@pytest.mark.nightly  # it detects a new Numba, not a change here, and compiles everything three times
@pytest.mark.timeout(900)
def test_the_public_interfaces_compile_the_same(tmp_path):
    """Run twice: the second time, the code comes from the cache."""
    script = tmp_path / "script.py"  # handlers need readable source
    script.write_text(RUN)
    start = f"import runpy; runpy.run_path({str(script)!r})"
    private = run(start, tmp_path, has_own_cache=False)
    public, again = (run(HIDE.format(name=PRIVATE[0]) + start, tmp_path) for _ in range(2))
    assert private.stdout == public.stdout == again.stdout
    assert "division by zero" in json.loads(public.stdout)[-1]
    warnings = [line for line in public.stderr.splitlines() if "lacks what fast compilation needs" in line]
    assert len(warnings) == 1
    assert "compiling the simulation kernel" in public.stderr
    assert "compiling the simulation kernel" not in again.stderr
