"""HPCC (Li et al., SIGCOMM 2019): its abstract's claims on a micro-benchmark, and its figures."""
