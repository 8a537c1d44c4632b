"""Quantities, choices, vectors and components, given in the ways shown in the documentation."""

from dataclasses import dataclass
from typing import Literal

from rdmacc import Scheme
from rdmacc.interface import Component, OptionalTime, Size, Sizes, Time, param
from rdmacc.protocols.dcqcn import Dcqcn
from rdmacc.protocols.homa import Homa
from rdmacc.protocols.hpcc import Hpcc
from rdmacc.protocols.rcc import Rcc
from rdmacc.switch.buffer import DropTail, Pfc
from rdmacc.switch.red import EcnStep, Red

__all__ = ["Mine", "schemes", "sizes"]


@dataclass(frozen=True, kw_only=True)
class Mine(Component):
    """A user's component."""

    wait_ps: Time = param("55us", "time between steps", unit="ps", low=1)
    late_ps: OptionalTime = param(None, "0: never", unit="ps")
    target_bytes: Size = param("30kB", "queue to aim at", unit="bytes", low=1)
    steps_bytes: Sizes = param(("1kB", "2kB"), "queues at which to act", unit="bytes")
    law: Literal["fast", "slow"] = param("fast", "how it acts", choices=("fast", "slow"))


def schemes() -> list[Scheme]:
    """Return schemes made from quantities."""
    red = Red(kmin_bytes="5kB", kmax_bytes=200_000, reference_bps="25Gbps")
    return [
        Scheme(name="one", control=Dcqcn(cnp_interval_ps="4us"), switch=red, buffer=Pfc(xoff_bytes=None)),
        Scheme(name="several", control=[Dcqcn(reference_bps=None)], switch=(EcnStep(kmin_bytes="22.5kB"),)),
        Scheme(name="lossy", recovery=Homa(cutoffs="200B 2800B"), buffer=DropTail(limit_bytes="64kB"), tick_ps="1ns"),
        Scheme(name="law", control=Rcc(law="pid", base_rtt_ps="12us"), routing="symmetric", payload_bytes="1kB"),
        Scheme(name="hpcc", control=Hpcc(additive_bps=None), start_delay_ps="300us"),
        Scheme(name="mine", control=Mine(late_ps="1ms", steps_bytes=["5kB", 6000], law="slow")),
    ]


def sizes() -> int:
    """Return sums of the values read: numbers."""
    mine = Mine(wait_ps="1us")
    total: int = mine.wait_ps + mine.late_ps + mine.target_bytes + sum(mine.steps_bytes)
    limit: int = Red(kmin_bytes="5kB").kmin_bytes
    return total + limit
