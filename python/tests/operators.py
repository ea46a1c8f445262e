"""Thirty operators and more that the tests of the doors (torch, JAX) go through.

Each is a text, the shapes and types of its arguments, and values for its static ones. `values`
makes arguments of numpy for it. Texts are of the kind that users write: elementwise ones, products,
windows, layers, lookups, recurrences, and some that no framework has. Arguments named in `whole`
are of integers or bools, which have no gradient.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Operator(NamedTuple):
    """An operator to be tested.

    shapes: of its arguments that are not static, in order. whole: {argument: (type, lowest, end)}.
    positive: arguments whose values lie between 0.5 and 1.5 instead of -1 and 1. static: values of
    static arguments. types, out: as of neoc.op.
    """

    name: str
    text: str
    shapes: tuple[tuple[int, ...], ...]
    whole: dict[str, tuple[str, int, int]] = {}
    positive: tuple[str, ...] = ()
    static: dict[str, int] = {}
    types: dict[str, str] = {}
    out: tuple[str, ...] | None = None
    differentiable: bool = True


OPERATORS = [
    # elementwise, of any rank
    Operator("add", "C[..] = A[..] + B[..]", ((3, 4), (3, 4))),
    Operator("scale", "y[..] = a*x[..]", ((), (2, 3))),
    Operator("gelu", "y[..] = gelu(x[..])", ((2, 5),)),
    Operator("swish", "y[..] = x[..]*sigmoid(b*x[..])", ((6,), ())),
    Operator("piecewise", "y[i] = select(x[i] > 0.1, x[i]^2, sin(x[i]))", ((7,),)),
    # sums of products
    Operator("product", "C[i, j] = sum[k] A[i, k]*B[k, j]", ((3, 4), (4, 5))),
    Operator("batched_product", "C[b, i, j] = sum[k] A[b, i, k]*B[b, k, j]",
             ((2, 3, 4), (2, 4, 2))),
    Operator("dot", "y = sum[i] a[i]*b[i]", ((5,), (5,))),
    Operator("outer", "C[i, j] = a[i]*b[j]", ((3,), (4,))),
    Operator("transpose", "B[j, i] = A[i, j]^2", ((3, 4),)),
    Operator("bilinear", "y[n, k] = sum[i, j] a[n, i]*W[k, i, j]*b[n, j]",
             ((3, 2), (4, 2, 3), (3, 3))),
    # reducers
    Operator("logsumexp", "y[i] = logsumexp[j] x[i, j]", ((3, 4),)),
    Operator("moments", "m[i] = mean[j] x[i, j]\nv[i] = mean[j] (x[i, j] - m[i])^2", ((3, 5),),
             out=("m", "v")),
    Operator("largest", "y[i] = max[j] x[i, j]\nn[i] = argmax[j] x[i, j]", ((3, 4),)),
    Operator("softmax", "y = nn.softmax(x)", ((3, 4),)),
    Operator("rms_norm", "r[n] = rsqrt((mean[d] x[n, d]^2) + 0.001)\n"
             "y[n, d] = x[n, d]*r[n]*g[d]", ((3, 4), (4,))),
    # windows
    Operator("conv1d", "y[n, k, p < P] = sum[c, r] x[n, c, p + r]*f[k, c, r]",
             ((2, 2, 6), (3, 2, 3)), static={"P": 4}),
    Operator("conv2d", "y = nn.conv2d(x, f, stride = 2, pad = 1)", ((1, 2, 5, 5), (2, 2, 3, 3))),
    Operator("max_pool", "y = nn.max_pool2d(x, size = 2, stride = 2)", ((1, 2, 4, 4),)),
    Operator("involution",
             "y[n, i, g, c] = sum[r < 3] w[n, i, r, g]*(x[n, i + r - 1, g, c] else 0)",
             ((1, 5, 3, 2), (1, 5, 2, 3))),
    Operator("group_convolution",
             "y[k, a < 4, p < 3, q < 3] = sum[c, r < 2, s < 2] x[c, p + r, q + s]*"
             "select(a == 0, f[k, c, r, s], select(a == 1, f[k, c, s, 1 - r], "
             "select(a == 2, f[k, c, 1 - r, 1 - s], f[k, c, 1 - s, r])))",
             ((2, 4, 4), (2, 2, 2, 2))),
    Operator("cost_volume", "y[d < D, i, j] = mean[c] l[c, i, j]*(r[c, i, j - d] else 0)",
             ((3, 2, 5), (3, 2, 5)), static={"D": 3}),
    Operator("shifted_windows", "s[i < 6, j < 3] = sum[c] q[i, c]*"
             "k[(i + 1)/3*3 % 6 + j, c]\np[i, j] = exp(s[i, j])/(sum[l] exp(s[i, l]))\n"
             "y[i, c] = sum[j] p[i, j]*v[(i + 1)/3*3 % 6 + j, c]",
             ((6, 2), (6, 2), (6, 2)), out=("y",)),
    # lookups
    Operator("lookup", "E[n, d] = T[i[n], d]", ((5, 3), (4,)), whole={"i": ("int64", 0, 5)}),
    Operator("sum_by_key", "S[v < V, d] = sum[n where k[n] == v] x[n, d]", ((6,), (6, 2)),
             whole={"k": ("int32", 0, 3)}, static={"V": 3}),
    Operator("cross_entropy", "y = nn.cross_entropy(L, t)", ((4, 3), (4,)),
             whole={"t": ("int32", 0, 3)},
             types={"t": "i32 < 3"}),
    Operator("masked_mean", "y[i] = mean[j where m[j]] x[i, j]",
             ((5,), (3, 5)), whole={"m": ("bool", 0, 2)}),
    Operator("deformable", "z[i] = clamp(f[i] + o[i], 0, 3)\nb[i] = i32(floor(z[i]))\n"
             "a[i] = z[i] - floor(z[i])\ny[i, c] = (1 - a[i])*x[clamp(b[i], 0, 4), c] + "
             "a[i]*x[clamp(b[i] + 1, 0, 4), c]", ((4,), (4,), (5, 2)),
             positive=("f", "o"), out=("y",)),
    # networks
    Operator("capsule", "v[n, j, d] = sum[i, e] W[i, j, d, e]*u[n, i, e]\n"
             "q[n, j] = sum[d] v[n, j, d]^2\n"
             "y[n, j, d] = v[n, j, d]*sqrt(q[n, j] + 0.01)/(1 + q[n, j])",
             ((3, 2, 2, 2), (2, 3, 2)), out=("y",)),
    Operator("rbf", "y[n, k] = exp(-(g[k]*sum[d] (x[n, d] - c[k, d])^2))", ((3,), (4, 2), (3, 2))),
    Operator("soft_tree", "p[n, t] = sigmoid(sum[d] x[n, d]*w[t, d])\n"
             "y[n] = p[n, 0]*(p[n, 1]*v[0] + (1 - p[n, 1])*v[1]) + "
             "(1 - p[n, 0])*(p[n, 2]*v[2] + (1 - p[n, 2])*v[3])", ((4, 3), (3, 3), (4,))),
    Operator("attention", "s[i, j] = sum[c] q[i, c]*k[j, c]\nm[i] = logsumexp[j] s[i, j]\n"
             "y[i, c] = sum[j] exp(s[i, j] - m[i])*v[j, c]", ((3, 2), (4, 2), (4, 3)), out=("y",)),
    Operator("lstm_cell", "g[n, k] = b[k] + (sum[i] x[n, i]*U[k, i]) + sum[j] h[n, j]*W[k, j]\n"
             "C[n, j < 2] = sigmoid(g[n, j + 2])*c[n, j] + sigmoid(g[n, j])*tanh(g[n, j + 4])\n"
             "H[n, j] = sigmoid(g[n, j + 6])*tanh(C[n, j])",
             ((8,), (3, 2), (8, 2), (3, 2), (8, 2), (3, 2)), out=("H", "C")),
    # recurrences
    Operator("running_sum", "y[n] = x[n] + a*(y[n - 1] else 0)", ((6,), ()), out=("y",)),
    Operator("selective_scan", "h[t, d, n] = exp(dt[t, d]*A[d, n])*(h[t - 1, d, n] else 0) + "
             "dt[t, d]*B[t, n]*x[t, d]\ny[t, d] = sum[n] C[t, n]*h[t, d, n]",
             ((4, 2), (2, 3), (4, 3), (4, 2), (4, 3)), positive=("dt",), out=("y",)),
    Operator("cholesky", "L[i < N, j < N] = select(j > i, 0, select(i == j, "
             "sqrt(A[i, i] + 4 - sum[k < j] L[i, k]^2), "
             "(A[i, j] - sum[k < j] L[i, k]*L[j, k])/L[j, j]))", ((3, 3),), static={"N": 3},
             out=("L",)),
    # no gradient
    Operator("int8_product", "C[i, j] = sum[k] A[i, k]*B[k, j]", ((3, 4), (4, 2)),
             whole={"A": ("int8", -8, 8), "B": ("int8", -8, 8)}, differentiable=False),
]


def names(operator: Operator, arguments: tuple[str, ...]) -> list[str]:
    """Shapes of the arguments that are not static; `arguments`: those of the operator that neoc made."""
    return [a for a in arguments if a not in operator.static]


def values(operator: Operator, arguments: tuple[str, ...], dtype: Any = "float64",
           seed: int = 0) -> list[Any]:
    """Arrays for its arguments, floats of the type `dtype`."""
    rng = np.random.default_rng(seed)
    made = []
    for name, shape in zip(names(operator, arguments), operator.shapes):
        if name in operator.whole:
            kind, lowest, end = operator.whole[name]
            made.append(rng.integers(lowest, end, shape).astype(kind))
            continue
        drawn = rng.uniform(-1, 1, shape)
        made.append(np.asarray(drawn/2 + 1 if name in operator.positive else drawn, dtype))
    return made
