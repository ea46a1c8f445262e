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
import itertools
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "oracle"))
sys.dont_write_bytecode = True
import numpy as np

SIZES = {"B": 3, "T": 5, "N": 4, "S": 3, "V": 9, "G.vertices": 9}
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
    """Below n; or between the ends that a function gives for the indices of an element."""
    ends = n if callable(n) else lambda *index: (0, n)
    k = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    low, high = (np.broadcast_to(e, shape) for e in ends(*np.indices(shape)))
    return low + (37 * k + k // 3 + phase(name)) % (high - low)


def line(entry, name, t):
    t = np.asarray(t).reshape(-1)
    text = (f"{v:.12g}" if math.isfinite(v) else str(v) for v in t.tolist())
    return " ".join([entry, name, str(t.size), *text])


# ---- frameworks: what runs a case, and forms gradients with respect to some names


class Torch:

    def run(self, f, values):
        return {k: t.detach().numpy() for k, t in f(self.tensors(values)).items()}

    def gradients(self, f, values, names):
        names = list(names)
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


def case(framework, inputs=None, params=None, ints=None, wrt=(), train=True,
         **sizes):
    """Names -> shapes of float inputs and parameters, names -> (shape, bound) of integers; sizes that
    are not those of SIZES."""

    def register(f):
        CASES[f.__name__.rstrip("_")] = (f, framework, inputs or {}, params or {}, ints or {}, wrt, train,
                                         sizes)
        return f

    return register


def used_sizes(name):
    with open(os.path.join(HERE, name + ".expr")) as f:
        lines = f.readlines()
    dims = [l for l in lines if l.startswith("dim ")]
    graphs = [l.split("(")[0].split()[1] + ".vertices" for l in lines if l.startswith("graph ")]
    return [s for s in SIZES if any(f" {s} <=" in l for l in dims) or s in graphs]


def expected(name):
    f, framework, inputs, params, ints, wrt, train, sizes = CASES[name]
    w = framework()
    x = {k: fill(k, s, 4) for k, s in inputs.items()}
    x.update({k: fill_int(k, *s) for k, s in ints.items()})
    x.update({k: fill(k, s, 32) for k, s in params.items()})
    out = [f"size {s} {sizes.get(s, SIZES[s])}" for s in used_sizes(name)]
    r = w.run(f, x)
    loss = r.pop("loss", None)
    out += [line("forward", k, t) for k, t in r.items()]
    if loss is None:
        return out
    out.append(line("test", "loss", loss))
    g = w.gradients(f, x, {**dict.fromkeys(wrt), **(params if train else {})})
    out += [line("test", "d" + k, g[k]) for k in wrt]
    if not train:
        return out
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
        **layers("c.y", 4, 4, 8, 2, 1, 2)
    }, wrt=("X", "H", "C"))
def lstm(v):
    L = torch.nn.LSTM
    zero = torch.zeros(1, 3, 4)
    a, (ha, ca) = recur(L, v, "a.y", v["X"], (zero, zero), hidden=4)
    b, (hb, cb) = recur(L, v, "b", v["X"], (v["H"], v["C"]), 2, 2, torch.tensor([2, 5, 1]), hidden=4)
    zeros = torch.zeros(2, 3, 2), torch.zeros(2, 3, 4)
    c, (hc, cc) = recur(L, v, "c.y", b, zeros, 2, hidden=4, proj_size=2)
    return dict(a=a, b=b, hb=hb, cb=cb, c=c, loss=mean(a, ha, ca, b, hb, cb, c, hc, cc))


@case(
    Torch, {"X": (3, 5, 3), "H": (4, 3, 4)}, {
        **layers("a.y", 3, 4, 3),
        **layers("b.y", 3, 4, 3, 2, 2),
        **layers("c.y", 1, 3, 8, 2),
        **layers("d.y", 1, 4, 3, 4)
    }, wrt=("X", "H"))
def gru(v):
    G, R = torch.nn.GRU, torch.nn.RNN
    len = torch.tensor([2, 5, 1])
    a, ha = recur(G, v, "a.y", v["X"], torch.zeros(1, 3, 4), hidden=4)
    b, hb = recur(G, v, "b.y", v["X"], v["H"], 2, 2, len, hidden=4)
    c, hc = recur(R, v, "c.y", b, torch.zeros(2, 3, 3), 2, hidden=3)
    d, hd = recur(R, v, "d.y", c, v["H"], 4, 1, len, hidden=4, nonlinearity="relu")
    return dict(a=a, b=b, hb=hb, c=c, d=d, hd=hd, loss=mean(a, ha, b, hb, c, hc, d, hd))


# ---- sequences of labels


@case(Torch, {"X": (7, 5, 4)}, {"W": (4, 4)}, wrt=("X",), B=7)
def ctc(v):
    l = (v["X"] @ v["W"]).log_softmax(-1).transpose(0, 1)
    y = torch.tensor([[1, 1, 2], [3, 1, 0], [0, 0, 0], [2, 2, 2], [3, 0, 0], [0, 0, 0], [1, 2, 0]])
    lens = torch.tensor([5, 4, 5, 4, 1, 0, 0]), torch.tensor([3, 2, 0, 3, 1, 0, 2])

    def loss(reduction, zero=True, blank=0):
        # PyTorch's own gradient of what has no steps is not 0
        return F.ctc_loss(l, y, *lens, blank, reduction, zero)

    r = dict(each=loss("none", False), zeros=loss("none"), by=loss("mean"), total=loss("sum"),
             last=loss("mean", blank=3))
    return dict(**r, loss=r["by"] + 0.25 * r["total"] + r["last"])


@case(Torch, {"X": (5, 5, 3)}, {"A": (3, 3), "first": (3,), "last": (3,)}, {"Y": ((5, 5), 3)},
      wrt=("X",), B=5)
def crf(v):
    """By all paths."""
    A, first, last = v["A"], v["first"], v["last"]

    def score(x, path, by=1):
        s = first[path[0]] + last[path[-1]]
        s = s + by * sum(A[i, j] for i, j in itertools.pairwise(path))
        return s + sum(x[t, k] for t, k in enumerate(path))

    each, wide, best, paths = [], [], [], torch.zeros(5, 5)
    for n, len in enumerate([5, 2, 1, 0, 4]):
        if not len:
            each.append(torch.tensor(0.0))
            wide.append(torch.tensor(0.0))
            best.append((first + last).max())
            continue
        every = list(itertools.product(range(3), repeat=len))
        scores = torch.stack([score(v["X"][n], path) for path in every])
        each.append(scores.logsumexp(0) - score(v["X"][n], v["Y"][n, :len].tolist()))
        apart = torch.stack([score(v["X"][n], path, 60) for path in every])
        wide.append(apart.logsumexp(0) - score(v["X"][n], v["Y"][n, :len].tolist(), 60))
        best.append(scores.max())
        paths[n, :len] = torch.tensor(every[int(scores.argmax())])
    each, wide, best = torch.stack(each), torch.stack(wide).mean(), torch.stack(best)
    return dict(each=each, by=each.mean(), wide=wide, score=best, path=paths,
                loss=each.sum() + each.mean() + (best**2).mean() + 0.015625 * wide)


def levenshtein(a, b, insertion=1, removal=1, replacement=1):
    row = [insertion * j for j in range(len(b) + 1)]
    for x in a:
        before, row = row, [row[0] + removal]
        for j, y in enumerate(b):
            same = before[j] + (replacement if x != y else 0)
            row.append(min(same, before[j + 1] + removal, row[-1] + insertion))
    return row[-1]


def soft_dtw(x, y, gamma):
    r = {(-1, -1): torch.tensor(0.0)}
    for i in range(len(x)):
        for j in range(len(y)):
            near = [r[k] for k in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if k in r]
            soft = -gamma * torch.logsumexp(-torch.stack(near) / gamma, 0)
            r[i, j] = ((x[i] - y[j])**2).sum() + soft
    return r[len(x) - 1, len(y) - 1]


@case(Torch, {}, {"X": (4, 6, 2), "Y": (4, 4, 2), "Z": (3, 7)}, {"a": ((4, 4), 3), "b": ((4, 3), 3)},
      B=4)
def alignment(v):
    x, y, z = v["X"][:, :4], v["Y"][:, :3], v["Z"]
    texts = [(v["a"][n, :i].tolist(), v["b"][n, :j].tolist())
             for n, (i, j) in enumerate([(4, 3), (0, 2), (3, 0), (1, 1)])]
    w, u = (torch.stack([soft_dtw(x[n], y[n], g) for n in range(4)]) for g in (1.0, 0.125))
    (g, gi), (m, mi) = (first_of(z, f) for f in (torch.gt, torch.lt))
    s, p, l = z.cumsum(1), z.cumprod(1), z.logcumsumexp(1)
    return dict(d=torch.tensor([levenshtein(*t) for t in texts]),
                e=torch.tensor([levenshtein(*t, 2, 3, 4) for t in texts]), w=w, v=u, s=s, p=p, g=g,
                gi=gi, m=m, mi=mi, l=l,
                loss=(w + u**2).mean() + (s.sin() + p**2 + g * l + m**3).mean())


def first_of(z, better):
    """Running extrema, the first of equals: torch.cummax has the last."""
    at = torch.zeros(z.shape, dtype=torch.int64)
    for k in range(1, z.shape[1]):
        here = better(z[:, k], z.gather(1, at[:, k - 1:k])[:, 0])
        at[:, k] = torch.where(here, k, at[:, k - 1])
    return z.gather(1, at), at


# ---- linear recurrences


def mamba_params(name, I, state, width, expand, rank):
    E = expand * I
    return {f"{name}.{k}": s for k, s in dict(
        Wi=(2 * E, I), F=(E, width), b=(E,), Wx=(rank + 2 * state, E), Wt=(E, rank), bt=(E,),
        Al=(E, state), D=(E,), Wo=(I, E)).items()}


def mamba_block(v, name, x, state, rank):
    """As the authors' reference implementation has it."""
    Wi, f, b, Wx, Wt, bt, Al, D, Wo = (v[f"{name}.{k}"] for k in
                                       ("Wi", "F", "b", "Wx", "Wt", "bt", "Al", "D", "Wo"))
    u, z = (x @ Wi.T).chunk(2, -1)
    T, width = x.shape[1], f.shape[1]
    u = F.conv1d(u.transpose(1, 2), f[:, None], b, padding=width - 1, groups=len(f))[..., :T]
    u = F.silu(u.transpose(1, 2))
    d, B, C = (u @ Wx.T).split([rank, state, state], -1)
    d = F.softplus(d @ Wt.T + bt)
    h, ys = torch.zeros(x.shape[0], *Al.shape), []
    for t in range(T):
        h = torch.exp(d[:, t, :, None] * -Al.exp()) * h
        h = h + (d[:, t] * u[:, t])[..., None] * B[:, t, None]
        ys.append((h * C[:, t, None]).sum(-1) + D * u[:, t])
    return (torch.stack(ys, 1) * F.silu(z)) @ Wo.T


def linear_attention(q, k, v, decay):
    w = torch.einsum("bthk,bshk->bhts", F.elu(q) + 1, F.elu(k) + 1)
    t = torch.arange(q.shape[1])
    w = w * (decay**(t[:, None] - t)).tril()
    return torch.einsum("bhts,bshe->bthe", w / w.sum(-1, keepdim=True), v)


@case(
    Torch, {
        "X": (3, 5, 4),
        "Q": (3, 5, 2, 3),
        "K": (3, 5, 2, 3),
        "V": (3, 5, 2, 2)
    }, {
        **mamba_params("y", 4, 3, 4, 2, 2),
        **mamba_params("z", 4, 2, 1, 1, 1)
    }, wrt=("X", "Q", "K", "V"))
def mamba(v):
    y = mamba_block(v, "y", v["X"], 3, 2)
    z = mamba_block(v, "z", torch.tanh(0.125 * y), 2, 1)
    a, d = (linear_attention(v["Q"], v["K"], v["V"], g) for g in (1.0, 0.875))
    return dict(y=y, z=z, a=a, d=d,
                loss=(y.sin() + z.sin()).mean() + (a**2 + d.sin()).mean())


# ---- linear algebra


@case(Jax, {"C": (3, 4, 2)}, {"P": (3, 5, 5), "G": (3, 5, 3)}, wrt=("C", "P", "G"), train=False)
def factorizations(v):
    A = v["P"][:, :4, :4] + 0.5 * jnp.eye(4)
    M = A @ A.swapaxes(1, 2) + jnp.eye(4)
    C, solve = v["C"], jax.scipy.linalg.solve_triangular
    L = jnp.linalg.cholesky(M)
    U = L.swapaxes(1, 2)
    F, _, order = jax.lax.linalg.lu(A)
    r = dict(L=L, X=jnp.linalg.solve(M, C), d=jnp.linalg.slogdet(M)[1], l=solve(L, C, lower=True),
             u=solve(U, C), lt=solve(L, C, trans=1, lower=True, unit_diagonal=True),
             ut=solve(U, C, trans=1, unit_diagonal=True), F=F, order=order,
             Y=jnp.linalg.solve(A, C), I=jnp.linalg.inv(A))
    r["s"], r["ld"] = jnp.linalg.slogdet(A)
    r["Q"], r["R"] = jnp.linalg.qr(v["G"])
    r["x"] = jnp.linalg.solve(M[0], C[0, :, 1])
    r["loss"] = ((r["L"]**3).mean() + (r["X"]**2 + r["l"] * r["u"]).mean() +
                 (r["lt"] * r["ut"]).mean() + (r["d"] + 0.5 * r["ld"]).mean() + (r["Y"]**2).mean() +
                 jnp.sin(r["I"]).mean() + jnp.sin(F).mean() + (r["Q"]**3).mean() +
                 jnp.sin(r["R"]).mean() + (r["x"]**2).mean())
    return r


@case(Jax, {"Z": (3, 5), "A": (4, 3)}, wrt=("Z", "A"), train=False, N=5)
def doubles(v):
    Z = v["Z"] + 0.03125 * jnp.arange(5)
    g, m = jax.lax.cummax(Z, axis=1), jax.lax.cummin(Z, axis=1)
    r = dict(p=jnp.cumprod(Z, 1), g=g, gi=jnp.argmax(g[:, :, None] == Z[:, None], 2), m=m,
             mi=jnp.argmax(m[:, :, None] == Z[:, None], 2), l=jax.lax.cumlogsumexp(Z, axis=1))
    r["Q"], r["R"] = jnp.linalg.qr(v["A"])
    r["loss"] = (jnp.sin(r["p"] + g * r["l"] + m**3).sum() + (r["Q"]**3).sum() + jnp.sin(r["R"]).sum())
    return r


# ---- reads at elements of a tensor


@case(Torch, {"X": (9, 3)}, {"W": (3, 4), "U": (2, 4, 4)}, {"child": ((9, 2), 9)}, wrt=("X",), T=9)
def tree(v):
    X, W, U, child, h = v["X"], v["W"], v["U"], v["child"], []
    for t in range(9):
        of = [h[c - 1] @ U[k] for k, c in enumerate(child[t].tolist()) if 0 < c <= t]
        h.append(torch.tanh(X[t] @ W + sum(of)))
    h = torch.stack(h)
    loss = (h**2).mean() + (h[8] * W[0]).sum()
    dX, dW, dU = torch.autograd.grad(loss, (X, W, U), create_graph=True)
    bent = (dX**2).sum() + (dW**2).sum() + 0.5 * (dU**2).sum()
    return dict(h=h, bentX=torch.autograd.grad(bent, X, retain_graph=True)[0], loss=loss)


# ---- elements that inputs name, each vertex by itself


@case(Torch, {"x": (9, 3)}, {"U": (2, 3, 3), "w": (3,)},
      {"child": ((9, 2), lambda v, k: (-1, v)), "back": ((9,), lambda v: (1, v + 2))}, wrt=("x",), V=9)
def trees(v):
    x, U, w = v["x"], v["U"], v["w"]
    child, back = v["child"].tolist(), v["back"].tolist()
    h, depth, s, g = [], [], [], [None] * 9
    for i in range(9):
        kids = [h[c] if c >= 0 else torch.full((3,), 0.25) for c in child[i]]
        h.append(torch.tanh(x[i] + sum(kid @ U[k] for k, kid in enumerate(kids))))
        depth.append(max(depth[c] if c >= 0 else -1 for c in child[i]) + 1)
        s.append(w[0] * x[i, 0] + 0.5 * (s[i - back[i]] if i >= back[i] else torch.ones(())))
    for i in reversed(range(9)):
        above = [g[p] * torch.diagonal(U[k]) for p in range(9) for k in range(2) if child[p][k] == i]
        g[i] = torch.tanh(h[i] * w + sum(above))
    first = [-1 if depth[i] == 0 else child[i][0] for i in range(9)]
    r = [s[i] if first[i] < 0 else h[first[i]][1] for i in range(9)]
    h, s, g, r, d = torch.stack(h), torch.stack(s), torch.stack(g), torch.stack(r), torch.tensor(depth)
    loss = (h**2).sum() + (d * s**2).sum() + (g**2 * w).sum() + (r**2).sum()
    return dict(h=h, depth=d, s=s, g=g, r=r, loss=loss)


@case(Torch, {"x": (9, 3)}, {"h.W": (3, 4), "h.U": (4, 4), "F": (2, 4, 4), "v0": (4,), "L.W": (4, 3), "L.b": (3,)},
      {"G.child": ((9, 2), lambda v, k: (-1, v)), "y": ((9,), 3)}, wrt=("x",), **{"G.vertices": 9})
def vertices(v):
    x, W, U, F_, v0, child = v["x"], v["h.W"], v["h.U"], v["F"], v["v0"], v["G.child"].tolist()
    h, c, size = [], [], []
    for i, kids in enumerate(child):
        hs = [h[k] if k >= 0 else torch.zeros(4) for k in kids]
        cs = [c[k] if k >= 0 else torch.full((4,), 0.25) for k in kids]
        gate = torch.sigmoid(x[i] @ W + (hs[0] + hs[1]) @ U)
        c.append(gate + sum(torch.sigmoid(1 + hs[k] @ F_[k]) * cs[k] for k in range(2)))
        h.append(torch.tanh(c[i]) / (1 + sum(k >= 0 for k in kids)))
        size.append(1 + sum(size[k] for k in kids if k >= 0))
    h = torch.stack(h)

    def down(h, scale):
        s, depth = [None] * 9, [None] * 9
        for i in reversed(range(9)):
            above = [[p for p in range(9) if child[p][k] == i] for k in range(2)]
            g = [sum(s[p] for p in of) if of else torch.zeros(4) for of in above]
            m = [sum(depth[p] for p in of) if of else 0.5 for of in above]
            s[i] = torch.tanh(h[i] + scale[i] * (g[0] + g[1])) + 0.125 * m[0] * m[1]
            depth[i] = 0.5 * (m[0] + m[1]) - 0.25
        return torch.stack(s)

    g = z = down(h, h * v0)
    for _ in range(2):
        z = down(z, g)
    loss = F.cross_entropy(z @ v["L.W"] + v["L.b"], v["y"]) + (torch.tensor(size) * h[:, 0]**2).mean()
    return dict(h=h, size=torch.tensor(size), g=g, z=z, loss=loss)


# ---- branches: Python takes one, and differentiates no other


@case(Torch, {"X": (5, 3)}, {"w": (3,)}, {"k": ((5,), 2)}, wrt=("X",))
def branches(v):
    X, w, k = v["X"], v["w"], v["k"].tolist()
    z = torch.stack([torch.stack([x.sqrt() if x > 0 else 0.5 * x for x in row]) for row in X])
    s, ss = torch.tensor(0.25), []
    for t in range(5):
        y = s.log() * X[t, 0] if s > 0.125 else s + w[0]
        if k[t] == 0:
            s = y * X[t, 1]
        else:
            s = y + (w * (X[t, 2] * torch.arange(1, 4)).sqrt()).sum() if X[t, 2] > 0 else y
        ss.append(s)
    loss = (z * w).sum() + sum(u**2 for u in ss)
    dX, dw = torch.autograd.grad(loss, (X, w), create_graph=True)
    bentX, = torch.autograd.grad((dX**2).sum() + (dw**2).sum(), X, retain_graph=True)
    return dict(z=z, s=s, ss=torch.stack(ss), bentX=bentX, loss=loss)


# ---- gradients inside of rounds: carries are leaves, as arguments of jax.grad are


@case(Jax, {"X": (5, 4), "Y": (5,)}, {"w0": (4,), "P": (4,), "U": (4, 4)}, wrt=("X", "Y"))
def inner_gradients(v):
    X, Y, P, U, T = v["X"], v["Y"], v["P"], v["U"], v["X"].shape[0]

    def miss(w, x, y):
        h = jnp.full(4, 0.125)
        for _ in range(3):
            h = jnp.tanh(w * x + U @ h)
        return (w @ h - y)**2

    w, m, losses = v["w0"], jnp.zeros(4), []
    for t in range(T):
        losses.append(miss(w, X[t], Y[t]))
        m = 0.5 * m + jax.grad(miss)(w, X[t], Y[t])
        w = w - 0.25 * m

    def made(P):
        return jnp.sin(P) + 0.5 * P[0]

    def energy(q, E, X, t):
        return (q * E * X[t]**2 * (X[t - 1] if t else 1)).sum()

    q, eE, eP, eX = jnp.full(4, 0.25), [], [], []
    for t in range(T):
        eE.append(jax.grad(energy, 1)(q, made(P), X, t))
        eP.append(jax.grad(lambda p: energy(q, made(p), X, t))(P))
        eX.append(jax.grad(energy, 2)(q, made(P), X, t))
        q = (q - 0.125 * jax.grad(energy)(q, made(P), X, t) * eE[-1] + 0.25 * eP[-1] * eP[-1][0] +
             0.125 * eX[-1][t])
    eE, eP, eX = map(jnp.stack, (eE, eP, eX))

    root = 2.0
    for _ in range(20):
        f, f1, f2 = root**3 - 2 * root - P[1]**2, 3 * root**2 - 2, 6 * root
        root = root - 2 * f * f1 / (2 * f1**2 - f * f2)

    def bend(z, x, w):
        return (z * x + jnp.array([0.0625, 0.3125, 0, 0.171875])).max() + jax.nn.logsumexp(z * w) + 0.125 * (z + 2).prod()

    def three(u, x):
        s = 0
        for _ in range(3):
            s += bend(u, x, v["w0"])
            gz, gw = jax.grad(bend, (0, 2))(u, x, v["w0"])
            u = u - 0.125 * gz + 0.0625 * gw * u
        return s, u

    u, us = jnp.full(4, 0.25), [None] * T
    for t in reversed(range(T)):
        (us[t], z), gu = jax.value_and_grad(three, has_aux=True)(u, X[t])
        u = u + 0.0625 * gu - 0.25 * z
    us = jnp.stack(us)

    losses = jnp.stack(losses)
    loss = ((w**2).sum() + losses.sum() + (q**2).sum() + (eE * eP).sum() + 0.125 * (eX**2).sum() +
            root + (u**2).sum() + 0.125 * us.sum())
    return dict(w=w, m=m, losses=losses, q=q, eE=eE, eP=eP, eX=eX, root=root, u=u, us=us, loss=loss)


@case(Jax, {}, {"P": (4,)})
def jacobian(v):
    P = v["P"]
    J = jax.vmap(jax.jacobian(lambda x: jnp.stack([x[0] * jnp.sin(x[1]) + x[0], x[1]**2 * x[0]])))(
        P.reshape(2, 2))
    return dict(J=J, loss=(jnp.linalg.det(J)**2).sum())


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
