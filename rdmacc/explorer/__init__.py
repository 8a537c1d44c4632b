"""The explorer: a small scenario with one to three schemes, rerun as sliders for their parameters move."""

from __future__ import annotations

import gc
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rdmacc.caching.sources import run_file
from rdmacc.errors import ConfigError, not_installed
from rdmacc.explorer.setup import Setup

__all__ = ["Setup", "explore", "page", "serve"]

_HOST = "127.0.0.1"
_STARTING = """<style>body:has(img.widget-image) .starting { display: none }
select { text-overflow: ellipsis }
.cells :is(th, td) { padding: 1px 5px !important; vertical-align: bottom }
@media (max-width: 30rem) { .widget-slider:has(> label[style*="13em"]) { flex-wrap: wrap; height: auto }
label[style*="13em"] { width: 100% !important; text-align: left !important }
.widget-box > .widget-slider:has(> label[style*="13em"]) + .widget-html { margin-left: 0 !important }
.picture-first { order: -1 }
.cells { font-size: 72% !important }
.cells :is(th, td) { padding: 1px 3px !important } }</style>
<p class="starting">The first picture takes a few seconds, after an installation half a minute.</p>"""
_CULL_S = 60
"""A kernel without a connected page ends after this time; closing a page ends its kernel at once."""
_SERVER = """
import sys
from traitlets.config import Config
from voila.app import Voila
path, port, token = sys.stdin.read().split("\\n")
config = Config()
config.Voila.update(
    ip="{host}", port=int(port), port_retries=0, token=token, open_browser=False, log_level="ERROR",
    tornado_settings={{"allow_remote_access": False, "local_hostnames": ["localhost"]}},
)
config.VoilaConfiguration.theme = "light"
config.MappingKernelManager.update(cull_idle_timeout={cull_s}, cull_interval=min(10, {cull_s}))
Voila.launch_instance([path], config=config)
"""


def explore(setup: Setup | None = None, **changes: Any) -> Any:
    """Show the explorer in a notebook.

    Parameters
    ----------
    setup : Setup, optional
        Initial setup.
    **changes
        Fields of `Setup`, such as ``schemes=("dcqcn", "hpcc")``.

    Returns
    -------
    ipywidgets.Widget
        The widget for the notebook.
    """
    from rdmacc.explorer.widgets import Explorer

    if setup is not None and not isinstance(setup, Setup):
        raise ConfigError("setup", setup, "a Setup")
    return Explorer((setup or Setup()).replace(**changes)).view


def page(files: Sequence[str] = ()) -> Any:
    """Show the explorers of schemes and models, in two tabs, as served by ``rdmacc explore``."""
    for file in files:
        run_file(file)
    from rdmacc.explorer.widgets import Explorer

    widgets: Any = import_module("ipywidgets")
    tab = widgets.Tab([Explorer(Setup()).view, widgets.VBox()], titles=("Schemes", "Models"))

    def show_models(_: Any) -> None:  # importing the models takes a second
        from rdmacc.explorer.models import ModelExplorer

        tab.unobserve(show_models, names="selected_index")
        tab.children[1].children = [ModelExplorer().view]

    tab.observe(show_models, names="selected_index")
    gc.freeze()  # otherwise garbage collection scans the imported modules and doubles every tenth step or so
    return tab


def serve(files: Sequence[Path] = (), port: int = 8866, *, opens_browser: bool = True) -> int:
    """Serve the explorer until Ctrl-C or SIGTERM, in a page without code; call it from the main thread.

    The page is reachable only from this machine, and only through the printed link, which has a token. Requests that
    name another host or come from another site's page are rejected. Each visitor has a separate kernel, which ends with
    the visit.
    """
    if find_spec("voila") is None:
        raise not_installed("explore", "voila", "explorer")
    for file in files:
        if file.suffix != ".py" or not file.is_file():
            raise ConfigError("file", str(file), "a Python file")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            raise ConfigError("--port", port, "a free port; another process listens on it") from None
    token = secrets.token_urlsafe(24)
    link = f"http://{_HOST}:{port}/?token={token}"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "explorer.ipynb"
        path.write_text(_notebook([str(file.resolve()) for file in files]))
        before = signal.signal(signal.SIGTERM, _leave)
        try:
            command = [sys.executable, "-c", _SERVER.format(host=_HOST, cull_s=_CULL_S)]
            server = subprocess.Popen(command, stdin=subprocess.PIPE, text=True)
            try:
                assert server.stdin is not None
                server.stdin.write(f"{path}\n{port}\n{token}")  # not on the command line, which other users can read
                server.stdin.close()
                print(f"rdmacc explorer: {link}\nCtrl-C ends it.", flush=True)  # noqa: T201 - the link is for people
                if opens_browser and _answers(server, port):
                    import webbrowser

                    webbrowser.open(link)
                return server.wait()
            finally:
                server.terminate()
                server.wait()
        except KeyboardInterrupt:
            return 0
        finally:
            signal.signal(signal.SIGTERM, before)


def _notebook(files: list[str]) -> str:
    notebook: Any = import_module("nbformat.v4")
    cell = notebook.new_code_cell(f"from rdmacc.explorer import page\npage({files!r})")
    title = notebook.new_markdown_cell(f"# rdmacc explorer\n\n{_STARTING}")
    text: str = notebook.writes(notebook.new_notebook(cells=[title, cell]))
    return text


def _answers(server: subprocess.Popen[str], port: int) -> bool:
    """Wait until the server accepts connections; return False if it has ended."""
    import time

    while server.poll() is None:
        try:
            with socket.create_connection((_HOST, port), 1):
                return True
        except OSError:
            time.sleep(0.1)
    return False


def _leave(number: int, frame: Any) -> None:
    """Raise an exception, so that the server ends too and does not outlive this process."""
    sys.exit(128 + number)
