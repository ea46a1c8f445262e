"""Reducers: docs/language.md, "Reducers" and "Ranges"."""

import numpy as np

from . import duals, edges, elements, scalars, tape
from .elements import bool_tensor, integer_tensor
from .errors import error
from .frames import Axis
from .tree import DOTS, Binary

INF = float("inf")


def reduce(expressions, node, frame, wide):
    """The value of a reduction at every point of the frame."""
    inner = bind(expressions, node, frame)
    if node.where is not None:
        inner = inner.under(expressions.condition(node.where, inner))
    count = len(inner) - len(frame)
    if node.kind in ("any", "all"):
        return _logical(expressions, node, frame, inner, count)
    gathers = node.kind in ("sum", "prod", "mean", "logsumexp")
    masked = inner.mask is not None and (frame.mask is None or inner.mask.size != frame.mask.size or
                                         not np.array_equal(inner.mask.reshape(-1), frame.mask.reshape(-1)))
    if node.kind in ("sum", "mean") and not masked:
        result = _products(expressions, node, frame, inner, gathers)
        if result is not None:
            return _narrowed(result, wide)
    body = expressions.value(node.body, inner, gathers)
    with tape.masked(inner.mask):
        return _narrowed(_reduced(node, body, inner, frame, count), wide)


def _narrowed(result, wide):
    """Sums of f16 and bf16 gather in f32 and are then rounded; those of i8 and u8 stay i32."""
    kind = scalars.SUMMED.get(result.type)
    return result if wide or not kind else elements.rounded(elements.retype(result, kind))


def _reduced(node, body, inner, frame, count):
    if body.type in scalars.LITERALS and node.kind in ("mean", "logsumexp"):
        body = elements.retype(body, "float")
    if body.type == "index":
        body = elements.retype(body, "i64")
    body, mask = _full(body, inner, count)
    with tape.masked(mask):
        if node.kind in ("sum", "mean"):
            return _sum(node, body, mask, count)
        if node.kind == "prod":
            return _prod(body, mask, count)
        if node.kind == "logsumexp":
            return _logsumexp(body, mask, count)
        return _extreme(node.kind, body, mask, inner, count)


def bind(expressions, node, frame):
    """The frame within a reducer: its indices and their ranges."""
    inner = frame
    nodes = [n for r in node.ranges for n in (r.lower, r.upper) if n is not None]
    nodes += ([node.where] if node.where is not None else []) + [node.body]
    for r in node.ranges:
        if r.name is DOTS:
            if inner.dots is not None:
                error(r, "'..' is bound already")
            extents = expressions.dots(nodes, inner, r)
            inner = edges.pushed(inner, expressions.view, [("..", k) for k in range(len(extents))], extents, len(extents))
        else:
            if inner.find(r.name) is not None:
                error(r, f"index '{r.name}' is bound already")
            inner = _ranged(expressions, r, inner, nodes)
    return inner


def _ranged(expressions, r, frame, nodes):
    if r.lower is None and r.upper is None:
        return edges.pushed(frame, expressions.view, [r.name], [expressions.extent(r.name, nodes, frame, r)])
    lower = _bound(expressions, r.lower, frame, r.lower_open) if r.lower is not None else np.zeros((), np.int64)
    if r.upper is not None:
        upper = _bound(expressions, r.upper, frame, r.upper_closed)
    else:
        upper = np.asarray(expressions.extent(r.name, nodes, frame, r))
    low, high = _least(lower, frame), -_least(-upper, frame)
    inner = frame.push([Axis(r.name, low, max(0, high - low))])
    if lower.size == 1 and upper.size == 1:
        return inner
    grid = inner.grid(len(inner) - 1)
    return inner.under((grid >= _outer(lower, frame)) & (grid < _outer(upper, frame)))


def _bound(expressions, node, frame, plus_one):
    result = expressions.value(node, frame, scalars.EXACT)
    if not scalars.is_integer(result.type):
        error(node, "a bound is an integer")
    return result.data + int(plus_one)


def _outer(bound, frame):
    """A bound over the frame as one over the frame and the index that it bounds."""
    return bound.reshape(bound.shape + (1,) * (len(frame) + 1 - bound.ndim)) if bound.ndim else bound


def _least(bound, frame):
    """The least value of a bound among the points that there are."""
    if bound.size == 1:
        return int(bound.reshape(()))
    values = bound[np.broadcast_to(frame.active(bound.shape), bound.shape)]
    return int(values.min()) if values.size else 0


def _full(body, inner, count):
    """The body and the mask with all of the reduced axes; those around them as they come."""
    body = tape.expand(body, len(inner))
    outer = body.data.shape[:len(inner) - count] if body.data.ndim else (1,) * (len(inner) - count)
    if inner.mask is not None:
        outer = np.broadcast_shapes(outer, inner.mask.shape[:len(inner) - count])
    shape = tuple(outer) + tuple(a.count for a in inner.axes[len(inner) - count:])
    mask = None if inner.mask is None else np.broadcast_to(inner.mask, shape)
    return tape.broadcast(body, shape), mask


def _taken(body, mask, count):
    """How many elements are taken, over the outer axes."""
    shape = body.data.shape
    axes = tuple(range(len(shape) - count, len(shape)))
    if mask is None:
        return np.full(shape[:len(shape) - count], int(np.prod(shape[len(shape) - count:], dtype=np.int64)))
    return mask.sum(axis=axes)


def _outer_tensor(data, kind):
    return tape.Tensor(np.asarray(data, dtype=scalars.dtype(kind)), kind, np.ndim(data))


def _sum(node, body, mask, count):
    taken = body if mask is None else tape.only(mask, body)
    if scalars.is_float(body.type):
        result = tape.sum_last(taken, count)
    else:
        axes = tuple(range(body.data.ndim - count, body.data.ndim))
        result = integer_tensor(scalars.wrap(taken.data.sum(axis=axes), body.type), body.type)
    if node.kind == "sum":
        return result
    return tape.div(result, _outer_tensor(_taken(body, mask, count), body.type))


def _products(expressions, node, frame, inner, gathers):
    """The sum of a product over whole ranges, without its grid; None where it is no product of floats."""
    factors = [expressions.value(n, inner, gathers) for n in _factors(node.body)]
    if not any(scalars.is_float(f.type) for f in factors) or any(f.type == "bool" for f in factors):
        return None
    product = factors[0]
    for f in factors[1:]:  # their types must fit, as one by one
        _, product = elements.unify(f, tape.Tensor(np.zeros(()), product.type), node)
    kind = "float" if product.type in scalars.LITERALS else product.type
    factors = [tape.expand(elements.retype(f, kind), len(inner)) for f in factors]
    if inner.mask is not None:
        factors = [tape.only(tape.fit(inner.mask, f.data.shape), f) if f.data.ndim else f for f in factors]
    counts = [a.count for a in inner.axes]
    kept = [k < len(frame) for k in range(len(inner))]
    total = tape.contract(factors, kept, counts)
    result = tape.reshape(total, total.data.shape[:len(frame)], len(frame))
    if node.kind == "sum":
        return result
    number = float(np.prod(counts[len(frame):], dtype=np.int64))
    return tape.div(result, tape.constant(number, kind))


def _factors(node):
    if isinstance(node, Binary) and node.op == "*":
        return _factors(node.a) + _factors(node.b)
    return [node]


def _prod(body, mask, count):
    """By halves, so that every derivative is a product of others, exact at zeros."""
    if mask is not None:
        body = tape.choose(mask, body, tape.constant(1, body.type))
    shape = body.data.shape
    outer = shape[:len(shape) - count]
    flat = outer + (int(np.prod(shape[len(outer):], dtype=np.int64)),)
    if not scalars.is_float(body.type):
        data, result = body.data.reshape(flat), np.ones(outer, np.int64)
        for k in range(flat[-1]):
            result = scalars.wrap(result * data[..., k], body.type)
        return integer_tensor(result, body.type)
    with tape.masked(None):
        body = tape.reshape(body, flat, len(flat))
        while body.data.shape[-1] > 1:
            n = body.data.shape[-1]
            half = tape.mul(tape.cut(body, len(outer), 0, n // 2), tape.cut(body, len(outer), n // 2, n // 2 * 2))
            rest = [tape.cut(body, len(outer), n - 1, n)] if n % 2 else []
            body = tape.concatenate([half] + rest, len(outer))
        if body.data.shape[-1] == 0:
            return _outer_tensor(np.ones(outer), body.type)
        return tape.reshape(body, outer, len(outer))


def _flattened(body, mask, count):
    shape = body.data.shape
    outer = shape[:len(shape) - count]
    data = body.data.reshape(outer + (-1,)) if body.data.size else np.zeros(outer + (0,), body.data.dtype)
    taken = np.ones(data.shape, bool) if mask is None else mask.reshape(data.shape)
    return data, taken


def _winner(data, taken, largest):
    """The position of the first extreme element of those taken; NaN wins. 0 where nothing is taken."""
    if data.shape[-1] == 0:
        return np.zeros(data.shape[:-1], np.int64)
    floats = data.dtype == np.float64
    key = data.astype(np.float64) if floats else data
    worst = (-INF if largest else INF) if floats else (np.iinfo(np.int64).min if largest else np.iinfo(np.int64).max)
    nan = np.isnan(key) & taken if floats else np.zeros_like(taken)
    ranked = np.where(taken & ~nan, key, worst)
    best = ranked.max(axis=-1, keepdims=True) if largest else ranked.min(axis=-1, keepdims=True)
    wins = np.where(nan.any(axis=-1, keepdims=True), nan, taken & (ranked == best))
    return np.argmax(wins, axis=-1)


def _extreme(kind, body, mask, inner, count):
    largest = kind in ("max", "argmax")
    data, taken = _flattened(body, mask, count)
    at = _winner(duals.primal(data), taken, largest)
    some = taken.any(axis=-1)
    if kind in ("argmax", "argmin"):
        return _position(at, some, inner, count)
    nothing = _nothing(body.type, largest)
    if data.shape[-1] == 0:
        return _outer_tensor(np.full(some.shape, nothing), body.type)
    flat = np.arange(at.size, dtype=np.int64).reshape(at.shape) * data.shape[-1] + at
    with tape.masked(some if mask is not None else None):
        picked = tape.gather(body, flat, at.ndim)
    return tape.choose(some, picked, tape.constant(nothing, body.type))


def _nothing(kind, largest):
    if scalars.is_float(kind):
        return -INF if largest else INF
    bits, signed = scalars.INTEGERS[kind]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    return low if largest else high


def _position(at, some, inner, count):
    """The value of the index that won; of several, each is multiplied by how many values those after it have, counted
    from 0 or from a lower bound below it. Nothing bounds what may be negative."""
    axes = inner.axes[len(inner) - count:]
    position, bound = np.zeros_like(at), 1
    for axis, value in zip(axes, np.unravel_index(at, [max(1, a.count) for a in axes])):
        width = axis.lower + axis.count - min(axis.lower, 0)
        position = position * width + value + axis.lower
        bound *= width
    result = integer_tensor(np.where(some, position, 0), "i32")
    result.bound = bound if all(axis.lower >= 0 for axis in axes) else None
    return result


def _logsumexp(body, mask, count):
    shape = body.data.shape
    outer = shape[:len(shape) - count]
    data, taken = _flattened(body, mask, count)
    top = np.where(taken, duals.primal(data), -INF).max(axis=-1) if data.shape[-1] else np.full(outer, -INF)
    base = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(all="ignore"):
        result = np.log(np.where(taken, np.exp(data - base[..., None]), 0.0).sum(axis=-1)) + base

    def vjp(g):
        wide = tape.reshape(total, outer + (1,) * count, len(shape))
        with tape.masked(mask):
            part = tape.exp(tape.sub(body, wide))
            part = tape.mul(tape.reshape(g, outer + (1,) * count, len(shape)), part)
        return (part if mask is None else tape.only(mask, part),)
    with tape.masked(None):
        total = tape.node(result, body.type, len(outer), (body,), vjp)
    return tape.view(total, total.lead)  # what the gradient reads is not the tensor that gets the result's name


def _logical(expressions, node, frame, inner, count):
    data = expressions.condition(node.body, inner)
    body, mask = _full(bool_tensor(data), inner, count)
    axes = tuple(range(body.data.ndim - count, body.data.ndim))
    if node.kind == "any":
        return bool_tensor((body.data if mask is None else body.data & mask).any(axis=axes))
    return bool_tensor((body.data if mask is None else body.data | ~mask).all(axis=axes))
