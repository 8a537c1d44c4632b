"""What everything that draws or prints shares: the style of plots, axes of time, bands, pictures, tables."""
