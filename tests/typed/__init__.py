"""Code as users write it, which type checkers accept without ignores: `mypy` checks this folder."""
