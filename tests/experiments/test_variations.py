"""Schemes that experiments change: both engines agree on them, and they do what they are for."""

from dataclasses import replace
from functools import partial

import pytest

import rdmacc
from rdmacc.experiments.rcc.receivers import OrderedHoma, ReturningRcc
from rdmacc.experiments.rcc.recovery import BACK, IN_ORDER
from rdmacc.experiments.ren.handicaps import LEAST, PATHS, Variation
from rdmacc.protocols.rcc import Rcc

_NETWORK = partial(rdmacc.leaf_spine, 3, 2, 3, rate="40Gbps", delay="1us")
_WORK = partial(rdmacc.poisson, _NETWORK(), "web_search", 0.8, count=25, seed=3)


def _changed(words):
    """Return a scheme by what is changed, and the same without."""
    if words in (LEAST, PATHS):
        return Variation("ren", "web_search", 0.5, part=words).run_as(), rdmacc.preset("ren-2021")["ren"]
    own = rdmacc.preset("rcc-2021")["rcc" if words == BACK else "homa"].replace(routing="spray-random")
    if words == BACK:
        one = ReturningRcc(**{**vars(own.control[0]), "late_samples": 1})
        return replace(own, control=(one,)), replace(own, control=(Rcc(**vars(one)),))
    return replace(own, recovery=OrderedHoma(**vars(own.recovery))), own


def _run(scheme, engine="compiled"):
    return rdmacc.simulate(_NETWORK(), _WORK(), scheme, until="20ms", engine=engine)


@pytest.mark.parametrize("words", [LEAST, PATHS, BACK, IN_ORDER])
def test_both_engines_agree_on_a_variation_which_is_not_the_original(words):
    variation, original = _changed(words)
    found = _run(variation)
    assert found.digest() == _run(variation, "simpy").digest()
    assert found.digest() != _run(original).digest()
    assert (found.flows["status"] == "finished").all()


def test_a_receiver_in_order_takes_nothing_that_is_not():
    """So a sender sends more packets than the messages have, though none is lost."""
    variation, original = _changed(IN_ORDER)
    again, before = (_run(one).flows["retransmissions"].sum() for one in (variation, original))
    assert again > before == 0
