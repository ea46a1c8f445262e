"""Whether two runs agree."""

from typing import NamedTuple

import numpy as np

from relations import compare

_EPSILON = {np.float64: 1e-12, np.float32: 3e-7}


class Verdict(NamedTuple):
    words: str
    far: float
    kind: str
    output: str


def verdict(a, b, case, e):
    """How two runs of an entry differ, or None. A gradient whose factors leave the range of their type may be infinite
    or NaN, and a program's coarsest type says how exact its results are."""
    if b.why.startswith("exit 2"):  # there is no such option
        return None
    if any(x.why.startswith("exit 4") and "out of memory" in x.why for x in (a, b)):  # planned at the bounds of sizes
        return None
    if b.kind == "failed":
        return Verdict(b.why, np.inf, "failed", "")
    if a.kind != "computed" and a.kind == b.kind:
        return None
    if a.kind != b.kind:
        return Verdict(f"{a.kind} {a.why} and {b.kind} {b.why}", np.inf, "failed", "")
    gradient = has_gradients(case, e)
    coarsest = next((t for t in ("bf16", "f16") if t in case.text), None)
    found = compare.differences(a.outputs, b.outputs, kind=coarsest, special=gradient)
    if not found:
        return None
    name, what, far = max(found, key=lambda f: f[2])
    return Verdict(f"{name}: {what}", far, "differ", name)


def has_gradients(case, e):
    return e["kind"] == "grad" or "grad(" in case.text


def told(a, b):
    """Run b but for elements that are not finite, which are those of a: in the evaluator's gradients a NaN may be what the
    compiler leaves out, since a condition may reach earlier definitions."""
    outputs = dict(b.outputs)
    for n, (kind, shape, values) in b.outputs.items():
        other = a.outputs.get(n)
        if other and other[1] == shape:
            outputs[n] = kind, shape, [v if np.isfinite(v) else w for v, w in zip(values, other[2])]
    return b._replace(outputs=outputs)


def moved(a, seed):
    """An array, each element moved by about a rounding; integers as they are."""
    if a.dtype.kind != "f":
        return a
    rng, eps = np.random.default_rng(seed), _EPSILON.get(a.dtype.type, 1e-3)
    return (a*(1 + eps*rng.uniform(-1, 1, a.shape)) + eps*1e-3*rng.uniform(-1, 1, a.shape)).astype(a.dtype)
