"""PowerTCP (Addanki et al., NSDI 2022): its abstract's claims, and two figures that users asked about."""
