"""Dart, section VI: what the paper leaves open about its simulations, and what that decides.

Readings of `rdmacc.experiments.dart.clos` in the typical mix, the default with three seeds, the others with one and at
the loads that tell them apart; and DASR's throughput measured over half to all of a base RTT, and at least 10 packets,
instead of 6 us and 5. What the authors ran is not known.
"""

from __future__ import annotations

from ..api import *

from rdmacc.experiments.dart.clos import (
    BOTH,
    BY_LOAD,
    FRESH,
    FRESH_GROUPS,
    LAST_HOP,
    LOADS,
    LONG_FLOWS,
    LONG_WINDOW,
    NOTICEABLE,
    SPREAD_STARTS,
    TIMELY_20,
    WINDOW,
    WITH_LONG,
    ClosCase,
    ClosFigure,
    cases,
    claim,
    kept,
    means,
    of_reading,
)
from rdmacc.experiments.dart.loads import BASELINES, mean_of
from rdmacc.experiments.dart.table1 import PUBLISHED_MARKS
from rdmacc.experiments.dart.techniques import VARIANTS

QUESTIONS = register(
    "dart",
    Question(
        title="Does a sender's rate outlive its message?",
        place="VI-A",
        sentence="Flows start at the line rate (i.e., there is no slow start).",
        readings=(
            Reading(
                name="kept",
                answer="Yes: a host has one queue pair for each host that it sends to, as NICs do. A message starts at"
                " the rate at which the previous one ended.",
                evidence="DCQCN's tail is then long enough for the published gains (dart-r-1a). The DCQCN simulator for"
                " ns-3 that was public at the time keeps a rate for each UDP port and sets it to the line's only once,"
                " when the port first sends (github.com/bobzhuyb/ns3-rdma, src/point-to-point/model/qbb-net-device.cc,"
                ' DequeueAndTransmit, "late initialization"). Against it: TIMELY\'s tail is two to four times as long'
                " as DCQCN's (dart-f11a-5).",
            ),
            Reading(
                name=FRESH,
                answer="No: every message has a queue pair of its own and starts at line rate. Each incast draws its"
                " senders and its receiver again.",
                evidence='"All flows begin at the full line rate" (III). TIMELY is then as fast as DCQCN (dart-f11a-5).'
                " Against it: a message of 8 KB leaves within 7 us, before anything can slow it down, so Dart has next"
                " to nothing to gain (dart-r-1b).",
            ),
            Reading(
                name=FRESH_GROUPS,
                answer="No, and 128 groups, drawn once, make all incasts.",
                evidence="It separates the effect of the groups from that of the rates: groups alone make no long tail"
                " (dart-r-1a).",
            ),
        ),
        why="The text has flows begin at line rate, and does not say whether a further message to the same host is a"
        " new flow. The public simulator of DCQCN of the time keeps the rate.",
    ),
    Question(
        title="How many groups of servers make the incasts?",
        place="VI-A",
        sentence="Further, groups of randomly-chosen servers send to randomly-chosen receivers causing multiple incasts"
        " which are typical (e.g., in Web Search).",
        readings=(
            Reading(
                name="groups by load",
                answer='In proportion to the load, drawn once ("static in the application", III-D): 64 at 20%, 128 at'
                " 40%, 192 at 60%, 256 at 80%. A higher load means more concurrent incasts; each group stays as busy as"
                " before.",
                evidence="Dart's tail is 68% below DCQCN's at 20% and 85% at 60% (published: 84 and 93%), and IOFD"
                " gains more at higher load, as published. Against it: Pri-Q is worse than DCQCN at 60% (dart-f14-7),"
                " and look-ahead gains nothing at 20% (dart-f14-8).",
            ),
            Reading(
                name="128 groups",
                answer="128 at all loads; each sends three times as often at 60% as at 20%.",
                evidence="Against it: at 20% the pairs of a group meet again after 0.4 ms on average; DCQCN's rates"
                " have recovered, and Dart gains nothing (dart-f11a-2).",
            ),
            Reading(
                name="64 groups",
                answer="64 at all loads.",
                evidence="At 40% Dart's gain is the published one (dart-r-1c). Against it: the receivers' links cannot"
                " carry 60%.",
            ),
            Reading(
                name="256 groups",
                answer="256 at all loads.",
                evidence="Groups meet half as often as with 128, and Dart gains about half as much (dart-r-1c).",
            ),
        ),
        why='The paper gives no number. Its load grows by more of the "multiple incasts", and nothing says that a'
        " server asks more often, so there must be more groups.",
    ),
    Question(
        title="Over what time does DASR measure its throughput?",
        place="III-C",
        sentence="Accordingly, Dart enters “Non Receiver Congestion” state when the receiver observes lower than line"
        " rate as well as ECN marks.",
        readings=(
            Reading(
                name="short window",
                answer="6 us and at least 5 packets: a third of the time that the marking threshold of 22.5 KB takes to"
                " cross the link.",
                evidence="The receiver knows that its line is full before a mark arrives, as figure 5 needs. Against"
                " it: DASR leaves next to no marks, while the paper has some (table I).",
            ),
            Reading(
                name=LONG_WINDOW,
                answer="Half to one base RTT and at least 10 packets.",
                evidence="DCQCN's marks over Dart's are near those of table I (dart-r-2b), and Dart's"
                " long flows gain 45% over DCQCN's (published: 48%). Against it: it takes the receiver's own congestion"
                " for the network's, and a tenth of the short flows' packets stay marked.",
            ),
        ),
        why="The paper gives no time. It says that DASR suppresses the marks of the receiver's own congestion; in"
        " incasts only the short window does.",
    ),
    Question(
        title="What is TIMELY's minimum RTT?",
        place="VI-A",
        sentence="We set TIMELY's parameters as per the TIMELY paper: T_low = 50 us, T_high = 500 us, alpha = 1 Mbps,"
        " and beta = 0.8.",
        readings=(
            Reading(
                name="the network's RTT",
                answer="That of the path: 60 us between pods. TIMELY divides its gradient by it.",
                evidence='TIMELY\'s authors publish it as a variable, "fixed minimum network RTT value", beside the'
                " parameters that they recommend. Dart gains 62% over TIMELY (published: 68%; dart-f13-2 holds)."
                " Against it: in the heavy mix it gains 83% over DCQCN and TIMELY (published: 173%; dart-f13-4).",
            ),
            Reading(
                name=TIMELY_20,
                answer="20 us, as in simulators of TIMELY, HPCC's among them. One seed; typical and heavy mix.",
                evidence="In the heavy mix Dart then gains 179% over DCQCN and TIMELY (published: 173%; dart-f13-4"
                " holds). Dart's long flows gain 97% over TIMELY's in the typical mix, and 76% over DCQCN's and"
                " TIMELY's (published: 68 and 58%). Against it: over all flows Dart's gain in the typical mix is 177%,"
                " far above the published one (dart-f13-2), as TIMELY's median is eight times DCQCN's, and its tail no"
                " shorter (dart-f11a-5).",
            ),
        ),
        why="The paper lists no such parameter, and TIMELY's own code uses the network's. 20 us would make rates here"
        " react three times as hard to the same gradient.",
    ),
    Question(
        title="May the last hop deflect?",
        place="IV",
        sentence="We now address in-network congestion, starting with the easier spatially-localized congestion,"
        " including incasts, and then discuss the harder spatially-dispersed congestion.",
        readings=(
            Reading(
                name="only in the network",
                answer="No: a flow that collides at its receiver waits there.",
                evidence='"Flows colliding at the receiver should not be deflected" (I), and a deflected packet comes'
                " back to the same queue.",
            ),
            Reading(
                name=LAST_HOP,
                answer="Yes: switches deflect short flows from receivers' ports, too. One seed; typical and heavy mix.",
                evidence="The sentence counts incasts among the congestion that deflection addresses. IOFD alone then"
                " takes 57% off DCQCN's tail at 20% and 69% at 60% (published: 31 and 79%), and table II's cells of the"
                " heavy mix hold. Against it: paths at 20% of the typical mix grow by 27% (published: 8%), and Dart's"
                " own tail gains nothing.",
                against='"Flows colliding at the receiver should not be deflected" (I).',
            ),
        ),
        why="Section I is explicit.",
    ),
    Question(
        title="Do the flows of an incast start together?",
        place="VI-A",
        sentence="Further, groups of randomly-chosen servers send to randomly-chosen receivers causing multiple incasts"
        " which are typical (e.g., in Web Search).",
        readings=(
            Reading(
                name="together",
                answer="Yes, in the same picosecond.",
                evidence="A group answers one request, and VI mentions no jitter. DCQCN's marks then hardly depend on"
                " the load: 39 to 42%.",
            ),
            Reading(
                name=SPREAD_STARTS,
                answer="No: each starts up to 100 us late, as on the testbed (V). One seed; typical mix.",
                evidence='"We introduce random jitter of 0-100 μs among the incast senders in each round" (V-B).'
                " DCQCN's marks then rise with the load, from 23 to 33% (published: 17 to 67%). Against it: at 20 and"
                " 40% DCQCN's tail is gone, and Dart's is 25 and 13% longer (published: 79% shorter).",
            ),
        ),
        why="The paper mentions jitter on the testbed only.",
    ),
    Question(
        title="Whose throughput does figure 13 show?",
        place="VI-B",
        sentence="Figure 13 shows the throughput achieved for the same set of load levels and load-mix ratios.",
        readings=(
            Reading(
                name="all flows",
                answer="All flows': the mean of size / latency over short and long flows.",
                evidence="DCTCP's 300 us before the first packet can matter to short flows alone. On the mean over"
                " loads the order is the published one in every mix: Dart above DCQCN and TIMELY, these above DCTCP,"
                " and the light mix above the typical one (dart-f13-5). Dart gains 62% over TIMELY (published: 68%;"
                " dart-f13-2 holds). Against it: it gains 8% over DCQCN (published: 48%; dart-f13-1), and in the light"
                " mix TIMELY is ahead of it at 20 and 40%.",
            ),
            Reading(
                name=LONG_FLOWS,
                answer="The long flows': the mean of size / latency over them.",
                evidence='"Unlike short flows, long flows are sensitive to throughput not latency" (IV, of deflection).'
                " Dart gains 58% over DCQCN (published: 48%; dart-f13-1 holds). Against it: DCTCP's long flows are the"
                " fastest, TIMELY's a third faster than Dart's, and the light mix has less throughput than the typical"
                " one (dart-f13-2, dart-f13-5).",
                against='VI-B: "Median latency reduction indicates throughput improvements", and DCTCP is slowest by'
                " its start-up, which long flows do not feel.",
            ),
        ),
        why='VI-B says so of the figure itself: "Median latency reduction indicates throughput improvements, as we see'
        ' next", DCTCP is the slowest "due to DCTCP\'s OS overheads", and there is a "correspondence between'
        " Dart's median latency and throughput\". The medians are those of short flows.",
    ),
)

_COMPARED = ("dcqcn", "timely", "pri-q", "iofd", "dasr", "dart")
_LOADS = [("typical", load) for load in LOADS["typical"]]
_SHOWN = (BY_LOAD, FRESH, FRESH_GROUPS, kept(64), kept(256))
_AT = {FRESH: (0.2, 0.4), FRESH_GROUPS: (0.4,), kept(64): (0.4,), kept(256): (0.4,)}


def readings(scale: str) -> list[ClosCase]:
    """Return runs of each reading in the typical mix; at quick scale a few."""
    if scale == "quick":
        return cases(("dcqcn", "dart"), [("typical", 0.2)], BOTH)
    found = cases(_COMPARED, _LOADS) + cases(("dart",), _LOADS, changes=WINDOW)
    for label, loads in _AT.items():
        found += cases(("dcqcn", "timely", "dart"), [("typical", load) for load in loads], [label])
    return list(dict.fromkeys(found))


def with_all_readings(table: pd.DataFrame, readings: pd.DataFrame) -> pd.DataFrame:
    """Return a figure's table with what the table of `Readings` has of its schemes in other readings."""
    is_new = readings["scheme"].isin(table["scheme"].unique()) & ~readings["point"].isin(table["point"])
    return pd.concat([table, readings[is_new]], ignore_index=True)


def verdicts() -> pd.DataFrame:
    """Return the verdicts on figures 11 to 13 and the tables under all readings, of the bundled tables.

    A row for each claim, a column for each reading. Those that were run for `Readings` alone have some of the schemes
    and mixes; claims that need others are not judged.
    """
    longer = load_summary(Readings.name)
    found = []
    for name in ("dart.fig11", "dart.fig12", "dart.fig13", "dart.table1", "dart.table2"):
        one, table = experiment(name), with_all_readings(load_summary(name), longer)
        found.append(
            pd.DataFrame(
                {
                    reading: {row["id"]: row["verdict"] for row in one.judge(table, "paper", reading)}
                    for reading in (DEFAULT, *one.readings_in(table))
                }
            )
        )
    return pd.concat(found)


def _of_all(measure: Callable[[pd.DataFrame], Any]) -> Callable[[pd.DataFrame], Any]:
    """Return a measurement of all readings together."""

    def measured(rows: pd.DataFrame) -> Any:
        if not {kept(128), *_AT} <= set(rows["reading"]):
            raise NotJudged("not run at this scale")
        return measure(rows)

    return measured


def _less(rows: pd.DataFrame, reading: str, *loads: float) -> float:
    """Return Dart's mean p99 reduction over DCQCN and TIMELY."""
    return mean_of("p99", "typical", BASELINES, loads)(of_reading(rows, reading))["mean"]


def _tail_of_state(rows: pd.DataFrame) -> Measured:
    stays, fresh = (means(of_reading(rows, one), "p99", "dcqcn", "typical")[0.4] for one in (kept(128), FRESH_GROUPS))
    return Measured(stays / fresh, f"{show(stays, 'us')} kept, {show(fresh, 'us')} fresh")


def _window(rows: pd.DataFrame) -> dict[str, float]:
    chosen = of_reading(rows)
    more = means(chosen, "marked", "dart", "typical", WITH_LONG) / means(chosen, "marked", "dart", "typical")
    return {f"{load:.0%}": value for load, value in more.items()}


def _marks_with_long_window(rows: pd.DataFrame) -> dict[str, float]:
    chosen = of_reading(rows)
    ratio = means(chosen, "marked", "dcqcn", "typical") / means(chosen, "marked", "dart", "typical", WITH_LONG)
    return {f"{load:.0%}": value - 1 for load, value in ratio.items()}


def _draw_readings(rows: pd.DataFrame) -> Figure:
    shown = [one for one in _SHOWN if len(of_reading(rows, one))]
    palette = list(COLOURS.values())
    figure, axes = subplots(1, len(shown), figsize=(2.7 * len(shown) + 0.6, 3.6), sharey=True, squeeze=False)
    for ax, reading in zip(axes[0], shown, strict=True):
        for place, scheme in enumerate(_COMPARED):
            chosen = by_load(of_reading(rows, reading), "p99", scheme=scheme, changes="")
            spread = chosen.agg(["min", "mean", "max"]) / 1e6
            at, name = spread.index * 100, {**VARIANTS, "timely": "TIMELY"}[scheme]
            ax.plot(at, spread["mean"], marker="o^vsPD"[place], color=palette[place], label=name)
            ax.fill_between(at, spread["min"], spread["max"], color=palette[place], alpha=0.2)
        log_axes(ax, "y")
        ax.set(title=reading, xlabel="load (% of ToR uplinks)")
    axes[0][0].set_ylabel("p99 of 8 KB flows (us)")
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
    figure.suptitle("Dart, VI: the tail by what the paper leaves open, typical mix")
    return figure


def _published_ratio(load: float) -> float:
    dcqcn, dart = PUBLISHED_MARKS["typical", load]
    return dcqcn / dart


@register_experiment
class Readings(ClosFigure):
    """Tails and marks by what the paper leaves open: queue pairs, groups, DASR's window."""

    name = "dart.readings"
    title = "What the paper leaves open"
    description = "Tails and marks by what the paper leaves open: queue pairs, groups, DASR's window"

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        return table if reading == DEFAULT else None  # all readings

    def seeds_of(self, case: ClosCase) -> int:
        return self.seeds if not case.changes and case == ClosCase(case.scheme, case.mix, case.load) else 1

    claims = (
        claim(
            "dart-r-1a", "VI", "DCQCN's p99 with rates that outlive messages / without", "128 groups, 40%", "not said",
            by=OURS, measure=_of_all(_tail_of_state), band=AtLeast(2), unit="x",
        ),
        claim(
            "dart-r-1b", "VI", "mean p99 reduction vs DCQCN and TIMELY", "fresh, 20 and 40%", "79%", by=OURS,
            measure=_of_all(lambda rows: _less(rows, FRESH, 0.2, 0.4)), band=AtLeast(0.4),
            direction=AtLeast(NOTICEABLE),
            unit="%", expect=Outcome.FAILS,
            why="The incast is over before any sender hears of it, and queues in the network add little, so there is"
            " little for any scheme to remove. Dart's tail is 4% below that of the others.",
        ),
        claim(
            "dart-r-1c", "VI", "mean p99 reduction by number of groups", "kept, 40%", "not said", by=OURS,
            measure=_of_all(lambda rows: {f"{n}": _less(rows, kept(n), 0.4) for n in (64, 128, 256)}),
            band=Falls(), unit="%",
        ),
        claim(
            "dart-r-2a", "VI", "marks that DASR leaves with the longer window / with 6 us", "kept, typical mix",
            "not said", by=OURS, measure=_of_all(_window), band=Each(AtLeast(2), "load"), unit="x",
        ),
        claim(
            "dart-r-2b", "VI", "DCQCN's marks / Dart's with the longer window - 1", "kept, typical mix",
            "2.8, 3.7, 4.8", by=OURS, measure=_of_all(_marks_with_long_window),
            band=All({f"{at:.0%}": Within(_published_ratio(at) - 1, factor=2) for at in LOADS["typical"]}),
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[ClosCase]:
        return readings(scale)

    def draw(self, rows: pd.DataFrame) -> Figure:
        return _draw_readings(rows)
