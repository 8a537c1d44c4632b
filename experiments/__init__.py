"""The figures and tables of the papers, as objects that anyone can rerun."""
