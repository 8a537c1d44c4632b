"""The two scales of every experiment."""

from __future__ import annotations

from rdmacc.errors import ConfigError

__all__ = ["SCALES", "check_scale"]

SCALES = ("quick", "paper")
"""Quick takes seconds, for tests and a first look; paper has the paper's own topology and load."""


def check_scale(scale: str) -> str:
    """Return the scale of that name; raise `ConfigError` if there is none.

    Raises
    ------
    ConfigError
        If it is neither "quick" nor "paper".
    """
    if scale not in SCALES:
        raise ConfigError("scale", scale, f"one of {', '.join(SCALES)}")
    return scale
