"""REN, figures 16 to 18 under the hosts' load with one grant per packet, over the number of messages."""

from rdmacc.experiments.ren.fig16 import Figure16
from rdmacc.experiments.ren.fig18 import Figure18
from rdmacc.experiments.ren.gains import gain
from rdmacc.experiments.ren.leaf_spine import LOADS, WORKLOADS, LeafSpineCase, LeafSpineFigure
from rdmacc.experiments.ren.loads import POSITIVE, gain_lines, mean_of
from rdmacc.experiments.ren.setup import LOOKS, labelled
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


def _gains(rows: pd.DataFrame, quantity: str, name: str, number: int) -> pd.DataFrame:
    """Return REN's gain over each of the others by load, for a workload and a number of messages."""
    changes = _case("ren", name, 0.7, number).differences
    return pd.DataFrame({one: gain(rows, quantity, one, name, changes) for one in _OTHERS})


def _reduced(name: str, numbers: Iterable[int], rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {f"{number:,} messages": labelled(_gains(rows, "AFCT", name, number).loc[0.7]) for number in numbers}


def _by_number(quantity: str, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    numbers = sorted(int(one) for one in rows["flows"].unique())
    found = pd.DataFrame({number: _gains(rows, quantity, name, number).loc[0.7] for number in numbers})
    return found.rename_axis("scheme").melt(var_name="messages", value_name="gain", ignore_index=False).reset_index()


def _with_number(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        f"{LOOKS[one][0]}, {WORKLOADS[name]}": {
            f"{number:,}": _gains(rows, "AFCT", name, number)[one][0.7] for number in (1000, 2500, _ALL_MESSAGES)
        }
        for name in _SHORTER[:2]
        for one in ("dctcp", "expresspass")
    }


def _expresspass(rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    def throughput(scheme: str, name: str, number: int) -> float:
        changes = _case(scheme, name, 0.7, number).differences
        return float(mean_of(rows, "throughput, long", scheme, name, changes)[0.7])

    return {
        f"{number:,} messages": {
            WORKLOADS[name]: throughput("expresspass", name, number) / throughput("ndp", name, number)
            for name in _SHORTER
        }
        for number in (1000, _ALL_MESSAGES)
    }


def _where_it_is_carried(names: Iterable[str], rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    found = {name: [_gains(rows, "AFCT", name, number).loc[0.1] for number in (2500, 1000)] for name in names}
    return {WORKLOADS[name]: labelled(more - fewer) for name, (more, fewer) in found.items()}


def _by_load(names: Iterable[str], rows: pd.DataFrame) -> dict[str, dict[str, float]]:
    return {
        f"{WORKLOADS[name]}, {number:,}": named(
            _gains(rows, "AFCT", name, number).loc[[0.1, 0.7]].mean(axis=1), "load {:g}"
        )
        for name, number in product(names, (1000, 2500))
    }


def _needs(numbers: Iterable[int], *names: str, load: float = 0.7) -> tuple[LeafSpineCase, ...]:
    return tuple(_case(one, name, load, number) for number in numbers for name in names for one in ("ren", *_OTHERS))


class Messages(LeafSpineFigure):
    name = "ren.messages"
    claims = (
        claim("ren-n-1a", measure=partial(_reduced, "cache_follower", (1000, 2500)), band=Each(POSITIVE, of="number"),
              needs=_needs((1000, 2500), "cache_follower")),
        claim("ren-n-2a", measure=partial(_reduced, "web_search", (2500,)), band=Each(POSITIVE, of="number"),
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
