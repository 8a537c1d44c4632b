"""Sessions: the output of a page's examples or of a README command, stored in a file and compared.

``python -m tests.docs.sessions`` rewrites the files; read the diff before you commit it.
"""

import ast
import io
import math
import os
import re
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from typer.testing import CliRunner

from rdmacc.cli.main import app
from rdmacc.schemes import SCHEMES
from tests.support import run_cell

ROOT = Path(__file__).parents[2]
DOCS, KEPT = ROOT / "docs", Path(__file__).parent / "sessions"
PAGES = [
    ROOT / "README.md", DOCS / "index.md",
    *sorted(path for folder in ("tutorials", "howto") for path in (DOCS / folder).glob("*.md")),
]  # fmt: skip
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
COMMANDS = (
    "rdmacc demo", "rdmacc schemes dasr", "rdmacc schemes dcqcn --preset hpcc-ns3 --rate 400Gbps", "rdmacc list igbn",
    "rdmacc run igbn.fig3",
)  # fmt: skip
"""Commands of the README whose output does not depend on the machine."""
SHARE = 1e-6
"""Tolerance for numbers: the last bits of means and fits depend on the processor."""
_OTHER_EACH_TIME = (
    (re.compile(r" at 0x[0-9a-f]+"), ""),
    (re.compile(r"'?(?:/[\w.-]+)+/(?=[\w.-]+)"), ""),  # folders
    (re.compile(r"(?<=simulated in )[\d.]+ s"), "? s"),
    (re.compile(r"(?<=packet-hops in )[\d.]+ s, [\d.]+ M/s"), "? s, ? M/s"),
)


def printed(page: Path) -> str:
    """Run a page's examples in a separate folder; return what each prints, and the value of its last line."""
    parts, namespace = [], {"__name__": page.stem}
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    with (
        TemporaryDirectory() as folder, chdir(folder), mock.patch.dict(SCHEMES),
        mock.patch.dict(os.environ, {"RDMACC_STORE_DIR": f"{folder}/store"}),
    ):  # fmt: skip
        for number, block in enumerate(blocks, 1):
            out = io.StringIO()
            with redirect_stdout(out):
                run_cell(_showing(block), namespace, f"{page.name}, example {number}")
            plt.close("all")
            parts.append(f"# example {number}\n{scrubbed(out.getvalue())}")
    return "".join(parts)


def _showing(block: str) -> str:
    """Return a block that, like a notebook, prints the value of its last line if that is an expression."""
    tree = ast.parse(block)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or (isinstance(last.value, ast.Call) and ast.unparse(last.value.func) == "print"):
        return block
    lines = block.splitlines(keepends=True)
    before, value = "".join(lines[: last.lineno - 1]), "".join(lines[last.lineno - 1 :])
    return f"{before}(lambda shown: shown is None or print(repr(shown)))(\n{value})\n"


def scrubbed(text: str) -> str:
    """Return a text without what differs between runs: addresses, folders, wall times."""
    for pattern, other in _OTHER_EACH_TIME:
        text = pattern.sub(other, text)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def differences(kept: str, now: str) -> list[str]:
    """Return the lines of two sessions that differ in words, or in a number by more than `SHARE`."""
    pairs = list(zip(kept.splitlines(), now.splitlines(), strict=False))
    wrong = [f"{one!r} was, {other!r} is" for one, other in pairs if not _alike(one, other)]
    if len(kept.splitlines()) != len(now.splitlines()):
        wrong.append(f"{len(kept.splitlines())} lines were, {len(now.splitlines())} are")
    return wrong


def _alike(one: str, other: str) -> bool:
    numbers = [[float(number.replace(",", "")) for number in NUMBER.findall(line)] for line in (one, other)]
    words = [re.split(r"[ -]+", NUMBER.sub("#", line)) for line in (one, other)]
    return words[0] == words[1] and all(
        math.isclose(a, b, rel_tol=SHARE, abs_tol=SHARE) for a, b in zip(*numbers, strict=True)
    )


def kept_in(page: Path) -> Path:
    name = page.relative_to(ROOT).with_suffix(".out")
    return KEPT / "_".join(name.parts)


def kept_of(command: str) -> Path:
    return KEPT / f"{re.sub(r'[^a-z0-9.]+', '_', command)}.out"


def output_of(command: str) -> str:
    """Run a command in a separate folder with a separate store; return what it prints."""
    with TemporaryDirectory() as folder, chdir(folder):
        done = CliRunner(env={"RDMACC_STORE_DIR": f"{folder}/store"}).invoke(app, command.split()[1:])
        assert done.exit_code == 0, done.output
        return scrubbed(done.stdout)


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for one in PAGES:
        kept_in(one).write_text(printed(one))
    for text in COMMANDS:
        kept_of(text).write_text(output_of(text))
