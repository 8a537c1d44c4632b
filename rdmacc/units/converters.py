"""Convert numbers in a unit to base units, rounded to the nearest: ``us(1.5)`` is 1,500,000 ps."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from rdmacc.units.parsing import EXACT, Number, Picoseconds, exact_decimal, nearest_int64

_DOC = """Return {}.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """


def _named(name: str, words: str, convert: Callable[[Decimal, Number], Any]) -> Any:
    def converter(number: Number) -> Any:
        return convert(exact_decimal(number, name, "a number"), number)

    converter.__name__ = converter.__qualname__ = name
    converter.__doc__ = _DOC.format(words)
    return converter


def _integer(name: str, factor: int, words: str) -> Callable[[Number], int]:
    def convert(value: Decimal, given: Number) -> int:
        return nearest_int64(EXACT.multiply(value, Decimal(factor)), given, name, "a number")

    made: Callable[[Number], int] = _named(name, words, convert)
    return made


def _time(name: str, power: int, words: str) -> Callable[[Number], Picoseconds]:
    def convert(value: Decimal, given: Number) -> Picoseconds:
        return Picoseconds(nearest_int64(EXACT.multiply(value, Decimal(10**power)), given, name, "a number"))

    made: Callable[[Number], Picoseconds] = _named(name, words, convert)
    return made


def _rate(name: str, power: int, words: str) -> Callable[[Number], float]:
    made: Callable[[Number], float] = _named(name, words, lambda value, _: float(value * 10**power))
    return made


ps = _time("ps", 0, "`number` as a time in picoseconds, rounded to the nearest")
ns = _time("ns", 3, "`number` nanoseconds in picoseconds, rounded to the nearest")
us = _time("us", 6, "`number` microseconds in picoseconds, rounded to the nearest")
ms = _time("ms", 9, "`number` milliseconds in picoseconds, rounded to the nearest")
s = _time("s", 12, "`number` seconds in picoseconds, rounded to the nearest")
bps = _rate("bps", 0, "`number` bit/s as a float")
kbps = _rate("kbps", 3, "`number` kbit/s in bit/s")
mbps = _rate("mbps", 6, "`number` Mbit/s in bit/s")
gbps = _rate("gbps", 9, "`number` Gbit/s in bit/s")
B = _integer("B", 1, "`number` bytes as an integer, rounded to the nearest")
kB = _integer("kB", 10**3, "`number` kilobytes (of 1000) in bytes, rounded to the nearest")
KiB = _integer("KiB", 2**10, "`number` kibibytes (of 1024) in bytes, rounded to the nearest")
MB = _integer("MB", 10**6, "`number` megabytes (of 1000**2) in bytes, rounded to the nearest")
MiB = _integer("MiB", 2**20, "`number` mebibytes (of 1024**2) in bytes, rounded to the nearest")
GB = _integer("GB", 10**9, "`number` gigabytes (of 1000**3) in bytes, rounded to the nearest")
