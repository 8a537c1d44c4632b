"""Gain and phase margins of an open loop, from its transfer function or from its frequency response.

Rational transfer functions use python-control; loops with delays, which are not rational, use a sampled response. A
test checks that both agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.errors import ConfigError
from rdmacc.models.base import Floats
from rdmacc.show.style import COLOURS, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Response: TypeAlias = Callable[[Floats], npt.NDArray[np.complex128]]
"""The loop at angular frequencies: ``response(omega)``, rad/s to complex, shapes equal."""


@dataclass(frozen=True)
class Margins:
    """Stability margins of a loop, and where they are; NaN if a crossover does not exist."""

    phase_deg: float
    """180 degrees plus the loop's phase at unit gain; the smallest, if there are several."""
    phase_crossover_rad_s: float
    gain: float
    """One over the loop's gain where its phase is -180 degrees, as a factor."""
    gain_crossover_rad_s: float


def _unwrapped(response: Response, omega: Floats) -> tuple[Floats, Floats]:
    value = response(omega)
    return np.log(np.abs(value)), np.unwrap(np.angle(value))


def margins_of(response: Response, omega: Floats) -> Margins:
    """Return the margins of a loop from its frequency response.

    Examples
    --------
    1/s with a delay of 1 s: crossover at 1 rad/s, phase -90 degrees - 1 rad.

    >>> import numpy as np
    >>> loop = margins_of(lambda w: np.exp(-1j * w) / (1j * w), np.geomspace(0.01, 100.0, 2000))
    >>> round(loop.phase_deg, 3), round(loop.gain, 4)
    (32.704, 1.5708)
    """
    from scipy.optimize import brentq  # slow to import

    if not len(omega):
        raise ConfigError("omega", "no frequency", "frequencies about the crossovers: the loop's parameters leave none")
    gain, phase = _unwrapped(response, omega)
    phase -= 2 * np.pi * np.ceil(phase[0] / (2 * np.pi) - 1e-9)

    def phase_at(w: float, near: int) -> float:
        raw = float(np.angle(response(np.array([w]))[0]))
        return raw + 2 * np.pi * round((phase[near] - raw) / (2 * np.pi))

    phase_margin, phase_place = np.nan, np.nan
    for i in np.flatnonzero(np.diff(np.sign(gain)) != 0):
        w = brentq(lambda w: float(np.log(np.abs(response(np.array([w]))[0]))), omega[i], omega[i + 1], rtol=1e-12)
        margin = 180.0 + np.degrees(phase_at(w, int(i)))
        if np.isnan(phase_margin) or margin < phase_margin:
            phase_margin, phase_place = margin, w
    gain_margin, gain_place = np.nan, np.nan
    for i in np.flatnonzero(np.diff(np.sign(phase + np.pi)) != 0):
        w = brentq(lambda w, i=int(i): phase_at(w, i) + np.pi, omega[i], omega[i + 1], rtol=1e-12)
        margin = 1.0 / abs(complex(response(np.array([w]))[0]))
        if np.isnan(gain_margin) or abs(np.log(margin)) < abs(np.log(gain_margin)):
            gain_margin, gain_place = margin, w
    return Margins(float(phase_margin), float(phase_place), float(gain_margin), float(gain_place))


def bode_frame(response: Response, omega: Floats) -> pd.DataFrame:
    """Return `omega_rad_s, gain_db, phase_deg` of a loop; the phase is continuous and starts in (-360, 0]."""
    gain, phase = _unwrapped(response, omega)
    phase -= 2 * np.pi * np.ceil(phase[0] / (2 * np.pi) - 1e-9)
    return pd.DataFrame({"omega_rad_s": omega, "gain_db": gain * 20 / np.log(10), "phase_deg": np.degrees(phase)})


def plot_bode(
    frame: pd.DataFrame, margins: Margins, title: str, axes: Any = None, label: str = "loop"
) -> tuple[Axes, Axes]:
    """Draw a Bode plot with its crossover and phase margin."""
    with style():
        if axes is None:
            import matplotlib.pyplot as plt

            axes = plt.subplots(2, 1, sharex=True, figsize=(7, 5))[1]
        upper, lower = axes
        upper.plot(frame["omega_rad_s"], frame["gain_db"], label=label)
        upper.axhline(0.0, color="0.5", linewidth=1)
        if np.isfinite(margins.phase_deg):
            upper.axvline(margins.phase_crossover_rad_s, color=COLOURS["black"], linewidth=1, linestyle=":")
        upper.set(title=title, ylabel="gain (dB)", xscale="log")
        plot_phase(frame, margins, "", lower, label)
    return upper, lower


def plot_phase(frame: pd.DataFrame, margins: Margins, title: str, ax: Axes, label: str = "loop") -> Axes:
    """Draw the lower half of a Bode plot and return the Axes; call inside `style()`."""
    ax.plot(frame["omega_rad_s"], frame["phase_deg"], label=label)
    ax.axhline(-180.0, color="0.5", linewidth=1)
    if np.isfinite(margins.phase_deg):
        place = margins.phase_crossover_rad_s
        ax.axvline(place, color=COLOURS["black"], linewidth=1, linestyle=":")
        text = f"phase margin {margins.phase_deg:.1f}°"
        ax.plot([place] * 2, [-180.0, margins.phase_deg - 180.0], color=COLOURS["vermilion"], linewidth=3, label=text)
    ax.set_ylim(max(float(frame["phase_deg"].min()), -300.0) - 8.0)
    ax.set(title=title, xlabel="angular frequency (rad/s)", ylabel="phase (°)", xscale="log")
    ax.legend()
    return ax
