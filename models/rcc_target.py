"""Parameters of all models of RCC's loop: the target round-trip time."""

from __future__ import annotations

from dataclasses import dataclass

from rdmacc.models.base import Model, param
from rdmacc.parameters import Time


@dataclass(frozen=True, kw_only=True)
class RccTarget(Model):
    """RCC's reference R_ref, equation (2), and how late the control signal is."""

    base_rtt_ps: Time = param(
        "12us", "round-trip time without queue", unit="ps", symbol="d", source="V-A", low=1, slider=("4us", "50us")
    )
    delta: float = param(
        0.2, "R_ref = d (1 + delta / 2)", symbol="delta", equation="(2)", source="III-F", low=1e-6, high=1.0,
        slider=(0.05, 1.0),
    )  # fmt: skip
    feedback_rtts: float = param(
        0.0, "delay of the control signal, in R_ref; the paper has none", low=0.0, high=20.0, slider=(0.0, 2.0)
    )

    @property
    def reference_s(self) -> float:
        """R_ref in seconds, equation (2)."""
        return self.base_rtt_ps * 1e-12 * (1.0 + self.delta / 2.0)
