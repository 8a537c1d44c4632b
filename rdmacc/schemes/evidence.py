"""A scheme's parameters as rows, with the class of evidence for each value, inferred from the words of its source."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rdmacc.interface import Links, Parameters, Scaled

if TYPE_CHECKING:
    from rdmacc.schemes.composition import Scheme

CLASSES = {
    "measured": "measured on hardware by the source",
    "vendor": "a vendor's manual, driver or library has it",
    "paper": "a paper, a standard or an RFC states it",
    "declared": "another simulator's code has it; without a source, it leaves a feature off",
    "assumed": "the source is silent: ours, with the reason",
}
"""Classes of evidence, strongest first."""

_WORDS = (
    ("assumed", r"\bassumed\b"),
    ("measured", r"\btestbed\b|\bmeasured\b"),
    ("vendor", r"Mellanox|NVIDIA|NCCL_|LLNL|HomaModule|\bLinux\b|Megatron|\bmrc_ctl"),
    (
        "declared",
        r"^$|htsim|ns-?[23]|simulator|rdma-hw|YAPS|HomaSimulation|HomaL4|astra-sim|class default|the same file"
        r"|\.(cc|cpp|h|py|tcl|txt)\b|run/params|\b[A-Z0-9]+_[A-Z_]+\b",
    ),
)


def evidence_of(source: str) -> str:
    """Return the class of evidence of a value's first source, or "assumed" if any part is."""
    if re.search(_WORDS[0][1], source):
        return "assumed"
    first = source.partition(";")[0]
    return next((name for name, pattern in _WORDS[1:] if re.search(pattern, first)), "paper")


def parameter_rows(scheme: Scheme, sources: Mapping[str, str], links: Links | None) -> list[dict[str, Any]]:
    """Return the rows of `rdmacc.schemes.scheme_table`; with `links`, values are scaled to these links."""
    rows = []
    for part in (*scheme.components, scheme.buffer, scheme.queueing, scheme):
        for field in dataclasses.fields(part):  # type: ignore[arg-type]
            if "doc" in field.metadata:
                component, current = type(part).__name__, getattr(part, field.name)
                row = {"component": component, "parameter": field.name, "value": current}
                row |= {key: field.metadata[key] for key in ("unit", "symbol", "source", "doc")}
                row["source"] = sources.get(f"{component}.{field.name}", row["source"])
                row["evidence"] = evidence_of(row["source"])
                row["scaled"] = _rule(part, field.name)
                if links is not None and row["scaled"] is not None:
                    row["value"] = row["scaled"].on(links, scheme.payload_bytes)
                rows.append(row)
    return rows


def _rule(part: Parameters, name: str) -> Scaled | None:
    """Return how a parameter scales with the network: by a rule, by its component's `reference_bps`, or both."""
    value = getattr(part, name)
    rule = value if isinstance(value, Scaled) else None
    reference = getattr(part, "reference_bps", 0.0) if name in getattr(part, "at_reference", ()) else 0.0
    if reference:
        given = Scaled(value).to_dict() if rule is None else rule.to_dict()
        rule = Scaled(**{**given, "rate": reference})
    return rule
