"""The compiled engine's plain kernel: it lacks rare features, and runs where none of them is used."""

from typing import Any

import pytest

import rdmacc
from rdmacc.engine.compare import differences
from rdmacc.engine.compiled.engine import CompiledEngine
from rdmacc.engine.compiled.machine_code.build import compiled_kernel, noting_kernel
from rdmacc.engine.compiled.machine_code.plain import FEATURES
from rdmacc.faults import Clocks, Loss, ScriptedLoss
from rdmacc.simulation import Simulation

ASK: dict[str, dict[str, Any]] = {
    "tick_ps": {"scheme": {"tick_ps": "1ns"}},
    "has_scanning_nics": {"scheme": {"tick_ps": "1ns"}},
    "n_changes": {"probes": (rdmacc.probes.queue("s0", "h0"),)},
    "n_scripts": {"faults": (ScriptedLoss(message=0, psn=3),)},
    "has_clocks": {"faults": (Clocks(jitter_ps="1ns"),)},
    "has_paths": {"workload": {"path": "h1 s0 h0"}},
    "wrr_ratio": {"scheme": {"Queueing.wrr_ratio": 10}},
    "has_limits": {"scheme": {"Queueing.control_limit_bytes": "100kB"}},
    "credit_fraction": {"scheme": {"Queueing.credit_fraction": 0.05}},
    "returns_headers": {"scheme": {"Queueing.control_limit_bytes": "100kB", "Queueing.returns_headers": True}},
}
"""How a user asks for each feature."""


def incast(
    scheme: str = "dcqcn", changed: dict[str, Any] | None = None, columns: dict[str, Any] | None = None, **options: Any
) -> CompiledEngine:
    """Return the engine of a small incast, not yet run."""
    work = rdmacc.incast(["h1"], "h0", "50kB").assign(**columns or {})
    chosen = rdmacc.scheme(scheme).replace(**changed or {})
    simulation = Simulation(rdmacc.star(4), work, chosen, engine="compiled", **options)
    assert isinstance(simulation.engine, CompiledEngine)
    return simulation.engine


def ask_for(feature: str) -> CompiledEngine:
    """Return the engine of an incast that uses a feature."""
    options = dict(ASK[feature])
    return incast(changed=options.pop("scheme", None), columns=options.pop("workload", None), **options)


def is_plain(engine: CompiledEngine) -> bool:
    """Whether the plain kernel runs."""
    kernel = compiled_kernel()
    assert engine._run in (kernel.run, kernel.run_plain)
    return engine._run is kernel.run_plain


@pytest.mark.parametrize("feature", FEATURES)
def test_who_uses_a_feature_runs_the_kernel_that_has_it(feature):
    engine = ask_for(feature)
    assert engine.globals[feature]
    assert not is_plain(engine)


@pytest.mark.parametrize("options", [{"trace": True}, {"explain": True}])
def test_only_the_kernel_that_notes_keeps_a_trace(options):
    """With other features or without them."""
    counts = []
    for kernel in (noting_kernel(), compiled_kernel()):
        for run in (kernel.run, kernel.run_plain):
            engine = incast(**options)
            assert engine._run is noting_kernel().run_plain
            engine._run = run
            engine.run(10**12)
            counts.append(int(engine.globals["trace_count"]))
    assert counts[0] > 0
    assert counts == [counts[0], counts[0], counts[0], 0]


@pytest.mark.parametrize("name", ["dcqcn", "dart", "homa", "improved-go-back-n"])
def test_the_two_kernels_agree_where_nothing_is_used(name):
    outcomes = []
    for run in (compiled_kernel().run, compiled_kernel().run_plain):
        engine = incast(name, faults=(Loss(data=0.02),))
        engine._run = run
        engine.run(10**12)
        outcomes.append(engine.outcome())
    assert outcomes[0].ports["lost_packets"].sum() > 0
    assert not differences(*outcomes)
