"""Write the table of recorded benchmarks into its page: ``python docs/background/history.py``.

``rdmacc bench --engine compiled --record docs/background/bench.jsonl`` appends a run.
"""

from pathlib import Path

import pandas as pd

from rdmacc.cli.bench import CASES

HERE = Path(__file__).parent
PAGE, RECORD = HERE / "history.md", HERE / "bench.jsonl"
_BEGIN, _END = "<!-- history -->\n", "<!-- end -->"


def table() -> str:
    """Return a row for each recorded run, with M packet-hops/s by case; the goals come first."""
    runs = pd.read_json(RECORD, lines=True)
    names = [name for name in CASES if name in set(runs["case"])]
    lines = ["| recorded | commit | machine | " + " | ".join(names) + " |", "|---|---|---|" + "---:|" * len(names)]
    lines.append("| goal | | | " + " | ".join(f"{CASES[name].goals[0] / 1e6:.1f}" for name in names) + " |")
    for (recorded, commit, machine), run in runs.groupby(["recorded", "commit", "machine"], sort=False):
        rates = run.set_index("case")["hops_per_s"].groupby(level=0).max()
        cells = [f"{rates[name] / 1e6:.2f}" if name in rates else "" for name in names]
        lines.append(f"| {pd.Timestamp(recorded):%Y-%m-%d} | {commit[:8]} | {machine} | {' | '.join(cells)} |")
    return "\n".join(lines)


def fill(page: str) -> str:
    """Return the page with today's table."""
    before, _, rest = page.partition(_BEGIN)
    return f"{before}{_BEGIN}{table()}\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text()))
