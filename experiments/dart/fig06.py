"""Dart, figure 6: a short flow detours around a congested link in two extra hops, and still arrives sooner."""

from rdmacc.experiments.dart.paths import disorders, hops, visits
from ..api import *
from .setup import *

TWO_HOPS_PS = 2 * (time_ps(DELAY) + PACKET_PS)
"""Cost of two more hops for the first packet."""

_FLOW, _SHORTEST = size_bytes("8kB"), 4
_SCHEMES = {"none": {"tokens": 0}, "dart": {}, "any queue": {"threshold_bytes": 0}}


def detour() -> Graph:
    """Return the figure's network; its last leaf is the spare one."""
    graph: Graph = nx.Graph(name="detour")
    leaves = {"leaf0": ("S1", "S1'", "S2"), "leaf1": ("D1", "D2"), "leaf2": ("h0",)}
    for host in (host for hosts in leaves.values() for host in hosts):
        topology.add_host(graph, host)
    for switch in (*leaves, "spine0", "spine1"):
        topology.add_switch(graph, switch, 5 * BUFFER_PER_PORT)
    for leaf, hosts in leaves.items():
        for host in hosts:
            topology.add_link(graph, host, leaf, RATE, DELAY)
    topology.add_link(graph, "leaf0", "spine0", "40Gbps", DELAY)
    for leaf, spine in product(("leaf1", "leaf2"), ("spine0", "spine1")):
        topology.add_link(graph, leaf, spine, RATE, DELAY)
    return graph


def _rounds(burst_packets: int, rounds: int) -> pd.DataFrame:
    """Return rounds of two bursts to D1 and a short message to D2 as the bursts end."""
    rows = []
    for start in range(0, rounds * ms(1), ms(1)):
        rows += [(one, "D1", burst_packets * PAYLOAD_BYTES, ps(start)) for one in ("S1", "S1'")]
        rows.append(("S2", "D2", _FLOW, ps(start + burst_packets * PACKET_PS)))
    return workload.messages(rows)


def _extra_hops(rows: pd.DataFrame) -> Measured:
    numbers = {
        "fewest": rows["least hops, deflected once"].min() - _SHORTEST,
        "most": rows["most hops, deflected once"].max() - _SHORTEST,
        "packets that are off": rows["not 2 hops for each deflection"].sum(),
    }
    return Measured(numbers, f"{rows['deflected once'].sum():.0f} messages deflected once")


def _gains(rows: pd.DataFrame, scheme: str, quantity: str) -> pd.DataFrame:
    """Return the queueing delay and the gain of deflected messages, by burst size."""
    queued = chosen(rows, scheme="none").set_index("packets")["delay"]
    deflected = chosen(rows, scheme=scheme).set_index("packets")[quantity]
    gains = pd.DataFrame({"queue": queued, "gain": queued - deflected}).dropna()
    return gains.set_axis([f"{packets} packets" for packets in gains.index])


def _sooner(rows: pd.DataFrame) -> Measured:
    gains = _gains(rows, "any queue", "delay, other way")
    is_longer = gains["queue"] > TWO_HOPS_PS
    shorter = gains[~is_longer]["gain"].max()
    words = f"{show(shorter, 'us')} at most where the queue delays less than two hops"
    return Measured((gains["gain"] / gains["queue"])[is_longer], words)


def _at_once(rows: pd.DataFrame) -> dict[str, float]:
    return {
        "messages deflected later": rows["deflected, but not from the first packet on"].sum(),
        "first packet's stay / RTT": rows["first packet's stay"].max() / rows["base RTT"].max(),
    }


class Figure6(Experiment):
    name = "dart.fig6"
    is_wide = True
    claims = (
        claim("dart-f6-1", measure=_extra_hops,
              band=All({"fewest": Exactly(2), "most": Exactly(2), "packets that are off": Exactly(0)})),
        claim("dart-f6-2", measure=_sooner, band=Each(AtLeast(0.1), "burst"), direction=Each(MoreThan(0))),
        claim("dart-f6-2a", measure=lambda rows: _gains(rows, "dart", "delay, way back")["gain"],
              band=Each(Within(0, by=PACKET_PS), "burst")),
        claim("dart-f6-3", measure=_at_once,
              band=All({"messages deflected later": Exactly(0), "first packet's stay / RTT": AtMost(0.9)})),
    )  # fmt: skip

    bursts = (4, 8, 12, 16, 20, 30, 45, 60)
    """Packets in each of the two bursts, which is about the queue after both."""

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        rounds, bursts = (4, self.bursts[1::2]) if check_scale(scale) == "quick" else (100, self.bursts)
        for packets, (name, changes) in product(bursts, _SCHEMES.items()):
            yield Point.of(
                f"{packets} packets, {name}", {"packets": packets, "scheme": name},
                network=detour, workload=_rounds(packets, rounds), scheme=PRESET["dart"].replace(**changes), seed=seed,
                trace=True,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        passed = visits(result)
        paths = hops(passed)
        flows = result.flows[result.flows["src"] == "S2"]
        delay = (flows["fct_ps"] - flows["ideal_fct_ps"]).astype(float)
        short = passed[passed["message"].isin(flows.index)]
        gone = short[short["is_deflected"]]
        first = paths.xs(0, level="psn").loc[flows.index]
        is_gone, once = first["deflections"] > 0, first["deflections"] == 1
        fabric = result.plan.fabric
        at_start = short[(short["psn"] == 0) & (short["node"] == fabric.index["spine0"])]
        came_back = at_start.groupby("message").size().reindex(flows.index) > 1
        decided = gone[(gone["psn"] == 0) & (gone["visit"] == 0)]
        of_all = paths.loc[flows.index]
        is_off = of_all["hops"] != _SHORTEST + 2 * of_all["deflections"]
        numbers = {
            "base RTT": (float(result.plan.qp_base_rtt_ps.max()), "ps"),
            "messages": (len(flows), ""),
            "deflected once": (int(once.sum()), ""),
            "least hops, deflected once": (float(first["hops"][once].min()), ""),
            "most hops, deflected once": (float(first["hops"][once].max()), ""),
            "not 2 hops for each deflection": (int(is_off.sum()), ""),
            "deflected, but not from the first packet on": (int(gone["message"].nunique() - is_gone.sum()), ""),
            "first packet's stay": (float((decided["sent_ps"] - decided["arrived_ps"]).max()), "ps"),
            "out of order": (disorders(result), ""),
            "delay": (delay.median(), "ps"),
            "delay, other way": (delay[once & ~came_back].median(), "ps"),
            "delay, way back": (delay[came_back].median(), "ps"),
            "came back": (int(came_back.sum()), ""),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {
            ("none", "delay"): ("queues", "black", "o-"),
            ("any queue", "delay, other way"): ("deflected, the other way", "blue", "o-"),
            ("dart", "delay, way back"): ("deflected, and back to the queue", "vermilion", "o--"),
        }
        latency = Lines(
            "", looks, by=("scheme", "quantity"), over="queue", unit="us", label="FCT - FCT alone",
            of=lambda table: table.assign(queue=table["packets"] * WIRE_BYTES / 1e3),
            title="latency of the flow from S2 (dotted: two hops; threshold, 15 kB)", xlabel="queue that it finds (kB)",
            levels={"_": TWO_HOPS_PS}, verticals={"_": 15.0}, axes={"xlim": (0, None), "ylim": (0, None)},
        )  # fmt: skip
        return self.drawn([Sketch(title="the way around a congested link", how=_draw_network), latency], table)


def _draw_network(ax: Axes, _: pd.DataFrame) -> None:
    ax.set_axis_off()
    at = {
        "S1": (-0.15, 0), "S2": (0.2, 0), "D1": (0.85, 0), "D2": (1.2, 0), "leaf0": (0, 1), "leaf1": (1, 1),
        "leaf2": (2, 1), "spine0": (0.5, 2), "spine1": (1.5, 2),
    }  # fmt: skip
    for one, other in (
        ("S1", "leaf0"), ("S2", "leaf0"), ("D1", "leaf1"), ("D2", "leaf1"), ("leaf0", "spine0"), ("leaf1", "spine0"),
        ("leaf2", "spine0"), ("leaf1", "spine1"), ("leaf2", "spine1"),
    ):  # fmt: skip
        ax.plot(*np.transpose([at[one], at[other]]), color="0.8", linewidth=4, zorder=0, solid_capstyle="round")
    ways = (
        (("S1", "leaf0", "spine0", "leaf1", "D1"), "vermilion", "-", -0.03, "S1 to D1"),
        (("S2", "leaf0", "spine0", "leaf2", "spine1", "leaf1", "D2"), "blue", "--", 0.03, "S2 to D2, deflected"),
    )
    for way, colour, line, shift, label in ways:
        places = np.array([(at[node][0] + shift, at[node][1]) for node in way])
        ax.plot(*places.T, line, color=COLOURS[colour], linewidth=1.8, label=label)
    for node, (x, y) in at.items():
        is_host = node[0] in "SD"
        box = {"boxstyle": "circle,pad=0.25" if is_host else "round,pad=0.35", "facecolor": "white", "edgecolor": "0.3"}
        ax.text(x, y, node, ha="center", va="center", fontsize=9, bbox=box)
    ax.annotate("congested", (0.75, 1.5), xytext=(-4, -2), textcoords="offset points", ha="right", va="top", fontsize=9)
    ax.legend(loc="lower right", fontsize=9)
