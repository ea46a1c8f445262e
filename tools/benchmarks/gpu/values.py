"""Are the values of a row right? What ours_gpu sampled (gpu_values.h), beside what is expected.

Of products and convolutions the expected values, in f64, and the bounds of their errors come with
the values. Of other rows they are a processor's library's, from the same inputs, sampled when the
row was prepared; a row says how far apart they may be, `agree`, by one of the measures

    element    of each element, |got - want| over |want| and the tensor's root mean square
    tensor     of each tensor, the 2-norm of got - want over that of want
    change     of each parameter and state, the 2-norm of got - want over that of what the training
               step has changed; the loss as an element

Tensors that are much smaller than the row's others (gradients that are 0 but for roundings) are
measured against a thousandth of those.
"""
import math

from peers import peer

FORMATS = {"F32": "f", "F64": "d"}
SMALL = 1e-3  # of the row's largest tensor
ROUNDING = 2e-6  # of a parameter: what its update may lose


def checking(row, path):
    """Options of ours_gpu: the row's values go to this file. A step of rate 1 changes parameters by
    more than they are rounded."""
    rate = ["lr=1"] if row.trains() else []
    return [*rate, f"samples={row.samples}", *([f"reference={row.reference}"] if row.reference
                                              else []), "values=" + path,
            *(f"{k}={v}" for k, v in row.settings.items())]


def floats(path):
    """The f32 and f64 tensors of a file, as sequences."""
    return {name: memoryview(bytes(data)).cast(FORMATS[kind])
            for name, (kind, _, data) in peer.tensors(path).items() if kind in FORMATS}


def rms(values):
    return math.sqrt(sum(x * x for x in values) / len(values)) if values else 0.0


def minus(x, y):
    return [a - b for a, b in zip(x, y)]


def largest(values):
    """The maximum of numbers; NaN counts as larger than any."""
    values = list(values)
    return math.inf if any(v != v for v in values) else max(values, default=0.0)


def against_bounds(got):
    """By tensor: the largest share of its bound that an element's error is."""
    for name in got:
        if " " not in name:
            want, bound = got[name + " want"], got[name + " bound"]
            yield name, largest(abs(g - w) / b if b else abs(g - w) * math.inf if g != w else 0
                                for g, w, b in zip(got[name], want, bound))


def as_elements(got, want, least):
    scale = max(rms(want), least)
    return largest(abs(g - w) / (abs(w) + scale) if g != w else 0 for g, w in zip(got, want))


def as_tensor(got, want, least):
    error, scale = rms(minus(got, want)), max(rms(want), least)
    return error / scale if error else error


def against_stored(got, want, measure):
    """By tensor: how far apart, by the measure."""
    before = {name[:-len(" before")]: x for name, x in want.items() if name.endswith(" before")}
    after = {name: x for name, x in want.items() if " " not in name}
    size = {name: rms(minus(x, before[name]) if name in before else x) for name, x in after.items()}
    most = {kept: max((s for name, s in size.items() if (name in before) == kept), default=0.0)
            for kept in (True, False)}
    for name, x in after.items():
        least = SMALL * most[name in before]
        if name not in got or len(got[name]) != len(x):
            yield name, math.inf
        elif name in before:
            scale = max(size[name], least, rms(x) * ROUNDING)
            error = rms(minus(got[name], x))
            yield name, error / scale if error else error
        else:
            yield name, (as_tensor if measure == "tensor" else as_elements)(got[name], x, least)
    for name, x in before.items():
        first = as_elements(got.get(name + " before", []), x, 1e-30)
        if not first <= 1e-4 or len(got.get(name + " before", [])) != len(x):
            yield "first " + name, math.inf


def verdict(got_path, want_path, row):
    """The part of a result about a row's values; `apart` is to be at most `agree`."""
    got = floats(got_path)
    if row.reference:
        apart, agree = dict(against_bounds(got)), 1.0
    else:
        apart, agree = dict(against_stored(got, floats(want_path), row.measure)), row.agree
    name = max(apart, key=lambda k: math.inf if apart[k] != apart[k] else apart[k], default=None)
    if name is None:
        return dict(equal=False, tensors=0, elements=0, farthest="nothing", apart=-1, agree=agree)
    far = apart[name]
    return dict(equal=far <= agree, tensors=len(apart), farthest=name, agree=agree,
                elements=sum(len(x) for k, x in got.items() if " " not in k),
                apart=far if math.isfinite(far) else -1)  # JSON has no infinity
