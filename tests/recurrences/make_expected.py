#!/usr/bin/env python3
"""Writes tests/recurrences/expected/*.txt: what PyTorch and JAX in f64 compute for the models of this
folder.

Needs PyTorch (2.0 or later) and JAX (0.4 or later):  python3 tests/recurrences/make_expected.py [MODEL...]

Inputs and parameters come from a formula, `fill`, which tests/oracle/machine.c has too. A case is a
function of a dictionary of all inputs and parameters; it returns the outputs of the entry `forward`,
and "loss" where there is one: a file then holds the outputs of the entry `test`, the loss and dX for
each input X of `wrt`, and of the entry `grad` the loss and the gradients of the parameters. In a case
of PyTorch values are its tensors, in one of JAX its arrays.
"""
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "oracle"))
sys.dont_write_bytecode = True
import numpy as np

SIZES = {"B": 3, "T": 5, "N": 4, "S": 3}
CASES = {}

# ---- values


def phase(name):
    return sum(ord(c) * (i + 1) for i, c in enumerate(name)) % 97


def fill(name, shape, steps):
    """Multiples of 1/steps within [-0.9, 0.9]."""
    v = [math.floor(0.9 * steps * math.sin(1.7 * k + phase(name)) + 0.5) / steps
         for k in range(math.prod(shape))]
    return np.array(v, dtype=np.float64).reshape(shape)


def fill_int(name, shape, n):
    v = [(37 * k + k // 3 + phase(name)) % n for k in range(math.prod(shape))]
    return np.array(v, dtype=np.int64).reshape(shape)


def line(entry, name, t):
    t = np.asarray(t).reshape(-1)
    text = (f"{v:.12g}" if math.isfinite(v) else str(v) for v in t.tolist())
    return " ".join([entry, name, str(t.size), *text])


# ---- frameworks: what runs a case, and forms gradients with respect to some names


class Torch:

    def run(self, f, values):
        return {k: t.detach().numpy() for k, t in f(self.tensors(values)).items()}

    def gradients(self, f, values, names):
        x = self.tensors(values)
        loss = f(x)["loss"]
        g = torch.autograd.grad(loss, [x[k] for k in names], allow_unused=True)
        return {k: np.zeros_like(values[k]) if t is None else t.numpy() for k, t in zip(names, g)}

    @staticmethod
    def tensors(values):
        return {k: torch.tensor(v, requires_grad=v.dtype == np.float64) for k, v in values.items()}


class Jax:

    def run(self, f, values):
        return {k: np.asarray(t) for k, t in f(dict(values)).items()}

    def gradients(self, f, values, names):

        def loss(some):
            return f({**values, **some})["loss"]

        return jax.grad(loss)({k: values[k] for k in names})


def case(framework, inputs=None, params=None, ints=None, wrt=()):
    """Names -> shapes of float inputs and parameters, names -> (shape, bound) of integers."""

    def register(f):
        CASES[f.__name__.rstrip("_")] = (f, framework, inputs or {}, params or {}, ints or {}, wrt)
        return f

    return register


def used_sizes(name):
    with open(os.path.join(HERE, name + ".expr")) as f:
        dims = [l for l in f if l.startswith("dim ")]
    return [s for s in SIZES if any(f" {s} <=" in l for l in dims)]


def expected(name):
    f, framework, inputs, params, ints, wrt = CASES[name]
    w = framework()
    x = {k: fill(k, s, 4) for k, s in inputs.items()}
    x.update({k: fill_int(k, *s) for k, s in ints.items()})
    x.update({k: fill(k, s, 32) for k, s in params.items()})
    out = [f"size {s} {SIZES[s]}" for s in used_sizes(name)]
    r = w.run(f, x)
    loss = r.pop("loss", None)
    out += [line("forward", k, t) for k, t in r.items()]
    if loss is None:
        return out
    out.append(line("test", "loss", loss))
    g = w.gradients(f, x, [*wrt, *params])
    out += [line("test", "d" + k, g[k]) for k in wrt]
    out.append(line("grad", "loss", loss))
    out += [line("grad", "grad:" + k, g[k]) for k in params]
    return out


# ---- recurrent layers


def half(gates, out, hidden, n, lead=()):
    """Parameters of a layer in one direction; R where `out` differs from `hidden`."""
    s = {"W": (gates * hidden, n), "U": (gates * hidden, out), "bw": (gates * hidden,),
         "bu": (gates * hidden,)}
    if out != hidden:
        s["R"] = (out, hidden)
    return {k: (*lead, *v) for k, v in s.items()}


def layers(name, gates, hidden, n, layers=1, directions=1, out=None):
    """Parameters of a call of nn.lstm, nn.gru or nn.rnn, or of one that they make of NAME_from."""
    out = out or hidden
    s = {}
    for d in "fb"[:directions]:
        s |= {f"{name}.first.{d}.{k}": v for k, v in half(gates, out, hidden, n).items()}
        if layers > 1:
            more = half(gates, out, hidden, directions * out, (layers - 1,))
            s |= {f"{name}.y.rest.{d}.{k}": v for k, v in more.items()}
    return s


def weights(p, name, count, directions):
    """PyTorch's list of a module's weights."""
    w = []
    for l in range(count):
        for d in "fb"[:directions]:
            for k in ("W", "U", "bw", "bu", "R"):
                at = f"{name}.first.{d}.{k}" if l == 0 else f"{name}.y.rest.{d}.{k}"
                if at in p:
                    w.append(p[at] if l == 0 else p[at][l - 1])
    return w


def recur(make, p, name, x, h, count=1, directions=1, len=None, **options):
    """A module of PyTorch on sequences [batch, time, feature], some of which are shorter, and have at
    least one step: h, then y and the last states."""
    hidden = options.pop("hidden")
    m = make(x.shape[-1], hidden, count, batch_first=True, bidirectional=directions == 2, **options)
    names = [n for n, _ in m.named_parameters()]
    table = dict(zip(names, weights(p, name, count, directions)))
    if len is None:
        return torch.func.functional_call(m, table, (x, h))
    steps = x.shape[1]
    pack = torch.nn.utils.rnn.pack_padded_sequence(x, len, True, False)
    y, h = torch.func.functional_call(m, table, (pack, h))
    return torch.nn.utils.rnn.pad_packed_sequence(y, True, 0.0, steps)[0], h


def mean(*tensors):
    return sum((k + 1) * (t**2).mean() + t.sin().mean() for k, t in enumerate(tensors))


@case(
    Torch, {"X": (3, 5, 3), "H": (4, 3, 4), "C": (4, 3, 4)}, {
        **layers("a.y", 4, 4, 3),
        **layers("b", 4, 4, 3, 2, 2),
        **layers("c.y", 4, 4, 8, 3, 1, 2)
    }, wrt=("X", "H", "C"))
def lstm(v):
    L = torch.nn.LSTM
    zero = torch.zeros(1, 3, 4)
    a, (ha, ca) = recur(L, v, "a.y", v["X"], (zero, zero), hidden=4)
    b, (hb, cb) = recur(L, v, "b", v["X"], (v["H"], v["C"]), 2, 2, torch.tensor([2, 5, 1]), hidden=4)
    zeros = torch.zeros(3, 3, 2), torch.zeros(3, 3, 4)
    c, (hc, cc) = recur(L, v, "c.y", b, zeros, 3, hidden=4, proj_size=2)
    return dict(a=a, b=b, hb=hb, cb=cb, c=c, loss=mean(a, ha, ca, b, hb, cb, c, hc, cc))


@case(
    Torch, {"X": (3, 5, 3), "H": (4, 3, 4)}, {
        **layers("a.y", 3, 4, 3),
        **layers("b.y", 3, 4, 3, 2, 2),
        **layers("c.y", 1, 3, 8, 2, 2),
        **layers("d.y", 1, 4, 6, 2, 2)
    }, wrt=("X", "H"))
def gru(v):
    G, R = torch.nn.GRU, torch.nn.RNN
    len = torch.tensor([2, 5, 1])
    a, ha = recur(G, v, "a.y", v["X"], torch.zeros(1, 3, 4), hidden=4)
    b, hb = recur(G, v, "b.y", v["X"], v["H"], 2, 2, len, hidden=4)
    c, hc = recur(R, v, "c.y", b, torch.zeros(4, 3, 3), 2, 2, hidden=3)
    d, hd = recur(R, v, "d.y", c, v["H"], 2, 2, len, hidden=4, nonlinearity="relu")
    return dict(a=a, b=b, hb=hb, c=c, d=d, hd=hd, loss=mean(a, ha, b, hb, c, hc, d, hd))


def main():
    global torch, jax, jnp, F
    import jax
    import jax.numpy as jnp
    import torch
    import torch.nn.functional as F
    jax.config.update("jax_enable_x64", True)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    os.makedirs(os.path.join(HERE, "expected"), exist_ok=True)
    for name in sys.argv[1:] or CASES:
        with open(os.path.join(HERE, "expected", name + ".txt"), "w") as f:
            f.write("\n".join(expected(name)) + "\n")


main()
