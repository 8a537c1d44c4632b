"""Annotations are read, and arguments are checked against them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.units import Quantity
from tests.support import refused


@typed
def call(
    whole: int = 1,
    number: float = 1.0,
    yes: bool = True,
    text: str | None = None,
    path: str | Path = "x",
    name: Hashable = 0,
    quantity: Quantity = "1us",
    pair: tuple[Quantity, Quantity] = (0, 1),
    names: Sequence[str] = (),
    by_name: Mapping[str, int] | None = None,
    graph: nx.Graph[int] | None = None,
    frame: pd.DataFrame | None = None,
    numbers: npt.ArrayLike = 0,
    function: Callable[[int], int] = abs,
) -> None:
    pass


@pytest.mark.parametrize(
    ("name", "good", "bad", "words"),
    [
        ("whole", np.int64(3), True, "a whole number"),
        ("whole", -(2**63), 2**63, "a whole number"),
        ("number", np.float32(2), "2", "a number"),
        ("yes", np.bool_(False), 1, "True or False"),
        ("text", None, 3, "a string or None"),
        ("path", Path("x"), "a\0b", "a path"),
        ("name", ("h", 0), ["h"], "a name"),
        ("quantity", 5.0, None, "a number or a string"),
        ("quantity", Decimal("0.5"), None, "a number or a string"),
        ("pair", ["1us", 2], ("1us",), "a tuple (a number or a string, a number or a string)"),
        ("names", pd.Series(["a"]), ["a", 1], "a list, each a string"),
        ("names", ["a"], "a", "a list"),
        ("by_name", {"a": 1}, ["a"], "a mapping or None"),
        ("graph", nx.star_graph(3), {}, "a networkx.Graph or None"),
        ("frame", pd.DataFrame(), pd.Series([1]), "a pandas.DataFrame or None"),
        ("numbers", [[1, 2], [3, 4]], "1", "numbers"),
        ("function", len, "len", "a function"),
    ],
)
def test_an_argument_is_checked_against_its_annotation(name, good, bad, words):
    call(**{name: good})
    with pytest.raises(ConfigError) as caught:
        call(**{name: bad})
    assert caught.value.field == name
    assert words in caught.value.allowed


def test_positional_and_variadic_arguments_are_checked():
    @typed
    def add(first: int, *others: int) -> int:
        return first + sum(others)

    assert add(1, 2, 3) == 6
    refused(lambda: add(1, 2, "x"), "others = 'x': must be a whole number")
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        add()
