"""What handlers say and reach: their sources, checked when a scheme is made, and the content of all that they read."""

from __future__ import annotations

from rdmacc.handlers.content import content_hash, thaw
from rdmacc.handlers.reading import NATIVE, check_handlers, source_tree

__all__ = ["NATIVE", "check_handlers", "content_hash", "source_tree", "thaw"]
