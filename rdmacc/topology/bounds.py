"""Which rates, delays, buffers and numbers of nodes a network may have."""

import math
from collections import Counter
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.interface import RESERVE_BYTES
from rdmacc.interface.described import named_with
from rdmacc.rules.pfc import headroom_bytes
from rdmacc.units import Picoseconds, Quantity, rate_bps, size_bytes, time_ps

SLOWEST_BPS = 1e6
"""Slowest link. Anything slower is most likely a number without its unit."""
SHORTEST_PS = 1000
"""Shortest delay of a link: light travels 20 cm of fibre in 1 ns."""
FASTEST_BPS = 8e12
"""Fastest link: a byte takes 1 ps, the unit of time."""
_TOO_SLOW = "at least 1 Mb/s; a bare number is bit/s, so write '100Gbps'"
_TOO_SHORT = "at least 1 ns; write '1us'"
_TOO_FAST = "at most 8 Tb/s: a byte takes at least 1 ps, the unit of time"

builder = named_with(
    rate="number or str: Rate of the hosts' links, and the default of the others; a bare number is bit/s.",
    fabric_rate="number or str, optional: Rate of the links between switches; None: `rate`.",
    delay="number or str: Propagation delay of every link, with its unit.",
    buffer="number or str, optional: Shared buffer of a switch; None: `default_buffer_bytes` of the links.",
    buffer_per_port="number or str: Buffer per port of a switch.",
)
"""Decorates functions that build a network."""


def default_buffer_bytes(rate: Quantity, links: Iterable[tuple[float, int]] = ()) -> int:
    """Return the shared buffer of a switch whose fastest port has `rate`: 16 MiB for every 50 Gb/s.

    This is the rule of the simulator published with HPCC (Li et al., SIGCOMM 2019): 32 MiB at 100 Gb/s. If PFC would
    set aside more than half of that for one class of packets of RDMA's largest MTU, as with very many ports or long
    links, the buffer is twice what PFC sets aside for `links`, given by rate (bit/s) and delay (ps). The 12 MB of the
    switches of DCQCN (Zhu et al., SIGCOMM 2015, section 4) also are about half headroom.

    >>> default_buffer_bytes("100Gbps"), default_buffer_bytes("100Gbps", [(100e9, 1_000_000)] * 1024)
    (33554432, 85278720)
    """
    aside = sum(
        count * (RESERVE_BYTES + headroom_bytes(*link, _LARGEST_BYTES)) for link, count in Counter(links).items()
    )
    return max(round(16 * 2**20 * rate_bps(rate) / 50e9), 2 * aside)


_LARGEST_BYTES = 4096 + 64  # a packet of RDMA's largest MTU, with headers


MOST_NODES = 1_000_000  # upper bound on nodes of a kind and on links; a graph of that many hosts takes 0.9 GB


def checked_count(field: str, value: int) -> int:
    """Return a number of nodes or ports; raise a ConfigError unless it is whole and at least 1."""
    if not is_whole(value) or value < 1:
        raise ConfigError(field, value, "a whole number, at least 1")
    if value > MOST_NODES:
        raise ConfigError(field, value, f"at most {MOST_NODES}")
    return int(value)


def checked_rate(field: str, value: Quantity) -> float:
    """Return a link rate in bit/s; raise a ConfigError unless it is from 1 Mb/s to 8 Tb/s."""
    rate = rate_bps(value, field=field)
    if rate < SLOWEST_BPS:
        raise ConfigError(field, value, _TOO_SLOW)
    if rate > FASTEST_BPS:
        raise ConfigError(field, value, _TOO_FAST)
    return rate


def checked_delay(value: Quantity) -> int:
    """Return a link delay in ps. Below 1 ns it is an error, unless given by `units.ps`."""
    delay = time_ps(value, field="delay")
    if delay < (1 if isinstance(value, Picoseconds) else SHORTEST_PS):
        raise ConfigError("delay", value, _TOO_SHORT)
    return delay


def checked_buffer(value: Quantity | None) -> int | None:
    """Return a buffer in bytes, None for None; raise a ConfigError if it is below 1."""
    return None if value is None else size_bytes(value, field="buffer", least=1)


def is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_rate(rate: Any, place: str) -> None:
    """Raise a ConfigError unless a rate in base units is a number within bounds."""
    number: Any = rate  # unlike float(), comparisons accept any integer
    if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 < number < math.inf:
        raise ConfigError("rate_bps", rate, "a positive, finite number of bit/s", where=place)
    if not SLOWEST_BPS <= number <= FASTEST_BPS:
        raise ConfigError("rate_bps", rate, _TOO_FAST if number > FASTEST_BPS else _TOO_SLOW, where=place)
