"""HPCC's figure 12: flow control and congestion control compared, under Hadoop with incasts."""

from rdmacc.protocols.irn import Irn
from rdmacc.switch.buffer import DropTail
from ..api import *
from .fig11 import MUCH, Fig11
from .setup import INCAST, SEEDS, traffic, tree

CONTROLS, FLOWS = {"hpcc": "HPCC", "dcqcn": "DCQCN"}, ("PFC", "go-back-N", "IRN")
LOOKS = {
    "hpcc, PFC": ("HPCC, PFC", "blue"),
    "hpcc, go-back-N": ("HPCC, go-back-N", "sky"),
    "hpcc, IRN": ("HPCC, IRN", "green"),
    "dcqcn, PFC": ("DCQCN, PFC", "vermilion"),
    "dcqcn, go-back-N": ("DCQCN, go-back-N", "orange"),
    "dcqcn, IRN": ("DCQCN, IRN", "purple"),
}


def scheme_of(control: str, flow: str) -> Scheme:
    """Return a congestion control over a flow control."""
    changes: dict[str, dict[str, Any]] = {
        "PFC": {},
        "go-back-N": {"buffer": DropTail()},
        "IRN": {"buffer": DropTail(), "recovery": Irn()},
    }
    return replace(preset("hpcc-ns3")[control], **changes[flow])


def tails(rows: pd.DataFrame, control: str) -> dict[str, float]:
    """Return the mean 95th percentile of small messages' slowdown, by flow control."""
    found = rows[having(rows, quantity="small, p95")].groupby("scheme")["value"].mean()
    if found.empty:
        raise NotJudged("no run has a small message outside the incasts")
    return {flow: float(found[f"{control}, {flow}"]) for flow in FLOWS}


def spread(rows: pd.DataFrame, control: str) -> float:
    """Return the ratio of the largest tail to the smallest."""
    found = tails(rows, control).values()
    return max(found) / min(found)


class Fig12(Fig11):
    name = "hpcc.fig12"
    claims = (
        claim("hpcc-f12-1", measure=partial(spread, control="hpcc"), band=AtMost(1.2)),
        claim("hpcc-f12-2", measure=lambda rows: {name: spread(rows, control) for control, name in CONTROLS.items()},
              band=Highest("DCQCN")),
        claim("hpcc-f12-3",
              measure=lambda rows: {flow: reduction(one, tails(rows, "dcqcn")[flow])
                  for flow, one in tails(rows, "hpcc").items()}, band=Each(MUCH), direction=Each(MoreThan(0))),
    )  # fmt: skip
    grid = MappingProxyType({"legend": "outside lower center"})
    panels = (
        Lines(quantity=f"p95, {INCAST}", looks=LOOKS, over="size", log="xy", title=INCAST,
              xlabel="size up to (bytes)", label="95th percentile of the slowdown"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        seeds = range(seed, seed + SEEDS[check_scale(scale)])
        for one, control, flow in product(seeds, CONTROLS, FLOWS):
            yield Point.of(
                f"{control}, {flow}, seed {one}",
                {"scheme": f"{control}, {flow}", "case": INCAST, "tree": scale, "seed": one},
                network=partial(tree, scale), workload=partial(traffic, INCAST, scale, one),
                scheme=scheme_of(control, flow), until=ps(ms(500)), seed=one,
            )  # fmt: skip
