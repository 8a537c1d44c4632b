"""Validation: runs set up exactly as in a public simulator, to compare its numbers with ours."""
