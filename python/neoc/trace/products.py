"""Products of matrices and tensors, and what gradients do not flow through."""
from __future__ import annotations

import builtins
from typing import Any, List, Sequence, Tuple

from .. import checks
from ..errors import ShapeError
from . import sizes
from .broadcast import broadcast, literal, operands_of, pointwise
from .elements import multiply
from .expr import Apply, Expr, Operator, Read, Reduce
from .kinds import FLOATS
from .make import lift
from .named import refused
from .poly import Index, poly
from .reductions import axis_of
from .shapes import expand_dims, ravel, reshape, several
from .tensor import Tensor, define, read


def matmul(a: Any, b: Any) -> Tensor:
    """The product of matrices, of the last two dimensions; others are a batch and broadcast."""
    (x, y), kind = operands_of("matmul", (lift(a), lift(b)))
    if not x.ndim or not y.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions (has 0, gufunc "
                         "core with signature (n?,k),(k,m?)->(n?,m?) requires 1)")
    inner, other = x.extents[-1], y.extents[-2 if y.ndim > 1 else -1]
    if not sizes.equal(inner, other):
        raise ShapeError(
            "matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature "
            f"(n?,k),(k,m?)->(n?,m?) (size {other.value()} is different from {inner.value()})")
    batch = broadcast([x.extents[:-2], y.extents[:-2]])
    rows = [x.extents[-2]] if x.ndim > 1 else []
    columns = [y.extents[-1]] if y.ndim > 1 else []

    def body(i: List[Index]) -> Expr:
        k = Index(inner.now())
        outer = i[:len(batch)]
        left = _batched(x, outer, [*i[len(batch):len(batch) + len(rows)], k])
        right = _batched(y, outer, [k, *i[len(i) - len(columns):]])
        return _sum_of_products([k], [left, right], kind)

    return define([*batch, *rows, *columns], kind, body)


def _batched(t: Tensor, outer: Sequence[Any], inner: Sequence[Any]) -> Expr:
    batch = t.extents[:t.ndim - len(inner)]
    places = [poly(0) if e.constant() == 1 else poly(outer[len(outer) - len(batch) + k])
              for k, e in enumerate(batch)]
    return read(t, [*places, *inner])


def _sum_of_products(indices: Sequence[Index], factors: Sequence[Expr], kind: str) -> Expr:
    if kind == "bool":
        body = factors[0]
        for f in factors[1:]:
            body = Operator("and", [body, f], "bool")
        return Reduce("any", indices, body, "bool") if indices else body
    body = factors[0]
    for f in factors[1:]:
        body = Operator("*", [body, f], kind)
    if not indices:
        return body
    if kind in ("i8", "u8"):
        return Apply(kind, [Reduce("sum", indices, body, "i32")], kind)
    return Reduce("sum", indices, body, kind)


def dot(a: Any, b: Any) -> Tensor:
    """numpy's dot: the product of numbers, vectors or matrices."""
    x, y = lift(a), lift(b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    if x.ndim > 2 and y.ndim > 1 or y.ndim > 2:
        return tensordot(x, y, ((x.ndim - 1,), (y.ndim - 2,)))
    return matmul(x, y)


def vdot(a: Any, b: Any) -> Tensor:
    """The sum of products of all elements."""
    x, y = lift(a), lift(b)
    if [e.value() for e in x.extents] == [e.value() for e in y.extents]:
        return tensordot(x, y, x.ndim)
    return matmul(ravel(x), ravel(y))


def inner(a: Any, b: Any) -> Tensor:
    """Sums of products over the last dimensions."""
    x, y = lift(a), lift(b)
    if not x.ndim or not y.ndim:
        return multiply(x, y)
    return tensordot(x, y, ((-1,), (-1,)))


def outer(a: Any, b: Any) -> Tensor:
    """All products of an element of a and one of b."""
    return multiply(expand_dims(ravel(a), 1), expand_dims(ravel(b), 0))


def _pairs(axes: Any, rank: int, other: int) -> List[Tuple[int, int]]:
    """The dimensions of both that tensordot sums over."""
    if hasattr(axes, "__index__"):
        count = checks.number("axes", axes, 0, builtins.min(rank, other))
        return list(zip(range(rank - count, rank), range(count)))
    wanted = "a number of dimensions, or a pair of dimensions of a and of b"
    if not isinstance(axes, (list, tuple)) or len(axes) != 2:
        raise refused(axes, wanted)
    first, second = ([axis_of(k, n) for k in ([given] if hasattr(given, "__index__")
                                              else several(given, wanted))]
                     for given, n in zip(axes, (rank, other)))
    if len(first) != len(second) or len(set(first)) != len(first) or \
            len(set(second)) != len(second):
        raise checks.wrong_value("axes", "as many dimensions of a as of b, each once", axes)
    return list(zip(first, second))


def tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    """Sums of products over these dimensions of a and b."""
    x, y = lift(a), lift(b)
    pairs = _pairs(axes, x.ndim, y.ndim)
    letters = iter("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    names_x = [next(letters) for _ in range(x.ndim)]
    names_y = [next(letters) for _ in range(y.ndim)]
    for p, q in pairs:
        names_y[q] = names_x[p]
    kept = [n for k, n in enumerate(names_x) if k not in [p for p, _ in pairs]]
    kept += [n for k, n in enumerate(names_y) if k not in [q for _, q in pairs]]
    return einsum(f"{''.join(names_x)},{''.join(names_y)}->{''.join(kept)}", x, y)


def kron(a: Any, b: Any) -> Tensor:
    """The Kronecker product: blocks of b, each times an element of a."""
    x, y = lift(a), lift(b)
    rank = builtins.max(x.ndim, y.ndim)
    x, y = (t[(None,)*(rank - t.ndim) + (...,)] for t in (x, y))
    made = multiply(x[(slice(None), None)*rank], y[(None, slice(None))*rank])
    return reshape(made, [m * n for m, n in zip(x.shape, y.shape)])


def einsum(subscripts: str, *operands: Any, optimize: Any = None) -> Tensor:
    """Sums of products in Einstein's notation, as numpy's, with `...` and implicit results.

    The compiler chooses the order of sums, so `optimize` is ignored.
    """
    from .einstein import einsum as build
    if not isinstance(subscripts, str):
        raise refused(subscripts, "a str, as \"ij,jk->ik\"")
    return build(subscripts, [lift(o) for o in operands])


def stop(x: Any) -> Tensor:
    """x, through which no gradient flows."""
    t = lift(x)
    if t.kind not in FLOATS:
        return t
    return pointwise([t], t.kind, lambda e: Apply("stop", [e], t.kind))


def guarded(tensor: Tensor, subscripts: Sequence[Any], otherwise: Any) -> Expr:
    """(x[...] else value); a tensor that is a view is one of its own first."""
    e = read(tensor, subscripts)
    if isinstance(e, Read) and e.other is None:
        return Read(e.tensor, e.subscripts, literal(otherwise, tensor.kind))
    return e
