"""``python -m rdmacc.experiments.ledger [NAME ...]``: rewrite the ledger and everything generated from it.

Prints the changes. Names are experiments or groups; default: all that have a table. With ``verdicts`` before the names,
tables are only judged again, and the digests of behaviour, which take long, are kept. ``history`` dates new bands and
defaults; ``quotes FOLDER`` compares the quotes with the papers' texts; ``notebook PAPER`` writes the first draft of a
paper's notebook.
"""

import sys
from pathlib import Path

from rdmacc.experiments.ledger import history, papers, quotes, record
from rdmacc.experiments.ledger.notebook import write_draft
from rdmacc.experiments.validation import page

if sys.argv[1:2] == ["quotes"]:
    sys.exit("\n".join(quotes.missing(sys.argv[2])) or None)
if sys.argv[1:2] == ["notebook"]:
    sys.exit(f"written: {write_draft(sys.argv[2], Path('notebooks'))}")
if sys.argv[1:] == ["history"]:
    history.write()
else:
    is_judged_only = sys.argv[1:2] == ["verdicts"]
    changed = record.write(sys.argv[1 + is_judged_only :], is_judged_only)
    print("\n".join(changed) or "nothing has changed")  # noqa: T201
papers.write()
page.write()
