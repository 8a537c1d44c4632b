"""Dart, figure 4: members of the active unique sender set (AUSS), by the handlers alone and in two scenarios."""

from rdmacc.experiments.dart.receiver import DasrReceiver
from rdmacc.units import s
from ..api import *
from .setup import *

_N = f"Dasr.auss_n {RECEIVER}"
IDLE_PS = s(2)
_OPEN = "Dasr.open_messages 1"
_S_OPEN = "S's messages in flight"

EXPECTED_STEPS = (
    ("S starts a message", 1, 1),
    ("S starts another", 1, 2),
    ("T starts a message", 2, 2),
    ("S ends the first", 2, 1),
    ("S ends the second", 1, 0),
    ("S is between messages", 1, 0),
    ("S starts a third", 2, 1),
    ("S ends the third", 1, 0),
    ("T ends its message", 0, 0),
)
"""Steps of figure 4, (a) and (b): event, size of the set, S's messages in flight."""


def walk() -> list[tuple[str, int, int]]:
    """Return the steps of `EXPECTED_STEPS` with the handlers' counts."""
    receiver = DasrReceiver()
    first, second, third = (receiver.message("S") for _ in range(3))
    other = receiver.message("T")
    moves = (first, second, other, first, second, None, third, third, other)
    steps = []
    for (event, _, _), moved in zip(EXPECTED_STEPS, moves, strict=True):
        if moved is None:
            receiver.wait(us(100))
        else:
            receiver.receive(moved)
        steps.append((event, receiver.n, int(first.sender.open_messages)))
    return steps


def expire() -> dict[str, float]:
    """Return how the handlers treat a sender that stops in the middle of a message."""
    receiver = DasrReceiver()
    message = receiver.message("S", packets=4)
    receiver.receive(message)
    receiver.receive(message, after_ps=s(1))  # refreshes the time of the last packet
    last_ps = receiver.now
    receiver.wait(IDLE_PS - 1)
    before = receiver.n
    receiver.wait(1)
    removed_ps = receiver.now - last_ps if receiver.n == 0 else float("nan")
    after = receiver.n
    receiver.receive(message)
    return {"removed_after_ps": removed_ps, "n_before": before, "n_after": after, "n_resumed": receiver.n}


def _counted_once(rows: pd.DataFrame) -> dict[str, float]:
    steps = row_of(rows, "handlers")
    found = [(event, steps[f"{event}: n"], steps[f"{event}: S in flight"]) for event, *_ in EXPECTED_STEPS]
    names = ["greatest n", "most messages of S in flight", "S leaves after its last byte"]
    return {
        "steps unlike the figure's": sum(one != other for one, other in zip(found, EXPECTED_STEPS)),
        **rows.loc["overlap", names],
    }


class Figure4(Experiment):
    name = "dart.fig4"
    is_wide = True
    claims = (
        claim("dart-f4-1", measure=_counted_once,
              band=All({
                  "steps unlike the figure's": Exactly(0), "greatest n": Exactly(3),
                  "most messages of S in flight": Exactly(2), "S leaves after its last byte": Exactly(0, "us"),
              })),
        claim("dart-f4-2",
              measure=lambda rows: {
                  "handlers": row_of(rows, "handlers")["idle sender removed after"],
                  "scenario": row_of(rows, "silent")["announced sender removed after"],
                  "n when it sends on": row_of(rows, "handlers")["idle sender counted when it sends on"],
              },
              band=All({
                  "handlers": Exactly(IDLE_PS, "s"), "scenario": Within(IDLE_PS, "s", by=PACKET_PS),
                  "n when it sends on": Exactly(1),
              })),
    )  # fmt: skip

    late_ps = s(2.5)
    """Start of the announced sender that stays silent."""

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        network = partial(topology.star, 4, rate=RATE, delay=DELAY, buffer=4 * BUFFER_PER_PORT)
        overlap = workload.combine(
            workload.incast(["h1", "h2"], RECEIVER, "64kB"),
            workload.incast(["h2", "h3"], RECEIVER, "64kB", start="20us"),
        )
        silent = workload.messages([("h1", RECEIVER, "64kB", 0, 0), ("h2", RECEIVER, "64kB", ps(self.late_ps), 0)])
        watched = (probes.field("host", RECEIVER, "Dasr.auss_n"), probes.field("flow", 1, "Dasr.open_messages"))
        yield Point(name="handlers")
        for name, work in (("overlap", overlap), ("silent", silent)):
            yield Point.of(name, network=network, workload=work, scheme=PRESET["dasr"], probes=watched, seed=seed)

    def compute(self, point: Point) -> pd.DataFrame:
        numbers: dict[str, tuple[float, str]] = {}
        for event, n, in_flight in walk():
            numbers |= {f"{event}: n": (n, ""), f"{event}: S in flight": (in_flight, "")}
        idle = expire()
        numbers["idle sender removed after"] = (idle["removed_after_ps"], "ps")
        numbers["idle sender counted when it sends on"] = (idle["n_resumed"], "")
        return tidy(point.name, numbers)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        members = result.samples(_N)
        end = result.now_ps
        if point.name == "silent":
            announced_ps = int(members.index[members == 2][0])
            expired_ps = members.index[(members == 0) & (members.index >= IDLE_PS)]
            removed_ps = float(expired_ps[0] - announced_ps) if len(expired_ps) else float("nan")
            numbers = {"announced sender removed after": (removed_ps, "ps")}
            return tidy(point.name, numbers, {"n": (shown(members, 0, end), "")})
        of_s_open, flows = result.samples(_OPEN), result.flows
        of_s = flows[flows["src"] == "h2"]
        last_ps = int((of_s["start_ps"] + of_s["fct_ps"]).max())
        left_ps = int(of_s_open.index[of_s_open == 0][-1])
        numbers = {
            "greatest n": (float(members.max()), ""),
            "most messages of S in flight": (float(of_s_open.max()), ""),
            "S leaves after its last byte": (left_ps - last_ps, "ps"),
        }
        curves = {"n": (shown(members, 0, end), ""), _S_OPEN: (shown(of_s_open, 0, end), "")}
        return tidy(point.name, numbers, curves)

    def plot(self, table: pd.DataFrame) -> Figure:
        removed = scalar(table, "silent", "announced sender removed after") / 1e12
        looks = {("overlap", "n"): ("n", "black"), ("overlap", _S_OPEN): (_S_OPEN, "vermilion", "--")}
        count = partial(Traces, is_step=True, label="n")
        panels = (
            Sketch(title="sender S at the receiver", how=_draw_diagram),
            count("", looks, by=("point", "quantity"), title="two incasts that overlap in S", axes={"ylim": (0, 4.3)}),
            count("n", {"silent": ("n", "black")}, time_unit="s", axes={"ylim": (0, 2.5)}, legend=None,
                  title=f"S announced, silent for 2.5 s: expires after {removed:.4g} s"),
        )  # fmt: skip
        return self.drawn(panels, table, size=(4.2, 3.6))


def _draw_diagram(ax: Axes, _: pd.DataFrame) -> None:
    blocks = {
        "out": (0.0, 2.0, "S not in the set", "sky"),
        "in": (0.0, 0.0, "S in the set\nin-flight count = c", "blue"),
    }
    draw_blocks(ax, {name: (x, y, text, COLOURS[colour]) for name, (x, y, text, colour) in blocks.items()}, [])
    for x, begin, end, text in (
        (-0.4, 1.5, 0.5, "message starts:\nadd S, c = 1"),
        (0.4, 0.5, 1.5, "message ends, c = 1,\nor idle for 2 s:\nremove S"),
    ):
        ax.annotate("", (x, end), (x, begin), arrowprops={"arrowstyle": "-|>", "color": "0.3"})
        ax.text(1.2 * x, 1.0, text, ha="right" if x < 0 else "left", va="center", fontsize=8)
    ax.text(0.0, -0.8, "another message starts: c + 1;  ends: c - 1", ha="center", fontsize=8)
    ax.set(xlim=(-1.5, 1.7), ylim=(-1, 2.6))
