"""Dart, figure 3: a long flow backs off to its share while short flows last."""

from rdmacc.topology.base_times import base_fct_ps
from ..api import *
from .setup import *

_N = f"Dasr.auss_n {RECEIVER}"
_SCHEMES = {"n with look-ahead": "dasr", "n without": "dasr-no-look-ahead"}


def _share(rows: pd.DataFrame) -> Measured:
    heard = rows["rate / (line / (k+1))"].dropna()
    # Short flows may end before the last one is counted, unless look-ahead announces them all.
    counted = {name: chosen(rows, scheme=scheme)["greatest n / (k+1)"] for name, scheme in _SCHEMES.items()}
    words = f"n is k+1 long enough for senders to hear it in {len(heard)} of {len(rows)} points"
    return Measured({"rate / share": heard, **counted}, words)


def _earlier(rows: pd.DataFrame) -> Measured:
    with_it, without = (chosen(rows, scheme=scheme)["time to back off"] for scheme in _SCHEMES.values())
    never = int(without.isna().sum())  # the short flows were over
    words = f"without look-ahead, {never} never back off that far" if never else ""
    return Measured((without.to_numpy() - with_it)[without.notna().to_numpy()], words)


def _stable(n: pd.Series, count: int) -> tuple[float, float]:
    """Return when n first has a value and when it next changes; NaN if it never does."""
    begin = n.index[n == count]
    if not len(begin):
        return float("nan"), float("nan")
    later = n.index[n.index > begin[0]]
    return float(begin[0]), float(later[0]) if len(later) else float("inf")


def _next(times: pd.Index, from_ps: float) -> float:
    """Return the first of ascending times that is at least `from_ps`; NaN if none is."""
    row = int(times.searchsorted(from_ps))
    return float(times[row]) if row < len(times) else float("nan")


class Figure3(Experiment):
    name = "dart.fig3"
    is_wide = True
    claims = (
        claim("dart-f3-1", measure=_share,
              band=All({
                  "rate / share": Each(Within(1, by=0.05), "point"),
                  "n with look-ahead": Each(Exactly(1), "point"), "n without": Each(AtMost(1), "point"),
              })),
        claim("dart-f3-2", measure=lambda rows: rows["time to recover"] / rows["time to recover, allowed"],
              band=Each(AtMost(1), "point")),
        claim("dart-f3-3", measure=_earlier, band=Each(MoreThan(0), "point")),
    )  # fmt: skip

    degrees = (4, 16)
    sizes = ("8kB", "256kB")
    schemes = ("dasr", "dasr-no-look-ahead")
    start_ps = us(500)
    """Start of the short flows."""

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        network: Network = fat_tree(6) if check_scale(scale) == "quick" else topology.dart_clos
        long, *others = other_pods(network())
        for k, size, scheme in product(self.degrees, self.sizes, self.schemes):
            senders = [others[i * len(others) // k] for i in range(k)]  # spread over the other pods
            work = workload.combine(
                workload.incast(senders, RECEIVER, size, start=ps(self.start_ps)),
                workload.long_flows([(long, RECEIVER)]),
            )
            lasts_ps = (k + 1) * int(work["size_bytes"].iloc[0]) * 8e12 / LINE_BPS
            yield Point.of(
                f"k={k} {size} {scheme}", {"k": k, "size": size, "scheme": scheme},
                network=network, workload=work, scheme=PRESET[scheme],
                until=ps(self.start_ps + round(1.5 * lasts_ps)) + us(300), seed=seed,
                probes=(
                    probes.rate(k),
                    probes.field("host", RECEIVER, "Dasr.auss_n"),
                    probes.field("flow", k, "received_packets"),
                ),
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        flows, plan = result.flows, result.plan
        k = len(flows) - 1
        rate, n = result.samples(f"rate {k}"), result.samples(_N)
        share = LINE_BPS / (k + 1)
        rtt_ps = int(plan.host_base_rtt_ps.max())
        ack_bytes = plan.scheme.ack_bytes
        ack_ps = int(base_fct_ps(plan.fabric, plan.dst[k], plan.src[k], ack_bytes, ack_bytes, 0))
        begin_ps, end_ps = _stable(n, k + 1)
        # The long flow learns n from the ACK of its next packet, and the next n from a later one.
        held = result.samples(f"received_packets {k}").index
        heard_ps, past_ps = (_next(held, time_ps) + ack_ps for time_ps in (begin_ps, end_ps))
        short = flows.iloc[:k]
        last_ps = int((short["start_ps"] + short["fct_ps"]).max())
        numbers = {
            "greatest n / (k+1)": (float(n.max()) / (k + 1), ""),
            "n stable for": (end_ps - begin_ps, "ps"),
            "rate / (line / (k+1))": (worst_between(rate, heard_ps, past_ps, share) / share, ""),
            "time to back off": (first_within(rate, self.start_ps, share, 0.05) - self.start_ps, "ps"),
            "last short flow ends": (last_ps - self.start_ps, "ps"),
            "time to recover": (settled(rate, last_ps, LINE_BPS, 0.05) - last_ps, "ps"),
            "time to recover, allowed": (2 * rtt_ps + (k + 1) * PACKET_PS, "ps"),
            "median FCT of the short flows": (float(short["fct_ps"].median()), "ps"),
            "PFC pauses": (int(result.counters["pfc_pauses"]), ""),
            "CNPs": (int(result.counters["cnps"]), ""),
        }
        return tidy(point.name, numbers, {"rate": (shown(rate, 0, result.now_ps), "bps"), "n": (n, "")})

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {"dasr": ("DASR", "blue", "-"), "dasr-no-look-ahead": ("without look-ahead", "vermilion", "--")}
        since = partial(Traces, clock=lambda *_: (self.start_ps, 1e6), time_unit="us since the short flows' start")
        over = partial(since, unit="Gb/s", label="long flow's rate", is_step=True)
        panels = []
        for k, size in product(self.degrees, self.sizes):
            end = scalar(table, f"k={k} {size} dasr", "last short flow ends") / 1e6 + 40
            axes = {"ylim": (0, 10.8), "xlim": (-0.15 * end, 1.2 * end)}
            names = {f"k={k} {size} {scheme}": look for scheme, look in looks.items()}
            levels = {f"line / {k + 1}": LINE_BPS / (k + 1)}
            panels.append(over(quantity="rate", looks=names, title=f"k = {k}, {size}", levels=levels, axes=axes))
        return self.drawn(panels, table, columns=len(self.sizes), size=(4.5, 2.8), sharey=True)
