"""Plots: the common style, the plots of a result, and ladder diagrams of packets."""
