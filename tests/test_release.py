"""A release: its tag matches the version in the files, and the wheel has every package."""

import re
import runpy
import tomllib
from itertools import chain
from pathlib import Path

import rdmacc

ROOT = Path(__file__).parents[1]


def test_a_tag_must_match_the_version_in_all_files(tmp_path):
    main = runpy.run_path(str(ROOT / ".github" / "check_version.py"))["main"]
    assert main(f"v{rdmacc.__version__}") == ""
    assert "CITATION.cff has" in main("v9.9.9")
    (tmp_path / "rdmacc").mkdir()
    for name in ("pyproject.toml", "rdmacc/__init__.py", "CITATION.cff", ".zenodo.json"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "rdmacc" / "__init__.py").write_text("")
    assert main(f"v{rdmacc.__version__}", tmp_path) == f"v{rdmacc.__version__}: rdmacc/__init__.py has none"


def test_the_wheel_has_every_package(monkeypatch):
    """A checkout can import what setup.py leaves out, so only an installed wheel would show it."""
    on_disk = set()
    for folder in ("rdmacc", "models", "experiments", "notebooks"):
        for path in (ROOT / folder).rglob("__init__.py"):
            parts = path.parent.relative_to(ROOT).parts
            on_disk.add(".".join(parts if folder == "rdmacc" else ("rdmacc", *parts)))
    given = {}
    monkeypatch.setattr("setuptools.setup", given.update)
    monkeypatch.chdir(ROOT)
    runpy.run_path("setup.py")
    assert sorted(given["packages"]) == sorted(on_disk - {"rdmacc.experiments._template"})


def test_the_lock_has_every_package_that_the_project_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = chain(project["dependencies"], *project["optional-dependencies"].values())
    needed = {re.split(r"[^\w-]", one)[0] for one in wanted}
    locked = {line.partition("==")[0] for line in (ROOT / ".ci" / "lock.txt").read_text().splitlines()}
    assert needed - locked == {"rdmacc"}
