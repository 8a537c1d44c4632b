"""What has been computed, how it was judged, and whether it still stands: scores, reports, notebooks."""
