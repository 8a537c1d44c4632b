"""The notebooks that come with rdmacc: ``rdmacc notebooks`` copies them out of an installed package."""

import os
from pathlib import Path

from rdmacc.errors import ConfigError

__all__ = ["copy_notebooks"]


def copy_notebooks(folder: str | Path, sources: Path = Path(__file__).parent) -> list[Path]:
    """Copy the notebooks into a folder, and return the copies.

    Parameters
    ----------
    folder : path
        Target folder; created if it does not exist.
    sources : Path
        Folder of the notebooks.

    Raises
    ------
    ConfigError
        If one is there already: it may have been worked on.
    """
    target = Path(folder)
    paths = sorted(sources.glob("*.ipynb"))
    there = [path.name for path in paths if os.path.lexists(target / path.name)]
    if there:
        raise ConfigError("folder", str(target), f"must not hold {there[0]} already: it may have been worked on")
    target.mkdir(parents=True, exist_ok=True)
    copies = [target / path.name for path in paths]
    for path, copy in zip(paths, copies):
        with copy.open("xb") as file:  # not through a link either
            file.write(path.read_bytes())
    return copies
