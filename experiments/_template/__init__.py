"""Toy (Nobody, Nowhere 2030): a fictitious paper. Copy this folder to start a real one."""
