"""Prepares README.md and pyproject.toml for PyPI, with absolute links: ``absolute_links.py OWNER/NAME TAG``."""

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


def with_urls(text: str, repository: str, tag: str) -> str:
    """Return pyproject.toml with the repository's addresses among the project's.

    Parameters
    ----------
    text : str
        The file.
    repository, tag : str
        As for `absolute`.
    """
    base = f"https://github.com/{repository}"
    urls = {
        "Repository": base,
        "Documentation": f"{base}/blob/{tag}/docs/index.md",
        "Changelog": f"{base}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{base}/issues",
    }
    lines = "".join(f'{name} = "{url}"\n' for name, url in urls.items())
    return text.replace("[project.urls]\n", f"[project.urls]\n{lines}", 1)


if __name__ == "__main__":
    for name, change in (("README.md", absolute), ("pyproject.toml", with_urls)):
        path = Path(name)
        path.write_text(change(path.read_text(encoding="utf-8"), *sys.argv[1:3]), encoding="utf-8")
