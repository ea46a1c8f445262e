"""Derivatives as text, against differences in f64:

    da, db = grad(y, a, b, seed = g);  s = sum da*ta + sum db*tb;  jy = grad(s, g)

jy is the derivative along t, as s is linear in g, which the entry does not read; grad(s, a) of
s = sum da*ta is a product with the Hessian."""
import sys

import numpy as np

from running import Failed, declared, run

STEP = 1e-5


class Operator:
    """Inputs by name with their shapes; `fixed`: integers, by name (type, values)."""

    def __init__(self, name, inputs, shape, text, result="y", head="", fixed=None,
                 positive=False):
        self.name, self.inputs, self.shape = name, inputs, shape
        self.text, self.result = text, result
        self.head, self.fixed, self.positive = head, fixed or {}, positive

    def draw(self, rng):
        x = {n: rng.normal(size=s) for n, s in self.inputs.items()}
        return {n: np.abs(a) + 0.5 for n, a in x.items()} if self.positive else x

    def lines(self):
        fixed = [declared(n, np.shape(v), kind) for n, (kind, v) in self.fixed.items()]
        drawn = [declared(n, s) for n, s in self.inputs.items()]
        return [self.head] + drawn + fixed + [self.text]


def _operator(name, inputs, shape, text, **more):
    return Operator(name, inputs, shape, text, **more)


OPERATORS = [
    _operator("matmul", dict(a=(3, 4), b=(4, 5)), (3, 5),
              "y[i, j] = sum[k] a[i, k]*b[k, j]"),
    _operator("tanh_chain", dict(a=(6,)), (6,),
              "u[i] = tanh(a[i])\n"
              "y[i] = u[i]*exp(u[i])"),
    _operator("softmax", dict(a=(3, 5)), (3, 5),
              "z[i] = logsumexp[j] a[i, j]\n"
              "y[i, j] = exp(a[i, j] - z[i])"),
    _operator("cross", dict(a=(3, 5)), (),
              "y = mean[i] (logsumexp[j] a[i, j] - a[i, (2*i) % 5])"),
    _operator("conv1d", dict(a=(2, 8), f=(3, 2, 3)), (3, 8),
              "y[k, p < 8] = sum[c, r] (a[c, p + r - 1] else 0)*f[k, c, r]"),
    _operator("conv_stride", dict(a=(2, 9), f=(3, 2, 3)), (3, 4),
              "y[k, p < 4] = sum[c, r] a[c, 2*p + r]*f[k, c, r]"),
    _operator("layernorm", dict(a=(3, 6), g0=(6,)), (3, 6),
              "m[i] = mean[j] a[i, j]\n"
              "v[i] = mean[j] (a[i, j] - m[i])^2\n"
              "y[i, j] = g0[j]*(a[i, j] - m[i])*rsqrt(v[i] + 1e-3)"),
    _operator("max_pool", dict(a=(2, 8)), (2, 4),
              "y[c, p < 4] = max[r < 2] a[c, 2*p + r]"),
    _operator("gather", dict(a=(5, 3)), (4, 3),
              "y[b, j] = a[k[b], j]*a[k[b], 0]", fixed=dict(k=("i32 < 5", [0, 3, 3, 1]))),
    _operator("scatter", dict(a=(4, 3)), (5, 3),
              "y[v < 5, j] = sum[b where k[b] == v] a[b, j]^2",
              fixed=dict(k=("i32 < 5", [0, 3, 3, 1]))),
    _operator("attention", dict(q=(4, 3), k=(5, 3), w=(5, 2)), (4, 2),
              "s[i, j] = sum[d] q[i, d]*k[j, d]\n"
              "z[i] = logsumexp[j] s[i, j]\n"
              "y[i, e] = sum[j] exp(s[i, j] - z[i])*w[j, e]"),
    _operator("causal", dict(q=(4, 3), k=(4, 3), w=(4, 2)), (4, 2),
              "s[i, j] = sum[d] q[i, d]*k[j, d]\n"
              "z[i] = logsumexp[j where j <= i] s[i, j]\n"
              "y[i, e] = sum[j where j <= i] exp(s[i, j] - z[i])*w[j, e]"),
    _operator("prod", dict(a=(3, 4)), (3,),
              "y[i] = prod[j] a[i, j]"),
    _operator("where", dict(a=(6,)), (6,),
              "y[i] = select(a[i] > 0, a[i]^3, sin(a[i]))"),
    _operator("sqrtlog", dict(a=(6,)), (6,),
              "y[i] = sqrt(a[i])*log(a[i])/a[i]^2", positive=True),
    _operator("filter", dict(a=(7,), c=()), (7,),
              "y[n < 7] = a[n] + tanh(c)*(y[n - 1] else 0)"),
    _operator("cumprod", dict(a=(6,)), (6,),
              "y[n < 6] = a[n]*(y[n - 1] else 1)"),
    _operator("cholesky", dict(a=(4, 4)), (4, 4),
              "B[i, j] = sum[k] a[i, k]*a[j, k] + select(i == j, 1, 0)\n"
              "y[i < 4, j < 4] = select(j > i, 0, select(i == j, sqrt(B[i, i] - sum[k < j] y[i, "
              "k]^2), (B[i, j] - sum[k < j] y[i, k]*y[j, k])/y[j, j]))"),
    _operator("trisolve", dict(L=(4, 4), b=(4,)), (4,),
              "y[i < 4] = (b[i] - sum[j < i] L[i, j]*y[j])/(L[i, i]^2 + 1)"),
    _operator("scan_rnn", dict(x=(5, 3), W=(3, 3)), (5, 3),
              "y, hs = scan t < 5 from h[j < 3] : f64 = 0 {\n"
              "  n[j] = tanh(x[t, j] + sum[k] W[k, j]*h[k])\n"
              "  next h = n\n"
              "  collect n\n"
              "}", result="hs"),
    _operator("scan_last", dict(x=(5, 3), W=(3, 3)), (3,),
              "y, hs = scan t < 5 from h[j < 3] : f64 = 0 {\n"
              "  n[j] = tanh(x[t, j] + sum[k] W[k, j]*h[k])\n"
              "  next h = n\n"
              "  collect n\n"
              "}"),
    _operator("while", dict(a=()), (),
              "y, c = while c < 5 limit 9 from s : f64 = a, c = 0 { next s = 0.5*(s + 3/s), "
              "c = c + 1 }", positive=True),
    _operator("repeat", dict(a=(4,), W=(3, 4, 4)), (4,),
              "y = repeat l < 3 from y = a { next y[i] = tanh(sum[j] W[l, i, j]*y[j]) }"),
    _operator("case", dict(a=(4,)), (4,),
              "y = case kk { 0 { y[i] = a[i]^2 } else { y[i] = sin(a[i]) } }",
              fixed=dict(kk=("i32 < 3", 0))),
    _operator("fn", dict(a=(4,), b=(4,)), (4,),
              "y[i] = sw(a[i], b[i])", head="fn sw(x, b) -> y { y = x*sigmoid(b*x) }"),
    _operator("bilinear", dict(x=(3, 4), W=(2, 4, 5), z=(3, 5)), (3, 2),
              "y[n, o] = sum[i, j] x[n, i]*W[o, i, j]*z[n, j]"),
    _operator("norm", dict(a=(3, 4)), (3,),
              "y[i] = sqrt(sum[j] a[i, j]^2)"),
    _operator("lse_all", dict(a=(3, 4)), (),
              "y = logsumexp[i, j] a[i, j]"),
    _operator("min2", dict(a=(5,), b=(5,)), (5,),
              "y[i] = min(a[i], b[i])*max(a[i], b[i]^2) + clamp(a[i], -0.5, 0.5)"),
    _operator("gelu_silu", dict(a=(5,)), (5,),
              "y[i] = gelu(a[i])*silu(a[i]) + softplus(a[i]) + erf(a[i]) + elu(a[i])"),
    _operator("pow", dict(a=(4,), b=(4,)), (4,),
              "y[i] = a[i]^b[i]", positive=True),
    _operator("capsule", dict(A=(2, 5, 5, 2, 2), F=(3, 2, 2, 2, 2)), (3, 2, 2, 2, 2),
              "y[m, p < 2, q < 2, i, j] = sum[c, r < 2, s < 2, k] A[c, 2*p + r, 2*q + s, i, "
              "k]*F[m, c, r, k, j]"),
    _operator("nn_linear", dict(x=(3, 4)), (3, 2),
              "y = nn.linear(x, out = 2)", head="import nn"),
    _operator("linalg_solve", dict(A=(4, 4), b=(4, 2)), (4, 2),
              "B[i, j] = A[i, j] + select(i == j, 5, 0)\n"
              "y = linalg.solve(B, b)", head="import linalg"),
    _operator("inner_grad", dict(a=(4,), w=(4,)), (4,),
              "l = sum[i] tanh(a[i]*w[i])^2\n"
              "d = grad(l, a)\n"
              "y[i] = d[i]*w[i]"),
    _operator("sdtw", dict(a=(4,), b=(5,)), (),
              "D[i < 4, j < 5] = (a[i] - b[j])^2 + select(i == 0 and j == 0, 0, "
              "-logsumexp[k < 3] select(k == 0, -(D[i - 1, j - 1] else 1e3), select(k == 1, "
              "-(D[i - 1, j] else 1e3), -(D[i, j - 1] else 1e3))))\n"
              "y = D[3, 4]"),
    _operator("custom", dict(a=(4,)), (4,),
              "y = cube(a)",
              head="fn cube(x[..]) -> y { y[..] = x[..]^3 } "
                   "grad(dy) -> dx { dx[..] = 3*x[..]^2*dy[..] }"),
]


def _indices(shape):
    return "[" + ", ".join(f"q{d}" for d in range(len(shape))) + "]" if shape else ""


def _dot(a, b, shape):
    at = _indices(shape)
    return f"(sum{at} {a}{at}*{b}{at})" if shape else f"({a}*{b})"


def _tangents(op):
    return [declared(f"t_{n}", s) for n, s in op.inputs.items()]


def _along(op):
    return "s_ = " + " + ".join(_dot(f"d_{n}", f"t_{n}", s) for n, s in op.inputs.items())


def _text(lines):
    return "\n".join(line for line in lines if line) + "\n"


def forward_text(op):
    """The derivative along the tangents t_*."""
    d, x = ", ".join(f"d_{n}" for n in op.inputs), ", ".join(op.inputs)
    return _text(op.lines() + _tangents(op) +
                 [declared("g_", op.shape), f"{d} = grad({op.result}, {x}, seed = g_)",
                  _along(op), "jy = grad(s_, g_)", "output jy"])


def gradient_text(op, hessian):
    """The gradients of a weighted sum of the result; `hessian`: those of them along t_*."""
    d, x = ", ".join(f"d_{n}" for n in op.inputs), ", ".join(op.inputs)
    lines = op.lines() + [declared("w_", op.shape), f"l_ = {_dot(op.result, 'w_', op.shape)}",
                          f"{d} = grad(l_, {x})"]
    if not hessian:
        return _text(lines + [f"output {d}"])
    h = ", ".join(f"h_{n}" for n in op.inputs)
    return _text(lines + _tangents(op) + [_along(op), f"{h} = grad(s_, {x})", f"output {h}"])


def _off(found, want):
    return np.abs(found - want).max()/(1 + np.abs(want).max())


def check(neoc, op):
    """The mistakes, as a list of sentences."""
    rng = np.random.default_rng(3)
    at, along = op.draw(rng), {n: rng.normal(size=s) for n, s in op.inputs.items()}
    others = {n: np.array(v, np.int32) for n, (_, v) in op.fixed.items()}
    others |= {"w_": rng.normal(size=op.shape)} | {f"t_{n}": t for n, t in along.items()}

    def near(text, names, by):
        given = others | {n: at[n] + by*along[n] for n in op.inputs}
        return run(neoc, text, {n: given[n] for n in names})

    def difference(text, names, result):
        return (near(text, names, STEP)[result] - near(text, names, -STEP)[result])/(2*STEP)

    inputs, tangents = [*op.inputs, *op.fixed], [f"t_{n}" for n in op.inputs]
    wrong = []
    jy = near(forward_text(op), inputs + tangents, 0)["jy"]
    forward = _text(op.lines() + [f"output {op.result}"])
    off = _off(jy, difference(forward, inputs, op.result))
    if not off < 1e-7:
        wrong.append(f"the derivative along t is off by {off:.1e}")
    h = near(gradient_text(op, True), inputs + ["w_"] + tangents, 0)
    for n in op.inputs:
        off = _off(h[f"h_{n}"], difference(gradient_text(op, False), inputs + ["w_"], f"d_{n}"))
        if not off < 1e-6:
            wrong.append(f"the product with the Hessian is off by {off:.1e} for {n}")
    return wrong


def main():
    failed = 0
    for op in OPERATORS:
        try:
            wrong = check(sys.argv[1], op)
        except Failed as e:
            wrong = [str(e)]
        failed += bool(wrong)
        for line in wrong:
            print(f"{op.name}: {line}", file=sys.stderr)
    return 1 if failed else 0


sys.exit(main())
