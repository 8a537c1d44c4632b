"""Searches: where a scheme is at its worst, which parameters are best, and a scorecard of all schemes."""
