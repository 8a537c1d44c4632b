"""HPCC's testbed figure 9: a short flow joins a long one, an incast of 7, mice beside two elephants."""

from ..api import *
from .micro import JOIN_PS, LINE_BPS, LOOKS, flows_of

RTT_PS, EVERY_PS, MICE, COUNT = 5_400_000, us(1), "mice", {"quick": 40, "paper": 400}
ENDS_PS = {"join": ms(5), "incast of 7": ms(5)}


def flows(case: str, scale: str) -> pd.DataFrame:
    if case != MICE:
        return flows_of(case)
    mice = [("h3", "h0", "1kB", ms(1) + i * us(50)) for i in range(COUNT[scale])]
    return workload.messages([("h1", "h0", "100MB"), ("h2", "h0", "100MB"), *mice])


def both(rows: pd.DataFrame, quantity: str) -> dict[str, float]:
    """Return a quantity of both schemes."""
    return means_of(rows, LOOKS, quantity=quantity)


class Fig9(Experiment):
    name = "hpcc.fig9"
    seeding = Seeding.NONE
    claims = (
        claim("hpcc-f9-1", measure=lambda rows: both(rows, "rate, 2 RTT later")["HPCC"], band=AtLeast(0.9)),
        claim("hpcc-f9-2", measure=lambda rows: both(rows, "rate, 2 ms later")["DCQCN"], band=LessThan(0.9)),
        claim("hpcc-f9-3", measure=lambda rows: both(rows, "incast, longest")["DCQCN"], band=Size(550e3),
              direction=MoreThan(0)),
        claim("hpcc-f9-4", measure=lambda rows: both(rows, "incast, drained"), band=Lowest("HPCC")),
        claim("hpcc-f9-5", measure=lambda rows: both(rows, "mice, p95"),
              band=All({"HPCC": Within(1, share=0.1), "DCQCN": MoreThan(35 / 5.4)})),
    )  # fmt: skip
    panels = tuple(
        Traces(quantity=quantity, looks={f"{scheme}, {case}": look for scheme, look in LOOKS.items()}, unit=unit,
               time_unit="ms", title=title)
        for case, quantity, unit, title in (
            ("join", "rate", "Gb/s", "long-short: the long flow's rate"),
            ("incast of 7", "queue", "KB", "incast: queue"), (MICE, "queue", "KB", "mice: queue"),
        )
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        for scheme, case in product(LOOKS, (*ENDS_PS, MICE)):
            end_ps = ENDS_PS.get(case, ms(2) + COUNT[check_scale(scale)] * us(50))
            known = preset("hpcc-ns3", "25Gbps")[scheme].replace(base_rtt_ps="9us")
            yield Point.of(
                f"{scheme}, {case}", {"scheme": scheme, "case": case},
                network=partial(topology.star, 66, rate=bps(LINE_BPS), delay="1.16us"), until=ps(end_ps),
                workload=partial(flows, case, scale), scheme=known,
                probes=[probes.rate(0, every=ps(EVERY_PS)), probes.queue("s0", "h0", every=ps(EVERY_PS))],
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        queue, rate = result.samples("queue s0->h0"), result.samples("rate 0")
        curves, found, done = {"queue": (queue, "bytes"), "rate": (rate, "bps")}, {}, result.flows
        if point.labels["case"] == MICE:
            mice = done[done["size_bytes"] == 1_000]
            found["mice, p95"] = float((mice["fct_ps"] / mice["ideal_fct_ps"].astype(float)).quantile(0.95))
        elif point.labels["case"] == "join":
            ended_ps = int(done["start_ps"][1] + done["fct_ps"][1])
            for name, after_ps in (("2 RTT", 2 * RTT_PS), ("2 ms", ms(2))):
                found[f"rate, {name} later"] = value_at(rate, ended_ps + after_ps) / LINE_BPS
            back = rate.index[(rate.index > ended_ps) & (rate >= 0.9 * LINE_BPS)][:1]
            found |= {} if back.empty else {"back at 90%": float(back[0] - ended_ps)}
        else:
            after = queue.loc[queue.idxmax() :]
            drained_ps = after.index[after < after.iloc[0] / 10][0] - JOIN_PS
            found |= {"incast, longest": float(queue.max()), "incast, drained": float(drained_ps)}
        units = {"incast, longest": "bytes", "incast, drained": "ps", "back at 90%": "ps"}
        return tidy(point.name, {name: (value, units.get(name, "")) for name, value in found.items()}, curves)
