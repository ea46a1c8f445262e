"""Draws models."""

import random

from .integers import RELATIONS, TYPES, ends
from .model import Definition, Input, Model
from .tree import INDEX, is_untyped, kind

EXTREME = [-(1 << 62), 1 << 62, (1 << 63) - 1, -(1 << 63), (1 << 31) - 1, -(1 << 31), 1 << 32, 6364136223846793005]
DATA, TABLE = 7, (3, 4)  # extents of the tensors of numbers that are read at drawn places


def draw(seed):
    return _Draw(seed).model()


def _copy(x):
    """An output that reads an input, so that every model takes every argument."""
    subscripts = [("name", INDEX, "i")] + [("literal", INDEX, 0)] * (len(x.extents) - 1)
    return Definition(f"all_{x.name}", x.kind, "i", x.extents[0], None, ("read", x.kind, x.name, None, *subscripts))


class _Draw:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.size = self.random.choice([0, 1, 1, 2, 3, 4, 5, 6])
        self.runtime = self.random.random() < 0.6
        self.tensors = {}  # name: (kind, extent, bounds that hold or None)
        self.index = None
        self.inner = []
        self.counter = 0

    def chance(self, p):
        return self.random.random() < p

    def model(self):
        inputs = self.inputs()
        definitions = [_copy(x) for x in inputs]
        for _ in range(self.random.randint(2, 5)):
            definitions.append(self.named(inputs, definitions))
        for _ in range(self.random.randint(1, 3)):
            definitions.append(self.use())
        return Model(self.size, self.runtime, inputs, definitions)

    # ---- inputs

    def inputs(self):
        inputs = [self.integers("k", self.random.choice(TYPES), None)]
        low = self.random.choice([0, 0, -1, -4])
        inputs.append(self.integers("b", "i32", (low, self.random.randint(1, 8))))
        inputs.append(Input("x", "f32", [DATA], None, {(k,): k + 1 for k in range(DATA)}))
        inputs.append(Input("X", "f32", list(TABLE), None,
                            {(k, j): 10 * k + j for k in range(TABLE[0]) for j in range(TABLE[1])}))
        return inputs

    def integers(self, name, type_, bounds):
        self.tensors[name] = (type_, "N", bounds)
        return Input(name, type_, ["N"], bounds, {(k,): self.datum(type_, bounds) for k in range(self.size)})

    def datum(self, type_, bounds):
        if bounds:
            return self.random.randint(bounds[0], bounds[1] - 1)
        low, high = ends(type_)
        if self.chance(0.15):
            return self.random.choice([low, high, low + 1, high // 2 + 1])
        return self.random.randint(max(low, -9), min(high, 12))

    # ---- expressions

    def fresh(self, letter):
        self.counter += 1
        return f"{letter}{self.counter}"

    def literal(self, type_):
        if type_ in (INDEX, "i64") and self.chance(0.06):
            return ("literal", type_, self.random.choice(EXTREME[:3] + EXTREME[4:]))
        low, high = ends("i64" if type_ == INDEX else type_)
        return ("literal", type_, self.random.randint(max(low, -5), min(high, 7)))

    def place(self):
        """An index or a size."""
        names = [self.index] + self.inner + (["N"] if self.chance(0.3) else [])
        return ("name", INDEX, self.random.choice([n for n in names if n]))

    def element(self, name, subscript, otherwise=None):
        return ("read", self.tensors[name][0], name, otherwise, subscript)

    def load(self, type_):
        """An element of a named tensor of that type, or None."""
        names = [n for n, (t, _, _) in self.tensors.items() if t == type_]
        if not names:
            return None
        name = self.random.choice(names)
        extent = self.tensors[name][1]
        if extent == "N" and self.index_extent == "N" and self.chance(0.7):
            return self.element(name, ("name", INDEX, self.index))
        low, high = ends(type_)
        return self.element(name, self.expression(INDEX, 1), self.random.randint(max(low, -3), min(high, 9)))

    def leaf(self, type_):
        if type_ == INDEX:
            return self.place() if self.chance(0.75) else self.literal(INDEX)
        read = self.load(type_) if self.chance(0.75) else None
        if read:
            return read
        return ("cast", type_, self.place()) if self.chance(0.6) else self.literal(type_)

    def typed(self, e):
        if not is_untyped(e):
            return e
        return self.place() if kind(e) == INDEX else ("cast", kind(e), self.place())

    def expression(self, type_, depth):
        if depth <= 0:
            return self.leaf(type_)
        way = self.random.random()
        if way < 0.45:
            return self.operator(type_, depth)
        if way < 0.53:
            return ("negated", type_, self.typed(self.expression(type_, depth - 1)))
        if way < 0.58:
            return ("absolute", type_, self.typed(self.expression(type_, depth - 1)))
        if way < 0.68 and type_ != INDEX:
            return ("cast", type_, self.expression(self.random.choice(TYPES + [INDEX]), depth - 1))
        if way < 0.78:
            return ("select", type_, self.condition(depth - 1), self.typed(self.expression(type_, depth - 1)),
                    self.expression(type_, depth - 1))
        if way < 0.84:
            low, high = self.interval(type_)
            return ("clamp", type_, self.typed(self.expression(type_, depth - 1)), low, high - 1)
        if way < 0.90 and type_ in ("i32", "i64") and not self.inner:
            return self.reduction(type_, depth)
        return self.leaf(type_)

    def operator(self, type_, depth):
        op = self.random.choice(["+", "-", "*", "*", "/", "%", "%", "min", "max"])
        a, b = self.expression(type_, depth - 1), self.expression(type_, depth - 1)
        if op in "/%" and self.chance(0.5):
            low, high = ends("i64" if type_ == INDEX else type_)
            b = ("literal", type_, self.random.choice([n for n in (-3, -1, 1, 2, 3, 5) if low <= n <= high]))
        return ("operator", type_, self.typed(a) if is_untyped(b) else a, b, op)

    def interval(self, type_):
        low = 0 if type_ == "u8" else self.random.choice([0, 0, 0, -1, -2, -6])
        return low, self.random.randint(max(low + 1, 1), 8)

    def reduction(self, type_, depth):
        index = self.fresh("j")
        low, high = self.range_ends()
        self.inner.append(index)
        where = self.condition(1) if self.chance(0.4) else None
        body = self.expression(type_, depth - 1)
        body = self.typed(body)
        self.inner.pop()
        return ("reduce", type_, body, where, low, high, self.random.choice(["sum", "max", "min"]), index)

    def range_ends(self):
        """The range of a reducer: constants, the outer index, or data within bounds."""
        low = self.random.choice([None, None, -1, -3, 1])
        low = None if low is None else ("literal", INDEX, low)
        way = self.random.random()
        if way < 0.5:
            return low, ("literal", INDEX, self.random.randint(0, 6))
        if way < 0.7 and self.index:
            return low, ("operator", INDEX, ("name", INDEX, self.index), ("literal", INDEX, self.random.randint(0, 3)), "+")
        return low, self.within("i32", *self.interval("i32"), 1) or ("literal", INDEX, 5)

    def condition(self, depth):
        way = self.random.random()
        if depth > 0 and way < 0.3:
            return (self.random.choice(["both", "either"]), "bool", self.condition(depth - 1), self.condition(depth - 1))
        if depth > 0 and way < 0.36:
            return ("not", "bool", self.condition(depth - 1))
        type_ = self.random.choice(TYPES + [INDEX])
        a = self.expression(type_, max(depth, 1))
        b = self.literal(type_) if a[0] != "literal" and self.chance(0.6) else self.leaf(type_)
        return ("relation", "bool", self.typed(a) if is_untyped(b) else a, b, self.random.choice(list(RELATIONS)))

    def within(self, type_, low, high, depth):
        """An expression that form keeps in [low, high): right by construction but for what wraps."""
        way = self.random.random()
        held = [n for n, (t, e, b) in self.tensors.items()
                if t == type_ and e == "N" and self.index_extent == "N" and b and low <= b[0] and b[1] <= high]
        if held and way < 0.4:
            return self.element(self.random.choice(held), ("name", INDEX, self.index))
        if low <= 0 < high and way < 0.6:
            return ("operator", type_, self.typed(self.expression(type_, depth)), ("literal", type_, high), "%")
        if depth > 0 and way < 0.7:
            return ("select", type_, self.condition(1), self.within(type_, low, high, depth - 1),
                    self.within(type_, low, high, depth - 1))
        if depth > 0 and way < 0.8 and high - low > 2 and (type_ != "u8"):
            inner = self.within(type_, low + 1, high - 1, depth - 1)
            return ("operator", type_, self.typed(inner), ("literal", type_, self.random.choice([-1, 1])), "+")
        return ("clamp", type_, self.typed(self.expression(type_, depth)), low, high - 1)

    # ---- definitions

    def named(self, inputs, definitions):
        """An integer tensor: with declared bounds, of which a few are wrong, a position, a recurrence, or anything."""
        name, type_ = self.fresh("h"), self.random.choice(TYPES)
        extent = self.random.choice(["N", "N", "N", self.random.randint(1, 5)])
        self.index, self.index_extent = "i", extent
        bounds = None
        way = self.random.random()
        if way < 0.35:
            bounds = self.interval(type_)
            body = self.within(type_, *bounds, 2)
            if self.chance(0.2):
                bounds = self.tightened(bounds)
        elif way < 0.5:
            type_, bounds, body = self.position()
            if self.chance(0.3):
                bounds = self.tightened(bounds)
            elif self.chance(0.3):
                bounds = None
        elif way < 0.65:
            body = self.recurrence(name, type_)
        else:
            body = self.expression(type_, self.random.randint(1, 3))
        self.tensors[name] = (type_, extent, bounds)
        if is_untyped(body) or kind(body) != type_:
            body = ("cast", type_, self.typed(body))
        return Definition(name, type_, "i", extent, bounds, body)

    def tightened(self, bounds):
        low, high = bounds
        if high - low < 2:
            return bounds
        return (low + 1, high) if self.chance(0.5) else (low, high - 1)

    def position(self):
        low = self.random.choice([0, 0, -1, -3])
        high = self.random.randint(max(low, 0) + 1, 6)
        index = self.fresh("q")
        self.inner.append(index)
        body = ("read", "f32", "x", 0.5, self.expression(INDEX, 2))
        where = self.condition(1) if self.chance(0.3) else None
        self.inner.pop()
        lows = None if low == 0 else ("literal", INDEX, low)
        bounds = (low, high) if where is None or low <= 0 else (min(low, 0), high)
        return "i32", bounds, ("reduce", "i32", body, where, lows, ("literal", INDEX, high), "argmax", index)

    def recurrence(self, name, type_):
        self.tensors[name] = (type_, self.index_extent, None)
        low, high = ends(type_)
        before = ("operator", INDEX, ("name", INDEX, "i"), ("literal", INDEX, self.random.randint(1, 2)), "-")
        read = self.element(name, before, self.random.randint(max(low, -2), min(high, 3)))
        del self.tensors[name]
        other = self.expression(type_, 1)
        if is_untyped(other):  # nothing says the tensor's type
            other = ("cast", type_, self.typed(other))
        return ("operator", type_, read, other, self.random.choice(["+", "*", "-", "min", "max"]))

    def use(self):
        """Numbers that integers choose."""
        name, extent = self.fresh("y"), self.random.choice(["N", "N", 5])
        self.index, self.index_extent = "i", extent
        way = self.random.random()
        if way < 0.25:
            body = ("select", "f32", self.condition(2), ("literal", "f32", 1), ("literal", "f32", 2))
        elif way < 0.5:
            body = ("read", "f32", "x", -1, self.subscript(2))
        elif way < 0.6:
            body = ("read", "f32", "X", -1, self.subscript(1), self.subscript(1))
        elif way < 0.8:
            body = ("read", "f32", "x", None, self.within(self.random.choice(["i32", "i64", INDEX]), 0,
                                                          DATA + (1 if self.chance(0.1) else 0), 2))
        else:
            body = self.gathered()
        return Definition(name, "f32", "i", extent, None, body)

    def subscript(self, depth):
        return self.expression(self.random.choice(TYPES + [INDEX, INDEX]), depth)

    def gathered(self):
        index = self.fresh("j")
        low, high = self.range_ends()
        self.inner.append(index)
        where = self.condition(1) if self.chance(0.5) else None
        body = ("read", "f32", "x", 0.5, ("operator", INDEX, ("name", INDEX, index), self.expression(INDEX, 1), "+"))
        self.inner.pop()
        return ("reduce", "f32", body, where, low, high, "sum", index)
