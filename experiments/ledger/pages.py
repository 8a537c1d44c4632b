"""Templates: the report of a reproduction and the claims in a notebook in HTML, the pages on the papers in Markdown."""

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape


@cache
def templates() -> Environment:
    """Return the environment that renders them: HTML is escaped, a name that is not given is an error."""
    folder = Path(__file__).parent / "templates"
    found = Environment(
        loader=FileSystemLoader(folder), autoescape=select_autoescape(), undefined=StrictUndefined, trim_blocks=True
    )
    found.filters["cell"] = cell
    return found


def page(template: str, /, **values: Any) -> str:
    """Return a page in Markdown."""
    return templates().get_template(template).render(values).strip("\n") + "\n"


def cell(text: str) -> str:
    """Return a text as a cell of a table in Markdown."""
    return text.replace("|", "\\|")
