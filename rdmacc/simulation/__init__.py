"""The entry points: `simulate` runs a scenario to its end, `Simulation` runs it step by step."""

from rdmacc.engine.sent import Completion as Completion
from rdmacc.simulation.at_once import simulate as simulate
from rdmacc.simulation.at_once import simulate_many as simulate_many
from rdmacc.simulation.running import IS_QUIET as IS_QUIET
from rdmacc.simulation.running import is_checked as is_checked
from rdmacc.simulation.stepwise import Simulation as Simulation
