"""Dart, III-D and III-E: the cost of look-ahead, and how a tenant can harm others with it."""

from rdmacc.units import s
from ..api import *
from .setup import *

LISTED = 16
"""Senders that each of the attacker's announcements lists, itself included."""
INCAST, PAYLOAD = 20, size_bytes("2kB")
"""The example of III-D: 20 senders, 2 KB each."""

_ATTACKER = "b0"
_ARRANGEMENTS = {
    "one set": ("dasr", False),
    "a set each": ("dasr", True),
    "no look-ahead": ("dasr-no-look-ahead", False),
}
_LOOKS = {"no attack": ("black", ":"), "attack": ("vermilion", "-")}
_ATTACK_PS, _EVERY_PS, _BIN_PS = us(300), us(100), us(50)
_NEVER_PS = s(1000)
"""Start time of listed senders that never send."""


def shared_machine(is_private: bool) -> Graph:
    """Return a star of senders and their receiving machine: one host, or one per tenant."""
    graph: Graph = topology.star(2 + LISTED, rate=RATE, delay=DELAY, buffer=(2 + LISTED) * BUFFER_PER_PORT)
    if not is_private:
        return graph
    graph.remove_edge(RECEIVER, "s0")
    topology.add_switch(graph, "v0", 3 * BUFFER_PER_PORT)
    topology.add_link(graph, "v0", "s0", RATE, DELAY)
    topology.add_host(graph, _ATTACKER)
    for machine in (RECEIVER, _ATTACKER):
        topology.add_link(graph, machine, "v0", LINE_BPS / 2, "1ns")
    return graph


def _attack(is_private: bool, until_ps: int) -> pd.DataFrame:
    """Return tenant B's announcements: a packet from h2 for each, and senders that are only listed."""
    to = _ATTACKER if is_private else RECEIVER
    rows = []
    for group, start in enumerate(range(_ATTACK_PS, until_ps, _EVERY_PS)):
        rows.append(("h2", to, 1000, ps(start), group))
        rows += [(f"h{number}", to, 1000, _NEVER_PS, group) for number in range(3, 2 + LISTED)]
    return workload.messages(rows)


def _kept(table: pd.DataFrame, arrangement: str) -> Measured:
    before, after = (scalar(table, f"{arrangement}, {name}", "throughput of A") for name in ("no attack", "attack"))
    return Measured(after / before, f"{show(before, 'Gb/s')} without the attack")


def _overhead(table: pd.DataFrame) -> dict[str, float]:
    with_it, without = (
        scalar(table, f"incast, {name}", "bytes on the wire") for name in ("dasr", "dasr-no-look-ahead")
    )
    return {"bytes": with_it - without, "share": (with_it - without) / PAYLOAD}


class LookAhead(Experiment):
    name = "dart.look-ahead"
    claims = (
        claim("dart-x-2", measure=_overhead, band=All({"bytes": Exactly(40, "B"), "share": Exactly(0.02, "%")})),
        claim("dart-x-2a", measure=lambda table: 2 ** (8 * scalar(table, "incast, dasr", "bytes for each sender")),
              band=Exactly(64 * 1024)),
        claim("dart-x-8a", measure=partial(_kept, arrangement="one set"), band=Within(1 / LISTED, share=0.05)),
        claim("dart-x-8b", measure=partial(_kept, arrangement="a set each"), band=Within(1, by=0.01)),
        claim("dart-x-8c", measure=partial(_kept, arrangement="no look-ahead"), band=AtLeast(0.98)),
    )  # fmt: skip
    panels = tuple(
        Traces(
            quantity="throughput", looks={f"{name}, {case}": (case, *look) for case, look in _LOOKS.items()},
            unit="Gb/s", title=name, label="throughput of tenant A",
            phases={f"B announces {LISTED}": (_ATTACK_PS, ms(1))}, axes={"xlim": (50, 1000), "ylim": (0, 10.5)},
        )
        for name in _ARRANGEMENTS
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        until_ps = ms(1) if check_scale(scale) == "quick" else ms(20)
        victim = workload.long_flows([("h1", RECEIVER)])
        for (name, (scheme, is_private)), attack in product(_ARRANGEMENTS.items(), _LOOKS):
            work = victim if attack == "no attack" else workload.combine(victim, _attack(is_private, until_ps))
            yield Point.of(
                f"{name}, {attack}", {"arrangement": name, "attack": attack},
                network=partial(shared_machine, is_private), workload=work, scheme=PRESET[scheme], until=until_ps,
                seed=seed, probes=(probes.field("flow", 0, "received_packets", every=_BIN_PS), probes.rate(0)),
            )  # fmt: skip
        for scheme in ("dasr", "dasr-no-look-ahead"):
            senders = [f"h{number}" for number in range(1, INCAST + 1)]
            yield Point.of(
                f"incast, {scheme}",
                network=partial(topology.star, INCAST + 1, rate=RATE, delay=DELAY, buffer=INCAST * BUFFER_PER_PORT),
                workload=workload.incast(senders, RECEIVER, PAYLOAD), scheme=PRESET[scheme], seed=seed,
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        plan = result.plan
        if point.name.startswith("incast"):
            nic = result.ports.set_index("port")["tx_bytes"]["h1->s0"]
            dasr = plan.scheme.control[0]
            each = dasr.extra_bytes(INCAST) / INCAST
            return tidy(
                point.name, {"bytes on the wire": (int(nic), "bytes"), "bytes for each sender": (each, "bytes")}
            )
        held = result.samples("received_packets 0")
        rate = held.diff().dropna() * plan.scheme.payload_bytes * 8e12 / _BIN_PS
        settled_ps = _ATTACK_PS + us(200)
        numbers = {"throughput of A": (mean_between(rate, settled_ps, result.now_ps), "bps")}
        return tidy(point.name, numbers, {"throughput": (rate[rate.index <= ms(1)], "bps")})
