"""Convert numbers in a unit to base units: ``us(1.5)`` is 1,500,000 ps."""

from __future__ import annotations

from decimal import Decimal

from rdmacc.units.parsing import EXACT, Number, Picoseconds, exact_decimal, nearest_int64


def _integer(number: Number, factor: int, name: str) -> int:
    value = EXACT.multiply(exact_decimal(number, name, _NUMBER), Decimal(factor))
    return nearest_int64(value, number, name, _NUMBER)


_NUMBER = "a number"


def ps(number: Number) -> Picoseconds:
    """Return `number` as a time in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return Picoseconds(_integer(number, 1, "ps"))


def ns(number: Number) -> Picoseconds:
    """Return `number` nanoseconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return Picoseconds(_integer(number, 10**3, "ns"))


def us(number: Number) -> Picoseconds:
    """Return `number` microseconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return Picoseconds(_integer(number, 10**6, "us"))


def ms(number: Number) -> Picoseconds:
    """Return `number` milliseconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return Picoseconds(_integer(number, 10**9, "ms"))


def s(number: Number) -> Picoseconds:
    """Return `number` seconds in picoseconds, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return Picoseconds(_integer(number, 10**12, "s"))


def bps(number: Number) -> float:
    """Return `number` bit/s as a float.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return float(exact_decimal(number, "bps", _NUMBER))


def kbps(number: Number) -> float:
    """Return `number` kbit/s in bit/s.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return float(exact_decimal(number, "kbps", _NUMBER) * 10**3)


def mbps(number: Number) -> float:
    """Return `number` Mbit/s in bit/s.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return float(exact_decimal(number, "mbps", _NUMBER) * 10**6)


def gbps(number: Number) -> float:
    """Return `number` Gbit/s in bit/s.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return float(exact_decimal(number, "gbps", _NUMBER) * 10**9)


def B(number: Number) -> int:
    """Return `number` bytes as an integer, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return _integer(number, 1, "B")


def kB(number: Number) -> int:
    """Return `number` kilobytes (of 1000) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return _integer(number, 10**3, "kB")


def KiB(number: Number) -> int:
    """Return `number` kibibytes (of 1024) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return _integer(number, 2**10, "KiB")


def MB(number: Number) -> int:
    """Return `number` megabytes (of 1000**2) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return _integer(number, 10**6, "MB")


def MiB(number: Number) -> int:
    """Return `number` mebibytes (of 1024**2) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return _integer(number, 2**20, "MiB")


def GB(number: Number) -> int:
    """Return `number` gigabytes (of 1000**3) in bytes, rounded to the nearest.

    Parameters
    ----------
    number : number
        The number, not necessarily whole.
    """
    return _integer(number, 10**9, "GB")
