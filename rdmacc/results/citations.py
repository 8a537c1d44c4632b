"""What to cite for a simulation: the papers behind its scheme's components, its preset and its message sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    doi: str = ""

    def __str__(self) -> str:
        link = f", doi:{self.doi}" if self.doi else ""
        return f'{self.authors}, "{self.title}", {self.venue} {self.year}{link}'

    def bibtex(self) -> str:
        """Return a BibTeX entry."""
        authors = f"{self.authors.removesuffix(' et al.')} and others" if " et al." in self.authors else self.authors
        fields = {"author": authors, "title": f"{{{self.title}}}", "howpublished": self.venue, "year": self.year}
        if self.doi:
            fields["doi"] = self.doi
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items())
        return f"@misc{{{self.key},\n{lines}}}\n"


class Citations(tuple[Paper, ...]):
    """Papers without repeats, printed one per line."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    __repr__ = __str__

    def bibtex(self) -> str:
        """Return all BibTeX entries."""
        return "\n".join(paper.bibtex() for paper in self)


_PAPERS = (
    Paper("aeolus", "Hu et al.", "Aeolus: A building block for proactive transport in datacenters", "SIGCOMM", 2020),
    Paper(
        "amrt",
        "Hu et al.",
        "AMRT: Anti-ECN marking to improve utilization of receiver-driven transmission in data center",
        "ICPP",
        2020,
    ),
    Paper(
        "dart",
        "Xue et al.",
        "Dart: Divide and specialize for fast response to congestion in RDMA-based datacenter networks",
        "IEEE/ACM Transactions on Networking",
        2020,
        "10.1109/TNET.2019.2961671",
    ),
    Paper("dcqcn", "Zhu et al.", "Congestion control for large-scale RDMA deployments", "SIGCOMM", 2015),
    Paper("dctcp", "Alizadeh et al.", "Data center TCP (DCTCP)", "SIGCOMM", 2010),
    Paper("eqds", "Olteanu et al.", "An edge-queued datagram service for all datacenter traffic", "NSDI", 2022),
    Paper(
        "expresspass",
        "Cho, Jang and Han",
        "Credit-scheduled delay-bounded congestion control for datacenters",
        "SIGCOMM",
        2017,
    ),
    Paper(
        "homa",
        "Montazeri et al.",
        "Homa: A receiver-driven low-latency transport protocol using network priorities",
        "SIGCOMM",
        2018,
    ),
    Paper("hpcc", "Li et al.", "HPCC: High precision congestion control", "SIGCOMM", 2019),
    Paper(
        "igbn",
        "Wang et al.",
        "Error recovery of RDMA packets in data center networks",
        "ICCCN",
        2019,
        "10.1109/ICCCN.2019.8846946",
    ),
    Paper(
        "infiniband",
        "InfiniBand Trade Association",
        "InfiniBand architecture specification, volume 1, release 1.2.1",
        "annex A10,",
        2007,
    ),
    Paper(
        "infiniband_cc",
        "Gran et al.",
        "First experiences with congestion control in InfiniBand hardware",
        "IPDPS",
        2010,
    ),
    Paper("irn", "Mittal et al.", "Revisiting network support for RDMA", "SIGCOMM", 2018),
    Paper(
        "luna_solar",
        "Miao et al.",
        "From Luna to Solar: The evolutions of the compute-to-storage networks in Alibaba Cloud",
        "SIGCOMM",
        2022,
        "10.1145/3544216.3544238",
    ),
    Paper(
        "ndp",
        "Handley et al.",
        "Re-architecting datacenter networks and stacks for low latency and high performance",
        "SIGCOMM",
        2017,
    ),
    Paper(
        "phost",
        "Gao et al.",
        "pHost: Distributed near-optimal datacenter transport over commodity network fabric",
        "CoNEXT",
        2015,
    ),
    Paper(
        "polo",
        "Ruan et al.",
        "Polo: Receiver-driven congestion control for low latency over commodity network fabric",
        "ICPP",
        2020,
    ),
    Paper(
        "powertcp",
        "Addanki, Michel and Schmid",
        "PowerTCP: Pushing the performance limits of datacenter networks",
        "NSDI",
        2022,
    ),
    Paper(
        "rcc",
        "Zhang et al.",
        "Receiver-driven RDMA congestion control by differentiating congestion types in datacenter networks",
        "ICNP",
        2021,
        "10.1109/ICNP52444.2021.9651938",
    ),
    Paper("rcp", "Dukkipati et al.", "Processor sharing flows in the Internet", "IWQoS", 2005),
    Paper(
        "ren",
        "Li et al.",
        "REN: Receiver-driven congestion control using explicit notification for data center",
        "IEEE Transactions on Cloud Computing",
        2021,
        "10.1109/TCC.2021.3135027",
    ),
    Paper(
        "reps",
        "Bonato et al.",
        "REPS: Recycled entropy packet spraying for adaptive load balancing and failure mitigation",
        "EuroSys",
        2026,
    ),
    Paper(
        "mrc",
        "Araujo et al.",
        "Resilient AI supercomputer networking using MRC and SRv6",
        "arXiv",
        2026,
        "arXiv:2605.04333",
    ),
    Paper("rfc5681", "Allman, Paxson and Blanton", "TCP congestion control", "RFC 5681,", 2009),
    Paper(
        "rfc6582", "Henderson et al.", "The NewReno modification to TCP's fast recovery algorithm", "RFC 6582,", 2012
    ),
    Paper("roy", "Roy et al.", "Inside the social network's (datacenter) network", "SIGCOMM", 2015),
    Paper(
        "swift",
        "Kumar et al.",
        "Swift: Delay is simple and effective for congestion control in the datacenter",
        "SIGCOMM",
        2020,
    ),
    Paper("timely", "Mittal et al.", "TIMELY: RTT-based congestion control for the datacenter", "SIGCOMM", 2015),
    Paper("uet", "Ultra Ethernet Consortium", "Ultra Ethernet specification", "version 1.0,", 2025),
    Paper("vl2", "Greenberg et al.", "VL2: A scalable and flexible data center network", "SIGCOMM", 2009),
)

PAPERS = {paper.key: paper for paper in _PAPERS}
"""All papers, by key."""

COMPONENTS: dict[str, tuple[str, ...]] = {
    "AntiEcn": ("amrt",), "Amrt": ("amrt",), "CheckEpsn": ("igbn",), "Dasr": ("dart",),
    "Dcqcn": ("dcqcn",), "DcqcnHpcc": ("dcqcn", "hpcc"), "Dctcp": ("dctcp",), "DctcpHpcc": ("dctcp", "hpcc"),
    "DropTail": (), "EcnStep": (), "ExpressPass": ("expresspass",), "ExpressPassAeolus": ("expresspass", "aeolus"),
    "Fecn": ("infiniband",), "FlowDeflection": ("dart",), "GoBack0": ("igbn",), "GoBackN": (), "GrantClock": ("ren",),
    "Homa": ("homa",), "HomaAeolus": ("homa", "aeolus"), "Hpcc": ("hpcc",), "ImprovedGoBackN": ("igbn",),
    "InfinibandCc": ("infiniband", "infiniband_cc"), "IntStamp": ("hpcc",), "Irn": ("irn",), "LineRate": (),
    "MarkMeter": (), "Ndp": ("ndp",), "NewReno": ("rfc5681", "rfc6582"), "Nscc": ("uet",), "PHost": ("phost",),
    "PacketMeter": (), "PathChoice": ("reps",), "PayloadTrimming": ("ndp",), "PermutedPaths": ("ndp",), "Pfc": (),
    "Polo": ("polo",), "PowerTcp": ("powertcp",), "PriQ": ("dart",), "Queueing": (), "Rcc": ("rcc",),
    "RccSender": ("rcc",), "Rcp": ("rcp",), "RcpStamp": ("rcp",), "ReceiverCredit": ("uet", "eqds"), "Red": (),
    "Ren": ("ren",), "RenMarker": ("ren",), "Retirement": ("mrc",), "ScoredPaths": ("ndp",),
    "SelectiveDrop": ("aeolus",), "SendTwice": ("igbn",), "Swift": ("swift",), "ThetaPowerTcp": ("powertcp",),
    "Timely": ("timely",), "TimelyHpcc": ("timely", "hpcc"), "Uet": ("uet",), "UetQueue": (),
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
    """Return the papers behind a scheme's components, its preset and the message sizes."""
    keys: list[str] = []
    for part in (*scheme.components, scheme.buffer, scheme.queueing):
        known = (COMPONENTS[kind.__name__] for kind in type(part).__mro__ if kind.__name__ in COMPONENTS)
        keys += next(known, ())
    keys += PRESETS.get(scheme.preset, ())
    keys += _of(SIZES, work.attrs.get("sizes", {}))
    return Citations(PAPERS[key] for key in dict.fromkeys(keys))


def _of(table: dict[str, tuple[str, ...]], names: Iterable[str]) -> list[str]:
    return [key for name in names for key in table.get(name, ())]
