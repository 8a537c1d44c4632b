"""Computed tables, their verdicts, and their validity: scores, reports, notebooks."""
