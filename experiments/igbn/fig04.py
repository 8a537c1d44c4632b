"""Improved Go-Back-N, figure 4: four losses after which go-back-N waits for its timer."""

from rdmacc.experiments.igbn.ladders import LAST, PACKETS, Ladders, data, nak
from ..api import *
from .setup import *

CASES = {
    "last packet": ("timeouts_last_packet", (data(LAST),), "(a) the last packet is lost"),
    "last ACK": ("timeouts_last_ack", (ScriptedLoss(message=0, psn=PACKETS, kind="ack"),), "(b) the last ACK is lost"),
    "NAK": ("timeouts_nak", (data(2), nak(2)), "(c) the NAK is lost"),
    "twice": ("timeouts_twice", (data(2), data(2, nth=2)), "(d) a packet is lost twice"),
}

CURES = {ST: {"last packet", "last ACK"}, CE: {"NAK", "twice"}, IGBN: set(CASES)}
"""The cases that each change is meant for."""


def _only_by_the_timer(table: pd.DataFrame) -> Measured:
    ends_ps = {case: scalar(table, f"{case}, {GBN}", "acknowledged") for case in CASES}
    found = {
        case: {
            "timeouts": scalar(table, f"{case}, {GBN}", "timeouts"),
            "for this reason": scalar(table, f"{case}, {GBN}", reason),
            "time / timeout": ends_ps[case] / ACK_TIMEOUT_PS,
        }
        for case, (reason, _, _) in CASES.items()
    }
    return Measured(found, "acknowledged after " + ", ".join(format_time(round(end), 5) for end in ends_ps.values()))


class Figure4(Ladders):
    name = "igbn.fig4"
    claims = (
        claim("igbn-f4-1", measure=_only_by_the_timer,
              band=Each(All({
                  "timeouts": Exactly(1), "for this reason": Exactly(1), "time / timeout": MoreThan(1),
              }), of="loss")),
        claim("igbn-f4-1a",
              measure=lambda table: {
                  VARIANTS[variant]: {case: scalar(table, f"{case}, {variant}", "timeouts") for case in CASES}
                  for variant in CURES
              },
              band=All({
                  VARIANTS[variant]: All({case: Exactly(0) if case in cured else MoreThan(0) for case in CASES})
                  for variant, cured in CURES.items()
              })),
    )  # fmt: skip

    titles = tuple((f"{case}, {GBN}", title) for case, (_, _, title) in CASES.items())
    size = (10.5, 15)
    more = f"; {TITLES[GBN]}, timeout 100 ms"

    def cases(self) -> list[tuple[str, str, tuple[ScriptedLoss, ...], dict[str, Any]]]:
        return [
            (f"{case}, {variant}", variant, losses, {"case": case})
            for variant in VARIANTS
            for case, (_, losses, _) in CASES.items()
        ]

    def notes(self, table: pd.DataFrame, point: str) -> list[tuple[str, int, str]]:
        trace = curve(table, point, "timeouts")
        return [("h0", int(at), "ACK\ntimeout") for at in trace.index[trace > 0][:1]]
