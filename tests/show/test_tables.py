"""Tables as text: they fit the width that is given, and lose no word."""

from __future__ import annotations

import pytest

from rdmacc.show.tables import text_table

HEADERS = ["parameter", "base unit", "what it does"]
ROWS = [["Dcqcn.g", "", "gain of the moving average of marks"], ["Dcqcn.alpha_period_ps", "ps", "period of its decay"]]


@pytest.mark.parametrize("width", [40, 47, 60, 80])
def test_a_table_fits_its_width_and_keeps_every_word(width):
    text = text_table(HEADERS, ROWS, "<<<", width)
    assert max(map(len, text.splitlines())) <= max(width, 21 + 2 + 4 + 2 + 16)
    words = {word for row in (HEADERS, *ROWS) for cell in row for word in cell.split()}
    assert words <= set(text.split())


def test_without_a_width_or_with_room_each_row_is_a_line():
    assert len(text_table(HEADERS, ROWS, "<<<").splitlines()) == 4
    assert text_table(HEADERS, ROWS, "<<<", 200) == text_table(HEADERS, ROWS, "<<<")


def test_headers_give_way_before_words():
    text = text_table(["n", "packets sent again"], [["1", "2,345"]], width=10)
    assert text.splitlines()[:3] == ["n  packets", "      sent", "     again"]
