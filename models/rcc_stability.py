"""Stability of RCC's PID loop: the open loop (12), its margins, the discrete loop, and tuning.

Source: Zhang et al., ICNP 2021, section IV. With R = R_ref, the open loop of equation (12) is

    G(s) = K (1 + s/z) / (s^2 (s + 1/R)),   K = K_p / R^2,   z = K_p / ((K_d + K_p / 2) R)

times exp(-s T) for a feedback delay T, which the paper leaves out. Its crossover is the positive root y of
y^3 + y^2/R^2 - (K/z)^2 y - K^2 = 0 with y = omega^2 (one change of sign: exactly one), and its phase margin
is atan(omega/z) - atan(omega R) - omega T.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.interface import Time
from rdmacc.models.base import Floats, Model, check_within, param
from rdmacc.models.margins import Margins, bode_frame, margins_of, plot_bode, plot_phase
from rdmacc.show.style import new_axes, style
from rdmacc.units import Quantity, time_ps

if TYPE_CHECKING:
    import control
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class RccTarget(Model):
    """RCC's reference R_ref, equation (2), and the delay of the control signal."""

    base_rtt_ps: Time = param(
        "12us", "round-trip time without queue", symbol="d", source="V-A", low=1, slider=("4us", "50us")
    )
    delta: float = param(
        0.2,
        "R_ref = d (1 + delta / 2)",
        symbol="delta",
        equation="(2)",
        source="III-F",
        low=1e-6,
        high=1.0,
        slider=(0.05, 1.0),
    )
    feedback_rtts: float = param(
        0.0, "delay of the control signal, in R_ref; the paper has none", low=0.0, high=20.0, slider=(0.0, 2.0)
    )

    @property
    def reference_s(self) -> float:
        """R_ref in seconds, equation (2)."""
        return self.base_rtt_ps * 1e-12 * (1.0 + self.delta / 2.0)


@dataclass(frozen=True, kw_only=True)
class RccGains(RccTarget):
    """The gains of RCC's PID loop."""

    kp: float = param(
        1e4, "proportional gain", unit="1/s", symbol="K_p", equation="(9)", source="V-A", low=1e-9, high=1e9,
        slider=(1.0, 1e5), is_log=True,
    )  # fmt: skip
    kd: float = param(
        1e5, "derivative gain", unit="1/s", symbol="K_d", equation="(9)", source="V-A", low=0.0, high=1e9,
        slider=(1e3, 2e5), is_log=True,
    )  # fmt: skip


def phase_margin(kp: npt.ArrayLike, kd: npt.ArrayLike, reference_s: float, delay_s: float = 0.0) -> Floats:
    """Return the phase margin of (12) in degrees.

    Examples
    --------
    >>> float(phase_margin(1e4, 1e5, 13.2e-6).round(2)), float(phase_margin(1e4, 1e3, 13.2e-6).round(2))
    (39.8, -7.55)
    """
    # In units of R: a = K_p R, b = (K_d + K_p/2) R, x = omega R.
    a, b = np.broadcast_arrays(
        np.asarray(kp, np.float64) * reference_s,
        (np.asarray(kd, np.float64) + np.asarray(kp, np.float64) / 2) * reference_s,
    )
    if np.any(a <= 0) or np.any(b <= 0):
        raise ConfigError("K_p and K_d", (kp, kd), "more than 0")
    y = np.maximum(1.0, np.maximum(a, b) * 2)  # start above the root, so Newton's steps only go down
    for _ in range(200):
        value = ((y + 1.0) * y - b * b) * y - a * a
        step = value / ((3 * y + 2.0) * y - b * b)
        y = y - step
        if np.all(np.abs(step) <= 1e-15 * y):
            break
    x = np.sqrt(y)
    return np.degrees(np.arctan(x * b / a) - np.arctan(x) - x * delay_s / reference_s)


@dataclass(frozen=True, kw_only=True)
class RccLoop(RccGains):
    """The loop of equation (12) for one pair of gains.

    >>> loop = RccLoop()
    >>> round(loop.margins().phase_deg, 2), f"{loop.margins().phase_crossover_rad_s:.3g}"
    (39.8, '7.5e+04')
    """

    title: ClassVar[str] = "RCC's open loop (12)"

    @property
    def gain(self) -> float:
        """K of equation (12), 1/s^3."""
        return self.kp / self.reference_s**2

    @property
    def zero_rad_s(self) -> float:
        """Z of equation (12), rad/s."""
        return self.kp / ((self.kd + self.kp / 2.0) * self.reference_s)

    def transfer_function(self) -> control.TransferFunction:
        """Return equation (12), without the delay."""
        import control  # slow to import

        return control.TransferFunction(
            [self.gain / self.zero_rad_s, self.gain], [1.0, 1.0 / self.reference_s, 0.0, 0.0]
        )

    def response(self, omega: Floats) -> npt.NDArray[np.complex128]:
        """Return the loop's response, with its delay, at angular frequencies, shape (n,)."""
        s = 1j * omega
        delay = np.exp(-s * self.feedback_rtts * self.reference_s)
        return self.gain * (1 + s / self.zero_rad_s) / (s**2 * (s + 1 / self.reference_s)) * delay

    def _omega(self) -> Floats:
        """Return frequencies that bracket the crossovers, rad/s."""
        scale = max(self.gain ** (1 / 3), self.kd)
        return np.geomspace(scale * 1e-4, scale * 1e4, 4000)

    def margins(self) -> Margins:
        """Return gain and phase margin, including the delay."""
        if self.feedback_rtts == 0.0:
            import control

            gain, phase, phase_crossing, gain_crossing = control.margin(self.transfer_function())
            return Margins(float(phase), float(gain_crossing), float(gain), float(phase_crossing))
        omega = self._omega()
        return margins_of(self.response, omega[omega * self.feedback_rtts * self.reference_s < 100.0])

    def evaluate(self) -> pd.DataFrame:
        """Return the Bode plot's data: `omega_rad_s, gain_db, phase_deg`."""
        centre = self.margins().phase_crossover_rad_s
        return bode_frame(self.response, np.geomspace(centre / 100, centre * 100, 800))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the phase over frequency, with the margin; `plot_bode` draws the gain too."""
        with style():
            return plot_phase(self.evaluate(), self.margins(), self.title, new_axes(ax))

    def plot_bode(self, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
        """Draw the Bode plot on two axes, for gain and phase."""
        title = f"{self.title}: K_p = {self.kp:g}/s, K_d = {self.kd:g}/s, delay {self.feedback_rtts:g} RTT"
        return plot_bode(self.evaluate(), self.margins(), title, axes)

    def discrete_roots(self, *, is_accumulating: bool = True, delay: int = 0) -> npt.NDArray[np.complex128]:
        """Return the roots of the discrete loop: one window update per round trip, linearised.

        With w the relative deviation of the windows, e = R w, a = K_p R and b = K_d R, equations (4) and
        (5) are w(t+1) = w(t) - u(t - delay), where u accumulates a w + b dw as printed or is a w + b dw
        itself.

        Parameters
        ----------
        is_accumulating : bool
            Equation (4) as printed, or without u(t - 1) on its right-hand side.
        delay : int
            Rounds between a measurement and the window that it changes, in addition to the round of the update.

        Returns
        -------
        ndarray of complex
            Stable if all lie inside the unit circle.

        >>> RccLoop().discrete_roots().round(3).tolist()
        [(0.903+0j), (-0.355+0j)]
        """
        check_within("delay", [delay], 0, 1000)
        a, b = self.kp * self.reference_s, self.kd * self.reference_s
        order = 1 if is_accumulating else 0
        own = np.poly1d([1.0, -1.0]) ** (1 + order) * np.poly1d([1.0] + [0.0] * (delay + 1 - order))
        roots = (own + np.poly1d([a + b, -b])).roots
        return np.asarray(sorted(roots, key=lambda root: (-abs(root), -root.real)), dtype=np.complex128)

    def discrete_radius(self, *, is_accumulating: bool = True, delay: int = 0) -> float:
        """Return the largest modulus of `discrete_roots`: below 1 the loop is stable."""
        return float(np.abs(self.discrete_roots(is_accumulating=is_accumulating, delay=delay)).max())


@typed
def tune(
    rtt: Quantity, *, margin: float = 30.0, delta: float = 0.2, ratio: float = 10.0, feedback_rtts: float = 0.0
) -> RccLoop:
    """Return the fastest gains with a phase margin, for a base round-trip time.

    K_p = K_d / `ratio`; the largest gains with that margin are taken, since they have the highest crossover. Only K_d
    R_ref and K_p R_ref matter, so gains scale with the inverse of the RTT.

    Parameters
    ----------
    rtt : quantity of time
        Base round-trip time.
    margin : float
        Phase margin to keep, degrees.
    delta : float
        R_ref = rtt (1 + delta / 2).
    ratio : float
        K_d / K_p; the paper advises 10 to 100.
    feedback_rtts : float
        Feedback delay to allow for, in R_ref: 0 in the paper's model, 1 in a real loop.

    Raises
    ------
    ConfigError
        If no gains with K_d R_ref from 1e-4 to 10 reach the margin.

    Examples
    --------
    The paper's gains for 12 us are these, for a margin of 39.8 degrees:

    >>> loop = tune("12us", margin=39.8)
    >>> f"{loop.kd:.3g}", f"{loop.kp:.3g}"
    ('1e+05', '1e+04')
    """
    base_ps = time_ps(rtt, field="rtt", least=1)
    check_within("margin", [margin], 0, 180)
    check_within("ratio", [ratio], 1e-9, 1e9)
    reference = base_ps * 1e-12 * (1.0 + delta / 2.0)
    scaled = np.geomspace(1e-4, 10.0, 2001)

    def margin_at(kd: npt.ArrayLike) -> Floats:
        gains = np.asarray(kd, np.float64) / reference
        return phase_margin(gains / ratio, gains, reference, feedback_rtts * reference)

    good = np.flatnonzero(margin_at(scaled) >= margin)
    if not len(good):
        best = float(np.max(margin_at(scaled)))
        raise ConfigError("margin", margin, f"at most {best:.1f} degrees with K_d / K_p = {ratio:g} and this delay")
    last = int(good[-1])
    low, high = scaled[last], scaled[min(last + 1, len(scaled) - 1)]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if margin_at(middle) >= margin else (low, middle)
    return RccLoop(
        kp=low / reference / ratio, kd=low / reference, base_rtt_ps=base_ps, delta=delta, feedback_rtts=feedback_rtts
    )


@dataclass(frozen=True, kw_only=True)
class RccMarginSurface(RccTarget):
    """Figure 4: the phase margin over K_p and K_d, and the contour of 30 degrees.

    The paper says: "setting K_p in [1, 10^4] and K_d in [10^3, 10^5] ensures an acceptable phase margin above 30
    degrees". By its own equation (12), that holds on four fifths of this box.
    """

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
            filled = draw_margins(ax, kp, kd, margin)
            ax.figure.colorbar(filled, ax=ax, label="phase margin (°)")
            delay = f", delay {self.feedback_rtts:g} RTT" if self.feedback_rtts else ""
            ax.set(
                title=f"{self.title}{delay}: > 30° on {100 * share:.1f}%",
                xlabel="K_d (1/s)", ylabel="K_p (1/s)", xscale="log", yscale="log",
            )  # fmt: skip
        return ax


def draw_margins(ax: Axes, kp: Floats, kd: Floats, margin: Floats, lowest: float = -60.0) -> Any:
    """Draw margins (rows by K_p) as filled contours, which are returned, with the contours of 30 and of 0 degrees."""
    clipped, levels = np.clip(margin, lowest, 90), np.arange(lowest, 91.0, 10.0)
    filled = ax.contourf(kd, kp, clipped, levels=levels, cmap="cividis")
    lines = ax.contour(
        kd, kp, margin, levels=[0.0, 30.0], colors=["white", "black"], linewidths=2, linestyles=["--", "-"]
    )
    ax.clabel(lines, fmt="%g°")
    return filled


def share_above(surface: pd.DataFrame, degrees: float, least_ratio: float = 0.0) -> float:
    """Return the share of grid points above a phase margin, among those with K_d / K_p of at least a ratio.

    The grid is even in the gains' logarithms, so this is a share of the area in log-log axes.
    """
    chosen = surface[surface["kd"] >= least_ratio * surface["kp"] * (1 - 1e-12)]
    return float((chosen["phase_margin_deg"] > degrees).mean())
