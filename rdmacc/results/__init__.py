"""The results of a simulation: frames, a summary, packets followed hop by hop, and captures for Wireshark."""

from rdmacc.results.result import Result
from rdmacc.results.summary import Summary

__all__ = ["Result", "Summary"]
