"""Schemes: compositions of loss recovery, congestion control, switch features and a buffer policy."""

from rdmacc.schemes.composition import BaseRtt, Scheme
from rdmacc.schemes.registry import SCHEMES, about, as_scheme, register_scheme, scheme, scheme_table

__all__ = ["SCHEMES", "BaseRtt", "Scheme", "about", "as_scheme", "register_scheme", "scheme", "scheme_table"]
