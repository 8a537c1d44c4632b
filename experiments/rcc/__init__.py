"""RCC, a module for each figure and table."""
