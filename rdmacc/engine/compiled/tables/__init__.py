"""The kernel's memory: how its rows are laid out, filled, grown and read back."""
