"""Quantities and their units: times, rates, sizes.

Inside rdmacc a time is an integer number of picoseconds, a rate a float in bit/s, a size an integer number
of bytes. This package is the only place where units are converted.

=============================  ==========================================================
converters (a number in)       ``ps ns us ms s``, ``bps kbps mbps gbps``, ``B kB KiB MB MiB GB``
parsers (a quantity in)        :func:`time_ps`, :func:`rate_bps`, :func:`size_bytes`
formatters (string out)        :func:`format_time`, :func:`format_rate`, :func:`format_size`
transmission time              :func:`transmission_ps`, the single rounding rule of rdmacc
=============================  ==========================================================

A time must carry its unit: ``"5us"`` or ``us(5)``. The bare number 5, which would be 5 ps, is an error, except for a
name that ends in ``_ps``; ``ps(number)`` turns computed picoseconds into a time.

``kB`` and ``KB`` are 1000 bytes, ``KiB`` is 1024. A lower-case ``b`` is a bit, a capital ``B`` a byte.

>>> us(1.5), gbps(100), KiB(64)
(1500000, 100000000000.0, 65536)
>>> time_ps("0.1us"), rate_bps("100 Gb/s"), size_bytes("225KB")
(100000, 100000000000.0, 225000)
"""

from rdmacc.units.converters import GB, MB, B, KiB, MiB, bps, gbps, kB, kbps, mbps, ms, ns, ps, s, us
from rdmacc.units.formatting import format_rate, format_size, format_time
from rdmacc.units.parsing import Number, Picoseconds, Quantity, base_unit, rate_bps, size_bytes, time_ps
from rdmacc.units.transmission import cut_ps, transmission_ps

__all__ = [
    "GB", "MB", "B", "KiB", "MiB", "Number", "Picoseconds", "Quantity", "base_unit", "bps", "cut_ps", "format_rate",
    "format_size", "format_time", "gbps", "kB", "kbps", "mbps", "ms", "ns", "ps", "rate_bps", "s", "size_bytes",
    "time_ps", "transmission_ps", "us",
]  # fmt: skip
