"""The handlers' language: both engines compute the same."""

import ast
import math
import struct
from typing import Any

import numba
import numpy as np
import pytest

from rdmacc.engine.compiled.machine_code.units import CHECKED
from rdmacc.handlers import language
from rdmacc.handlers.language import CALLS, FLOAT

_MATH = {function: call for function, call in CALLS.items() if function.__module__ == "math"}


def _bits(value: float) -> bytes:
    return b"NaN" if math.isnan(value) else struct.pack("d", value)


def _numbers(count: int) -> list[float]:
    rng = np.random.default_rng(1)
    sizes = [rng.uniform(-10, 10, count), rng.uniform(-1, 1, count), rng.uniform(-1e6, 1e6, count)]
    sizes.append(rng.uniform(-1, 1, count) * 10.0 ** rng.integers(-300, 300, count))
    edges = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7e308, 2.0**53, 0.5, 1.5, 2.5]
    return [*np.concatenate(sizes).tolist(), *edges]


@pytest.mark.slow
@pytest.mark.parametrize("function", [function for function, (_, kind, _) in _MATH.items() if kind is FLOAT])
def test_math_functions_give_the_same_bits_compiled(function: Any) -> None:
    numbers = _numbers(5000)
    others = numbers[::-1] if CALLS[function][0] == "nn" else []
    if others:
        compiled = numba.njit(**CHECKED)(lambda a, b: function(a, b))
    else:
        compiled = numba.njit(**CHECKED)(lambda a: function(a))
    for given in zip(numbers, others, strict=True) if others else zip(numbers):
        try:
            expected = function(*given)
        except (ValueError, OverflowError):
            assert CALLS[function][2] == "finite"
            assert not math.isfinite(compiled(*given))
            continue
        assert _bits(expected) == _bits(compiled(*given)), given


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["a // b", "a % b", "a / b", "min(a, b)", "max(a, b)", "-a", "abs(a)", "a < b", "not a"]
)
def test_operators_give_the_same_bits_compiled(text: str) -> None:
    operator: Any = eval(f"lambda a, b: {text}")
    compiled, numbers = numba.njit(**CHECKED)(operator), _numbers(5000)
    for given in zip(numbers, numbers[7:]):
        if given[1] or text[:3] not in ("a /", "a %"):
            assert _bits(operator(*given)) == _bits(compiled(*given)), given


def test_constants_are_evaluated_as_in_python() -> None:
    for text in ("2**31", "-1", "2**63 - 1", "7 // 2", "1 << 64 >> 3", "0.1 + 0.2", "~5", "2**-1", "True"):
        assert language.constant(ast.parse(text, mode="eval").body) == eval(text)
    for text in ("2**65", "2**100 >> 60", "10**10**10", "1 << 5000"):
        with pytest.raises(OverflowError):
            language.constant(ast.parse(text, mode="eval").body)
    for text in ("1 / 0", "x + 1", "(-8) ** 0.5", "'a'", "1j", "None"):
        assert language.constant(ast.parse(text, mode="eval").body) is None
