"""What a parameter's value rests on: a class of evidence, read from the words of its source."""

import re

CLASSES = {
    "measured": "measured on hardware by the source",
    "vendor": "a vendor's manual, driver or library has it",
    "paper": "a paper, a standard or an RFC states it",
    "declared": "another simulator's code has it; without a source, it leaves a feature off",
    "assumed": "the source is silent: ours, with the reason",
}
"""Strongest first."""

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
    """Return the class of a value's evidence: of what the source names first, if it names several things.

    An assumption counts wherever it stands, since the value is then not the source's alone.
    """
    if re.search(_WORDS[0][1], source):
        return "assumed"
    first = source.partition(";")[0]
    return next((name for name, pattern in _WORDS[1:] if re.search(pattern, first)), "paper")
