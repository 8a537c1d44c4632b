"""No stored row outlives its code: each kind of change between two processes is seen, by sweeps and by studies."""

import json
import os
import subprocess
import sys

import pytest

from tests.sweep import kinds_of_change
from tests.sweep.kinds_of_change import KINDS, NOT_KEPT

BY_DAY = [name for number, name in enumerate(KINDS) if number % 3 == 0 or name in NOT_KEPT]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize(
    "kinds", [BY_DAY, pytest.param([name for name in KINDS if name not in BY_DAY], marks=pytest.mark.slow)],
    ids=["a third", "the others"],
)  # fmt: skip
def test_no_row_outlives_its_code(tmp_path, kinds):
    done = subprocess.run(
        [sys.executable, kinds_of_change.__file__, tmp_path, *kinds], capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr[-3000:]
    wrong = {}
    for kind, (first, again, changed) in json.loads(done.stdout).items():
        is_kept = kind not in NOT_KEPT
        found = [(run.get("value"), run.get("reused")) for run in (first, again, changed)]
        if found != [(1, 0), (1, int(is_kept)), (2, 0)]:
            wrong[kind] = [first, again, changed]
        if (
            "refused" not in first
            and kind != "an experiment's attribute"
            and not (
                first.get("fct_ps") == again.get("fct_ps") != changed.get("fct_ps") and changed.get("studied") == 0
            )
        ):
            wrong[f"{kind}, study"] = [first, again, changed]
    assert wrong == {}
