"""The time of a training step with a second job, a failed link, other placements and schemes."""

from __future__ import annotations

from rdmacc.models.max_min import fair_times
from rdmacc.schemes import scheme
from rdmacc.workload import LLAMA_7B, Nccl, TrainingStep, jobs
from ..api import *

LINK = ("leaf0", "spine0")
SCHEMES: Mapping[str, Scheme] = {
    "DCQCN": scheme("dcqcn", payload_bytes=4096),
    "NSCC with REPS": scheme("nscc", choice="reps", payload_bytes=4096),
}
CHANGES = ("alone", "a second job", "a link down", "random placement")
"""Conditions of both schemes."""
_PATHS = ("without the link", "other paths", "other paths, 2")
"""Additional conditions of DCQCN, which has one path per connection."""


def network(has_link: bool = True) -> topology.Graph:
    graph = topology.leaf_spine(leaves=8, spines=8, hosts_per_leaf=16, rate="400Gbps", delay="500ns")
    if not has_link:
        graph.remove_edge(*LINK)
    return graph


def work(change: str, scale: str) -> pd.DataFrame:
    """Return the step under a change of conditions, with the second job if there is one."""
    model = LLAMA_7B.replace(hidden=1024, layers=2, mlp=2752, vocabulary=512) if scale == "quick" else LLAMA_7B
    hosts = topology.hosts(network())
    step = TrainingStep(model=model, data=8, tensor=8, nccl=Nccl(hosts_per_node=8)).workload(hosts)
    if change == "a second job":
        return jobs(hosts, {"7B": step, "other": step}, "round-robin", hosts_per_node=8)
    if change == "random placement":
        return jobs(hosts, {"7B": step}, "random", seed=1, hosts_per_node=8)
    return jobs(hosts, {"7B": step}, hosts_per_node=8)


def _sprayed(rows: pd.DataFrame) -> pd.Series[float]:
    step = rows[rows["change"].isin(CHANGES)].pivot(index="change", columns="scheme", values="step")
    return step["DCQCN"] / step["NSCC with REPS"]


def _without(rows: pd.DataFrame) -> pd.Series[float]:
    times = rows[["step", "busiest link", "step by max-min"]].T
    return times["DCQCN, without the link"] / times["DCQCN, alone"]


class StepTimes(Experiment):
    name = "micro.step_time"
    is_wide = True
    claims = (
        claim("micro-step-time-1a", measure=_sprayed, band=Each(MoreThan(1.0), of="change")),
        claim("micro-step-time-2a", measure=lambda rows: rows["step"] / rows["computing"],
              band=Each(AtLeast(1.0), of="run")),
        claim("micro-step-time-3a", measure=_without, band=Each(LessThan(1.0), of="quantity")),
        claim("micro-step-time-4a", measure=lambda rows: (rows["step by max-min"] / rows["step"] - 1.0).dropna(),
              band=Each(Between(-0.05, 0.05), of="run")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        down = LinkDown(link=LINK, at_ps="900us" if scale == "quick" else "60ms", convergence_ps="200us")
        for name in SCHEMES:
            for change in CHANGES + _PATHS if name == "DCQCN" else CHANGES:
                yield Point.of(
                    f"{name}, {change}", {"scheme": name, "change": change},
                    network=partial(network, change != "without the link"), workload=partial(work, change, scale),
                    scheme=SCHEMES[name], seed=seed + (1 + _PATHS.index(change) if change.startswith("other") else 0),
                    faults=[down] if change == "a link down" else (), cost=2.0 if change == "a second job" else 1.0,
                )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        job, counters = result.jobs.iloc[0], result.counters
        inside = result.ports[result.ports["link_class"] == "in_network"]
        numbers = {
            "step": (float(job["step_ps"]), "ps"),
            "computing": (float(job["computing_ps"]), "ps"),
            "drops and losses": (float(result.summary().drops), "packets"),
            "timeouts": (float(counters["timeouts"]), "timeouts"),
            "peak queue": (float(counters["peak_queue_bytes"]), "bytes"),
            "busiest link": (float(inside["tx_data_packets"].max()), "packets"),
            "busbw, median": (float(result.collectives["busbw_gbytes"].median()), "GB/s"),
        }
        if point.labels["scheme"] == "DCQCN" and point.labels["change"] != "a link down":
            numbers["step by max-min"] = (float(np.sum(fair_times(result.plan), axis=0).max()), "ps")
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        rows = wide(table)
        figure, axis = subplots(figsize=(8, 4.5), layout="constrained")
        axis.barh(rows.index, rows["step"] / 1e9, color=COLOURS["blue"], label="step")
        axis.barh(rows.index, rows["computing"] / 1e9, color=COLOURS["orange"], label="of which computing")
        axis.invert_yaxis()
        axis.set(xlabel="time (ms)", title=self.title)
        figure.legend(loc="outside lower center", ncols=2)
        return figure
