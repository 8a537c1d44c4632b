"""Phase margin of DCQCN's fluid model against the number of flows, as "ECN or Delay" (CoNEXT 2016) shows it.

The loop is cut where the marking probability reaches the senders. With x = (alpha, R_T, R_C) of one flow, A
the Jacobian of its equations, a their derivative by the delayed rate and b by the delayed marking
probability,

    L(s) = -(dp/dq) (N / s) e_C^T (s I - A - a e_C^T exp(-s tau*))^-1 b exp(-s tau*)

around the fixed point. The paper linearises the same equations by hand; here they are differentiated numerically, so
the numbers are not copied from the paper's figure. RED's slope is that of the ramp, even if the fixed point is above
K_max (the ramp is "extended").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.models.base import Floats
from rdmacc.models.dcqcn import DcqcnFluid
from rdmacc.models.dcqcn_parameters import DcqcnParameters
from rdmacc.models.margins import Margins, bode_frame, margins_of, plot_bode
from rdmacc.show.style import canvas
from rdmacc.units import time_ps

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FLOWS = (2, 3, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 100)
"""Numbers of flows at which margins are drawn."""


@dataclass(frozen=True)
class DcqcnLoop:
    """The linearised loop of one fluid model.

    Attributes
    ----------
    fluid : DcqcnFluid
        The model, linearised about its fixed point.

    Examples
    --------
    >>> loop = DcqcnLoop(DcqcnFluid(flows=2, ramp="extended"))
    >>> loop.margins().phase_deg > 0
    True
    """

    fluid: DcqcnFluid

    def jacobians(self) -> tuple[Floats, Floats, Floats]:
        """Return A (3, 3), a (3,) and b (3,): derivatives by the state, the delayed rate and the delayed marking.

        Rates are in units of the fixed point's rate.
        """
        point, fluid = self.fluid.fixed_point(), self.fluid
        rate = fluid.capacity_pps / fluid.flows
        at = np.array([point["alpha"], point["target_bps"] / point["rate_bps"], 1.0, 1.0, point["marking"]])

        def slopes(v: Floats) -> Floats:
            alpha, target, current, past_rate, p = (float(value) for value in v)
            d_alpha, d_target, d_rate = fluid.slopes(alpha, target * rate, current * rate, p, past_rate * rate)
            return np.array([d_alpha, d_target / rate, d_rate / rate])

        columns = []
        for i in range(5):
            step = np.zeros(5)
            step[i] = 1e-5 * at[i]
            columns.append((slopes(at + step) - slopes(at - step)) / (2 * step[i]))
        matrix = np.array(columns).T
        return matrix[:, :3], matrix[:, 3], matrix[:, 4]

    def response(self, omega: Floats) -> npt.NDArray[np.complex128]:
        """Return L at angular frequencies, shape (n,)."""
        fluid = self.fluid
        state, by_rate, by_marking = self.jacobians()
        s = 1j * omega
        delay = np.exp(-s * fluid.delay_ps * 1e-12)
        system = s[:, None, None] * np.eye(3) - state
        system[:, :, 2] -= by_rate * delay[:, None]
        to_rate = np.linalg.solve(system, np.broadcast_to(by_marking[:, None], (len(s), 3, 1)))[:, 2, 0]
        if fluid.kmax_bytes <= fluid.kmin_bytes:
            raise ConfigError("kmax_bytes", fluid.kmax_bytes, "above kmin_bytes: without a ramp there is no slope")
        ramp = fluid.pmax / (fluid.kmax_bytes - fluid.kmin_bytes) * fluid.packet_bytes
        rate = fluid.capacity_pps / fluid.flows
        return -ramp * fluid.flows * rate / s * to_rate * delay

    def _omega(self) -> Floats:
        return np.geomspace(1.0, min(1e7, 60e12 / max(self.fluid.delay_ps, 1)), 6000)

    def margins(self) -> Margins:
        """Return gain and phase margin."""
        return margins_of(self.response, self._omega())

    def plot_bode(self, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
        """Draw the Bode plot on two axes."""
        margins = self.margins()
        omega = self._omega()
        near = omega[(omega > margins.phase_crossover_rad_s / 100) & (omega < margins.phase_crossover_rad_s * 100)]
        title = f"DCQCN's loop, {self.fluid.flows} flows, tau* = {self.fluid.delay_ps / 1e6:g} us"
        return plot_bode(bode_frame(self.response, near), margins, title, axes)


@dataclass(frozen=True, kw_only=True)
class DcqcnMargin(DcqcnParameters):
    """Phase margin of DCQCN over the number of flows, for several feedback delays."""

    title: ClassVar[str] = "DCQCN's phase margin"

    def fluid(self, flows: int, delay_ps: int) -> DcqcnFluid:
        """Return the fluid model for a number of flows and a delay."""
        shared = {field.name: getattr(self, field.name) for field in fields(self)}
        return DcqcnFluid(flows=flows, delay_ps=delay_ps, ramp="extended", **shared)

    def evaluate(
        self, flows: Sequence[int] = FLOWS, delays: Sequence[str | int] = ("1us", "50us", "85us", "100us")
    ) -> pd.DataFrame:
        """Return `delay_ps, flows, phase_margin_deg, crossover_rad_s, marking, is_on_ramp`.

        `is_on_ramp`: the fixed point's marking probability is at most P_max, so it lies on a ramp that ends at K_max.

        Parameters
        ----------
        flows : sequence of int
            Numbers of flows.
        delays : sequence of str or int
            Feedback delays tau*, such as ``"50us"``; bare numbers are ps.
        """
        rows = []
        for delay in delays:
            delay_ps = time_ps(delay, field="delay")
            for count in flows:
                fluid = self.fluid(count, delay_ps)
                margins, p = DcqcnLoop(fluid).margins(), fluid.fixed_point()["marking"]
                rows.append(
                    (delay_ps, count, margins.phase_deg, margins.phase_crossover_rad_s, p, bool(p <= self.pmax))
                )
        columns = ["delay_ps", "flows", "phase_margin_deg", "crossover_rad_s", "marking", "is_on_ramp"]
        return pd.DataFrame(rows, columns=columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the phase margin over the number of flows, a curve for each delay."""
        table = self.evaluate()
        with canvas(ax) as ax:
            for (delay, rows), marker in zip(table.groupby("delay_ps"), "osD^v", strict=False):
                label = f"tau* = {float(delay) / 1e6:g} us"  # type: ignore[arg-type]
                ax.plot(rows["flows"], rows["phase_margin_deg"], marker=marker, label=label)
            on_ramp = table.loc[table["is_on_ramp"], "flows"].max()
            ax.axvline(on_ramp, color="0.4", linewidth=1, linestyle="--", label="beyond: p above P_max")
            ax.axhline(0.0, color="0.4", linewidth=1)
            ax.set(title=f"{self.title} (unstable below 0)", xlabel="flows", ylabel="phase margin (°)", xscale="log")
            ax.set_xticks([2, 5, 10, 20, 50, 100], labels=["2", "5", "10", "20", "50", "100"])
            ax.legend(ncols=2)
        return ax
