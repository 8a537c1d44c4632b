"""Dart, figure 7: the deflected flow table (DFT), by its handlers alone and in networks."""

from rdmacc.experiments.dart.paths import disorders, entries, hops, occupancy, visits
from rdmacc.interface import ACCEPT, DEFLECT, IN_NETWORK, Byte, Message, Packet, Port
from rdmacc.switch.deflection import ENTRIES, FlowDeflection
from rdmacc.switch.red import EcnStep
from ..api import *
from .setup import *

DRAWN, ROUTED = 12, -1
_PACKETS = 3
EXPECTED_STEPS = (
    ("0xBC starts, long queue", 12, 1),
    ("0xBC goes on, no queue", 12, 1),
    ("0x5A goes on, long queue", ROUTED, 1),
    ("0x5A starts, short queue", ROUTED, 1),
    ("seven others start, long queue", 12, 8),
    ("0x77 starts, long queue, table full", ROUTED, 8),
    ("0xBC ends", 12, 7),
    ("0xBC again", ROUTED, 7),
    ("0x78 starts, long queue", 12, 8),
)
"""Event, output port of the packet (-1: that of its route), entries in use afterwards. The figure shows one entry, id
0xBC to port 12; the rest of the example is assumed."""
_HANDLERS: Any = FlowDeflection
DEFLECTION = next(part for part in PRESET["dart"].switch if isinstance(part, FlowDeflection))
STEP = next(part for part in PRESET["dart"].switch if isinstance(part, EcnStep))


class _Header(Packet):
    tokens = Byte()


def walk() -> list[tuple[str, int, int]]:
    """Return the steps of `EXPECTED_STEPS` with the handlers' results."""
    params, chip = DEFLECTION, FlowDeflection.Chip()

    def send(number: int, psn: int, queue_bytes: int) -> int:
        port, drawn, message, packet = Port(), Port(), Message(), _Header()
        port.queue_bytes, port.link_class, drawn.number = queue_bytes, IN_NETWORK, DRAWN
        message.number, message.packets, packet.psn, packet.tokens = number, _PACKETS, psn, params.tokens
        _HANDLERS.on_route(params, port, chip, message, packet)
        if packet.verdict == DEFLECT:
            packet.verdict = ACCEPT
            _HANDLERS.on_deflect(params, drawn, chip, message, packet)
            return DRAWN
        return int(packet.route)

    above, below = params.threshold_bytes + 1, params.threshold_bytes
    steps = []
    for (event, _, _), packets in zip(
        EXPECTED_STEPS,
        (
            [(0xBC, 0, above)], [(0xBC, 1, 0)], [(0x5A, 1, above)], [(0x5A, 0, below)],
            [(number, 0, above) for number in range(1, 8)], [(0x77, 0, above)], [(0xBC, _PACKETS - 1, 0)],
            [(0xBC, 1, above)], [(0x78, 0, above)],
        ),
        strict=True,
    ):  # fmt: skip
        ports = {send(*packet) for packet in packets}
        assert len(ports) == 1
        steps.append((event, ports.pop(), ENTRIES - chip.keys.count(-1)))
    return steps


def _steps(rows: pd.DataFrame) -> list[tuple[str, float, float]]:
    found = row_of(rows, "handlers")
    return [(event, found[f"{event}: port"], found[f"{event}: entries"]) for event, *_ in EXPECTED_STEPS]


def _walked(table: pd.DataFrame) -> list[list[str]]:
    """Return the steps in words: event, output, entries in use; "(!)" marks unexpected ones."""
    return [
        [event + " (!)" * ((event, port, used) != expected), "its route" if port == ROUTED else f"port {port:.0f}",
         f"{used:.0f}"]
        for (event, port, used), expected in zip(_steps(wide(table)), EXPECTED_STEPS)
    ]  # fmt: skip


def _shares(table: pd.DataFrame) -> pd.DataFrame:
    rows = wide(table).set_index("load")[[f"entries, {number}" for number in range(1, ENTRIES + 1)]].dropna()
    found = rows.div(rows.sum(axis=1).clip(lower=1), axis=0).rename(columns=lambda name: name.removeprefix("entries, "))
    return found.melt(var_name="entries of the switch in use", value_name="share", ignore_index=False).reset_index()


_UP_TO_100_KB = PRESET["dart"].replace(**{"FlowDeflection.short_bytes": "100kB"})


def _rules(rows: pd.DataFrame) -> dict[str, float]:
    right = sum(one == other for one, other in zip(_steps(rows), EXPECTED_STEPS))
    return {"steps as stated": right, "most entries in use": rows["most entries in use"].max()}


def _no_deadlock(rows: pd.DataFrame) -> Measured:
    words = f"{rows['lanes used'].max():.0f} lanes, {rows['PFC pauses'].sum():.0f} pauses by PFC"
    return Measured(total("unfinished", "steps back to a lane")(rows), words)


def _occupied(rows: pd.DataFrame) -> Measured:
    rows = rows[rows["load"].notna() & rows["entries, p99"].notna()]
    rows = rows.set_index(rows["load"].map("{:.0%}".format))
    words = [
        f"{load}: p99 {row['entries, p99']:.0f}, 4 to 8 for {show(row['entries, 4 or more'], '%')}"
        for load, row in rows.iterrows()
    ]
    # A full table hides further demand.
    return Measured({"median": rows["entries, median"], "all 8": rows["entries, full"]}, "; ".join(words))


class Figure7(Experiment):
    name = "dart.fig7"
    seed_stride = 8
    is_wide = True
    claims = (
        claim("dart-f7-1",
              measure=lambda rows: {
                  "0xBC": row_of(rows, "handlers")["0xBC goes on, no queue: port"],
                  "0x5A": row_of(rows, "handlers")["0x5A goes on, long queue: port"],
              }, band=All({"0xBC": Exactly(DRAWN), "0x5A": Exactly(ROUTED)})),
        claim("dart-f7-2", measure=_rules,
              band=All({"steps as stated": Exactly(len(EXPECTED_STEPS)), "most entries in use": AtMost(ENTRIES)})),
        claim("dart-f7-3",
              measure=total("out of order", "discarded bytes", "messages that went two ways", "deflected packets"),
              band=All({
                  **dict.fromkeys(("out of order", "discarded bytes", "messages that went two ways"), Exactly(0)),
                  "deflected packets": AtLeast(1e5),
              })),
        claim("dart-f7-4", measure=lambda rows: rows["most deflections of a packet"].max(), band=AtMost(4)),
        claim("dart-x-4", measure=_occupied,
              band=All({"median": Each(Between(4, 8), "load"), "all 8": Each(LessThan(0.01, "%"), "load")}),
              direction=All({"all 8": Each(LessThan(0.01, "%"), "load")})),
        claim("dart-x-5",
              measure=lambda rows: {
                  one: row_of(rows, "handlers")[f"{one} threshold"] for one in ("deflection", "ECN")
              }, band=All({"deflection": Exactly(15e3), "ECN": Exactly(22.5e3)})),
        claim("dart-x-6", measure=total("long flows' deflections", "long flows' packets"),
              band=All({"long flows' deflections": Exactly(0), "long flows' packets": MoreThan(0)})),
        claim("dart-x-7", measure=_no_deadlock, band=Each(Exactly(0))),
    )  # fmt: skip

    loads = (0.2, 0.4)

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        tree, count, runs = (4, 100, 1) if is_quick else (8, 1000, 8)
        duration, long = ("0.5ms", "200kB") if is_quick else ("1ms", "1MB")
        clos = (
            partial(topology.clos, 4, 2, 8, 2, 4, rate=RATE, delay=DELAY, buffer=10 * BUFFER_PER_PORT)
            if is_quick
            else topology.dart_clos
        )
        yield Point(name="handlers")
        for number in range(runs):
            yield Point.of(
                f"order {number}",
                network=fat_tree(tree), workload=partial(_random_messages, tree**3 // 4, count, seed + number),
                scheme=_UP_TO_100_KB, seed=seed + number, trace=True,
            )  # fmt: skip
        for load in self.loads:
            yield Point.of(
                f"typical {load:.0%}", {"load": load},
                network=clos, workload=partial(_typical_mix, clos, load, duration, long, seed), scheme=PRESET["dart"],
                seed=seed, trace=True, cost=1 + 10 * load,
            )  # fmt: skip

    def compute(self, point: Point) -> pd.DataFrame:
        numbers: dict[str, tuple[float, str]] = {}
        for event, port, used in walk():
            numbers |= {f"{event}: port": (port, ""), f"{event}: entries": (used, "")}
        numbers["deflection threshold"] = (DEFLECTION.threshold_bytes, "bytes")
        numbers["ECN threshold"] = (STEP.kmin_bytes, "bytes")
        return tidy(point.name, numbers)

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        plan = result.plan
        passed = visits(result)
        paths = hops(passed)
        sizes = plan.size_bytes[paths.index.get_level_values("message")]
        deflection = next(part for part in plan.scheme.switch if isinstance(part, FlowDeflection))
        is_long = sizes > deflection.short_bytes
        # All packets of a message must leave a switch by the same port.
        ways = passed.groupby(["message", "node", "visit"])["port"].nunique()
        steps = passed.sort_values(["message", "psn", "sent_ps"]).groupby(["message", "psn"])["lane"].diff()
        used = entries(result, passed)
        in_use = occupancy(used)
        deflected = paths["deflections"] > 0
        numbers: dict[str, tuple[float, str]] = {
            "deflected packets": (int(deflected.sum()), ""),
            "deflected messages": (int(paths[deflected].index.get_level_values("message").nunique()), ""),
            "packets": (len(paths), ""),
            "out of order": (disorders(result), ""),
            "discarded bytes": (int(result.counters["discarded_bytes"]), "bytes"),
            "messages that went two ways": (int((ways > 1).sum()), ""),
            "most deflections of a packet": (int(paths["deflections"].max()), ""),
            "long flows' packets": (int(is_long.sum()), ""),
            "long flows' deflections": (int(paths["deflections"][is_long].sum()), ""),
            "steps back to a lane": (int((steps < 0).sum()), ""),
            "lanes used": (int(passed["lane"].nunique()), ""),
            "unfinished": (int((result.flows["status"] != "finished").sum()), ""),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
            "most entries in use": (int(in_use.max(initial=0)), ""),
        }
        if len(in_use):
            numbers |= {
                "entries, median": (float(np.median(in_use)), ""),
                "entries, p99": (float(np.percentile(in_use, 99)), ""),
                "entries, 4 or more": (float((in_use >= 4).mean()), ""),
                "entries, full": (float((in_use == ENTRIES).mean()), ""),
            }
        for number in range(1, ENTRIES + 1):
            numbers[f"entries, {number}"] = (int((in_use == number).sum()), "")
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {load: (f"{load:.0%} load", colour) for load, colour in zip(self.loads, ("sky", "blue"), strict=True)}
        walked = Listing(
            title="packets ask the table", columns={"event": 0.6, "leaves by": 0.2, "entries": 0.2}, cells=_walked
        )
        shares = Bars(
            "share", looks, by="load", of=_shares, over="entries of the switch in use", unit="%",
            label="share of the entries made", title="as entries are made, typical mix",
        )  # fmt: skip
        return self.drawn([walked, shares], table)


def _random_messages(hosts: int, count: int, seed: int) -> pd.DataFrame:
    """Return messages of up to 100 KB between random hosts, at the rate of three quarters of their links."""
    rng = workload.stream(seed, workload.PAIRS)
    size = rng.integers(1, 100_000, size=count, endpoint=True)
    window_ps = round(size.sum() * 8e12 / (0.75 * hosts * 10e9))
    src = rng.integers(hosts, size=count)
    dst = (src + rng.integers(1, hosts, size=count)) % hosts
    start = rng.integers(window_ps, size=count)
    rows = zip(src.tolist(), dst.tolist(), size.tolist(), start.tolist(), strict=True)
    return workload.messages([(f"h{one}", f"h{other}", length, ps(begin)) for one, other, length, begin in rows])


def _typical_mix(network: Any, load: float, duration: str, long: str, seed: int) -> pd.DataFrame:
    return workload.dart_mix(network(), load, "typical", duration=duration, long=long, seed=seed)
