"""Everything needed to write a scheme, in one import: ``from rdmacc.protocols.api import *``.

Components and their parameters, records and their fields, constants of packets and classes, packet sets, chance.
"""

from dataclasses import dataclass as dataclass
from typing import ClassVar as ClassVar
from typing import Literal as Literal
from typing import get_args as get_args

from rdmacc.bits import *
from rdmacc.chance import uniform as uniform
from rdmacc.component import *
from rdmacc.errors import ConfigError as ConfigError
from rdmacc.parameters import *
from rdmacc.records import *
from rdmacc.scaling import Scaled as Scaled
from rdmacc.scaling import answer_timer as answer_timer
from rdmacc.state import *
