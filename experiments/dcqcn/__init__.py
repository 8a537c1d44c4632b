"""DCQCN (Zhu et al., SIGCOMM 2015): a parking lot and a victim flow, its fluid model and its parameters."""
