"""DCQCN's abstract on two switches: a parking lot, and a victim flow that shares no bottleneck with the others."""

from rdmacc.schemes import scheme
from ..api import *

LOOKS = {"line-rate": ("PFC alone", "vermilion"), "dcqcn": ("DCQCN", "blue")}
FLOWS = {"far 1": ("h0", "h4"), "far 2": ("h1", "h4"), "far 3": ("h2", "h4"), "near": ("h5", "h4"),
         "victim": ("h3", "h6")}  # fmt: skip
FAR, LINE_BPS = ("far 1", "far 2", "far 3"), 40e9
fabric = partial(topology.dumbbell, 4, 3, rate="40Gbps", bottleneck_rate="160Gbps", delay="1us")
END_PS, SEEDS = {"quick": ms(10), "paper": ms(100)}, {"quick": 1, "paper": 6}


def flows(seed: int) -> pd.DataFrame:
    """Return the five long flows, each starting within 1 ms."""
    starts = np.random.default_rng(seed).integers(0, ms(1), len(FLOWS))
    return workload.long_flows(FLOWS.values(), "10GB", start=[ps(int(one)) for one in starts])


def by_scheme(rows: pd.DataFrame, quantity: str) -> dict[str, float]:
    """Return the mean of a quantity over the runs, by scheme."""
    return means_of(rows, LOOKS, quantity=quantity)


def gain(rows: pd.DataFrame, quantity: str) -> float:
    """Return a quantity under DCQCN relative to PFC alone."""
    found = by_scheme(rows, quantity)
    return found["DCQCN"] / found["PFC alone"]


class Fabric(Experiment):
    name = "dcqcn.fabric"
    seeding = Seeding.POOLED
    claims = (
        claim("dcqcn-f-1", measure=lambda rows: by_scheme(rows, "near over far")["PFC alone"], band=MoreThan(1.1)),
        claim("dcqcn-f-2", measure=lambda rows: by_scheme(rows, "victim")["PFC alone"], band=LessThan(0.9)),
        claim("dcqcn-f-3", measure=partial(gain, quantity="victim"), band=AtLeast(1.1)),
        claim("dcqcn-f-4", measure=partial(gain, quantity="Jain's index"), band=AtLeast(1.1)),
        claim("dcqcn-f-5", measure=lambda rows: by_scheme(rows, "pauses"), band=Lowest("DCQCN")),
        claim("dcqcn-f-6",
              measure=lambda rows: {name: by_scheme(rows, name)["PFC alone"] for name in ("near over far", "victim")},
              band=All({"near over far": Within(3, share=0.1), "victim": Within(1 / 6, share=0.1)})),
    )  # fmt: skip
    panels = (
        Bars(quantity="goodput", looks=LOOKS, over="flow", unit="Gb/s", title="goodput of each flow"),
        Bars(quantity="pauses", looks=LOOKS, title="PFC pauses"),
    )

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        end_ps = END_PS[check_scale(scale)]
        for name, one in product(LOOKS, range(seed, seed + SEEDS[scale])):
            control = preset("dcqcn-2015")[name] if name == "dcqcn" else scheme(name)
            yield Point.of(
                f"{name}, seed {one}", {"scheme": name, "seed": one},
                network=fabric, workload=partial(flows, one), scheme=control, seed=one, until=ps(end_ps),
                probes=[probes.goodput(i, every=ps(end_ps // 2)) for i in range(len(FLOWS))],
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        plan = result.plan.scheme
        got = {flow: float(result.samples(f"goodput {i}").iloc[-1]) for i, flow in enumerate(FLOWS)}
        shares = np.array([got[flow] for flow in (*FAR, "near")])
        numbers: dict[str, tuple[float, str]] = {
            "near over far": (got["near"] / float(np.mean([got[flow] for flow in FAR])), ""),
            "victim": (got["victim"] / (LINE_BPS * plan.payload_bytes / plan.wire_bytes), ""),
            "Jain's index": (jain(shares), ""),
            "pauses": (float(result.counters["pfc_pauses"]), ""),
        }
        each = [tidy(point.name, {"goodput": (value, "bps")}).assign(flow=flow) for flow, value in got.items()]
        return pd.concat([tidy(point.name, numbers), *each], ignore_index=True)
