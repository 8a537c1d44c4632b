"""SimAI's workload files: layers of a training step, with times and collectives.

The first line says how the GPUs are divided (``model_parallel_NPU_group``, ``ep``, ``all_gpus``), the second how many
layers follow. A layer is a name, an ignored number, then time, collective and size of the forward pass, the input
gradient and the weight gradient, and the time of the update. Times are in ns; a size is that of a rank's larger buffer,
also for an all-gather.

As in SimAI, ranks go through the layers forward, then backward. Collectives of the forward pass and of the input
gradient block what follows; those of the weight gradient block only its update. Forward pass and input gradient use the
tensor-parallel groups, which are consecutive ranks; weight gradients use the data-parallel groups across them. Names
that end in ``_EP`` use the expert groups, and those in ``_DP_EP`` the groups across these.
"""

import pandas as pd

from rdmacc.caching import uncollected
from rdmacc.errors import ConfigError
from rdmacc.errors.typed import typed
from rdmacc.formats.files import File, Line, described, hosts_of, line_of, read_text, whole
from rdmacc.formats.operations import Operation, schedule_of
from rdmacc.units import ns
from rdmacc.workload.frame import MOST_OF_ANYTHING, Hosts
from rdmacc.workload.nccl import Nccl

_OPERATIONS = {
    "ALLREDUCE": "all-reduce",
    "ALLGATHER": "all-gather",
    "REDUCESCATTER": "reduce-scatter",
    "ALLTOALL": "all-to-all",
}
_NAMES = list(_OPERATIONS)
_PASSES = ("forward", "input gradient", "weight gradient")
_LONGEST_NS = 10**15


@typed
@described
def from_simai(path: File, hosts: Hosts | None = None, nccl: Nccl | None = None) -> pd.DataFrame:
    """Return the workload in a file of SimAI's layers: one training step.

    Raises
    ------
    ConfigError
        For anything that SimAI would not read, with file and line, for pipelines, whose transfers SimAI computes by a
        formula, and for collectives that rdmacc lacks.
    """
    lines = [(number, words) for number, text in enumerate(read_text(path).split("\n"), 1) if (words := text.split())]
    if len(lines) < 2:
        raise ConfigError("file", str(path), "a workload of SimAI: its parallelism, the number of layers, the layers")
    ranks, tensor, expert = _head(lines[0][1], line_of(path, lines[0][0]))
    count = whole(line_of(path, lines[1][0]), "layers", lines[1][1][0], 1, 10**7)
    if len(lines) != 2 + count:
        raise line_of(path, lines[1][0])("layers", count, f"{len(lines) - 2}, the number of those that follow")
    if count * ranks * 7 > MOST_OF_ANYTHING:
        raise ConfigError("layers", count, f"at most {MOST_OF_ANYTHING // 7 // ranks} for {ranks} GPUs", str(path))
    layers = [_layer(words, line_of(path, number)) for number, words in lines[2:]]
    places = [number for number, _ in lines[2:]]
    with uncollected():
        operations: list[Operation] = []
        for rank in range(ranks):
            groups = _groups(rank, ranks, tensor, expert)
            _pass(operations, path, rank, layers, places, groups)
        return schedule_of(operations, hosts_of(path, ranks, hosts), list(_OPERATIONS.values()), nccl).frame()


def _head(words: list[str], error: Line) -> tuple[int, int, int]:
    """Return the number of GPUs, the size of a tensor-parallel group, and the number of GPUs that share the experts."""
    given = dict(zip(words[1::2], words[2::2], strict=False))
    most = {"all_gpus:": 10**6, "model_parallel_NPU_group:": 10**6, "ep:": 10**6, "pp:": 1}
    found = []
    for name, limit in most.items():
        if name not in given and name in ("all_gpus:", "model_parallel_NPU_group:"):
            raise error(name, None, "in the first line")
        found.append(whole(error, name, given.get(name, "1"), 1, limit))
    ranks, tensor, expert, _ = found
    if ranks % (tensor * expert):
        raise error("all_gpus:", ranks, f"a multiple of {tensor} * {expert}, model_parallel_NPU_group and ep")
    return ranks, tensor, expert


def _layer(words: list[str], error: Line) -> tuple[list[tuple[int, int, str, int]], int]:
    """Return, for each pass, its time in ns, the collective's number (-1 for none), its group and its size."""
    if len(words) != 12:
        raise error("layer", len(words), "of 12 words: a name, a number, three times time, collective and size, a time")
    passes = []
    for place, name in enumerate(_PASSES):
        time, kind, size = words[2 + 3 * place : 5 + 3 * place]
        time_ns = whole(error, f"time of {name}", time, 0, _LONGEST_NS)
        length = whole(error, f"size of {name}", size, 0, 2**60)
        base, _, group = kind.partition("_")
        if kind != "NONE" and (base not in _OPERATIONS or group not in ("", "EP", "DP_EP")):
            raise error(
                f"collective of {name}", kind, f"NONE, or one of {', '.join(_NAMES)}, alone or with _EP, _DP_EP"
            )
        group = group or ("TP" if place < 2 else "DP")
        passes.append((time_ns, _NAMES.index(base) if kind != "NONE" and length else -1, group, length))
    return passes, whole(error, "time of update", words[11], 0, _LONGEST_NS)


def _groups(rank: int, ranks: int, tensor: int, expert: int) -> dict[str, tuple[int, ...]]:
    """Return the ranks of a rank's groups: tensor parallel, data parallel, with all experts, with the same experts."""
    first, wide = rank // tensor * tensor, tensor * expert
    return {
        "TP": tuple(range(first, first + tensor)),
        "DP": tuple(range(rank % tensor, ranks, tensor)),
        "EP": tuple(range(rank // wide * wide + rank % tensor, rank // wide * wide + wide, tensor)),
        "DP_EP": tuple(range(rank % wide, ranks, wide)),
    }


def _pass(
    operations: list[Operation],
    path: File,
    rank: int,
    layers: list[tuple[list[tuple[int, int, str, int]], int]],
    places: list[int],
    groups: dict[str, tuple[int, ...]],
) -> None:
    last: list[int] = []
    count = len(layers)
    for place, parts in [(n, (0,)) for n in range(count)] + [(n, (1, 2)) for n in reversed(range(count))]:
        passes, update_ns = layers[place]
        for part in parts:
            time_ns, kind, group, size = passes[part]
            operations.append(Operation("calc", rank, path, places[place], ns(time_ns), cpu=0, after=last))
            last = [len(operations) - 1]
            ended = last
            members = groups[group]
            if kind >= 0 and len(members) > 1:
                operations.append(
                    Operation("collective", rank, path, places[place], size, tag=kind, after=last, group=members)
                )
                ended = [len(operations) - 1]
            if part < 2:
                last = ended
            elif update_ns:
                operations.append(Operation("calc", rank, path, places[place], ns(update_ns), cpu=1, after=ended))
