"""No congestion control: every queue pair sends at the rate of its host's link."""

from rdmacc.interface import *


@dataclass(frozen=True, kw_only=True)
class LineRate(Component):
    """Send at line rate, whatever happens."""

    class Sender(Record):
        rate_bps = Float()

    def on_open(qp, sender):
        sender.rate_bps = qp.line_bps
