"""All that a figure needs, in one import: ``from rdmacc.experiments.api import *``.

Experiments, points, claims and their bands, readings, and helpers for tables, traces and pictures; what describes a
scenario; and of Python and its libraries what most figures use: `np`, `pd`, `nx`, `npt`, `partial`, `replace` and such.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, partial
from itertools import pairwise, product
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, cast

import networkx as nx
import numpy as np
import numpy.typing as npt
import pandas as pd

from rdmacc import probes, topology, workload
from rdmacc.faults import LinkDown, Loss, ScriptedLoss, SlowLink
from rdmacc.presets import preset
from rdmacc.results.result import Result
from rdmacc.results.summary import jain
from rdmacc.scenario import Scenario
from rdmacc.schemes import Scheme
from rdmacc.show.style import COLOURS, draw_spread, draw_trace, ecdf, fit_above, log_axes, style, subplots
from rdmacc.sweep.tidy import TABLE_COLUMNS, curve, scalar, scalars, tidy, typed, wide
from rdmacc.topology import Graph
from rdmacc.units import (
    MB,
    KiB,
    MiB,
    bps,
    format_rate,
    format_size,
    format_time,
    kB,
    ms,
    ns,
    ps,
    rate_bps,
    size_bytes,
    time_ps,
    us,
)
from .framework.band import (
    AtLeast,
    AtMost,
    Band,
    Between,
    Exactly,
    LessThan,
    MoreThan,
    Part,
    Size,
    Within,
    show,
    show_all,
)
from .framework.bands import All, AnyOf, At, Each, Falls, Highest, Lowest, Ordered, Rises, Some
from .framework.blocks import draw_blocks
from .framework.case import CaseFigure
from .framework.claim import OURS, Chosen, Claim, Kind, Measured, NotJudged, Outcome, Verdict
from .framework.experiment import Experiment, Run, Seeding
from .framework.ideal import in_order_fct_ps
from .framework.panels import Bars, Distributions, Lines, Panel, Sketch, Traces, draw_panels
from .framework.point import Point
from .framework.reading import DEFAULT
from .framework.registry import experiment, load_summary, register_experiment, select, summary_path
from .framework.rows import among, by_load, having, labels_of, means_of, pivoted, reduction
from .framework.scale import check_scale
from .framework.trace import first_within, mean_between, settled, shown, time_in, value_at, worst_between

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    Axes = Figure = object  # only annotations name them, and matplotlib takes long to import

__all__ = [
    "COLOURS",
    "DEFAULT",
    "MB",
    "OURS",
    "TABLE_COLUMNS",
    "All",
    "Any",
    "AnyOf",
    "At",
    "AtLeast",
    "AtMost",
    "Axes",
    "Band",
    "Bars",
    "Between",
    "Callable",
    "CaseFigure",
    "Chosen",
    "Claim",
    "ClassVar",
    "Distributions",
    "Each",
    "Exactly",
    "Experiment",
    "Falls",
    "Figure",
    "Graph",
    "Hashable",
    "Highest",
    "Iterable",
    "Iterator",
    "KiB",
    "Kind",
    "LessThan",
    "Lines",
    "LinkDown",
    "Loss",
    "Lowest",
    "Mapping",
    "MappingProxyType",
    "Measured",
    "MiB",
    "MoreThan",
    "NotJudged",
    "Ordered",
    "Outcome",
    "Panel",
    "Part",
    "Point",
    "Result",
    "Rises",
    "Run",
    "Scenario",
    "Scheme",
    "ScriptedLoss",
    "Seeding",
    "Sequence",
    "Size",
    "Sketch",
    "SlowLink",
    "Some",
    "Traces",
    "Verdict",
    "Within",
    "abstractmethod",
    "among",
    "asdict",
    "bps",
    "by_load",
    "cache",
    "cast",
    "check_scale",
    "curve",
    "dataclass",
    "draw_blocks",
    "draw_panels",
    "draw_spread",
    "draw_trace",
    "ecdf",
    "experiment",
    "field",
    "fields",
    "first_within",
    "fit_above",
    "format_rate",
    "format_size",
    "format_time",
    "having",
    "in_order_fct_ps",
    "jain",
    "kB",
    "labels_of",
    "load_summary",
    "log_axes",
    "math",
    "mean_between",
    "means_of",
    "ms",
    "np",
    "npt",
    "ns",
    "nx",
    "pairwise",
    "partial",
    "pd",
    "pivoted",
    "preset",
    "probes",
    "product",
    "ps",
    "rate_bps",
    "reduction",
    "register_experiment",
    "replace",
    "scalar",
    "scalars",
    "select",
    "settled",
    "show",
    "show_all",
    "shown",
    "size_bytes",
    "style",
    "subplots",
    "summary_path",
    "tidy",
    "time_in",
    "time_ps",
    "topology",
    "typed",
    "us",
    "value_at",
    "wide",
    "workload",
    "worst_between",
]
