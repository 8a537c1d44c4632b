"""Analytic models: what theory says a simulation should show."""
