"""How much a program computes, told from the IR that the front end and the derivatives make of it, before anything runs.

An index counts as an interval, and so does what a range reads: an upper bound of elements and iterations follows, which
is the same on each machine and at each time."""

import math
import re
from typing import NamedTuple

LARGEST = 1000  # of an integer that nothing bounds, as the end of a range
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_SIZE = re.compile(r"^size ([\w.]+) (\d+)\.\.(\d+)$", re.M)
_TENSOR = re.compile(r"^\w+ ([\w.]+) : \w+ \[(.*?)\](?: < (\S+)| in (\S+?)\.\.(\S+))?", re.M)
_ITEM = re.compile(r"^(\w+): (.*)$", re.S)


class Work(NamedTuple):
    definitions: int
    elements: int  # of all tensors
    iterations: int  # of all definitions, each as often as it has operators and reads


class Interval(NamedTuple):
    low: float
    high: float

    def __add__(self, other):
        other = _interval(other)
        return Interval(self.low + other.low, self.high + other.high)

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __sub__(self, other):
        return self + -_interval(other)

    def __mul__(self, other):
        products = [a*b for a in self for b in _interval(other)]
        return Interval(min(products), max(products))

    def __floordiv__(self, other):
        other = _interval(other)
        if other.low <= 0 <= other.high:
            return Interval(-max(map(abs, self)), max(map(abs, self)))
        quotients = [a / b for a in self for b in other]
        return Interval(math.floor(min(quotients)), math.ceil(max(quotients)))

    def __mod__(self, other):
        far = max(map(abs, _interval(other)))
        return Interval(-far if self.low < 0 else 0, min(far, max(self.high, 0)))

    def __getitem__(self, _):  # a read: what the tensor is bounded by
        return self

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other):
        return -self + other

    def __rfloordiv__(self, other):
        return _interval(other) // self


def _interval(x):
    return x if type(x) is Interval else Interval(x, x)


def _hull(*of):
    of = [_interval(x) for x in of]
    return Interval(min(x.low for x in of), max(x.high for x in of))


_FUNCTIONS = {
    "min": lambda a, b: Interval(*map(min, _interval(a), _interval(b))),
    "max": lambda a, b: Interval(*map(max, _interval(a), _interval(b))),
    "clamp": lambda x, a, b: _hull(a, b),
    "select": lambda c, a, b: _hull(a, b),
    "abs": lambda x: Interval(0, max(map(abs, _interval(x)))),
    **{t: lambda x: x for t in ("i64", "i32", "i8", "u8")},
}


class _Names(dict):
    """Intervals of names; those that are unknown are integers without a bound."""

    def __missing__(self, name):
        return Interval(-LARGEST, LARGEST)


def value(text, names):
    """The interval of a formula of the IR."""
    plain = _NAME.sub(lambda m: m.group().replace(".", "__"), text).replace("/", "//").replace(" else ", " or ")
    try:
        return _interval(eval(plain, {"__builtins__": {}}, names))
    except (SyntaxError, TypeError, ValueError, OverflowError):
        return Interval(-LARGEST, LARGEST)


def sizes(ir):
    """(name, least, largest) of all sizes that are known when the model runs."""
    return [(name, int(low), int(high)) for name, low, high in _SIZE.findall(ir)]


def draws(ir):
    """Whether definitions, and not just first values, are random."""
    return any("rand(" in b for b in re.split(r"^(?=def |init )", ir, flags=re.M) if b.startswith("def "))


def estimate(ir, given):
    """The Work of a module, at run-time sizes."""
    names = _Names(_FUNCTIONS, **{n.replace(".", "__"): _interval(v) for n, v in given.items()})
    names.update({f"d{k}": Interval(0, LARGEST) for k in range(9)})
    elements = 0
    for name, shape, bound, low, high in _TENSOR.findall(ir):
        elements += math.prod(max(value(e, names).high, 0) for e in _split(shape))
        if bound:
            names[name.replace(".", "__")] = Interval(0, value(bound, names).high)
        elif high:
            names[name.replace(".", "__")] = Interval(value(low, names).low, value(high, names).high)
    bodies = re.split(r"^(?:def|init) @\d+ ", ir, flags=re.M)[1:]
    return Work(len(bodies), int(elements), int(sum(_iterations(b, dict(names)) for b in bodies)))


def _iterations(body, names):
    """The iterations of one definition, times what one of them computes."""
    names = _Names(names)
    head = body.find("[")
    count = math.prod(_extents(_bracket(body, head), names))
    total = count
    rest = body[head + len(_bracket(body, head)) + 2:]
    for m in re.finditer(r"^ +\w+(?=\[\w+: )", rest, re.M):
        total += count*math.prod(_extents(_bracket(rest, m.end()), names))
    return total*(1 + len(_NAME.findall(rest)))


def _extents(ranges, names):
    """How many values each of some ranges has at most; their indices are named from now on."""
    for text in _split(ranges):
        name, ends = _ITEM.match(text).groups()
        low, _, high = ends.rpartition("..")
        low, high = value(low or "0", names).low, value(high, names).high
        names[name] = Interval(low, max(low, high - 1))
        yield max(high - low, 0)


def _bracket(text, at):
    """The text between the bracket at a place and its partner."""
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] in "([") - (text[k] in ")]")
        if not depth:
            return text[at + 1:k]
    return text[at + 1:]


def _split(text):
    """The parts between commas that stand in no brackets."""
    parts, depth, start = [], 0, 0
    for k, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if c == "," and not depth:
            parts.append(text[start:k].strip())
            start = k + 1
    return parts + [text[start:].strip()] if text.strip() else parts
