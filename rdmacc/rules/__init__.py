"""Decisions that both engines take, written once: plain functions of records.

The SimPy engine calls them on its objects, with the scheme's parameters; the kernel compiles them and calls them on its
rows, with the row of globals, where the parameters have the same names. Each engine has its own containers: queues,
lists, tables of routes, the queue of events.

============  ==============================================================================
module        decides
============  ==============================================================================
`progress`    when a message starts, is delivered, ends, and lets others start
`pacing`      when a queue pair may send its next packet
`addressing`  what a packet carries, where it goes and in which class it waits
`routing`     by which port a packet leaves a switch, and what trimming leaves of it
`links`       how long a transmission takes, what it changes at the port, what the link loses
`admission`   who gets a place in a switch's buffer
`pfc`         when to pause a neighbour, when it may resume, how a port obeys
`classes`     which class a port serves next, and when its next credit may go
`ranks`       in which order simultaneous events run
============  ==============================================================================
"""

from rdmacc.rules.addressing import *
from rdmacc.rules.admission import *
from rdmacc.rules.classes import *
from rdmacc.rules.links import *
from rdmacc.rules.pacing import *
from rdmacc.rules.pfc import *
from rdmacc.rules.progress import *
from rdmacc.rules.ranks import *
from rdmacc.rules.routing import *
