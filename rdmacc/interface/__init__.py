"""Everything needed to write a scheme, in one import: ``from rdmacc.interface import *``, or the names one by one.

============  ==============================================================================
module        offers
============  ==============================================================================
`component`   components, and the hooks that their handlers serve
`parameters`  parameters: with unit, bounds and source
`scaling`     parameters that scale with the network
`records`     records of state, and the kinds of their fields
`state`       the engine's records, as handlers see them, and their constants
`bits`        sets of a message's packets
`chance`      random numbers that depend only on a key and a count
`described`   docstrings and signatures written from the declarations
============  ==============================================================================
"""

from dataclasses import dataclass as dataclass
from typing import ClassVar as ClassVar
from typing import Literal as Literal
from typing import get_args as get_args

from rdmacc.errors import ConfigError as ConfigError
from rdmacc.interface.bits import *
from rdmacc.interface.chance import hash63 as hash63
from rdmacc.interface.chance import uniform as uniform
from rdmacc.interface.component import *
from rdmacc.interface.parameters import *
from rdmacc.interface.records import *
from rdmacc.interface.records import record_dtype as record_dtype
from rdmacc.interface.scaling import *
from rdmacc.interface.scaling import answer_timer as answer_timer
from rdmacc.interface.state import *
