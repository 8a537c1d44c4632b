"""No congestion control: every queue pair sends at the rate of its host's link."""

from dataclasses import dataclass

from rdmacc.component import Component
from rdmacc.records import Float, Record


@dataclass(frozen=True, kw_only=True)
class LineRate(Component):
    """Send at line rate, whatever happens."""

    class Sender(Record):
        rate_bps = Float()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps
