"""The reference engine: plain objects on a SimPy environment, to read, step through and check against."""
