"""A release: its tag is the version that the files have."""

from __future__ import annotations

import runpy
from pathlib import Path

import rdmacc

ROOT = Path(__file__).parents[1]


def test_a_tag_must_be_the_version_of_all_files(tmp_path):
    main = runpy.run_path(str(ROOT / ".github" / "check_version.py"))["main"]
    assert main(f"v{rdmacc.__version__}") == ""
    assert "CITATION.cff has" in main("v9.9.9")
    (tmp_path / "rdmacc").mkdir()
    for name in ("pyproject.toml", "rdmacc/__init__.py", "CITATION.cff"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "rdmacc" / "__init__.py").write_text("")
    assert main(f"v{rdmacc.__version__}", tmp_path) == f"v{rdmacc.__version__}: rdmacc/__init__.py has none"
