"""Improved Go-Back-N, figure 5: the receiver's timer of Check EPSN."""

from rdmacc.experiments.igbn.ladders import LAST, PACKETS, Ladders, arrows_of, data, nak
from rdmacc.results.ladder import Arrow
from ..api import *
from .setup import *

_INTERVAL_PS = us(500)
"""Between NAKs for the same packet, table I."""

_EXAMPLES = {
    "at the end of T": ((data(2), nak(2)), "(a) T runs out: NAK"),
    "again": ((data(2), nak(2), nak(2, nth=2)), "(b) that NAK is lost"),
    "reset": ((data(2), *(data(psn, nth=2) for psn in range(3, PACKETS))), "(c) EPSN comes within T"),
}

_CHECK = "check_timer_ps"


def _sent(table: pd.DataFrame, point: str, label: str) -> list[Arrow]:
    return [arrow for arrow in arrows_of(table, point) if arrow.label == label]


def _checks(table: pd.DataFrame) -> Measured:
    """Return the times between NAKs, in NAK intervals."""
    asked = {case: [arrow.begin_ps for arrow in _sent(table, case, "NAK 2")] for case in ("at the end of T", "again")}
    gaps = {
        f"{case}, gap {number}": (later - earlier) / _INTERVAL_PS
        for case, times in asked.items()
        for number, (earlier, later) in enumerate(pairwise(times), 1)
    }
    last_came_ps = next(arrow.end_ps for arrow in _sent(table, "at the end of T", f"DATA {LAST}"))
    came_ps = next(arrow.end_ps for arrow in _sent(table, "reset", "DATA 2") if not arrow.is_lost)
    reset = (_sent(table, "reset", "NAK 3")[0].begin_ps - came_ps) / _INTERVAL_PS
    armed = curve(table, "reset", _CHECK)
    found = {
        "NAKs": {case: len(times) for case, times in asked.items()},
        "NAK intervals": gaps | {"reset": reset},
        "timer runs before packet 2 comes": (armed[armed.index < came_ps] < came_ps + _INTERVAL_PS).any(),
        "timeouts": sum(scalar(table, case, "timeouts") for case in _EXAMPLES),
    }
    return Measured(found, f"T = {show(asked['at the end of T'][1] - last_came_ps, 'us')}")


class Figure5(Ladders):
    name = "igbn.fig5"
    claims = (
        claim("igbn-f5-1", measure=_checks,
              band=All({
                  "NAKs": All({"at the end of T": Exactly(2), "again": Exactly(3)}), "NAK intervals": Each(Exactly(1)),
                  "timer runs before packet 2 comes": Exactly(True), "timeouts": Exactly(0),
              })),
    )  # fmt: skip

    watched = ("timeouts", _CHECK)
    titles = tuple((name, title) for name, (_, title) in _EXAMPLES.items())
    size = (11, 13)

    def cases(self) -> list[tuple[str, str, tuple[ScriptedLoss, ...], dict[str, Any]]]:
        return [(name, CE, losses, {}) for name, (losses, _) in _EXAMPLES.items()]

    def notes(self, table: pd.DataFrame, point: str) -> list[tuple[str, int, str]]:
        armed = curve(table, point, _CHECK)
        times = [(at, until) for at, until in zip(armed.index, armed, strict=True) if until < ACK_TIMEOUT_PS]
        # Each packet of a back-to-back train restarts the timer; one note covers them.
        first = [one for (before, _), one in zip([(-math.inf, 0), *times], times) if one[0] - before > us(1)]
        return [("h1", at, f"T = {(until - at) / 1e6:.1f} us") for at, until in first]
