"""Switch features: what a port does to the packets that pass it, and how a switch shares its buffer."""
