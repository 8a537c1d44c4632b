"""The code that computes a point's rows, as part of their key: stored rows are never older than their code.

Three things count. The text of rdmacc, as it was when it was imported. What the user's functions and classes hold at
run time: the experiment, the parts of the scenario, and all that they reach (`rdmacc.handlers.content`). And, for an
experiment of the user's, the text of every module of theirs that the computing process had imported: the store keeps
these with the rows, and looks whether they are still the same (`rdmacc.sources.are_current`).
"""

import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.sources import installed_text, is_installed, is_standard, own_text, patched, user_sources

_NO_RESULT = ("cli/", "explorer/", "show/", "experiments/ledger/")
"""Folders that only show or judge results."""
_SHARED = ("framework", "micro", "validation", "__init__.py", "api.py")
"""Folders and files of experiments that others import from."""
_CHOOSING = ("points", "checked_points", "seeded_points", "_runs")
"""Attributes of an experiment that say which points there are; each point is described by itself."""


_SESSION = ("__main__", "__mp_main__")


class UncertainError(Exception):
    """A point depends on something whose content cannot be told: its rows are computed, and not stored."""


def is_users(kind: type[Any]) -> bool:
    """Return whether a class is defined outside rdmacc and Python."""
    if kind.__module__ in (*_SESSION, "rdmacc") or kind.__module__.startswith("rdmacc."):
        return kind.__module__ in _SESSION
    module = sys.modules.get(kind.__module__)
    file = getattr(module, "__file__", None)
    return module is None or (file is not None and not is_standard(Path(file)))


def code_hash(experiment: Any, owner: type[Any], kinds: Iterable[type[Any]]) -> str:
    """Return the hash of the code that computes a point of an experiment, from its class and its scenario's parts."""
    changed = patched()
    if changed:
        raise UncertainError(f"{changed} has been changed in this process")
    own = [kind for kind in owner.__mro__ if is_users(kind)]
    users = [*own, *(kind for kind in kinds if is_users(kind))]
    folders = {kind.__module__.split(".")[2] for kind in owner.__mro__ if kind.__module__.startswith("rdmacc.exper")}

    def counts(name: str) -> bool:
        top, _, rest = name.partition("/")
        if name.startswith(_NO_RESULT) or top != "experiments":
            return not name.startswith(_NO_RESULT)
        return bool(users) or (bool(folders) and rest.partition("/")[0] in {*_SHARED, *folders})

    state = {name: value for name, value in vars(experiment).items() if name not in _CHOOSING}
    parts = [own_text(counts), *installed_text(_packages(users)).values()]
    try:
        parts.append(content_hash((owner, state), owner.__name__, is_row=True))
        parts += sorted({content_hash(kind, kind.__name__, is_row=True) for kind in users})
    except ConfigError as error:
        raise UncertainError(str(error)) from None
    unknown = [name for name, text in user_sources().items() if text is None] if own else []
    if unknown:
        what = "this session has no text that rdmacc can see" if unknown[0] == "__main__" else (
            f"{unknown[0]} was edited after it was imported, and rdmacc was imported later: start again"
        )  # fmt: skip
        raise UncertainError(what)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def text_of_results() -> str:
    """Return a hash of the text of rdmacc and its models, without what only shows or judges results."""
    return own_text(lambda name: not name.startswith((*_NO_RESULT, "experiments/")))


def _packages(kinds: Iterable[type[Any]]) -> set[str]:
    """Return the installed packages that define classes."""
    names = {kind.__module__.partition(".")[0] for kind in kinds} - {*_SESSION}
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names}
    return {name for name, file in files.items() if file and is_installed(file)}


@cache
def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    packages = ("numba", "numpy", "pandas", "scipy")
    return {"python": ".".join(map(str, sys.version_info[:2]))} | {name: metadata.version(name) for name in packages}
