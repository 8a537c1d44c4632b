"""Deflections read from a packet trace, independently of the component that made them.

A packet was deflected if it left a switch by another port than ECMP's. So the trace alone shows how often each packet
was deflected, its path, and when each entry of a deflection table was in use.
"""

from rdmacc.engine.trace import ARRIVED, SENT
from rdmacc.interface import DATA, hash63
from ..api import *

_PACKET = ["message", "psn"]
_VISIT = [*_PACKET, "node", "visit"]


def visits(result: Result) -> pd.DataFrame:
    """Return every passage of a data packet through a switch, in a run without losses."""
    plan, rows = result.plan, result.trace_rows
    fabric = plan.fabric
    data = rows[rows["kind"] == DATA]
    left = data[(data["what"] == SENT) & ~fabric.is_host[fabric.port_node[data["port"]]]]
    came = data[(data["what"] == ARRIVED) & ~fabric.is_host[fabric.port_peer[data["port"]]]]
    frames = []
    for events, node, time in ((left, fabric.port_node, "sent_ps"), (came, fabric.port_peer, "arrived_ps")):
        frame = pd.DataFrame({"message": events["message"], "psn": events["psn"], "node": node[events["port"]]})
        frame[time] = events["time_ps"]
        frame["visit"] = frame.groupby([*_PACKET, "node"]).cumcount()
        frames.append(frame)
    frames[0]["port"], frames[0]["lane"] = left["port"], left["priority"]
    passed = frames[0].merge(frames[1], on=_VISIT)
    places = passed[["message", "node"]].drop_duplicates()
    usual = []
    for message, node in zip(places["message"].tolist(), places["node"].tolist(), strict=True):
        choices = fabric.candidates(node, int(plan.dst[message]))
        usual.append(choices[hash63(int(plan.ecmp_salt[node]), 2 * message) % len(choices)])
    passed = passed.merge(places.assign(usual=usual), on=["message", "node"])
    passed["is_deflected"] = passed["port"] != passed.pop("usual")
    return passed.sort_values("sent_ps", ignore_index=True)


def hops(passed: pd.DataFrame) -> pd.DataFrame:
    """Return each packet's number of links and deflections, by (message, psn)."""
    by_packet = passed.groupby(_PACKET)["is_deflected"]
    return pd.DataFrame({"hops": by_packet.size() + 1, "deflections": by_packet.sum()})


def disorders(result: Result) -> int:
    """Return how many data packets arrived at their host out of order."""
    plan, rows = result.plan, result.trace_rows
    fabric = plan.fabric
    is_there = (rows["what"] == ARRIVED) & (rows["kind"] == DATA) & fabric.is_host[fabric.port_peer[rows["port"]]]
    arrivals = pd.DataFrame({"message": rows["message"][is_there], "psn": rows["psn"][is_there]})
    return int((arrivals["psn"] != arrivals.groupby("message").cumcount()).sum())


def entries(result: Result, passed: pd.DataFrame) -> pd.DataFrame:
    """Return the lifetime of each entry of the deflection tables: `message, node, visit, begin_ps, end_ps`.

    An entry lasts from the arrival of a deflected message's first packet at the switch to that of its last. Messages of
    one packet hold no entry.
    """
    packets = result.plan.packets
    gone = passed[passed["is_deflected"] & (packets[passed["message"]] > 1)]
    by_entry = ["message", "node", "visit"]
    first = gone[gone["psn"] == 0].set_index(by_entry)["arrived_ps"].rename("begin_ps")
    last = gone[gone["psn"] == packets[gone["message"]] - 1].set_index(by_entry)["arrived_ps"].rename("end_ps")
    return pd.concat([first, last], axis=1, join="inner").reset_index()


def occupancy(used: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return, for each new entry, how many of its switch's entries are in use, including itself; in no order."""
    found = [np.empty(0, np.int64)]
    for _, one in used.groupby("node"):
        begin, end = np.sort(one["begin_ps"].to_numpy()), np.sort(one["end_ps"].to_numpy())
        found.append(np.arange(1, len(begin) + 1) - np.searchsorted(end, begin, side="right"))
    return np.concatenate(found)
