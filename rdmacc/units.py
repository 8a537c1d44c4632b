"""Quantities and their units: times, rates, sizes.

Inside rdmacc a time is an integer number of picoseconds, a rate a float in bit/s, a size an integer number
of bytes. This module is the only place where units are converted.

=============================  ==========================================================
converters (a number in)       ``ps ns us ms s``, ``bps kbps mbps gbps``, ``B kB KiB MB MiB GB``
parsers (a quantity in)        :func:`time_ps`, :func:`rate_bps`, :func:`size_bytes`
formatters (a text out)        :func:`format_time`, :func:`format_rate`, :func:`format_size`
transmission time              :func:`transmission_ps`, the one rounding that every part of rdmacc uses
=============================  ==========================================================

A time must carry its unit: ``"5us"`` or ``us(5)``. The bare number 5, which would be 5 ps, is refused, except
under a name that ends in ``_ps``; ``ps(number)`` makes a time of computed picoseconds.

``kB`` and ``KB`` are 1000 bytes, ``KiB`` is 1024. A lower-case ``b`` is a bit, a capital ``B`` a byte.

>>> us(1.5), gbps(100), KiB(64)
(1500000, 100000000000.0, 65536)
>>> time_ps("0.1us"), rate_bps("100 Gb/s"), size_bytes("225KB")
(100000, 100000000000.0, 225000)
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, DecimalException, InvalidOperation, Overflow, Underflow
from numbers import Integral, Real
from typing import Any, TypeAlias

from rdmacc.errors import ConfigError

__all__ = [
    "GB",
    "MB",
    "B",
    "KiB",
    "MiB",
    "Number",
    "Picoseconds",
    "Quantity",
    "bps",
    "cut_ps",
    "format_rate",
    "format_size",
    "format_time",
    "gbps",
    "kB",
    "kbps",
    "mbps",
    "ms",
    "ns",
    "ps",
    "rate_bps",
    "s",
    "size_bytes",
    "time_ps",
    "transmission_ps",
    "us",
    "whole_ps",
]

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
_EXACT = Context(prec=80, rounding=ROUND_HALF_UP, traps=[InvalidOperation, Overflow, Underflow])
_INT64_MAX = 2**63 - 1


def _decimal(number: object, field: str, allowed: str) -> Decimal:
    """Return a finite, non-negative number exactly as it is written in decimal."""
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
        return _decimal(quantity, field, allowed)
    match = _TEXT.fullmatch(quantity)
    if match is None:
        raise ConfigError(field, quantity, allowed)
    digits, unit = match.groups()
    try:
        value = Decimal(digits)
        if unit is None and value == 0:
            return value
        if unit not in units:
            trouble = "there is no unit" if unit is None else f"{unit!r} is not a unit of it"
            raise ConfigError(field, quantity, f"{allowed}; {trouble}")
        value = _EXACT.multiply(value, Decimal(units[unit]))
    except DecimalException:
        raise ConfigError(field, quantity, f"{allowed}; it is too large or too small") from None
    if value < 0:
        raise ConfigError(field, quantity, f"{allowed}; and at least 0")
    return value


def _int64(value: Decimal, quantity: object, field: str, allowed: str) -> int:
    """Return `value` rounded to the nearest integer, halves up, if it fits 64 bits."""
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
    """Return an integer as a time; what the operation does not know, such as a float's `NotImplemented`, as it is."""
    return Picoseconds(number) if isinstance(number, int) else number


def time_ps(quantity: Quantity, *, field: str = "time", bare_ps: bool = False) -> int:
    """Return a time in picoseconds.

    Parameters
    ----------
    quantity : str or Picoseconds
        A text has a unit: "1us", "1 µs", "1e-3 s"; it is read exactly and rounded to the nearest picosecond.
        Or what :func:`us` and its like return, or 0.
    field : str
        The field's name, for the error.
    bare_ps : bool
        Take a bare whole number too, as picoseconds: for a field whose name ends in ``_ps``.

    Returns
    -------
    int
        Picoseconds, at least 0.

    Raises
    ------
    ConfigError
        For a bare number other than 0, a bool, NaN, an infinity, a negative time, a fraction of a picosecond, or
        any other dimension.
    """
    value = _parse(quantity, _TIME, field, _TIME_ALLOWED)
    if value and not (bare_ps or isinstance(quantity, str | Picoseconds)):
        raise ConfigError(field, quantity, "must carry a unit, such as '5us'")
    rounded = _int64(value, quantity, field, _TIME_ALLOWED)
    if rounded != value and (rounded == 0 or not isinstance(quantity, str)):
        raise ConfigError(field, quantity, f"{_TIME_ALLOWED}; and a whole number of picoseconds")
    return rounded


def rate_bps(quantity: Quantity, *, field: str = "rate") -> float:
    """Return a rate in bit/s.

    Parameters
    ----------
    quantity : number or str
        A number is bit/s; a text has a unit: "100Gbps", "100 Gb/s", "25 Gbit/s".
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


def size_bytes(quantity: Quantity, *, field: str = "size") -> int:
    """Return a size in bytes.

    Parameters
    ----------
    quantity : number or str
        A whole number is bytes; a text has a unit: "225KB" (= 225 kB = 225,000), "64 KiB".
    field : str
        The field's name, for the error.

    Returns
    -------
    int
        Bytes, at least 0.

    Raises
    ------
    ConfigError
        For a bool, NaN, an infinity, a negative size, a fraction of a byte, or any other dimension.
    """
    value = _parse(quantity, _SIZE, field, _SIZE_ALLOWED)
    rounded = _int64(value, quantity, field, _SIZE_ALLOWED)
    if rounded != value:
        raise ConfigError(field, quantity, f"{_SIZE_ALLOWED}; and a whole number of bytes")
    return rounded


def _integer(number: Number, factor: int, name: str) -> int:
    value = _EXACT.multiply(_decimal(number, name, _NUMBER), Decimal(factor))
    return _int64(value, number, name, _NUMBER)


_NUMBER = "a number"


def ps(number: Number) -> Picoseconds:
    """Return `number` as a time in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return Picoseconds(_integer(number, 1, "ps"))


def ns(number: Number) -> Picoseconds:
    """Return `number` nanoseconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return Picoseconds(_integer(number, 10**3, "ns"))


def us(number: Number) -> Picoseconds:
    """Return `number` microseconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return Picoseconds(_integer(number, 10**6, "us"))


def ms(number: Number) -> Picoseconds:
    """Return `number` milliseconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return Picoseconds(_integer(number, 10**9, "ms"))


def s(number: Number) -> Picoseconds:
    """Return `number` seconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return Picoseconds(_integer(number, 10**12, "s"))


def bps(number: Number) -> float:
    """Return `number` bit/s as a float.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return float(_decimal(number, "bps", _NUMBER))


def kbps(number: Number) -> float:
    """Return `number` kbit/s in bit/s.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return float(_decimal(number, "kbps", _NUMBER) * 10**3)


def mbps(number: Number) -> float:
    """Return `number` Mbit/s in bit/s.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return float(_decimal(number, "mbps", _NUMBER) * 10**6)


def gbps(number: Number) -> float:
    """Return `number` Gbit/s in bit/s.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return float(_decimal(number, "gbps", _NUMBER) * 10**9)


def B(number: Number) -> int:
    """Return `number` bytes as an integer, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return _integer(number, 1, "B")


def kB(number: Number) -> int:
    """Return `number` kilobytes (of 1000) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return _integer(number, 10**3, "kB")


def KiB(number: Number) -> int:
    """Return `number` kibibytes (of 1024) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return _integer(number, 2**10, "KiB")


def MB(number: Number) -> int:
    """Return `number` megabytes (of 1000**2) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return _integer(number, 10**6, "MB")


def MiB(number: Number) -> int:
    """Return `number` mebibytes (of 1024**2) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return _integer(number, 2**20, "MiB")


def GB(number: Number) -> int:
    """Return `number` gigabytes (of 1000**3) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        How many, whole or not.
    """
    return _integer(number, 10**9, "GB")


def whole_ps(time_ps: float) -> int:
    """Return a time in whole picoseconds: the nearest.

    Parameters
    ----------
    time_ps : float
        A time, not negative.
    """
    return int(time_ps + 0.5)


def cut_ps(wire_bytes: int, rate_bps: float, tick_ps: int) -> int:
    """Return the time that `wire_bytes` bytes take at a rate, cut to whole ticks as ns-3 cuts ``Seconds(double)``.

    There a time in seconds becomes a fixed-point number with 64 bits behind the point, rounded down, and that number
    of seconds becomes ticks, rounded down (int64x64-128.h, nstime.h). So a time that is a whole number of ticks comes
    out one short: 1,056 B at 1 Gb/s are 8,447 ns.

    Parameters
    ----------
    wire_bytes : int
        Size of the packet on the wire.
    rate_bps : float
        Bits a second.
    tick_ps : int
        Clock tick, at least 1 ns and a whole fraction of a second.
    """
    seconds = wire_bytes * 8.0 / rate_bps
    per_second = 1_000_000_000_000 // tick_ps
    if seconds >= 0.25:  # beyond 64 bits; the cut no longer shows
        return int(min(seconds, 1e5) * per_second) * tick_ps
    fraction = int(seconds * 18446744073709551616.0)
    high, low = fraction >> 32, fraction & 0xFFFFFFFF
    return ((high * per_second + (low * per_second >> 32)) >> 32) * tick_ps


def transmission_ps(wire_bytes: int, rate_bps: float, tick_ps: int = 0) -> int:
    """Return the time that `wire_bytes` bytes take at a rate: the nearest picosecond, or, with a tick, `cut_ps`.

    Parameters
    ----------
    wire_bytes : int
        Size of the packet on the wire.
    rate_bps : float
        Bits a second.
    tick_ps : int
        Clock tick; 0 for none.
    """
    return cut_ps(wire_bytes, rate_bps, tick_ps) if tick_ps else whole_ps(wire_bytes * (8e12 / rate_bps))


def _format(number: Number, units: Mapping[str, int], digits: int | None) -> str:
    """Return `number` in the largest of `units` (ascending) that leaves at least 1."""
    value = number if isinstance(number, Decimal) else Decimal(str(number))
    base = next(iter(units))
    if not value.is_finite():
        return f"{value} {base}".lower()
    if digits is not None:
        value = Context(prec=digits, rounding=ROUND_HALF_UP).plus(value)
    unit, factor = base, 1
    for name, size in units.items():
        if abs(value) >= size:
            unit, factor = name, size
    text = format(_EXACT.divide(value, Decimal(factor)), "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {unit}"


def format_time(time: Number, digits: int | None = 4) -> str:
    """Return a time in picoseconds as a text for a table.

    Parameters
    ----------
    time : number
        Picoseconds.
    digits : int, optional
        Significant digits; None for all of them, which :func:`time_ps` reads back unchanged.

    Examples
    --------
    >>> format_time(1_250_000)
    '1.25 us'
    """
    return _format(time, {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}, digits)


def format_rate(rate: Number, digits: int | None = 4) -> str:
    """Return a rate in bit/s as a text for a table.

    Parameters
    ----------
    rate : number
        Bit/s.
    digits : int, optional
        Significant digits; None for all of them, which :func:`rate_bps` reads back unchanged.

    Examples
    --------
    >>> format_rate(43e9)
    '43 Gb/s'
    """
    return _format(rate, {"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9, "Tb/s": 10**12}, digits)


def format_size(size: Number, digits: int | None = 4) -> str:
    """Return a size in bytes as a text for a table, in decimal units.

    Parameters
    ----------
    size : number
        Bytes.
    digits : int, optional
        Significant digits; None for all of them, which :func:`size_bytes` reads back unchanged.

    Examples
    --------
    >>> format_size(64_000)
    '64 kB'
    """
    return _format(size, {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}, digits)
