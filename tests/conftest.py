"""Shared by all tests: the engines they run on, clean-up, and Hypothesis profiles."""

import gc
import os
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

os.environ.setdefault("MPLBACKEND", "Agg")
gc.set_threshold(20_000, 20, 20)
"""Collect garbage less often: simulations leave few cycles, and searching for them would take 6% of the time."""


def pytest_collection_finish() -> None:
    """Keep the collector away from objects that live to the end: a million in modules and tests."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how long commands took, as recorded by their tests."""
    reports = terminalreporter.stats.get("passed", ())
    took = [str(value) for report in reports for name, value in report.user_properties if name == "took"]
    if took:
        terminalreporter.section("time taken")
        terminalreporter.write_line("\n".join(took))


ENGINES = ["simpy", "compiled"]
"""Every test that simulates runs once on each of these."""

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "ci", derandomize=True, max_examples=25, deadline=None, suppress_health_check=_QUIET, database=None
)
_NO_SHRINKING = (Phase.explicit, Phase.generate)
settings.register_profile("few", settings.get_profile("ci"), max_examples=8, phases=_NO_SHRINKING)
settings.register_profile("nightly", max_examples=1000, deadline=None, suppress_health_check=_QUIET, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True, scope="session")
def _store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep computed points apart from the user's, in a folder shared by all workers: each is computed once."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RDMACC_STORE_DIR", str(folder / "points"))
        yield


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session", params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return request.param
