"""Validation against uet-htsim (github.com/ultraethernet/uet-htsim): Ultra Ethernet's transport, csg-htsim's EQDS."""

import random
from pathlib import Path

from rdmacc.experiments.validation.flows import flows_of, measure_acked, stored_flows, summary_rows, unfinished
from rdmacc.experiments.validation.references import by_run, distributions, theirs
from ..api import *

CONTROLS = tuple(preset("uet-htsim"))
_PAYLOAD_BYTES = preset("uet-htsim")["nscc"].payload_bytes
MTU_BYTES = preset("uet-htsim")["nscc"].wire_bytes
_QUEUE_BYTES = 43 * MTU_BYTES
_HEADERS = {"Queueing.control_limit_bytes": 2 * _QUEUE_BYTES}
"""compositequeue.cpp: control packets have twice the data's buffer; set for runs in which it fills up."""
_LONG = 499.9 / 43
"""A queue of 500 packets, in BDPs: a slow link's is a quarter of it, unlike with a bound in bytes."""
_WINDOW_50 = 50 * MTU_BYTES / (100e9 * 14.02272e-6 / 8)
LINKS = {"rate": "100Gbps", "delay": "1us"}
NETWORKS = {
    "2 hosts": partial(topology.fat_tree, 2, **LINKS),
    "16 hosts": partial(topology.fat_tree, 4, **LINKS),
    "fat tree": partial(topology.fat_tree, 8, **LINKS),
    "1,024 hosts": partial(topology.fat_tree, 16, **LINKS),
    "4:1": partial(topology.leaf_spine, 32, 8, 32, **LINKS),
    "8:1": partial(topology.leaf_spine, 32, 4, 32, **LINKS),
    "star": partial(topology.star, 64, **LINKS),
}
SIZE = 2_000_000
PERM_16 = "13-6 1-4 6-0 2-13 10-5 15-1 8-14 14-2 5-15 4-12 12-11 0-8 9-7 7-9 3-10 11-3"
LONE = {"1 to 1": [(0, 13)], "both ways": [(0, 13), (13, 0)]}
REUSED = ("10 packets", "100 packets")
MANY = "1,023 to 1"
_FEWER_TO_ONE = ("15 to 1", "127 to 1", "3 to 1", "outcast")
INCASTS = (*_FEWER_TO_ONE, MANY)
SMALL_PERMUTATION, PERMUTATION = _PERMUTATIONS = ("permutation of 16", "permutation of 1,024")
ONE_VALUE, FLOW_BOUND = ", one value", ", 1 to 0"
_PLAIN = rf"^(?!.*(slow|{ONE_VALUE}|:1,))"
"""Pattern of the names of runs without slow links, single values or oversubscription."""
SEEDS = 10
"""Number of seeds of these runs, because collisions are drawn once per run."""
CHOICES = ("oblivious", "bitmap", "reps")
QUICK = (*LONE, *REUSED, "15 to 1", "3 to 1", "outcast", SMALL_PERMUTATION, f"{SMALL_PERMUTATION}, 1 slow")
FLOW_CASES = {"8 x 1 MB": 8, "32 x 1 MB": 32, "permutation of 128": 0}
FLOW_SCHEMES = {
    "eqds": preset("eqds-htsim")["eqds"],
    "nscc": preset("uet-htsim")["nscc"].replace(choice="oblivious"),
    "rccc": preset("uet-htsim")["rccc"].replace(choice="oblivious"),
}


RUNS = Path(__file__).parent / "data" / "uet_htsim_runs.csv"
"""Written by `rdmacc.experiments.validation.lists`."""


@cache
def committed() -> pd.DataFrame:
    """Return uet-htsim's runs: `case, scheme, last_us, bound_us, first_us, retransmissions, acks, read, list`."""
    return pd.read_csv(RUNS)


def _runs() -> Iterator[Any]:
    yield from committed().itertuples(index=False)


def _pairs_of(hosts: int) -> list[tuple[int, int]]:
    """Return the permutation of its connection matrices, drawn by Python's generator."""
    drawn = random.Random(13)
    senders, receivers = list(range(hosts)), list(range(hosts))
    drawn.shuffle(senders)
    drawn.shuffle(receivers)
    for i in range(hosts):
        if senders[i] == receivers[i]:
            other = (i + 1) % hosts
            receivers[i], receivers[other] = receivers[other], receivers[i]
    return list(zip(senders, receivers, strict=True))


def _to(receiver: int, hosts: int) -> list[tuple[int, int, int]]:
    return [(sender, receiver, SIZE) for sender in range(hosts) if sender != receiver]


def flows_in(case: str) -> pd.DataFrame:
    base = case.split(", 1 slow")[0].split(", 8 slow")[0].split(ONE_VALUE)[0]
    if case in LONE:
        rows: list[Any] = [(*pair, SIZE) for pair in LONE[case]]
    elif case in REUSED:
        rows = [(0, 1, int(case.split()[0]) * _PAYLOAD_BYTES)]
    elif case == "3 to 1":
        rows = [(127, 0, SIZE), (95, 0, 250_000, us(40)), (61, 0, 250_000, us(40))]
    elif case == "outcast":
        rows = [(1, 0, SIZE), (2, 0, SIZE), *((2, to, SIZE) for to in range(4, 13)), (3, 0, SIZE)]
        rows += [(3, to, SIZE) for to in range(13, 22)]
    elif case == "1,023 to 1":
        senders = list(range(1, 1024))
        random.Random(13).shuffle(senders)
        rows = [(sender, 0, 100_000) for sender in senders]
    elif case in INCASTS:
        rows = _to(15, 16) if case == "15 to 1" else _to(33, 128)
    elif base == SMALL_PERMUTATION:
        rows = [(*map(int, pair.split("-")), SIZE) for pair in PERM_16.split()]
    else:
        rows = [(*pair, SIZE) for pair in _pairs_of(1024)]
    return workload.messages([(f"h{one}", f"h{other}", *rest) for one, other, *rest in rows])


def network_of(case: str) -> str:
    if case in REUSED:
        return "2 hosts"
    if case in LONE or case == "15 to 1" or case.startswith(SMALL_PERMUTATION):
        return "16 hosts"
    if case in ("127 to 1", "3 to 1", "outcast"):
        return "fat tree"
    return case[-3:] if case[-3:] in NETWORKS else "1,024 hosts"


def _slow(case: str) -> list[SlowLink]:
    """Return the slowed links from cores to the first aggregation switch."""
    count = 8 if ", 8 slow" in case else 1 if ", 1 slow" in case else 0
    return [SlowLink(link=(f"core{i}", "agg0"), share=0.25, both_ways=False) for i in range(count)]


def _scheme(case: str, control: str) -> Scheme:
    changes: dict[str, Any] = {}
    for words, more in _CHANGES.items():
        changes |= more if words in case else {}
    if case in ("1,023 to 1", "3 to 1"):
        changes |= {name: _WINDOW_50 for part, name in _WINDOW_OF.items() if part in control}
    if case in ("127 to 1", "1,023 to 1"):
        changes |= _HEADERS
    return preset("uet-htsim")[control].replace(**changes)


_CHANGES: dict[str, dict[str, Any]] = {
    SMALL_PERMUTATION: {"values": 128},
    PERMUTATION: {"values": 128},
    **{f", {choice}": {"choice": choice} for choice in CHOICES},
    ONE_VALUE: {"choice": "ecmp"},
    "ACK each": {"ack_every_bytes": 4000},
    "500 packets": {"UetQueue.limit": _LONG, "timeout_ps": us(15) + 6 * 500 * MTU_BYTES * 80},
}
"""Changes of the scheme, by words in a run's name."""
_WINDOW_OF = {"nscc": "Nscc.largest_window", "rccc": "ReceiverCredit.largest"}


# Measures of claims


def _last_us(table: pd.DataFrame) -> pd.Series:
    return summary_rows(table)["last FCT"] / 1e6


def _ratios(table: pd.DataFrame, *cases: str) -> pd.Series:
    """Return our last completions relative to theirs, for the runs whose case starts with one of `cases`."""
    ours, runs = _last_us(table), committed()
    runs = runs.set_index(runs["case"] + ", " + runs["scheme"])
    runs = runs[runs["case"].str.startswith(cases) & runs.index.isin(ours.index)]
    return ours[runs.index] / runs["last_us"]


def _beside_theirs(table: pd.DataFrame) -> pd.DataFrame:
    ratios = _ratios(table, "")
    rows = summary_rows(table).loc[ratios.index]
    return rows.assign(there=rows["last FCT"] / 1e6 / ratios, **{"ours over theirs": ratios})


def _one_path(table: pd.DataFrame) -> dict[str, float]:
    """Return how many of our seeds complete before theirs, for each run with one path per message."""
    ours, runs = _last_us(table), [row for row in _runs() if ONE_VALUE in row.case]
    names = [_seed_names(f"{row.case}, {row.scheme}") for row in runs]
    return {of[0]: (ours[of] < row.last_us).sum() for of, row in zip(names, runs) if of[-1] in ours.index}


def _seed_names(name: str) -> list[str]:
    return [name, *(f"{name}, seed {number}" for number in range(1, SEEDS))]


def _by_choice(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the last completions with eight slow links, by path choice, with receiver credit and with NSCC."""
    found, choices = {}, {"oblivious": "oblivious", "bitmap": "bitmap", "reps, ACK each": "REPS"}
    for control in CONTROLS[:2]:
        names = [f"{PERMUTATION}, 8 slow, {words}, {control}" for words in choices]
        last = summary_rows(table)["last FCT"].reindex(names).set_axis([*choices.values()])
        if last.notna().all():
            found[control] = last
    return found


def _flow_runs(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """Return the ratios of last completion, median and 99th percentile, for each run that has every flow."""
    found = {}
    rows = theirs("uet_htsim")
    for point, ratios in by_run(table, "uet_htsim").items():
        last = rows.loc[rows["point"] == point, "fct_ps"].max()
        found[point] = {
            "last": float(flows_of(table, point)["value"].max() / last), "p50": ratios["p50"], "p99": ratios["p99"],
        }  # fmt: skip
    return found


class UetHtsim(Experiment):
    name = "validation.uet_htsim"
    seed_stride = SEEDS
    claims = (
        claim("validation-uet-1a", measure=unfinished, band=Exactly(0)),
        claim("validation-uet-2a", measure=lambda table: _ratios(table, "1 to 1", *REUSED),
              band=Each(Within(1, by=0.001), of="run")),
        claim("validation-uet-3a", measure=lambda table: _ratios(table, "both ways", *_FEWER_TO_ONE),
              band=Each(Within(1, by=0.02), of="run")),
        claim("validation-uet-3b", measure=lambda table: _ratios(table, MANY), band=Each(Within(1, by=0.02), of="run")),
        claim("validation-uet-4a", measure=lambda table: _ratios(table, *_PERMUTATIONS).filter(regex=_PLAIN),
              band=Each(Within(1, by=0.05), of="run")),
        claim("validation-uet-4b", measure=_one_path, band=Each(Between(1, SEEDS - 1), of="run")),
        claim("validation-uet-4c", measure=lambda table: _ratios(table, PERMUTATION).filter(like=":1,"),
              band=Each(Within(1, by=0.05), of="run")),
        claim("validation-uet-5a", measure=lambda table: _ratios(table, *_PERMUTATIONS).filter(like="slow"),
              band=Each(Within(1, by=0.1), of="run")),
        claim("validation-uet-5b", measure=_by_choice, band=Each(Falls(), of="control")),
        claim("validation-uet-6a", measure=_flow_runs,
              band=Each(
                  All({"last": Within(1, by=0.02), "p50": Within(1, by=0.05), "p99": Within(1, by=0.1)}), of="run"
              )),
    )  # fmt: skip

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        is_quick = check_scale(scale) == "quick"
        for row in _runs():
            if row.case in QUICK or not (is_quick or row.read != "same" or row.case.endswith(FLOW_BOUND)):
                names = _seed_names(f"{row.case}, {row.scheme}")
                for number, name in enumerate(names if ONE_VALUE in row.case else names[:1]):
                    yield self._point(name, row.case, row.scheme, seed + number)
        for scheme, network, case in product(FLOW_SCHEMES, ("fat tree", "star"), FLOW_CASES):
            if not (network == "star" and (case == "permutation of 128" or scheme == "nscc")):
                yield self._flow_point(scheme, network, case, seed)

    @staticmethod
    def _point(name: str, case: str, control: str, seed: int) -> Point:
        cost = 30.0 if case.startswith((PERMUTATION, "1,023")) else 10.0 if case == "127 to 1" else 1.0
        return Point.of(
            name, {"scheme": control, "network": network_of(case), "case": case},
            network=NETWORKS[network_of(case)], workload=partial(flows_in, case), scheme=_scheme(case, control),
            seed=seed, faults=_slow(case), cost=cost,
        )  # fmt: skip

    @staticmethod
    def _flow_point(scheme: str, network: str, case: str, seed: int) -> Point:
        return Point.of(
            f"{scheme}, {network}, {case}", {"scheme": scheme, "network": network, "case": case},
            network=NETWORKS[network], workload=partial(_flows_of_128, case), scheme=FLOW_SCHEMES[scheme], seed=seed,
            cost=2.0,
        )  # fmt: skip

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        rows = measure_acked(point, result, with_sizes=False)
        ends = (result.flows["start_ps"] + result.flows["fct_acked_ps"]).to_numpy(np.float64)
        more = {"first end": (ends.min(), "ps"), "ACKs": (result.outcome.totals["acks"], "")}
        if point.labels["network"] == "1,024 hosts":  # otherwise the table would have 60,000 rows of flows
            rows = rows[rows["flow"].isna()]
        return pd.concat([rows, tidy(point.name, more)], ignore_index=True)

    def plot(self, table: pd.DataFrame) -> Figure:
        looks = {one: (one, colour, "o") for one, colour in zip(CONTROLS, COLOURS)}
        last = Lines(
            "ours over theirs", looks, of=_beside_theirs, over="there", xlabel="last completion there (us)", log="x",
            levels={"_": 1.0}, axes={"ylim": (0.85, 1.3)},
        )  # fmt: skip
        runs = {scheme: f"{scheme}, fat tree, permutation of 128" for scheme in FLOW_SCHEMES}
        panels = [last, distributions("uet_htsim", runs, "permutation of 128; theirs dashed")]
        return self.drawn(panels, table, size=(5.5, 3.8))


def _flows_of_128(case: str) -> pd.DataFrame:
    senders = FLOW_CASES[case]
    if senders:
        return workload.incast([f"h{i}" for i in range(senders)], "h32", 1_000_000)
    return stored_flows("htsim_permutation").assign(size_bytes=1_000_000)
