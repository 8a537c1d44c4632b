"""A permutation and an all-to-all on 1,024 hosts: DCQCN over PFC against NSCC with spraying, with slow links."""

from __future__ import annotations

from rdmacc.schemes import scheme
from ..api import *

SCHEMES = {
    "DCQCN and PFC": scheme("dcqcn", payload_bytes=scheme("nscc").payload_bytes),
    "NSCC, sprayed": scheme("nscc", choice="oblivious"),
    "NSCC, REPS": scheme("nscc", choice="reps", ack_every_bytes=1),
}
CASES = (("permutation", 0), ("permutation", 1), ("permutation", 8), ("all-to-all", 0), ("all-to-all", 1))
"""Workload, and number of slow links."""
_PACKET_PS = (SCHEMES["NSCC, REPS"].payload_bytes + SCHEMES["NSCC, REPS"].header_bytes) * 80
LATENCY_PS = 6 * 1_000_000 + 5 * _PACKET_PS
"""Latency of a packet between pods, without its time on the first link."""
SHARES = (*range(0, 100, 4), 99, 100)
"""Percentiles stored in the table."""


def _network(scale: str) -> topology.Graph:
    return topology.fat_tree(4 if scale == "quick" else 16, rate="100Gbps", delay="1us")


def _work(traffic: str, scale: str, seed: int) -> pd.DataFrame:
    hosts = topology.hosts(_network(scale))
    if traffic == "permutation":
        return workload.permutation(hosts, "1MB", seed=seed)
    groups = len(hosts) // (4 if scale == "quick" else 32)
    return workload.combine(*(workload.all_to_all(hosts[i::groups], "64kB") for i in range(groups)))


def _slow(count: int, scale: str) -> list[SlowLink]:
    """Return the first links from cores to the first aggregation switch, slowed to a quarter."""
    most = 2 if scale == "quick" else 8
    return [SlowLink(link=(f"core{i}", "agg0"), share=0.25, both_ways=False) for i in range(min(count, most))]


def _case(traffic: str, slow: int) -> str:
    return f"{traffic}, {slow} slow" if slow else traffic


def _over_links(rows: pd.DataFrame) -> pd.Series[float]:
    rows = chosen(rows, scheme="NSCC, REPS", slow=0).set_index("traffic")
    return rows["FCT, p100"] / (rows["links"] + LATENCY_PS)


def _last(rows: pd.DataFrame, *schemes: str, is_slow: bool = False) -> pd.DataFrame:
    """Return the last completion of each scheme, by case, optionally only with slow links."""
    last = rows.pivot(index="case", columns="scheme", values="FCT, p100")
    return last.loc[[_case(*case) for case in CASES if case[1] or not is_slow], [*(schemes or SCHEMES)]]


def _done(table: pd.DataFrame) -> pd.DataFrame:
    rows = wide(table)
    return pd.concat([rows.assign(done=share, time=rows[f"FCT, p{share}"] / 1e6) for share in SHARES])


def _loss(rows: pd.DataFrame) -> pd.DataFrame:
    slow = _last(rows, "DCQCN and PFC", "NSCC, REPS", is_slow=True)
    return slow - _last(rows).loc[slow.index.str.split(",").str[0], slow.columns].to_numpy()


class Fabric(Experiment):
    name = "micro.fabric"
    is_wide = True
    claims = (
        claim("micro-fabric-1a", measure=total("unfinished"), band=Exactly(0)),
        claim("micro-fabric-2a", measure=_over_links, band=Each(Between(1, 1.3), of="workload")),
        claim("micro-fabric-3a", measure=lambda rows: dict(_last(rows).iterrows()), band=Each(Falls(), of="case")),
        claim("micro-fabric-4a", measure=lambda rows: dict(_loss(rows).iterrows()), band=Each(Falls(), of="case")),
        claim("micro-fabric-4b",
              measure=lambda rows: dict(_last(rows, "NSCC, sprayed", "NSCC, REPS", is_slow=True).iterrows()),
              band=Each(Falls(), of="case")),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        for (traffic, slow), (name, how) in product(CASES, SCHEMES.items()):
            yield Point.of(
                f"{_case(traffic, slow)}, {name}",
                {"case": _case(traffic, slow), "traffic": traffic, "slow": slow, "scheme": name},
                network=partial(_network, scale), workload=partial(_work, traffic, scale, seed), scheme=how, seed=seed,
                faults=_slow(slow, scale),
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, counters = result.flows, result.counters
        packets = -(-flows["size_bytes"] // result.plan.scheme.payload_bytes)
        wire = flows["size_bytes"] + packets * result.plan.scheme.header_bytes
        fcts = flows["fct_ps"].to_numpy(np.float64)
        numbers = {
            **{f"FCT, p{share}": (np.percentile(fcts, share), "ps") for share in SHARES},
            "mean FCT": (fcts.mean(), "ps"),
            "links": (wire.groupby(flows["dst"]).sum().max() * 80.0, "ps"),
            "trimmed": (counters.trimmed_packets, ""),
            "sent again": (int(flows["retransmissions"].sum()), ""),
            "timeouts": (int(flows["timeouts"].sum()), ""),
            "ACKs": (result.outcome.totals["acks"], ""),
            "queue, peak": (counters.peak_queue_bytes, "bytes"),
            "unfinished": (int((flows["status"] != "finished").sum()), ""),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        last, colours = _last(wide(table)).T.to_dict(), dict(zip(SCHEMES, ("vermilion", "sky", "blue"), strict=True))
        panels: list[Panel] = []
        for traffic, slow in CASES:
            case = _case(traffic, slow)
            looks = {name: (f"{name}: {last[case][name] / 1e6:.0f} us", colours[name], "-") for name in SCHEMES}
            links = "one slow link" if slow == 1 else f"{slow} slow links" if slow else "no slow link"
            panels.append(
                Lines(
                    "done", looks, where={"case": case}, of=_done, over="time", log="x", title=f"{traffic}, {links}",
                    xlabel="completion time (us)", label="messages done (%)",
                    legend={"title": "last completion", "loc": "lower right", "fontsize": 8},
                )
            )  # fmt: skip
        nscc = {name: (name, colours[name]) for name in ("NSCC, sprayed", "NSCC, REPS")}
        words: dict[str, Any] = {"label": "last completion", "title": "permutation, last completion"}
        axes = {"xlabel": "slow links"}
        panels.append(
            Bars("FCT, p100", nscc, where={"traffic": "permutation"}, over="slow", unit="us", axes=axes, **words)
        )
        return self.drawn(panels, table, columns=3, size=(4, 3.3))
