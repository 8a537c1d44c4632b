"""Independent copies of a simulation: forks, and checkpoints in files."""

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rdmacc.engine import checkpoints
from rdmacc.engine.plan import checked_seed
from rdmacc.engine.select import load_engine
from rdmacc.engine.swap import check_swap
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.faults import Fault, LinkDown, PauseStorm, SlowLink
from rdmacc.simulation.running import Running
from rdmacc.units import time_ps

_log = logging.getLogger(__name__)
_S = TypeVar("_S", bound=Running)


def forked(one: _S, faults: Sequence[Fault], parameters: Mapping[str, Any], seed: int | None) -> _S:
    """Return an independent copy, with new faults, parameters or random numbers from now on."""
    if not isinstance(faults, Sequence):
        raise ConfigError("faults", faults, "a list")
    if not isinstance(parameters or {}, Mapping):
        raise ConfigError("parameters", parameters, "a mapping from parameter name to value")
    one._note_plan()
    twin = type(one).__new__(type(one))
    vars(twin).update(vars(one))
    twin._sent, plan = one._sent.copy(), one.plan
    if len(faults):
        for number, fault in enumerate(faults):
            allowed = "a LinkDown, SlowLink or PauseStorm that begins now or later"
            if not isinstance(fault, LinkDown | SlowLink | PauseStorm):
                raise ConfigError(f"faults[{number}]", fault, allowed)
            if time_ps(fault.at_ps, bare_ps=True) < max(one.now_ps, 1):
                raise ConfigError(f"faults[{number}].at_ps", fault.at_ps, f"{allowed}, at {one.now_ps} ps")
        named = one._plan_of.keywords
        twin._plan_of = partial(one._plan_of, faults=(*named["faults"], *faults))
    changes: dict[str, Any] = {}
    if parameters:
        changes["scheme"] = one._plan_of.keywords["scheme"].given(parameters)
    if seed is not None:
        changes["chance_seed"] = checked_seed(seed)
        twin._sent.draw_anew()
    twin._plan_of = partial(twin._plan_of, **changes)
    if len(faults) or changes:
        plan = twin.plan = twin._plan_of(one._sent.work())
    if parameters:
        check_swap(one.plan, plan, parameters)
        twin._repeats = None  # it has run under two schemes
    if "_progress" in vars(one):
        twin._progress = copy(one._progress)
        twin._progress._plan = plan  # copies leave it out, as pickles do
    twin._fault_events = one._fault_events.copy(plan, one.now_ps)
    twin.engine = one.engine.fork(plan)
    return twin


def save(one: Running, path: str | Path) -> None:
    """Write a checkpoint."""
    one._note_plan()
    skipped = "plan", "engine", "_after_step"
    own = {name: value for name, value in vars(one).items() if name not in skipped}
    scheme = one._plan_of.keywords["scheme"]
    state = {"scheme": scheme, "own": own, "engine": one.engine.saved(one.plan), "scenario": _scenario(one)}
    checkpoints.write(path, scheme, state)


def loaded(kind: type[_S], state: dict[str, Any]) -> _S:
    """Return the simulation that a checkpoint holds."""
    simulation = kind.__new__(kind)
    vars(simulation).update(state["own"])
    plan = simulation.plan = simulation._plan_of(simulation._sent.work())
    simulation._fault_events._plan = plan
    if "_progress" in vars(simulation):
        simulation._progress._plan = plan
    simulation.engine = load_engine(plan, state["engine"])
    return simulation


def _scenario(one: Running) -> str:
    """Return a hash of a scenario that does not depend on how far it has run."""
    plan = one.plan
    work, given = one._sent.frame(one._sent.first), one._plan_of.keywords
    parts = [plan.fabric.names, plan.fabric.port_peer.tolist(), plan.fabric.port_rate_bps.tolist()]
    parts += [plan.fabric.port_delay_ps.tolist(), plan.fabric.buffer_bytes.tolist(), work.to_dict("list")]
    return hashlib.sha256(repr((parts, sorted(given.items()))).encode()).hexdigest()


@typed
def resumed(one: _S, checkpoint: str | Path, every: float | str) -> _S:
    """Return a simulation that writes checkpoints, restored from the file if it exists."""
    every_s, simulation, part = checkpoints.seconds(every), one, checkpoints.part_of(checkpoint)
    try:
        part.touch()
        part.unlink()
    except OSError as error:
        raise ConfigError("checkpoint", str(checkpoint), f"a file that can be written ({error})") from None
    if Path(checkpoint).exists():
        state = checkpoints.read(checkpoint)
        if state["scenario"] != _scenario(one):
            raise ConfigError("checkpoint", str(checkpoint), "of this scenario, or a file that is not there yet")
        simulation = loaded(type(one), state)
    elif one.engine.name != "compiled":
        one.engine.saved(one.plan)
    simulation._after_step = Regular(checkpoint, every_s)
    return simulation


class Regular:
    """Writes a checkpoint whenever one is due; a full disk does not stop the run."""

    def __init__(self, path: str | Path, every_s: float) -> None:
        self._path, self._every_s, self._due_s = path, every_s, time.monotonic() + every_s

    def __call__(self, one: Running) -> None:
        """Write a checkpoint if one is due."""
        if time.monotonic() >= self._due_s:
            try:
                save(one, self._path)
            except OSError as error:
                _log.warning("rdmacc: no checkpoint could be written: %s", error)
            self._due_s = time.monotonic() + self._every_s
