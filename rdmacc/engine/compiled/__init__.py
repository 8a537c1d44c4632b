"""The compiled engine: a Numba kernel over structured arrays, with the same handlers and the same order of events."""
