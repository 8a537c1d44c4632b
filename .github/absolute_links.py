"""Makes the relative links of a README absolute, for PyPI: ``absolute_links.py README.md OWNER/NAME TAG``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)\s]+)\)")


def absolute(text: str, repository: str, tag: str) -> str:
    """Return the text with links to a repository's files at a tag.

    Parameters
    ----------
    text : str
        Markdown.
    repository, tag : str
        Such as "owner/name" and "v1.0".
    """

    def link(found: re.Match[str]) -> str:
        bang, words, path = found.groups()
        pages = f"https://github.com/{repository}/blob/{tag}"
        base = f"https://raw.githubusercontent.com/{repository}/{tag}" if bang else pages
        return f"{bang}[{words}]({base}/{path})"

    return _LINK.sub(link, text)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(absolute(path.read_text(encoding="utf-8"), sys.argv[2], sys.argv[3]), encoding="utf-8")
