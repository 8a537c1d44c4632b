"""ECN or Delay: the stability of DCQCN over the number of flows, by its phase margin and in packets."""

from rdmacc.models import DcqcnFluid, DcqcnLoop
from ..api import *

DELAYS = {"4us": ("tau* of 4 us", "blue"), "85us": ("tau* of 85 us", "vermilion")}
COUNTS = {"quick": (2, 10, 64), "paper": (2, 4, 6, 8, 10, 14, 20, 32, 64)}
END = {"quick": "20ms", "paper": "100ms"}


def ends(rows: pd.DataFrame, quantity: str, pick: Callable[..., float]) -> dict[str, float]:
    """Return a quantity at the fewest and the most flows, and its extreme in between, with the long delay."""
    found = rows[having(rows, delay="85us", quantity=quantity)].groupby("flows")["value"].mean()
    return {"fewest": found.iloc[0], "between": pick(found.iloc[1:-1]), "most": found.iloc[-1]}


class Stability(Experiment):
    name = "ecn.stability"
    seeding = Seeding.POOLED
    claims = (
        claim("ecn-s-1", measure=partial(ends, quantity="phase margin", pick=min), band=Lowest("between")),
        claim("ecn-s-2", measure=partial(ends, quantity="oscillation", pick=max), band=Highest("between")),
        claim("ecn-s-3",
              measure=lambda rows: rows[having(rows, flows=10, quantity="oscillation")]
                  .groupby("delay")["value"].mean().to_dict(), band=Highest("85us")),
    )  # fmt: skip
    panels = (
        Lines(quantity="phase margin", by="delay", looks=DELAYS, over="flows", unit="\u00b0", log="x",
              title="fluid model"),
        Lines(quantity="oscillation", by="delay", looks=DELAYS, over="flows", unit="%", log="x", title="packets",
              label="deviation of the queue over its mean"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds = range(seed, seed + (12 if check_scale(scale) == "paper" else 1))
        for delay, count, one in product(DELAYS, COUNTS[scale], seeds):
            model = DcqcnFluid(flows=count, delay_ps=delay, ramp="extended", duration_ps=END[scale])
            labels = {"delay": delay, "flows": count, "seed": one}
            scenario = replace(model.scenario(), seed=one)
            yield Point(name=f"{delay}, {count} flows, seed {one}", scenario=scenario, labels=labels, cost=count)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        model = DcqcnFluid(flows=point.labels["flows"], delay_ps=point.labels["delay"], ramp="extended")
        queue = result.samples("queue s0->h0").loc[result.now_ps // 2 :]
        return tidy(point.name, {
            "phase margin": (DcqcnLoop(model).margins().phase_deg, ""), "oscillation": (queue.std() / queue.mean(), ""),
            "mean queue": (queue.mean(), "bytes"), "fixed point": (float(model.fixed_point()["queue_bytes"]), "bytes"),
        })  # fmt: skip
