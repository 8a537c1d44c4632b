"""HTML templates: the report of a reproduction, the claims in a notebook."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


@cache
def templates() -> Environment:
    """Return the environment that renders them: text is escaped, a name that is not given is an error."""
    folder = Path(__file__).parent / "templates"
    return Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined, trim_blocks=True)
