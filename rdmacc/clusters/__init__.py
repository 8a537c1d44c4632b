"""Clusters of nodes of GPUs: :func:`rdmacc.cluster`, and the answers to what a collective takes on them."""
