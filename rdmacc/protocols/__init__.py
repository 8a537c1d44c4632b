"""Protocols: one file each, named like the protocol, with its parameters, records and handlers."""
