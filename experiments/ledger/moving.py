"""Four animated networks for the report and the documentation: an incast, a pause storm, a detour, a failed link."""

from collections.abc import Callable, Container
from pathlib import Path
from typing import NamedTuple

from rdmacc import Scenario, faults, incast, leaf_spine, messages
from rdmacc.experiments.dart.fig06 import detour
from rdmacc.experiments.framework.reading import read_texts
from rdmacc.results.result import Result


class Scene(NamedTuple):
    """An animated network."""

    name: str
    title: str
    text: str
    """Caption."""
    figure: str
    """The figure whose page in the report shows it."""
    bin: str
    """Simulated time per frame."""
    scenario: Callable[[], Scenario]


def _incast() -> Scenario:
    senders = ["h1", "h2", "h4", "h5", "h6", "h7"]
    return Scenario(network=leaf_spine(2, 2, 4), workload=incast(senders, "h0", "200kB"), scheme="dcqcn")


def _storm() -> Scenario:
    work = messages([(f"h{i}", f"h{i + 4}", "300kB") for i in range(4)])
    storm = faults.PauseStorm(host="h4", at_ps="5us", until_ps="100us")
    network = leaf_spine(2, 1, 4, fabric_rate="400Gbps", buffer="600kB")
    return Scenario(network=network, workload=work, scheme="line-rate", faults=[storm])


def _detour() -> Scenario:
    bursts = [("S1", "D1", "30kB", "0us"), ("S1'", "D1", "30kB", "0us")]
    short = [("S2", "D2", "8kB", f"{start} us") for start in (4.4, 5.1, 5.8)]
    return Scenario(network=detour, workload=messages(bursts + short), scheme="dart", seed=1)


def _failure() -> Scenario:
    work = messages([(f"h{i}", f"h{i + 4}", "400kB") for i in range(4)])
    down = faults.LinkDown(link=("leaf0", "spine0"), at_ps="20us", until_ps="70us")
    return Scenario(network=leaf_spine(2, 2, 4), workload=work, scheme="irn", faults=[down])


SCENES = tuple(
    Scene(name=name, scenario=scenario, **read_texts(Path(__file__).with_name("scenes.toml"))[name])
    for name, scenario in {"incast": _incast, "storm": _storm, "detour": _detour, "failure": _failure}.items()
)


def write_scenes(folder: Path, figures: Container[str] | None = None) -> dict[str, Result]:
    """Simulate the scenes of the given figures, or all, write their pages into a folder, and return the results."""
    results = {}
    for scene in SCENES:
        if figures is None or scene.figure in figures:
            results[scene.name] = result = scene.scenario().run()
            result.animate(scene.bin).save(folder / f"{scene.name}.html")
    return results
