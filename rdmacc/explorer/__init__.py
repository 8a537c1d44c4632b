"""The explorer: a small scenario, one to three schemes, their parameters as sliders, run as one drags."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rdmacc.errors import not_installed
from rdmacc.explorer.setup import Setup

__all__ = ["Setup", "explore", "page", "serve"]


def explore(setup: Setup | None = None, **changes: Any) -> Any:
    """Show the explorer in a notebook.

    Parameters
    ----------
    setup : Setup, optional
        Where to start.
    **changes
        Fields of `Setup`, such as ``schemes=("dcqcn", "hpcc")``.

    Returns
    -------
    ipywidgets.Widget
        What the notebook shows.

    Raises
    ------
    ConfigError
        If a value is not allowed, or ipywidgets is not installed.
    """
    from dataclasses import fields, replace

    from rdmacc.errors import unknown
    from rdmacc.explorer.widgets import Explorer

    known = [one.name for one in fields(Setup)]
    for name in changes:
        if name not in known:
            raise unknown("explore", name, known, "a field of Setup")
    return Explorer(replace(setup or Setup(), **changes)).view


def page() -> Any:
    """Show the schemes' and the models' explorer, a tab for each: what ``rdmacc explore`` serves.

    Returns
    -------
    ipywidgets.Widget
        What the browser shows.

    Raises
    ------
    ConfigError
        If ipywidgets is not installed.
    """
    from rdmacc.explorer.models import ModelExplorer

    schemes = explore()
    widgets: Any = import_module("ipywidgets")
    return widgets.Tab([schemes, ModelExplorer().view], titles=("Schemes", "Models"))


def serve(port: int = 8866, *, opens_browser: bool = True) -> int:
    """Serve the explorer on this machine until Ctrl-C or SIGTERM, in a page without code; call it from the main thread.

    Parameters
    ----------
    port : int
        Where to.
    opens_browser : bool
        Open it in the browser.

    Returns
    -------
    int
        Exit code of the server.

    Raises
    ------
    ConfigError
        If Voila is not installed.
    """
    if find_spec("voila") is None:
        raise not_installed("explore", "voila", "explorer")
    notebook: Any = import_module("nbformat.v4")
    cell = notebook.new_code_cell("from rdmacc.explorer import page\npage()")
    title = notebook.new_markdown_cell("# rdmacc explorer")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explorer.ipynb"
        path.write_text(notebook.writes(notebook.new_notebook(cells=[title, cell])))
        command = [sys.executable, "-m", "voila", str(path), f"--port={port}", "--VoilaConfiguration.theme=light"]
        if not opens_browser:
            command.append("--no-browser")
        before = signal.signal(signal.SIGTERM, _leave)
        try:
            return subprocess.run(command, check=False).returncode
        except KeyboardInterrupt:
            return 0
        finally:
            signal.signal(signal.SIGTERM, before)


def _leave(number: int, frame: Any) -> None:
    """End by an exception, which ends the server too: it would outlive this process."""
    sys.exit(128 + number)
