"""Lab 2: fairness and convergence."""


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


converged_us = {}
for name in ("dcqcn", "hpcc", "swift", "dasr"):
    late = packets(name).loc[1_500_000_000:]
    unfair = [time for time, row in late.iterrows() if jain(row.tolist()) < 0.95]
    after = late.index[late.index > max(unfair, default=0)]
    converged_us[name] = (after[0] - 1_500_000_000) / 1e6 if len(after) else None

hpcc, swift = (packets(name).loc[lambda rows: rows.index > 2_500_000_000].sum().sum() for name in ("hpcc", "swift"))
hpcc_share = hpcc / swift

# The link s1-s2 has three flows, 33.3 each, and is full first. Flow 1 gets what flow 0 leaves of the other link.
max_min_gbps = [100 / 3, 200 / 3, 100 / 3, 100 / 3]

goodput_gbps = {}
for name in ("swift", "hpcc"):
    run = rdmacc.simulate(parking, crossing, name, until="3ms")
    goodput_gbps[name] = [run.goodput(flow) / 1e9 for flow in range(4)]

# To discuss 1: Swift compares the delay of the whole path with a target. Flow 0 adds up two queues; the others see one
# each. Where the sum is at its target, it cuts and they do not.
# To discuss 2: half of its share instead of a twelfth. It still sees two links, either of which may be the busiest one
# at a given moment, and its feedback comes from further away.
missed = max_min_gbps[0] / goodput_gbps["swift"][0]
