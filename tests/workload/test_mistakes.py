"""Workloads that are refused, and the error messages."""

import numpy as np
import pandas as pd
import pytest

import rdmacc
from rdmacc import topology, workload
from rdmacc.workload import DART_SHORT, LoadDefinition, Nccl, SizeDistribution, nccl, size_distribution
from rdmacc.workload.load import Traffic
from rdmacc.workload.training import MIXTRAL_8X7B, TrainingStep
from tests.support import refused

HOSTS = [f"h{i}" for i in range(8)]
NETWORK = topology.leaf_spine(4, 2, 4)


def planned(row):
    work = workload.messages([{"src": "h0", "dst": "h1", "size": 1}, row])
    return rdmacc.Simulation(topology.star(4), work, "dcqcn", engine="simpy")


MISTAKES = [
    # Messages and patterns
    (lambda: workload.incast([], "h0", 1), "senders = []: must be different hosts"),
    (lambda: workload.incast(8, "h0", 1, hosts=HOSTS), "senders = 8: must be at most 7"),
    (lambda: workload.incast(1, "h0", 1), "senders = 1: must be a list of hosts; to draw this many"),
    (lambda: workload.incast(0, "h0", 1, hosts=HOSTS), "senders = 0: must be a whole number, at least 1"),
    (lambda: workload.incast(["h1"], "h0", 1, rounds=0), "rounds = 0: must be a whole number, at least 1"),
    (lambda: workload.incast(["h1"], "h0", 1, rounds=2, jitter="1us"), "jitter = '1us': must be 0 unless"),
    (lambda: workload.incast(["h1"], "h0", 1, start=5), "start = 5: must carry a unit, such as '5us'"),
    (lambda: workload.messages([("h0", "h1", 1, 5)]), "start_ps = 5 (row 0): must carry a unit"),
    (lambda: workload.long_flows([]), "pairs = []: must be at least one pair of hosts"),
    (lambda: workload.random_pairs(["h0", "h0"], 1, 1), "hosts = ['h0', 'h0']: must be at least two"),
    (lambda: workload.messages([("h0", "h1")]), "rows = ('h0', 'h1') (row 0): must be a dict or"),
    (lambda: workload.messages(np.array(3)), "rows = 3: must be a DataFrame, or a list"),
    (
        lambda: workload.messages(pd.DataFrame([["h0"]], columns=pd.MultiIndex.from_tuples([("src", "a")]))),
        "column = ('src', 'a'): must be the name of one column",
    ),
    (lambda: workload.many_to_many([], HOSTS, 1), "senders = []: must be different hosts, at least one"),
    (lambda: workload.many_to_many(["h0"], ["h0"], 1), "receivers = ['h0']: must include a host other than"),
    (lambda: workload.tree_all_reduce(HOSTS, 9, chunks=0), "chunks = 0: must be a whole number, at least 1"),
    (lambda: workload.partition_aggregate("h0", ["h0"], 1, 1), "workers = ['h0']: must be different hosts"),
    (lambda: workload.request_response(["h0"], ["h0"], 1, 1), "servers = ['h0']: must include a host other than"),
    (lambda: workload.sequence(), "workloads = (): must be at least one"),
    (lambda: workload.sequence(*[workload.random_pairs(HOSTS, 10_000, 1)] * 2), "workloads = '10000 last, then 10000"),
    (lambda: workload.ring_all_reduce(["h0"], 1), "hosts = ['h0']: must be at least two different hosts"),
    (lambda: workload.ring_all_reduce(HOSTS, 7), "size = 7: must be at least 1 byte for each of the 8 hosts"),
    (lambda: workload.incast(["h1"], "h0", 0), "size = 0: must be at least 1 byte"),
    (
        lambda: workload.long_flows([("h1", "h0")], 1, start=["1us", "2us"]),
        "must be one time, or one for each of the 1",
    ),
    (lambda: nccl.broadcast(HOSTS, 2**62), "chunk_bytes = 524288: must be at least"),
    # Load
    (lambda: workload.poisson(NETWORK, 1, 0.5), "count = None: must be given exactly when duration is not"),
    (lambda: Traffic(NETWORK, ["leaf0"]), "senders = 'leaf0': must be a host of the network"),
    (lambda: workload.poisson(NETWORK, 1, 0, count=1), "load = 0: must be a fraction of the links' rate, above 0 and"),
    (lambda: workload.poisson(NETWORK, 1, 0.5, count=0), "count = 0: must be a whole number, at least 1"),
    (lambda: workload.poisson(NETWORK, "1GB", 0.5, duration="1ns"), "duration = '1ns': must be longer"),
    (lambda: workload.poisson(NETWORK, 1, 0.5, count=1, start="4611687s"), "start = "),
    (lambda: workload.poisson(NETWORK, 1, 0.5, duration="1us", is_exact=True), "count = None: must be given with is_"),
    (lambda: workload.poisson(NETWORK, 1, 0.5, of="spine", count=1), "links = 'spine': must be one of host"),
    (lambda: workload.poisson(NETWORK, 1, 0.5, of=[], count=1), "links = []: must be at least one (from, to)"),
    (lambda: workload.poisson(NETWORK, 1, 0.5, of=[("h0", "h1")], count=1), "port = 'h0->h1': must be a link"),
    (lambda: workload.poisson(topology.star(3), 1, 0.5, of="core", count=1), "links = 'core': must be links that the"),
    (lambda: LoadDefinition(counting="bits"), "counting = 'bits': must be 'wire' or 'payload'"),
    (lambda: Traffic(NETWORK, ["h0"], ["h0"]), "receivers = ['h0']: must leave a sender other than the receiver"),
    (lambda: Traffic(NETWORK, ["h0", "h0"]), "senders = ['h0', 'h0']: must be different hosts"),
    (lambda: workload.incasts(NETWORK, 16, 1, rate=1, count=1), "degree = 16: must be at most 15"),
    (lambda: workload.incasts(NETWORK, 2, 1, count=1), "rate = None: must be given exactly when load is not"),
    (lambda: workload.incasts(NETWORK, 2, 1, rate=-1, count=1), "rate = -1: must be a number of incasts per"),
    (lambda: workload.dart_mix(NETWORK, 0.5, 1.0, duration="1ms"), "mix = 1.0: must be one of light"),
    (lambda: workload.offered_load(workload.permutation(["h0", "h1"], 1), NETWORK), "duration = None: must be given,"),
    # Sizes
    (lambda: size_distribution(0), "size = 0: must be at least 1 byte"),
    (lambda: size_distribution("web search"), "size = 'web search': must be a size"),
    (lambda: SizeDistribution.from_cdf([(1, 2, 3)]), "knots = [(1, 2, 3)] (custom): must be (size, prob"),
    (lambda: SizeDistribution.from_cdf([(1, 0), (2, 0.9)]), "probabilities = (0.0, 0.9) (custom): must be"),
    (lambda: SizeDistribution.from_cdf([(1, 0), (2, 0.9), (3, 0.8), (4, 1)]), "probabilities = (0.0, 0.9, 0.8"),
    (lambda: SizeDistribution.from_cdf([(1, 0), (5, 0.5), (2, 1)]), "sizes = (1.0, 5.0, 2.0) (custom): must be finit"),
    (lambda: SizeDistribution.from_cdf([(-5, 0), (2, 1)]), "sizes = (-5.0, 2.0) (custom): must be finite"),
    (lambda: SizeDistribution.from_cdf([(1, "x")]), "probability = 'x' (custom): must be from 0 to 1"),
    (lambda: SizeDistribution.from_cdf([(None, 1)]), "size = None (custom): must be a number of bytes"),
    (lambda: SizeDistribution("a", (1.0,), (1.0,)), "sizes = (1.0,) (a): must be at least two knots"),
    (lambda: SizeDistribution.choice([]), "sizes = []: must be at least one size"),
    (lambda: SizeDistribution.choice([5], [0]), "weights = [0]: must be 1 numbers above 0"),
    (lambda: SizeDistribution.uniform(5, 4), "low = 5: must be at least 1 byte and at most high = 4"),
    (lambda: DART_SHORT.capped(0), "limit = 0: must be at least 1 byte"),
    (lambda: DART_SHORT.mean_packets(0), "payload_bytes = 0: must be at least 1 byte"),
    # A training step
    (lambda: TrainingStep(pipeline=3), "a divisor of the 32 layers"),
    (lambda: TrainingStep(data=6, experts=4, model=MIXTRAL_8X7B), "a divisor of 6 replicas"),
    (lambda: TrainingStep(data=6, experts=3, model=MIXTRAL_8X7B), "the model's 8 experts"),
    (lambda: TrainingStep(optimizer="fsdp", pipeline=2), "without pipeline"),
    (lambda: TrainingStep(tensor=3, nccl=Nccl(hosts_per_node=8)), "the 8 GPUs of a node"),
    (lambda: TrainingStep(scale=0.5), "scale"),
    (lambda: TrainingStep(model="x"), "TrainingStep.model = 'x': must be a Transformer"),
    (lambda: TrainingStep(nccl=None), "TrainingStep.nccl = None: must be a Nccl"),
    (lambda: TrainingStep(micro_batches=10**18), "TrainingStep.micro_batches"),
    (lambda: TrainingStep(bucket=1).volumes(), "bucket = 1: must be at least"),
    (lambda: TrainingStep(sequence=10**8, micro_batch=10**6, data=4).workload(HOSTS), "2**63"),
    (lambda: MIXTRAL_8X7B.replace(top=9), "top = 9: must be at most the 8 experts"),
    (lambda: MIXTRAL_8X7B.replace(layers=10**18), "Transformer.layers"),
    (lambda: TrainingStep(data=64).workload(HOSTS), "at least 64"),
    # Computation
    (lambda: planned({"src": "h0", "duration": "4us", "size": 5}), "size = 5"),
    (lambda: planned({"src": "h0", "dst": "h1", "duration": "4us"}), "must be missing or equal to src"),
    (lambda: planned({"src": "h0", "duration": 4}), "duration"),
    (lambda: planned({"src": "h0", "duration": "-4us"}), "duration"),
    (lambda: planned({"src": "h0", "dst": "h1", "size": 5, "after": 0, "delay": ("1us", "2us")}), "each of the 1 in"),
    (lambda: planned({"src": "h0", "dst": "h1", "size": 5, "after": (0,), "delay": 7}), "delay = 7"),
    (lambda: planned({"src": "h0", "dst": "h1", "size": 0}), "at least 1"),
    (lambda: planned({"src": "s0", "duration": "4us"}), "a host, not a switch"),
]


@pytest.mark.parametrize(("make", "text"), MISTAKES, ids=[f"{i} {text}" for i, (_, text) in enumerate(MISTAKES)])
def test_a_mistake_is_named(make, text):
    refused(make, text)
