"""Whether two runs agree."""

import numpy as np

TOLERANCE = {"f64": 1e-8, "f32": 1e-4, "f16": 1e-2, "bf16": 6e-2}
_FLOATS = tuple(TOLERANCE)


def level(outputs):
    """The size of a usual element: the largest finite one of all outputs, a thousandth of it."""
    largest = 0.0
    for kind, _, values in outputs.values():
        if kind in _FLOATS:
            a = np.abs(np.asarray(values, np.float64))
            largest = max(largest, a[np.isfinite(a)].max(initial=0))
    return 1e-3 * largest


def difference(a, b, floor, kind=None, special=False):
    """None, or how two outputs differ: (what, how far relative to the tolerance). Where inputs are infinite or huge
    (`special`), which of infinite and NaN a sum of products is is not told."""
    (kind_a, shape_a, values_a), (kind_b, shape_b, values_b) = a, b
    if shape_a != shape_b:
        return f"shapes {shape_a} and {shape_b}", np.inf
    if not values_a:
        return None
    if kind_a not in _FLOATS:
        for k, (x, y) in enumerate(zip(values_a, values_b)):
            if x != y:
                return f"element {k}: {x} and {y}", np.inf
        return None
    x, y = np.asarray(values_a, np.float64), np.asarray(values_b, np.float64)
    if special:
        x, y = (np.where(np.isfinite(z), z, np.nan) for z in (x, y))
    special = ~np.isfinite(x) | ~np.isfinite(y)
    odd = special & ~((x == y) | (np.isnan(x) & np.isnan(y)))
    if odd.any():
        k = int(np.argmax(odd))
        return f"element {k}: {x[k]:.9g} and {y[k]:.9g}", np.inf
    x, y = np.where(special, 0, x), np.where(special, 0, y)
    scale = np.maximum(np.abs(x), max(0.05 * np.abs(x).max(), floor)) + 1e-30
    ratio = np.abs(x - y) / scale / TOLERANCE[kind or kind_a]
    k = int(np.argmax(ratio))
    if ratio[k] <= 1:
        return None
    return f"element {k}: {x[k]:.9g} and {y[k]:.9g}", float(ratio[k])


def _finite(a, b):
    """The outputs with 0 where either is infinite or NaN: a gradient multiplies what is infinite by the adjoint 0 of an element
    that a condition leaves out where a definition has a name, and does not where the condition is in the same definition."""
    if a[1] != b[1] or not a[2] or a[0] not in _FLOATS:
        return a, b
    x, y = np.asarray(a[2], np.float64), np.asarray(b[2], np.float64)
    both = np.isfinite(x) & np.isfinite(y)
    return (a[0], a[1], np.where(both, x, 0).tolist()), (b[0], b[1], np.where(both, y, 0).tolist())


def differences(ours, theirs, mapped=None, kind=None, special=False):
    """All outputs that both have and that differ: [(name, what, how far)]."""
    found, floor = [], max(level(ours), 1e-12)
    for name, a in ours.items():
        b = theirs.get(name)
        if b is None:
            continue
        if mapped and name in mapped:
            b = mapped[name](b)
        if special and name.startswith("g"):
            a, b = _finite(a, b)
        d = difference(a, b, floor, kind, special)
        if d:
            found.append((name, *d))
    return found
