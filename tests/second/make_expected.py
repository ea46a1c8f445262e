#!/usr/bin/env python3
"""Writes tests/second/expected/*.txt: what JAX in f64 computes for the models of this folder, all
of which differentiate gradients.

Needs JAX (0.4 or later) for the processor:  python3 tests/second/make_expected.py [MODEL...]

Inputs and parameters come from a formula, `fill`, which tests/oracle/machine.c has too. A case is a
function of (p, x, training), parameters and inputs by name; it returns the outputs of the entry
`forward`, and "loss" where the model trains: a file then holds loss and gradients of `grad`, too,
the losses of three training steps and the parameters after them.

Nothing goes through jax.jit: fused code may compute an element twice, rounded differently, and then
no element of a window equals its maximum.
"""
import math
import os
import sys

try:
    import jax
except ImportError:
    sys.exit("make_expected.py: JAX is not installed; the stored values stay as they are")
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy as np
from jax import grad, lax, nn

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"B": 3, "N": 7}
STATES = {"norms"}  # not followed here
CASES = {}

# ---- values


def fill(name, shape, steps):
    """Multiples of 1/steps within [-0.9, 0.9]."""
    ph = sum(ord(c) * (i + 1) for i, c in enumerate(name)) % 97
    v = [math.floor(0.9 * steps * math.sin(1.7 * k + ph) + 0.5) / steps
         for k in range(math.prod(shape))]
    return jnp.array(v).reshape(shape)


def fill_int(name, shape, n):
    ph = sum(ord(c) * (i + 1) for i, c in enumerate(name)) % 97
    v = [(37 * k + k // 3 + ph) % n for k in range(math.prod(shape))]
    return np.array(v).reshape(shape)


def line(entry, name, t):
    t = np.asarray(t).reshape(-1)
    return " ".join([entry, name, str(t.size), *(f"{v:.11g}" for v in t.tolist())])


# ---- the frame


def case(inputs, params=None, ints=None, lr=None, size="B"):
    """Names -> shapes of float inputs and parameters, names -> (shape, bound) of integers; the rate
    of gradient descent, where the model trains."""

    def register(f):
        CASES[f.__name__] = (f, inputs, params or {}, ints or {}, lr, size)
        return f

    return register


def expected(name):
    f, inputs, params, ints, lr, size = CASES[name]
    x = {k: fill(k, s, 4) for k, s in inputs.items()}
    x.update({k: fill_int(k, *s) for k, s in ints.items()})
    p = {k: fill(k, s, 32) for k, s in params.items()}
    r = f(p, x, False)
    tested = r.pop("loss", None)
    out = [f"size {size} {SIZES[size]}"]
    out += [line("forward", k, t) for k, t in r.items()]
    if lr is None:
        return out
    out.append(line("test", "loss", tested))
    both = jax.value_and_grad(lambda p: f(p, x, True)["loss"])
    loss, g = both(p)
    out.append(line("grad", "loss", loss))
    out += [line("grad", "grad:" + k, g[k]) for k in p]
    for _ in range(3):
        loss, g = both(p)
        out.append(line("step", "loss", loss))
        p = {k: p[k] - lr * g[k] for k in p}
    kept = "now" if name in STATES else "after"
    return out + [line(kept, k, t) for k, t in p.items()]


def dot(a, b):
    return (a * b).sum()


def ms(a):
    return (a**2).mean()


def norm_rows(x, eps):
    m = x.mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(((x - m)**2).mean(-1, keepdims=True) + eps)


# ---- the cases


def conv2d(x, f, stride=1, pad=0, dilation=1):
    return lax.conv_general_dilated(x, f, (stride, stride), [(pad, pad)] * 2,
                                    rhs_dilation=(dilation, dilation))


@case({
    "X": (3, 2, 7, 6),
    "D": (3, 2, 3, 2)
}, {
    "F": (3, 2, 3, 2),
    "G": (2, 3, 3, 3)
}, lr=2**-13)
def conv(p, x, training):
    X, D, F, G = x["X"], x["D"], p["F"], p["G"]

    def f(X, F, G):
        t = jnp.tanh(conv2d(X, F, stride=2, pad=2, dilation=2))
        return jnp.sin(conv2d(t, G, stride=2, pad=1)).sum()

    dX, dF = grad(f, (0, 1))(X, F, G)
    penalty = ((jnp.sqrt((dX**2).sum((1, 2, 3)) + 0.25) - 1)**2).mean()
    HF, HX = grad(lambda F, X: dot(grad(f, 1)(X, F, G), D), (0, 1))(F, X)
    loss = f(X, F, G) + penalty + (HF**2).sum()
    return dict(dX=dX, dF=dF, HF=HF, HX=HX, penalty=penalty, loss=loss)


def windows(x, empty, size, stride, pad):
    """The elements of each window, last."""
    w = jnp.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=empty)
    P, Q = ((n + 2 * pad - size) // stride + 1 for n in x.shape[2:])
    return jnp.stack([w[:, :, r:r + stride * P - stride + 1:stride,
                        s:s + stride * Q - stride + 1:stride]
                      for r in range(size) for s in range(size)], -1)


@case({
    "X": (3, 2, 5, 6),
    "D": (3, 2, 5, 6)
}, {"W": (2, 5, 6)}, lr=2**-12)
def pool(p, x, training):
    X, D, W = x["X"], x["D"], p["W"]

    def f(X, W):
        v = jnp.sin(3 * (X * W + 0.375 * W))
        m = windows(v, -jnp.inf, 3, 2, 1).max(-1)
        a = windows(v, 0.0, 3, 2, 1).mean(-1)
        k = (v**2).min((2, 3))
        l = (v + W**3).max((1, 3))
        return (m**3).sum() + jnp.exp(a).sum() + (k**2).sum() + jnp.sin(l).sum()

    dX, dW = grad(f, (0, 1))(X, W)
    HX, HW = grad(lambda X, W: dot(grad(f)(X, W), D), (0, 1))(X, W)
    return dict(dX=dX, dW=dW, HX=HX, HW=HW, loss=f(X, W) + ms(dX) + ms(HX))


@case({
    "X": (3, 4),
    "D": (4, 6),
    "E": (6,)
}, {
    "W": (4, 6),
    "c": (6,)
}, {"Y": ((3,), 6)}, lr=2**-4)
def softmax(p, x, training):
    X, Y = x["X"], x["Y"]
    d = x["D"], x["E"]

    def f(w, X):
        L = X @ w[0] + w[1]
        q = nn.log_softmax(L)
        h = nn.logsumexp(jnp.delete(L, 2, axis=1), 1)
        ce = -(0.875 * q[np.arange(3), Y] + 0.125 * q.mean(1)).mean()
        return ce + (nn.softmax(L)**3).mean() + jnp.sin(q).mean() + (h**2).mean()

    def along(g):
        return lambda w, X: dot(g(w, X)[0], d[0]) + dot(g(w, X)[1], d[1])

    w = p["W"], p["c"]
    H = grad(along(grad(f)), (0, 1))
    again = along(lambda w, X: H(w, X)[0])
    (dW, dc), ((HW, Hc), HX), (TW, Tc) = grad(f)(w, X), H(w, X), grad(again)(w, X)
    return dict(dW=dW, dc=dc, HW=HW, Hc=Hc, HX=HX, TW=TW, Tc=Tc,
                loss=f(w, X) + again(w, X) + (HX**2).sum())


NORMS = {"W": (3, 5), **{k: (5,) for k in ("y.g", "y.b", "z.g", "v.g", "v.b")}}


@case({"X": (3, 3, 4), "D": (3, 5)}, NORMS, lr=2**-10)
def norms(p, x, training):
    D, eps = x["D"], 2**-10

    def f(X, p):
        h = jnp.einsum("bit,ij->btj", X, p["W"]) + p["W"][0]**2
        y = norm_rows(h, eps) * p["y.g"] + p["y.b"]
        z = y / jnp.sqrt((y**2).mean(-1, keepdims=True) + eps) * p["z.g"]
        u = jnp.sin(z) + h
        if training:
            m = u.mean((0, 1))
            u = (u - m) / jnp.sqrt(((u - m)**2).mean((0, 1)) + eps)
        else:
            u = u / math.sqrt(1 + eps)  # running mean 0, variance 1
        v = u * p["v.g"] + p["v.b"]
        return (v**3).mean() + jnp.tanh(y).mean()

    dX, d = grad(f, (0, 1))(x["X"], p)
    H = lambda X, p: dot(grad(f, 1)(X, p)["W"], D)
    HX, dp = grad(H, (0, 1))(x["X"], p)
    HW = dp["W"]
    loss = f(x["X"], p) + H(x["X"], p) + ms(dX) + ms(HW) + ms(d["v.g"])
    return dict(dX=dX, dW=d["W"], HW=HW, HX=HX, loss=loss)


BLOCK = {
    "y.n1.g": (4,),
    "y.n1.b": (4,),
    **{f"y.a.W{c}": (4, 2, 2) for c in "qkv"}, "y.a.Wo": (2, 2, 4),
    "y.a.bo": (4,),
    "y.n2.g": (4,),
    "y.n2.b": (4,),
    "y.h.W": (4, 5),
    "y.h.b": (5,),
    "y.o.W": (5, 4),
    "y.o.b": (4,)
}
EPS = float(np.float32(1e-5))


@case({"X": (3, 3, 4), "D": (4, 2, 2)}, BLOCK, lr=2**-4)
def attention(p, x, training):
    D = x["D"]

    def f(X, p):
        w = lambda n: p["y." + n]
        n = norm_rows(X, EPS) * w("n1.g") + w("n1.b")
        q, k, v = (jnp.einsum("btd,dhk->bhtk", n, w("a.W" + c)) for c in "qkv")
        s = jnp.einsum("bhik,bhjk->bhij", q, k) / math.sqrt(2)
        s = nn.softmax(jnp.where(np.tril(np.ones((3, 3), bool)), s, -jnp.inf))
        a = jnp.einsum("bhij,bhjk,hkd->bid", s, v, w("a.Wo")) + w("a.bo")
        u = X + a
        n = norm_rows(u, EPS) * w("n2.g") + w("n2.b")
        h = nn.gelu(n @ w("h.W") + w("h.b"), approximate=False)
        return jnp.sin(2 * (u + h @ w("o.W") + w("o.b"))).mean()

    dX, d = grad(f, (0, 1))(x["X"], p)
    HX, H = grad(lambda X, p: dot(grad(f, 1)(X, p)["y.a.Wq"], D), (0, 1))(x["X"], p)
    dq, dk, Hq, Hk = d["y.a.Wq"], d["y.a.Wk"], H["y.a.Wq"], H["y.a.Wk"]
    return dict(dX=dX, dq=dq, dk=dk, Hq=Hq, Hk=Hk, HX=HX,
                loss=f(x["X"], p) + ms(dX) + (Hk**2).sum() + dot(dk, D))


@case({"D": (5, 3)}, {
    "T": (5, 3),
    "S": (4, 3)
}, {
    "I": ((7,), 5),
    "J": ((5,), 4),
    "K": ((7,), 4)
}, lr=2**-10, size="N")
def lookup(p, x, training):
    I, J, K, D = x["I"], x["J"], x["K"], x["D"]
    three = np.arange(3)

    def f(T, S):
        a = T[I] * S[J[I]] + S[K]**2
        b = jnp.zeros((4, 3)).at[K].add(jnp.sin(a + T[I]))
        c = jnp.where(three < K[:, None], jnp.exp(0.5 * a), 0).sum()
        g = jnp.where((I < 2)[:, None], a**2, T[I][:, (three + 1) % 3]**3)
        return (b**2).sum() + c + g.sum()

    H = lambda T, S: dot(grad(f)(T, S), D)
    again = lambda T, S: dot(grad(H)(T, S), D)
    (dT, dS), (HT, HS), (TT, TS) = (grad(g, (0, 1))(p["T"], p["S"]) for g in (f, H, again))
    return dict(dT=dT, dS=dS, HT=HT, HS=HS, TT=TT, TS=TS, loss=f(p["T"], p["S"]) + ms(dS) + ms(HS))


@case({"X": (3, 5), "D": (3, 5)}, {"W": (5,)}, lr=2**-4)
def product(p, x, training):
    X, D, W = x["X"], x["D"], p["W"]

    def multiply(v):
        r = v[0]
        for k in v[1:]:
            r = r * k
        return r

    def parts(X, W):
        shifted = X + jnp.where(x["X"] == 0, 0, W)
        return multiply(shifted.T), multiply((X * W).T[np.array([0, 1, 2, 4])])

    def f(X, W):
        a, b = parts(X, W)
        return a.sum() + (b**2).sum() + jnp.sin(a).sum()

    H = lambda X, W: dot(grad(f)(X, W), D)
    again = lambda X, W: dot(grad(H)(X, W), D)
    dX, (HX, HW), (TX, TW) = grad(f)(X, W), grad(H, (0, 1))(X, W), grad(again, (0, 1))(X, W)
    a, b = parts(X, W)
    return dict(p=a, r=b, dX=dX, HX=HX, HW=HW, TX=TX, TW=TW, loss=f(X, W) + again(X, W))


@jax.custom_vjp
def odd(x):
    return x**2


odd.defvjp(lambda x: (odd(x), x), lambda x, dy: (dy**2 * jnp.sin(x),))


@jax.custom_vjp
def gate(x, w, s):
    return jnp.round(x) * w * s, jnp.abs(x).sum()


def gate_backward(saved, d):
    x, w, s = saved
    dy, dz = d
    return dy * w**2 + dz * x**3, (dy * x).sum(0), (dy * x).sum() + dz * s


gate.defvjp(lambda x, w, s: (gate(x, w, s), (x, w, s)), gate_backward)


@case({"X": (3, 4), "D": (3, 4)}, {"W": (4,), "s": ()}, lr=2**-10)
def clause(p, x, training):
    X, D, W, s = x["X"], x["D"], p["W"], p["s"]

    def f(X, W, s):
        y, z = gate(odd(X), W, s)
        return (y**2).sum() + z**2

    def H(X, W, s):
        dX, ds = grad(f, (0, 2))(X, W, s)
        return dot(dX, D) + ds**2

    again = lambda X, W, s: dot(grad(H)(X, W, s), D)
    o = odd(X)
    y, z = gate(o, W, s)
    dX, dW, ds = grad(f, (0, 1, 2))(X, W, s)
    HX, HW, Hs = grad(H, (0, 1, 2))(X, W, s)
    TX, TW = grad(again, (0, 1))(X, W, s)
    return dict(o=o, y=y, z=z, dX=dX, dW=dW, ds=ds, HX=HX, HW=HW, Hs=Hs, TX=TX, TW=TW,
                loss=f(X, W, s) + H(X, W, s))


@case({"X": (3,), "Z": (3,)})
def functions(p, x, training):
    Z = x["Z"]
    elements = dict(
        sqrt=lambda x, z: jnp.sqrt(x + 1.25),
        rsqrt=lambda x, z: 1 / jnp.sqrt(x + 1.25),
        exp=lambda x, z: jnp.exp(x),
        expm1=lambda x, z: jnp.expm1(x),
        log=lambda x, z: jnp.log(x + 1.25),
        log1p=lambda x, z: jnp.log1p(x),
        sin=lambda x, z: jnp.sin(2 * x),
        cos=lambda x, z: jnp.cos(2 * x),
        tan=lambda x, z: jnp.tan(x),
        tanh=lambda x, z: jnp.tanh(x),
        sigmoid=lambda x, z: nn.sigmoid(x),
        relu=lambda x, z: nn.relu(x + 0.125)**3,
        gelu=lambda x, z: nn.gelu(x, approximate=False),
        silu=lambda x, z: nn.silu(x),
        softplus=lambda x, z: nn.softplus(x),
        elu=lambda x, z: nn.elu(x + 0.125),
        erf=lambda x, z: lax.erf(x),
        abs=lambda x, z: jnp.abs(x + 0.125)**3,
        clamp=lambda x, z: jnp.clip(x + 0.125, -0.5, 0.5)**3,
        least=lambda x, z: jnp.minimum(x + 0.125, z)**3,
        most=lambda x, z: jnp.maximum(x**2 + 0.375, z)**3,
        power=lambda x, z: (x + 1.25)**(z + 0.375),
        expo=lambda x, z: (z + 1.25)**x,
        quotient=lambda x, z: (z + 0.5) / (x + 1.5),
        cube=lambda x, z: x**7 + (x + 1.5)**-3,
        rest=lambda x, z: (x + 0.0625) % 0.5 * x,
        half=lambda x, z: (x + 1.5)**2.5,
        steps=lambda x, z: x**2 * jnp.floor(3 * x + 0.125) + jnp.sign(x + 0.125) * x**3)

    def three(f):
        d1, d2 = grad(f), grad(grad(f))
        return jnp.stack([jax.vmap(d)(x["X"], Z) for d in (d1, d2, grad(d2))])

    return {k: three(f) for k, f in elements.items()}


@case({
    "X": (3, 12),
    "V": (3, 12)
}, {"W": (12,)}, {"M": ((3,), 13)}, lr=2**-10)
def index(p, x, training):
    V, M = x["V"], x["M"]
    i12, i16, i9 = np.arange(12), np.arange(16), np.arange(9)

    def at(a, i, other):
        """Columns i of a, `other` outside."""
        inside = (i >= 0) & (i < a.shape[-1])
        return jnp.where(inside, a[..., np.where(inside, i, 0)], other)

    def f(X, W):
        v = X * W
        sq = v.reshape(3, 3, 4)
        flat = v.reshape(-1)
        ij = i12[:, None] - i12  # i - j
        edge = np.clip(i16 - 2, 0, 11)
        mirror = 11 - np.abs(11 - np.abs(i16 - 2))
        parts = [
            v[:, 0:10:2] * v[:, 3:12:2],
            v[:, ::-1] * v,
            (sq * sq[:, ::-1, ::-1]).transpose(0, 2, 1),
            v[:, i12 % 3 * 4 + i12 // 3] * v,
            flat * W[np.arange(36) % 12],
            jnp.diagonal(sq[0])[:3] + jnp.diagonal(sq[1], 1)[:3]**2,
            v[:, edge] * v[:, np.minimum(i16, 11)],
            v[:, mirror] * W[i16 // 2],
            at(v, 2 * i9 - 3, 0.5) * at(v, i9 - 1, 1),
            jnp.where(ij >= 0, v[:, None, :] * v[:, np.where(ij >= 0, ij, 0)], 0).sum(2),
            jnp.where((-ij < 2) & (ij < 3), v[:, None, :], 0).sum(2) * W,
            jnp.concatenate([v**2, jnp.broadcast_to(2 * W, v.shape)], 1),
            jnp.where(i12 < M[:, None], v**2, 0).sum(1),
            jnp.where(v > W, v**3, W * v),
            v[::-1] * v,
        ]
        return sum((jnp.sin(q)**3).sum() for q in parts)

    def H(X, W):
        dX, dW = grad(f, (0, 1))(X, W)
        return dot(dX, V) + dot(dW, i12 * 0.125)

    again = lambda X, W: dot(grad(H)(X, W), V)
    (dX, dW), (HX, HW), (TX, TW) = (grad(g, (0, 1))(x["X"], p["W"]) for g in (f, H, again))
    loss = f(x["X"], p["W"]) + again(x["X"], p["W"])
    return dict(dX=dX, dW=dW, HX=HX, HW=HW, TX=TX, TW=TW, loss=loss)


def lstm(p, r, x, h, c):
    z = [x @ p["h.h2.W"][r, g] + h @ p["h.h2.U"][r, g] + p["h.h2.b"][r, g] for g in range(4)]
    i, f, o = (nn.sigmoid(v) for v in z[:3])
    c = f * c + i * jnp.tanh(z[3])
    return o * jnp.tanh(c), c


def gru(p, x, h):
    a = [x @ p["g.W"][g] + p["g.bw"][g] for g in range(3)]
    b = [h @ p["g.U"][g] + p["g.bu"][g] for g in range(3)]
    u, r = nn.sigmoid(a[0] + b[0]), nn.sigmoid(a[1] + b[1])
    return u * h + (1 - u) * jnp.tanh(a[2] + r * b[2])


@case({
    "X": (3, 3),
    "U": (3, 3),
    "S": (3, 2)
}, {
    "h.h2.W": (2, 4, 3, 2),
    "h.h2.U": (2, 4, 2, 2),
    "h.h2.b": (2, 4, 2),
    "g.W": (3, 3, 2),
    "g.U": (3, 2, 2),
    "g.bw": (3, 2),
    "g.bu": (3, 2)
}, lr=2**-3)
def cells(p, x, training):
    X, U, S = x["X"], x["U"], x["S"]
    stop = lax.stop_gradient

    def first(X):
        h, c = jnp.full((3, 2), 0.25), jnp.full((3, 2), -0.5)
        for r in range(2):
            h, c = lstm(p, r, X, h, c)
        return h, c

    def then(g, h, c):
        return g**2 + stop(h) * g * c

    def both(X, shift=0):
        """`shift` of h, to take the gradient by it."""
        h, c = first(X)
        h = h + shift
        return then(gru(p, X, h), h, c)

    def JU(X, S, shift=0):
        z, back = jax.vjp(lambda X: both(X, shift), X)
        return dot(back(S)[0], U)

    h, c = first(X)
    g = gru(p, X, h)
    z, back = jax.vjp(both, X)
    jvp = grad(JU, 1)(X, S)
    dX, dh = grad(JU, (0, 2))(X, S, jnp.zeros((3, 2)))
    df = lambda X, h, c: grad(lambda g: jnp.sin(then(g, h, c)).sum())(gru(p, X, h))

    def e(X):
        d = df(X, *first(X))
        return dot(d, stop(d))

    loss = jnp.sin(z).sum() + (jvp**2).sum() + e(X)
    return dict(z=z, J=back(S)[0], jvp=jvp, dh=dh, dX=dX, df=df(X, h, c), de=grad(e)(X), loss=loss)


@case({
    "X": (3, 3),
    "Y": (3, 2),
    "Xv": (3, 3),
    "Yv": (3, 2)
}, {
    "W": (3, 2),
    "c": (2,),
    "lr": (),
    "mu": ()
}, lr=2**-3)
def inner(p, x, training):

    def model(x, y, W, c):
        return ms(jnp.tanh(x @ W + c) - y)

    tune = lambda *w: model(x["X"], x["Y"], *w)
    judge = lambda *w: model(x["Xv"], x["Yv"], *w)

    def sgd(lr, W, c):
        for _ in range(2):
            dW, dc = grad(tune, (0, 1))(W, c)
            W, c = W - lr * dW, c - lr * dc
        return judge(W, c)

    def momentum(lr, mu, W, c):
        w, v = W, 0
        for _ in range(3):
            v = mu * v + grad(tune)(w, c)
            w = w - lr * v
        return judge(w, c)

    def adam(lr, W, c):
        w, m, v = W, 0, 0
        for t in range(1, 3):
            g = grad(tune)(w, c)
            m, v = 0.875 * m + 0.125 * g, 0.96875 * v + 0.03125 * g**2
            m2, v2 = m / (1 - 0.875**t), v / (1 - 0.96875**t)
            w = w - lr * m2 / (jnp.sqrt(v2) + 2**-10)
        return judge(w, c)

    W, c, lr, mu = p["W"], p["c"], p["lr"], p["mu"]
    s, m, a = sgd(lr, W, c), momentum(lr, mu, W, c), adam(lr, W, c)
    dlr, dW, dc = grad(sgd, (0, 1, 2))(lr, W, c)
    mlr, mmu, mW = grad(momentum, (0, 1, 2))(lr, mu, W, c)
    alr, aW = grad(adam, (0, 1))(lr, W, c)
    return dict(sgd=s, mom=m, adam=a, dlr=dlr, dW=dW, dc=dc, ddlr=grad(grad(sgd))(lr, W, c),
                mlr=mlr, mmu=mmu, mW=mW, alr=alr, aW=aW, loss=s + m + a)


def main():
    os.makedirs(os.path.join(HERE, "expected"), exist_ok=True)
    for name in sys.argv[1:] or CASES:
        with open(os.path.join(HERE, "expected", name + ".txt"), "w") as f:
            f.write("\n".join(expected(name)) + "\n")


main()
