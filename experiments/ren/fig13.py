"""REN, figure 13: the cost of marking, in operations, not in CPU time."""

from rdmacc.experiments.ren.lone_port import KINDS, LonePort, make_packet
from rdmacc.interface import Component, record_dtype
from ..api import *
from .setup import *

STATED = np.dtype([("ql", "i4"), ("ti", "i4"), ("timestamp", "i8")])
_PORTS = 32
_STATED = {"a port": Exactly(16), f"a switch of {_PORTS} ports": Exactly(512)}
_SCHEMES = ("ren", "ren-literal", "ren-packet", "dctcp", "ndp", "aeolus", "phost", "homa")
_FLOWS = (1, 10, 100)
_ARRIVALS = 5013


def _component(name: str) -> Component | None:
    found = TESTBED[name].switch
    return found[0] if found else None


def _state(table: pd.DataFrame) -> dict[str, float]:
    rows = wide(table)
    port, switch = (rows[f"stated state{more}"].dropna().iloc[0] for more in ("", f", {_PORTS} ports"))
    own = rows.loc[rows["scheme"] == "ren", "own state"].max()
    return {"a port": port, f"a switch of {_PORTS} ports": switch, "a port of our marker": own}


def _own_state(table: pd.DataFrame) -> Measured:
    rows = wide(table)
    own = rows[rows["scheme"].isin(["ren", "ren-packet"])].groupby("scheme")["own state"]
    return Measured(labelled(own.max() - own.min()), f"{own.max().max():.0f} B at most")


def _per_packet(table: pd.DataFrame) -> Measured:
    need(table, *_SCHEMES)
    rows = wide(table)
    total = sum((rows[f"{kind}, {place}"] for kind in KINDS for place in ("enqueue", "dequeue")), start=0.0)
    found = rows.assign(total=total).pivot_table(index="flows", columns="scheme", values="total")
    spread = (found.max() / found.min().clip(lower=1e-9) - 1)[["ren", "ren-literal", "ren-packet"]].max()
    words = ", ".join(f"{LOOKS[name][0]} {found[name].mean():.0f}" for name in _SCHEMES)
    return Measured(float(spread), f"operations for a packet: {words}")


class Figure13(ReadingFigure):
    name = "ren.fig13"
    claims = (
        claim("ren-f13-1", measure=_state, band=All(_STATED, {"a port of our marker": AtMost(16)}),
              direction=All(_STATED)),
        claim("ren-f13-2", measure=_per_packet, band=AtMost(0.01)),
        claim("ren-f13-a", measure=_own_state, band=Each(Exactly(0))),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        packets = 100 if check_scale(scale) == "quick" else 1000
        for name, flows in product(_SCHEMES, _FLOWS):
            labels = {"scheme": name, "flows": flows, "packets": packets, "seed": seed}
            yield Point(name=f"{name}, {flows} flows", labels=labels)

    def compute(self, point: Point) -> pd.DataFrame:
        component, packets = _component(point.labels["scheme"]), point.labels["packets"]
        egress = component.record("Egress") if component is not None else None
        numbers: dict[str, tuple[float, str]] = {
            "stated state": (STATED.itemsize, "bytes"),
            "stated state, 32 ports": (_PORTS * STATED.itemsize, "bytes"),
            "own state": (record_dtype(egress).itemsize if egress is not None else 0, "bytes"),
        }
        counts = {(kind, place): 0.0 for kind in KINDS for place in ("enqueue", "dequeue")}
        if component is not None:
            port = LonePort(component, LINE_BPS)
            chance = np.random.default_rng([point.labels["seed"], _ARRIVALS])
            times = np.cumsum(chance.exponential(PACKET_PS / 0.9, packets)).astype(np.int64)
            for number, now in enumerate(times.tolist()):
                port.run_until(now)
                packet = make_packet(component, PACKET_BYTES, number % point.labels["flows"])
                if hasattr(packet, "unscheduled"):
                    packet.unscheduled = 1  # Aeolus only compares unscheduled packets
                port.enqueue(packet, now)
            for kind, place in counts:
                counted = port.operations[place][kind] + (port.operations["period"][kind] if place == "dequeue" else 0)
                counts[kind, place] = counted / packets
        numbers |= {f"{kind}, {place}": (value, "") for (kind, place), value in counts.items()}
        return tidy(point.name, numbers)

    def plot(self, table: pd.DataFrame) -> Figure:
        rows = wide(table)
        rows = rows[rows["flows"] == max(_FLOWS)].set_index("scheme")
        colours = dict(zip(KINDS, (COLOURS["blue"], COLOURS["orange"], COLOURS["green"]), strict=True))
        figure, axes = subplots(1, 2, figsize=(11, 4), sharey=True)
        for ax, place in zip(axes, ("enqueue", "dequeue"), strict=True):
            left = np.zeros(len(_SCHEMES))
            for kind, colour in colours.items():
                values = rows.loc[list(_SCHEMES), f"{kind}, {place}"].to_numpy()
                ax.barh(range(len(_SCHEMES)), values, left=left, color=colour, label=kind)
                left += values
            ax.set(title=place, xlabel="operations for a packet (not CPU time)", yticks=range(len(_SCHEMES)))
            ax.set_yticklabels([LOOKS[name][0] for name in _SCHEMES], fontsize=8)
        axes[0].invert_yaxis()
        axes[1].legend(loc="lower right")
        return self.headed(figure, f", {max(_FLOWS)} flows")
