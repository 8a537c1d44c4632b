"""The two scales of every experiment."""

from rdmacc.errors import ConfigError

SCALES = ("quick", "paper")
"""Quick takes seconds, for tests and a first look; paper has the paper's own topology and load."""


def check_scale(scale: str) -> str:
    """Return the scale of that name; raise `ConfigError` if there is none."""
    if scale not in SCALES:
        raise ConfigError("scale", scale, f"one of {', '.join(SCALES)}")
    return scale
