"""HPCC's figures 13 and 14: how an ACK changes the rate, and the additive step W_AI, in incasts of 16 within a rack."""

from ..api import *

LOOKS = {"HPCC": ("HPCC", "blue"), "per ACK": ("per ACK", "vermilion"), "per RTT": ("per RTT", "green")}
CHANGES: dict[str, dict[str, Any]] = {"HPCC": {}, "per ACK": {"has_reference": False},
                                      "per RTT": {"fast_reaction": False}}  # fmt: skip
flows = partial(workload.messages, [(f"h{i}", "h0", "1GB") for i in range(1, 17)])
STEPS, END_PS, FROM_PS, ACK_END_PS = (5, 25, 150, 300), ms(10), us(22), us(400)


def by(rows: pd.DataFrame, quantity: str, label: str) -> dict[str, float]:
    found = rows[having(rows, quantity=quantity)].set_index(label)["value"]
    return {str(name): float(value) for name, value in found.items()}


class Fig13(Experiment):
    name = "hpcc.fig13"
    seeding = Seeding.NONE
    claims = (
        claim("hpcc-f13-1", measure=lambda rows: by(rows, "least throughput", "way"), band=Lowest("per ACK")),
        claim("hpcc-f13-2", measure=lambda rows: by(rows, "mean queue", "way"), band=Highest("per RTT")),
        claim("hpcc-f13-3", measure=lambda rows: by(rows, "mean throughput", "way")["HPCC"], band=AtLeast(0.9)),
        claim("hpcc-f13-4",
              measure=lambda rows: (found := by(rows, "fairness", "step")) and
                  {step: found[step] / found["150"] for step in ("5", "25")}, band=Each(LessThan(1))),
        claim("hpcc-f13-5", measure=lambda rows: by(rows, "queue, p95", "step"), band=Highest("300")),
    )  # fmt: skip
    panels = (
        Traces(quantity="throughput", looks=LOOKS, unit="Gb/s", title="throughput"),
        Traces(quantity="queue", looks=LOOKS, unit="KB", title="queue"),
        Lines(quantity="fairness", by="way", looks={"HPCC, steps": ("HPCC", "blue")}, over="step", title="fairness",
              xlabel="W_AI (bytes)", label="Jain's index"),
        Lines(quantity="queue, p95", by="way", looks={"HPCC, steps": ("HPCC", "blue")}, over="step", unit="KB",
              title="queue", xlabel="W_AI (bytes)", label="95th percentile of the queue"),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        check_scale(scale)
        hpcc, hosts = preset("hpcc-ns3")["hpcc-mi5"], [probes.goodput(i, every=ps(us(100))) for i in range(16)]
        last = [probes.queue("s0", "h0", every=ps(us(1))), probes.throughput("s0", "h0", every=ps(us(10)))]
        for way, step in [*((way, 0) for way in LOOKS), *(("HPCC, steps", step) for step in STEPS)]:
            changes = {"additive_bytes": step, "additive_bps": 0, "reference_bps": 0} if step else CHANGES[way]
            yield Point.of(
                f"{way}, {step} bytes" if step else way, {"way": way, "step": step},
                network=partial(topology.star, 17, rate="100Gbps", delay="1us"), workload=flows,
                scheme=hpcc.replace(**changes), until=ps(END_PS if step else ACK_END_PS), probes=[*last, *hosts],
            )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        queue, sent = result.samples("queue s0->h0"), result.samples("throughput s0->h0")
        later, share = queue[queue.index >= FROM_PS], sent[sent.index > FROM_PS] / 100e9
        if point.labels["step"]:
            got = np.array([mean_between(result.samples(f"goodput {i}"), FROM_PS, END_PS) for i in range(16)])
            return tidy(point.name, {"fairness": (jain(got), ""), "queue, p95": (float(later.quantile(0.95)), "bytes")})
        numbers = {"least throughput": (float(share.min()), ""), "mean throughput": (float(share.mean()), ""),
                   "mean queue": (float(queue.mean()), "bytes")}  # fmt: skip
        return tidy(point.name, numbers, {"throughput": (sent, "bps"), "queue": (queue, "bytes")})
