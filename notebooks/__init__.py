"""The notebooks that come with rdmacc: ``rdmacc notebooks`` copies them out of an installed package."""

from __future__ import annotations

import shutil
from pathlib import Path

from rdmacc.errors import ConfigError

__all__ = ["copy_notebooks"]


def copy_notebooks(folder: str | Path) -> list[Path]:
    """Copy the notebooks into a folder, and return the copies.

    Parameters
    ----------
    folder : path
        Where to; made if it is not there.

    Raises
    ------
    ConfigError
        If one is there already: it may have been worked on.
    """
    target = Path(folder)
    sources = sorted(Path(__file__).parent.glob("*.ipynb"))
    there = [path.name for path in sources if (target / path.name).exists()]
    if there:
        raise ConfigError("folder", str(target), f"must not hold {there[0]} already: it may have been worked on")
    target.mkdir(parents=True, exist_ok=True)
    return [Path(shutil.copy(path, target)) for path in sources]
