"""Lab 1: incast."""

drain_us = 8 * 64 * 1048 * 8 / 100e9 * 1e6  # 64 packets a message, 1,048 bytes each

# 1.8 us more: the first packet needs a round of propagation (2 us) before the link is busy, and the median message
# ends a little before the last one.
median_us = result.flows["fct_us"].median()

# 88%. A message of 64 kB leaves in 5.4 us, at line rate, and the first mark returns after a round trip: by then
# everything is on its way. No sender can react to what it learns after its last byte.
queue_share = result.summary().peak_queue_bytes / (8 * 64 * 1048)

small = {}
for senders in (1, 8, 32):
    flows = rdmacc.simulate(network, crowd(senders), "dcqcn").flows
    small[senders] = flows[flows["size_bytes"] == 4000].iloc[0]
small_us = {senders: row["fct_us"] for senders, row in small.items()}

waiting_share = 1 - 1 / small[32]["slowdown"]

ends, unharmed = {}, set()
for name in SCHEMES:
    flows = rdmacc.simulate(network, long_work, name).flows
    ends[name] = (flows["start_ps"] + flows["fct_ps"]).max()
    if flows.loc[flows["size_bytes"] == 4000, "fct_us"].item() < 10:
        unharmed.add(name)

# To discuss 1: DCTCP's senders count marks, in every round trip; HPCC's read from every ACK how long the queues are
# and how much the links carry; Homa's receiver knows all messages, and switches send the small one first.
# To discuss 2: HPCC aims at 95% of the link, and spends header space on what switches write: 13% more time here.
slowest = max(unharmed, key=ends.get)
