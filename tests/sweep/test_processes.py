"""Processes of a sweep: a script needs no protection from being imported, unless it defines the computed functions."""

import subprocess
import sys
from types import ModuleType

import pytest

from rdmacc.sweep.processes import why_not_elsewhere

COMPARES = """
import rdmacc
found = rdmacc.study(
    rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "8kB"), ["dcqcn", "timely"], engine="simpy", jobs=2,
    store={store!r},
)
print(len(found.runs), "runs")
"""

DEFINES = """
from dataclasses import dataclass, replace
import rdmacc

@dataclass(frozen=True, kw_only=True)
class Half(rdmacc.Component):
    "Sends at half the line rate."

    class Sender(rdmacc.records.Record):
        rate_bps = rdmacc.records.Float()

    @staticmethod
    def on_open(params, qp, sender):
        sender.rate_bps = qp.line_bps / 2

def compare():
    half = replace(rdmacc.scheme("go-back-n"), name="half", control=Half())
    found = rdmacc.study(
        rdmacc.star(3), rdmacc.incast(["h1", "h2"], "h0", "8kB"), [half, "dcqcn"], engine="simpy", jobs=2,
        store={store!r},
    )
    print(len(found.runs), "runs")
"""

UNGUARDED = DEFINES + "\ncompare()\n"
GUARDED = DEFINES + '\nif __name__ == "__main__":\n    compare()\n'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "is_piped", "warning"),
    [
        pytest.param(COMPARES, False, "", id="compares", marks=pytest.mark.nightly),
        pytest.param(COMPARES, True, "", id="compares, piped", marks=pytest.mark.nightly),
        pytest.param(UNGUARDED, False, 'under `if __name__ == "__main__":`', id="defines"),
        pytest.param(GUARDED, False, "", id="defines, guarded", marks=pytest.mark.nightly),
    ],
)
def test_a_script_computes_in_processes(text, is_piped, warning, tmp_path):
    """Once, without a page of errors; with a warning in one process if another one would run it all again."""
    text = text.format(store=str(tmp_path / "store"))
    script = tmp_path / "script.py"
    script.write_text(text)
    command = [sys.executable] if is_piped else [sys.executable, str(script)]
    done = subprocess.run(command, input=text if is_piped else None, capture_output=True, text=True, timeout=300)
    assert done.stdout == "2 runs\n", done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert ("computing in one process" in done.stderr) == bool(warning)
    assert warning in done.stderr


@pytest.mark.parametrize(
    ("payload", "source", "reason"),
    [
        (b"rdmacc.scenario", None, None),
        (b"rdmacc.scenario", "run()", None),
        (b"__main__ Half", "run()", "x.py"),
        (b"__main__ Half", 'if __name__ == "__main__":\n    run()', None),
        (b"__main__ Half", None, "not in a file"),
    ],
)
def test_what_other_processes_cannot_compute(payload, source, reason, tmp_path, monkeypatch):
    main = ModuleType("__main__")
    if source is not None:
        (tmp_path / "x.py").write_text(source)
        main.__file__ = str(tmp_path / "x.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    found = why_not_elsewhere([b"", payload])
    assert (found is None) == (reason is None)
    assert reason is None or reason in found
