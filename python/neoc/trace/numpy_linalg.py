"""numpy.linalg's functions of symbolic tensors, by models/std/linalg.expr."""
from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

from ..errors import Unsupported
from . import functions
from .functions import absolute, axes_of, exp, lift, sqrt, square, sum as total
from .tensor import Tensor


def _std(name: str) -> Callable[..., Any]:
    from .. import linalg
    return getattr(linalg, name)  # type: ignore[no-any-return]


def cholesky(a: Any) -> Tensor:
    """The lower triangular factor."""
    return _std("cholesky")(a)  # type: ignore[no-any-return]


def solve(a: Any, b: Any) -> Tensor:
    """x with a x = b; b is a vector, or has right-hand sides as columns."""
    x, y = lift(a), lift(b)
    if y.ndim == x.ndim - 1:
        return _std("solve")(x, y[..., None])[..., 0]  # type: ignore[no-any-return]
    return _std("solve")(x, y)  # type: ignore[no-any-return]


def inv(a: Any) -> Tensor:
    """The inverse."""
    return _std("inverse")(a)  # type: ignore[no-any-return]


def qr(a: Any) -> Tuple[Tensor, Tensor]:
    """The factors q and r."""
    return _std("qr")(a)  # type: ignore[no-any-return]


def slogdet(a: Any) -> Tuple[Tensor, Tensor]:
    """Sign and logarithm of the determinant."""
    return _std("log_det")(a)  # type: ignore[no-any-return]


def det(a: Any) -> Tensor:
    """The determinant."""
    sign, logarithm = slogdet(a)
    return sign * exp(logarithm)


def eigh(a: Any) -> Tuple[Tensor, Tensor]:
    """Eigenvalues in ascending order and eigenvectors of symmetric matrices."""
    return _std("symmetric_eigen")(a)  # type: ignore[no-any-return]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The norm of vectors along an axis, or of all elements."""
    t = lift(x)
    places = axes_of(axis, t.ndim)
    if ord in (None, "fro") or (ord == 2 and len(places) == 1):
        return sqrt(total(square(t), axis, keepdims=keepdims))
    if len(places) == 1 and ord == 1:
        return total(absolute(t), axis, keepdims=keepdims)
    if len(places) == 1 and ord == float("inf"):
        return functions.max(absolute(t), axis, keepdims)
    raise Unsupported(f"norm with ord={ord!r} of {len(places)} dimensions")


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    f.__name__: f for f in (cholesky, solve, inv, qr, slogdet, det, eigh, norm)}


def found(name: str) -> Callable[..., Any]:
    """The function of this name."""
    if name not in FUNCTIONS:
        raise Unsupported(f"np.linalg.{name} of symbolic tensors; there are "
                          f"{', '.join(sorted(FUNCTIONS))}, and neoc.linalg")
    return FUNCTIONS[name]


