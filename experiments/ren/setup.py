"""Common to REN's experiments: its two networks, the schemes and their looks, cut-offs, the load."""

from rdmacc.workload import LoadDefinition
from ..api import *

SIMULATED = preset("ren-2021")
"""The schemes of section 6."""
SHORT_BYTES, LONG_BYTES = 100_000, 1_000_000
"""Short flows have at most the first number of bytes, long flows more than the second."""
LOAD = LoadDefinition("core", payload_bytes=SIMULATED["ren"].payload_bytes, header_bytes=SIMULATED["ren"].header_bytes)
SEEDS = {"quick": 1, "paper": 3}

TESTBED = preset("ren-2021-testbed")
LINE_BPS, SIMULATED_LINE_BPS = TESTBED.line_bps, SIMULATED.line_bps
RTT_PS, SIMULATED_RTT_PS = us(48), us(10)
"""Base RTTs as stated in the paper: propagation alone."""
PACKET_BYTES = TESTBED["ren"].wire_bytes
PAYLOAD_BYTES = TESTBED["ren"].payload_bytes
PACKET_PS = round(PACKET_BYTES * 8e12 / LINE_BPS)
"""A full packet's time on a link of the testbed."""
BUFFER_BYTES: int = vars(TESTBED["ren"].buffer)["limit_bytes"]
BUFFER_PACKETS = BUFFER_BYTES / PACKET_BYTES
"""Buffer of a testbed port, in packets."""

LOOKS: dict[Any, tuple[str, str, str]] = {
    "ren": ("REN", COLOURS["blue"], "o"),
    "dctcp": ("DCTCP", COLOURS["black"], "x"),
    "phost": ("pHost", COLOURS["vermilion"], "s"),
    "homa": ("Homa", COLOURS["green"], "^"),
    "homa-2-levels": ("Homa, 2 levels", COLOURS["green"], "^"),
    "ndp": ("NDP", COLOURS["orange"], "D"),
    "expresspass": ("ExpressPass", COLOURS["purple"], "v"),
    "aeolus": ("Aeolus", COLOURS["sky"], "P"),
    "traditional": ("one grant, one packet", "0.45", "*"),
    "ren-packet": ("REN, marks by packet", COLOURS["sky"], "o"),
    "ren-outstanding": ("REN, less marks under way", COLOURS["yellow"], "o"),
    "ren-literal": ("REN read literally, one packet kept", COLOURS["purple"], "o"),
    "ren-literal-unsafe": ("REN read literally", COLOURS["black"], "o"),
}
"""Label, colour and marker of each scheme of the presets. "traditional" is section 2's transmission by grants."""

LINES = {one: (name, colour, f"{marker}-") for one, (name, colour, marker) in LOOKS.items()}
"""The same as lines with markers."""

READINGS = ("ren", "ren-outstanding", "ren-packet", "ren-literal", "ren-literal-unsafe")
"""Entries of the presets with different readings of the marking rule: see `rdmacc.switch.ren_marker`."""


def labelled(values: Mapping[Any, Any] | pd.Series) -> dict[str, Any]:
    """Return the values of schemes, indexed by the schemes' labels."""
    return {LOOKS[one][0]: value for one, value in values.items()}


STAND_INS: dict[str, dict[str, str]] = {
    "outstanding": {"ren": "ren-outstanding", "REN": "REN, less marks under way"},
    "packet": {"ren": "ren-packet"},
    "literal": {"ren": "ren-literal"},
    "none kept": {"REN": "REN, no packet kept"},
    "one grant": dict.fromkeys(("phost", "homa", "homa-2-levels"), "traditional"),
    "REN timer 0.1 ms": {"ren": "ren, timer 100 us"},
    "ECMP": {one: f"{one}, ECMP" for one in ("phost", "homa")},
    "two messages": {"homa": "homa, two messages"},
    "switch buffer": {
        one: f"{one}, switch buffer" for one in ("ren", "phost", "homa", "homa-2-levels", "ndp", "traditional")
    },
}
"""By reading (`experiments/ren/readings.toml`), the stand-in of each scheme, as labelled in tables."""


def stand_ins(schemes: Iterable[str], *readings: str) -> list[str]:
    """Return the stand-ins of schemes under readings."""
    return [STAND_INS[reading][one] for reading in readings for one in schemes if one in STAND_INS[reading]]


class ReadingFigure(Experiment):
    """A figure that also runs other readings; names of points start with their scheme."""

    def under(self, table: pd.DataFrame, reading: str) -> pd.DataFrame | None:
        """Return the table with a reading's rows replacing the default's; readings of the marks exclude each other."""
        if reading == DEFAULT:
            return table
        found = set(table["scheme"])
        pairs = {own: one for own, one in STAND_INS.get(reading, {}).items() if {own, one} <= found}
        if not pairs:
            return None
        left_out = {*pairs, *(READINGS[1:] if READINGS[0] in pairs else ())}
        frames = [table[~table["scheme"].isin(left_out)]]
        for own, one in pairs.items():
            rows = table[table["scheme"] == one]
            frames.append(rows.assign(scheme=own, point=own + rows["point"].str.removeprefix(one)))
        return pd.concat(frames, ignore_index=True)


def need(table: pd.DataFrame, *schemes: str) -> None:
    """Raise `NotJudged` unless the table has rows of these schemes."""
    missing = [one for one in schemes if not having(table, scheme=one).any()]
    if missing:
        raise NotJudged(f"no run of {', '.join(missing)}")
