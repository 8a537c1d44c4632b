"""Sweeps over the points of experiments: the workers that compute them, and the store that keeps them."""

from rdmacc.sweep.run import Sweep, SweepError, stored, sweep
from rdmacc.sweep.store import Store

__all__ = ["Store", "Sweep", "SweepError", "stored", "sweep"]
