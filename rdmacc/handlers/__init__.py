"""Analysis of handlers: checks of their source when a scheme is created, and a hash of everything they reach."""

from rdmacc.handlers.checker import Mark, Marks
from rdmacc.handlers.content import content_hash
from rdmacc.handlers.language import NATIVE
from rdmacc.handlers.reading import check_handlers, marks_of
from rdmacc.handlers.source import bytecode_of, outside, source_tree

__all__ = [
    "NATIVE", "Mark", "Marks", "bytecode_of", "check_handlers", "content_hash", "marks_of", "outside", "source_tree",
]  # fmt: skip
