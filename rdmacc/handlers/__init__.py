"""What handlers' sources say, read when a scheme is made: what they write, and what they may not use."""

from __future__ import annotations

from rdmacc.handlers.reading import NATIVE, check_handlers, source_tree

__all__ = ["NATIVE", "check_handlers", "source_tree"]
