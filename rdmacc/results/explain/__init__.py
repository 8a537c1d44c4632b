"""Why a message took as long as it did: `rdmacc.Result.explain`.

`recording` indexes the trace by message, queue pair and port; `walk` goes back from the packet that completed a message
to its start; `causes` finds what caused each delay, and where pauses came from; `words` writes the paragraph.
"""

from rdmacc.results.explain.explanation import Explanation

__all__ = ["Explanation"]
