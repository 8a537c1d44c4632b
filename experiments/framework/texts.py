"""The texts of figures and claims: each folder's ``figures.toml`` and ``claims.toml``, beside the code.

In ``figures.toml`` a table is named like its figure, and has `title`, `description` and `setup` of `Experiment`;
set-ups that figures share are in tables named like their modules, such as ``setup``. In ``claims.toml`` a table is
named like its claim and has the texts of `Claim`; ``{name}`` stands for an entry of the table ``shared``. A claim that
is ``like`` an earlier one inherits its texts.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rdmacc.errors import ConfigError, unknown
from rdmacc.experiments.framework.bands import Band
from rdmacc.experiments.framework.claim import By, Chosen, Claim, Kind, Outcome
from rdmacc.experiments.framework.reading import read_texts

TEXTS: dict[str, dict[str, dict[str, Any]]] = {}
"""Texts by group of experiments and claim."""
FIGURES: dict[str, dict[str, str]] = {}
"""Texts by experiment."""
SHARED: dict[str, dict[str, str]] = {}
"""Set-ups that figures share, by group of experiments and module."""

_WRITTEN = (
    "place", "quantity", "condition", "published", "quote", "unit", "by", "kind", "chosen", "expect", "why",
    "too_small",
)  # fmt: skip
_OF_A_FIGURE = ("title", "description", "setup")
_WORDS = {"by": By, "kind": Kind, "chosen": Chosen, "expect": Outcome}


def read_figures(group: str, path: Path) -> None:
    """Read the texts of a group's experiments."""
    for figure, texts in tomllib.loads(path.read_text(encoding="utf-8")).items():
        for name, text in texts.items():
            if name not in _OF_A_FIGURE:
                raise unknown(f"{group}.{figure}: {name}", text, _OF_A_FIGURE, "what is written of a figure")
        if "title" in texts:
            FIGURES[f"{group}.{figure}"] = texts
        else:
            SHARED.setdefault(group, {})[figure] = texts["setup"]


def read_claims(path: Path) -> dict[str, dict[str, Any]]:
    texts = read_texts(path)
    shared = texts.pop("shared", {})
    found: dict[str, dict[str, Any]] = {}
    for id, one in texts.items():
        like = one.pop("like", None)
        if like is not None and like not in found:
            raise unknown(f"{id}: like", like, found, "a claim above it")
        own = {name: _read(f"{id}: {name}", name, text, shared) for name, text in one.items()}
        found[id] = {**found.get(like, {}), **own}
    return found


def _read(field: str, name: str, text: Any, shared: Mapping[str, str]) -> Any:
    if name not in _WRITTEN:
        raise unknown(field, name, _WRITTEN, "what is written of a claim")
    if isinstance(text, Mapping):
        return {scale: _read(field, name, one, shared) for scale, one in text.items()}
    if name in _WORDS:
        known = [one.value for one in _WORDS[name]]
        if text not in known:
            raise unknown(field, text, known)
        return _WORDS[name](text)
    if not isinstance(text, str):
        raise ConfigError(field, text, "a text")

    def said(found: re.Match[str]) -> str:
        if found[1] not in shared:
            raise unknown(field, found[1], shared, "a text of [shared]")
        return shared[found[1]]

    return re.sub(r"\{(\w+)\}", said, text)


def claim(
    id: str, *, measure: Callable[[pd.DataFrame], Any], band: Band, direction: Band | None = None,
    needs: Sequence[Any] = (), seeds: int = 1, **written: str,
) -> Claim:  # fmt: skip
    """Return a claim with the texts of its folder's ``claims.toml``, and those `written` here instead.

    See `Claim`. Texts that depend on numbers in a figure's code are written there.
    """
    group = id.partition("-")[0]
    texts = TEXTS.get(group, {})
    if id not in texts:
        raise unknown("claim", id, texts, f"a claim in {group}/claims.toml")
    if twice := [name for name in written if name in texts[id]]:
        raise ConfigError(f"{id}: {twice[0]}", written[twice[0]], f"either here or in {group}/claims.toml")
    given: dict[str, Any] = {"condition": "", **texts[id], **written}
    if missing := [name for name in ("place", "quantity", "published") if name not in given]:
        raise ConfigError(f"{id}: {missing[0]}", None, f"a text in {group}/claims.toml")
    return Claim(id, **given, measure=measure, band=band, direction=direction, needs=needs, seeds=seeds)


def check_used(group: str, figures: Iterable[str], measured: Iterable[str]) -> None:
    """Raise `ConfigError` if a folder has the text of a figure that is not there, or of a claim that none measures."""
    if left := {one for one in FIGURES if one.startswith(f"{group}.")} - set(figures):
        raise ConfigError(f"{group}/figures.toml", min(left), "the name of an experiment in this folder")
    if left := TEXTS.get(group, {}).keys() - set(measured):
        raise ConfigError(f"{group}/claims.toml", min(left), "a claim that one of the figures measures")
