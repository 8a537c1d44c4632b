"""RCC's figure 4: the phase margin of equation (12) over both gains.

The paper says of it: "setting K_p in [1, 10^4] and K_d in [10^3, 10^5] ensures an acceptable phase margin
above 30 degrees". Computed from its own equation (12), that holds on four fifths of this box.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from rdmacc.models.base import Floats, param
from rdmacc.models.rcc_stability import RccTarget, phase_margin
from rdmacc.show.style import new_axes, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class RccMarginSurface(RccTarget):
    """Figure 4: the phase margin over K_p and K_d, and the contour of 30 degrees."""

    title: ClassVar[str] = "RCC's phase margin (Fig 4)"

    points: int = param(121, "grid points along each axis", low=2, high=2000)
    kp_low: float = param(1.0, "least K_p", unit="1/s", source="section IV", low=1e-9)
    kp_high: float = param(1e4, "largest K_p", unit="1/s", source="section IV", low=1e-9)
    kd_low: float = param(1e3, "least K_d", unit="1/s", source="section IV", low=1e-9)
    kd_high: float = param(1e5, "largest K_d", unit="1/s", source="section IV", low=1e-9)

    def grid(self) -> tuple[Floats, Floats, Floats]:
        """Return K_p (n,), K_d (n,) and the phase margin (n, n), rows by K_p."""
        reference = self.reference_s
        kp = np.geomspace(self.kp_low, self.kp_high, self.points)
        kd = np.geomspace(self.kd_low, self.kd_high, self.points)
        return kp, kd, phase_margin(kp[:, None], kd[None, :], reference, self.feedback_rtts * reference)

    def evaluate(self) -> pd.DataFrame:
        """Return the surface: `kp, kd, phase_margin_deg`."""
        kp, kd, margin = self.grid()
        rows, columns = np.repeat(kp, len(kd)), np.tile(kd, len(kp))
        return pd.DataFrame({"kp": rows, "kd": columns, "phase_margin_deg": margin.ravel()})

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the surface as filled contours, with the contours of 30 and of 0 degrees."""
        kp, kd, margin = self.grid()
        share = share_above(self.evaluate(), 30.0)
        with style():
            ax = new_axes(ax, (7, 4.4))
            levels = np.arange(-60.0, 91.0, 10.0)
            filled = ax.contourf(kd, kp, np.clip(margin, -60, 90), levels=levels, cmap="cividis")
            lines = ax.contour(
                kd, kp, margin, levels=[0.0, 30.0], colors=["white", "black"], linewidths=2, linestyles=["--", "-"]
            )
            ax.clabel(lines, fmt="%g°")
            ax.figure.colorbar(filled, ax=ax, label="phase margin (°)")
            delay = f", delay {self.feedback_rtts:g} RTT" if self.feedback_rtts else ""
            ax.set(
                title=f"{self.title}{delay}: > 30° on {100 * share:.1f}%",
                xlabel="K_d (1/s)", ylabel="K_p (1/s)", xscale="log", yscale="log",
            )  # fmt: skip
        return ax


def share_above(surface: pd.DataFrame, degrees: float, least_ratio: float = 0.0) -> float:
    """Return the share of grid points of a surface above a phase margin, among those with K_d / K_p of at
    least a ratio.

    The grid is even in the gains' logarithms, so this is the share of the box's area in log-log axes.
    """
    chosen = surface[surface["kd"] >= least_ratio * surface["kp"] * (1 - 1e-12)]
    return float((chosen["phase_margin_deg"] > degrees).mean())
