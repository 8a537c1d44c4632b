"""Pri-Q: a higher priority class for short messages, with any congestion control.

Source: Dart (Xue et al., IEEE/ACM ToN 2020, VI-C): DCQCN with two strict priorities.
"""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class PriQ(Component):
    """Choose a message's class by its size at the start."""

    classes = frozenset({DATA_CLASS, DATA_CLASS + 1})

    short_bytes: Size = param("8kB", "largest message of the first class", source="Dart, VI-A")

    def on_start(params, message):
        message.priority = DATA_CLASS if message.size_bytes <= params.short_bytes else DATA_CLASS + 1
