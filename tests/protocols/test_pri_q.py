"""Pri-Q: short messages overtake long ones, at the sender's NIC and at switches."""

import rdmacc
from rdmacc.units import us
from tests.support import WIRE, check_finished, transmission


def test_short_messages_do_not_wait_for_long_ones(engine):
    """Behind the standing queue of two long flows a short message waits for one packet at most at each hop."""
    rows = [
        ("h1", "h0", 300_000, 0),
        ("h2", "h0", 300_000, 0),
        ("h3", "h0", 8_000, us(20)),
        ("h3", "h0", 9_000, us(20)),
    ]
    result = rdmacc.simulate(rdmacc.star(4), rdmacc.messages(rows), "dcqcn-pri-q", engine=engine)
    check_finished(result)
    short, longer = result.flows["fct_ps"][2:]
    ideal = result.flows["ideal_fct_ps"][2]
    assert ideal < short <= ideal + 2 * transmission(WIRE, 100e9)
    assert longer > ideal + us(5)
    plain = rdmacc.simulate(rdmacc.star(4), rdmacc.messages(rows), "dcqcn", engine=engine)
    assert plain.flows["fct_ps"][2] > ideal + us(5)
