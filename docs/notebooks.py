"""Writes a page for each notebook: its text, code, tables and pictures, as they were committed.

Run as ``python docs/notebooks.py NOTEBOOK...`` to store the pictures of executed notebooks small, before a commit.
"""

import base64
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat

from rdmacc.show.png import packed

_NOTICE = (
    "*This page is a notebook: `rdmacc {}` copies it, with the others, to a folder of yours, to run and to change.*"
)


def write_notebooks(docs: Path) -> None:
    """Write a page for each notebook, with its pictures, into the folder of the documentation.

    Parameters
    ----------
    docs : Path
        The folder.
    """
    folder = docs / "notebooks"
    folder.mkdir(exist_ok=True)
    for path in sorted((docs.parent / "notebooks").rglob("*.ipynb")):
        command = "labs start" if path.parent.name == "labs" else "notebooks"
        name, parts = path.stem, []
        for number, cell in enumerate(nbformat.read(path, 4).cells):
            if cell.cell_type == "markdown":
                parts.append(re.sub(r"\]\((\w+)\.ipynb\)", r"](\1.md)", cell.source))
            else:
                code = re.sub(r"^%.*\n|;$", "", cell.source, flags=re.MULTILINE)  # magics and semicolons are no Python
                parts += [f"```python\n{code}\n```", *_outputs(cell.outputs, folder, f"{name}-{number}")]
        title, _, rest = parts[0].partition("\n")
        _write(folder / f"{name}.md", "\n\n".join([title, _NOTICE.format(command), rest, *parts[1:]]).encode())


def pack(path: Path) -> None:
    """Store the pictures of a notebook with a palette, at a quarter of their size."""
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                picture = base64.b64decode("".join(data["image/png"]))
                data["image/png"] = base64.b64encode(packed(picture)).decode()
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def _outputs(outputs: list[Mapping[str, Any]], folder: Path, name: str) -> Iterator[str]:
    """Yield what a cell showed, as Markdown: the first of what a browser would take."""
    for number, output in enumerate(outputs):
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "application/vnd.jupyter.widget-view+json" in data:
            continue  # sliders need a kernel
        if "image/png" in data:
            picture = folder / f"{name}-{number}.png"
            _write(picture, base64.b64decode(data["image/png"]))
            alt = output.get("metadata", {}).get("image/png", {}).get("alt", "")
            yield f"![{alt}]({picture.name})"
        elif "text/html" in data:
            html = re.sub(r"<style scoped>.*?</style>", "", data["text/html"], flags=re.DOTALL)
            html = re.sub(r"\n\s*\n", "\n", html)  # an empty line would end the HTML
            yield f'<div class="output">\n{html}\n</div>'
        elif "text/markdown" in data:
            yield data["text/markdown"]
        elif data["text/plain"].strip():
            yield f"```text\n{data['text/plain'].rstrip()}\n```"


def _write(path: Path, data: bytes) -> None:
    """Write a file if it is not so already: Sphinx reads again what is new."""
    if not path.exists() or path.read_bytes() != data:
        path.write_bytes(data)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        pack(Path(name))
