"""Parameters of all models of DCQCN: the link, RED's marking and the sender's gains."""

from dataclasses import dataclass

from rdmacc.interface import Rate, Size
from rdmacc.models.base import Model, param


# In a file of its own: beside its subclass, mypy would infer the input types of its quantities.
@dataclass(frozen=True, kw_only=True)
class DcqcnParameters(Model):
    """Parameters shared by the fluid model and its phase margin."""

    capacity_bps: Rate = param(
        "40Gbps", "bottleneck, and line rate of each sender", symbol="C", low=1.0, slider=("10Gbps", "100Gbps")
    )
    kmin_bytes: Size = param(
        "5kB", "no marks up to this queue", symbol="K_min", source="DCQCN, fig. 5", slider=("0B", "100kB")
    )
    kmax_bytes: Size = param(
        "200kB", "probability P_max at this queue", symbol="K_max", source="DCQCN, fig. 5", low=1,
        slider=("50kB", "2MB"),
    )  # fmt: skip
    pmax: float = param(
        0.01, "marking probability at K_max", symbol="P_max", source="DCQCN, fig. 5", low=1e-9, high=1.0,
        slider=(0.001, 1.0), is_log=True,
    )  # fmt: skip
    additive_bps: Rate = param(
        "40Mbps", "additive increase", symbol="R_AI", low=1.0, slider=("5Mbps", "400Mbps"), is_log=True
    )
    g: float = param(
        1 / 256, "weight of a new sample in alpha", symbol="g", low=1e-9, high=1.0, slider=(1 / 1024, 1 / 4),
        is_log=True,
    )  # fmt: skip
