"""Computed tables, their verdicts, and whether they stand: scores, reports, notebooks."""
