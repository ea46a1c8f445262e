#!/usr/bin/env python3
"""Writes tests/zoo/expected/*.txt: what PyTorch in f64 computes for models/zoo at small sizes.

Needs PyTorch (2.0 or later):  python3 tests/zoo/make_expected.py [CASE...]

A case is a function of a net, `@case(defines, sizes, rule)`: it asks the net for inputs, parameters
and states by the names that neo gives them, and returns the outputs of the entry `forward`, with
"loss", that of `test` and of training. The file says what to set, then, one tensor a line, the
outputs of `forward` and `test`, loss and gradients of `grad`, losses of ten training steps, and all
parameters and states after them; see test_zoo.c and tests/oracle/expected.h.
"""
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "oracle"))
sys.dont_write_bytecode = True
from oracle import f32, gradients, line, momentum, sgd

import torch
import torch.nn.functional as F

STEPS = 10
SUMS = 3
MASK = 2**64 - 1
CASES = {}

# ---- values


def mix(a, b):
    """expected_hash of tests/oracle/expected.c"""
    z = ((a + 1) * 0x9e3779b97f4a7c15 + b * 0xd1342543de82ef95) & MASK
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


def hashes(seed, name, shape):
    for c in name.encode():
        seed = mix(seed, c)
    return [mix(k, seed) for k in range(math.prod(shape))]


def power(x):
    """The nearest power of 2, so that products with it are exact."""
    return 2.0**round(math.log2(x))


def summed(entry, name, t):
    """A line of values, or of their norm and signed sums where there are many."""
    t = torch.as_tensor(t).detach().reshape(-1)
    if t.numel() <= SUMS + 1:
        return line(entry, name, t)
    x = t.tolist()
    sums = [math.fsum(-v if mix(k, j) >> 63 else v for k, v in enumerate(x)) for j in range(SUMS)]
    values = [math.sqrt(math.fsum(v * v for v in x))] + sums
    return f"{entry} {name} {len(x)} ~ " + " ".join(f"{v:.12g}" for v in values)


# ---- the frame


class Net:
    """What a case runs in: its tensors, made when they are asked for the first time."""

    def __init__(self, seed, sizes):
        self.seed, self.training, self.lines = seed, False, []
        self.params, self.states, self.inputs, self.pending = {}, {}, {}, {}
        for name, value in sizes.items():
            setattr(self, name, value)

    def make(self, name, shape, center, scale):
        if (center, scale) != (0, 1):
            self.lines.append(line("fill", name, torch.tensor([center, scale])))
        v = [center + scale * (h % 63 - 31) / 32 for h in hashes(self.seed, name, shape)]
        return torch.tensor(v, dtype=torch.float64).reshape(shape)

    def input(self, name, shape, center=0.0, scale=1.0):
        if name not in self.inputs:
            self.inputs[name] = self.make(name, shape, center, scale)
        return self.inputs[name]

    def ints(self, name, shape, bound):
        v = [h % bound for h in hashes(self.seed, name, shape)]
        return torch.tensor(v, dtype=torch.int64).reshape(shape)

    def param(self, name, shape, center=0.0, scale=1.0):
        if name not in self.params:
            self.params[name] = self.make(name, shape, center, scale).requires_grad_(True)
        return self.params[name]

    def weight(self, name, shape, fan):
        """Scaled so that sums over `fan` products keep the size of their input."""
        return self.param(name, shape, scale=power(1.6 / math.sqrt(fan)))

    def state(self, name, shape, value):
        if name not in self.states:
            self.states[name] = torch.full(shape, float(value), dtype=torch.float64)
        return self.states[name]

    def update(self, name, value):
        """Takes effect when the run ends, in training."""
        self.pending[name] = value.detach()

    def run(self, f, training):
        self.training, self.pending = training, {}
        r = f(self)
        if training:
            self.states.update(self.pending)
        return r

    # The library's layers, by the names of their calls.

    def linear(self, name, x, out):
        fan = x.shape[-1]
        return x @ self.weight(name + ".W", (fan, out), fan) + self.param(name + ".b", (out,))


def case(rule, defines=None, sizes=None, seed=0, model=None):
    """A function f(net) as a case of its name. `defines` are -D, `sizes` run-time sizes; both are
    attributes of the net. `model`, where it is not the function's name: the file in models/zoo."""

    def register(f):
        CASES[f.__name__] = (f, rule, defines or {}, sizes or {}, seed, model or f.__name__)
        return f

    return register


def expected(name):
    f, rule, defines, sizes, seed, model = CASES[name]
    net = Net(seed, {**defines, **sizes})
    r = net.run(f, False)
    loss = r.pop("loss")
    values = [summed("forward", k, t) for k, t in r.items()] + [line("test", "loss", loss)]
    states = dict(net.states)
    loss = net.run(f, True)["loss"]
    values.append(line("grad", "loss", loss))
    values += [summed("grad", "grad:" + k, g) for k, g in gradients(loss, net.params).items()]
    net.states = states
    rule.begin(net.params)
    for _ in range(STEPS):
        loss = net.run(f, True)["loss"]
        values.append(line("step", "loss", loss))
        rule.step(gradients(loss, net.params))
    kept = list(net.params.items()) + list(rule.after()) + list(net.states.items())
    values += [summed("after", k, t) for k, t in kept]
    head = [f"model {model}", f"seed values {seed}"]
    head += [f"define {k} {v}" for k, v in defines.items()]
    return head + [f"size {k} {v}" for k, v in sizes.items()] + net.lines + values


# ---- the models


@case(sgd(f32(0.1)), {"WIDTH": 7, "CLASSES": 5}, {"B": 4})
def mlp(net):
    x = net.input("X", (net.B, net.WIDTH))
    for name in ["h1", "h2", "h3"]:
        x = net.linear(name + ".h", x, net.WIDTH).relu()
    L = net.linear("L", x, net.CLASSES)
    return dict(L=L, loss=F.cross_entropy(L, net.ints("Y", (net.B,), net.CLASSES)))


def main():
    os.makedirs(os.path.join(HERE, "expected"), exist_ok=True)
    for name in sys.argv[1:] or CASES:
        with open(os.path.join(HERE, "expected", name + ".txt"), "w") as f:
            f.write("\n".join(expected(name)) + "\n")


main()
