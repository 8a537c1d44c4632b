"""Common to the validations: stored flows, and completion times overall, by size and by flow."""

from importlib import resources

from ..api import *

BINS = {"to 10 kB": 10_000, "to 100 kB": 100_000, "to 1 MB": 1_000_000, "to 10 MB": 10_000_000, "above": 2**62}
"""Upper bounds of flow size bins, inclusive."""

EACH = "FCT of each flow"
"""The curve of `measure_acked`."""


def stored_flows(name: str) -> pd.DataFrame:
    """Return flows of another simulator, with their paths if it chose them."""
    with resources.as_file(resources.files("rdmacc.experiments.validation") / "data" / f"{name}.csv.gz") as path:
        return workload.from_csv(path)


def percentiles(name: str, values: Any, unit: str = "ps") -> dict[str, tuple[float, str]]:
    """Return mean, median, 95th and 99th percentile; NaN without values."""
    known = pd.Series(values, dtype=np.float64)
    tails = {f"{name}, p{p}": (float(known.quantile(p / 100)), unit) for p in (50, 95, 99)}
    return {f"{name}, mean": (float(known.mean()), unit), **tails}


def by_size(name: str, values: Any, size_bytes: Any, unit: str = "ps") -> dict[str, tuple[float, str]]:
    """Return the percentiles of each of `BINS`."""
    numbers: dict[str, tuple[float, str]] = {}
    places = np.searchsorted(list(BINS.values()), np.asarray(size_bytes))
    for place, label in enumerate(BINS):
        numbers |= percentiles(f"{name} {label}", np.asarray(values, np.float64)[places == place], unit)
    return numbers


def peak_queue(result: Result) -> dict[str, tuple[float, str]]:
    """Return the longest queue of a switch."""
    ports = result.ports
    return {"queue, peak": (ports.loc[ports["link_class"] != "host_nic", "peak_queue_bytes"].max(), "bytes")}


def measure_delivered(
    point: Point, result: Result, more: Mapping[str, tuple[float, str]], *, with_sizes: bool
) -> pd.DataFrame:
    """Return a point's rows and `more` if completion is the last byte's delivery; flows are numbered from 0."""
    flows = result.flows
    fct = flows["fct_ps"].to_numpy(np.float64, na_value=np.nan)
    numbers = peak_queue(result) | {
        "goodput": (flows["size_bytes"].sum() * 8e12 / (flows["start_ps"] + flows["fct_ps"]).max(), "bps"),
        "unfinished": (int((flows["status"] != "finished").sum()), ""),
        **{f"FCT of flow {i}": (value, "ps") for i, value in enumerate(fct)},
    }
    sizes = by_size("FCT", fct, flows["size_bytes"]) if with_sizes else {}
    return tidy(point.name, {**numbers, **percentiles("FCT", fct), **sizes, **more})


def measure_acked(point: Point, result: Result, *, with_sizes: bool) -> pd.DataFrame:
    """Return a point's rows if completion is the last ACK's arrival at the sender.

    The flows' completion times are the curve `EACH` over their starts, with the extra columns `flow` and `size_bytes`.
    """
    flows = result.flows
    fct = flows["fct_acked_ps"].to_numpy(np.float64)
    numbers: dict[str, tuple[float, str]] = percentiles("FCT", fct)
    if with_sizes:
        numbers |= by_size("FCT", fct, flows["size_bytes"])
    counters = result.counters
    numbers |= {
        "last FCT": ((flows["start_ps"] + fct).max() - flows["start_ps"].min(), "ps"),
        "goodput": (result.summary().goodput_bps, "bps"),
        "queue, peak": (counters.peak_queue_bytes, "bytes"),
        "trimmed": (counters.trimmed_packets, ""),
        "retransmissions": (counters.retransmissions, ""),
        "drops": (counters.dropped_packets + counters.pfc_violations, ""),
        "PFC pauses": (counters.pfc_pauses, ""),
        "unfinished": (int((flows["status"] != "finished").sum()), ""),
    }
    return with_each(point, flows, fct, numbers)


def with_each(point: Point, flows: pd.DataFrame, fct_ps: Any, numbers: dict[str, tuple[float, str]]) -> pd.DataFrame:
    """Return a point's rows: numbers, and the flows' completion times as the curve `EACH`."""
    rows: dict[str, Any] = {"point": point.name, "quantity": EACH, "time_ps": flows["start_ps"], "value": fct_ps}
    each = pd.DataFrame(rows | {"unit": "ps", "flow": flows["flow"], "size_bytes": flows["size_bytes"]})
    return pd.concat([tidy(point.name, numbers), each], ignore_index=True)


def flows_of(table: pd.DataFrame, point: str) -> pd.DataFrame:
    """Return `flow, size_bytes, value` of a point's flows; `value` is the completion time in ps."""
    rows = table[table["point"] == point]
    each = rows[rows["quantity"] == EACH]
    if len(each):
        return each[["flow", "size_bytes", "value"]].reset_index(drop=True)
    numbers = rows["quantity"].str.extract(r"^FCT of flow (\d+)$")[0].dropna().astype(int)
    return pd.DataFrame({"flow": numbers, "value": rows.loc[numbers.index, "value"]}).reset_index(drop=True)


def summary_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return one row per point, without the curve of `measure_acked`."""
    return wide(table.drop(columns=["flow", "size_bytes"], errors="ignore"))


def unfinished(table: pd.DataFrame) -> Measured:
    """Return the number of unfinished flows, with the number of dropped packets as a note."""
    rows = summary_rows(table)
    return Measured(rows["unfinished"].sum(), f"{rows['drops'].sum():.0f} packets dropped")


def lines_by_size(name: str, looks: Mapping[str, tuple[str, str]], by: str, **more: Any) -> Lines:
    """Return the panel of median and (dashed) 99th percentile over size bins, with a colour for each of `looks`."""
    lines = {
        (one, p): (words if p == 50 else "_", colour, line)
        for one, (words, colour) in looks.items()
        for p, line in ((50, "o-"), (99, "^--"))
    }
    axes = {"xticks": range(len(BINS)), "xticklabels": [*BINS], "xlabel": ""}
    words: dict[str, Any] = {"label": f"{name}, p99 dashed", "axes": axes, "tilt": 90.0, "log": "y", **more}
    return Lines(name, lines, by=(by, "p"), of=partial(_by_size, name), over="size", **words)


def _by_size(name: str, table: pd.DataFrame) -> pd.DataFrame:
    rows = summary_rows(table)
    bins = product(enumerate(BINS), (50, 99))
    return pd.concat([rows.assign(p=p, size=n, **{name: rows[f"{name} {label}, p{p}"]}) for (n, label), p in bins])
