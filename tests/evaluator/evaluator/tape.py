"""Tensors that know how they were computed, and the operations from which all else is made.

A Tensor has `lead` leading axes that stand for the indices around it (the frame of expressions.py: of extent 1 where
it does not depend on one), then its own dimensions. Elements within a statement have no dimensions of their own.

Every operation on floats notes its parents and a function from the gradient of its result to those of its parents,
which is made of the same operations: so gradients can be differentiated again. Operations are noted with the mask
under which they stood: what a `select`, a `where` or a range leaves out has no value, and no gradient flows there,
even if numpy computed a NaN in its place. Gradients are formed under the same mask, for the same reason.
"""

from contextlib import contextmanager

import numpy as np

from . import duals, scalars
from .errors import error

LARGEST = 1 << 27  # elements of one grid: 1 GiB


class Tensor:
    __slots__ = ("data", "type", "lead", "parents", "vjp", "mask", "bound", "tracked", "parts",
                 "unrounded", "edges")

    def __init__(self, data, kind, lead=0, parents=(), vjp=None, bound=None, tracked=False):
        self.data = data
        self.type = kind
        self.lead = lead
        self.parents = parents
        self.vjp = vjp
        self.mask = None
        self.parts = None  # its elements in a row, where each has its own node, as others of them read it
        self.unrounded = None  # of global_norm: the number in wide()
        self.edges = None  # by dimension: the list whose edges it has (edges.py)
        self.bound = bound  # elements lie in [0, bound) where it is a number
        self.tracked = tracked

    @property
    def shape(self):
        """The extents of its own dimensions."""
        return self.data.shape[self.lead:]

    @property
    def rank(self):
        return self.data.ndim - self.lead


class _State:
    mask = None  # a bool array over the axes of the frame, or None where all is active
    recording = True


state = _State()


@contextmanager
def masked(mask):
    """Operations of the body stand under this mask."""
    before, state.mask = state.mask, mask
    try:
        yield
    finally:
        state.mask = before


@contextmanager
def recording(on):
    before, state.recording = state.recording, on
    try:
        yield
    finally:
        state.recording = before


def fit(mask, shape):
    """A mask for an operation of this shape: active where any of the elements is that it stands for."""
    if mask.ndim < len(shape):
        mask = mask.reshape(mask.shape + (1,) * (len(shape) - mask.ndim))
    elif mask.ndim > len(shape):
        mask = mask.any(axis=tuple(range(len(shape), mask.ndim)))
    merged = tuple(k for k, n in enumerate(shape) if n == 1 and mask.shape[k] != 1)
    return mask.any(axis=merged, keepdims=True) if merged else mask


def leaf(data, kind, bound=None):
    return Tensor(data, kind, 0, bound=bound, tracked=scalars.is_float(kind))


def constant(value, kind):
    return Tensor(np.asarray(value, dtype=scalars.dtype(kind)), kind)


def node(data, kind, lead, parents, vjp):
    """The result of an operation; `vjp(g)` gives a gradient (or None) for each parent."""
    tracked = state.recording and scalars.is_float(kind) and any(p.tracked for p in parents)
    result = Tensor(data, kind, lead, tracked=tracked)
    if tracked:
        result.parents, result.vjp = parents, vjp
        if state.mask is not None:
            result.mask = fit(state.mask, data.shape)
    return result


# ---- shapes


def expand(a, count):
    """An element of an outer frame within an inner one of `count` indices: axes of extent 1 behind its own."""
    shape = a.data.shape
    if len(shape) in (0, count):
        return a
    data = a.data.reshape(shape + (1,) * (count - len(shape)))
    return node(data, a.type, count, (a,), lambda g: (reshape(g, shape, a.lead),))


def reshape(a, shape, lead=None):
    before = a.data.shape
    lead = a.lead if lead is None else lead
    return node(a.data.reshape(shape), a.type, lead, (a,), lambda g: (reshape(g, before, a.lead),))


def view(a, lead):
    """The same elements, with other axes counted as the frame's."""
    result = node(a.data, a.type, lead, (a,), lambda g: (g,))
    result.bound = a.bound
    return result


def check_size(shape):
    if int(np.prod(shape, dtype=np.float64)) > LARGEST:
        error(None, f"a grid of {list(shape)} points is too large to evaluate: choose smaller sizes")


def broadcast(a, shape):
    if a.data.shape == tuple(shape):
        return a
    check_size(shape)
    before = a.data.shape
    data = np.broadcast_to(a.data, shape)
    return node(data, a.type, a.lead if before else len(shape), (a,), lambda g: (shrink(g, before),))


def shrink(a, shape):
    """The adjoint of broadcasting: sums over the axes that `shape` lacks."""
    if a.data.shape == tuple(shape):
        return a
    before = a.data.shape
    more = len(before) - len(shape)
    axes = tuple(range(more)) + tuple(k + more for k, n in enumerate(shape) if n == 1 and before[k + more] != 1)
    data = a.data.sum(axis=axes).reshape(shape)
    return node(data, a.type, min(a.lead, len(shape)), (a,), lambda g: (broadcast(g, before),))


def sum_last(a, count):
    """The sum over the last `count` axes of an element of a frame."""
    before = a.data.shape
    outer = before[:len(before) - count]
    data = a.data.sum(axis=tuple(range(len(outer), len(before)))) if count else a.data

    def vjp(g):
        return (broadcast(reshape(broadcast(g, outer), outer + (1,) * count, len(before)), before),)
    return node(data, a.type, len(outer), (a,), vjp)


# ---- element by element


def pointwise(data, kind, parents, partials):
    """partials[k](g): the gradient of parent k, of the result's shape or one that broadcasts to it.

    What flows from elements that the mask leaves out is nothing, whatever NaN was computed there."""
    lead = max(p.lead for p in parents)

    def vjp(g):
        parts = [partial(g) if partial else None for partial in partials]
        if result.mask is None:
            return parts
        return [part and only(result.mask, broadcast(part, data.shape)) for part in parts]
    result = node(data, kind, lead, parents, vjp)
    return result


def _pair(a, b):
    count = max(a.data.ndim, b.data.ndim)
    return expand(a, count), expand(b, count)


def add(a, b):
    a, b = _pair(a, b)
    return pointwise(a.data + b.data, a.type, (a, b), (lambda g: g, lambda g: g))


def sub(a, b):
    a, b = _pair(a, b)
    return pointwise(a.data - b.data, a.type, (a, b), (lambda g: g, neg))


def mul(a, b):
    a, b = _pair(a, b)
    return pointwise(a.data * b.data, a.type, (a, b), (lambda g: mul(g, b), lambda g: mul(g, a)))


def div(a, b):
    a, b = _pair(a, b)
    return pointwise(a.data / b.data, a.type, (a, b),
                     (lambda g: div(g, b), lambda g: neg(div(mul(g, a), mul(b, b)))))


def neg(a):
    return pointwise(-a.data, a.type, (a,), (neg,))


def power(a, b):
    """a^b; where b is not tracked, nothing is computed of log a, and the derivative of a^0 is 0 at 0 too."""
    a, b = _pair(a, b)

    def base(g):
        less = sub(b, number(1.0)) if b.tracked else constant_like(np.where(b.data == 0, 0, b.data - 1), b)
        return mul(mul(g, b), power(a, less))

    def exponent(g):
        return mul(g, mul(power(a, b), log(a)))
    return pointwise(np.power(a.data, b.data), a.type, (a, b), (base, exponent if b.tracked else None))


def number(x):
    return constant(x, "float")


def choose(condition, a, b):
    """a where the bool array is true, else b: an array over the frame, or over a tensor's dimensions."""
    count, lead = max(a.data.ndim, b.data.ndim, condition.ndim), max(a.lead, b.lead, condition.ndim)
    a, b = expand(a, count), expand(b, count)
    if 0 < condition.ndim < count:
        condition = condition.reshape(condition.shape + (1,) * (count - condition.ndim))
    zero = number(0.0)
    return node(np.where(condition, a.data, b.data), a.type, lead, (a, b),
                lambda g: (choose(condition, g, zero), choose(condition, zero, g)))


def only(condition, a):
    return choose(condition, a, constant(0, a.type))


def modulo(a, b):
    a, b = _pair(a, b)
    with np.errstate(all="ignore"):
        whole = constant_like(np.floor(a.data / b.data), a)
    return pointwise(scalars.float_modulo(a.data, b.data), a.type, (a, b), (lambda g: g, lambda g: neg(mul(g, whole))))


def where_number(a):
    """a, through which nothing flows where it is NaN."""
    number_ = ~np.isnan(a.data) if a.data.dtype == np.float64 else None
    if number_ is None or number_.all():
        return a
    return node(a.data, a.type, a.lead, (a,), lambda g: (only(number_, g),))


def constant_like(data, a):
    return Tensor(duals.array(data), a.type, a.lead if np.ndim(data) else 0)


def _unary(data, a, slope):
    """slope(): the derivative at a, a Tensor."""
    return pointwise(data, a.type, (a,), (lambda g: mul(g, slope()),))


def exp(a):
    result = _unary(np.exp(a.data), a, lambda: result)
    return result


def expm1(a):
    return _unary(np.expm1(a.data), a, lambda: exp(a))


def log(a):
    return pointwise(np.log(a.data), a.type, (a,), (lambda g: div(g, a),))


def log1p(a):
    return pointwise(np.log1p(a.data), a.type, (a,), (lambda g: div(g, add(number(1.0), a)),))


def sqrt(a):
    result = pointwise(np.sqrt(a.data), a.type, (a,), (lambda g: div(g, mul(number(2.0), result)),))
    return result


def rsqrt(a):
    result = pointwise(1 / np.sqrt(a.data), a.type, (a,),
                       (lambda g: mul(g, div(mul(number(-0.5), result), a)),))
    return result


def sin(a):
    return _unary(np.sin(a.data), a, lambda: cos(a))


def cos(a):
    return _unary(np.cos(a.data), a, lambda: neg(sin(a)))


def tan(a):
    result = _unary(np.tan(a.data), a, lambda: add(number(1.0), mul(result, result)))
    return result


def tanh(a):
    result = _unary(np.tanh(a.data), a, lambda: sub(number(1.0), mul(result, result)))
    return result


def sigmoid(a):
    result = _unary(duals.sigmoid(a.data), a, lambda: mul(result, sub(number(1.0), result)))
    return result


def softplus(a):
    return _unary(duals.softplus(a.data), a, lambda: sigmoid(a))


def relu(a):
    positive = a.data > 0
    data = np.where(positive | np.isnan(a.data), a.data, 0)
    return pointwise(data, a.type, (a,), (lambda g: only(positive, g),))


def elu(a):
    positive = a.data > 0
    below = expm1(only(~positive, a))
    return choose(positive, a, below)


def silu(a):
    return mul(a, sigmoid(a))


def erf(a):
    return _unary(duals.erf(a.data), a, lambda: mul(number(2 / np.sqrt(np.pi)), exp(neg(mul(a, a)))))


def normal_cdf(a):
    """The chance that a normal variable is below a."""
    return _unary(duals.erfc(-a.data * np.sqrt(0.5)) / 2, a, lambda: mul(number(1 / np.sqrt(2 * np.pi)), exp(mul(number(-0.5), mul(a, a)))))


def gelu(a):
    return mul(a, normal_cdf(a))


def absolute(a):
    sign = constant_like(np.sign(a.data), a)
    return pointwise(np.abs(a.data), a.type, (a,), (lambda g: mul(g, sign),))


def stepwise(data, a):
    """floor and its like: nothing flows."""
    return Tensor(data, a.type, a.lead)


# ---- elements from here and there


def gather(a, flat, lead):
    """Element flat[..] of all of a's elements in a row; the result has the shape of `flat`."""
    check_size(flat.shape)
    shape = a.data.shape
    if a.data.size == 0:
        data = np.zeros(flat.shape, a.data.dtype)
        return Tensor(data, a.type, lead)
    data = a.data.reshape(-1)[flat]
    result = node(data, a.type, lead, (a,), lambda g: (scatter(g, flat, shape, a.lead),))
    result.bound = a.bound
    return result


def scatter(a, flat, shape, lead):
    """The adjoint of gather: sums of the elements that go to one place."""
    size = int(np.prod(shape, dtype=np.int64))
    data = np.bincount(flat.reshape(-1), weights=np.broadcast_to(a.data, flat.shape).reshape(-1), minlength=size)
    before, before_lead = a.data.shape, a.lead

    def vjp(g):
        picked = gather(g, flat, before_lead)
        return (picked if picked.data.shape == before else shrink(picked, before),)
    return node(data.astype(np.float64).reshape(shape), a.type, lead, (a,), vjp)


def concatenate(parts, axis):
    """Along one of the axes of the arrays (counted with the frame's)."""
    ends = np.cumsum([0] + [p.data.shape[axis] for p in parts])

    def vjp(g):
        return tuple(cut(g, axis, ends[k], ends[k + 1]) for k in range(len(parts)))
    return node(np.concatenate([p.data for p in parts], axis), parts[0].type, parts[0].lead, tuple(parts), vjp)


def cut(a, axis, start, end):
    shape = a.data.shape
    index = (slice(None),) * axis + (slice(start, end),)

    def vjp(g):
        def zeros(n):
            return Tensor(np.zeros(shape[:axis] + (n,) + shape[axis + 1:]), a.type, a.lead)
        return (concatenate([zeros(start), g, zeros(shape[axis] - end)], axis),)
    return node(a.data[index], a.type, a.lead, (a,), vjp)


# ---- sums of products


def contract(factors, kept, extents):
    """The sum over all axes k with kept[k] false of the product of the factors, whose arrays have as many axes as
    `extents`, of extent 1 where they do not depend. The result has extent 1 in the axes that are summed, and in those
    on which no factor depends."""
    axes = range(len(extents))
    scale, words = 1.0, []
    for f in factors:
        words.append([k for k in axes if f.data.ndim and f.data.shape[k] != 1])
    used = set().union(*words)
    for k in axes:
        if not kept[k] and k not in used:
            scale *= extents[k]
    out = [k for k in axes if kept[k] and k in used]
    extents = [n if k in used or not kept[k] else 1 for k, n in enumerate(extents)]
    operands = []
    for f, word in zip(factors, words):
        operands += [f.data.reshape([f.data.shape[k] for k in word]), word]
    data = np.einsum(*operands, out, optimize="greedy") if factors else np.ones(())
    data = data * scale if scale else np.zeros_like(data)  # a sum of nothing is 0, whatever NaN the factors hold
    data = duals.array(data).reshape([extents[k] if k in out else 1 for k in axes])

    def vjp(g):
        return tuple(_factor_gradient(factors, j, words[j], g, extents) if f.tracked else None
                     for j, f in enumerate(factors))
    return node(data, factors[0].type, len(extents), tuple(factors), vjp)


def _factor_gradient(factors, j, word, g, extents):
    others = [g] + factors[:j] + factors[j + 1:]
    result = contract(others, [k in word for k in range(len(extents))], extents)
    shape = factors[j].data.shape
    return broadcast(result, shape) if factors[j].data.ndim else reshape(result, shape, 0)


# ---- gradients


def gradients(result, seed, wanted, held=()):
    """The gradients of sum(result * seed) with respect to the wanted tensors; None where nothing flows. Nothing flows
    through those that are held."""
    held = {id(t) for t in held}
    order, reach = [], _reach(result, wanted, held)
    _sort(result, reach, order)
    adjoints = {id(result): seed}
    for n in reversed(order):
        g = adjoints.get(id(n))
        if g is None or n.vjp is None or id(n) in held:
            continue
        _push(n, g, reach, adjoints)
    return [adjoints.get(id(w)) for w in wanted]


def _push(n, g, reach, adjoints):
    """Add what flows from a node to the adjoints of its parents."""
    with masked(n.mask):
        parts = n.vjp(g)
    with masked(None):
        for parent, part in zip(n.parents, parts):
            if part is None or id(parent) not in reach:
                continue
            if isinstance(part, dict):  # one of the results of a function with its own gradient
                adjoints.setdefault(id(parent), {}).update(part)
                continue
            shape = parent.data.shape
            part = broadcast(shrink(part, shape) if part.data.ndim >= len(shape) else part, shape)
            before = adjoints.get(id(parent))
            adjoints[id(parent)] = part if before is None else add(before, part)


def ancestors(result):
    """The ids of all nodes that a result depends on."""
    seen, waiting = set(), [result]
    while waiting:
        n = waiting.pop()
        if id(n) not in seen:
            seen.add(id(n))
            waiting.extend(n.parents)
    return seen


def _reach(result, wanted, held):
    """The ids of the nodes through which a wanted tensor is reached."""
    targets, known, stack_ = {id(w) for w in wanted}, {}, [(result, False)]
    while stack_:
        n, done = stack_.pop()
        if done:
            known[id(n)] = id(n) in targets or (id(n) not in held and any(known.get(id(p)) for p in n.parents))
        elif id(n) not in known:
            known[id(n)] = False
            stack_.append((n, True))
            if id(n) not in held:
                stack_.extend((p, False) for p in n.parents)
    return {k for k, v in known.items() if v}


def _sort(result, reach, order):
    """Parents before children."""
    seen, stack_ = set(), [(result, False)]
    while stack_:
        n, done = stack_.pop()
        if done:
            order.append(n)
        elif id(n) not in seen and id(n) in reach:
            seen.add(id(n))
            stack_.append((n, True))
            stack_.extend((p, False) for p in n.parents)
