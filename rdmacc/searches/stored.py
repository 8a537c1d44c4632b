"""The file of a search's runs, a journal of Optuna's, from which the same search goes on after a kill.

Optuna's storage does not keep the state of a sampler, so a search is replayed: the sampler proposes the same values
again, and what was run with them is not run twice.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from rdmacc.errors import ConfigError
from rdmacc.handlers import content_hash
from rdmacc.searches.evaluate import Run
from rdmacc.searches.space import Values, text_of
from rdmacc.sweep.codehash import text_of_results, versions


class Stored:
    """The runs of a search by their values; with a path, each once in a file, in a study of Optuna's of its sampler."""

    def __init__(self, path: str | Path | None, what: Any) -> None:
        self._known: dict[str, Run] = {}
        self._studies: dict[str, Any] = {}
        self._storage = None if path is None else _storage(Path(path))
        if self._storage is None:
            return
        parts = (content_hash(what, "search", is_row=True), text_of_results(), repr(versions()))
        self._hash = hashlib.sha256("".join(parts).encode()).hexdigest()[:16]
        for study in self._storage.get_all_studies():
            if not study.study_name.endswith(self._hash):
                raise ConfigError("storage", str(path), "the file of the same search with the same code, or a new file")
            for trial in self._storage.get_all_trials(study._study_id, deepcopy=False):
                self._note(Run(**trial.user_attrs["run"]))

    def _note(self, run: Run) -> None:
        self._known[text_of(run.values)] = replace(run, objectives=tuple(run.objectives))

    def get(self, number: int, values: Values) -> Run | None:
        one = self._known.get(text_of(values))
        return None if one is None else replace(one, number=number, values=values)

    def keep(self, run: Run, trial: Any, study: Any, sampler: str) -> None:
        """Write a trial of a study in memory, which has ended."""
        from optuna import create_study

        self._note(run)
        if self._storage is not None:
            if sampler not in self._studies:
                self._studies[sampler] = create_study(
                    storage=self._storage, study_name=f"{sampler} {self._hash}", directions=study.directions,
                    load_if_exists=True,
                )  # fmt: skip
            self._studies[sampler].add_trial(trial)


def _storage(path: Path) -> Any:
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

    try:
        if path.exists():
            known = path.read_bytes()
            if known and not known.startswith(b'{"op_code"'):
                raise ValueError("it is something else")
            os.truncate(path, known.rfind(b"\n") + 1)  # without the last line of a search that was killed
        at = str(path.resolve())  # the lock, which a killed search leaves, is a link that must lead to the file
        return JournalStorage(JournalFileBackend(at, JournalFileSymlinkLock(at, grace_period=3)))
    except (OSError, ValueError) as error:
        raise ConfigError("storage", str(path), f"a journal of Optuna's that can be written ({error})") from None
