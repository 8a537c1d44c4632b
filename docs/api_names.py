"""Lists what users import, by what it is for: each name with its first sentence and a link to its full description."""

import inspect
from collections import defaultdict

import rdmacc

_TITLES = {
    "simulation": "Run", "sweep": "Compare runs", "models": "Compare runs",
    "clusters": "Ask about a cluster", "topology": "Networks", "workload": "Workloads", "formats": "Files of others",
    "schemes": "Schemes and parameters", "presets": "Schemes and parameters",
    "interface": "Schemes and parameters", "switch": "Schemes and parameters",
    "probes": "Probes and faults", "faults": "Probes and faults", "results": "Results", "engine": "Results",
    "searches": "Search", "explorer": "Run", "errors": "Errors",
}  # fmt: skip
"""The section of what a subpackage defines."""


def api_text() -> str:
    """Return a section with a table for each purpose, as Markdown: functions first."""
    rows = defaultdict(list)
    for name in sorted(rdmacc.__all__, key=lambda name: inspect.isclass(getattr(rdmacc, name))):
        one = getattr(rdmacc, name)
        if not (inspect.isclass(one) or inspect.isfunction(one)):
            continue
        words = (inspect.getdoc(one) or "").split("\n\n")[0].replace("\n", " ").partition(". ")[0].rstrip(".:")
        kind = "class" if inspect.isclass(one) else "func"
        link = f"{{py:{kind}}}`rdmacc.{name} <{one.__module__}.{one.__qualname__}>`"
        rows[_TITLES[one.__module__.split(".")[1]]].append(f"| {link} | {words.replace('|', ' or ')}. |")
    order = dict.fromkeys(_TITLES.values())
    return "\n\n".join("\n".join([f"## {title}", "", "| name | |", "|---|---|", *rows[title]]) for title in order)
