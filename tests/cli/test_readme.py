"""The README's table of commands: each runs to its end as a process, those that take minutes at night."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path

import pytest

from rdmacc.cli.main import app
from rdmacc.experiments import select
from rdmacc.experiments.framework.papers import PAPERS

ROOT = Path(__file__).parents[2]
DEADLINE_S = {"seconds": 300, "minutes": 3600}
"""Far longer than they take: CI machines are slow, and the first run compiles."""


def commands():
    """Return (command, "seconds" or "minutes"), in the README's order."""
    rows = re.findall(r"^\| (`rdmacc [^|]*`) \|[^|]*\| (\w+) \|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    return [(command, takes) for cell, takes in rows for command in re.findall(r"`([^`]+)`", cell)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder and one store for all commands: ``plot`` draws what ``run`` has computed."""
    return tmp_path_factory.mktemp("readme")


def test_the_table_has_every_command():
    named = {command.split()[1] for command, _ in commands()}
    known = {one.name or one.callback.__name__.replace("_", "-") for one in app.registered_commands}
    assert known - named == {"readings"}
    assert set(dict(commands()).values()) == DEADLINE_S.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "takes"),
    [pytest.param(*one, id=one[0], marks=pytest.mark.nightly if one[1] == "minutes" else ()) for one in commands()],
)
def test_a_command_of_the_readme_runs_to_its_end(folder, record_property, command, takes):
    if command == "rdmacc plot igbn.fig3":  # other pytest workers may have started more
        run(folder, "rdmacc run igbn.fig3", DEADLINE_S["seconds"])
    begin = time.monotonic()
    if command == "rdmacc explore":
        explore(folder)
    else:
        run(folder, command, DEADLINE_S[takes])
    record_property("took", f"{command}: {time.monotonic() - begin:.1f} s")
    if command == "rdmacc reproduce":
        drawn = {path.name.removesuffix(".svg") for path in (folder / "report" / "figures").glob("*.svg")}
        assert drawn == {one.name for paper in PAPERS for one in select(paper)}


def started(folder, command, *more):
    arguments = [sys.executable, "-m", "rdmacc", *command.split()[1:], *more]
    environment = os.environ | {"MPLBACKEND": "Agg", "RDMACC_STORE_DIR": str(folder / "store")}
    out, err = subprocess.PIPE, subprocess.STDOUT
    return subprocess.Popen(arguments, cwd=folder, env=environment, stdout=out, stderr=err, text=True)


def run(folder, command, deadline_s):
    with started(folder, command) as process:
        try:
            text, _ = process.communicate(timeout=deadline_s)
        finally:
            process.kill()
    assert process.returncode == 0, text[-5000:]


def explore(folder):
    if find_spec("voila") is None:
        pytest.skip("no voila")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with started(folder, "rdmacc explore", "--no-browser", "--port", str(port)) as process:
        try:
            link = process.stdout.readline().split()[-1]
            until = time.monotonic() + DEADLINE_S["seconds"]
            while not (is_there := answers(port, link)) and process.poll() is None and time.monotonic() < until:
                time.sleep(0.2)
            assert is_there
            process.send_signal(signal.SIGTERM)
            process.stdout.read()
            assert process.wait(60) == 128 + signal.SIGTERM  # background processes ignore Ctrl-C
        finally:
            process.kill()


def answers(port, link):
    connecting = closing(HTTPConnection("127.0.0.1", port, timeout=DEADLINE_S["seconds"]))
    with suppress(OSError, HTTPException), connecting as connection:
        connection.request("GET", link.partition(str(port))[2])
        return connection.getresponse().status in (200, 302)
    return False
