"""``rdmacc explain``: run a scenario and say why a message took as long as it did."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import rdmacc
from rdmacc.errors import ConfigError
from rdmacc.scenario import Scenario
from rdmacc.show.style import save


def example() -> Scenario:
    network = partial(rdmacc.star, 9)
    return Scenario(network=network, workload=rdmacc.incast(8, "h0", "300kB", hosts=network()), scheme="dctcp")


def explanation(scenario: Scenario, message: str | None, path: Path | None) -> Iterator[str]:
    """Run a scenario and yield the explanation of a message, by default the slowest; then draw it into a file."""
    result = scenario.simulation(probes=(), explain=scenario.explain or True).run(scenario.until)
    labels = {str(label): label for label in result.flows["flow"]}
    if message is None:
        explained = result.flows[result.plan.explained]
        message = str(explained.sort_values("slowdown", ascending=False)["flow"].iloc[0])  # missing ones last
    if message not in labels:
        raise ConfigError("--message", message, f"a message of the workload, such as {next(iter(labels))}")
    yield str(result.explain(labels[message]))
    if path is not None:
        figure: Any = result.plot.explain(labels[message]).figure
        yield f"\nSaved {save(figure, path)}"
