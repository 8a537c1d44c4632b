"""Micro-benchmarks: small scenarios that every scheme of a family goes through."""
