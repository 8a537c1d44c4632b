"""Clusters of GPU nodes: :func:`rdmacc.cluster`, and how long collectives take on them."""
