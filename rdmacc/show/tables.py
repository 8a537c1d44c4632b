"""Small tables, as text for a terminal and as HTML for a notebook."""

import shutil
import sys
from collections.abc import Sequence
from html import escape
from itertools import zip_longest
from textwrap import wrap

from rdmacc.errors import ConfigError
from rdmacc.units import format_rate, format_size, format_time

_NARROW = 16  # no column of words is made narrower than this


def filled(page: str, name: str, text: str) -> str:
    """Return a page with a text in its block: between ``<!-- name -->`` and ``<!-- end -->``, each on its line."""
    before, begin, rest = page.partition(f"<!-- {name} -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not end:
        raise ConfigError("page", page[:40], f"a page with the lines <!-- {name} --> and <!-- end -->")
    return f"{before}{begin}{text}{end}{after}"


def text_table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str = "", width: int = 0) -> str:
    """Return rows as text in aligned columns with headers; wrap words to fit a width, if one is given.

    >>> print(text_table(["scheme", "FCT"], [["dcqcn", "92.6 us"], ["dasr", "9 us"]]))
    scheme      FCT
    ------  -------
    dcqcn   92.6 us
    dasr       9 us
    """
    sides = align or "<" + ">" * (len(headers) - 1)
    widths = _widths(headers, rows, sides, width)

    def lines(row: Sequence[str]) -> list[str]:
        cells = [
            [cell] if len(cell) <= room else wrap(cell, room, break_on_hyphens=False)
            for cell, room in zip(row, widths, strict=True)
        ]
        return [
            "  ".join(f"{cell:{side}{room}}" for cell, side, room in zip(line, sides, widths, strict=True)).rstrip()
            for line in zip_longest(*cells, fillvalue="")
        ]

    body = [line for row in rows for line in lines(row)]
    rule = "  ".join("-" * room for room in widths)
    return "\n".join([*lines(headers), rule, *body] if any(headers) else body)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], align: str = "") -> str:
    """Return a table that fits the terminal; one that goes elsewhere keeps each row on a line."""
    return text_table(headers, rows, align, width=terminal_columns(0))


def terminal_columns(otherwise: int) -> int:
    """Return the width of the terminal; `otherwise` if the output goes elsewhere, whatever COLUMNS says."""
    return shutil.get_terminal_size((otherwise, 24)).columns if sys.stdout and sys.stdout.isatty() else otherwise


def printable(text: str) -> str:
    """Return a text with "+-" in place of the sign, if the encoding of standard output has none."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return text if "±".encode(encoding, "ignore") else text.replace("±", "+-")


def format_value(value: float, unit: str) -> str:
    """Return a number with its unit in readable form; "-" for NaN."""
    if value != value:
        return "-"
    formats = {"ps": format_time, "bps": format_rate, "bytes": format_size}
    return formats[unit](value) if unit in formats else f"{value:,.6g}"


def _widths(headers: Sequence[str], rows: Sequence[Sequence[str]], sides: str, most: int) -> list[int]:
    """Return the columns' widths: first headers give way, word by word, then the widest columns of words."""
    longest = [max((len(row[i]) for row in rows), default=0) for i in range(len(headers))]
    widths = [max(len(header), cell) for header, cell in zip(headers, longest, strict=True)]
    if not most:
        return widths
    least = [max(map(len, [*header.split(), ""])) for header in headers]
    least = [
        max(one, min(cell, _NARROW) if number and side == "<" else cell)
        for number, (one, cell, side) in enumerate(zip(least, longest, sides, strict=True))
    ]
    while sum(widths) + 2 * (len(widths) - 1) > most:
        room = [has - needs for has, needs in zip(widths, least, strict=True)]
        if max(room) <= 0:
            break
        above = [max(0, has - max(cell, needs)) for has, cell, needs in zip(widths, longest, least, strict=True)]
        spare = above if any(above) else [has if left > 0 else 0 for has, left in zip(widths, room, strict=True)]
        widths[spare.index(max(spare))] -= 1
    return widths


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


class Tabular:
    """Something that shows as a table with a title, in a terminal and in a notebook."""

    def _table(self) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
        """Return title, headers and rows."""
        raise NotImplementedError

    def __repr__(self) -> str:
        title, headers, rows = self._table()
        return printable(f"{title}\n{text_table(headers, rows)}")

    def _repr_html_(self) -> str:
        title, headers, rows = self._table()
        return html_table(headers, rows, caption=title)
