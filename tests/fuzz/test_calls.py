"""A call with any arguments quickly either works or names its mistake."""

import math
import signal
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rdmacc
from rdmacc.schemes import SCHEMES
from tests.fuzz.calls import CALLS

_LONGEST_S = 20


class _Odd:
    """A type that no call knows."""

    def __repr__(self) -> str:
        return "odd"


_WORDS = [
    "", " ", "h0", "h1", "s0", "nothing", "10", "-1", "1e400", "nan", "inf", "5us", "-5us", "1e30s", "5 parsecs", "1kB",
    "1e18GB", "0", "10Gbps", "1e-30Gbps", "dcqcn", "ecmp", "\0", "../../x", "ü", "a" * 3000, "%s", "{}", "h0,h1",
]  # fmt: skip
_NUMBERS = [
    0, 1, 2, -1, 3.5, 1e15, 1e300, -0.0, math.nan, math.inf, -math.inf, 5e-324, 2**31, 2**53 + 1, 2**62, 2**63 - 1,
    2**63, 2**64, -(2**63), 10**30, 10**400, True, False, np.int64(3), np.int32(-1), np.float64(0.5), np.float32("nan"),
    np.uint64(2**63), np.bool_(True), Decimal("1.5"), Decimal("nan"), Fraction(1, 3), 1j, timedelta(seconds=1),
]  # fmt: skip
_THINGS = [
    None, pd.NA, pd.NaT, (), [], {}, set(), [None], [[]], ["h0"], ["h0", "h0"], [("h0", "s0")], [1, 2], {"h0": 1}, {1},
    (1, 2, 3), b"bytes", _Odd(), _Odd, print, range(3), iter([1]), np.zeros(3), np.array(5), np.array([["h0"]]),
    pd.Series([1]), pd.DataFrame(), pd.DataFrame({"src": ["h0"]}), pd.Timestamp("2020"), rdmacc, type, ...,
    NotImplemented, object(), ("h0", ["s0"]), float, slice(3), memoryview(b"x"), [float("nan")], {"kind": "host"},
]  # fmt: skip
junk = st.one_of(
    st.sampled_from(range(len(_WORDS))).map(_WORDS.__getitem__),
    st.sampled_from(range(len(_NUMBERS))).map(_NUMBERS.__getitem__),
    st.sampled_from(range(len(_THINGS))).map(_THINGS.__getitem__),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
)


@contextmanager
def _in_time() -> Iterator[None]:
    """Raise an error if something takes too long, on systems with alarms."""

    def late(*_: object) -> None:
        raise TimeoutError(f"more than {_LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_LONGEST_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@st.composite
def wrong_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a call with one to three arguments that may be anything."""
    name = draw(st.sampled_from(list(CALLS)))
    arguments = CALLS[name][1]
    given = {key: value for key, value in arguments.items() if value is not None}
    wrong = draw(st.lists(st.sampled_from(list(arguments)), min_size=1, max_size=3, unique=True))
    return name, given | {key: draw(junk) for key in wrong}


def check(call: tuple[str, dict[str, Any]]) -> None:
    """Make a call, which may only fail with an rdmacc error. Schemes that it registers are removed for other tests."""
    name, arguments = call
    with _in_time(), mock.patch.dict(SCHEMES):
        try:
            CALLS[name][0](**arguments)
        except rdmacc.RdmaccError as caught:
            said = str(caught)
        else:
            said = "it works"
    assert said


@pytest.fixture(scope="module", autouse=True)
def _is_compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compile and do late imports before the clock runs; files with odd names go to a separate folder."""
    with chdir(tmp_path_factory.mktemp("calls")):
        for name in ("simulate", "study"):
            CALLS[name][0]()
        yield


if sys.platform != "win32":

    @settings(max_examples=100)
    @given(wrong_calls())
    def test_100_calls(call: tuple[str, dict[str, Any]]) -> None:
        check(call)

    @pytest.mark.nightly
    @settings(max_examples=10_000, derandomize=False, print_blob=True)
    @given(wrong_calls())
    def test_10000_calls(call: tuple[str, dict[str, Any]]) -> None:
        check(call)
