"""REN, figure 10: the stages of a switch's port, drawn from the simulated one."""

from rdmacc.experiments.ren.bursts import burst_point
from rdmacc.models.max_min import paths_in_numbers
from ..api import *
from .setup import *

POINT = "port"
_END = ms(3)


def _stages(table: pd.DataFrame) -> Measured:
    names = ("received", "transmitted", "dropped", "waiting")
    came, left, dropped, waiting = (scalar(table, POINT, name) for name in names)
    numbers = {
        "transmitted": left,
        "unaccounted for": came - left - dropped - waiting,
        "transmitted before received": scalar(table, POINT, "transmitted before received"),
    }
    return Measured(numbers, f"of {came:.0f} received {dropped:.0f} are dropped, and {waiting:.0f} wait at the end")


def _threshold(table: pd.DataFrame) -> dict[str, float]:
    least = scalar(table, POINT, "shortest queue that dropped")
    return {
        "longest queue": scalar(table, POINT, "peak queue"),
        "shortest queue with the packet it dropped": least + PACKET_BYTES,
        "dropped": scalar(table, POINT, "dropped"),
    }


def _base_rtt(table: pd.DataFrame) -> dict[str, float]:
    way, links = (scalar(table, POINT, f"{name}, there and back") for name in ("propagation", "links"))
    return {"there and back": way, "a link": way / links}


class Figure10(Experiment):
    name = "ren.fig10"
    claims = (
        claim("ren-f3-s", measure=_base_rtt, band=All({"there and back": Exactly(RTT_PS), "a link": Exactly(us(8))})),
        claim("ren-f10-a", measure=_stages,
              band=All({
                  "transmitted": MoreThan(0), "unaccounted for": Exactly(0), "transmitted before received": Exactly(0),
              })),
        claim("ren-f10-b", measure=_threshold,
              band=All({
                  "longest queue": AtMost(BUFFER_BYTES, "KB"),
                  "shortest queue with the packet it dropped": MoreThan(BUFFER_BYTES, "KB"), "dropped": MoreThan(0),
              })),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        burst = burst_point("ren", 2, "quick", seed)
        assert burst.scenario is not None
        return [
            replace(burst, name=POINT, scenario=replace(burst.scenario, until=_END, trace=True, probes=(), faults=()))
        ]

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        trace = result.packet_trace
        data = trace[trace["kind"] == "data"]
        came = data[(data["peer"] == "s0") & (data["what"] == "arrived")]
        at_port = data[(data["node"] == "s0") & (data["peer"] == "s1")]
        left, dropped = (at_port[at_port["what"] == what] for what in ("sent", "dropped"))
        pairs = came.merge(left, on=["message", "psn"], suffixes=("_in", "_out"))
        # Retransmissions count once: only the order of a packet's first two events matters.
        first = pairs.groupby(["message", "psn"])[["time_ps_in", "time_ps_out"]].min()
        steps = pd.concat([
            came.assign(change=came["wire_bytes"]), left.assign(change=-left["wire_bytes"]),
            dropped.assign(change=-dropped["wire_bytes"]),
        ]).sort_index()  # fmt: skip
        queue = steps["change"].cumsum()
        behind = queue[steps["what"] == "dropped"]
        first_hops, ports = paths_in_numbers(result.plan)
        delays = result.plan.fabric.port_delay_ps[ports[: first_hops[1]]]  # of the first flow
        numbers = {
            "propagation, there and back": (2 * delays.sum(), "ps"),
            "links, there and back": (2 * len(delays), ""),
            "received": (len(came), "packets"),
            "transmitted": (len(left), "packets"),
            "dropped": (len(dropped), "packets"),
            "waiting": (int(queue.iloc[-1]) // PACKET_BYTES, "packets"),
            "transmitted before received": (int((first["time_ps_out"] < first["time_ps_in"]).sum()), "packets"),
            "peak queue": (int(queue[steps["what"] != "arrived"].max()), "bytes"),
            "shortest queue that dropped": (float(behind.min()), "bytes"),
        }
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        marker = type(TESTBED["ren"].switch[0]).__name__
        came, left, dropped = (scalar(table, POINT, name) for name in ("received", "transmitted", "dropped"))
        stages = (
            ("receiving", f"route, then DropTail:\nup to {BUFFER_PACKETS:.1f} packets\n{marker}.on_enqueue", "blue"),
            (
                "marking",
                f"{marker}.on_period_timer:\nqueue against idle time\n{marker}.on_dequeue:\ntwo bits",
                "orange",
            ),
            ("transmitting", "strict priorities,\ngrants first; the link", "green"),
        )
        blocks = {name: (3.2 * k, 0.0, f"{name}\n\n{words}", COLOURS[of]) for k, (name, words, of) in enumerate(stages)}
        blocks["in"], blocks["out"] = (
            (-3.2, 0.0, f"{came:.0f} packets", "0.8"),
            (9.6, 0.0, f"{left:.0f} packets", "0.8"),
        )
        blocks["dropped"] = (0.0, -2.2, f"{dropped:.0f} dropped", "0.8")
        way = pairwise(("in", *(name for name, *_ in stages), "out"))
        figure, ax = subplots(figsize=(10, 3.4))
        draw_blocks(ax, blocks, [(*pair, "") for pair in (*way, ("receiving", "dropped"))], (1.35, 0.75))
        ax.set(xlim=(-4.7, 11.1), ylim=(-3.1, 1.0), title=f"REN, figure 10: {self.title}")
        return figure
