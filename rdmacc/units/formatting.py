"""Format quantities for tables and labels, each in a suitable unit."""

from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from numbers import Integral, Rational

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.units.parsing import EXACT, Number

_MOST_DIGITS = EXACT.prec


def _format(number: Number, units: Mapping[str, int], digits: int | None) -> str:
    """Return `number` in the largest of `units` (ascending) that leaves at least 1."""
    shown = float(number) if isinstance(number, Rational) and not isinstance(number, Integral) else number
    value = shown if isinstance(shown, Decimal) else Decimal(str(shown))
    base = next(iter(units))
    if not value.is_finite():
        return f"{value} {base}".lower()
    if digits is not None and not 1 <= digits <= _MOST_DIGITS:
        raise ConfigError("digits", digits, f"1 to {_MOST_DIGITS}, or None for all")
    if digits is not None:
        value = Context(prec=int(digits), rounding=ROUND_HALF_UP).plus(value)
    unit, factor = base, 1
    for name, size in units.items():
        if abs(value) >= size:
            unit, factor = name, size
    text = format(EXACT.divide(value, Decimal(factor)), "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {unit}"


@typed
def format_time(time: Number, digits: int | None = 4) -> str:
    """Return a time in picoseconds as a string for a table.

    Parameters
    ----------
    time : number
        Picoseconds.
    digits : int, optional
        Significant digits; None for all digits, which :func:`time_ps` reads back unchanged.

    Examples
    --------
    >>> format_time(1_250_000)
    '1.25 us'
    """
    return _format(time, {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}, digits)


@typed
def format_rate(rate: Number, digits: int | None = 4) -> str:
    """Return a rate in bit/s as a string for a table.

    Parameters
    ----------
    rate : number
        Bit/s.
    digits : int, optional
        Significant digits; None for all digits, which :func:`rate_bps` reads back unchanged.

    Examples
    --------
    >>> format_rate(43e9)
    '43 Gb/s'
    """
    return _format(rate, {"b/s": 1, "kb/s": 10**3, "Mb/s": 10**6, "Gb/s": 10**9, "Tb/s": 10**12}, digits)


@typed
def format_size(size: Number, digits: int | None = 4) -> str:
    """Return a size in bytes as a string for a table, in decimal units.

    Parameters
    ----------
    size : number
        Bytes.
    digits : int, optional
        Significant digits; None for all digits, which :func:`size_bytes` reads back unchanged.

    Examples
    --------
    >>> format_size(64_000)
    '64 kB'
    """
    return _format(size, {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}, digits)
