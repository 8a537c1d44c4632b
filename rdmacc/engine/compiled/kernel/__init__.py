"""The kernel: functions of the events, hosts, NICs, ports and switches, which Numba compiles."""
