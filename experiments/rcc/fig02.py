"""RCC, figure 2: the framework, drawn from the implementation."""

from types import FunctionType, ModuleType

from rdmacc.experiments.rcc.receiver import RccReceiver
from rdmacc.protocols import rcc
from ..api import *
from .setup import *

BLOCKS = {
    "sender": (("on_ack", "on_start", "allow"), "Sender: takes the window,\npaces it out over a base RTT"),
    "data": (("on_data", "window"), "Receiver: algorithm 1,\nfor each data packet"),
    "types": (("detect", "measure", "received"), "Differentiating congestion types\n(III-C)"),
    "ewa": (("count", "fair_share"), "Explicit window assignment\n(III-D)"),
    "pid": (("update", "target", "is_due"), "PID-based congestion control\n(III-E)"),
}
"""The paper's blocks: functions of `rdmacc.protocols.rcc`, and a caption."""

FLOWS = 3
_LATE = THRESHOLD_RTT_PS + us(1)
CASES = {
    "on time": ((BASE_RTT_PS,) * 5, 0.5, "lines 16-17"),
    "late, last hop busy": ((_LATE,) * 5, 1.0, "lines 10-11"),
    "late, last hop not busy": ((_LATE,) * 5, 0.5, "lines 13-15"),
    "late once": ((_LATE, BASE_RTT_PS) * 3, 0.5, "lines 16-17, equation (1)"),
    "under PID, then on time and busy": ((_LATE,) * 5 + (BASE_RTT_PS,) * 500, 0.5, "lines 6-9"),
}
"""Samples, use of the last hop, and the lines of algorithm 1 that they take."""


def _ends(is_under_pid: bool, *window: Band) -> Band:
    return All({"under PID": Exactly(is_under_pid), "window over the fair share": All(*window)})


_PATHS = {
    "on time": _ends(False, Exactly(1)),
    "late, last hop busy": _ends(False, Exactly(1)),
    "late, last hop not busy": _ends(True, MoreThan(0), LessThan(1)),
    "late once": _ends(False, Exactly(1)),
    "under PID, then on time and busy": _ends(True, Exactly(1)),
}
"""Expected end of each case."""


def walk(case: str) -> dict[str, float]:
    """Return the mode that the handlers reach in a case, and the window relative to the fair share."""
    samples, used, _ = CASES[case]
    one = RccReceiver(flows=FLOWS, used=used)
    cwnd = 0
    for rtt_ps in samples:
        if rtt_ps <= BASE_RTT_PS and one.receiver.is_iterative:
            one.used = 1.0
        cwnd = one.take(rtt_ps)
    return {"mode": one.receiver.is_iterative, "window": cwnd / (BDP_BYTES // FLOWS)}


def calls_in(module: ModuleType, roots: Mapping[str, Callable[..., Any]]) -> list[tuple[str, str]]:
    """Return (caller, called) for every function of a module reachable from the roots, in order of discovery."""
    own = {name: one for name, one in vars(module).items() if isinstance(one, FunctionType)}
    pairs: list[tuple[str, str]] = []
    waiting: list[tuple[str, Any]] = list(roots.items())
    seen = set(roots)
    for name, function in waiting:
        for called in function.__code__.co_names:
            if called in own and own[called].__module__ == module.__name__:
                pairs.append((name, called))
                if called not in seen:
                    seen.add(called)
                    waiting.append((called, own[called]))
    return list(dict.fromkeys(pairs))


def rows_of_calls(point: str, pairs: Iterable[tuple[str, str]]) -> pd.DataFrame:
    """Return calls as rows of a table, with columns for caller and called."""
    rows = [(point, "calls", pd.NA, 1.0, "", caller, called) for caller, called in pairs]
    return typed(pd.DataFrame(rows, columns=[*TABLE_COLUMNS, "caller", "called"]))


def _walked(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    names = {"mode": "under PID", "window": "window over the fair share"}
    return {
        case: {words: scalar(table, "handlers", f"{case}: {name}") for name, words in names.items()} for case in CASES
    }


def arrows_in(table: pd.DataFrame) -> set[tuple[str, str]]:
    """Return the pairs of blocks with calls from the first to the second."""
    calls = table[table["quantity"] == "calls"]
    block_of = {name: block for block, (names, _) in BLOCKS.items() for name in names}
    pairs = zip(calls["caller"].map(block_of), calls["called"].map(block_of), strict=True)
    return {(one, other) for one, other in pairs if isinstance(one, str) and isinstance(other, str) and one != other}


def _modules(table: pd.DataFrame) -> dict[str, float]:
    return {
        "blocks that algorithm 1 calls": sum(one == "data" for one, _ in arrows_in(table)),
        "window in the ACK over the fair share": scalar(table, "handlers", "window in the ACK") / (BDP_BYTES // FLOWS),
        "pace over window / base RTT": scalar(table, "handlers", "pace over window / base RTT"),
    }


class Figure2(Experiment):
    name = "rcc.fig2"
    seeding = Seeding.NONE
    claims = (
        claim("rcc-f2-1a", measure=_modules,
              band=All({
                  "blocks that algorithm 1 calls": Exactly(3), "window in the ACK over the fair share": Exactly(1),
                  "pace over window / base RTT": Exactly(1),
              })),
        claim("rcc-f2-1b", measure=_walked, band=All(_PATHS)),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> list[Point]:
        return [Point(name="handlers")]

    def compute(self, point: Point) -> pd.DataFrame:
        numbers: dict[str, tuple[float, str]] = {}
        for case in CASES:
            numbers |= {f"{case}: {name}": (value, "") for name, value in walk(case).items()}
        one = RccReceiver(flows=FLOWS)
        ack = type("Ack", (), {"cwnd_bytes": one.take()})()
        one.acknowledge(ack)
        numbers["window in the ACK"] = (ack.cwnd_bytes, "bytes")
        pace = ack.cwnd_bytes * 8e12 / BASE_RTT_PS
        numbers["pace over window / base RTT"] = (one.sender.rate_bps / pace, "")
        roots = {name: getattr(rcc.Rcc, name) for name in ("on_data", "on_ack", "on_start")}
        return pd.concat(
            [tidy(point.name, numbers), rows_of_calls(point.name, calls_in(rcc, roots))], ignore_index=True
        )

    def plot(self, table: pd.DataFrame) -> Figure:
        places = {"sender": (0.0, 1.2), "data": (3.6, 1.2), "types": (7.6, 2.4), "ewa": (7.6, 1.2), "pid": (7.6, 0.0)}
        colours = dict(zip(BLOCKS, ("sky", "orange", "green", "blue", "vermilion"), strict=True))
        boxes = {
            name: (*places[name], f"{caption}\n{', '.join(functions)}", COLOURS[colours[name]])
            for name, (functions, caption) in BLOCKS.items()
        }
        arrows = [(one, other, "") for one, other in sorted(arrows_in(table)) if one == "data"]
        figure, ax = subplots(figsize=(10, 3.6))
        draw_blocks(ax, boxes, arrows, (1.35, 0.42))
        for height, text, tail, head in ((1.38, "data: time stamp", 1.4, 2.2), (1.02, "ACK: window", 2.2, 1.4)):
            look = {"arrowstyle": "-|>", "color": "0.3", "linewidth": 1.2}
            ax.annotate("", (head, height), (tail, height), arrowprops=look)
            ax.text(1.8, height + (0.1 if head > tail else -0.25), text, ha="center", fontsize=7, color="0.3")
        ax.set(xlim=(-1.6, 9.2), ylim=(-0.6, 3.0))
        ax.set_title(f"RCC, figure 2: {self.title} (arrows: calls found in the code)")
        return figure
