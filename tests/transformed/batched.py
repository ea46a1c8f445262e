"""Texts with a batch axis, against a loop over the batch, in f64. Two rewrites are the same:

    fn each(A[m, k], B[k, n]) -> C { the text }     C[v, i, j] = each(A[v, ..], B)[i, j]
    an index v in front of whatever depends on A"""
import sys

import numpy as np

from running import Failed, declared, run

BATCH = 3
SCAN = """y, {hs} = scan t < 5 from h[{v}j < 3] : f64 = 0 {{
  n[{w}j] = tanh(x[{w}t, j] + sum[k] W[k, j]*h[{w}k])
  next h = n
  collect n
}}
"""
ONE_SCAN = SCAN.format(hs="hs", v="", w="")
ALL_SCANS = SCAN.format(hs="hst", v="v < 3, ", w="v, ") + "hs[v, t, j] = hst[t, v, j]"


class Case:
    """`inputs`: (shape, is it batched?[, type]); `results`: ranks; `indexed`: with an index."""

    def __init__(self, name, inputs, results, text, indexed=None, head="", values=None):
        self.name, self.results, self.head = name, results, head
        self.text, self.indexed = text, indexed
        self.inputs = {n: (x[0], x[1], x[2] if len(x) > 2 else "f64") for n, x in inputs.items()}
        self.values = values or {}

    def draw(self, rng):
        drawn = {}
        for n, (shape, batched, kind) in self.inputs.items():
            full = (BATCH,)*batched + shape
            whole = kind.startswith("i32")
            drawn[n] = rng.integers(0, 3, full).astype(np.int32) if whole else rng.normal(size=full)
        return drawn | self.values


ALL, ONE = True, False
CASES = [
    Case("product", dict(A=((3, 4), ALL), W=((4, 2), ONE)), dict(y=2),
         "y[i, j] = sum[k] A[i, k]*W[k, j]", "y[v, i, j] = sum[k] A[v, i, k]*W[k, j]"),
    Case("reductions", dict(A=((3, 4), ALL)), dict(y=1, k=0),
         "m[i] = max[j where A[i, j] > 0] A[i, j]\nk = argmax[i, j] A[i, j]\n"
         "l = logsumexp[..] A[..]\ny[i] = select(m[i] > 0, m[i], 0) + l",
         "m[v, i] = max[j where A[v, i, j] > 0] A[v, i, j]\nk[v] = argmax[i, j] A[v, i, j]\n"
         "l[v] = logsumexp[i, j] A[v, i, j]\ny[v, i] = select(m[v, i] > 0, m[v, i], 0) + l[v]"),
    Case("gather", dict(T=((5, 2), ONE), k=((3,), ALL, "i32 < 5")), dict(y=2, c=1),
         "y[i, d] = T[k[i], d]\nc[w < 5] = sum[i where k[i] == w] 1.0",
         "y[v, i, d] = T[k[v, i], d]\nc[v, w < 5] = sum[i where k[v, i] == w] 1.0"),
    Case("windows", dict(x=((8,), ALL)), dict(y=1, z=1),
         "y[i] = x[i] - (x[i - 1] else 0)\nz[p < 4] = max[r < 2] x[2*p + r]",
         "y[v, i] = x[v, i] - (x[v, i - 1] else 0)\nz[v, p < 4] = max[r < 2] x[v, 2*p + r]"),
    Case("recurrence", dict(x=((6,), ALL), a=((), ONE)), dict(y=1),
         "y[n < 6] = x[n] + a*(y[n - 1] else 0)", "y[v, n < 6] = x[v, n] + a*(y[v, n - 1] else 0)"),
    Case("scan", dict(x=((5, 3), ALL), W=((3, 3), ONE)), dict(y=1, hs=2), ONE_SCAN, ALL_SCANS),
    Case("while", dict(a=((), ALL)), dict(y=0, r=0),
         "y, c = while abs(s*s - a) > 1e-9 limit 60 from s : f64 = 1.0, c = 0 {\n"
         "  next s = 0.5*(s + a/s), c = c + 1\n}\nr = y.rounds",
         "y, r = while any[v] abs(s[v]*s[v] - a[v]) > 1e-9 limit 60 "
         "from s[v < 3] : f64 = 1.0, c[v < 3] : i32 = 0 {\n"
         "  go[v] = abs(s[v]*s[v] - a[v]) > 1e-9\n"
         "  next s[v] = select(go[v], 0.5*(s[v] + a[v]/s[v]), s[v]), c[v] = c[v] + i32(go[v])\n}",
         values=dict(a=np.array([4.0, 1.0, 1e6]))),
    Case("case", dict(x=((4,), ALL), k=((), ALL, "i32 < 3")), dict(y=1),
         "y = case k { 0 { y[i] = x[i]^2 } 1 { y[i] = sin(x[i]) } else { y[i] = 2*x[i] } }",
         "y0[v, i] = x[v, i]^2\ny1[v, i] = sin(x[v, i])\ny2[v, i] = 2*x[v, i]\n"
         "y[v, i] = select(k[v] == 0, y0[v, i], select(k[v] == 1, y1[v, i], y2[v, i]))"),
    Case("repeat", dict(x=((4,), ALL), W=((3, 4, 4), ONE)), dict(y=1),
         "y = repeat l < 3 from y = x { next y[i] = tanh(sum[j] W[l, i, j]*y[j]) }",
         "y = repeat l < 3 from y = x { next y[v, i] = tanh(sum[j] W[l, i, j]*y[v, j]) }"),
    Case("functions", dict(x=((4, 5), ALL)), dict(y=2, s=2, i=2, c=2),
         "y = nn.softmax(x)\ns, i = nn.sort(x)\nc = nn.cumsum(x)", head="import nn"),
    Case("matrices", dict(A=((3, 3), ALL)), dict(y=2),
         "P[i, j] = sum[k] A[i, k]*A[j, k] + select(i == j, 1, 0)\ny = linalg.cholesky(P)",
         head="import linalg"),
    Case("gradients", dict(x=((4,), ALL), w=((4,), ONE)), dict(g=1, gw=1, h=1),
         "l = sum[i] tanh(w[i]*x[i])^2\ng, gw = grad(l, x, w)\nq = sum[i] g[i]^2\nh = grad(q, x)",
         "one[v < 3] : f64 = 1\nwb[v < 3, i] = w[i]\nl[v] = sum[i] tanh(wb[v, i]*x[v, i])^2\n"
         "g, gw = grad(l, x, wb, seed = one)\nq[v] = sum[i] g[v, i]^2\nh = grad(q, x, seed = one)"),
    Case("seeds", dict(x=((4,), ALL), w=((4, 3), ONE), dy=((3,), ALL)), dict(gx=1, gw=2),
         "y[j] = tanh(sum[i] x[i]*w[i, j])\ngx, gw = grad(y, x, w, seed = dy)",
         "wb[v < 3, i, j] = w[i, j]\ny[v, j] = tanh(sum[i] x[v, i]*wb[v, i, j])\n"
         "gx, gw = grad(y, x, wb, seed = dy)"),
    Case("gradient of a scan", dict(x=((5, 3), ALL), W=((3, 3), ONE)), dict(g=2, gw=2),
         ONE_SCAN + "l = sum[t, j] hs[t, j]^2\ng, gw = grad(l, x, W)"),
    Case("gradient of one's own", dict(x=((4,), ALL)), dict(g=1),
         "y = cube(x)\nl = sum[i] y[i]\ng = grad(l, x)",
         head="fn cube(x[..]) -> y { y[..] = x[..]^3 } "
              "grad(dy) -> dx { dx[..] = 5*x[..]^2*dy[..] }"),
]


def _text(case, lines, batched):
    inputs = [declared(n, (BATCH,)*(b and batched) + shape, kind)
              for n, (shape, b, kind) in case.inputs.items()]
    return "\n".join([case.head] + inputs + lines + ["output " + ", ".join(case.results)]) + "\n"


def _parameter(name, shape):
    inside = ", ".join(f"{name}_{d}" for d in range(len(shape)))
    return f"{name}[{inside}]" if shape else f"{name}_element"


def _argument(name, shape, batched):
    return name if not batched else f"{name}[v, ..]" if shape else f"{name}[v]"


def called(case):
    """The text in a function for each result, which is called at an index."""
    parameters = ", ".join(_parameter(n, x[0]) for n, x in case.inputs.items())
    arguments = ", ".join(_argument(n, x[0], x[1]) for n, x in case.inputs.items())
    named = "".join(f"{n} = {n}_element\n" for n, x in case.inputs.items() if not x[0])
    lines = []
    for r, rank in case.results.items():
        inside = ", ".join(f"q{d}" for d in range(rank))
        lines.append(f"fn each_{r}({parameters}) -> {r} {{\n{named}{case.text}\n}}")
        lines.append(f"{r}[v < {BATCH}{', ' if rank else ''}{inside}] = each_{r}({arguments})" +
                     (f"[{inside}]" if rank else ""))
    return _text(case, lines, True)


def check(neoc, case):
    values = case.draw(np.random.default_rng(5))
    one = _text(case, [case.text], False)
    runs = [run(neoc, one, {n: x[v] if case.inputs[n][1] else x for n, x in values.items()})
            for v in range(BATCH)]
    texts = {"called": called(case)}
    if case.indexed:
        texts["indexed"] = _text(case, [case.indexed], True)
    wrong = []
    for how, text in texts.items():
        found = run(neoc, text, values)
        for r in case.results:
            want = np.stack([x[r] for x in runs])
            same = found[r].shape == want.shape
            if not same or not np.allclose(found[r], want, rtol=1e-9, atol=1e-12):
                wrong.append(f"{how}, {r} is {found[r]}, expected {want}")
    return wrong


def main():
    failed = 0
    for case in CASES:
        try:
            wrong = check(sys.argv[1], case)
        except Failed as e:
            wrong = [str(e)]
        failed += bool(wrong)
        for line in wrong:
            print(f"{case.name}: {line}", file=sys.stderr)
    return 1 if failed else 0


sys.exit(main())
