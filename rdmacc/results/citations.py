"""What to cite for a simulation: the papers behind its scheme's components, its preset and its message sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

if TYPE_CHECKING:
    from rdmacc.schemes import Scheme


@dataclass(frozen=True)
class Paper:
    """A paper or a specification."""

    key: str
    authors: str
    title: str
    venue: str
    year: int
    doi: str
    entry: str

    def __str__(self) -> str:
        link = f", doi:{self.doi}" if self.doi else ""
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}{link}'

    def bibtex(self) -> str:
        """Return the BibTeX entry."""
        return self.entry


class Citations(tuple[Paper, ...]):
    """Papers without repeats, printed one per line."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def bibtex(self) -> str:
        """Return all BibTeX entries."""
        return "\n".join(paper.bibtex() for paper in self)


def _read(text: str) -> dict[str, Paper]:
    """Return the papers of a BibTeX file that has a field a line, by key."""
    found = {}
    for entry, key in re.findall(r"(@misc\{(\w+),\n.*?^\}\n)", text, re.S | re.M):
        fields = dict(re.findall(r"^  (\w+) = \{+(.*?)\}+,$", entry, re.M))
        authors = re.sub(r" and others$", " et al.", fields["author"])
        year, doi = int(fields["year"]), fields.get("doi", "")
        found[key] = Paper(key, authors, fields["title"], fields["howpublished"], year, doi, entry)
    return found


PAPERS = _read(Path(__file__).with_name("papers.bib").read_text(encoding="utf-8"))
"""All papers, by key."""

COMPONENTS: dict[str, tuple[str, ...]] = {
    "Amrt": ("amrt",), "AntiEcn": ("amrt",), "CheckEpsn": ("igbn",), "Dasr": ("dart",), "Dcqcn": ("dcqcn",),
    "DcqcnHpcc": ("dcqcn", "hpcc"), "Dctcp": ("dctcp",), "DctcpHpcc": ("dctcp", "hpcc"), "DropTail": (), "EcnStep": (),
    "ExpressPass": ("expresspass",), "ExpressPassAeolus": ("expresspass", "aeolus"), "Fecn": ("infiniband",),
    "FlowDeflection": ("dart",), "GoBack0": ("igbn",), "GoBackN": (), "GrantClock": ("ren",), "Homa": ("homa",),
    "HomaAeolus": ("homa", "aeolus"), "Hpcc": ("hpcc",), "ImprovedGoBackN": ("igbn",),
    "InfinibandCc": ("infiniband", "infiniband_cc"), "IntStamp": ("hpcc",), "Irn": ("irn",), "LineRate": (),
    "MarkMeter": (), "Ndp": ("ndp",), "NewReno": ("rfc5681", "rfc6582"), "Nscc": ("uet",), "PHost": ("phost",),
    "PacketMeter": (), "PathChoice": ("reps",), "PayloadTrimming": ("ndp",), "PermutedPaths": ("ndp",), "Pfc": (),
    "Polo": ("polo",), "PowerTcp": ("powertcp",), "PowerWindow": ("powertcp",), "PriQ": ("dart",), "Queueing": (),
    "RateWindow": (), "Rcc": ("rcc",), "RccSender": ("rcc",), "Rcp": ("rcp",), "RcpStamp": ("rcp",),
    "ReceiverCredit": ("uet", "eqds"), "Red": (), "Ren": ("ren",), "RenMarker": ("ren",), "Retirement": ("mrc",),
    "ScoredPaths": ("ndp",), "SelectiveDrop": ("aeolus",), "SendTwice": ("igbn",), "Swift": ("swift",),
    "ThetaPowerTcp": ("powertcp",), "Timely": ("timely",), "TimelyHpcc": ("timely", "hpcc"), "Uet": ("uet",),
    "UetQueue": (),
}  # fmt: skip
"""Keys by component class. Classes without a key are common knowledge, or only measure."""

PRESETS: dict[str, tuple[str, ...]] = {
    "dart-2020": ("dart",), "dcqcn-2015": ("dcqcn",), "eqds-htsim": ("eqds",), "expresspass-2017": ("expresspass",),
    "homa-2018": ("homa",), "homa-ns3": ("homa",), "hpcc-ns3": ("hpcc",), "igbn-2019": ("igbn",),
    "infiniband-2010": ("infiniband_cc",), "irn-2018": ("irn",), "ndp-2017": ("ndp",), "ndp-htsim": ("ndp",),
    "phost-2015": ("phost",), "phost-yaps": ("phost",), "powertcp-ns3": ("powertcp",), "rcc-2021": ("rcc",),
    "ren-2021": ("ren",), "ren-2021-testbed": ("ren",), "roce-htsim": ("ndp",), "timely-2015": ("timely",),
    "uec-1.0": ("uet",), "uet-htsim": ("uet",),
}  # fmt: skip
"""Keys by the name of a preset."""

SIZES: dict[str, tuple[str, ...]] = {
    "alibaba_storage": ("hpcc",), "cache_follower": ("roy",), "dart_short": ("dart",), "data_mining": ("vl2",),
    "hadoop": ("roy", "hpcc"), "hadoop_wide": ("roy",), "solar": ("luna_solar",), "web_search": ("dctcp",),
    "web_server": ("roy",),
}  # fmt: skip
"""Keys by the name of a distribution of message sizes."""


def papers_of(scheme: Scheme, work: pd.DataFrame) -> Citations:
    keys: list[str] = []
    for part in (*scheme.components, scheme.buffer, scheme.queueing):
        known = (COMPONENTS[kind.__name__] for kind in type(part).__mro__ if kind.__name__ in COMPONENTS)
        keys += next(known, ())
    keys += PRESETS.get(scheme.preset, ())
    keys += _of(SIZES, work.attrs.get("sizes", {}))
    return Citations(PAPERS[key] for key in dict.fromkeys(keys))


def _of(table: dict[str, tuple[str, ...]], names: Iterable[str]) -> list[str]:
    return [key for name in names for key in table.get(name, ())]
