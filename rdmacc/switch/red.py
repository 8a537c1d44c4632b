"""ECN marking by a step or a RED ramp on the instantaneous queue, without averaging and without drops.

Sources: RED/ECN as in DCQCN (Zhu et al., SIGCOMM 2015, section 3) and in the HPCC simulator (marks at dequeue,
thresholds scaled with the link's speed).
"""

from collections.abc import Callable

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class Red(Component):
    """Mark data packets with a probability that rises from 0 at kmin to pmax at kmax, and is 1 above kmax."""

    at_reference: ClassVar[tuple[str, ...]] = ("kmin_bytes", "kmax_bytes")

    kmin_bytes: Size = param("5kB", "no marks up to this queue", symbol="K_min", source="DCQCN, fig. 5")
    kmax_bytes: Size = param("200kB", "always mark above this queue", symbol="K_max", source="DCQCN, fig. 5")
    pmax: float = param(0.01, "marking probability at kmax", symbol="P_max", source="DCQCN, fig. 5", low=0.0, high=1.0)
    reference_bps: OptionalRate = param(
        None, "link rate at which the thresholds hold; they scale with the rate; 0: no scaling", unit="bps"
    )
    at_dequeue: bool = param(False, "mark a packet when it leaves, by the queue behind it; otherwise when it joins")
    at_nic: bool = param(False, "also mark at the sending host's port (Dart, III-C: source congestion)")

    class Egress(Record):
        kmin_bytes = Int()
        kmax_bytes = Int()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self, EcnStep) and self.kmin_bytes > self.kmax_bytes:
            raise ConfigError("kmin_bytes", self.kmin_bytes, f"at most kmax_bytes = {self.kmax_bytes}")

    @property
    def marks_at_nic(self) -> bool:
        """Whether packets are also marked at the sending host's port."""
        return self.at_nic

    def handlers(self) -> dict[str, Callable[..., None]]:
        """Return the handlers, with only one of the two marking points."""
        handlers = super().handlers()
        del handlers["on_enqueue" if self.at_dequeue else "on_dequeue"]
        return handlers

    def on_port(params, port, egress):
        scale = port.rate_bps / params.reference_bps if params.reference_bps > 0.0 else 1.0
        egress.kmin_bytes = int(params.kmin_bytes * scale)
        egress.kmax_bytes = int(params.kmax_bytes * scale)

    def on_enqueue(params, port, egress, packet):
        """Set CE by the port's queue, excluding the packet itself."""
        if port.queue_bytes > egress.kmin_bytes and (params.at_nic or port.link_class != HOST_NIC):
            if port.queue_bytes > egress.kmax_bytes:
                packet.ce = 1
            else:
                span = egress.kmax_bytes - egress.kmin_bytes
                probability = params.pmax * (port.queue_bytes - egress.kmin_bytes) / span
                if uniform(port.chance_key, port.chance_count) < probability:
                    packet.ce = 1
                port.chance_count += 1

    on_dequeue = on_enqueue


@dataclass(frozen=True, kw_only=True)
class EcnStep(Red):
    """Mark every data packet that finds more than `kmin_bytes` queued (one threshold, as in DCTCP and Dart)."""

    at_reference: ClassVar[tuple[str, ...]] = ("kmin_bytes",)

    kmin_bytes: Size = param("22.5kB", "mark above this queue", symbol="K", source="Dart, VI-A")

    def on_port(params, port, egress):
        scale = port.rate_bps / params.reference_bps if params.reference_bps > 0.0 else 1.0
        egress.kmin_bytes = int(params.kmin_bytes * scale)
        egress.kmax_bytes = egress.kmin_bytes
