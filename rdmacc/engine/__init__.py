"""The two engines: `reference` on SimPy, `compiled` by Numba. They agree exactly."""
