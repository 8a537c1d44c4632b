"""The time that bytes take at a rate, and the one place that cuts it to ticks."""


def cut_ps(wire_bytes: int, rate_bps: float, tick_ps: int) -> int:
    """Return the time that `wire_bytes` bytes take at a rate, cut to whole ticks as ns-3 cuts ``Seconds(double)``.

    There a time in seconds becomes a fixed-point number with 64 bits behind the point, rounded down, and that number
    of seconds becomes ticks, rounded down (int64x64-128.h, nstime.h). So a time that is a whole number of ticks comes
    out one short: 1,056 B at 1 Gb/s are 8,447 ns. A tick of one picosecond cuts nothing.
    """
    if tick_ps == 1:
        return int(wire_bytes * (8e12 / rate_bps) + 0.5)
    seconds = wire_bytes * 8.0 / rate_bps
    per_second = 1_000_000_000_000 // tick_ps
    if seconds >= 0.25:  # beyond 64 bits; the cut no longer shows
        return int(min(seconds, 1e5) * per_second) * tick_ps
    fraction = int(seconds * 18446744073709551616.0)
    # fraction * per_second >> 64, in three steps: with ticks down to 1 ps each product stays below 2**63.
    carry = (fraction & 0x3FFFFF) * per_second >> 22
    carry = (fraction >> 22 & 0x3FFFFF) * per_second + carry >> 22
    return ((fraction >> 44) * per_second + carry >> 20) * tick_ps


def transmission_ps(wire_bytes: int, rate_bps: float, tick_ps: int = 0) -> int:
    """Return the time that `wire_bytes` bytes take at a rate: the nearest picosecond, or, with a tick, `cut_ps`."""
    return cut_ps(wire_bytes, rate_bps, tick_ps) if tick_ps else int(wire_bytes * (8e12 / rate_bps) + 0.5)
