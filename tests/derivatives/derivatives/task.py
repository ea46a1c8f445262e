"""A task of differentiation: a program without its entries, a loss of some of its tensors, and its gradients.

The text gets, behind its own statements,

    zl = (sum[i, j] Y[i, j]*<weight of i, j>) + ...          the loss, of up to three tensors
    zg0 = grad(zl, x)                                        for each tensor that moves
    zs = (sum[i] zg0[i]*<weight of i>) + ...                 their derivative along a direction
    zh0 = grad(zs, x)                                        second derivatives along it

and the entry `dz` that gives all of them. Weights are sums of the indices modulo a prime, so the text says them and needs
no input for them; the direction of the second derivatives is made of such weights, too.
"""

import random
import zlib

import numpy as np

from relations.printer import text_of
from relations.syntax import Call, Declare, Case as Choice, Define, Output, Path, Repeat, Train, While, nodes, parse

from evaluator import Program, STANDARD, scalars, tape

FLOATS = ("f64", "f32", "f16", "bf16")


class Tensor:
    """A tensor of the program: `role` is input, param, state, const or value."""

    def __init__(self, name, role, kind, shape):
        self.name, self.role, self.kind, self.shape = name, role, kind, shape


def names_of(statements):
    """(name, role) of what a program declares and defines, outside of functions."""
    for s in statements:
        if isinstance(s, Declare):
            yield s.variable.name, s.kind
        elif isinstance(s, Define):
            for name in [s.target.name, *s.more]:
                yield name, "value"


def lookup(program, name):
    return program.main.view().lookup(tuple(name.split(".")), None)


class Case:
    """A program to be differentiated: its text, values {name: array}, run-time sizes, its narrowest type of floats, the
    folder of its modules, and sizes that are known when it is compiled."""

    def __init__(self, text, values, sizes, floats, folder=None, defines=None):
        self.text, self.values, self.sizes, self.floats = text, values, sizes, floats
        self.folder, self.defines = folder, defines or {}

    def program(self, text=None, move=None):
        """The evaluator's program."""
        return Program(text or self.text, self.values, {**self.sizes, **self.defines}, [STANDARD], self.folder, move=move)

    def options(self):
        """The gradients of neoc."""
        return ([f"-I{self.folder}"] if self.folder else []) + [f"-D{n}={v}" for n, v in self.defines.items()]


class Weights:
    """Numbers of the indices of a tensor, as text and as an array."""

    def __init__(self, r, shape):
        self.shape = shape
        self.factors = [r.randrange(1, 11) for _ in shape]
        self.shift = r.randrange(11)
        self.unit = r.choice((0.125, 0.25, 0.1875))

    def array(self):
        total = np.full(self.shape, self.shift)
        for k, i in enumerate(np.indices(self.shape) if self.shape else []):
            total = total + self.factors[k]*i
        return ((total % 11) - 4.5)*self.unit

    def text(self, kind):
        indices = "".join(f"{f}*zi{k} + " for k, f in enumerate(self.factors))
        return f"({kind}(({indices}{self.shift}) % 11) - 4.5)*{self.unit}" if self.shape else f"{self.array()}"


def _term(name, t, text):
    """The sum of a tensor's elements, each as the text says it."""
    if not t.shape:
        return text(name)
    indices = ", ".join(f"zi{k}" for k in range(len(t.shape)))
    return f"(sum[{indices}] {text(f'{name}[{indices}]')})"


class Task:
    """A case with its loss and gradients. `only`: names of what moves; `second`: whether second derivatives are wanted."""

    def __init__(self, case, seed, second=True, values=True):
        self.case, self.seed = case, seed
        statements = parse(case.text)
        self.outputs = [".".join(p) for s in statements if isinstance(s, Output) for p in s.paths]
        self.outputs += [".".join(s.loss) for s in statements if isinstance(s, Train)]
        self.statements = [s for s in statements if not isinstance(s, (Output, Train))]
        self.base = text_of(self.statements)
        self.derived = any(isinstance(n, Call) and n.path == ("grad",) for n in nodes(self.statements))
        self.second = second
        self.tensors = self._tensors()
        self.kind = "f64" if any(t.kind == "f64" for t in self.tensors.values()) else "f32"
        self.results = self._results()
        self.moving = [t for t in self.tensors.values() if self._moves(t, values)]
        self.dropped = set()  # of which something does not depend
        self.weights = {t.name: Weights(self._random("v", t.name), t.shape) for t in self.moving}

    def _random(self, *words):
        return random.Random(zlib.crc32(repr((self.seed, *words)).encode()))

    def _tensors(self):
        """All floats of the program that can be computed, by name."""
        program, found = self.case.program(self.base), {}
        for name, role in names_of(self.statements):
            a = lookup(program, name)
            if isinstance(a, tape.Tensor) and a.type in FLOATS and a.data.size:
                found[name] = Tensor(name, role, a.type, a.data.shape)
        for name, kind in program.kinds.items():
            a = program.stored[name]
            if "." in name and a.type in FLOATS:
                found[name] = Tensor(name, kind, a.type, a.data.shape)
        self.opaque = program.opaque
        return found

    def _results(self):
        """The tensors that the loss depends on."""
        values = [t for t in self.tensors.values() if t.role == "value"]
        first = [t for t in values if t.name in self.outputs] or values
        chosen = sorted(first, key=lambda t: self._random("y", t.name).random())[:3]
        return chosen

    def _moves(self, t, values):
        if t.role == "value":
            plain = not self.derived and t.name in self.own()
            return values and plain and self._random("m", t.name).random() < 0.5
        return t.role in ("input", "param", "state", "const")

    def own(self):
        """Definitions that are tensors of their own, not other names of some, nor what loops give."""
        return {s.target.name for s in self.statements if isinstance(s, Define) and not s.more and
                not isinstance(s.value, (Repeat, While, Choice, Path)) and s.target.indices is not None}

    # ---- the text

    def first(self):
        return [(k, t) for k, t in enumerate(self.moving) if f"zg{k}" not in self.dropped]

    def twice(self):
        """The tensors of which second derivatives are taken; given values stay constant."""
        return [(k, t) for k, t in self.first() if t.role != "value"] if self.second else []

    def third(self):
        return [(k, t) for k, t in self.twice() if f"zh{k}" not in self.dropped and self.twice()]

    def text(self):
        lines, outputs = [], ["zl"]
        lines.append("zl = " + " + ".join(self._loss(t) for t in self.results))
        for k, t in self.first():
            lines.append(f"zg{k} = grad(zl, {t.name})")
            outputs.append(f"zg{k}")
        if self.twice():
            lines.append("zs = " + " + ".join(self._along(k, t) for k, t in self.twice()))
            outputs.append("zs")
        for k, t in self.third():
            lines.append(f"zh{k} = grad(zs, {t.name})")
            outputs.append(f"zh{k}")
        return self.base + "\n".join(lines) + f"\noutput dz: {', '.join(outputs)}\n"

    def _converted(self, t, text):
        return text if t.kind == self.kind else f"{self.kind}({text})"

    def _loss(self, t):
        r = self._random("w", t.name)
        how = r.randrange(4)
        w = Weights(r, t.shape)

        def one(text):
            text = self._converted(t, text)
            return [text, f"{text}*({w.text(self.kind)})", f"{text}^2*({w.text(self.kind)})", f"{text}^2"][how]
        return _term(t.name, t, one)

    def _along(self, k, t):
        return _term(f"zg{k}", t, lambda text: f"{self._converted(t, text)}*({self.weights[t.name].text(self.kind)})")

    # ---- directions

    def direction(self):
        """A direction of all that moves, in no particular way."""
        rng = np.random.default_rng([self.seed, 77])
        return {t.name: rng.uniform(-1, 1, t.shape) for t in self.moving}

    def nearby(self):
        """Steps from the values to some of no particular kind."""
        rng = np.random.default_rng([self.seed, 78])
        return {t.name: rng.uniform(0.01, 0.02, t.shape)*rng.choice((-1, 1), t.shape) for t in self.moving}

    def written(self):
        """The direction that the text says, for second derivatives."""
        return {t.name: self.weights[t.name].array() for k, t in self.twice()}
