"""The reference engine: plain objects on a SimPy environment, to read, to step through and to check against."""
