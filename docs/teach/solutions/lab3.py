"""Lab 3: ECN thresholds and stability."""

from scipy.optimize import brentq

fixed_queue_kb = loop(8).fluid.fixed_point()["queue_bytes"] / 1e3

most_flows = max(n for n in range(2, 40) if loop(n).fluid.fixed_point()["queue_bytes"] < 200e3)

margins = {n: loop(n).margins().phase_deg for n in range(2, 65)}
least_stable = min(margins, key=margins.get)

critical_us = brentq(lambda us: loop(10, f"{us}us").margins().phase_deg, 20, 100)

# Half is enough, and doubles the queue: the same probability of a mark is reached at twice the length.
stable_pmax = 0.005
assert loop(10, "85us", 0.01).margins().phase_deg < 0 < loop(10, "85us", stable_pmax).margins().phase_deg

# To discuss 1: packets, marks drawn at random, and CNPs at most every 50 us. They shake the loop all the time, and a
# loop with a small margin answers a shake with a long swing.
# To discuss 2: the queue. A ramp that is half as steep is twice as long a queue, and nothing marks enough in an incast.
# To discuss 3: beyond 14 flows the fixed point is above K_max, where a switch marks everything, not what the ramp says.
swing = {}
for delay, one in found.items():
    queue = one.frame[(one.frame["quantity"] == "queue") & (one.frame["x"] >= 20e9)]
    swing[delay] = queue["simulation"].std()
swing_ratio = swing["85us"] / swing["4us"]
