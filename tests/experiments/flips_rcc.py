"""RCC: changes of the stored tables that must change a judge's mind. See `tests.experiments.flips`."""

from __future__ import annotations

from tests.experiments.flips import Change

FLIPS: dict[str, list[Change]] = {}
