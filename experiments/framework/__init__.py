"""What an experiment is: figures, points, claims and their bands, readings, and the registry of them all."""
