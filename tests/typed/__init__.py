"""Code as users write it, which a type checker passes without ignores: `mypy` checks this folder."""
