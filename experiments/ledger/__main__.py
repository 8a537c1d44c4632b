"""``python -m rdmacc.experiments.ledger [NAME ...]``: rewrite the ledger and everything generated from it.

Prints what has changed. Names are experiments or groups; without any, all that have a table.
"""

from __future__ import annotations

import sys

from rdmacc.experiments.ledger import papers, record
from rdmacc.experiments.validation import page

print("\n".join(record.write(sys.argv[1:])) or "nothing has changed")  # noqa: T201
papers.write()
page.write()
