"""The file of a search's runs, from which the same search goes on after a kill."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from rdmacc.errors import ConfigError
from rdmacc.searches.evaluate import Run
from rdmacc.searches.space import Values, text_of
from rdmacc.sources import user_sources
from rdmacc.sweep.codehash import text_of_results, versions


class Stored:
    """The file of runs: a line that identifies the search, and a line for each run."""

    def __init__(self, path: str | Path | None, what: str) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, Run] = {}
        if self._path is None:
            return
        head = _identity(what)
        try:
            if not self._path.exists():
                self._path.write_text(head + "\n", encoding="utf-8")
                return
            lines = self._path.read_text(encoding="utf-8").splitlines()
        except OSError as error:
            raise ConfigError("storage", str(path), f"a file that can be written ({error})") from None
        if lines[:1] != [head]:
            raise ConfigError("storage", str(path), "the file of the same search with the same code, or a new file")
        for line in lines[1:]:
            try:
                one = Run(**json.loads(line))
            except ValueError:  # the last line of a search that was killed
                continue
            self._known[text_of(one.values)] = replace(one, objectives=tuple(one.objectives))
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n")

    def get(self, number: int, values: Values) -> Run | None:
        one = self._known.get(text_of(values))
        return None if one is None else replace(one, number=number, values=values)

    def keep(self, run: Run) -> None:
        self._known[text_of(run.values)] = run
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(vars(run)) + "\n")


def _identity(what: str) -> str:
    """Return a hash of what is searched, of rdmacc's code, of the user's modules, and of what numbers may depend on."""
    parts = [what, text_of_results(), repr(versions())]
    parts += [f"{name}{text}" for name, text in sorted(user_sources().items())]
    return json.dumps({"search": hashlib.sha256("\0".join(parts).encode()).hexdigest()})
