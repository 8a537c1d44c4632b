"""Collectives alone, compared with closed forms and with nccl-tests on real machines."""

from __future__ import annotations

from rdmacc.models.alpha_beta import AlphaBeta
from rdmacc.schemes import scheme
from rdmacc.workload import Nccl, nccl
from rdmacc.workload.nccl_tuning import printed
from ..api import *

FORMS: dict[str, dict[str, Any]] = {
    "ring": {},
    "ring, slices that fill the link": {"settings": Nccl(slices=8)},
    "reduce-scatter": {"operation": "reduce-scatter"},
    "all-gather": {"operation": "all-gather"},
    "all-to-all, one after the other": {"operation": "all-to-all"},
    "broadcast": {"operation": "broadcast", "settings": Nccl(chunk_bytes="256kB")},
    "hierarchical": {"settings": Nccl(algorithm="hierarchical", hosts_per_node=4)},
    "double tree": {"settings": Nccl(algorithm="tree", chunk_bytes="32kB")},
}
"""Arguments of `AlphaBeta`, by collective."""
_SIZES = {8: "4MB", 16: "16MB", 64: "64MB"}
"""Size of a rank's buffer, by number of ranks."""


class Collectives(Experiment):
    name = "micro.collectives"
    seeding = Seeding.NONE
    is_wide = True
    claims = (
        claim("micro-collectives-1a", measure=lambda rows: rows["excess"].dropna(),
              band=Each(Between(-0.02, 0.02), of="collective")),
        claim("micro-collectives-2a", measure=lambda rows: (rows["busbw"] / rows["limit"]).filter(regex="GiB|256MiB"),
              band=Each(Between(0.85, 1.0), of="machine")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        ranks = (8,) if check_scale(scale) == "quick" else tuple(_SIZES)
        for n, (name, settings) in product(ranks, FORMS.items()):
            model = AlphaBeta(ranks=n, size_bytes=_SIZES[n], **settings)
            model_ps = float(model.evaluate([model.size_bytes])["time_ps"].iloc[0])
            labels = {"kind": "closed form", "collective": name, "ranks": n, "model_ps": model_ps}
            yield Point(name=f"{name}, {n} ranks", scenario=model.scenario(), labels=labels, cost=n)
        for one in printed() if scale == "paper" else ():
            call = nccl.all_reduce if one.operation == "all-reduce" else nccl.all_to_all
            names = [f"h{rank}" for rank in range(one.hosts)]
            yield Point.of(
                f"{one.machine}, {one.size}, {one.source}",
                {"kind": "nccl-tests", "collective": one.operation, "ranks": one.hosts, "printed": one.busbw_gbytes,
                 "limit": one.limit_gbytes, "source": one.source},
                network=partial(topology.star, one.hosts, rate=one.rate, delay="500ns"),
                workload=partial(call, names, one.size, one.settings), scheme=scheme("nscc", payload_bytes=4096),
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        row = result.collectives.iloc[0]
        numbers = {"time": (row["time_ps"], "ps"), "busbw": (row["busbw_gbytes"], "GB/s")}
        if "model_ps" in point.labels:
            numbers["excess"] = (row["time_ps"] / point.labels["model_ps"] - 1.0, "")
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        rows = wide(table)
        forms, printed = rows[rows["kind"] == "closed form"], rows[rows["kind"] == "nccl-tests"]
        figure, (left, right) = subplots(1, 2, figsize=(13, 5), layout="constrained")
        for n, part in forms.groupby("ranks"):
            left.plot(100 * part["excess"], part["collective"], "o", label=f"{n:.0f} ranks")
        left.axvspan(-2, 2, color="0.93", zorder=0)
        left.set(xlabel="longer than the closed form by (%)", title="Alone on an idle network")
        left.legend()
        place = np.arange(len(printed))
        if len(printed):
            right.barh(place - 0.2, printed["printed"] / printed["limit"], 0.4, color=COLOURS["sky"], label="printed")
            right.barh(place + 0.2, printed["busbw"] / printed["limit"], 0.4, color=COLOURS["blue"], label="simulated")
            right.legend()
        right.set_yticks(place, printed.index)
        right.set(xlabel="busbw over that of a node's NICs", xlim=(0, 1.5), title="Beside nccl-tests")
        right.invert_yaxis()
        return figure
