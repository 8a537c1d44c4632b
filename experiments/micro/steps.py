"""A step of 64 GPUs by packets and by `rdmacc.models.MaxMin`: Llama-7B, data parallel, at full size."""

from rdmacc.models.max_min import fair_times
from rdmacc.schemes import scheme
from rdmacc.workload import LLAMA_7B, Nccl, TrainingStep
from ..api import *

MACHINES = {"flat": Nccl(), "8 x 8": Nccl(hosts_per_node=8, algorithm="hierarchical")}
_GPUS = 64
_network = partial(topology.leaf_spine, 8, 8, 8, rate="400Gbps", delay="500ns")
_LOOKS = {one: (one, colour) for one, colour in (("step", "blue"), ("step by max-min", "sky"), ("computing", "orange"))}


def _work(machine: str, scale: str) -> pd.DataFrame:
    model = LLAMA_7B.replace(hidden=512, layers=1, mlp=1376, vocabulary=512) if scale == "quick" else LLAMA_7B
    hosts = [f"h{rank}" for rank in range(_GPUS)]
    if machine == "8 x 8":  # the GPUs of a node are on all leaves
        hosts = [hosts[rank % 8 * 8 + rank // 8] for rank in range(_GPUS)]
    return TrainingStep(model=model, data=_GPUS, nccl=MACHINES[machine]).workload(hosts)


class TrainingSteps(Experiment):
    name = "micro.steps"
    is_wide = True
    panels = (Bars("step", _LOOKS, by="quantity", over="machine", unit="ms", label="time"),)
    claims = (
        claim("micro-steps-1a", measure=lambda rows: rows["error"], band=Each(Between(-0.05, 0.05), of="machine")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        for machine in MACHINES:
            yield Point.of(
                machine, {"machine": machine},
                network=_network, workload=partial(_work, machine, scale), scheme=scheme("dcqcn", payload_bytes=4096),
                seed=seed, cost=1.0 if machine == "8 x 8" else 10.0,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        computing = result.computation[result.computation["collective"].isna()]
        by_model, step = float(np.sum(fair_times(result.plan), axis=0).max()), float(result.now_ps)
        numbers = {
            "step": (step, "ps"),
            "step by max-min": (by_model, "ps"),
            "error": (by_model / step - 1.0, ""),
            "packet-hops": (float(result.counters[["data_packet_hops", "control_packet_hops"]].sum()), "packets"),
            "computing": (float(computing.groupby("host")["duration_ps"].sum().max()), "ps"),
            "busbw, median": (float(result.collectives["busbw_gbytes"].median()), "GB/s"),
        }
        return tidy(point.name, numbers)
