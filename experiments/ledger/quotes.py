"""Compare quotes with the papers' texts, which are not part of rdmacc."""

import re
import unicodedata
from pathlib import Path

from rdmacc.errors import ConfigError
from rdmacc.experiments.framework.claim import PAPER
from rdmacc.experiments.framework.registry import claims_of

_MARKUP = re.compile(r"\\[A-Za-z]+|</?su[bp]>")
_OMITTED = re.compile(r"\s*(?:\.\.\.|\u2026|\[[^\]]*\])\s*")


def _plain(text: str) -> str:
    """Keep only ASCII letters and digits: extracted texts differ in spaces, hyphens, ligatures and formulas."""
    text = _MARKUP.sub(" ", text)
    return "".join(one for one in unicodedata.normalize("NFKC", text).casefold() if one.isascii() and one.isalnum())


def missing(folder: str | Path) -> list[str]:
    """Return the quotes that are not in the texts of a folder."""
    texts = [_plain(one.read_text(encoding="utf-8")) for one in sorted(Path(folder).glob("*.txt"))]
    if not texts:
        raise ConfigError("folder", str(folder), "a folder with the papers' texts, *.txt")
    found = []
    for claim in (one for _, one in claims_of() if one.by == PAPER and one.quote):
        parts = [_plain(part) for part in _OMITTED.split(claim.quote)]
        if not any(all(part in text for part in parts) for text in texts):
            found.append(f"{claim.id}: not in the texts: {claim.quote}")
    return found
