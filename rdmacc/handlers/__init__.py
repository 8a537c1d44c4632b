"""What handlers' sources say, read when a scheme is made: what they write, and what they may not use."""

from __future__ import annotations

from rdmacc.handlers.checker import Mark, Marks
from rdmacc.handlers.language import NATIVE
from rdmacc.handlers.reading import check_handlers, marks_of
from rdmacc.handlers.source import outside, source_tree

__all__ = ["NATIVE", "Mark", "Marks", "check_handlers", "marks_of", "outside", "source_tree"]
