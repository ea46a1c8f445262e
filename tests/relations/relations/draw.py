"""Draws programs. What they compute is nobody's business here: relations compare programs with each other.

Texts are drawn rather than trees. All ranges are written out, so that a rewriting knows them without inference; a relation
of its own leaves them out again. A program that the front end refuses costs little, so a guard that would be needed is
sometimes missing, and a bound that does not hold is sometimes declared.
"""

import random
import re
from dataclasses import dataclass, field

from .draw_rare import Rare
from .shapes import Index, Size, Tensor, rename


@dataclass
class Program:
    text: str
    values: dict  # input -> (nested list, shape)
    sizes: dict
    floats: str
    special: bool = False  # values may be infinite or huge
    seed: int = 0


@dataclass
class Pool:
    text: str
    indices: list  # of Index, all with sizes
    deps: set = field(default_factory=set)


FUNCTIONS = ("tanh", "sin", "sigmoid", "cos", "softplus", "gelu", "silu", "erf", "relu", "abs", "elu")
HUGE = (4611686018427387904, 6364136223846793005, 1442695040888963407, 3037000500, 4294967296, 9223372036854775807)


class Draw(Rare):
    def __init__(self, seed, only=None):
        self.r, self.only = random.Random(seed), only
        self.seed = seed
        self.lines, self.tensors, self.values, self.sizes_given = [], [], {}, {}
        self.pool, self.count, self.touched = [], 0, set()
        self.floats = "f64" if self.r.random() < 0.25 else "f32"
        self.special = self.one(float("inf"), 1e38, 3e38) if self.r.random() < 0.08 else None
        self.special_now, self.holds_infinity = False, False
        self.updated, self.graphs = [], []
        self.self_reads = None  # within a recurrence: draws a read of itself
        self.plain = self.special is not None or self.r.random() < 0.25  # few functions: sums of products
        self.ties = self.r.random() < 0.15  # inputs have few values

    # ---- small things

    def chance(self, p):
        return self.r.random() < p

    def one(self, *items):
        return self.r.choice(items)

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def new_size(self):
        value = self.one(1, 2, 2, 3, 3, 4, 4, 5, 6, 7) if self.chance(0.9) else self.one(8, 9, 16, 17, 20, 33)
        kind = self.r.random()
        if kind < 0.4:
            return Size(str(value), value, True)
        name = self.fresh("N")
        if kind < 0.6:
            self.lines.append(f"dim {name} = {value}")
            return Size(name, value, True)
        value = self.one(0, 1, value, value, value) if self.chance(0.5) else value
        low = 0 if value == 0 or self.chance(0.6) else 1
        self.lines.append(f"dim {low} <= {name} <= {self.one(40, 40, 40, 1000)}")
        self.sizes_given[name] = value
        return Size(name, value, False)

    def size(self):
        return self.r.choice(self.sizes)

    def shape(self, most=3):
        rank = self.r.choices((0, 1, 2, 3), (1, 6, 4, 1))[0]
        return [self.size() for _ in range(min(rank, most))]

    # ---- subscripts and integers

    def subscript(self, env, size):
        """(text, whether it is certainly inside)"""
        exact = [i for i in env if i.size and i.size.text == size.text]
        p = self.r.random()
        if exact and p < 0.55:
            return self.r.choice(exact).name, True
        inside = [i for i in env if size.fixed and i.low is not None and i.low >= 0 and i.high is not None
                  and i.high <= size.value]
        if inside and p < 0.65:
            return self.r.choice(inside).name, True
        below = [i for i in env if size.fixed and i.low is not None and i.high is not None and i.low < 0]
        if below and p < 0.71:
            i = self.r.choice(below)
            return f"{i.name} + {-i.low}", i.high - i.low <= size.value
        if p < 0.74 and size.fixed and size.value:
            return str(self.r.randrange(size.value)), True
        if not env:
            return str(self.r.randrange(max(1, size.value))), size.fixed and size.value > 0
        i, j = self.r.choice(env).name, self.r.choice(env).name
        c = self.one(1, 1, 1, 2, 3)
        if p < 0.88:
            return self.one(f"{i} + {c}", f"{i} - {c}", f"{i} - {c}", f"{i} + {j}", f"{i} - {j}", f"{c + 1}*{i} + {j}",
                            f"{i}/{c + 1}", f"{c} - {i}", f"{i} + {j} - {c}", f"{size.text} - 1 - {i}", f"{c + 1}*{i}",
                            i), False
        if p < 0.93 and size.value and size.fixed:
            return f"({self.integer(env, 1, True)}) % {size.text}", True
        if p < 0.96 and size.value and size.fixed:
            return f"clamp({self.integer(env, 1, True)}, 0, {size.value - 1})", True
        lookups = [t for t in self.tensors if t.kind == "i" and len(t.shape) <= 1]
        if lookups:
            t = self.r.choice(lookups)
            return self.read(env, t, guard="-1"), t.below is not None and size.fixed and t.below <= size.value
        return self.integer(env, 1, True), False

    def read(self, env, t, guard=None):
        """A read of a tensor, guarded where it may be outside."""
        if not t.shape:
            return t.name
        parts = [self.subscript(env, s) for s in t.shape]
        text = f"{t.name}[{', '.join(p for p, _ in parts)}]"
        if not all(safe for _, safe in parts) or self.chance(0.03):
            if guard is None:
                guard = {"f": self.one("0", "0", "0.5", "1", "-0.25"), "i": self.one("0", "1", "-1"), "b": "false"}[t.kind]
            text = f"({text} else {guard})"
        self.touched.add(t)
        return text

    def integer(self, env, d, index_like=False):
        """An integer expression; in a subscript, of indices and integer tensors alike."""
        p = self.r.random()
        named = [t for t in self.tensors if t.kind == "i"]
        if d <= 0 or p < 0.3:
            if named and (p < 0.12 or not env):
                return self.read(env, self.r.choice(named))
            if env and p < 0.95:
                return self.r.choice(env).name
            return str(self.r.randrange(4))
        a = self.integer(env, d - 1, index_like)
        b = self.integer(env, d - 1, index_like)
        c = self.one(1, 2, 3, 5, 7)
        q = self.r.random()
        if q < 0.05:
            return f"({a})*{self.r.choice(HUGE)} + {c}"
        if q < 0.4:
            return self.one(f"{a} + {c}", f"{a} - {c}", f"({a})*{c}", f"({a})*(-{c})", f"({a} - {c})*(-{c})", f"{c} - ({a})")
        if q < 0.6:
            return self.one(f"({a}) + ({b})", f"({a}) - ({b})", f"({a})*({b})")
        if q < 0.9:
            return self.one(f"({a}) % {c + 1}", f"({a}) / {c + 1}", f"({a}) % (-{c + 1})", f"({a}) / (-{c + 1})",
                            f"({a}) % ({b})", f"({a}) / ({b})")
        return self.one(f"min({a}, {c})", f"max({a}, {-c})", f"abs({a})", f"clamp({a}, -{c}, {c})",
                        f"i64(i8({a}))", f"i64(u8({a}))", f"i64(i32({a}))")

    def condition(self, env, d=1):
        p = self.r.random()
        if d > 0 and p < 0.2:
            return self.one(f"({self.condition(env, 0)}) {self.one('and', 'or')} ({self.condition(env, 0)})",
                            f"not ({self.condition(env, 0)})")
        op = self.one("<", "<=", ">", ">=", "==", "!=")
        given = [t for t in self.tensors if t.kind == "f" and t.role in ("input", "param")]
        bools = [t for t in self.tensors if t.kind == "b"]
        if p < 0.35 and given:
            return f"{self.read(env, self.r.choice(given))} {self.one('<', '>')} {self.one('0', '0.25', '0.5', '-0.5')}"
        if p < 0.42 and bools:
            return self.read(env, self.r.choice(bools))
        keys = [t for t in self.tensors if t.kind == "i" and t.role == "input" and len(t.shape) == 1]
        exact = [(t, i) for t in keys for i in env if i.size and i.size.text == t.shape[0].text]
        if p < 0.52 and exact and len(env) > 1:
            t, i = self.r.choice(exact)
            self.touched.add(t)
            return f"{t.name}[{i.name}] == {self.r.choice([j for j in env if j is not i]).name}"
        if p < 0.7 and len(env) > 1:
            i, j = self.r.sample(env, 2)
            return f"{i.name} {op} {j.name}" + self.one("", "", " + 1", " - 1")
        return f"{self.integer(env, 1)} {op} {self.one('0', '1', '2', '3', '-1', '-2')}"

    # ---- ranges

    def range(self, env):
        """(text, Index) of a reducer's range."""
        k = self.fresh("k")
        s = self.size()
        n = s.value if s.fixed else None
        c, d = self.one(1, 1, 2, 3), self.one(1, 2, 2, 3)
        p = self.r.random()
        if p < 0.4:
            return f"{k} < {s.text}", Index(k, 0, n, s)
        if p < 0.55:
            return f"(-{c}) <= {k} < {d}", Index(k, -c, d)
        if p < 0.62:
            return f"(-{c}) <= {k} < {s.text}", Index(k, -c, n)
        if p < 0.67:
            return f"(-{s.text}) <= {k} < {self.one(s.text, str(d))}", Index(k, None if n is None else -n, None)
        if p < 0.72:
            return f"{d} <= {k} < {d + c}", Index(k, d, d + c)
        if p < 0.76:
            return f"(-{c + d}) <= {k} < (-{c})" if self.chance(0.6) else f"{k} < {d}", Index(k, -c - d, d)
        if env and p < 0.92:
            i = self.r.choice(env)
            lows = None if i.low is None else i.low - c
            highs = None if i.high is None else i.high + d
            if self.chance(0.4):
                return f"({i.name} - {c}) <= {k} < ({i.name} + {d})", Index(k, lows, highs)
            if self.chance(0.5):
                return f"{k} {self.one('<', '<=')} {i.name}", Index(k, 0, highs)
            return f"{self.one(i.name, f'({i.name} - {c})')} <= {k} < {s.text}", Index(k, lows, n)
        ints = [t for t in self.tensors if t.kind == "i" and t.below is not None and t.role == "input" and len(t.shape) <= 1]
        if ints:
            t = self.r.choice(ints)
            exact = [i for i in env if t.shape and i.size and i.size.text == t.shape[0].text]
            if not t.shape or exact:
                sub = f"[{self.r.choice(exact).name}]" if t.shape else ""
                self.touched.add(t)
                low = self.one("", "", f"(-{c}) <= ")
                return f"{low}{k} < {t.name}{sub}", Index(k, -c if low else 0, t.below)
        return f"{k} <= {d}", Index(k, 0, d + 1)

    # ---- floats

    def literal(self):
        return self.one("0.5", "0.25", "-0.5", "1.5", "-0.75", "0.125", "2", "1")

    def number(self, env, d):
        """A float expression."""
        r = self.r.random()
        floats = [t for t in self.tensors if t.kind == "f"]
        if d <= 0 or r < 0.16:
            if self.self_reads and self.chance(0.5):
                return self.self_reads(env)
            if floats and r < 0.9:
                recent = floats[-4:]
                return self.read(env, self.r.choice(recent if self.chance(0.5) else floats))
            if env and self.chance(0.5):
                return f"0.125*{self.floats}(({self.integer(env, 1)}) % 8)"
            return self.literal()
        if r < 0.3 and not self.plain:
            return f"{self.r.choice(FUNCTIONS)}({self.number(env, d - 1)})"
        if r < 0.5:
            op = self.one("*", "*", "+", "-") if not self.plain else "*"
            return f"({self.number(env, d - 1)}){op}({self.number(env, d - 1)})"
        if r < 0.56:
            return f"{self.literal()}*({self.number(env, d - 1)})"
        if r < 0.66:
            a = self.number(env, d - 1)
            b = self.number(env, d - 1) if self.chance(0.6) else self.one("0", "0", "1", "0.5")
            if self.chance(0.3):
                a, b = b, a
            return f"select({self.condition(env)}, {a}, {b})"
        if r < 0.69:
            return f"{self.one('min', 'max')}({self.number(env, d - 1)}, {self.number(env, d - 1)})"
        if r < 0.75 and self.pool and not self.self_reads:
            return self.again(env, d)
        return self.reduction(env, d)

    def reduction(self, env, d):
        kind = self.r.choices(("sum", "max", "min", "mean", "prod", "logsumexp"), (10, 3, 2, 2, 1, 1))[0]
        texts, inner = [], []
        for _ in range(self.r.choices((1, 2, 3), (8, 3, 1))[0]):
            text, index = self.range(env + inner)
            texts.append(text)
            inner.append(index)
        where = f" where {self.condition(env + inner)}" if self.chance(0.25) else ""
        body = self.number(env[-3:] + inner, d - 1 if self.chance(0.7) else min(d - 1, 1))
        if kind == "prod":
            body = f"1 + 0.25*({body})"
        if kind in ("max", "min", "logsumexp"):  # an empty one is infinite
            return f"max(min(({kind}[{', '.join(texts)}{where}] ({body})), 8), -8)"
        if kind == "mean":
            return f"(sum[{', '.join(texts)}{where}] ({body}))*0.25"
        return f"({kind}[{', '.join(texts)}{where}] ({body}))"

    def again(self, env, d):
        """An expression that stood before, at other extents."""
        e = self.r.choice(self.pool)
        self.touched |= e.deps
        table, texts = {}, []
        free = list(env)
        for i in e.indices:
            if free and self.chance(0.6):
                j = self.r.choice(free)
                table[i.name] = j.name
            else:
                k = self.fresh("k")
                s = i.size
                up = s.text if self.chance(0.5) or not s.value else str(self.r.randrange(1, s.value + 1))
                if self.chance(0.15):
                    up = str(s.value + self.one(1, 2, 4))
                texts.append(f"{k} < {up}")
                table[i.name] = k
        body = self.re_bound(e.text, table)
        if texts:
            kind = self.one("sum", "sum", "max")
            if kind == "max":
                return f"max((max[{', '.join(texts)}] ({body})), -8)"
            return f"(sum[{', '.join(texts)}] ({body}))"
        return f"({body})"

    def re_bound(self, text, table):
        """With fresh names for what it binds."""
        for k in dict.fromkeys(re.findall(r"\bk\d+\b", text)):
            if k not in table:
                table[k] = self.fresh("k")
        return rename(text, table)

    # ---- statements

    def left(self, shape):
        env = [Index(self.fresh("i"), 0, s.value if s.fixed else None, s) for s in shape]
        text = f"[{', '.join(f'{i.name} < {i.size.text}' for i in env)}]" if env else ""
        return env, text

    def add(self, name, kind, shape, role, below=None):
        deps = frozenset(t.name for t in self.touched) | frozenset(n for t in self.touched for n in t.deps)
        t = Tensor(name, kind, shape, role, below, deps)
        self.tensors.append(t)
        self.touched = set()
        return t

    def data(self, shape, draw):
        if not shape:
            return draw()
        return [self.data(shape[1:], draw) for _ in range(shape[0].value)]

    def floating(self):
        if self.special_now and self.chance(0.25):
            return self.special
        if self.special is not None:
            return self.r.randrange(0, 9) / 8
        if self.ties:
            return self.one(0.0, 0.0, 1.0, 0.5)
        return self.r.randrange(-16, 17) / 8

    def draw_input(self):
        p = self.r.random()
        if p < 0.65:
            name, shape = self.fresh("x"), self.shape()
            if self.chance(0.2) and all(s.fixed for s in shape):
                self.lines.append(f"param {name}[{', '.join(s.text for s in shape)}]{self.f64()} = 0.5" if shape
                                  else f"param {name}{self.f64()} = 0.5")
                self.add(name, "f", shape, "param")
            else:
                self.declare(name, shape, self.f64())
                self.add(name, "f", shape, "input")
            self.values[name] = (self.data(shape, self.floating), [s.value for s in shape])
            return
        name, shape = self.fresh("w"), self.shape(2)
        if p < 0.72:
            self.declare(name, shape, " : bool")
            self.add(name, "b", shape, "input")
            self.values[name] = (self.data(shape, lambda: self.r.randrange(2)), [s.value for s in shape])
            return
        below = self.one(2, 3, 4, 6) if p < 0.9 else None
        kind = self.one("i32", "i32", "i32", "i64", "i8", "u8")
        self.declare(name, shape, f" : {kind}" + ("" if below is None else f" < {below}"))
        self.add(name, "i", shape, "input", below)
        low = 0 if below or kind == "u8" else -5
        self.values[name] = (self.data(shape, lambda: self.r.randrange(low, below or 6)), [s.value for s in shape])

    def f64(self):
        return " : f64" if self.floats == "f64" else ""

    def declare(self, name, shape, kind):
        axes = f"[{', '.join(s.text for s in shape)}]" if shape else ""
        self.lines.append(f"input {name}{axes}{kind}")

    def define_value(self):
        shape = self.shape()
        env, left = self.left(shape)
        text = self.number(env, self.one(1, 2, 2, 3))
        if not self.touched:
            text = f"{self.literal()} + 0*{self.floats}({env[0].name})" if env else "0.5"
            if not env:
                return
        name = self.fresh("D")
        self.lines.append(f"{name}{left}{self.f64()} = {text}")
        if env:
            self.pool.append(Pool(text, env, set(self.touched)))
        self.add(name, "f", shape, "value")

    def define_again(self):
        """The same expression at another extent, as a definition of its own."""
        if not self.pool:
            return self.define_value()
        e = self.r.choice(self.pool)
        self.touched |= e.deps
        table = {i.name: self.fresh("i") for i in e.indices}
        shape = []
        for i in e.indices:
            s = i.size
            if s.value > 1 and self.chance(0.6):
                n = self.r.randrange(1, s.value)
                s = Size(str(n), n, True)
            elif self.chance(0.3):
                s = Size(str(s.value + 3), s.value + 3, True)
            shape.append(s)
        left = ", ".join(f"{table[i.name]} < {s.text}" for i, s in zip(e.indices, shape))
        name = self.fresh("D")
        env = [Index(table[i.name], 0, s.value if s.fixed else None, s) for i, s in zip(e.indices, shape)]
        text = self.re_bound(e.text, table)
        if self.chance(0.4):
            text = f"{text} + {self.number(env, 1)}"
        self.lines.append(f"{name}[{left}]{self.f64()} = {text}")
        self.add(name, "f", shape, "value")
        return None

    def define_integer(self):
        shape = self.shape(2)
        env, left = self.left(shape)
        text = self.integer(env, 2)
        name = self.fresh("v")
        kind, below = "", None
        if self.chance(0.5):
            kind = self.one("i32", "i64", "i8", "u8", "i32")
            text, kind = f"{kind}({text})", f" : {kind}"
            if self.chance(0.3):
                below = self.one(2, 3, 4)
                kind += f" < {below}"
                if self.chance(0.7):
                    text = f"{kind.split()[1]}(clamp({text}, 0, {below - 1}))"
        elif not env or not re.search(r"\bi\d|\bk\d", text):
            text = f"i32({text})"
        self.lines.append(f"{name}{left}{kind} = {text}")
        self.add(name, "i", shape, "value", below)

    def define_constant(self):
        shape = self.shape(2)
        if not shape:
            return
        _, left = self.left(shape)
        name = self.fresh("s")
        self.lines.append(f"{name}{left} : {self.floats} = {self.literal()}")
        self.add(name, "f", shape, "constant")

    def define_position(self):
        shape = self.shape(1)
        env, left = self.left(shape)
        texts, inner = [], []
        for _ in range(self.one(1, 1, 1, 2, 3)):
            text, index = self.range(env + inner)
            texts.append(text)
            inner.append(index)
        given = [t for t in self.tensors if t.kind == "f" and t.role in ("input", "param")]
        if not given:
            return
        body = self.read(env + inner, self.r.choice(given))
        where = f" where {self.condition(env + inner)}" if self.chance(0.2) else ""
        name = self.fresh("m")
        self.lines.append(f"{name}{left} = {self.one('argmax', 'argmin')}[{', '.join(texts)}{where}] {body}")
        high = inner[0].high
        self.add(name, "i", shape, "value", high if inner[0].low == 0 else None)

    def earlier(self, name, env, axis, steps, guard):
        """A reader of a recurrence along an axis: other subscripts are anything inside."""
        def draw(inner):
            parts = []
            for n, i in enumerate(env):
                if n == axis:
                    parts.append(f"{i.name} {self.r.choice(steps)}")
                elif self.chance(0.6):
                    parts.append(i.name)
                else:
                    parts.append(self.subscript(inner, i.size)[0])
            return f"({name}[{', '.join(parts)}] else {guard})"
        return draw

    def define_recurrence(self):
        shape = self.shape()
        if not shape:
            return
        env, left = self.left(shape)
        name = self.fresh("h")
        axis = self.r.randrange(len(env))
        sign = self.one("-", "-", "+")
        steps = [f"{sign} 1"] * 3 + [f"{sign} 2"]
        self.self_reads = self.earlier(name, env, axis, steps, self.one("0", "0", "0.5", "1"))
        depth = self.one(1, 2)
        text = f"{self.one('tanh', 'sin', 'sigmoid')}({self.number(env, depth)} + 0.5*{self.self_reads(env)})"
        if self.chance(0.3):
            text = f"{self.one('0.5*', '')}({self.number(env, 0)}) + {self.one('', '0.5*')}{self.self_reads(env)}"
        self.self_reads = None
        if len(env) > 1 and self.chance(0.5):
            other = [n for n in range(len(env)) if n != axis][0]
            sign = self.one("-", "+")
            parts = [i.name + (f" {sign} 1" if n == other else "") for n, i in enumerate(env)]
            text += f" + 0.25*({name}[{', '.join(parts)}] else {self.one('0', '1')})"
        if len(env) > 1 and self.chance(0.3):
            k = self.fresh("k")
            other = [n for n in range(len(env)) if n != axis][0]
            parts = [i.name + (f" {sign_of(steps)} 1" if n == axis else "") for n, i in enumerate(env)]
            parts[other] = k
            s = env[other].size
            text += f" + 0.25*(sum[{k} < {s.text}] ({self.floats}({k} + 1))*({name}[{', '.join(parts)}] else 0)*0.25)"
        self.lines.append(f"{name}{left}{self.f64()} = {text}")
        self.add(name, "f", shape, "value")

    def define_triangular(self):
        s = self.size()
        squares = [t for t in self.tensors if t.kind == "f" and len(t.shape) == 2 and
                   all(d.text == s.text for d in t.shape)]
        env, left = self.left([s, s])
        l, m = env[0].name, env[1].name
        name, k = self.fresh("h"), self.fresh("k")
        if squares and self.chance(0.6):
            t = self.r.choice(squares)
            self.touched.add(t)
            first = f"{t.name}[{l}, {m}]"
        else:
            first = self.number(env, 1)
        body = self.one(f"{name}[{l}, {k}]*{name}[{m}, {k}]", f"{name}[{l}, {k}]*{name}[{m}, {k}]*0.5",
                        f"tanh({name}[{l}, {k}])*{name}[{m}, {k}]")
        cond = self.one(f"{m} > {l}", f"{m} > {l}", f"{l} < {m}")
        tail = self.one("", "", f"/(2 + {name}[{m}, {m}]^2)")
        if tail:
            text = (f"select({cond}, 0, select({l} == {m}, {first}, "
                    f"({first} - 0.25*(sum[{k} < {m}] {body})){tail}))")
        else:
            text = f"select({cond}, 0, {first} - 0.25*(sum[{k} < {m}] {body}))"
        self.lines.append(f"{name}{left}{self.f64()} = {text}")
        self.add(name, "f", [s, s], "value")

    def define_channel(self):
        """Mutual recursion through an index of two or three values."""
        t = self.size()
        n = self.one(2, 2, 3)
        more = [self.size()] if self.chance(0.4) else []
        env, left = self.left([t, Size(str(n), n, True)] + more)
        name = self.fresh("h")
        tail = "".join(f", {i.name}" for i in env[2:])
        tt, c = env[0].name, env[1].name
        arms = []
        for k in range(n):
            given = self.number([env[0]] + env[2:], 1)
            back = f"({name}[{tt} - 1, {self.r.randrange(n)}{tail}] else {self.one('0', '0.5')})"
            here = f"{name}[{tt}, {self.r.randrange(k)}{tail}]" if k else back
            text = self.one(f"{given} + 0.5*{here}", f"{here} + 0.25*{back}", f"{here}", f"{given}*{back}")
            arms.append(self.one(f"tanh({text})", f"sin({text})", f"tanh({text})"))
        if self.chance(0.2):
            arms[0] = "0.5"
        text = arms[-1]
        for k in range(n - 2, -1, -1):
            text = f"select({c} == {k}, {arms[k]}, {text})"
        self.lines.append(f"{name}{left}{self.f64()} = {text}")
        self.add(name, "f", [e.size for e in env], "value")

    def define_chain(self):
        """Elements by their number: the first is given, others read it."""
        s = Size(str(self.one(2, 3, 4)), 0, True)
        s.value = int(s.text)
        env, left = self.left([s])
        name, i = self.fresh("h"), env[0].name
        first = self.number([], 1) if self.chance(0.5) else self.literal()
        later = self.one(f"{name}[0]", f"{name}[{i} - 1]", f"{name}[0] + {self.number(env, 1)}")
        self.lines.append(f"{name}{left}{self.f64()} = select({i} == 0, {first}, tanh({later}))")
        self.add(name, "f", [s], "value")

    def define_levels(self):
        """A tree: each element reads those that an input names."""
        s, name, child = self.size(), self.fresh("h"), self.fresh("w")
        env, left = self.left([s])
        k = self.fresh("k")
        n = self.one(1, 2, 2)
        self.lines.append(f"input {child}[{env[0].name} < {s.text}, {n}] : -1 <= i32 < {env[0].name}")
        values = [[self.r.randrange(-1, v) for _ in range(n)] for v in range(s.value)]
        self.values[child] = (values, [s.value, n])
        more = [self.size()] if self.chance(0.5) else []
        env2, _ = self.left(more)
        v = env[0].name
        left = f"[{v} < {s.text}" + "".join(f", {i.name} < {i.size.text}" for i in env2) + "]"
        tail = "".join(f", {i.name}" for i in env2)
        body = f"({name}[{child}[{v}, {k}]{tail}] else {self.one('0', '0.5')})"
        if self.chance(0.4):
            body = f"select({child}[{v}, {k}] {self.one('>=', '>', '==')} {self.one('0', '1', k)}, {body}, 0)"
        if self.chance(0.5):
            name_t, c = self.fresh("w"), f"{child}[{v}, {k}]"
            self.lines.append(f"input {name_t}[{s.text}] : i32 < 3")
            self.values[name_t] = ([self.r.randrange(3) for _ in range(s.value)], [s.value])
            look = self.one(f"{c} >= {k} and {name_t}[{c}] == 1", f"{c} >= 0 and {name_t}[{c}] == 1")
            body = f"select({look}, {self.one(body, f'{name}[{c}{tail}]')}, {self.one('0', '0.5')})"
        if self.chance(0.4):
            body = f"{body}*({self.number(env + env2 + [Index(k, 0, n, None)], 1)})"
        text = f"tanh({self.number(env + env2, 1)} + sum[{k} < {n}] {body})"
        self.lines.append(f"{name}{left}{self.f64()} = {text}")
        self.add(name, "f", [s] + more, "value")

    def define_rows(self):
        """Two reductions of the same expression over rows of different length, and a shorter tensor of it."""
        floats = [t for t in self.tensors if t.kind == "f" and t.shape]
        if not floats:
            return
        t = self.r.choice(floats)
        size = self.r.choice(t.shape)
        if size.value < 2:
            return
        parts = ["{}" if d is size else str(self.r.randrange(max(1, d.value))) for d in t.shape]
        read = f"{t.name}[{', '.join(parts)}]"
        f = self.one("tanh", "exp", "sin", "sigmoid")
        short = str(self.r.randrange(1, size.value))
        self.touched.add(t)
        name, i, a, b = self.fresh("D"), self.fresh("i"), self.fresh("k"), self.fresh("k")
        self.lines.append(f"{name}[{i} < {short}]{self.f64()} = {f}({read.replace('{}', i)})")
        self.add(name, "f", [Size(short, int(short), True)], "value")
        self.touched = {t, self.tensors[-1]}
        one = f"({self.one('sum', 'max', 'sum')}[{a} < {size.text}] {f}({read.replace('{}', a)}))"
        again = self.one(f"{name}[{b}]", f"{name}[{b}]", f"{f}({read.replace('{}', b)})")
        two = f"({self.one('max', 'sum', 'min')}[{b} < {short}] {again})"
        if self.chance(0.5):
            one, two = two, one
        if self.chance(0.5):
            self.lines.append(f"{self.fresh('s')}{self.f64()} = {one} {self.one('+', '*', '-')} {two}")
            self.add(self.lines[-1].split()[0], "f", [], "value")
            return
        shape = self.shape(1) or [size]
        env, left = self.left(shape)
        result = self.fresh("D")
        self.lines.append(f"{result}{left}{self.f64()} = {self.number(env, 0)}*({one} {self.one('+', '*', '-')} {two})")
        self.add(result, "f", shape, "value")

    def define_product(self):
        """A contraction, with conditions and triangles."""
        floats = [t for t in self.tensors if t.kind == "f" and t.shape]
        if not floats:
            return
        shape = self.shape(2)
        env, left = self.left(shape)
        texts, inner = [], []
        for _ in range(self.one(1, 1, 2)):
            text, index = self.range(env + inner)
            texts.append(text)
            inner.append(index)
        parts = [self.read(env + inner, self.r.choice(floats)) for _ in range(self.one(2, 2, 3))]
        where = f" where {self.condition(env + inner)}" if self.chance(0.4) else ""
        name = self.fresh("D")
        self.lines.append(f"{name}{left}{self.f64()} = sum[{', '.join(texts)}{where}] {'*'.join(parts)}")
        self.add(name, "f", shape, "value")

    def define_images(self):
        """Two convolutions, and what reduces them."""
        c1, c2, c3, p = self.one(1, 2, 3, 4), self.one(2, 4, 8), self.one(2, 4, 8), self.one(3, 4, 5)
        x, w1, w2 = self.fresh("x"), self.fresh("x"), self.fresh("x")
        few = self.chance(0.5)
        for name, dims in ((x, (c1, p, p)), (w1, (c2, c1, 3, 3)), (w2, (c3, c2, 3, 3))):
            shape = [Size(str(d), d, True) for d in dims]
            self.declare(name, shape, self.f64())
            self.add(name, "f", shape, "input")
            self.values[name] = (self.data(shape, lambda: self.r.randrange(-2, 3) / 8 if not few else self.one(0.0, 0.0, 1.0)),
                                 list(dims))
        y, z, m = self.fresh("D"), self.fresh("D"), self.fresh("m")
        for out, k, inp, w, c in ((y, c2, x, w1, c1), (z, c3, y, w2, c2)):
            self.lines.append(f"{out}[a < {k}, b < {p}, c < {p}]{self.f64()} = sum[d < {c}, e < 3, f < 3] "
                              f"{w}[a, d, e, f]*({inp}[d, b + e - 1, c + f - 1] else 0)")
            self.touched = {t for t in self.tensors if t.name in (inp, w)}
            self.add(out, "f", [Size(str(k), k, True), Size(str(p), p, True), Size(str(p), p, True)], "value")
        self.touched = {t for t in self.tensors if t.name == z}
        self.lines.append(f"{m} = argmax[a < {c3}, b < {p}, c < {p}] {z}[a, b, c]")
        self.add(m, "i", [], "value")

    def define_rounds(self):
        """scan and repeat."""
        kind = "scan" if self.chance(0.7) else "repeat"
        sizes = [s for s in self.sizes if kind == "scan" or s.fixed]
        if not sizes:
            return
        count = self.r.choice(sizes)
        t = self.fresh("i")
        round_ = Index(t, 0, count.value if count.fixed else None, count)
        carries, firsts, kinds = [], [], []
        before = list(self.tensors)
        for _ in range(self.one(1, 2, 2, 3)):
            shape = self.shape(1)
            env, left = self.left(shape)
            name = self.fresh("a")
            ints = [x for x in before if x.kind == "i" and x.below and [s.text for s in x.shape] == [s.text for s in shape]]
            if ints and self.chance(0.3):
                x = self.r.choice(ints)
                subs = f"[{', '.join(i.name for i in env)}]" if env else ""
                firsts.append(f"{name}{left} = {x.name}{subs}")
                self.touched.add(x)
                kinds.append("i")
            elif self.chance(0.1):
                firsts.append(f"{name}{left} : i32 < 8 = {self.one('0', '1', '3')}")
                kinds.append("i")
            else:
                first = self.one("0", "1.0", "0.5", self.number(env, 1))
                firsts.append(f"{name}{left}{self.f64()} = {first}")
                kinds.append("f")
            carries.append((name, env, left, shape))
        deps = set(self.touched)
        for (name, _, _, shape), kind_ in zip(carries, kinds):
            self.tensors.append(Tensor(name, kind_, shape, "carry"))
        body, nexts = [], []
        if self.chance(0.4):
            shape = self.shape(1)
            env, left = self.left(shape)
            name = self.fresh("D")
            body.append(f"  {name}{left}{self.f64()} = {self.number(env + [round_], 1)} + 0*{self.floats}({t})")
            self.tensors.append(Tensor(name, "f", shape, "value"))
        for (name, env, left, shape), kind_ in zip(carries, kinds):
            subs = f"[{', '.join(i.name for i in env)}]" if env else ""
            if kind_ == "i":
                nexts.append(f"{name}{left} = {self.one(f'{name}{subs} + 1', f'min({name}{subs} + 1, 7)', f'({name}{subs} + 1) % 3')}")
            else:
                more = self.number(env + [round_], self.one(1, 2))
                nexts.append(f"{name}{left} = 0.5*{name}{subs} + {self.one('tanh', 'sin')}({more})")
        if self.chance(0.5):
            body.append("  next " + ", ".join(nexts))
        else:
            body += [f"  next {n}" for n in nexts]
        collected = [c for c in zip(carries, kinds) if self.chance(0.3)]
        if collected:
            body.append("  collect " + ", ".join(c[0] for c, _ in collected))
        body_deps = self.touched | deps
        self.tensors = before
        names, new = [], []
        for (_, _, _, shape), kind_ in zip(carries, kinds):
            new.append((self.fresh("r"), kind_, shape))
        for (_, _, _, shape), kind_ in collected:
            new.append((self.fresh("r"), kind_, [count] + shape))
        names = [n for n, _, _ in new]
        down = " down" if kind == "scan" and self.chance(0.3) else ""
        self.lines.append(f"{', '.join(names)} = {kind} {t} < {count.text}{down} from {', '.join(firsts)} {{")
        self.lines += body + ["}"]
        real = {x for x in body_deps if x in before}
        for name, kind_, shape in new:
            self.touched = set(real)
            self.add(name, kind_, shape, "value", 8 if kind_ == "i" else None)

    def given(self, letter, shape, values, kind=""):
        """An input of certain values."""
        name = self.fresh(letter)
        self.declare(name, shape, kind or self.f64())
        self.add(name, "i" if letter == "w" else "f", shape, "input")
        self.values[name] = (self.data(shape, values), [s.value for s in shape])
        return name

    def some_size(self, least=2):
        """A size of at least so many, known when the model is compiled or not."""
        sizes = [s for s in self.sizes if s.value >= least]
        if sizes and self.chance(0.7):
            return self.r.choice(sizes)
        n = self.r.randrange(least, least + 5)
        return Size(str(n), n, True)

    def define_running(self):
        """A linear recurrence, and a sum over it whose range is moved."""
        s = self.some_size()
        x = self.given("x", [s], self.floating)
        h, r, i, k = self.fresh("h"), self.fresh("D"), self.fresh("i"), self.fresh("k")
        step, start, c = self.one("-", "-", "+"), self.one("0", "0", "0.5", "10"), self.one(1, 1, 2)
        factor = self.one("", "0.5*", "0.25*")
        self.lines.append(f"{h}[{i} < {s.text}]{self.f64()} = {self.one('', '0.5*')}{x}[{i}] + {factor}({h}[{i} {step} 1] else {start})")
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(h, "f", [s], "value")
        self.touched = {self.tensors[-1]}
        high = self.one(s.text, f"{s.text} - {c}", f"{s.text} + {c}")
        read = self.one(f"({h}[{k} + {c}] else {self.one('0', '10')})", f"({h}[{k}] else {self.one('0', '10')})")
        low = self.one(f"(-{c}) <= ", f"(-{c + 1}) <= ", "", f"{c} <= ")
        if self.chance(0.4):
            self.lines.append(f"{r}{self.f64()} = sum[{low}{k} < ({high})] {read}")
            self.add(r, "f", [], "value")
            return
        j = self.fresh("i")
        high = self.one(j, f"({j} + 1)", f"({j} - 1)", f"({high})")
        self.lines.append(f"{r}[{j} < {s.text}]{self.f64()} = {self.one('0.5*', '')}(sum[{low}{k} < {high}] {read})")
        self.add(r, "f", [s], "value")

    def define_factored(self):
        """Products of three factors under conditions on output axes, some of which are infinite where they are left out."""
        n, e = self.some_size(), self.some_size(1)
        huge = self.chance(0.5)
        p, v = self.given("x", [n, n], self.floating), self.given("x", [n, e], self.floating)
        g = self.given("x", [n, e], self.floating)
        if huge:
            values, shape = self.values[g]
            values[0] = [float("inf")] * shape[1]
            self.holds_infinity = True
        keep = self.given("w", [n], lambda: self.r.randrange(2), " : bool")
        self.tensors[-1].kind = "b"
        name, out, i, j, c = (self.fresh(x) for x in "DDikk")
        if self.chance(0.6):
            self.lines.append(f"{out}[{i} < {n.text}, {c} < {e.text}]{self.f64()} = sum[{j} < {i}] {p}[{i}, {j}]*{v}[{j}, {c}]")
            self.touched = {t for t in self.tensors if t.name in (p, v)}
            self.add(out, "f", [n, e], "value")
        i, j, c = (rename(x, {x: self.fresh(x[0])}) for x in (i, j, c))
        where = self.one(f"{j} < {i}", f"{j} < {i}", f"{keep}[{j}] and {keep}[{i}]", f"{i} > 0", f"{i} > {j} and {j} >= 0")
        order = [f"{g}[{i}, {c}]", f"{v}[{j}, {c}]", f"{p}[{i}, {j}]"]
        if self.chance(0.5):
            self.r.shuffle(order)
        ranges = self.one(f"{c} < {e.text}, {j} < {n.text}", f"{j} < {n.text}, {c} < {e.text}")
        self.lines.append(f"{name}[{i} < {n.text}]{self.f64()} = sum[{ranges} where {where}] {'*'.join(order)}")
        self.touched = {t for t in self.tensors if t.name in (p, v, g)}
        self.add(name, "f", [n], "value")

    def define_wavefront(self):
        """A recurrence along both of two axes, with a sum whose end is read from data."""
        m, n = self.some_size(), self.some_size()
        most = self.one(2, 3)
        width = Size(str(most), most, True)
        x = self.given("x", [m, width], self.floating)
        ends = self.given("w", [n], lambda: self.r.randrange(most + 1), f" : i32 < {most + 1}")
        h, i, j, k = self.fresh("h"), self.fresh("i"), self.fresh("i"), self.fresh("k")
        inner = f"(sum[{k} < {ends}[{j}]] {x}[{i}, {k}])"
        back = self.one(f"({h}[{i} - 1, {j}] else 0) + 0.5*({h}[{i}, {j} - 1] else 1)",
                        f"({h}[{i} - 1, {j}] else 0) - 0.25*({h}[{i} - 1, {j} - 1] else 0) + ({h}[{i}, {j} - 1] else 0)",
                        f"({h}[{i} - 1, {j}] else 0)")
        self.lines.append(f"{h}[{i} < {m.text}, {j} < {n.text}]{self.f64()} = {self.one('tanh', 'sin')}(0.5*({back}) + {inner})")
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(h, "f", [m, n], "value")

    def define_ragged(self):
        """A recurrence of which each element sums what data say."""
        t, most = self.some_size(), self.one(2, 3, 4)
        width = Size(str(most), most, True)
        x = self.given("x", [t, width], self.floating)
        ends = self.given("w", [t], lambda: self.r.randrange(most + 1), f" : i32 < {most + 1}")
        h, i, k = self.fresh("h"), self.fresh("i"), self.fresh("k")
        self.lines.append(f"{h}[{i} < {t.text}]{self.f64()} = tanh(0.5*({h}[{i} - 1] else 0) + (sum[{k} < {ends}[{i}]] {x}[{i}, {k}]))")
        self.touched = {u for u in self.tensors if u.name == x}
        self.add(h, "f", [t], "value")

    def define_keyed(self):
        """Rows that a key names: sums and maxima of those whose key it is, perhaps of a part of them."""
        e, n = self.some_size(), self.one(2, 3, 4)
        d = e if self.chance(0.6) else self.some_size()
        x = self.given("x", [e, d], self.floating)
        key = self.given("w", [e], lambda: self.r.randrange(n), f" : i32 < {n}")
        name, i, j, k = self.fresh("D"), self.fresh("i"), self.fresh("i"), self.fresh("k")
        end = self.one(f" <= {j}", f" <= {j}", f" < {j}", f" < {e.text}", f" < {i}")
        read = f"{x}[{k}, {j}]" if end == f" < {e.text}" else f"({x}[{k}, {j}] else 0)"
        read = f"{x}[{k}, {j}]" if e.text == d.text and "<= " + j in end else read
        look = f"({key}[{k}] else -1) == {i}" if read[0] == "(" else f"{key}[{k}] == {i}"
        self.lines.append(f"{name}[{i} < {n}, {j} < {d.text}]{self.f64()} = sum[{k}{end} where {look}] {read}")
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(name, "f", [Size(str(n), n, True), d], "value")

    def define_carries(self):
        """A scan of two carries with guarded reads of a tensor of run-time sizes."""
        t, u = self.some_size(1), self.some_size(1)
        w, x = self.given("x", [t, Size("2", 2, True)], self.floating), self.given("x", [u], self.floating)
        y, i, j = self.fresh("D"), self.fresh("i"), self.fresh("i")
        self.lines.append(f"{y}[{i} < {t.text}, {j} < {u.text}]{self.f64()} = {self.one('0.25*', 'tanh')}({w}[{i}, {self.one(0, 1)}])")
        self.touched = {z for z in self.tensors if z.name == w}
        self.add(y, "f", [t, u], "value")
        a, s, k, q, r1, r2 = (self.fresh(c) for c in "aaiirr")
        first = self.one(1, 1, 2)
        rows = f"{y}[{k} + {self.one(1, 2)}, {q}/2]"
        cells = f"{y}[{k} {self.one('+ 1', '- 1', '+ 2')}, {k} - 1]"
        down = self.one(" down", " down", "")
        self.lines += [f"{r1}, {r2} = scan {k} < {u.text}{down} from {a}[{q} < {first}]{self.f64()} = 0, {s}{self.f64()} = 1.0 {{",
                       f"  next {a}[{q} < {first}] = 0.5*{a}[{q}] + sin(({rows} else {self.one('1', '0')})), "
                       f"{s} = 0.5*{s} + sin({self.one('max', 'min')}(({cells} else 0.5), {x}[{k}]))", "}"]
        self.touched = {self.tensors[-1]} | {z for z in self.tensors if z.name == x}
        seen = set(self.touched)
        self.add(r1, "f", [Size(str(first), first, True)], "value")
        self.touched = seen
        self.add(r2, "f", [], "value")

    def define_tower(self):
        """Two recurrences over a third, which they read at other places."""
        x = self.given("x", [Size("4", 4, True), Size("3", 3, True)], self.floating)
        t = self.some_size(1)
        names = [self.fresh("h") for _ in range(3)]
        k, i, j = self.fresh("k"), self.fresh("i"), self.fresh("i")
        base, first, second = names
        f = self.one("tanh", "sigmoid", "sin")
        self.lines.append(f"{base}[{i} < 3, {j} < 4]{self.f64()} = {f}(({x}[{j}, {i}]) - 0.5*(sum[{k} < 4] ({base}[{i} - 1, {k}] else 0)))")
        self.touched = {z for z in self.tensors if z.name == x}
        self.add(base, "f", [Size("3", 3, True), Size("4", 4, True)], "value")
        below = self.tensors[-1]
        i, j, k = self.fresh("i"), self.fresh("i"), self.fresh("k")
        self.lines.append(f"{first}[{i} < 5, {j} < {t.text}]{self.f64()} = tanh({x}[0, 0]*({base}[{j} - 1, {i}] else 1) - 0.5*(sum[{k} < {t.text}] "
                          f"({base}[{k} - 1, {j}] else 0)*({first}[{i} - 1, {k}] else 0)) + 0.25*({first}[{i}, {j} + 1] else 1))")
        self.touched = {below}
        self.add(first, "f", [Size("5", 5, True), t], "value")
        i, j = self.fresh("i"), self.fresh("i")
        self.lines.append(f"{second}[{i} < 5, {j} < 2]{self.f64()} = {f}(({base}[1, {i}] else 0.5)) + 0.5*({second}[{i} + 1, {j}] else 0) "
                          f"+ 0.25*({second}[{i}, {j} + 1] else 0)" + self.one("", f" + 0.25*({second}[{i} + 1, {j} + 1] else 0)"))
        self.touched = {below}
        self.add(second, "f", [Size("5", 5, True), Size("2", 2, True)], "value")

    def define_state(self):
        """A state, its readers, and an update that reads both: what is read is from before the update."""
        n = self.one(2, 3, 4)
        s = Size(str(n), n, True)
        r, y, w, i, j, k = (self.fresh(c) for c in "sDDiii")
        x = self.given("x", [s], self.floating)
        self.lines.append(f"state {r}[{n}]{self.f64()} = {self.literal()}")
        self.values[r] = (self.data([s], self.floating), [n])
        self.add(r, "f", [s], "state")
        self.lines.append(f"{w}[{i} < {n}]{self.f64()} = {r}[{i}]*{self.literal()}")
        self.touched = {self.tensors[-1]}
        self.add(w, "f", [s], "value")
        self.lines.append(f"{y}[{j} < {n}]{self.f64()} = (sum[{k} < {n}] {w}[{k}])*{x}[{j}] + ({r}[{j} - 1] else 0)")
        self.touched = {t for t in self.tensors if t.name in (w, x, r)}
        self.add(y, "f", [s], "value")
        self.lines.append(f"update {r}[{i} < {n}] = {self.one(f'{r}[{i}] + {w}[{i}]', f'{w}[{n - 1} - {i}] - {r}[{i}]', f'{y}[{i}] + 0.5*({r}[{i} + 1] else 0)')}")
        self.updated.append(r)

    def define_tree(self):
        """A vertex function over trees."""
        if self.graphs:
            return
        g, f, v, h, k = self.fresh("G"), self.fresh("f"), self.fresh("i"), self.fresh("D"), self.fresh("k")
        width = Size(str(self.one(1, 2, 3)), 0, True)
        width.value = int(width.text)
        n, most = self.one(0, 1, 3, 5, 7), self.one(1, 2, 2)
        self.lines.append(f"graph {g}(children <= {most}, vertices <= {self.one(8, 40)})")
        vertices = Size(f"{g}.vertices", n, False)
        self.sizes_given[vertices.text] = n
        x = self.given("x", [vertices, width], self.floating)
        kinds = self.given("w", [vertices], lambda: self.r.randrange(3), " : i32 < 3")
        d, l = self.fresh("i"), self.fresh("k")
        cell = self.one(f"x[{d}] + sum[{k} < {most}] {self.one('', '0.5*')}h[{k}, {d}]",
                        f"x[{d}] + sum[{k} < {most}, {l} < {width.text}] h[{k}, {l}]*(0.5 - 0.25*{self.floats}({l}))",
                        f"select(kind == 1, x[{d}], sum[{k} < {most}] h[{k}, {d}])",
                        f"select(children > 0, sum[{k} < {most}] h[{k}, {d}], x[{d}])")
        self.lines += [f"vertex {f}(x[{width.text}], kind : i32) over {g}{self.one('', '', ' down')} {{",
                       f"  gather h[{most}, {width.text}]{self.f64()} = {self.one('0', '0.5')}",
                       f"  y[{d} < {width.text}]{self.f64()} = tanh({cell})", "  scatter h = y", "  push y", "}",
                       f"{h} = {f}({x}, {kinds})"]
        self.values[f"{g}.child"] = ([[self.r.randrange(-1, z) for _ in range(most)] for z in range(n)], [n, most])
        self.touched = {t for t in self.tensors if t.name == x}
        self.add(h, "f", [vertices, width], "value")
        self.graphs.append(g)

    def define_declared(self):
        """Bounds that are declared of what is given once: they hold or they do not."""
        n = self.one(2, 3, 4)
        s = Size(str(n), n, True)
        below = self.one(2, 3, 4)
        name = self.fresh("v")
        wrong = self.chance(0.4)
        values = [self.r.randrange(below + (3 if wrong else 0)) for _ in range(n)]
        p = self.r.random()
        runtime = [z for z in self.sizes if not z.fixed and z.value]
        if p < 0.35:
            bound = self.r.choice(runtime).text if runtime and self.chance(0.6) else str(below)
            self.lines.append(f"const {name}[{n}] : i32 < {bound} = [{', '.join(map(str, values))}]")
            self.add(name, "i", [s], "value", below if bound == str(below) else None)
        elif p < 0.7:
            i = self.fresh("i")
            e = self.one(f"i32({i})", f"i32(2*{i})", f"i32({i} % {below})", f"i32({i}/2)")
            self.lines.append(f"state {name}[{i} < {n}] : i32 < {below} = {e}")
            self.add(name, "i", [s], "state", below)
        else:
            self.lines.append(f"input {name} : i32 < {below} = {values[0]}")
            self.add(name, "i", [], "value", below)

    # ---- the whole

    def finish(self):
        """A loss, gradients, and outputs."""
        values = [t for t in self.tensors if t.role == "value" and t.kind == "f"]
        outputs = [t.name for t in self.tensors if t.role == "value" and self.chance(0.5)]
        if values and self.chance(0.6) and not self.special:
            parts, deps = [], set()
            for t in self.r.sample(values, min(len(values), self.one(1, 1, 2))):
                env, _ = self.left(t.shape)
                subs = f"[{', '.join(i.name for i in env)}]" if env else ""
                power = self.one("", "", "^2")
                ranges = ", ".join(f"{i.name} < {i.size.text}" for i in env)
                weight = f"*(0.5 + 0.25*{self.floats}({env[0].name}))" if env and self.chance(0.5) else ""
                parts.append(f"(sum[{ranges}] {t.name}{subs}{power}{weight})" if env else f"{t.name}{power}")
                deps |= t.deps | {t.name}
            self.lines.append("loss = " + " + ".join(parts))
            targets = [t.name for t in self.tensors if t.kind == "f" and t.name in deps]
            self.r.shuffle(targets)
            constants = [t.name for t in self.tensors if t.role == "constant" and t.name in deps]
            targets = (constants + [t for t in targets if t not in constants])[:self.one(1, 2, 3)]
            for t in targets:
                self.lines.append(f"g{t} = grad(loss, {t})")
                outputs.append(f"g{t}")
            if targets and self.chance(0.25):
                t = self.r.choice([x for x in self.tensors if x.name in targets])
                env, _ = self.left(t.shape)
                subs = f"[{', '.join(i.name for i in env)}]" if env else ""
                ranges = ", ".join(f"{i.name} < {i.size.text}" for i in env)
                self.lines.append(f"loss2 = sum[{ranges}] g{t.name}{subs}^2" if env else f"loss2 = g{t.name}^2")
                other = self.r.choice(targets)
                self.lines.append(f"gg{other} = grad(loss2, {other})")
                outputs.append(f"gg{other}")
        if not outputs:
            outputs = [t.name for t in self.tensors if t.role == "value"][-1:]
        return outputs

    def draw(self):
        self.sizes = [self.new_size() for _ in range(self.one(2, 3, 4))]
        for s in self.sizes:  # a run-time size is the extent of an input
            if not s.fixed:
                name = self.fresh("x")
                self.declare(name, [s], self.f64())
                self.add(name, "f", [s], "input")
                self.values[name] = (self.data([s], self.floating), [s.value])
        for k in range(self.one(1, 2, 3)):
            self.special_now = self.special is not None and k == 0
            self.draw_input()
        self.special_now = False
        steps = [(self.define_value, 10), (self.define_again, 5), (self.define_integer, 5), (self.define_constant, 2),
                 (self.define_position, 2), (self.define_recurrence, 5), (self.define_triangular, 2),
                 (self.define_channel, 2), (self.define_chain, 1), (self.define_levels, 2), (self.define_product, 4),
                 (self.define_rounds, 4), (self.define_declared, 2), (self.define_images, 0.8),
                 (self.define_rows, 2), (self.define_running, 2), (self.define_factored, 1.5), (self.define_wavefront, 1),
                 (self.define_ragged, 1), (self.define_keyed, 1), (self.define_carries, 1.5), (self.define_tower, 1),
                 (self.define_state, 1.5), (self.define_tree, 1)]
        if self.special is not None:
            steps = [(self.define_product, 1)]
        if self.only:
            steps = [(getattr(self, f"define_{name}"), 1) for name in self.only]
        counts = (1, 1, 2) if len(self.only or ()) == 1 else (2, 3, 4, 5, 6)
        for _ in range(self.one(*counts)):
            self.r.choices([s for s, _ in steps], [w for _, w in steps])[0]()
            self.self_reads, self.touched = None, set()
        outputs = self.finish()
        if not outputs:
            return None
        update = f" update {', '.join(self.updated)}" if self.updated and self.chance(0.8) else ""
        self.lines.append(f"output {', '.join(outputs)}{update}")
        return Program("\n".join(self.lines) + "\n", self.values, dict(self.sizes_given), self.floats,
                       self.special is not None or self.holds_infinity, self.seed)


def sign_of(steps):
    return steps[0][0]


def program(seed, only=None):
    """The program of a seed, or None; with `only`, made of these kinds of definitions."""
    return Draw(seed, only).draw()


# Kinds of definitions that programs seldom have, all of which the seeds meet in turn: alone, then among others.
RARE = ("hashed", "stacked", "last", "shared", "known", "scaled", "winners", "rows_asked", "words", "cells", "running",
        "wavefront", "ragged", "factored", "carries", "tower")
LATER = ("narrow", "counted", "hidden", "guarded")
OTHERS = ["value", "integer", "again", "recurrence", "rounds", "product"]


def rare(seed):
    kind = RARE[seed % len(RARE)]
    if seed // len(RARE) % 8 == 6:  # so that the seeds of the others stay what they were
        kind = LATER[seed % len(LATER)]
    return [kind] if seed // len(RARE) % 2 == 0 else [kind]*len(OTHERS) + OTHERS
