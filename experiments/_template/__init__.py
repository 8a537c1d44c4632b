"""Toy (Nobody, Nowhere 2030): a paper that does not exist. Copy the folder to begin one that does."""
