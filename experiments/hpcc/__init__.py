"""HPCC (Li et al., SIGCOMM 2019): what its abstract says, on a micro-benchmark."""
