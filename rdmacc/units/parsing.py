"""Parse quantities: a time in ps, a rate in bit/s or a size in bytes, from a string with a unit or a number."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, InvalidOperation, Overflow, Underflow
from numbers import Integral, Real
from typing import Any, TypeAlias

from rdmacc.errors import ConfigError

Number: TypeAlias = Real | Decimal | int | float
Quantity: TypeAlias = Number | str

_TIME = {
    "ps": 1,
    "ns": 10**3,
    "us": 10**6,
    "µs": 10**6,  # U+00B5, the micro sign
    "μs": 10**6,  # U+03BC, the Greek letter
    "ms": 10**9,
    "s": 10**12,
}
_RATE = {
    prefix + unit: 10**power
    for prefixes, power in (("", 0), ("kK", 3), ("mM", 6), ("gG", 9), ("tT", 12))
    for prefix in prefixes or ("",)
    for unit in ("bps", "b/s", "bit/s")
}
_SIZE = {
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_TIME_ALLOWED = "a time, such as '5us': a number with the unit ps, ns, us, ms or s"
_RATE_ALLOWED = "a rate, such as '100Gbps': a number with the unit bps, kbps, Mbps, Gbps or Tbps, or bare bit/s"
_SIZE_ALLOWED = "a size, such as '64kB': a number with the unit B, kB, KiB, MB, MiB, GB or GiB, or bare bytes"

_TEXT = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*([^\s0-9].*?)?\s*")
EXACT = Context(prec=80, rounding=ROUND_HALF_UP, traps=[InvalidOperation, Overflow, Underflow])
_INT64_MAX = 2**63 - 1


def exact_decimal(number: object, field: str, allowed: str) -> Decimal:
    """Return a finite, non-negative number exactly as written in decimal."""
    if isinstance(number, bool) or not isinstance(number, (Real, Decimal)):
        raise ConfigError(field, number, allowed)
    if isinstance(number, Decimal):
        value = number
    elif isinstance(number, Integral):
        value = Decimal(int(number))
    else:
        value = Decimal(repr(float(number)))
    if not value.is_finite():
        raise ConfigError(field, number, f"{allowed}; and finite")
    if value < 0:
        raise ConfigError(field, number, f"{allowed}; and at least 0")
    return value


def _parse(quantity: object, units: Mapping[str, int], field: str, allowed: str) -> Decimal:
    """Return `quantity` in the base unit of `units`, exactly."""
    if not isinstance(quantity, str):
        return exact_decimal(quantity, field, allowed)
    match = _TEXT.fullmatch(quantity)
    if match is None:
        raise ConfigError(field, quantity, allowed)
    digits, unit = match.groups()
    try:
        value = Decimal(digits)
        if unit is None and value == 0:
            return value
        if unit not in units:
            trouble = (
                "the unit is missing" if unit is None else f"{unit!r} is not a known unit{_meant(digits, unit, units)}"
            )
            raise ConfigError(field, quantity, f"{allowed}; {trouble}")
        value = EXACT.multiply(value, Decimal(units[unit]))
    except DecimalException:
        raise ConfigError(field, quantity, f"{allowed}; it is too large or too small") from None
    if value < 0:
        raise ConfigError(field, quantity, f"{allowed}; and at least 0")
    return value


def _meant(digits: str, unit: str, units: Mapping[str, int]) -> str:
    """Return a suggestion for a unit that was cut short, as in "100G"; a capital B never stands for a bit."""
    longer = [known for known in units if known.lower().startswith(unit.lower()) and ("B" in known) >= ("B" in unit)]
    meant = max(longer, key=lambda known: known.startswith(unit), default=None)
    return f"; did you mean '{digits}{meant}'?" if meant else ""


def nearest_int64(value: Decimal, quantity: object, field: str, allowed: str) -> int:
    """Return a number rounded to the nearest integer, halves up, if it fits into 64 bits."""
    if value > _INT64_MAX:
        raise ConfigError(field, quantity, f"{allowed}; and less than 2**63 in base units")
    return int(value.to_integral_value(rounding=ROUND_HALF_UP))


class Picoseconds(int):
    """A time in whole picoseconds that carries its unit: what ``us(5)`` returns. Sums and multiples carry it too."""

    def __add__(self, other: int) -> Picoseconds:
        return _picoseconds(int.__add__(self, other))

    def __sub__(self, other: int) -> Picoseconds:
        return _picoseconds(int.__sub__(self, other))

    def __mul__(self, other: int) -> Picoseconds:
        return _picoseconds(int.__mul__(self, other))

    def __floordiv__(self, other: int) -> Picoseconds:
        return _picoseconds(int.__floordiv__(self, other))

    __radd__, __rmul__ = __add__, __mul__


def _picoseconds(number: Any) -> Any:
    """Return an integer as a time, and anything else unchanged, such as a float's `NotImplemented`."""
    return Picoseconds(number) if isinstance(number, int) else number


def base_unit(text: str) -> str:
    """Return the base unit of a text with a unit, "ps", "bps" or "bytes"; "" for any other text."""
    match = _TEXT.fullmatch(text)
    bases = {"ps": _TIME, "bps": _RATE, "bytes": _SIZE}
    return next((base for base, known in bases.items() if match and match[2] in known), "")


def time_ps(quantity: Quantity, *, field: str = "time", bare_ps: bool = False, least: int = 0) -> int:
    """Return a time in picoseconds.

    Parameters
    ----------
    quantity : str or Picoseconds
        A text has a unit: "1us", "1 µs", "1e-3 s"; it is read exactly and rounded to the nearest picosecond.
        Or a result of :func:`us` and similar functions, or 0.
    field : str
        The field's name, for the error.
    bare_ps : bool
        Take a bare whole number too, as picoseconds: for a field whose name ends in ``_ps``.
    least : int
        Shortest time that is allowed, in picoseconds.

    Returns
    -------
    int
        Picoseconds.

    Raises
    ------
    ConfigError
        For a bare number other than 0, a bool, NaN, an infinity, a negative time, a fraction of a picosecond, or
        any other dimension.
    """
    value = _parse(quantity, _TIME, field, _TIME_ALLOWED)
    if value and not (bare_ps or isinstance(quantity, str | Picoseconds)):
        raise ConfigError(field, quantity, "must carry a unit, such as '5us'")
    rounded = nearest_int64(value, quantity, field, _TIME_ALLOWED)
    if rounded != value and (rounded == 0 or not isinstance(quantity, str)):
        raise ConfigError(field, quantity, f"{_TIME_ALLOWED}; and a whole number of picoseconds")
    if rounded < least:
        raise ConfigError(field, quantity, f"at least {least} ps")
    return rounded


def rate_bps(quantity: Quantity, *, field: str = "rate") -> float:
    """Return a rate in bit/s.

    Parameters
    ----------
    quantity : number or str
        A number is in bit/s; a string has a unit: "100Gbps", "100 Gb/s", "25 Gbit/s".
    field : str
        The field's name, for the error.

    Returns
    -------
    float
        Bit/s, at least 0 and finite.

    Raises
    ------
    ConfigError
        For a bool, NaN, an infinity, a negative rate, or any other dimension (a capital B is a byte: "1 GB/s"
        is no rate here).
    """
    rate = float(_parse(quantity, _RATE, field, _RATE_ALLOWED))
    if math.isinf(rate):
        raise ConfigError(field, quantity, f"{_RATE_ALLOWED}; and finite")
    return rate


def size_bytes(quantity: Quantity, *, field: str = "size", least: int = 0) -> int:
    """Return a size in bytes.

    Parameters
    ----------
    quantity : number or str
        A whole number is in bytes; a string has a unit: "225KB" (= 225 kB = 225,000), "64 KiB".
    field : str
        The field's name, for the error.
    least : int
        Smallest size that is allowed, in bytes.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    ConfigError
        For a bool, NaN, an infinity, a negative size, a fraction of a byte, or any other dimension.
    """
    value = _parse(quantity, _SIZE, field, _SIZE_ALLOWED)
    rounded = nearest_int64(value, quantity, field, _SIZE_ALLOWED)
    if rounded != value:
        raise ConfigError(field, quantity, f"{_SIZE_ALLOWED}; and a whole number of bytes")
    if rounded < least:
        raise ConfigError(field, quantity, f"at least {least} byte{'s' * (least > 1)}")
    return rounded
