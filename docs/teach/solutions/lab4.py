"""Lab 4: PFC storms and victims."""

round_trip_bytes = 2 * 1e-6 * 100e9 / 8


def run(scheme, victim_class=3, buffer="4MB"):
    return rdmacc.simulate(fabric(buffer), work(victim_class), scheme)


def slowdown(*given):
    return run(*given).flows["slowdown"].iloc[-1]


victim_slowdown = {name: slowdown(name) for name in ("line-rate", "dcqcn", "hpcc", "swift")}

paused_us = run("line-rate").ports.set_index("port").loc["s0->s1", "paused_ps"] / 1e6

# Four senders at 100 Gb/s each end in one link of 100 Gb/s. s1 fills, and pauses s0->s1; s0 fills, and pauses hosts.
root = "s1->h5"

# Under line-rate the class of the victim is never paused. Under dcqcn it is worse off than before: a switch looks at
# the queues of all classes of a port when it marks, and while class 3 is paused at s0->s1, its queue is long. So the
# victim's packets are marked, and its sender slows down: `result.explain(4)` says that 72% of its time is its own rate.
own_class_slowdown = {name: slowdown(name, 4) for name in ("line-rate", "dcqcn")}

enough_mb = next(mb for mb in range(4, 40) if not run("dcqcn", 3, f"{mb}MB").ports["pauses"].any())

waiting_ports, survivors = set(), set()
for name in ("line-rate", "dcqcn", "hpcc", "swift"):
    try:
        rdmacc.simulate(circle(), clockwise, name)
        survivors.add(name)
    except rdmacc.DeadlockError as error:
        if name == "line-rate":
            waiting_ports = set(error.ports)

# To discuss 1: their windows bound what a sender has in flight, so that four senders fill no buffer of 4 MB. Enough
# senders would: a window is at least a packet.
# To discuss 2: any one link between two switches, in one direction ("up*/down*" routing does so).
# To discuss 3: it grows with the number of senders times what each has in flight, and buffers on a chip are expensive.
