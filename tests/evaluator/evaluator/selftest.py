"""The evaluator's own tests: small models whose numbers were worked out by hand, one rule of the language each."""

import numpy as np

from . import ExprError, evaluate, evaluate_all

INF, NAN = np.inf, np.nan

# (what is true, text, inputs, {output: expected})
CASES = [
    ("a reducer stops at a sum", "input x[3]; a = sum[i] x[i]*2 + 1; b = sum[i] (x[i]*2 + 1)",
     {"x": [1, 2, 3]}, {"a": 13, "b": 15}),
    ("powers bind tighter than minus, from the right", "input x; a = -x^2; b = 2*x^-1; c = x^2^3",
     {"x": 2.0}, {"a": -4, "b": 1, "c": 256}),
    ("statements go on behind operators and reducers", "input x[2]\na = sum[i]\n  x[i] *\n  3\nb = a; c = b +\n  1",
     {"x": [1, 2]}, {"c": 10}),
    ("nothing reduced", """input x[2]; input n : i32 < 3
     s = sum[i < n] x[i]; p = prod[i < n] x[i]; m = max[i < n] x[i]; l = min[i < n] x[i]
     e = logsumexp[i < n] x[i]; a = mean[i < n] x[i]; g = argmax[i < n] x[i]; y = any[i < n] x[i] > 0
     z = all[i < n] x[i] > 0""",
     {"x": [1, 2], "n": 0}, {"s": 0, "p": 1, "m": -INF, "l": INF, "e": -INF, "a": NAN, "g": 0, "y": False, "z": True}),
    ("nothing is read or multiplied in an empty range", """input x[2, 2]; input z; input n[3] : i32 < 3
     s[i < 3] = sum[j < n[i]] (x[i, j] else 5); t[i < 3] = sum[j < n[i]] log(z)""",
     {"x": [[1, 2], [3, 4]], "z": -1.0, "n": [0, 0, 0]}, {"s": [0, 0, 0], "t": [0, 0, 0]}),
    ("NaN wins, and the first of equals", """input x[4]
     m = max[i] x[i]; a = argmin[i] x[i]; b = argmax[i where i < 2] x[i]""",
     {"x": [3, 3, NAN, 1]}, {"m": NAN, "a": 2, "b": 0}),
    ("nan is a number that is equal to none", """input x[3]; input b[3] : bf16
     a[i] = select(x[i] > 0, x[i], nan); c[i] = select(b[i] > 0, b[i], -nan); m = min(nan, 1.0)
     e[i] = a[i] == nan; n = nan != nan; k[i] = i32(a[i])""",
     {"x": [1, -1, 2], "b": [0, 1, 2]}, {"a": [1, NAN, 2], "c": [NAN, 1, 2], "m": NAN, "e": [False, False, False],
                                         "n": True, "k": [1, 0, 2]}),
    ("mean divides by the number taken", "input x[4]; m = mean[i where x[i] > 0] x[i]", {"x": [-1, 2, 4, 0]}, {"m": 3}),
    ("ranges", """input x[5]; input n[2] : i32 < 6
     t[i < 5] = sum[j <= i] x[j]; b = sum[1 <= i < 3] x[i]; r[k] = sum[i < n[k]] x[i]; o = sum[1 < i <= 3] x[i]
     a = argmax[2 <= i < 5] x[i]""",
     {"x": [1, 2, 4, 8, 16], "n": [0, 3]}, {"t": [1, 3, 7, 15, 31], "b": 6, "r": [0, 7], "o": 12, "a": 4}),
    ("else and select", "input x[3]; a[i] = x[i] - (x[i - 1] else 10); c[j < 4] = select(j < 2, x[j], x[j - 1])",
     {"x": [1, 2, 4]}, {"a": [-9, 1, 2], "c": [1, 2, 2, 4]}),
    ("lookups and scatters", """input T[3, 2]; input k[4] : i32 < 3
     a[n, d] = T[k[n], d]; s[v < 3] = sum[n where k[n] == v] T[k[n], 1]""",
     {"T": [[1, 2], [3, 4], [5, 6]], "k": [2, 0, 2, 1]}, {"a": [[5, 6], [1, 2], [5, 6], [3, 4]], "s": [2, 4, 12]}),
    ("integers wrap and their division floors", """input a : i8; input b : i32
     w = a*a; q = b/(-4); r = b % (-4); z = b/(b - b); m = b % (b - b); u = u8(b); p = b^5""",
     {"a": 100, "b": 7}, {"w": 16, "q": -2, "r": -1, "z": 0, "m": 0, "u": 7, "p": 16807}),
    ("sums of i8 gather in i32", "input a[2] : i8; s = sum[i] a[i]*a[i]; p[i] = a[i]*a[i]; t = sum[i] p[i]",
     {"a": [100, 100]}, {"s": 20000, "t": 32}),
    ("subscripts and bounds are exact", """input x[9]; input a : i8; k = (a*a) % 9; y = x[(a*a) % 9]
     n = sum[i < clamp(a + 100, 0, 9)] 1; c = x[clamp(i32(i8(a + a)), 0, 8)]""",
     {"x": range(9), "a": 100}, {"k": 7, "y": 1, "n": 9, "c": 0}),
    ("floats saturate to integers", "input x[5]; a[i] = i8(x[i]); b[i] = i32(x[i]); u[i] = u8(x[i])",
     {"x": [3.9, -3.9, 1e10, -INF, NAN]},
     {"a": [3, -3, 127, -128, 0], "b": [3, -3, 2147483647, -2147483648, 0], "u": [3, 0, 255, 0, 0]}),
    ("the remainder of floats has the sign of the divisor", "input x[5]; input y[5]; r[i] = x[i] % y[i]",
     {"x": [5.5, -5.5, 5.5, -5.5, 7], "y": [INF, INF, -2, 2, 2.5]}, {"r": [5.5, INF, -0.5, 0.5, 2]}),
    ("round goes to even", "input x[4]; r[i] = round(x[i])", {"x": [0.5, 1.5, 2.5, -0.5]}, {"r": [0, 2, 2, 0]}),
    ("narrow floats are rounded", "input x; a = f16(x); b = bf16(x); c = f32(b)",
     {"x": 1.2001}, {"a": 1.2001953125, "b": 1.203125, "c": 1.203125}),
    ("wide() does not round, named tensors and conversions do", """input x[2] : bf16; p[i] = x[i]*x[i]
     w[i] = wide(x[i]*x[i]); n[i] = wide(p[i]); c[i] = wide(bf16(x[i]*x[i])); s = wide(sum[i] x[i]*x[i])""",
     {"x": [1.0078125, 1.0]}, {"w": [1.01568603515625, 1], "n": [1.015625, 1], "c": [1.015625, 1],
                               "s": 2.01568603515625}),
    ("a type variable is what the first argument with a type says", """
     fn f(s : real, x[N] : real; by : wide(real) = 3) -> y, m { param w[N] : real = 0.5
       y[i] : real = s*x[i]; m[i] : wide(real) = wide(x[i])*wide(x[i]) + wide(w[i])*by }
     input x[1] : bf16; input z[1] : f64; y, m = f(3, x); u, n = f(1, z, by = 1)""",
     {"x": [1.0078125], "z": [1 / 3]}, {"y": [3.03125], "m": [2.51568603515625], "u": [1 / 3], "n": [1 / 9 + 0.5]}),
    ("functions solve their sizes", """
     fn f(x[G*C, L], w[C]; k = 2) -> y { y[g < G, c] = sum[l] x[g*C + c, l] * w[c] * k }
     input x[4, 3]; input w[2]; y = f(x, w); z = f(x, w, k = 3)[1, 1]""",
     {"x": np.arange(12).reshape(4, 3), "w": [1, 10]}, {"y": [[6, 240], [42, 600]], "z": 900}),
    ("functions apply to elements, and see the indices' points", """fn h(x) -> y { y = x*clamp(x + 3, 0, 6)/6 }
     fn n(x[..]) -> s { s = sum[..] x[..]^2 }
     input x[2, 3]; a[i, j] = h(x[i, j]); b[i] = n(x[i, ..])""",
     {"x": [[1, 2, 3], [-4, 0, 6]]}, {"a": [[2 / 3, 5 / 3, 3], [0, 0, 6]], "b": [14, 52]}),
    ("case keeps a branch, options are compile-time values", """fn f(x; kind = 0) -> y {
       y = case kind { 0 { y = x } -1 { y = 2*x } else { y = 3*x } } }
     input x; a = f(x); b = f(x, kind = -1); c = f(x, kind = 7)""", {"x": 5.0}, {"a": 5, "b": 10, "c": 15}),
    ("repeat carries, next sees what was before, collect stacks the new value", """input x[2]
     a, b, h = repeat l < 3 from a = x, b[i < 2] = 1 { next a[i] = a[i] + b[i], b[i] = a[i]*f32(l); collect a }""",
     {"x": [1, 2]}, {"a": [4, 6], "b": [4, 6], "h": [[2, 3], [2, 3], [4, 6]]}),
    ("gradients, and theirs", """input x[3]; y = sum[i] x[i]^3; g = grad(y, x); s = sum[i] g[i]*x[i]; h = grad(s, x)""",
     {"x": [1, 2, -1]}, {"g": [3, 12, 3], "h": [9, 36, 9]}),
    ("a constant has a gradient, and so has what it is read through", """
     fn one(x[N]) -> y { y[i < N] = 1 } grad(dy) -> dx { dx[i] = 3*dy[i] }
     input x[2]; s[i < 2] = 0.5; a : f32 = 2; o = one(x); l = sum[i] x[i]*s[i]*a*o[i]
     gs, ga, go, gx = grad(l, s, a, o, x); m = ga*a; h = grad(m, a)
     w = repeat k < 2 from w[i < 2] = 0 { e = sum[i] (w[i] - x[i])^2; g = grad(e, w); next w[i] = w[i] - 0.25*g[i] }""",
     {"x": [1, 2]}, {"gs": [2, 4], "ga": 1.5, "go": [1, 2], "gx": [4, 7], "h": 1.5, "w": [0.75, 1.5]}),
    ("kinks", """input x[3]; y = sum[i] (relu(x[i]) + 10*abs(x[i]) + 100*clamp(x[i], 0, 1)); g = grad(y, x)
     m = max[i] x[i]; h = grad(m, x)""", {"x": [0, 1, 1]}, {"g": [100, 111, 111], "h": [0, 1, 0]}),
    ("what is not read reaches no gradient", """input x[3]; y = sum[i] select(x[i] > 0, log(x[i]), 0); g = grad(y, x)
     z = sum[i where x[i] > 0] sqrt(x[i]); h = grad(z, x)""", {"x": [0, 1, -1]}, {"g": [0, 1, 0], "h": [0, 0.5, 0]}),
    ("stop, and a gradient of one's own", """
     fn s(x[..]) -> y { y[..] = round(x[..]) } grad(dy) -> dx { dx[..] = 3*dy[..] }
     input x[2]; y = s(x); l = sum[i] y[i]*stop(x[i]); g = grad(l, x)""", {"x": [0.75, 2]}, {"g": [2.25, 6]}),
    ("products are differentiated at zeros", "input x[3]; p = prod[i] x[i]; g = grad(p, x)",
     {"x": [0, 2, 5]}, {"g": [10, 0, 0]}),
    ("children come first, the value stands where there is none, parents add up", """
     graph G(children <= 2, vertices <= 9)
     input x[G.vertices, 1]
     vertex up(x[E]) over G {
       gather h[2, E] = 0.5, n[G.children] : i32 = 0
       h2[j] = x[j] + h[0, j] + 10*h[1, j]
       size = 1 + children + sum[k] n[k]
       scatter h = h2, n[..] = size
       push h2
       push size
     }
     vertex down(x[E]; by = 1) over G down {
       gather g[k < 2, E] = f32(k) + 1
       s[j] = by*(x[j] + g[0, j] - g[1, j])
       scatter g = s
       push s
     }
     h, n = up(x); d = down(x, by = 2); l = sum[v, j] h[v, j]^2; g = grad(l, x)""",
     {"x": [[1], [2], [3], [4]], "G.child": [[-1, -1], [-1, -1], [0, 0], [2, 0]]},
     {"h": [[6.5], [7.5], [74.5], [143.5]], "n": [1, 1, 5, 9], "d": [[-10], [2], [14], [6]],
      "g": [[2*(6.5 + 11*74.5 + 21*143.5)], [15], [2*(74.5 + 143.5)], [287]]}),
    ("a gradient for each point of a call, and a choice for each", """
     fn f(x[E], k) -> d, y { s = sum[e] x[e]^2; d = grad(s, x); y = case k { 0 { y[e] = x[e] } else { y[e] = -x[e] } } }
     input x[2, 2]; input k[2] : i32 < 2
     d[i, j] = g(x[i, ..], k[i])[j]; y[i, j] = h(x[i, ..], k[i])[j]
     fn g(x[E], k) -> d { d, y = f(x, k) }; fn h(x[E], k) -> y { d, y = f(x, k) }""",
     {"x": [[1, 2], [3, 4]], "k": [0, 1]}, {"d": [[2, 4], [6, 8]], "y": [[1, 2], [-3, -4]]}),
    ("random numbers of a definition that reads itself", """input k[7] : i32 < 7
     y[i < 7, j < 3] = floor(1000*rand()) + 0*select(k[i] > i, y[k[i], j], 1); z[j] = y[6, j]""",
     {"k": [1, 2, 3, 4, 5, 6, 0]}, {"z": [103, 628, 324]}),
    ("a branch at no point", """dim N = 0; input x[2]
     fn f(a, b) -> y { y = case a > b { true { y = a } false { y = b - a } } }
     p[i] = prod[k < N] f(x[i], x[k]); s = sum[i] p[i]""",
     {"x": [1, 2]}, {"p": [1, 1], "s": 2}),
    ("no vertices", """graph G(children <= 2, vertices <= 9); input x[G.vertices, 3]
     vertex f(x[E]) over G { gather h[2, E] = 0; y[j] = x[j] + sum[k] h[k, j]; scatter h = y; push y }
     y = f(x); s = sum[v, j] y[v, j]""",
     {"x": np.zeros((0, 3)), "G.child": np.zeros((0, 2))}, {"y": np.zeros((0, 3)), "s": 0}),
    ("definitions read themselves, from either end", """input x[3]
     y[n] = x[n] + 0.5*(y[n - 1] else 8); z[n] = x[n] + 0.5*(z[n + 1] else 8); l = sum[n] y[n]; g = grad(l, x)""",
     {"x": [1, 2, 3]}, {"y": [5, 4.5, 5.25], "z": [3.75, 5.5, 7], "g": [1.75, 1.5, 1]}),
    ("a definition that reads itself has its operands' type", """input x[2] : f64; input k[2] : i32
     y[i] = x[i] - sum[i < t < 2] y[t]; z[i] = 2*(z[i - 1] else 1) + k[i]; w[i < 3] = 0.5*(w[i - 1] else 1)
     n[i < 400] = 1 + (n[i + 1] else 0); m = n[0]""",
     {"x": [1, 2], "k": [1, 2]}, {"y": [-1, 2], "z": [3, 8], "w": [0.5, 0.25, 0.125], "m": 400}),
    ("a scan that has no round says its shapes", """dim N = 0; input x[2]; u[j < N] = x[j]
     h, a = scan t < N from h = 3 { v = u[t] + x[0]; next h = v; collect v }; n = sum[t] a[t]""",
     {"x": [1, 2]}, {"h": 3, "n": 0}),
    ("tables and quantified reads of oneself", """input s[2] : i32 < 9; input t[2] : i32 < 9; input x[3]
     D[i < 3, j < 3] : i32 = select(i == 0, i32(j), select(j == 0, i32(i),
       min(D[i-1, j-1] + i32(s[i-1] != t[j-1]), min(D[i-1, j], D[i, j-1]) + 1)))
     p[i] = x[i] + sum[j < i] p[j]""",
     {"s": [1, 2], "t": [2, 3], "x": [1, 2, 4]}, {"D": [[0, 1, 2], [1, 1, 2], [2, 1, 2]], "p": [1, 3, 8]}),
    ("scans run upwards and down, and may have no round", """input x[3]; dim N = 0
     h, a, c = scan t < 3 from h = x[0], a[i < 2] = f32(i) { v = h*x[t]; next h = v + a[1], a[i] = a[1 - i]; collect v }
     d, all = scan t < 3 down from d = 0 { next d = d*10 + x[t]; collect d }
     e, none = scan t < N from e = 7 { w[i < 2, j < 3] = e; next e = w[0, 0]; collect w }
     s[i] = sum[t] none[t, i, 0]""",
     {"x": [1, 2, 3]}, {"h": 13, "a": [1, 0], "c": [1, 4, 12], "d": 321, "all": [321, 32, 3], "e": 7, "s": [0, 0]}),
    ("a while tests first, and collects zeros behind its end", """input n[2] : i32 < 9
     x, k, all = while k > 0 limit 3 from x = 1, k = n[0] { next x = 2*x, k = k - 1; collect x }; r = x.rounds
     fn f(n) -> y { y, m = while m > 0 limit 9 from y = 1, m = n { next y = 3*y, m = m - 1 } }
     y[i] = f(n[i])""", {"n": [2, 0]}, {"x": 4, "all": [2, 4, 0], "r": 2, "y": [9, 1]}),
    ("a case chooses for each element", """fn f(k) -> y { y = case k { 0 { y = 5 } 1 { y = 1/f32(k) } else { y = f32(k) } } }
     input k[3] : i32 < 9; y[i] = f(k[i])""", {"k": [1, 0, 7]}, {"y": [1, 5, 7]}),
    ("what a branch that is not taken reads has gradients elsewhere", """input x[2]; y[i] = x[i]*3
     h, v = scan t < 0 from h = 1 { w = y[t] + h; next h = w; collect w }; l = sum[i] y[i]; g = grad(l, x)""",
     {"x": [1, 2]}, {"g": [3, 3], "h": 1}),
    ("a seed multiplies", "input x[2]; y[i] = x[i]^2; input d[2]; g = grad(y, x, seed = d)",
     {"x": [1, 2], "d": [10, 100]}, {"g": [20, 400]}),
]

REFUSED = [
    ("two extents", "input x[2]; input y[3]; z[i] = x[i] + y[i]; output z", "two extents"),
    ("no extent", "z[i] = 1.0; output z", "no extent"),
    ("a read outside", "input x[2]; z[i < 2] = x[i + 1]; output z", "outside dimension 0"),
    ("types do not mix", "input x; input k : i32; z = x*k; output z", "different types"),
    ("an element that needs itself", "y[i < 3] : f32 = 1 + (y[2 - i] else 0); output y", "needs itself"),
    ("a bound is checked", "input k[1] : i32 < 2; z[i] = k[i]; output z", "not in [0, 2)"),
]


def run():
    """Run all; how many fail."""
    failed = sum(not _holds(*case) for case in CASES) + sum(not _refuses(*case) for case in REFUSED)
    failed += not _trains()
    print(f"selftest: {len(CASES) + len(REFUSED) + 1} checks, {failed} failed")
    return failed


def _holds(what, text, inputs, expected):
    try:
        found = evaluate(text + "\noutput " + ", ".join(expected), inputs)
    except ExprError as problem:
        print(f"selftest: {what}: {problem}")
        return False
    for name, value in expected.items():
        if not np.allclose(found[name], value, rtol=1e-12, atol=0, equal_nan=True) or \
                np.shape(found[name]) != np.shape(value):
            print(f"selftest: {what}: {name} is {found[name].tolist()}, not {value}")
            return False
    return True


def _refuses(what, text, words):
    try:
        evaluate(text, {"x": [1.0, 2.0] if "x[2]" in text else 1.0, "y": [1.0] * 3,
                        "k": [2] if "k[1]" in text else 2})
    except ExprError as problem:
        if words in str(problem):
            return True
        print(f"selftest: {what}: refused, but for '{problem}'")
        return False
    print(f"selftest: {what}: not refused")
    return False


_TRAINED = """
optimizer heavy(w[..], g[..]; input lr = 0.5) {
  state v[..] = 1
  update v[..] = v[..] + g[..], w[..] = w[..] - lr*v[..]/global_norm
}
input x[2]
param w[2] = 1
param u = 2
state n = 0
update n = n + 1
loss = (sum[i] w[i]*x[i]) + u
output loss
train loss over w using heavy(lr = 0.25*f32(step + 1))
"""


def _trains():
    """An optimizer sees what was before the step; the norm is that of the entry's gradients: 5 here."""
    results, after = evaluate_all(_TRAINED, {"x": [3.0, 4.0]}, entry="step", step=1)
    expected = {"w": [0.9, 0.9], "w.heavy.v": [4, 5], "n": 1, "step.step": 2}
    good = results["loss"] == 9 and set(after) == set(expected) and all(
        np.allclose(after[n], v) for n, v in expected.items())
    if not good:
        print(f"selftest: a training step gives {results} {after}")
    return good
