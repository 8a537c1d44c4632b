"""Improved Go-Back-N, figure 1 and table I: one message without loss, which gives both."""

from rdmacc.protocols.go_back_n import GoBackN
from ..api import *
from .setup import *

POINT = "a message without loss"


class LoneMessage(Experiment):
    """One message of 4 MB, without loss."""

    def points(self, scale: str = "quick", seed: int = 0) -> Iterator[Point]:
        yield Point.of(
            POINT,
            network=topology.igbn_pair,
            workload=partial(chain_of_messages, 1),
            scheme=preset("igbn-2019")["go-back-n"],
            seed=seed,
        )

    def measure(self, point: Point, result: Result) -> pd.DataFrame:
        plan, flow = result.plan, result.flows.iloc[0]
        fabric, scheme = plan.fabric, plan.scheme
        recovery = scheme.recovery
        assert isinstance(recovery, GoBackN)
        numbers = {
            "bandwidth": (float(fabric.port_rate_bps.min()), "bps"),
            "propagation delay per hop": (int(fabric.port_delay_ps.max()), "ps"),
            "message size": (int(plan.size_bytes[0]), "bytes"),
            "packet payload": (scheme.payload_bytes, "bytes"),
            "ACK timeout": (recovery.timeout_ps, "ps"),
            "ACK interval": (recovery.ack_every_packets * scheme.payload_bytes, "bytes"),
            "NAK interval": (recovery.nak_interval_ps, "ps"),
            "base RTT": (int(plan.qp_base_rtt_ps[0]), "ps"),
            "packets": (int(plan.packets[0]), ""),
            "ACKs": (int(result.counters["acks"]), ""),
            "time of a message": (int(flow["fct_acked_ps"]), "ps"),
            "goodput": (float(flow["size_bytes"] * 8e12 / flow["fct_acked_ps"]), "bps"),
        }
        return tidy(point.name, numbers)
