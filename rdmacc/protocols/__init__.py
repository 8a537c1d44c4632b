"""Protocols, one per file, with parameters, records and handlers."""
