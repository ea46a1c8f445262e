"""Optimizers, step by step: each step begins with what the library has, and is held against numpy.

The loss is sum w*g for an input g, which is then the gradient, exactly.
"""

import os
import sys
import tempfile

import numpy as np

import rounding

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "evaluator"))
from evaluator.library import Library  # noqa: E402

TEXT = """import optim, schedule
input g[3, 4] : TYPE
input b : TYPE
param w[3, 4] : TYPE = normal(0, 1)
param u : TYPE = 1
touched[n < 3] = n != 1
loss = sum[n, d] w[n, d]*g[n, d] + u*b
output loss
optimizer my_momentum(w[..] : real, g[..] : real; input lr : wide(real) = 0.1) {
  a, due = optim.accumulate(g, true, every = 2)
  c = optim.clip_norm(a, limit = 1)
  d = optim.momentum_direction(c, due, nesterov = true)
  update w[..] = select(due, real(wide(w[..]) - lr*d[..]), w[..])
}
optimizer my_adam(w[..] : real, g[..] : real; input lr : wide(real) = 0.1) {
  c = optim.clip_global(g, wide(global_norm), limit = 1)
  a, due = optim.accumulate(c, true, every = 2)
  d = optim.adam_direction(a, due)
  update w[..] = select(due, real(wide(w[..]) - lr*d[..]), w[..])
}
optimizer my_rms(w[..] : real, g[..] : real; input lr : wide(real) = 0.1) {
  d = optim.rms_direction(g, true)
  mean = optim.average(w, decay = 0.9)
  update w[..] = real(wide(w[..]) - lr*d[..])
}
train loss over w using OPTIMIZER
train loss over u using optim.sgd(lr = 0.5)
"""


def sgd(s, w, g, t, lr, decay=0.0):
    return w - lr*(g + decay*w), {}


def momentum(s, w, g, t, lr, mu=0.9, decay=0.0):
    v = mu*s["v"] + g + decay*w
    return w - lr*v, {"v": v}


def nesterov(s, w, g, t, lr, mu=0.9, decay=0.0):
    d = g + decay*w
    v = mu*s["v"] + d
    return w - lr*(d + mu*v), {"v": v}


def direction(s, g, t, eps, beta1=0.9, beta2=0.999):
    m, v = beta1*s["m"] + (1 - beta1)*g, beta2*s["v"] + (1 - beta2)*g**2
    return m/(1 - beta1**t)/(np.sqrt(v/(1 - beta2**t)) + eps), {"m": m, "v": v}


def adam(s, w, g, t, lr, eps=1e-8, decay=0.0):
    d, after = direction(s, g, t, eps)
    return w - lr*(d + decay*w), after


def rows(s, w, g, t, lr, taken):
    w2, after = adam(s, w, g, t, lr)
    return np.where(taken, w2, w), {n: np.where(taken, a, s[n]) for n, a in after.items()}


def rmsprop(s, w, g, t, lr, rho=0.9, eps=1e-8, decay=0.0):
    d = g + decay*w
    v = rho*s["v"] + (1 - rho)*d**2
    return w - lr*d/(np.sqrt(v) + eps), {"v": v}


def adagrad(s, w, g, t, lr, eps=1e-10, decay=0.0):
    d = g + decay*w
    v = s["v"] + d**2
    return w - lr*d/(np.sqrt(v) + eps), {"v": v}


def lamb(s, w, g, t, lr, eps=1e-6, decay=0.01):
    d, after = direction(s, g, t, eps)
    r = d + decay*w
    return w - lr*np.linalg.norm(w)/np.linalg.norm(r)*r, after


def lion(s, w, g, t, lr, beta1=0.9, beta2=0.99, decay=0.0):
    c = beta1*s["m"] + (1 - beta1)*g
    return w - lr*(np.sign(c) + decay*w), {"m": beta2*s["m"] + (1 - beta2)*g}


def adafactor(s, w, g, t, lr, limit=1.0):
    beta, q = 1 - t**-0.8, g**2 + 1e-30
    r, c = beta*s["r"] + (1 - beta)*q.mean(1), beta*s["c"] + (1 - beta)*q.mean(0)
    u = g/np.sqrt(np.outer(r, c)/r.mean())
    return w - _relative(w, u, lr, limit), {"r": r, "c": c}


def adafactor_full(s, w, g, t, lr, limit=1.0):
    beta = 1 - t**-0.8
    v = beta*s["v"] + (1 - beta)*(g**2 + 1e-30)
    return w - _relative(w, g/np.sqrt(v), lr, limit), {"v": v}


def _relative(w, u, lr, limit):
    def size(x):
        return np.sqrt((x**2).mean())
    return lr*max(1e-3, size(w))*u/max(1, size(u)/limit)


def muon(s, w, g, t, lr, mu=0.95, decay=0.0):
    v = mu*s["v"] + g
    x = g + mu*v
    x = x/np.linalg.norm(x)
    for _ in range(5):
        a = x@x.T
        x = 3.4445*x + (-4.775*a + 2.0315*a@a)@x
    return w - lr*(np.sqrt(max(1, w.shape[0]/w.shape[1]))*x + decay*w), {"v": v}


def shampoo(s, w, g, t, lr, eps, every=1, decay=0.0):
    def root(a):
        e, v = np.linalg.eigh(a)
        return v@np.diag((np.maximum(e, 0) + eps)**-0.25)@v.T
    g = g + decay*w
    left, right = s["L"] + g@g.T, s["R"] + g.T@g
    after = {"L": left, "R": right}
    p, q = (root(left), root(right)) if (t - 1) % every == 0 else (s["P"], s["Q"])
    if every > 1:
        after |= {"P": p, "Q": q}
    return w - lr*p@g@q, after


def accumulated(s, g, every):
    total, taken = s["a.total"] + g, s["a.taken"] + 1
    due = taken == every
    return total/every, due, {"a.total": total*(1 - due), "a.taken": taken*(1 - due)}


def my_momentum(s, w, g, t, lr, mu=0.9):
    a, due, after = accumulated(s, g, 2)
    a = a*min(1, 1/np.linalg.norm(a))
    v = mu*s["d.v"] + a
    return (w - lr*(a + mu*v), after | {"d.v": v}) if due else (w, after | {"d.v": s["d.v"]})


def my_adam(s, w, g, t, lr):
    a, due, after = accumulated(s, g, 2)
    inner = {n: s["d." + n] for n in ("m", "v")}
    d, moved = direction(inner, a, s["d.count"] + 1, 1e-8)
    moved = {"d." + n: (moved if due else inner)[n] for n in inner} | {"d.count": s["d.count"] + due}
    return w - lr*d*due, after | moved


def my_rms(s, w, g, t, lr):
    after, moved = rmsprop({"v": s["d.v"]}, w, g, t, lr)
    return after, {"d.v": moved["v"], "mean.a": 0.9*s["mean.a"] + 0.1*w}


TOUCHED = np.array([[True], [False], [True]])

# what stands behind `using`, its formula, and whether the norm of the gradients is limited to 1
ROWS = [
    ("sgd(lr = 0.1)", lambda *a: sgd(*a, 0.1), False),
    ("sgd(lr = 0.1, decay = 0.01, clip = 1)", lambda *a: sgd(*a, 0.1, 0.01), True),
    ("momentum(lr = 0.1, decay = 0.01, clip = 1)", lambda *a: momentum(*a, 0.1, decay=0.01), True),
    ("nesterov(lr = 0.1, mu = 0.8)", lambda *a: nesterov(*a, 0.1, mu=0.8), False),
    ("adam(lr = 0.01)", lambda *a: adam(*a, 0.01), False),
    ("adam(lr = 0.01*min(1, f64(step + 1)/4), clip = 1)", lambda s, w, g, t: adam(s, w, g, t, 0.01*min(1, t/4)), True),
    ("adam_rows(touched, lr = 0.01)", lambda *a: rows(*a, 0.01, TOUCHED), False),
    ("adamw(lr = 0.01, decay = 0.1)", lambda *a: adam(*a, 0.01, decay=0.1), False),
    ("rmsprop(lr = 0.01, decay = 0.01)", lambda *a: rmsprop(*a, 0.01, decay=0.01), False),
    ("adagrad(lr = 0.1, clip = 1)", lambda *a: adagrad(*a, 0.1), True),
    ("lion(lr = 0.01, decay = 0.1, clip = 1)", lambda *a: lion(*a, 0.01, decay=0.1), True),
    ("lamb(lr = 0.01)", lambda *a: lamb(*a, 0.01), False),
    ("sparse_adam(lr = 0.01)", lambda s, w, g, t: rows(s, w, g, t, 0.01, g.any(1, keepdims=True)), False),
    ("sparse_adam(lr = 0.01, clip = 1)", lambda s, w, g, t: rows(s, w, g, t, 0.01, g.any(1, keepdims=True)), True),
    ("adafactor(lr = schedule.warmup(step, lr = 0.02, steps = 4))",
     lambda s, w, g, t: adafactor(s, w, g, t, 0.02*min(1, t/4)), False),
    ("adafactor_full(lr = 0.02, limit = 0.5, clip = 1)", lambda *a: adafactor_full(*a, 0.02, 0.5), True),
    ("muon(lr = 0.02, decay = 0.1)", lambda *a: muon(*a, 0.02, decay=0.1), False),
    ("shampoo(lr = 0.1, eps = 0.25)", lambda *a: shampoo(*a, 0.1, 0.25), False),
    ("shampoo(lr = 0.1, eps = 0.25, every = 2, decay = 0.1, clip = 1)",
     lambda *a: shampoo(*a, 0.1, 0.25, 2, 0.1), True),
    ("my_momentum(lr = 0.1)", lambda *a: my_momentum(*a, 0.1), False),
    ("my_adam(lr = 0.01)", lambda *a: my_adam(*a, 0.01), True),
    ("my_rms(lr = 0.01)", lambda *a: my_rms(*a, 0.01), False),
]

STEPS = 5
# Tolerance for weights and states, relative to the largest element; weights of f16 and bf16 are rounded once. What is made of products
# of matrices, one after the other, may be off by more.
ALLOWED = {"f64": 1e-12, "f32": 2e-6, "f16": 2e-6, "bf16": 2e-6}
MORE = {"muon": 20, "shampoo": 20}


def _off(found, want, kind, is_weight, times=1):
    error = np.abs(found - want)
    allowed = times*ALLOWED[kind]*np.abs(want).max() + 1e-30
    if is_weight and kind in rounding.ONCE:
        allowed = allowed + rounding.ONCE[kind]*rounding.unit(want, kind)
    return float((error/allowed).max()) if np.isfinite(found).all() else np.inf


def _steps(neoc, model, text, formula, clipped, kind, folder):
    info = model.info
    library = Library(neoc, model.path, [], info, os.path.join(folder, "library"))
    entry = next(e for e in info["entries"] if e["kind"] == "train")
    states = {t["name"]: t for t in info["tensors"] if t["role"] == "state" and t["name"].startswith("w.")}
    wrong = [f"{text}: state {n} is {t['type']}" for n, t in states.items()
             if t["type"].startswith(("f", "b")) and t["type"] != ("f64" if kind == "f64" else "f32")]
    own = {n: n.split(".", 2)[2] for n in states}
    shapes = {n: tuple(int(e) for e in t["shape"]) for n, t in states.items()}
    wrong += [f"{text}: setting {t['name']} is {t['type']}" for t in info["tensors"]
              if t["role"] == "setting" and t["type"] != ("f64" if kind == "f64" else "f32")]
    rng = np.random.default_rng(3)
    library.set("w", rounding.to(kind, rng.standard_normal((3, 4))).astype(np.float64))
    try:
        for t in range(1, STEPS + 1):
            g = rounding.to(kind, rng.standard_normal((3, 4)))
            g[2] = 0 if t == 3 else g[2]
            b = rounding.to(kind, rng.standard_normal(()))
            w = np.float64(library.get("w", (3, 4)))
            s = {own[n]: np.float64(library.get(n, shapes[n])) for n in states}
            library.run(entry, {}, {"g": g, "b": b}, lambda x: tuple(int(e) for e in x["shape"]))
            norm = np.sqrt((g**2).sum() + b**2)
            want, after = formula(s, w, g*(min(1, 1/norm) if clipped else 1), t)
            pairs = [("w", want)] + [(n, after[own[n]]) for n in states]
            for name, a in pairs:
                found = np.float64(library.get(name, shapes.get(name, (3, 4))))
                off = _off(found, a, kind, name == "w", MORE.get(text.split("(")[0], 1))
                if off > 1:
                    wrong.append(f"{text}, {kind}: step {t}: {name} is off by {off:.3g} of what is allowed")
    finally:
        library.close()
    return wrong


SCALED = """import optim
input g[3, 4] : TYPE
param w[3, 4] : TYPE = normal(0, 1)
param scale = 1024
loss = sum[n, d] w[n, d]*g[n, d]
scaled = optim.scaled_loss(loss, scale)
optimizer careful(w[..] : real, g[..] : real, scale : f32; input lr : wide(real) = 1e-3) {
  u, finite = optim.unscale(g, scale, wide(global_norm))
  a, due = optim.accumulate(u, finite, every = 2)
  update w[..] = select(due, real(wide(w[..]) - lr*a[..]), w[..])
}
output loss
train scaled over scale using optim.loss_scale(every = 2, most = 4096)
train scaled over w using careful(scale, lr = 0.5)
"""

# Is the gradient finite?
SCALED_STEPS = (True, False, True, True, False, False, True, True, True, True, True, True, True, True)


def _scaled_steps(neoc, model, kind, folder):
    """A step that is not finite is left out and halves the scale, two that are double it."""
    library = Library(neoc, model.path, [], model.info, os.path.join(folder, "library"))
    entry = next(e for e in model.info["entries"] if e["kind"] == "train")
    rng, wrong = np.random.default_rng(5), []
    scale, good, taken, total = 1024, 0, 0, np.zeros((3, 4))
    try:
        for t, finite in enumerate(SCALED_STEPS):
            g, w = rounding.to(kind, rng.standard_normal((3, 4))), np.float64(library.get("w", (3, 4)))
            g[1, 2] = g[1, 2] if finite else 1000 if kind == "f16" else np.inf
            library.run(entry, {}, {"g": g}, lambda x: tuple(int(e) for e in x["shape"]))
            if finite:
                total, taken, good = total + g, taken + 1, good + 1
                scale, good = (min(2*scale, 4096), 0) if good == 2 else (scale, good)
            else:
                scale, good = scale/2, 0
            if taken == 2:
                w, total, taken = w - 0.5*total/2, np.zeros((3, 4)), 0
            off = _off(np.float64(library.get("w", (3, 4))), w, kind, True)
            found = float(library.get("scale", ()))
            if off > 1 or found != scale:
                wrong.append(f"scaled loss, {kind}: step {t}: off by {off:.3g}, scale {found}, not {scale}")
    finally:
        library.close()
    return wrong


def check(neoc, kind, model_of):
    wrong, compared = [], 0
    for text, formula, clipped in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            named = text if text.startswith("my_") else "optim." + text
            model = model_of(neoc, TEXT.replace("TYPE", kind).replace("OPTIMIZER", named), folder)
            wrong += _steps(neoc, model, text, formula, clipped, kind, folder)
            compared += STEPS
    with tempfile.TemporaryDirectory() as folder:
        wrong += _scaled_steps(neoc, model_of(neoc, SCALED.replace("TYPE", kind), folder), kind, folder)
    return wrong, compared + len(SCALED_STEPS)
