"""Check that a tag is the version that pyproject.toml, the package, CITATION.cff and .zenodo.json have."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def versions(root: Path) -> dict[str, str]:
    """Return the version that each file names."""
    patterns = {"rdmacc/__init__.py": r'^__version__ = "(.+)"$', "CITATION.cff": r"^version: (.+)$",
                ".zenodo.json": r'^  "version": "(.+)",$'}  # fmt: skip
    found = {"pyproject.toml": tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]}
    for name, pattern in patterns.items():
        match = re.search(pattern, (root / name).read_text(), re.MULTILINE)
        found[name] = match[1] if match else "none"
    return found


def main(tag: str, root: Path = ROOT) -> str:
    """Return what is wrong with a tag, or an empty text."""
    wrong = [f"{name} has {version}" for name, version in versions(root).items() if f"v{version}" != tag]
    return f"{tag}: {', '.join(wrong)}" if wrong else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) or None)
