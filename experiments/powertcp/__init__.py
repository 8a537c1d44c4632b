"""PowerTCP (Addanki et al., NSDI 2022): what its abstract says, and two figures that people asked about."""
