"""Improved Go-Back-N (Wang et al., ICCCN 2019), a module for each figure and table."""
