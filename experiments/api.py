"""Everything that a figure needs, in one import: ``from rdmacc.experiments.api import *``.

Experiments, points, claims and their bands, readings, and helpers for tables, traces and plots; the parts of a
scenario; and common names of Python and its libraries: `np`, `pd`, `nx`, `npt`, `partial`, `replace` and others.
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
from rdmacc.schemes import Scheme
from rdmacc.show.style import COLOURS, draw_spread, draw_trace, ecdf, fit_above, log_axes, style, subplots
from rdmacc.simulation.scenario import Scenario
from rdmacc.sweep.seeds import Seeding
from rdmacc.sweep.tidy import TABLE_COLUMNS, curve, scalar, scalars, tidy, typed, wide
from rdmacc.sweep.workers import Run
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
from .framework.bands import *
from .framework.case import CaseFigure, fct_so_far_ps, in_order_fct_ps
from .framework.claim import Claim, Measured, NotJudged
from .framework.experiment import Experiment
from .framework.panels import Bars, Distributions, Lines, Listing, Panel, Sketch, Traces, draw_blocks, draw_panels
from .framework.point import Point, check_scale
from .framework.reading import DEFAULT
from .framework.registry import experiment, load_summary, register_experiment, select, summary_path
from .framework.rows import *
from .framework.texts import claim
from .framework.trace import between, first_within, mean_between, settled, shown, time_in, value_at, worst_between

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    Axes = Figure = object  # for annotations only: matplotlib is slow to import
