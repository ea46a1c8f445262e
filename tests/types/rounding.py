"""Numbers of the types, and how far results may be from exact ones."""

import numpy as np

BITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}  # of the significand
LEAST = {"f64": -1022, "f32": -126, "f16": -14, "bf16": -126}  # exponent of the least normal number


def unit(x, kind):
    """The distance of the numbers of a type near x."""
    _, exponent = np.frexp(np.abs(x))
    return np.exp2(np.maximum(exponent - 1, LEAST[kind]) - (BITS[kind] - 1.0))


def to(kind, x):
    """The nearest numbers of the type, ties to even."""
    x = np.asarray(x, np.float64)
    u = unit(x, kind)
    return np.rint(x/u)*u


# f16 and bf16 are computed with in f32, so that results which are rounded once are off by half a unit, and a little
# more where cancellation shows what f32 lost. Errors of the others, and of f32 and f64, are relative to the largest element.
ONCE = {"f16": 0.502, "bf16": 0.502}
MORE = {"f64": 1e-12, "f32": 2e-5, "f16": 8e-3, "bf16": 6e-2}


def units(found, want, kind, once):
    """The largest error in units of what is allowed; inf where something is not comparable."""
    found = np.asarray(found, np.float64)
    if found.shape != want.shape or np.isnan(found).any():
        return np.inf
    if not want.size:
        return 0.0
    if want.dtype.kind in "ib":
        return float((found != want).any())*np.inf if (found != want).any() else 0.0
    error, scale = np.abs(found - want), np.abs(want).max() + 1e-300
    if once and kind in ONCE:
        return float((error/(ONCE[kind]*unit(want, kind) + 1e-5*scale)).max())
    return float((error/(MORE[kind]*scale)).max())
