"""REN (Li et al., IEEE TCC 2021), a module for each figure."""
