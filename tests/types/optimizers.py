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

TEXT = """import optim
input g[3, 4] : TYPE
input b : TYPE
param w[3, 4] : TYPE = normal(0, 1)
param u : TYPE = 1
touched[n < 3] = n != 1
loss = sum[n, d] w[n, d]*g[n, d] + u*b
output loss
train loss over w using optim.OPTIMIZER
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
]

STEPS = 5
# Of weights and states, relative to the largest element; weights of f16 and bf16 are rounded once.
ALLOWED = {"f64": 1e-12, "f32": 2e-6, "f16": 2e-6, "bf16": 2e-6}


def _off(found, want, kind, is_weight):
    error = np.abs(found - want)
    allowed = ALLOWED[kind]*np.abs(want).max() + 1e-30
    if is_weight and kind in rounding.ONCE:
        allowed = allowed + rounding.ONCE[kind]*rounding.unit(want, kind)
    return float((error/allowed).max()) if np.isfinite(found).all() else np.inf


def _steps(neoc, model, text, formula, clipped, kind, folder):
    info = model.info
    library = Library(neoc, model.path, [], info, os.path.join(folder, "library"))
    entry = next(e for e in info["entries"] if e["kind"] == "train")
    states = {t["name"]: t for t in info["tensors"] if t["role"] == "state" and t["name"].startswith("w.")}
    wrong = [f"{text}: state {n} is {t['type']}" for n, t in states.items()
             if t["type"] != ("f64" if kind == "f64" else "f32")]
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
            s = {n.split(".")[-1]: np.float64(library.get(n, (3, 4))) for n in states}
            library.run(entry, {}, {"g": g, "b": b}, lambda x: tuple(int(e) for e in x["shape"]))
            norm = np.sqrt((g**2).sum() + b**2)
            want, after = formula(s, w, g*(min(1, 1/norm) if clipped else 1), t)
            pairs = [("w", want)] + [(n, after[n.split(".")[-1]]) for n in states]
            for name, a in pairs:
                off = _off(np.float64(library.get(name, (3, 4))), a, kind, name == "w")
                if off > 1:
                    wrong.append(f"{text}, {kind}: step {t}: {name} is off by {off:.3g} of what is allowed")
    finally:
        library.close()
    return wrong


def check(neoc, kind, model_of):
    wrong, compared = [], 0
    for text, formula, clipped in ROWS:
        with tempfile.TemporaryDirectory() as folder:
            model = model_of(neoc, TEXT.replace("TYPE", kind).replace("OPTIMIZER", text), folder)
            wrong += _steps(neoc, model, text, formula, clipped, kind, folder)
            compared += STEPS
    return wrong, compared
