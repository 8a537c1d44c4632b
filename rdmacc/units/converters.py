"""Convert numbers in a unit to base units, rounded to the nearest: ``us(1.5)`` is 1,500,000 ps."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

from rdmacc.units.parsing import EXACT, Number, Picoseconds, exact_decimal, nearest_int64

_T = TypeVar("_T")

_DOC = """Return {}.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """


def _converter(name: str, factor: int, kind: Callable[[Any], _T], words: str) -> Callable[[Number], _T]:
    def converter(number: Number) -> _T:
        value = exact_decimal(number, name, "a number")
        if kind is float:
            return kind(value * factor)
        return kind(nearest_int64(EXACT.multiply(value, Decimal(factor)), number, name, "a number"))

    converter.__name__ = converter.__qualname__ = name
    converter.__doc__ = _DOC.format(words)
    return converter


ps = _converter("ps", 1, Picoseconds, "`number` as a time in picoseconds, rounded to the nearest")
ns = _converter("ns", 10**3, Picoseconds, "`number` nanoseconds in picoseconds, rounded to the nearest")
us = _converter("us", 10**6, Picoseconds, "`number` microseconds in picoseconds, rounded to the nearest")
ms = _converter("ms", 10**9, Picoseconds, "`number` milliseconds in picoseconds, rounded to the nearest")
s = _converter("s", 10**12, Picoseconds, "`number` seconds in picoseconds, rounded to the nearest")
bps = _converter("bps", 1, float, "`number` bit/s as a float")
kbps = _converter("kbps", 10**3, float, "`number` kbit/s in bit/s")
mbps = _converter("mbps", 10**6, float, "`number` Mbit/s in bit/s")
gbps = _converter("gbps", 10**9, float, "`number` Gbit/s in bit/s")
B = _converter("B", 1, int, "`number` bytes as an integer, rounded to the nearest")
kB = _converter("kB", 10**3, int, "`number` kilobytes (of 1000) in bytes, rounded to the nearest")
KiB = _converter("KiB", 2**10, int, "`number` kibibytes (of 1024) in bytes, rounded to the nearest")
MB = _converter("MB", 10**6, int, "`number` megabytes (of 1000**2) in bytes, rounded to the nearest")
MiB = _converter("MiB", 2**20, int, "`number` mebibytes (of 1024**2) in bytes, rounded to the nearest")
GB = _converter("GB", 10**9, int, "`number` gigabytes (of 1000**3) in bytes, rounded to the nearest")
