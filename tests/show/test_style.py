"""Common to all plots: colours, units of axes, files."""

from __future__ import annotations

import subprocess
import sys

import pytest

from rdmacc.show import style


def test_ecdf_sorts_and_counts():
    values, fraction = style.ecdf([3, 1, 2, 2])
    assert values.tolist() == [1, 2, 2, 3]
    assert fraction.tolist() == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("span_ps", "unit"), [(5e12, "s"), (3e9, "ms"), (1e9, "us"), (2.5e3, "ns"), (1, "ps"), (0, "ps")]
)
def test_time_unit_reads_well(span_ps, unit):
    assert style.time_unit(span_ps)[1] == unit


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, rdmacc, rdmacc.cli.main; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
