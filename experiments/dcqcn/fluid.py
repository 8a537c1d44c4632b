"""DCQCN's fluid model against packets, and the effect of parameters on two flows."""

from rdmacc.models import DcqcnFluid
from ..api import *

LOOKS = {"packets": ("packets", "blue"), "fluid": ("fluid model", "vermilion"), "fixed": ("its fixed point", "black")}
COUNTS, SEEDS = {"quick": (2, 10), "paper": (2, 4, 6, 8, 10)}, {"quick": 1, "paper": 12}
TOPS = {2: 80, 10: 400}
model_of = partial(DcqcnFluid, duration_ps="60ms", step_ps="8us", ramp="extended")
QCN = {"increase_period_ps": "1500us", "byte_counter_bytes": "150kB"}
CUT_OFF = {"kmin_bytes": "40kB", "kmax_bytes": "40kB", "pmax": 1.0}
CASES: dict[str, dict[str, Any]] = {
    "paper": {}, "timer 1.5 ms": {"increase_period_ps": "1500us"},
    "byte counter 150 kB": {"byte_counter_bytes": "150kB"}, "as QCN": QCN, "cut-off": CUT_OFF,
    "low K_max": {"kmax_bytes": "20kB"}, "high K_max": {"kmax_bytes": "1MB"}, "high K_min": {"kmin_bytes": "40kB"},
}  # fmt: skip
JOIN_PS, SETTLE_PS, END_PS = ms(10), ms(10), ms(40)
JOINING = [("h1", "h0", "1GB"), ("h2", "h0", "1GB", JOIN_PS), ("h3", "h0", "2MB")]


def over_fixed(rows: pd.DataFrame, side: str) -> dict[str, float]:
    """Return the late mean queue of packets or the model, relative to the fixed point, by number of flows."""
    found = rows[rows["quantity"] == "mean queue"].pivot_table("value", "flows", "side")
    return {f"{flows} flows": one[side] / one["fixed"] for flows, one in found.iterrows()}


def gaps(rows: pd.DataFrame) -> dict[str, float]:
    """Return the mean gap between the two rates relative to the fair share, by case."""
    found = rows[rows["quantity"] == "gap"].groupby("case")["value"].mean()
    return {case: float(found[case]) for case in CASES}


def _queue(frame: pd.DataFrame) -> pd.Series:
    curve = frame[frame["quantity"] == "queue"].set_index("x")["value"]
    return curve.set_axis(curve.index.astype(np.int64))


class Fluid(Experiment):
    name = "dcqcn.fluid"
    seeding = Seeding.POOLED
    claims = (
        claim("dcqcn-m-1", measure=partial(over_fixed, side="packets"),
              band=Each(Within(1, share=0.35), of="number of flows")),
        claim("dcqcn-m-2", measure=partial(over_fixed, side="fluid"),
              band=Each(Within(1, share=0.02), of="number of flows")),
        claim("dcqcn-m-3", measure=lambda rows: {case: gaps(rows)[case] for case in list(CASES)[:4]},
              band=Lowest("paper")),
        claim("dcqcn-m-4", measure=lambda rows: {case: gaps(rows)[case] for case in ("paper", "cut-off")},
              band=Lowest("paper")),
    )  # fmt: skip
    panels = (
        *(Traces(looks={(f"{count} flows, seed 0", f"queue, {side}"): LOOKS[side] for side in ("packets", "fluid")},
                 by=("point", "quantity"), unit="KB", time_unit="ms", label="queue", title=f"{count} flows",
                 axes={"ylim": (0, top)}) for count, top in TOPS.items()),
        Lines(quantity="mean queue", over="flows", looks=LOOKS, by="side", unit="KB", title="mean queue, second half"),
        Bars(quantity="gap", looks={"packets": LOOKS["packets"]}, by="side", over="case", unit="%",
             title="gap between two rates after a join"),
    )  # fmt: skip
    grid = MappingProxyType({"columns": 2})

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds = range(seed, seed + SEEDS[check_scale(scale)])
        for count, one in product(COUNTS[scale], seeds):
            scenario = replace(model_of(flows=count).scenario(), seed=one)
            labels = {"flows": count, "case": "", "seed": one}
            yield Point(name=f"{count} flows, seed {one}", scenario=scenario, labels=labels, cost=2)
        for (case, changes), one in product(CASES.items(), seeds):
            yield Point.of(
                f"{case}, seed {one}", {"flows": 0, "case": case, "seed": one},
                network=partial(topology.star, 4, rate="40Gbps", delay="1us"),
                workload=partial(workload.messages, JOINING), scheme=preset("dcqcn-2015")["dcqcn"].replace(**changes),
                seed=one, until=ps(END_PS), probes=[probes.rate(i, every="20us") for i in range(2)],
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        if point.labels["case"]:
            rates = [result.samples(f"rate {i}").loc[JOIN_PS + SETTLE_PS :] for i in range(2)]
            gap = float((rates[0] - rates[1]).abs().mean() / (rates[0].mean() + rates[1].mean()) * 2)
            return tidy(point.name, {"gap": (gap, "")}).assign(side="packets")
        model, queue = model_of(flows=point.labels["flows"]), result.samples("queue s0->h0")
        sides = {
            "packets": mean_between(queue, result.now_ps // 2, result.now_ps),
            "fluid": float(np.mean(model.integrate().tail(0.5)[:, 0])) * model.packet_bytes,
            "fixed": float(model.fixed_point()["queue_bytes"]),
        }
        rows = [tidy(point.name, {"mean queue": (value, "bytes")}).assign(side=side) for side, value in sides.items()]
        if (model.flows, point.labels["seed"]) in product(TOPS, (0,)):
            frames = {"packets": model.measure(result), "fluid": model.predict(result)}
            rows += [tidy(point.name, {}, {f"queue, {side}": (_queue(frame), "bytes")}).assign(side=side)
                     for side, frame in frames.items()]  # fmt: skip
        return pd.concat(rows, ignore_index=True)
