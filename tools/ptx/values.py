"""Values of registers in a group of threads: an int if all threads have the same, a Vec if they differ, None if the
value is not known. Results are cached by operation and arguments, since loops compute the same values repeatedly.
"""
from .text import PtxError


class Vec:
    """A number for each thread, as a tuple. Equal tuples are the same object."""
    __slots__ = ("at",)
    known = {}

    def __new__(cls, at):
        found = cls.known.get(at)
        if found is None:
            found = object.__new__(cls)
            found.at = at
            cls.known[at] = found
        return found


def vec(at):
    first = at[0]
    for x in at:
        if x != first:
            return Vec(at)
    return first


class Choice:
    """One of a few numbers, which data determine."""
    __slots__ = ("of",)
    MOST = 8

    def __init__(self, of):
        self.of = of

    def __eq__(self, other):
        return isinstance(other, Choice) and self.of == other.of

    def __hash__(self):
        return hash(self.of)


def choice(alternatives):
    """All possible values; None: there are too many, or one is not known."""
    out = []
    for x in alternatives:
        for y in x.of if isinstance(x, Choice) else (x,):
            if y is None:
                return None
            if y not in out:
                out.append(y)
    if len(out) > Choice.MOST:
        return None
    return out[0] if len(out) == 1 else Choice(tuple(out))


def alternatives(x):
    return x.of if isinstance(x, Choice) else (x,)


def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def shift_right(a, n, bits, sign):
    return signed(a, bits) >> min(n, bits) if sign else (a >> n if n < bits else 0)


def field(a, at, n):
    return (a >> (at & 255)) & ((1 << (n & 255)) - 1) if n & 255 else 0


def quotient(a, b):
    return 0 if not b else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def funnel_left(low, high, n):
    n &= 31
    return ((high << 32 | low) << n >> 32) & 0xffffffff


def permute(a, b, how):
    both, out = b << 32 | a, 0
    for k in range(4):
        out |= (both >> 8 * (how >> 4 * k & 7) & 255) << 8 * k
    return out


COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b,
}


def type_of(name):
    """(bits, signed) of an integer type; None for floats and other types."""
    if name == "pred":
        return 1, False
    if name[0] in "usb" and name[1:].isdigit():
        return int(name[1:]), name[0] == "s"
    return None


def compute(parts):
    """The function of an opcode over ints: (f, bits of arguments, whether they are signed, bits of the result). None:
    the opcode is not understood, so that its result is not known."""
    name, of = parts[0], type_of(parts[-1])
    if of is None:
        return None
    bits, sign = of
    if name in ("add", "sub", "mov", "and", "or", "xor", "not", "neg", "shl", "max", "min", "abs"):
        f = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mov": lambda a: a, "and": lambda a, b: a & b,
             "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda a: ~a, "neg": lambda a: -a,
             "shl": lambda a, n: a << n if n < bits else 0, "max": max, "min": min, "abs": abs}[name]
        if bits == 1 and name == "not":
            f = lambda a: 1 - a
        return f, bits, sign, bits
    if name == "shr":
        return (lambda a, n: shift_right(a & ((1 << bits) - 1), n & 0xffffffff, bits, sign)), bits, False, bits
    if name == "bfe":
        return (field, bits, False, bits) if not sign else None
    if name == "mul" or name == "mad":
        add = 1 if name == "mad" else 0
        if "wide" in parts:
            return (lambda a, b, c=0: a * b + c), bits, sign, 2 * bits
        if "hi" in parts:
            return (lambda a, b, c=0: (a * b >> bits) + c), bits, sign, bits
        return (lambda a, b, c=0: a * b + c), bits, sign, bits
    if name == "div":
        return quotient, bits, sign, bits
    if name == "rem":
        return (lambda a, b: a - b * quotient(a, b)), bits, sign, bits
    if name == "shf" and "l" in parts:
        return funnel_left, bits, False, bits
    if name == "prmt":
        return permute, bits, False, bits
    if name in ("cvta", "cvt"):
        if name == "cvt":
            source = type_of(parts[-1])
            to = type_of(parts[-2])
            if to is None:
                return None
            return (lambda a: a), source[0], source[1], to[0]
        return (lambda a: a), bits, False, bits
    if name == "popc" or name == "clz":
        return None
    return None


class Machine:
    """Operations for groups, with a cache of results."""

    def __init__(self):
        self.cache, self.functions = {}, {}

    def apply(self, op, parts, args):
        key = (op,) + tuple(args)
        if key in self.cache:
            return self.cache[key]
        result = self.cache[key] = self.fresh(op, parts, args)
        return result

    def fresh(self, op, parts, args):
        for k, x in enumerate(args):
            if isinstance(x, Choice):
                return choice([self.apply(op, parts, args[:k] + [y] + args[k + 1:]) for y in x.of])
        if parts[0] == "selp":
            return self.select(args)
        if parts[0] in ("and", "or") and parts[-1] == "pred" and None in args:
            dominant = 0 if parts[0] == "and" else 1
            return dominant if dominant in args else None
        if None in args:
            return None
        if parts[0] == "setp":
            return self.compare(parts, args)
        if op not in self.functions:
            self.functions[op] = compute(parts)
        known = self.functions[op]
        if known is None:
            return None
        f, bits_in, sign, bits_out = known
        mask_in, mask = (1 << bits_in) - 1, (1 << bits_out) - 1
        half = 1 << (bits_in - 1)
        if sign:  # (x & mask ^ half) - half is x as a signed number
            def one(*xs):
                return f(*[(x & mask_in ^ half) - half for x in xs]) & mask
        elif len(args) == 2:
            def one(a, b):
                return f(a & mask_in, b & mask_in) & mask
        else:
            def one(*xs):
                return f(*[x & mask_in for x in xs]) & mask
        if parts[0] == "mad" and "wide" in parts:
            product, low = one, args[2]
            return self.apply("add.b%d" % bits_out, ["add", "b%d" % bits_out], [self.each(lambda a, b: product(a, b, 0), args[:2]), low])
        return self.each(one, args)

    @staticmethod
    def each(one, args):
        n = next((len(a.at) for a in args if isinstance(a, Vec)), 0)
        if not n:
            return one(*args)
        columns = [a.at if isinstance(a, Vec) else (a,) * n for a in args]
        return vec(tuple(map(one, *columns)))

    def compare(self, parts, args):
        of = type_of(parts[-1])
        test = COMPARE.get(parts[1])
        if of is None or test is None or len(parts) != 3:
            return None
        bits, sign = of
        mask, half = (1 << bits) - 1, 1 << (bits - 1)
        if sign:
            return self.each(lambda a, b: int(test((a & mask ^ half) - half, (b & mask ^ half) - half)), args)
        return self.each(lambda a, b: int(test(a & mask, b & mask)), args)

    def select(self, args):
        a, b, p = args
        if p is None:
            return choice((a, b))
        if isinstance(p, int):
            return a if p else b
        if a is None or b is None:
            return None
        return self.each(lambda x, y, q: x if q else y, args)


def uniform(x, line, what):
    if not isinstance(x, int):
        raise PtxError(line, "%s is not known, or not the same for all threads" % what)
    return x
