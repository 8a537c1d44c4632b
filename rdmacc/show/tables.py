"""Small tables, as text for a terminal and as HTML for a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return rows as text in aligned columns with headers.

    Examples
    --------
    >>> print(text_table(["scheme", "FCT"], [["dcqcn", "92.6 us"], ["dasr", "9 us"]]))
    scheme      FCT
    ------  -------
    dcqcn   92.6 us
    dasr       9 us
    """
    sides = align or "<" + ">" * (len(headers) - 1)
    widths = [max(len(row[i]) for row in (headers, *rows)) for i in range(len(headers))]
    lines = [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)).rstrip()
        for row in (headers, *rows)
    ]
    if not any(headers):
        return "\n".join(lines[1:])
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def html_table(headers: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Return rows as an HTML table, the first column left-aligned, the others right-aligned."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ["left"] + ["right"] * (len(cells) - 1)
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(cell)}</{tag}>' for cell, side in zip(cells, sides, strict=True)
        )

    head = f"<thead><tr>{line(headers, 'th')}</tr></thead>" if any(headers) else ""
    body = "".join(f"<tr>{line(row, 'td')}</tr>" for row in rows)
    title = f'<caption style="text-align:left">{escape(caption)}</caption>' if caption else ""
    return f"<table>{title}{head}<tbody>{body}</tbody></table>"
