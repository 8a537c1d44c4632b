"""Why a message took as long as it did: `rdmacc.Result.explain`.

`recording` reads the trace by message, queue pair and port; `walk` goes back from the packet that completed a message
to its start; `causes` looks for what stood in the way, and where pauses came from; `words` says it.
"""

from rdmacc.explain.explanation import Explanation

__all__ = ["Explanation"]
