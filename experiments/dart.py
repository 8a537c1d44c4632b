"""Dart's figures: the networks that they share, and their registration.

Paper: Xue et al., "Dart: Divide and Specialize for Fast Response to Congestion in RDMA-based Datacenter Networks",
IEEE/ACM ToN 2020. Links of 10 Gb/s and 5 us, 225 KB of buffer for each port of a switch (VI-A): six hops make a base
RTT of 60 us and the packets' time on the links.

The conceptual figures 2 to 5 give no network, sizes or times. Assumed here, once for all of them: the "quick" network
is a fat tree with the evaluation's links, the "paper" network the evaluation's own of 1,024 hosts; senders sit in other
pods than the receiver.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx

from rdmacc import topology
from rdmacc.units import size_bytes

__all__ = ["LINE_BPS", "RECEIVER", "WIRE_BYTES", "byte_ps", "network", "ports_towards"]

LINE_BPS = 10e9
DELAY = "5us"
BUFFER_PER_PORT = size_bytes("225kB")
WIRE_BYTES = 1048
"""A full packet, with its headers."""
PACKET_PS = round(WIRE_BYTES * 8e12 / LINE_BPS)
RECEIVER = "h0"
"""D, in the first pod."""
