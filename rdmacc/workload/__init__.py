"""Workloads: DataFrames with one row per message.

==============  =======  ===============================================================================
``src, dst``    object   names of two different hosts
``size_bytes``  int64    at least 1; input may be named ``size`` and have units ("64KiB")
``start_ps``    int64    not before this time; input may be named ``start`` and have units ("1us")
``group``       Int64    number of an incast or a coflow; missing for none
``after``       object   tuple of the messages (index labels) that must be complete first; () for none
``weight``      float64  relative share, for schemes that support weights; default 1
==============  =======  ===============================================================================

The index is named ``message`` and is unique. A message starts at ``start_ps`` or when the last message of ``after`` is
complete, whichever is later. Other columns are kept unchanged. Six of them have a meaning if present, and may be
missing in any row:

===================  ==================================================================================
``duration_ps``      the row is not a message: host ``src`` computes for this long and sends nothing
``delay_ps``         a tuple of times, one for each row in ``after``: further delay after that row
``priority``         the class of its data packets
``in_turn``          True: this class and the others with it take turns at a port, packet by packet, instead of
                     in strict order
``path, ack_path``   the nodes that data and replies pass, both ends included, in place of the routing's
                     choice: a text such as ``"h0 s0 h1"``, or a sequence of names
===================  ==================================================================================

Messages and computations may wait for each other, like messages for messages. Two computations on one host run in
parallel unless one waits for the other.

==================  ====================================================================================
your own            :func:`messages`, :func:`from_csv`, :func:`from_parquet`
at random           :func:`poisson` at a load, :func:`incasts`, :func:`dart_mix`, :func:`random_pairs`
patterns            :func:`incast`, :func:`long_flows`, :func:`permutation`, :func:`many_to_many`
closed loops        :func:`partition_aggregate`, :func:`request_response`
collectives         :func:`ring_all_reduce`, :func:`tree_all_reduce`, :func:`all_to_all`
as NCCL does them   :mod:`rdmacc.workload.nccl`: channels, chunks, double binary trees, nodes of several GPUs
training            :class:`TrainingStep`: data, tensor, pipeline and expert parallelism
over a dragonfly    :func:`dragonfly_paths`: minimal and Valiant
together            :func:`combine` side by side, :func:`sequence` one after the other, :func:`jobs` on one network
sizes               :class:`SizeDistribution`, the published ones in ``SIZES``
load                :class:`LoadDefinition`, :func:`offered_load`, :func:`port_loads`
==================  ====================================================================================

Wherever hosts are listed, a network stands for all its hosts. Senders, receivers, workers, clients and servers may also
be a number of hosts to draw from ``hosts=``.

All randomness comes from ``stream(seed, PURPOSE)``, with one stream for each purpose.
"""

from rdmacc.workload.arrivals import DART_MIXES, PAIR_STARTS, PAIRS, dart_mix, incasts, poisson, random_pairs
from rdmacc.workload.checks import validate
from rdmacc.workload.compose import PLACEMENTS, combine, dragonfly_paths, job, jobs, sequence
from rdmacc.workload.files import from_csv, from_parquet, to_csv, to_parquet
from rdmacc.workload.frame import COLUMNS, messages, open_work, stream
from rdmacc.workload.load import LOAD_LINKS, LoadDefinition, offered_load, port_loads
from rdmacc.workload.nccl import Nccl
from rdmacc.workload.patterns import (
    INCAST_JITTER,
    INCAST_SENDERS,
    PERMUTATION,
    all_to_all,
    incast,
    long_flows,
    many_to_many,
    partition_aggregate,
    permutation,
    request_response,
    ring_all_reduce,
    tree_all_reduce,
)
from rdmacc.workload.sizes import DART_SHORT, SIZES, SizeDistribution, size_distribution
from rdmacc.workload.training import LLAMA_7B, MIXTRAL_8X7B, TrainingStep, Transformer

__all__ = [
    "COLUMNS", "DART_MIXES", "DART_SHORT", "INCAST_JITTER", "INCAST_SENDERS", "LLAMA_7B", "LOAD_LINKS", "MIXTRAL_8X7B",
    "PAIRS", "PAIR_STARTS", "PERMUTATION", "PLACEMENTS", "SIZES", "LoadDefinition", "Nccl", "SizeDistribution",
    "TrainingStep", "Transformer", "all_to_all", "combine", "dart_mix", "dragonfly_paths", "from_csv", "from_parquet",
    "incast", "incasts", "job", "jobs", "long_flows", "many_to_many", "messages", "offered_load", "open_work",
    "partition_aggregate", "permutation", "poisson", "port_loads", "random_pairs", "request_response",
    "ring_all_reduce", "sequence", "size_distribution", "stream", "to_csv", "to_parquet", "tree_all_reduce", "validate",
]  # fmt: skip
