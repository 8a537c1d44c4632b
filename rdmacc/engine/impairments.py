"""Faults that last for a whole run, in numbers: random and scripted losses, and clock offsets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc.chance import uniform
from rdmacc.engine.numbering import message_number
from rdmacc.errors import ConfigError
from rdmacc.faults import Clocks, Fault, Loss, ScriptedLoss
from rdmacc.topology.fabric import Fabric
from rdmacc.units import time_ps


def scripts_of(faults: Sequence[Fault], frame: pd.DataFrame) -> tuple[ScriptedLoss, ...]:
    """Return scripted losses by message number instead of by row, since rows of computation are not messages."""
    scripts = (fault for fault in faults if isinstance(fault, ScriptedLoss))
    return tuple(
        replace(script, message=message_number(frame, script.message, "ScriptedLoss.message")) for script in scripts
    )


def clocks_of(fabric: Fabric, faults: Sequence[Fault], key: int) -> tuple[npt.NDArray[np.int64], int]:
    """Return the offset of each host's clock and the jitter of a reading, ps."""
    offsets = np.zeros(fabric.n_nodes, np.int64)
    jitter = 0
    for clocks in (fault for fault in faults if isinstance(fault, Clocks)):
        for node in fabric.hosts.tolist():
            side = 2.0 * uniform(key, node) - 1.0
            offsets[node] = int(side * time_ps(clocks.offset_ps, bare_ps=True))
        jitter = time_ps(clocks.jitter_ps, bare_ps=True)
    return offsets, jitter


def losses_of(fabric: Fabric, faults: Sequence[Fault]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the probabilities that each port loses a data packet and a control packet."""
    survives = np.ones((2, fabric.n_ports))
    for fault in faults:
        if not isinstance(fault, Fault):
            kinds = ", ".join(f"a {kind.__name__}" for kind in get_args(Fault))
            raise ConfigError("faults", fault, f"one of {kinds}")
        if not isinstance(fault, Loss):
            continue
        ports = list(range(fabric.n_ports)) if fault.links is None else [fabric.port(*link) for link in fault.links]
        survives[0, ports] *= 1.0 - fault.data
        survives[1, ports] *= 1.0 - fault.control
    return 1.0 - survives[0], 1.0 - survives[1]
