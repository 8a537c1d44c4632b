"""Import uet-htsim's lists of runs from a checkout: ``python -m rdmacc.experiments.validation.lists FOLDER``.

FOLDER is its `htsim/sim/datacenter`. Each run of `validate_outputs` becomes a row of `data/uet_htsim_runs.csv`: our
name for it, its results and bounds, the lists that have it, and how `rdmacc.formats.from_htsim` reads its matrix and
topology: "same" (the flows that we run), "others", or the field that it refuses.
"""

import re
import sys
from pathlib import Path

from rdmacc.errors import ConfigError
from rdmacc.experiments.validation import uet_htsim as ours
from rdmacc.formats import from_htsim
from ..api import *

MATRICES = {
    "one": "1 to 1", "bidir": "both ways", "incast": "15 to 1", "incast_128": "127 to 1",
    "incast_1024_100K": "1,023 to 1", "incast_3-1_overlapped": "3 to 1", "outcast_incast": "outcast",
    "perm_16n_16c_2MB": ours.SMALL_PERMUTATION, "perm_1024n_1024c_0u_2000000b": ours.PERMUTATION,
    "test_cr_1f1m10p": "10 packets", "test_cr_1f1m100p": "100 packets", "test_cr_1f10m1p": "10 messages of 1 packet",
    "test_cr_1f10m10p": "10 messages of 10 packets",
}  # fmt: skip
SCHEMES = {"-sender_cc_only": "nscc", "-receiver_cc_only": "rccc", "-sender_cc": "nscc-rccc"}
WORDS = {"-failed": "{} slow", "-load_balancing_algo": "{}", "-sack_threshold": "ACK each", "-q": "{} packets"}
_ENTRY = re.compile(
    r"Running \S+ -tm (\S+) (.*)\n(?:.* FCT (\S+) us for flow .* (\d+) us\n)?.*Tail FCT (\S+) us .* (\d+) us\n.*\n"
    r"FCT Spread (\S+) .*\n.* Rtx: (\d+) .* ACKs: (\d+) "
)


def case_of(matrix: str, options: str) -> str:
    given = dict(re.findall(r"(-\w+)(?: (?!-)(\S+))?", options))
    words = [text.format(given[name]) for name, text in WORDS.items() if name in given and given[name] != "mixed"]
    words += ["one value"] if given.get("-paths") == "1" else []
    words += ["8:1" if "8-1" in given["-topo"] else "4:1"] if "-topo" in given else []
    return ", ".join([MATRICES[Path(matrix).stem], *words])


def read(folder: Path, matrix: str, options: str, case: str) -> str:
    given = re.search(r"-topo (\S+)", options)
    try:
        found = from_htsim(
            folder / matrix, folder / given[1] if given else ours.NETWORKS[ours.network_of(case)]()
        ).workload
    except ConfigError as error:
        return error.field
    names = ["src", "dst", "size_bytes", "start_ps"]
    here, there = (one[names].sort_values(names).to_numpy().tolist() for one in (ours.flows_in(case), found))
    return "same" if here == there else "others"


def listed_runs(folder: Path) -> pd.DataFrame:
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for path in sorted((folder / "validate_outputs").glob("*.out"), reverse=True):
        name = path.stem.removeprefix("validate_")
        for matrix, options, one, one_bound, last, bound, first, again, acks in _ENTRY.findall(path.read_text()):
            case, scheme = case_of(matrix, options), next(SCHEMES[word] for word in options.split() if word in SCHEMES)
            more = {"first_us": first, "retransmissions": again, "acks": acks,
                    "read": read(folder, matrix, options, case), "list": name}  # fmt: skip
            for run, last_us, bound_us in ((case, last, bound), (f"{case}{ours.FLOW_BOUND}", one, one_bound)):
                found = {"case": run, "scheme": scheme, "last_us": last_us, "bound_us": bound_us, **more}
                if last_us and name not in (row := rows.setdefault((run, scheme), found))["list"].split(", "):
                    row["list"] += f", {name}"
    return pd.DataFrame(rows.values())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    listed_runs(Path(sys.argv[1])).to_csv(ours.RUNS, index=False)
