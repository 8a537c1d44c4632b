"""Validation against the ExpressPass authors' simulator (github.com/kaist-ina/ns2-xpass): the same runs."""

from rdmacc.experiments.validation.flows import lines_by_size, measure_delivered, stored_flows
from rdmacc.experiments.validation.references import CLOSE_RUNS, by_run, dots
from ..api import *
from .joining import *

INCASTS = {"8 x 1 MB": (8, 1_000_000), "32 x 1 MB": (32, 1_000_000), "32 x 200 kB": (32, 200_000)}
LOADS = (30, 60)
_STAR_PS = {"10G": HOST_LINK_PS, "100G": us(1)}


def _point(case: str, rate: str, weight: str, seed: int, network: Any, work: Any, cost: float) -> Point:
    return Point.of(
        f"{case}, {rate}, {weight}", {"case": case, "rate": rate, "weight": weight},
        network=network, workload=work, scheme=scheme_of(rate, weight), seed=seed, cost=cost,
    )  # fmt: skip


def _rtts(table: pd.DataFrame, case: str) -> pd.Series:
    rows = chosen(wide(table), case=case)
    return rows.set_index(rows["rate"] + ", " + rows["weight"])["RTTs to converge"]


def _goodputs(point: str, row: pd.Series) -> Traces:
    flows, taken = (2 if row["case"] == TWO else 10), row["RTTs to converge"]
    looks = {(point, f"goodput {i}"): ("_", "vermilion" if i else "blue") for i in range(flows)}
    return Traces(
        "", looks, by=("point", "quantity"), unit="Gb/s", label="goodput", title=f"{point}: {taken:.0f} RTT",
        clock=lambda *_: (row["join"], row["base RTT"]), time_unit="base RTTs since the join",
        width=0.8 if flows == 2 else 0.4, verticals={"_": taken}, axes={"xlim": (-10, 60)},
    )  # fmt: skip


def _sent_again(table: pd.DataFrame) -> Measured:
    again = wide(table)["data packets sent again"].dropna()
    return Measured(again.sum(), f"in {len(again)} runs")


class ExpressPassNs2(Experiment):
    name = "validation.expresspass_ns2"
    claims = (
        claim("validation-expresspass-1a", measure=_sent_again, band=Exactly(0)),
        claim("validation-expresspass-2a", measure=partial(_rtts, case=TWO), band=Each(Within(4, factor=2), of="run")),
        claim("validation-expresspass-2b", measure=partial(_rtts, case=TEN), band=Each(Within(20, factor=2), of="run")),
        claim("validation-expresspass-3a", measure=partial(by_run, name="expresspass_ns2"), band=CLOSE_RUNS),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        for weight in WEIGHTS:
            for rate in ("10G", "100G"):
                for case, (senders, size) in INCASTS.items():
                    if not (is_quick and size * senders > 8_000_000):
                        links = {"rate": f"{rate}bps", "delay": f"{_STAR_PS[rate]}ps", "buffer": BUFFER}
                        work = partial(workload.incast, [f"h{i}" for i in range(senders)], f"h{senders}", size)
                        yield _point(case, rate, weight, seed, partial(topology.star, senders + 1, **links), work, 1.0)
                yield joining_point(TWO, rate, weight, seed)
            yield joining_point(TEN, "10G", weight, seed)
        for load in () if is_quick else LOADS:
            work = partial(stored_flows, f"expresspass_ns2_web_search_{load}")
            yield _point(f"web search, {load}%", "10G", "w 1/16", seed, fat_tree, work, 100.0)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        case, ports = point.labels["case"], result.ports
        if case in (TWO, TEN):
            return measure_joining(point, result)
        sent = ports.loc[ports["link_class"] == "host_nic", "tx_data_packets"].sum()
        numbers = queues(result) | {"data packets sent again": (sent - result.plan.packets.sum(), "")}
        return measure_delivered(point, result, numbers, with_sizes=case not in INCASTS)

    def plot(self, table: pd.DataFrame) -> Figure:
        rows = wide(table)
        joining = rows[rows["case"].isin([TWO, TEN])].sort_values("weight", kind="stable", ascending=False)
        panels: list[Panel] = [_goodputs(str(point), row) for point, row in joining.iterrows()]
        runs = {str(point): str(point) for point in rows.index[rows["case"].isin(INCASTS)]}
        panels.append(dots("expresspass_ns2", runs, "incasts (orange: ns2-xpass)", log="y"))
        searches = dict(zip(rows.loc[rows["case"].str.startswith("web search"), "case"], COLOURS))
        if searches:
            looks = {case: (case, colour) for case, colour in searches.items()}
            panels.append(lines_by_size("FCT", looks, "case", unit="ms", title="web search"))
        return self.drawn(panels, table, columns=4, size=(3.5, 3.2))
