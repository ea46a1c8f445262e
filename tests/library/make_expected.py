#!/usr/bin/env python3
"""Writes tests/library/expected/*.txt: what PyTorch in f64 computes for the models of this folder.

Needs PyTorch (2.0 or later):  python3 tests/library/make_expected.py [MODEL...]

Inputs and parameters come from a formula, `fill`, which tests/oracle/machine.c has too. Every
model is a function of (p, x, training): parameters by name, inputs by name; it returns a dictionary
of all named results with "loss". A file holds, one tensor a line,

    size B 3
    ENTRY NAME N VALUES...     outputs of an entry; gradients are those of entry `grad`
    after NAME N VALUES...     parameters and states after three steps
    now NAME N VALUES...       a state after the entry in front
"""
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "oracle"))
sys.dont_write_bytecode = True
from oracle import Adam, adagrad, adam, adamw, bn, f32, gradients, lamb, line, momentum, rmsprop, sgd, \
    adam_rows

import torch
import torch.nn.functional as F

SIZES = {"B": 3, "T": 4, "N": 5, "E": 9, "H": 6, "W": 7}
MODELS = {}

# ---- values


def phase(name):
    return sum(ord(c) * (i + 1) for i, c in enumerate(name)) % 97


def count(shape):
    return math.prod(shape)


def fill(name, shape, steps):
    """Multiples of 1/steps within [-0.9, 0.9]: coarse enough for some to be equal, or zero."""
    ph = phase(name)
    v = [
        math.floor(0.9 * steps * math.sin(1.7 * k + ph) + 0.5) / steps for k in range(count(shape))
    ]
    return torch.tensor(v).reshape(shape)


def fill_int(name, shape, low, n):
    ph = phase(name)
    v = [(37 * k + k // 3 + ph) % n + low for k in range(count(shape))]
    return torch.tensor(v, dtype=torch.int64).reshape(shape)


# ---- the frame


def model(inputs, params, outputs, optimizer, wrt=(), states=None, ints=None, frozen=False,
          more=lambda p, x, st: []):
    """Names -> shapes for float inputs and parameters, names -> (shape, low, count) for integers.
    `wrt`: output dW of entry `test` is the gradient of the loss for input W. `frozen`: its training
    cannot be compared as usual. `more`: further lines, after three steps."""

    def register(f):
        MODELS[f.__name__] = dict(run=f, inputs=inputs, params=params, outputs=outputs, wrt=wrt,
                                  optimizer=optimizer, states=states or {}, ints=ints or {},
                                  frozen=frozen, more=more)
        return f

    return register


def values(m):
    x = {k: fill(k, s, 4).requires_grad_(True) for k, s in m["inputs"].items()}
    x.update({k: fill_int(k, *s) for k, s in m["ints"].items()})
    p = {k: fill(k, s, 32).requires_grad_(True) for k, s in m["params"].items()}
    st = {k: torch.full(s, v) for k, (s, v) in m["states"].items()}
    return p, x, st


def expected(name):
    m = MODELS[name]
    p, x, st = values(m)
    names = sorted({s for s in SIZES if used(name, s)})
    out = [f"size {s} {SIZES[s]}" for s in names]
    r = m["run"](p, x, dict(st), False)
    out += [line("forward", k, r[k]) for k in m["outputs"]]
    tested = [k for k in r if k.endswith("loss")]
    if not tested:
        return out
    out += [line("test", k, r[k]) for k in tested]
    g = gradients(r[tested[0]], {k: x[k] for k in m["wrt"]})
    out += [line("test", "d" + k, g[k]) for k in m["wrt"]]
    if m["frozen"]:
        return out + m["more"](p, x, st)
    loss = m["run"](p, x, dict(st), True)["loss"]
    out.append(line("grad", "loss", loss))
    out += [line("grad", "grad:" + k, g) for k, g in gradients(loss, p).items()]
    rules = m["optimizer"] if isinstance(m["optimizer"], list) else [(m["optimizer"], list(p))]
    for rule, over in rules:
        rule.begin({k: p[k] for k in over})
    for step in range(3):
        x["step"] = step
        loss = m["run"](p, x, st, True)["loss"]
        out.append(line("step", f"loss", loss))
        g = gradients(loss, p)
        for rule, over in rules:
            rule.step({k: g[k] for k in over})
    out += [line("after", k, t) for k, t in p.items()]
    for rule, _ in rules:
        out += [line("after", k, t) for k, t in rule.after()]
    out += [line("after", k, t) for k, t in st.items()]
    return out + m["more"](p, x, st)


def used(name, size):
    with open(os.path.join(HERE, name + ".expr")) as f:
        return any(l.startswith("dim ") and f" {size} <=" in l for l in f)


# ---- the library


def lin(p, name, x):
    return x @ p[name + ".W"] + p[name + ".b"]


@model({
    "X": (3, 3, 5),
    "Y": (3, 3, 2)
}, {
    "h.W": (5, 7),
    "h.b": (7,),
    "y.W": (7, 2),
    "y.b": (2,),
    "z.W": (5, 2),
    "z.b": (2,)
}, ["y", "z"], sgd(0.125, decay=0.0625), wrt=("X", "Y"))
def linear(p, x, st, training):
    y = lin(p, "y", torch.tanh(lin(p, "h", x["X"])))
    z = lin(p, "z", x["X"][:, 1])
    return dict(y=y, z=z, loss=F.mse_loss(y, x["Y"]) + 0.5 * (z**2).mean())


@model({"X": (3, 4, 7, 6)}, {
    "F": (5, 4, 3, 2),
    "g.F": (3, 5, 3, 3),
    "g.b": (3,),
    "h.F": (6, 2, 3, 3),
    "h.b": (6,),
    "l.F": (4, 3, 2, 2)
}, ["a", "s", "g", "h", "k", "l"], momentum(0.125, 0.875, clip=0.25), wrt=("X",))
def conv(p, x, st, training):
    a = F.conv2d(x["X"], p["F"])
    s = F.conv2d(x["X"], p["F"], stride=2, padding=1, dilation=2)
    g = F.conv2d(a, p["g.F"], p["g.b"], padding=1)
    h = F.conv2d(x["X"], p["h.F"], p["h.b"], stride=2, padding=2, groups=2)
    k = F.channel_shuffle(h, 2)
    l = F.conv2d(k, p["l.F"], groups=2)
    loss = (s**2).mean() + g.sin().mean() + (h**3).mean() + (l**2).mean()
    return dict(a=a, s=s, g=g, h=h, k=k, l=l, loss=loss)


@model({"X": (3, 3, 5, 7)}, {"W": (3, 5, 7)}, ["m2", "m3", "a2", "a3", "g"],
       momentum(2**-10, 0.75, decay=0.5, clip=4.0, nesterov=True), wrt=("X",))
def pool(p, x, st, training):
    v = x["X"] * p["W"]
    r = dict(m2=F.max_pool2d(v, 2), m3=F.max_pool2d(v, 3, 2, 1), a2=F.avg_pool2d(v, 2),
             a3=F.avg_pool2d(v, 3, 1, 1), g=v.mean((2, 3)))
    r["loss"] = ((r["m2"]**2).sum() + r["m3"].sin().sum() + (r["a2"]**2).sum() +
                 (r["a3"]**3).sum() + r["g"].exp().sum())
    return r


@model({
    "X": (3, 3, 2, 5),
    "Z": (3, 4)
}, {
    "y.g": (3,),
    "y.b": (3,),
    "z.g": (4,),
    "z.b": (4,)
}, ["y", "z"], momentum(0.25, 0.5), wrt=("X", "Z"), states={
    "y.mu": ((3,), 0.0),
    "y.va": ((3,), 1.0),
    "z.mu": ((4,), 0.0),
    "z.va": ((4,), 1.0)
})
def batch_norm(p, x, st, training):
    y = bn(p, st, "y", x["X"], 2**-10, 0.25, training)
    z = bn(p, st, "z", x["Z"], f32(1e-5), f32(0.1), training)
    return dict(y=y, z=z, loss=(y**3).mean() + (3 * z + 0.5).sin().mean())


def rms(x, g, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * g


@model({"X": (3, 3, 5)}, {
    "l.g": (5,),
    "l.b": (5,),
    "r.g": (5,)
}, ["l", "r"], momentum(0.25, 0.875, nesterov=True), wrt=("X",))
def norms(p, x, st, training):
    l = F.layer_norm(x["X"], (5,), p["l.g"], p["l.b"], f32(1e-5))
    r = rms(x["X"], p["r.g"], 2**-10)
    return dict(l=l, r=r, loss=(2 * l).sin().mean() + (r**3).mean())


@model({"X": (3, 2, 7)}, {"W": (7, 7)}, ["s", "l"], adam(0.03125, clip=0.03125), wrt=("X",))
def softmax(p, x, st, training):
    h = x["X"] @ p["W"]
    s, l = F.softmax(h, -1), F.log_softmax(h, -1)
    return dict(s=s, l=l, loss=(s**2).mean() + l.sin().mean())


@model({
    "X": (3, 3, 5),
    "Z": (3, 3, 5)
}, {"W": (5, 5)}, ["ce", "sm", "mse", "hub", "bce"], adamw(0.03125, 0.25), wrt=("X", "Z"),
       ints={"Y": ((3, 3), 0, 5)})
def losses(p, x, st, training):
    h = x["X"] @ p["W"]
    flat, y = h.reshape(-1, 5), x["Y"].reshape(-1)
    r = dict(ce=F.cross_entropy(flat, y), sm=F.cross_entropy(flat, y, label_smoothing=0.125),
             mse=F.mse_loss(h, x["Z"]), hub=F.huber_loss(h, x["Z"], delta=0.375),
             bce=F.binary_cross_entropy_with_logits(h, torch.sigmoid(x["Z"])))
    r["loss"] = r["ce"] + 0.5 * r["sm"] + 0.25 * r["mse"] + 2 * r["hub"] + r["bce"]
    return r


@model({}, {
    "tok.T": (6, 5),
    "pos.T": (6, 5)
}, ["L"], rmsprop(0.03125, 0.875, 0.125), ints={
    "X": ((3, 4), 0, 6),
    "Y": ((3, 4), 0, 6)
})
def embedding(p, x, st, training):
    h = torch.tanh(F.embedding(x["X"], p["tok.T"]) + 0.5 * F.embedding(x["Y"], p["pos.T"]))
    L = h @ p["tok.T"].T
    return dict(L=L, loss=F.cross_entropy(L.reshape(-1, 6), x["Y"].reshape(-1)))


@model({}, {"table": (40, 5), "other": (40, 5), "L.W": (5, 3), "L.b": (3,)}, ["L"],
       [(adam(0.03125), ["L.W", "L.b"]), (adam_rows(0.03125), ["table"]),
        (Adam(0.03125, "sparse_adam"), ["other"])],
       ints={"X": ((3, 4), 0, 40)})
def tables(p, x, st, training):
    word = (x["X"] + 5 * x.get("step", 0)) % 40
    h = (F.embedding(word, p["table"]) + F.embedding(x["X"], p["other"])).sum(1).tanh()
    L = h @ p["L.W"] + p["L.b"]
    return dict(L=L, loss=F.cross_entropy(L, torch.tensor([0, 1, 2])))


@model({"X": (3, 11)}, {"W": (11, 13)}, ["d"], sgd(0.03125), wrt=("X",), frozen=True)
def dropout(p, x, st, training):
    d = F.dropout(x["X"] @ p["W"], 0.25, training)
    return dict(d=d, loss=d.sum())


def dot(q, k, v, causal=False):
    """[batch, time, head, feature]; the last query stands at the last key."""
    t, s = q.shape[1], k.shape[1]
    mask = torch.ones(t, s, dtype=torch.bool).tril(s - t) if causal else None
    y = F.scaled_dot_product_attention(*(a.transpose(1, 2) for a in (q, k, v)), attn_mask=mask)
    return y.transpose(1, 2)


def heads(x, w):
    return torch.einsum("btd,dhk->bthk", x, w)


def attend(p, name, x, causal):
    q, k, v = (heads(x, p[f"{name}.W{c}"]) for c in "qkv")
    return torch.einsum("bthk,hkd->btd", dot(q, k, v, causal), p[name + ".Wo"]) + p[name + ".bo"]


def attention_params(name, d, h, lead=()):
    s = {f"{name}.W{c}": (*lead, d, h, d // h) for c in "qkv"}
    s.update({name + ".Wo": (*lead, h, d // h, d), name + ".bo": (*lead, d)})
    return s


@model({
    "Q": (3, 3, 2, 5),
    "K": (3, 4, 2, 5),
    "V": (3, 4, 2, 3),
    "X": (3, 5, 6)
}, {
    **attention_params("m", 6, 3),
    **attention_params("n", 6, 2)
}, ["a", "c", "m", "n"], adagrad(0.03125), wrt=("Q", "K", "V", "X"))
def attention(p, x, st, training):
    a = dot(x["Q"], x["K"], x["V"])
    c = dot(x["Q"], x["K"], x["V"], True)
    m = attend(p, "m", x["X"], False)
    n = attend(p, "n", m, True)
    return dict(a=a, c=c, m=m, n=n, loss=(a**2 + c.sin()).mean() + (m**2).mean() + n.mean())


BLK = "x.block."
BLOCK = {
    BLK + "n1.g": (2, 4),
    BLK + "n1.b": (2, 4),
    **attention_params(BLK + "a", 4, 2, (2,)), BLK + "n2.g": (2, 4),
    BLK + "n2.b": (2, 4),
    BLK + "h.W": (2, 4, 5),
    BLK + "h.b": (2, 5),
    BLK + "o.W": (2, 5, 4),
    BLK + "o.b": (2, 4)
}


@model({}, {
    "tok.T": (5, 4),
    **BLOCK, "n.g": (4,),
    "n.b": (4,)
}, ["L"], lamb(0.0625, 0.125), ints={
    "X": ((3, 4), 0, 5),
    "Y": ((3, 4), 0, 5)
})
def block(p, x, st, training):
    v = F.embedding(x["X"], p["tok.T"])
    for l in range(2):
        q = {k: p[BLK + k][l] for k in (n[len(BLK):] for n in BLOCK)}
        n1 = F.layer_norm(v, (4,), q["n1.g"], q["n1.b"], f32(1e-5))
        u = v + attend(q, "a", n1, True)
        n2 = F.layer_norm(u, (4,), q["n2.g"], q["n2.b"], f32(1e-5))
        v = u + lin(q, "o", F.gelu(lin(q, "h", n2)))
    L = F.layer_norm(v, (4,), p["n.g"], p["n.b"], f32(1e-5)) @ p["tok.T"].T
    return dict(L=L, loss=F.cross_entropy(L.reshape(-1, 5), x["Y"].reshape(-1)))


def cell_params(name, gates, i, d, biases):
    g = (gates,) if gates > 1 else ()
    return {
        f"{name}.W": (*g, i, d),
        f"{name}.U": (*g, d, d),
        **{
            f"{name}.{b}": (*g, d) for b in biases
        }
    }


CELLS = {
    **cell_params("r1", 1, 2, 3, ["b"]),
    **cell_params("r2", 1, 3, 3, ["b"]),
    **cell_params("h1", 4, 2, 3, ["b"]),
    **cell_params("h2", 4, 3, 3, ["b"]),
    **cell_params("g1", 3, 2, 3, ["bw", "bu"]),
    **cell_params("g2", 3, 3, 3, ["bw", "bu"])
}


def rows(w, order=None):
    """[gate, in, out] -> PyTorch's [gate*out, in], its gates in our order."""
    w = w if order is None else w[order]
    return w.transpose(-1, -2).reshape(-1, w.shape[-2])


def lstm(p, n, x, h, c):
    o = [0, 1, 3, 2]  # PyTorch: input, forget, candidate, output
    b = p[n + ".b"][o].reshape(-1)
    return torch.lstm_cell(x, (h, c), rows(p[n + ".W"], o), rows(p[n + ".U"], o), b,
                           torch.zeros_like(b))


def gru(p, n, x, h):
    o = [1, 0, 2]  # PyTorch: reset, update, candidate
    return torch.gru_cell(x, h, rows(p[n + ".W"], o), rows(p[n + ".U"], o),
                          p[n + ".bw"][o].reshape(-1), p[n + ".bu"][o].reshape(-1))


@model({
    "X": (3, 2),
    "H": (3, 3),
    "C": (3, 3)
}, CELLS, ["r2", "h2", "c2", "g2"], lamb(0.0625, 0.125, clip=0.125), wrt=("X", "H", "C"))
def cells(p, x, st, training):
    X, H, C = x["X"], x["H"], x["C"]
    r = H
    for n, i in (("r1", X), ("r2", None)):
        b = p[n + ".b"]
        r = torch.rnn_tanh_cell(i if i is not None else r, H, p[n + ".W"].T, p[n + ".U"].T, b,
                                torch.zeros_like(b))
    h1, c1 = lstm(p, "h1", X, H, C)
    h2, c2 = lstm(p, "h2", h1, h1, c1)
    g1 = gru(p, "g1", X, H)
    g2 = gru(p, "g2", g1, g1)
    return dict(r2=r, h2=h2, c2=c2, g2=g2,
                loss=(r**2).mean() + (h2**2).mean() + c2.sin().mean() + (g2**3).mean())


# ---- the language


class Gate(torch.autograd.Function):

    @staticmethod
    def forward(ctx, x, s):
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, dy):
        x, s = ctx.saved_tensors
        return dy.clamp(-0.0625, 0.0625) * s, 2 * (dy * x).sum(0)


@model({"X": (3, 5)}, {"W": (5, 3), "S": (3,)}, ["q", "y"], sgd(0.125), wrt=("X",))
def ste(p, x, st, training):
    k = 4 * (x["X"] @ p["W"])
    q = k + (k.round() - k).detach()
    y = Gate.apply(q, p["S"])
    return dict(q=q, y=y, loss=(y.sin() * (1 + y).detach()).mean())


@model({"X": (3, 5), "D": (5, 3)}, {"W": (5, 3), "v": (3,)}, ["G", "Hv", "J"], sgd(0.125))
def penalty(p, x, st, training):
    X, W = x["X"], p["W"]
    h = torch.tanh(X @ W)
    s = (h**2 * p["v"]).sum(1)
    G, dW = torch.autograd.grad(s.sum(), (X, W), create_graph=True)
    n = ((G**2).sum(1) + 0.25).sqrt()
    Hv, = torch.autograd.grad((dW * x["D"]).sum(), W, create_graph=True)
    J, = torch.autograd.grad(h, X, h, create_graph=True)
    return dict(G=G, Hv=Hv, J=J, loss=s.mean() + 0.5 * ((n - 1)**2).mean())


STACK = {"s": (), "x.z.layer.h.W": (3, 2, 5, 5), "x.z.layer.h.b": (3, 2, 5), "x.n.g": (3, 5)}


@model({"X": (3, 5)}, STACK, ["x"], [(momentum(0.125, f32(0.9)), ["s"]),
                                     (adam(0.03125), list(STACK)[1:])], wrt=("X",))
def stacked(p, x, st, training):
    v = x["X"]
    for l in range(3):
        for k in range(2):
            v = v + torch.tanh(v @ p["x.z.layer.h.W"][l, k] + p["x.z.layer.h.b"][l, k])
        v = rms(v, p["x.n.g"][l], f32(1e-5)) * p["s"] + l * 0.125
    return dict(x=v, loss=v.sin().mean())


@model({
    "X": (3, 3, 2, 4),
    "s": ()
}, {
    "W": (3,),
    "v": ()
}, ["b", "d", "t", "w"], sgd(0.125), wrt=("X", "s"))
def ranks(p, x, st, training):

    def last(t):
        return (t * torch.arange(1.0, t.shape[-1] + 1)).sum(-1)

    def soft(t):
        return torch.log1p(t.exp())

    a = x["X"] * p["W"][:, None, None]
    b = last(a)
    c = last(b)
    d = last(c)
    t = soft(soft(b))
    w = soft(c) * x["s"]
    loss = ((d**2).sum() * 2**-10 + t.mean() + p["v"]**2 + (w**2).mean() +
            0.125 * soft(soft(p["v"])) + a[0, 1, 1, 2])
    return dict(b=b, d=d, t=t, w=w, loss=loss)


def adversary(p, x, st):
    """Two steps of the critic, each followed by one of the generator."""
    gen = [k for k in p if k.startswith("gen.")]
    out, n = [], 0
    for entry, loss, over in (("d", "d_loss", ["V", "c"]), ("g", "g_loss", gen)):
        r = adversarial(p, x, st, True)[loss]
        out.append(line("grad_" + entry, loss, r))
        for k, g in gradients(r, {k: p[k] for k in over}).items():
            out.append(line("grad_" + entry, "grad:" + k, g))
    rule = momentum(0.25, 0.5)
    rule.begin({k: p[k] for k in ("V", "c")})
    for step in range(4):
        r = adversarial(p, x, st, True)[("d_loss", "g_loss")[step % 2]]
        out.append(line("dg"[step % 2], ("d_loss", "g_loss")[step % 2], r))
        if step % 2 == 0:
            rule.step(gradients(r, rule.p))
            continue
        lr = 0.25 * min(1, (n + 1) / 4)  # `step` counts the steps of this entry
        for k, g in gradients(r, {k: p[k] for k in gen}).items():
            with torch.no_grad():
                p[k] -= g * (lr / (1 + n**2) if k.endswith(".W") else 0.125)
        n += 1
    out += [line("after", k, t) for k, t in p.items()] + [line("after", k, t) for k, t in rule.after()]
    out.append(line("after", "g.step", n))
    return out + [line("after", k + ".warm.n", n) for k in gen if k.endswith(".W")]


@model({
    "X": (3, 3),
    "Z": (3, 2)
}, {
    "F": (3, 3),
    "V": (3, 5),
    "c": (5,),
    "gen.h.W": (2, 4),
    "gen.h.b": (4,),
    "gen.o.W": (4, 3),
    "gen.o.b": (3,)
}, ["mix"],
       None,
       frozen=True,
       more=adversary)
def adversarial(p, x, st, training):

    def critic(v):
        return (v @ p["V"] + p["c"]).relu().sum(1)

    mix = lin(p, "gen.o", torch.tanh(lin(p, "gen.h", x["Z"]))) @ p["F"]
    fake, real = critic(mix), critic(x["X"])
    return dict(mix=mix,
                g_loss=F.softplus(-fake).mean(),
                d_loss=(F.softplus(-real) + F.softplus(fake)).mean())


@model({"X": (3, 2, 6, 7)}, {
    "F": (3, 2, 3, 3),
    "g.F": (2, 2, 3, 3),
    "g.b": (2,)
}, ["a", "m", "g", "rev", "l"],
       sgd(0.125),
       wrt=("X",))
def images(p, x, st, training):
    X = x["X"]
    a = F.conv2d(X, p["F"], stride=2, padding=1)
    m = F.max_pool2d(a, 2, 1)
    up = X.repeat_interleave(2, 2).repeat_interleave(2, 3)
    g = F.conv2d(up, p["g.F"], p["g.b"], dilation=2)
    rev = X.flip(2) * X.flip(3)
    loss = (m**2).mean() + g.sin().mean() + rev.sum() / 42
    return dict(a=a, m=m, g=g, rev=rev, l=g.mean((2, 3)), loss=loss)


ROUNDS = {"x.h.W": (3, 3, 3), "x.h.b": (3, 3), "x.n.g": (3, 3), "x.n.b": (3, 3)}


@model({"X": (3, 3)},
       ROUNDS, ["x", "hs"],
       adam(0.03125),
       wrt=("X",),
       states={
           "x.n.mu": ((3, 3), 0.0),
           "x.n.va": ((3, 3), 1.0)
       },
       ints={"Y": ((3,), 0, 3)})
def rounds(p, x, st, training):
    v, hs = x["X"], []
    own = [{k[2:]: s[l] for k, s in st.items()} for l in range(3)]
    for l in range(3):
        q = {k[2:]: p[k][l] for k in ROUNDS}
        hs.append(lin(q, "h", v))
        v = v + bn(q, own[l], "n", hs[-1], f32(1e-5), 0.25, training).relu()
    for k in list(st):
        st[k] = torch.stack([o[k[2:]] for o in own])
    h = torch.stack(hs)
    return dict(x=v, hs=h, loss=F.cross_entropy(v, x["Y"]) + (h**2).mean())


def write_cache(st, m):
    st["cache"] = st["cache"].clone()
    st["cache"][int(st["at"])] = m.detach()
    st["at"] = (st["at"] + 1) % 3


def next_entry(p, x, st):
    """An output entry that updates the cache and its place, and nothing else."""
    out = [line("next", "y", states(p, x, dict(st), False)["y"])]
    write_cache(st, (x["X"] * p["W"] + 0.25 * st["total"]).mean(0))
    return out + [line("now", k, st[k]) for k in st
                 ] + [line("forward", "y",
                           states(p, x, dict(st), False)["y"])]


@model({"X": (3, 4)}, {"W": (4,)}, ["y"], sgd(0.125), more=next_entry, states={
    "total": ((4,), 0.0),
    "seen": ((), 0.0),
    "cache": ((3, 4), 0.0),
    "at": ((), 0)
})
def states(p, x, st, training):
    m = (x["X"] * p["W"] + 0.25 * st["total"]).mean(0)
    y = m + st["cache"].sum(0) * (1 + st["seen"])
    if training:
        st["total"] = st["total"] + m.detach()
        st["seen"] = st["seen"] + 1
        write_cache(st, m)
    return dict(y=y, loss=y.sin().sum())


@model({"X": (3, 4)}, {
    "a.c": (4,),
    "b.h.W": (4, 4),
    "b.h.b": (4,),
    "c.g.W": (4, 5),
    "c.g.b": (5,)
}, ["y"], sgd(0.125), wrt=("X",))
def cases(p, x, st, training):
    a = x["X"] + p["a.c"]
    b = lin(p, "b.h", x["X"])
    c = torch.tanh(lin(p, "c.g", x["X"]))
    y = a * b
    return dict(y=y, loss=y.sin().mean() + (a**2).mean() + (c**3).mean())


@model({"X": (3, 7)}, {"W": (7, 7)}, ["cat", "even", "back", "fold", "conv", "big", "lp", "out"],
       sgd(0.125), wrt=("X",), ints={"n": ((3,), 0, 8)})
def ranges(p, x, st, training):
    X, W, n = x["X"], p["W"], x["n"]
    i, j = torch.arange(7)[:, None], torch.arange(7)[None, :]
    below = j <= i
    lower = X @ (W * below).T
    band = X @ (W * ((j <= i + 1) & (i <= j + 2))).T
    valid = torch.arange(7)[None, :] < n[:, None]
    upto = (X**2 * valid).sum(1)
    even = X[:, 0:6:2] - X[:, 1:6:2]
    ahead = torch.cat([X[:, 3:], torch.ones(3, 3)], 1)
    behind = torch.cat([torch.full((3, 2), 0.25), X[:, :5]], 1)
    back = W[0].flip(0) * behind * ahead
    cat = torch.cat([lower, band], 1)
    fold = torch.stack([cat[:, k:7:3].sum(1) for k in range(3)], 1)
    conv = sum(X.roll(-r, 1) * W[1, r] for r in range(3))
    big = torch.where(X > 0.125, X**3, 0).sum(1)
    pos = torch.stack(
        [X[b, :int(n[b])].max(0)[0] if n[b] > 0 else X[b].sum() * 0 for b in range(3)])
    lp = torch.stack([
        torch.logsumexp((W + X[b][:, None] * X[b][None, :])[below.expand(7, 7)], 0)
        for b in range(3)
    ])
    out = upto + big + lp + pos
    loss = (out.mean() + (cat**2).mean() + fold.sin().mean() + (even**3).mean() + back.mean() +
            conv.cos().mean())
    return dict(cat=cat, even=even, back=back, fold=fold, conv=conv, big=big, lp=lp, out=out,
                loss=loss)


def pick_first(v, at):
    return v.gather(1, at[:, None])[:, 0]


@model({"X": (3, 4)},
       {"W": (4,)}, ["p", "pw", "h", "l", "k", "a", "z", "v", "e", "none", "one", "c", "f"],
       sgd(0.125), wrt=("X",), ints={"I": ((3, 4), 0, 3)})
def reducers(p, x, st, training):
    X, I, W = x["X"], x["I"], p["W"]
    fi = I.double()
    q = fi * W
    # the first of equals: torch.argmax promises none, so by hand
    first = [torch.tensor([row.index(max(row)) for row in t.tolist()]) for t in (q, -q, X)]
    r = dict(p=q.prod(1), pw=torch.where(I > 0, q + X, 1).prod(1), h=pick_first(q, first[0]),
             l=pick_first(q, first[1]), k=pick_first(X, first[2]), a=first[0], z=first[1])
    u = torch.where(q >= fi, q, fi)
    r["v"] = (I == 0).any(1).double() + 2 * (I > 0).all(1).double()
    r["e"] = pick_first(X, r["a"]) * pick_first(X, r["z"])
    r["none"] = torch.zeros(3)
    r["one"] = torch.tensor(1.0)
    r["c"] = (X[:, :, None] > X.gather(1, I)[:, :, None]).sum((1, 2))
    r["f"] = (X**2 * (r["c"][:, None] > I)).sum(1)
    r["loss"] = ((r["p"]**2 + r["pw"].sin() + r["h"] * r["l"] + r["k"]**2 + r["e"] + r["none"] +
                  r["v"] + r["f"]).mean() + (u * X + q.abs() + q.clamp(0, 1) + q.relu()).mean())
    return r


@model({"X": (5, 3)}, {"W": (3, 4)}, ["Z", "S"], sgd(0.125), wrt=("X",), ints={
    "src": ((9,), 0, 5),
    "dst": ((9,), 0, 5)
})
def graph(p, x, st, training):
    src, dst = x["src"], x["dst"]
    H = torch.tanh(x["X"] @ p["W"])
    Z = torch.zeros(5, 4).index_add(0, dst, H[src])
    deg = torch.zeros(5).index_add(0, dst, torch.ones(9))
    M = Z / deg.clamp(min=1)[:, None]
    far = [
        max((H[src[e], 0] * H[v, 1] for e in range(9) if dst[e] == v), key=lambda t: t.item(),
            default=0) for v in range(5)
    ]
    S = (H[src] * M[dst]).sum(1)
    return dict(Z=Z, S=S, loss=(M**2).mean() + S.sin().sum() + sum(far))


@model({"X": (3, 4, 3)}, {"W": (3, 5)}, ["L", "P", "run"], sgd(0.125), wrt=("X",),
       ints={"Y": ((12,), 0, 5)})
def flat(p, x, st, training):
    X = x["X"]
    L = X.reshape(12, 3) @ p["W"]
    P = (L.reshape(3, 4, 5) * torch.arange(1.0, 5)[:, None]).sum(1)
    run = X[:, :, 0].cumsum(1)
    return dict(L=L, P=P, run=run,
                loss=F.cross_entropy(L, x["Y"]) + P.sin().mean() + (run**2).mean())


def whole(f):
    """A step function: no gradient."""
    return lambda t: f(t.detach())


@model({"X": (3, 8)}, {"W": (8,)}, list("arcdefgh"), sgd(0.125), wrt=("X",))
def functions(p, x, st, training):
    v = x["X"] * p["W"]
    q = v.abs() + 0.5
    r = dict(
        a=v.abs() + v.sign() + (3 * v).floor() + (2 * v).ceil() + (5 * v).round(), r=1 / (1 + v**2),
        c=q.sqrt() + q.rsqrt() + v.exp() + v.expm1() + q.log() + q.log1p(),
        d=v.sin() + v.cos() + v.tan() + v.tanh() + v.sigmoid() + v.erf(),
        e=v.relu() + F.gelu(v) + F.silu(v) + F.softplus(v) + F.elu(v),
        f=v**2 + v**3 + q**1.5 + q**v + 1 / q + v.remainder(0.75),
        g=torch.where(v <= 0.25, v, 0.25) + torch.where(v >= -0.25, v, -0.25) + v.clamp(-0.5, 0.5) +
        torch.where(v < 0, v**2, 2), h=whole(torch.trunc)(4 * v) + x.get("step", 0))
    r["loss"] = sum(r.values()).mean()
    return r


@model({"X": (3, 5)}, {"W": (5, 7), "V": (7, 3)}, ["y"], sgd(0.125))
def mixed(p, x, st, training):
    """Without the roundings: f64 stands for every float type."""
    y = torch.tanh(x["X"] @ p["W"]) @ p["V"]
    return dict(y=y, loss=y.sin().mean())


@model({"X": (3, 3, 7)}, {"W": (3, 7)}, ["s", "d", "t", "back"], sgd(2**-10), wrt=("X",))
def order(p, x, st, training):
    v = x["X"] + p["W"]
    s, i = v.sort(stable=True)
    d, j = v.sort(stable=True, descending=True)
    t, back = d[..., :3], v  # torch.topk promises no order of equals; ranks undo the sort
    e = torch.arange(7.0)
    ls = (d**2 * e).sum() - (s * e.sin()).sum()
    lt = (t**3).sum() + back.sin().sum()
    return dict(s=s, d=d, t=t, back=back, loss=ls + lt + (d[..., 0]**2).sum())


@model({}, {}, ["y", "s", "w", "q", "z", "f", "c"], None, ints={
    "A": ((3, 140), -128, 256),
    "W": ((140, 3), -128, 256),
    "U": ((3, 140), 0, 256)
})
def int8(p, x, st, training):
    A, W, U = x["A"], x["W"], x["U"]

    def wrap(t):
        return (t + 128) % 256 - 128

    y = A @ W
    return dict(y=y, s=U.sum(1), w=wrap(A * A + 100), z=torch.zeros_like(A),
                q=wrap(torch.div(A, -7, rounding_mode="floor") + A.remainder(-7)),
                f=y[:, 0] * 0.125, c=torch.trunc(0.5 + 1.5 * A.double()).clamp(-128, 127))


def main():
    os.makedirs(os.path.join(HERE, "expected"), exist_ok=True)
    for name in sys.argv[1:] or MODELS:
        with open(os.path.join(HERE, "expected", name + ".txt"), "w") as f:
            f.write("\n".join(expected(name)) + "\n")


main()
