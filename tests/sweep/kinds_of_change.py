"""Kinds of change that no stored row may outlive, and processes that sweep and study before and after each.

Each kind is a few files in which a number changes from 1 to 2. `value()` of ``mine.py`` returns it to an experiment's
measurement and to a scheme's handler. Run as a script: ``kinds_of_change.py FOLDER KIND...``. The script imports rdmacc
once; every run is a fork that imports and executes the kind's files as a new process would.
"""

import json
import os
import sys
from pathlib import Path
from types import ModuleType

MINE = """
from dataclasses import dataclass, replace
import rdmacc
from rdmacc.experiments import Experiment, Point
from rdmacc.sweep.tidy import tidy

class Own(Experiment):
    name, title, description = "own", "Own", "Own"

    def points(self, scale="quick", seed=0):
        work = rdmacc.messages([("h1", "h0", "40kB")])
        return [Point(name="a", scenario=rdmacc.Scenario(network=rdmacc.star(3), workload=work, scheme="line-rate"))]

    def measure(self, point, result):
        return tidy(point.name, {"value": (value(), "")})

    def plot(self, table):
        return None

@dataclass(frozen=True, kw_only=True)
class Part(rdmacc.Component):
    class Sender(rdmacc.interface.Record):
        rate_bps = rdmacc.interface.Float()

    def on_open(params, qp, sender):
        sender.rate_bps = qp.line_bps / (1 + value())
"""
MAIN = """
import mine
one, scheme = mine.Own(), mine.Part()
"""
VALUE = "def value():\n    return {}\n"
HELPER = {"helper.py": "K = @"}

KINDS: dict[str, dict[str, str]] = {
    "a constant": {"mine.py": "K = @\n" + VALUE.format("K")},
    "a helper's helper": HELPER | {
        "middle.py": "import helper\ndef f():\n    return helper.K\n",
        "mine.py": "from middle import f\n" + VALUE.format("f()"),
    },
    "import inside a function": HELPER | {"mine.py": "def value():\n    from helper import K\n    return K\n"},
    "a dynamic import": HELPER | {
        "mine.py": "import importlib\ndef value():\n    return importlib.import_module('helper').K\n",
    },
    "an environment variable at import": {
        "mine.py": "import os\nK = int(os.environ['RDMACC_TEST_K'])\n" + VALUE.format("K"),
    },
    "a patched module": {
        "helper.py": "def k():\n    return 0\n", "mine.py": "import helper\n" + VALUE.format("helper.k()"),
        "main.py": "import helper\nhelper.k = lambda: @" + MAIN,
    },
    "rdmacc patched inside": {
        "mine.py": VALUE.format("rdmacc.interface.chance.hash63(1)"),
        "main.py": "import os, rdmacc.interface.chance\n"
        "def other(n, *more): return int(__import__('os').environ['RDMACC_TEST_K'])\n"
        "rdmacc.interface.chance.hash63.__code__ = other.__code__\n"
        "rdmacc.interface.chance.hash63.__defaults__ = None" + MAIN,
    },
    "an experiment's attribute": {
        "mine.py": "def value():\n    return 0\nclass Mine:\n    pass\n",
        "main.py": "import mine\nfrom rdmacc.sweep.tidy import tidy\nclass Own(mine.Own):\n"
        "    def measure(self, point, result):\n        return tidy(point.name, {'value': (self.k, '')})\n"
        "import os\none, scheme = Own(), mine.Part()\none.k = int(os.environ['RDMACC_TEST_K'])\n",
    },
    "a file loaded by its path": HELPER | {
        "mine.py": "import importlib.util\n"
        "def value():\n    s = importlib.util.spec_from_file_location('x', HERE + '/helper.py')\n"
        "    m = importlib.util.module_from_spec(s)\n    s.loader.exec_module(m)\n    return m.K\n",
    },
}  # fmt: skip

NOT_KEPT = {
    "a dynamic import", "a file loaded by its path", "rdmacc patched inside",
}  # fmt: skip
"""Kinds that cannot be detected are computed each time."""


def write(folder: Path, kind: str, number: int) -> None:
    """Write a kind's files before (1) or after (2) the change."""
    for name, text in ({"main.py": MAIN} | KINDS[kind]).items():
        if name == "mine.py":
            text = f"HERE = {str(folder)!r}\n{text}{MINE.replace('@', chr(0))}"
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("@", str(number)).replace("\x00", "@"))


def run(folder: Path, store: Path, number: int) -> dict[str, object]:
    """Execute the script in this process; return the results of sweep and study, and whether they were stored."""
    import rdmacc
    from rdmacc.caching import sources
    from rdmacc.sweep import sweep

    os.environ["RDMACC_TEST_K"] = str(number)
    sys.path.insert(0, str(folder))
    script = folder / "main.py"
    main = ModuleType("__main__")
    main.__file__ = str(script)
    sys.modules["__main__"] = main
    sources._TEXTS.pop("__main__", None)
    exec(compile(script.read_text(), script, "exec"), vars(main))
    made = vars(main)
    swept = sweep(made["one"], engine="simpy", store=store)
    found = {"value": int(swept.table["value"].iloc[0]), "reused": swept.reused}
    try:
        network, work = rdmacc.star(3), rdmacc.messages([("h1", "h0", "40kB")])
        scheme = rdmacc.scheme("go-back-n").replace(control=made["scheme"])
        study = rdmacc.study(network, work, {"own": scheme}, engine="simpy", store=store, progress=False)
        found |= {"fct_ps": int(study.runs["fct_mean_ps"].iloc[0]), "studied": study.reused}
    except rdmacc.ConfigError as error:  # handlers must not do this
        found["refused"] = str(error)
    return found


def forked(*given: object) -> dict[str, object]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            answer = json.dumps(run(*given))  # type: ignore[arg-type]
        except BaseException as error:
            import traceback

            answer = json.dumps({"error": f"{error!r} {traceback.format_exc()[-1500:]}"})
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text)


def main(root: Path, kinds: list[str]) -> dict[str, list[dict[str, object]]]:
    import rdmacc
    import rdmacc.experiments

    rdmacc.scheme("go-back-n")
    sys.dont_write_bytecode = True  # versions of equal size and second would be taken for the same
    found = {}
    for number, kind in enumerate(kinds):
        folder, store = root / str(number), root / f"{number}-store"
        runs = []
        for version in (1, 1, 2):
            write(folder, kind, version)
            runs.append(forked(folder, store, version))
        found[kind] = runs
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), sys.argv[2:])))
