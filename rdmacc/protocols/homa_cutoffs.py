"""Division of Homa's priority levels, from the distribution of message sizes.

Source: Montazeri et al., "Homa: a receiver-driven low-latency transport protocol using network priorities",
SIGCOMM 2018, section 3.4.

The first RTTbytes of a message are unscheduled. The share of unscheduled bytes determines the share of levels for
unscheduled packets; each kind gets at least one level. Shorter messages have higher levels, and the cut-off sizes are
chosen so that each level carries the same number of unscheduled bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdmacc.errors import ConfigError
from rdmacc.units import Quantity, size_bytes

if TYPE_CHECKING:
    from rdmacc import SizeDistribution


def unscheduled_bytes(sizes: SizeDistribution, rtt_bytes: int, size: float) -> float:
    """Return the mean number of unscheduled bytes per message, counting only messages of at most `size`."""
    inside = sizes.mean * float(sizes.byte_share(min(size, rtt_bytes)))
    if size <= rtt_bytes:
        return inside
    return inside + rtt_bytes * (float(sizes.cdf(size)) - float(sizes.cdf(rtt_bytes)))


def unscheduled_levels(sizes: SizeDistribution, rtt_bytes: Quantity, levels: int = 8) -> int:
    """Return the number of priority levels for unscheduled packets."""
    limit = size_bytes(rtt_bytes, field="rtt_bytes")
    if levels < 2 or limit < 1:
        field, value, least = ("levels", levels, 2) if levels < 2 else ("rtt_bytes", limit, 1)
        raise ConfigError(field, value, f"at least {least}")
    share = unscheduled_bytes(sizes, limit, sizes.sizes[-1]) / sizes.mean
    return min(max(1, round(levels * share)), levels - 1)


def unscheduled_cutoffs(sizes: SizeDistribution, rtt_bytes: Quantity, count: int) -> list[int]:
    """Return the largest message of each unscheduled level except the last, in bytes.

    >>> from rdmacc.workload import SizeDistribution
    >>> unscheduled_cutoffs(SizeDistribution.uniform(1, 8000), "10kB", 2)
    [5657]
    """
    limit = size_bytes(rtt_bytes, field="rtt_bytes")
    if count < 1 or limit < 1:
        field, value = ("count", count) if count < 1 else ("rtt_bytes", limit)
        raise ConfigError(field, value, "at least 1")
    largest = int(sizes.sizes[-1])
    total = unscheduled_bytes(sizes, limit, largest)
    cutoffs = []
    for level in range(1, count):
        low, high = 0, largest  # the smallest size whose share is at least level / count
        while low < high:
            middle = (low + high) // 2
            if unscheduled_bytes(sizes, limit, middle) * count >= total * level:
                high = middle
            else:
                low = middle + 1
        cutoffs.append(low)
    return cutoffs
