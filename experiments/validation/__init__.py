"""Validation: runs with exactly the set-up of a public simulator, to compare its numbers with ours."""
