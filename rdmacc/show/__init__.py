"""Shared helpers for drawing and printing: plot style, time axes, bands, pictures, tables."""
