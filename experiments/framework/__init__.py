"""The experiment framework: experiments, points, claims and their bands, readings, and the registry."""
