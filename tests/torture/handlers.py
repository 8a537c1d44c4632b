"""Handlers that misbehave: each gives a clear error, or the same on both engines."""

import ast
from functools import cache
from textwrap import indent
from typing import Any

from rdmacc import Scheme
from tests.support import run_cell
from tests.torture import language

_TEMPLATE = """
import math
import random
import time
from dataclasses import dataclass

import numpy as np

from rdmacc.interface import *
from rdmacc.interface import bits, chance

TABLE = (1, 2, 3)
SHARED = []
COUNTS = dict(n=0)
ARRAY = np.zeros(3)
IN_TUPLE = (ARRAY, 2)


def helper(record):
    record.dst = 1


def spin(n):
    while n > 0:
        n += 1
    return n


def deeper(n):
    return deeper(n - 1) if n else 10 // n


def below(n):
    return 10 // n


{module}


@dataclass(frozen=True, kw_only=True)
class Odd(Component):
    gain: float = param(0.5, "a gain")
    count: int = param(3, "a count")
    case: int = param(0, "which of several bodies runs")

    class Sender(Record):
        rate_bps = Float()
        window_bytes = Int(2**40)
        flag = Byte()
        small = Int32()
        big = Int()
        x = Float()
        vector = Ints(4)
        floats = Floats(4)
        s_timer_ps = Deadline()

    class Receiver(Record):
        big = Int()
        r_timer_ps = Deadline()

    class Transfer(Record):
        seen = Bits()
        big = Int()
        x = Float()
        t_timer_ps = Deadline()

    class Endpoint(Record):
        big = Int()
        e_timer_ps = Deadline()

    class Egress(Record):
        big = Int()
        p_timer_ps = Deadline()

    class Header(Record):
        stamp = Int()
        tag = Byte()

{others}
{timers}
{definition}
"""
_TIMERS = {"on_s_timer": "sender", "on_r_timer": "receiver", "on_t_timer": "transfer", "on_e_timer": "endpoint",
           "on_p_timer": "egress"}  # fmt: skip

_OPEN = {"on_open": ("on_open(params, qp, sender)", "sender.rate_bps = qp.line_bps")}
_DATA = {"on_data": ("on_data(host)", "host.pick = 1")}
_BESIDE = {
    "on_candidate": _DATA,
    "on_pick": _DATA | {"on_candidate": ("on_candidate(message)", "message.key = message.number")},
    "on_s_timer": {"on_open": ("on_open(qp, sender)", "sender.rate_bps = qp.line_bps; sender.s_timer_ps = 5000000")},
    "on_r_timer": {"on_data": ("on_data(receiver, now)", "receiver.r_timer_ps = now + 1000")},
    "on_t_timer": {"on_start": ("on_start(transfer, now)", "transfer.t_timer_ps = now + 1000")},
    "on_e_timer": {"on_data": ("on_data(endpoint, now)", "endpoint.e_timer_ps = now + 1000")},
    "on_p_timer": {"on_port": ("on_port(egress)", "egress.p_timer_ps = 1000000")},
}
"""Handlers that lead to an odd one."""

ARGUMENTS = {
    "on_open": "params, qp, sender",
    "on_start": "params, qp, sender, message, transfer, request, now",
    "on_send": "params, qp, sender, message, transfer, packet, request, now",
    "on_ack": "params, qp, sender, message, transfer, packet, request, now",
    "on_data": "params, host, endpoint, qp, receiver, message, transfer, packet, reply, notice, now",
    "on_candidate": "params, host, endpoint, qp, receiver, message, transfer, now",
    "on_pick": "params, host, endpoint, qp, receiver, message, transfer, reply, now",
    "on_route": "params, port, message, packet, now",
    "on_deflect": "params, port, message, packet, now",
    "on_enqueue": "params, port, egress, packet, now",
    "on_dequeue": "params, port, egress, packet, now",
    "on_port": "params, port, egress",
    "on_s_timer": "params, qp, sender, request, now",
    "on_r_timer": "params, host, endpoint, qp, receiver, reply, now",
    "on_t_timer": "params, qp, sender, message, transfer, request, reply, now",
    "on_e_timer": "params, host, endpoint, reply, now",
    "on_p_timer": "params, port, egress, now",
}


def scheme_of(hook: str, body: str, definition: str = "") -> Any:
    """Return a scheme with one odd handler, given by body or definition, whose source can be read."""
    template, timers = _TEMPLATE, ""
    for name, record in _TIMERS.items():
        field = f"{name[3:]}_ps"
        if name == "on_s_timer" and hook != name:  # other handlers set it
            timers += f"    @staticmethod\n    def {name}({record}):\n        {record}.{field} = NEVER\n\n"
        elif name != hook:
            template = template.replace(f"        {field} = Deadline()\n", "")
    others = dict(_OPEN) | _BESIDE.get(hook, {})
    others.pop(hook, None)
    beside = "".join(f"    @staticmethod\n    def {head}:\n        {text}\n\n" for head, text in others.values())
    definition = definition or f"@staticmethod\ndef {hook}({ARGUMENTS[hook]}):\n{indent(body, '    ')}"
    definition = indent(definition, "    ")
    source = template.format(timers=timers, definition=definition, others=beside, module=language.MODULE)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    run_cell(source, namespace, "torture")
    return Scheme(name="odd", control=namespace["Odd"]())


ENGINES = {
    "on_data": (
        "packet.dst packet.qp packet.message packet.kind packet.verdict reply.dst reply.qp reply.message "
        "notice.payload_bytes message.qp message.delivered_ps host.node host.rx_packets"
    ),
    "on_enqueue": (
        "packet.kind packet.payload_bytes packet.is_trimmed packet.order packet.route port.number "
        "port.queue_bytes port.paused"
    ),
    "on_dequeue": "packet.sent_ps packet.wire_bytes",
    "on_send": "packet.psn",
    "on_ack": (
        "qp.number qp.state qp.closed qp.src qp.dst qp.rate_bps qp.window_bytes qp.pace_timer_ps "
        "qp.active_messages qp.last_start_ps qp.chance_key message.number message.src message.highest_psn "
        "message.acked_ps"
    ),
    "on_open": "qp.line_bps",
    "on_start": "message.packets message.size_bytes message.start_ps",
    "on_pick": "message.key",
    "on_port": "port.rate_bps",
}
"""Fields that only the engine may write."""

REFUSED: dict[str, tuple[str, str]] = {
    f"{field} {hook}": (hook, f"{field} = {field}") for hook, fields in ENGINES.items() for field in fields.split()
} | {
    "params": ("on_ack", "params.gain = 2.0"),
    "through a function": ("on_data", "helper(packet)"),
    "through a tuple": ("on_ack", "a, b = qp, message\na.number = 1"),
    "in a tuple": ("on_ack", "qp.number, x = 1, 2"),
    "a set of packets": ("on_ack", "transfer.seen = 0"),
    # A whole vector or set: a list in one engine, an array in the other
    "a vector, written": ("on_ack", "sender.vector = sender.vector"),
    "misspelt, read": ("on_ack", "x = message.next_pns"),
    # Forbidden to handlers
    "import": ("on_ack", "import math\nsender.x = math.pi"),
    "raise from": ("on_ack", "raise ValueError('no') from KeyError('x')"),
    "global": ("on_ack", "global TABLE\nTABLE = 3"),
    "try": ("on_ack", "try:\n    sender.x = 1.0\nexcept Exception:\n    pass"),
    "random": ("on_ack", "sender.x = random.random()"),
    "recursion": ("on_ack", "sender.big = deeper(3)"),
    "unbound after a break": ("on_ack", "while True:\n    if now:\n        break\n    y = 1\nsender.big = y"),
    "subscript": ("on_ack", "x = packet['dst']"),
    # Not in the language
    "return a value": ("on_ack", "return 5"),
    "divmod 0": ("on_ack", "a, b = divmod(now, sender.big)\nsender.big = a"),
    "power overflow": ("on_ack", "sender.x = (10.0 + sender.x) ** 400"),
    "undefined name": ("on_ack", "sender.x = nothing_of_that_name"),
    "Float vector to Ints": ("on_ack", "sender.vector[0] = 1.5"),
    "a dict": ("on_ack", "x = {1: 2}\nsender.big = x[1]"),
    "a shared array": ("on_ack", "ARRAY[0] += 1.0\nsender.x = ARRAY[0]"),
    "min of mixed": ("on_ack", "sender.x = min(3, 2.5)"),
    "assigns an argument": ("on_ack", "packet = 3\nsender.big = packet"),
}
"""Bodies that are refused when the scheme is created."""

RUN: dict[str, tuple[str, str]] = {
    # Exceptions
    "raise": ("on_ack", "raise ValueError('no')"),
    "assert": ("on_ack", "assert packet.psn < 5"),
    "// 0": ("on_ack", "sender.big = now // (packet.psn - packet.psn)"),
    "/ 0": ("on_ack", "sender.x = 1.0 / sender.x"),
    "in a function": ("on_ack", "sender.big = below(sender.big)"),
    "sqrt of a negative": ("on_ack", "sender.x = math.sqrt(-1.0 - sender.x)"),
    "exp overflow": ("on_ack", "sender.x = math.exp(1000.0 + sender.x)"),
    "shift too far": ("on_ack", "sender.big = 1 << (70 + sender.big)"),
    # Indices
    "vector above": ("on_ack", "sender.vector[packet.psn] = 1"),
    "last of a vector": ("on_ack", "sender.vector[-1] = packet.psn"),
    "bits above": ("on_ack", "set_bit(transfer.seen, message.packets + 5)"),
    "find beyond": ("on_ack", "sender.small = find_clear(transfer.seen, 0, 10**6)"),
    # Numbers that a field cannot hold
    "Byte overflow": ("on_ack", "sender.flag += 100"),
    "Int overflow": ("on_ack", "sender.big = 2**62 + now\nsender.big += 2**62"),
    "NaN to Int": ("on_ack", "sender.big = int(math.nan)"),
    "header overflow": ("on_send", "packet.tag = 200"),
    "bool to Byte": ("on_ack", "sender.flag = now > 5"),
    # Rates and windows
    "rate 0": ("on_ack", "sender.rate_bps = 0.0"),
    "rate NaN": ("on_ack", "sender.rate_bps = math.nan"),
    "rate 0 on_open": ("on_open", "sender.rate_bps = 0.0"),
    "rate never set": ("on_open", "pass"),
    "rate falls": ("on_ack", "sender.rate_bps = max(sender.rate_bps * 0.5, 1e6)"),
    "window 0": ("on_ack", "sender.window_bytes = 0"),
    "credits 0": ("on_ack", "qp.credits = 0"),
    "inflight negative": ("on_ack", "qp.inflight_bytes = -(10**9)"),
    # Packets
    "reply.kind 100": ("on_data", "reply.kind = 100"),
    "reply.kind DATA": ("on_data", "reply.kind = DATA"),
    "notice.kind CNP": ("on_data", "notice.kind = CNP"),
    "request.kind ACK": ("on_send", "request.kind = ACK"),
    "reply.priority 64": ("on_data", "reply.priority = 64"),
    "reply.wire_bytes negative": ("on_data", "reply.wire_bytes = -1"),
    "reply.psn 10**9": ("on_data", "reply.psn = 10**9"),
    "packet.priority 11": ("on_send", "packet.priority = 11"),
    "packet.wire_bytes 0": ("on_send", "packet.wire_bytes = 0"),
    "packet.ce 2": ("on_enqueue", "packet.ce = 2"),
    "packet.accepted 3": ("on_data", "packet.accepted = 3"),
    "verdict 9": ("on_enqueue", "packet.verdict = 9"),
    "verdict DEFLECT on_enqueue": ("on_enqueue", "packet.verdict = DEFLECT"),
    "verdict DROP": ("on_enqueue", "if packet.psn == 3 and now < 10**7:\n    packet.verdict = DROP"),
    "verdict TRIM": ("on_enqueue", "if packet.psn == 3 and now < 10**7:\n    packet.verdict = TRIM"),
    "verdict TRIM_TAIL": ("on_enqueue", "if packet.psn == 9 and now < 10**7:\n    packet.verdict = TRIM_TAIL"),
    "verdict DEFLECT": ("on_route", "packet.verdict = DEFLECT"),
    "route 10**6": ("on_route", "packet.route = 10**6"),
    "route of another node": ("on_route", "packet.route = 5 if port.number < 3 else 0"),
    # Messages
    "next_psn beyond": ("on_ack", "message.next_psn = message.packets + 7"),
    "una_psn beyond": ("on_ack", "message.una_psn = message.packets + 1"),
    "granted_psn beyond": ("on_start", "message.granted_psn = 10**8"),
    "received_packets beyond": ("on_data", "message.received_packets = 10**6"),
    "priority of a message 0": ("on_start", "message.priority = 0"),
    "failed": ("on_ack", "message.failed = 1"),
    "done at once": ("on_start", "message.una_psn = message.packets"),
    "key": ("on_candidate", "message.key = -now"),
    "host.pick in on_pick": ("on_pick", "host.pick = 5"),
    "host.announce 2": ("on_data", "host.announce = 2"),
    "port.chance_count": ("on_enqueue", "port.chance_count += 1"),
    # Loops and timers
    "endless loop": ("on_ack", "while True:\n    sender.x += 1.0"),
    "endless loop of a function": ("on_ack", "sender.big = spin(5)"),
    "timer at now": ("on_s_timer", "sender.s_timer_ps = now"),
    "timer every ns": ("on_s_timer", "sender.s_timer_ps = now + 1000"),
    "credits large": ("on_ack", "qp.credits = 2**63 - 1"),
    "timer at 2**63": ("on_ack", "sender.s_timer_ps = 2**63 - 1"),
    "reply of an endpoint's timer": ("on_e_timer", "reply.kind = ACK\nreply.message = 10**6"),
    # Known to only one engine
    "floor division of negatives": ("on_ack", "sender.big = (-7 - sender.flag) // 2"),
}
"""Bodies that run or raise a clear error."""

REFUSED |= language.REFUSED
RUN |= language.RUN


def _apart(body: str, number: int) -> str:
    """Return a body whose variable names are unique to it."""
    tree = ast.parse(body)
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    own = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    for node in names:
        node.id = f"{node.id}_{number}" if node.id in own else node.id
    return ast.unparse(tree)


@cache
def _together(hook: str) -> Any:
    """Return a scheme with all bodies of a hook in one handler; `case` selects the one to run."""
    names = [name for name, (where, _) in RUN.items() if where == hook]
    body = "".join(
        f"if params.case == {number}:\n{indent(_apart(RUN[name][1], number), '    ')}\n"
        for number, name in enumerate(names)
    )
    return names, scheme_of(hook, body)


def scheme_for(name: str) -> Any:
    """Return a running body's scheme; bodies of the same hook share machine code."""
    hook, _ = RUN[name]
    names, scheme = _together(hook)
    return scheme.replace(case=names.index(name))
