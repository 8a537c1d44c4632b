"""Bodies at the edges of the handlers' language: those inside have one result, the others are refused."""

MODULE = """
import functools
import types
import numba

HUGE = 2**64
TENTH = 0.1
POINTS = (0.5, 1.5, -2.5)
MIXED = (1, 2.0)
TEXT = "text"
consts = types.ModuleType("consts")
consts.K, consts.LIST, consts.f, consts.inner = 7, [1], abs, types.ModuleType("inner")
consts.inner.K = 2.5


def clamp(x, low, high=10):
    return min(max(x, low), high)


def pair(a, b):
    return a + 1, b * 0.5


def either(x):
    if x > 0:
        return 1


def flag(record):
    return record.flag


def put(record, value):
    record.flag = value


def put_big(record, value):
    record.big = value


def mark_only(transfer, psn):
    set_bit(transfer.seen, psn)


def mark(message, transfer, psn):
    set_bit(transfer.seen, psn)
    return find_clear(transfer.seen, 0, message.packets)


def total(vector, n):
    it = 0
    for i in range(n):
        it += vector[i]
    return it


def scaled_by(k):
    def scaled(x):
        return x * k

    return scaled


def counted():
    n = [0]

    def count():
        n[0] += 1
        return n[0]

    return count


double, by_half, counter = scaled_by(2), scaled_by(0.5), counted()
following = lambda n: n + 1
circle = lambda n: circle(n - 1) if n else 0


@functools.wraps(below)
def wrapped(*n):
    return below(*n)


@numba.njit
def compiled(n):
    return n * 3


def even(n):
    return odd(n - 1) if n else 1


def odd(n):
    return even(n - 1) if n else 0


def _add(a, b):
    return a * 1000 + b
"""

_X, _BIG = "transfer.x = ", "transfer.big = "

_NUMBERS = {
    # Integers beyond 63 bits
    "2 ** -k": _BIG + "2 ** -params.count",
    "2 ** k": _BIG + "2 ** params.count",
    "(-1) ** huge": _BIG + "(packet.psn - packet.psn - 1) ** (now * 1000 + 1)",
    "0 ** 0": _BIG + "sender.big ** sender.big",
    "constants": _BIG + "2**62 + 3 * 5 - 2**40 // 3 + (-7) % 5",
    "a negative >> 62": _BIG + "(sender.big - 5) >> 62",
    ">> 70": _BIG + "(sender.big - 5) >> (70 + sender.big)",
    "|": _BIG + "(sender.big - 5) | packet.psn",
    "&": _BIG + "(sender.big - 5) & 12",
    "&, the smallest": _BIG + "(sender.big - 9223372036854775807) & (-2 - sender.big)",
    "local sum beyond": "y = NEVER\nfor i in range(5):\n    y += NEVER\n" + _BIG + "y % 7",
    "- of a Byte": "sender.flag = -128\n" + _BIG + "-sender.flag",
    "Byte << 10": "sender.flag = 100\n" + _BIG + "sender.flag << 10",
    "a loop from a Byte": "sender.flag = 3\ny = sender.flag\nwhile y < 1000:\n    y += y\n" + _BIG + "y",
    "Byte through a function": "put(sender, 300 + packet.psn)",
    "Byte through another name": "it = sender\nit.flag = 300 + packet.psn",
    "Byte in an element": "sender.vector[1] = 2**62\nsender.vector[1] += 2**62 - 1\nsender.vector[1] += 5",
    # Integers and floats
    "/ beyond 2**53": _X + "(9007199254740993 + sender.big) / 3",
    "int < float beyond 2**53": _BIG + "1 if 9007199254740993 + sender.big > 9007199254740992.0 + sender.x else 2",
    "int + float beyond 2**53": _X + "9007199254740993 + sender.big + 0.0",
    "an int in a Float": "sender.x = 9007199254740993 + sender.big\n" + _X + "sender.x // 3 - 3002399751580330",
    "0.1 + 0.2": _X + "0.1 + 0.2 + sender.x + TENTH * packet.psn",
    "NaN is true": "y = math.inf - math.inf + sender.x\n" + _BIG + "1 if y else 2",
    "not": _BIG + "int(not sender.x) + int(not packet.psn)",
    "and of mixed conditions": _BIG + "1 if packet.psn and sender.x == 0.0 and now else 2",
    "2**63 - 1": _BIG + "2**63 - 1 - sender.big",
    # Conversions
    "round of halves": _BIG + "round(packet.psn + 0.5) * 100 + round(-packet.psn - 0.5)",
    "round of NaN": _BIG + "round(math.nan + sender.x)",
    "int of NaN": _BIG + "int(math.inf - math.inf + sender.x)",
    "int of True": _BIG + "int(now > 5) + int(packet.psn)",
    "ceil of inf": _BIG + "math.ceil(math.inf + sender.x)",
    "True in an Int": "transfer.big = now > 5\n" + _X + "-transfer.big",
    "a truth value or an integer": "y = now > 5\nif packet.psn > 3:\n    y = 7\n" + _BIG + "y",
    # math
    "isnan": _BIG + "1 if math.isnan(sender.x) or math.isinf(math.inf + sender.x) and math.isfinite(sender.x) else 2",
    "a power by logarithms": _X + "math.exp(2.5 * math.log(packet.psn + 1.5))",
}

_REST = {
    # Names, tuples and vectors
    "a module's constant": _BIG + "consts.K + int(consts.inner.K)",
    "a tuple's element": _X + "POINTS[packet.psn % 3] + POINTS[-1]",
    "far behind a tuple": _BIG + "TABLE[-4 - packet.psn]",
    "in": _BIG + "1 if packet.psn in (1, 2, 3) else 2",
    "for of a tuple": "y = 0\nfor i in TABLE:\n    y += i * packet.psn\n" + _BIG + "y",
    "for with step 0": "y = 0\nfor i in range(0, 5, sender.big):\n    y += i\n" + _BIG + "y",
    "for, its variable written": "y = 0\nfor i in range(5):\n    i += 10\n    y += i\n" + _BIG + "y",
    "len": _BIG + "len(TABLE) * 10 + len(sender.vector)",
    "a vector in a function": "sender.vector[2] = packet.psn\n" + _BIG + "total(sender.vector, 4)",
    "beyond a vector in a function": _BIG + "total(sender.vector, 5)",
    "an int in Floats": "sender.floats[1] = 7\n" + _X + "sender.floats[1] // 2",
    "records in a tuple": "a, b = sender, transfer\nb.big = a.small + 1 + packet.psn",
    "a tuple kept": "t = (packet.psn, 2.5)\na, b = t\n" + _BIG + "a\n" + _X + "b",
    "names of ours": "value = turns = trail = packet.psn\n" + _BIG + "_add(value, turns) + trail",
    # Functions
    "a default": _BIG + "clamp(packet.psn, 2)",
    "a function named as a field": _BIG + "flag(sender) + packet.psn",
    "a tuple returned": "a, b = pair(packet.psn, sender.x + 3)\n" + _BIG + "a\n" + _X + "b",
    "a closure": _BIG + "double(packet.psn)\n" + _X + "by_half(packet.psn)",
    "a set in a function": _BIG + "mark(message, transfer, packet.psn)",
    "through a function into an Int": "put_big(transfer, 2**62 + packet.psn)",
    "uniform": _X + "chance.uniform(qp.chance_key, packet.psn) + chance.uniform(-5, -packet.psn)",
    "hash63": _BIG + "chance.hash63(now, packet.psn) % 1000 + chance.hash63(-now, -1) % 7",
    "raise in a function": _BIG + "below(packet.psn - 4)",
}  # fmt: skip

RUN = {name: ("on_ack", body) for name, body in (_NUMBERS | _REST).items()}
"""Bodies with the same result, or the same error, on both engines."""

_REFUSED = {
    # Constants beyond 63 bits
    "2**100 >> 60": _BIG + "2**100 >> 60",
    "a constant of 64 bits": _BIG + "HUGE % 7",
    "10 ** 10 ** 10": _BIG + "10 ** 10 ** 10 % 7",
    # Two types
    "or of mixed": _X + "sender.x or 1",
    "int or float": "y = 1\nif now:\n    y = 0.5\n" + _BIG + "int(y // 2)",
    "returns on some ways": _BIG + "either(now)",
    "a mixed tuple": _X + "MIXED[packet.psn % 2]",
    "True + 1": _BIG + "(now > 5) + 1",
    "True in a Float": _X + "now > 5",
    "shift of a float": _BIG + "sender.x << 2",
    # Python's own
    "math.log of a base": _X + "math.log(now + 1.0, 2.0)",
    "texts compared": _BIG + "1 if TEXT == 'text' else 2",
    "a comprehension": _BIG + "len([i for i in range(3)])",
    "while else": "while now < 0:\n    pass\nelse:\n    sender.big = 1",
    "a function inside": "def f():\n    return 1\nsender.big = f()",
    "an annotated field": "sender.flag: int = 300",
    "a call in an index": "sender.vector[mark(message, transfer, 1)] += 1",
    "a tuple unpacked short": "a, b = (1, 2, 3)",
    "a record compared": _BIG + "1 if packet == reply else 2",
    # Not available in both engines
    "too few arguments": _BIG + "clamp(1)",
    "a set's number": "set_bit(7, packet.psn)",
    "random.Random": _X + "random.Random(3).random()",
    "a module's function": _BIG + "consts.f(now)",
    "a count in a closure": _BIG + "counter()",
    "a function that wraps": _BIG + "wrapped(now)",
    "a lambda of the module": _BIG + "following(now)",
    "a set without its message": "mark_only(transfer, packet.psn)",
    "a compiled function": _BIG + "compiled(packet.psn)",
    # Ways out
    "SystemExit": "raise SystemExit",
    "raise a number": "raise ValueError(now)",
}

REFUSED = {name: ("on_data" if "reply" in body else "on_ack", body) for name, body in _REFUSED.items()}
"""Bodies that are refused when the scheme is made."""

DEFINITIONS = {
    "async def": "@staticmethod\nasync def on_ack(sender):\n    sender.big = 1",
    "a generator": "@staticmethod\ndef on_ack(sender):\n    yield 1",
    "a lambda": "on_ack = staticmethod(lambda sender: None)",
    "a built-in function": "on_ack = staticmethod(abs)",
    "a method": "def on_ack(self, sender):\n    sender.big = self.count",
    "a function that wraps": "@staticmethod\n@functools.wraps(put)\ndef on_ack(*a):\n    pass",
    "an object that can be called": "class Called:\n    def __call__(self, sender):\n        pass\n\non_ack = Called()",
}
"""Handlers that are not plain functions."""
