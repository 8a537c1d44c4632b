"""REN, figures 16 to 18 under the hosts' load with one grant per packet, over the number of messages."""

from rdmacc.experiments.ren.fig16 import Figure16
from rdmacc.experiments.ren.fig18 import Figure18
from rdmacc.experiments.ren.gains import gain
from rdmacc.experiments.ren.leaf_spine import LOADS, WORKLOADS, LeafSpineCase, LeafSpineFigure
from rdmacc.experiments.ren.loads import POSITIVE, gain_lines, mean_of
from rdmacc.experiments.ren.setup import LOOKS
from ..api import *

_SHORTER = ("cache_follower", "web_search", "hadoop")
_MINING = ("data_mining",)
"""Separate, because its messages are ten times as long."""
_OTHERS = ("dctcp", "traditional", "ndp", "expresspass", "aeolus")
_NUMBERS = {"quick": (20, 50), "paper": (1000, 2500)}
_LOADS = {"quick": (0.7,), "paper": LOADS["paper"]}
_ALL_MESSAGES = 5000
"""As in figures 15 to 18, whose runs these are."""


def _case(scheme: str, name: str, load: float, number: int) -> LeafSpineCase:
    return LeafSpineCase(scheme, name, load, load_of="host", count=number if number != _ALL_MESSAGES else 0)


def _gain(rows: pd.DataFrame, quantity: str, other: str, name: str, number: int, load: float = 0.7) -> float:
    return float(gain(rows, quantity, other, name, _case("ren", name, load, number).differences)[load])


def _gains(name: str, numbers: Iterable[int], rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        f"{number:,} messages": {LOOKS[one][0]: _gain(rows, "AFCT", one, name, number) for one in _OTHERS}
        for number in numbers
    }


def _by_number(quantity: str, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    ran = product(_OTHERS, sorted(int(one) for one in rows["flows"].unique()))
    found = [(one, number, _gain(rows, quantity, one, name, number)) for one, number in ran]
    return pd.DataFrame(found, columns=["scheme", "messages", "gain"])


def _with_number(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        f"{LOOKS[one][0]}, {WORKLOADS[name]}": {
            f"{number:,}": _gain(rows, "AFCT", one, name, number) for number in (1000, 2500, _ALL_MESSAGES)
        }
        for name in _SHORTER[:2]
        for one in ("dctcp", "expresspass")
    }


def _expresspass(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    def throughput(scheme: str, name: str, number: int) -> pd.Series:
        return mean_of(rows, "throughput, long", scheme, name, _case(scheme, name, 0.7, number).differences)

    return {
        f"{number:,} messages": {
            WORKLOADS[name]: (throughput("expresspass", name, number) / throughput("ndp", name, number))[0.7]
            for name in _SHORTER
        }
        for number in (1000, _ALL_MESSAGES)
    }


def _where_it_is_carried(names: Iterable[str], rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    more, fewer = (
        {(name, one): _gain(rows, "AFCT", one, name, number, 0.1) for name in names for one in _OTHERS}
        for number in (2500, 1000)
    )
    return {WORKLOADS[name]: {LOOKS[one][0]: more[name, one] - fewer[name, one] for one in _OTHERS} for name in names}


def _by_load(names: Iterable[str], rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        f"{WORKLOADS[name]}, {number:,}": {
            f"load {load}": float(np.mean([_gain(rows, "AFCT", one, name, number, load) for one in _OTHERS]))
            for load in (0.1, 0.7)
        }
        for name, number in product(names, (1000, 2500))
    }


def _needs(numbers: Iterable[int], *names: str, load: float = 0.7) -> tuple[LeafSpineCase, ...]:
    return tuple(_case(one, name, load, number) for number in numbers for name in names for one in ("ren", *_OTHERS))


class Messages(LeafSpineFigure):
    name = "ren.messages"
    claims = (
        claim("ren-n-1a", measure=partial(_gains, "cache_follower", (1000, 2500)), band=Each(POSITIVE, of="number"),
              needs=_needs((1000, 2500), "cache_follower")),
        claim("ren-n-2a", measure=partial(_gains, "web_search", (2500,)), band=Each(POSITIVE, of="number"),
              needs=_needs((2500,), "web_search")),
        claim("ren-n-3a", measure=_with_number, band=Each(Falls(), of="baseline and workload"),
              needs=_needs((1000, 2500, _ALL_MESSAGES), *_SHORTER[:2])),
        claim("ren-n-4a", measure=_expresspass,
              band=All({"1,000 messages": Each(LessThan(1)), "5,000 messages": Each(MoreThan(1))}),
              needs=_needs((1000, _ALL_MESSAGES), *_SHORTER)),
        *(
            claim(id, measure=partial(_where_it_is_carried, names),
                  band=Each(Each(Between(-0.1, 0.1), of="baseline"), of="workload"),
                  needs=_needs((1000, 2500), *names, load=0.1))
            for id, names in (("ren-n-5a", _SHORTER), ("ren-n-5b", _MINING))
        ),
        *(
            claim(id, measure=partial(_by_load, names), band=Each(Rises(), of="workload and number"),
                  needs=_needs((1000, 2500), *names) + _needs((1000, 2500), *names, load=0.1))
            for id, names in (("ren-n-6a", _SHORTER), ("ren-n-6b", _MINING))
        ),
    )  # fmt: skip

    def cases(self, scale: str) -> list[LeafSpineCase]:
        found = [
            _case(scheme, name, load, number)
            for number, name, load in product(_NUMBERS[scale], (*_MINING, *_SHORTER), _LOADS[scale])
            for scheme in ("ren", *_OTHERS)
        ]
        return [*_needs((_ALL_MESSAGES,), *_MINING, *_SHORTER), *found] if scale == "paper" else found

    def draw(self, rows: pd.DataFrame) -> Figure:
        published = {"web_search": Figure16.published["AFCT"], "cache_follower": Figure18.published["AFCT"]}
        labels = {"AFCT": "AFCT reduced by REN", "throughput, long": "long flows:\nthroughput raised"}
        panels: list[Panel] = []
        for (quantity, label), name in product(labels.items(), (*_MINING, *_SHORTER)):
            gains = {
                one: gain for one, gain in published.get(name, {}).items() if one in _OTHERS and quantity == "AFCT"
            }
            words = {"label": label, "title": WORKLOADS[name], "of": partial(_by_number, quantity, name)}
            panels.append(gain_lines(gains, _ALL_MESSAGES, over="messages", **words))
        more = ": 0.7 of the hosts' links, one grant"
        return self.drawn(panels, rows, more, columns=4, size=(3.2, 3.1), sharex=True, legend="outside right upper")
