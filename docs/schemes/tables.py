"""Write the tables of parameters into the pages of the scheme guide.

Run as ``python docs/schemes/tables.py``. A table stands between ``<!-- parameters: SCHEME -->`` and ``<!-- end -->``.
"""

import re
from pathlib import Path
from typing import Any

import rdmacc
from rdmacc.protocols.go_back_n import GoBackN
from rdmacc.units import format_rate, format_size, format_time

FOLDER = Path(__file__).parent
TABLE = re.compile(r"(<!-- parameters: (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)
_FORMATS = {"ps": format_time, "bps": format_rate, "bytes": format_size}
_PLAIN = {GoBackN.__name__}
"""Recoveries that most schemes have, shown once on a page of their own."""


def table(scheme: str) -> str:
    """Return the parameters of a scheme's components as a Markdown table."""
    names = {type(part).__name__ for part in rdmacc.scheme(scheme).components} - _PLAIN
    lines = ["| parameter | symbol | default | what it does | source | evidence |", "|---|---|---|---|---|---|"]
    for row in rdmacc.scheme_table(scheme):
        if row["component"] in names:
            cells = (
                f"`{row['component']}.{row['parameter']}`", row["symbol"], _value(row), row["doc"], row["source"],
                row["evidence"],
            )  # fmt: skip
            lines.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return "\n".join(lines) if len(lines) > 2 else "No parameters."


def _value(row: dict[str, Any]) -> str:
    value, unit = row["value"], row["unit"]
    if row["scaled"]:
        rule: str = row["scaled"].text(unit)
        return rule
    if isinstance(value, tuple):
        return " ".join(_value({**row, "value": one}) for one in value)
    if unit:
        return _FORMATS[unit](value)
    return str(value) if isinstance(value, bool | str) else f"{value:g}"


def fill(text: str) -> str:
    """Return a page with its tables as they are now; those of schemes that do not exist stay."""
    return TABLE.sub(
        lambda found: f"{found[1]}{table(found[2])}\n{found[3]}" if found[2] in rdmacc.SCHEMES else found[0], text
    )


def main() -> None:
    """Rewrite all pages."""
    for page in sorted(FOLDER.glob("*.md")):
        page.write_text(fill(page.read_text()))


if __name__ == "__main__":
    main()
