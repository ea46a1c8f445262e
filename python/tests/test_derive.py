"""Gradients, forward derivatives and batches of operators."""

import os
import re
import unittest

import neoc
import numpy as np
from neoc.text import AMBIGUOUS, REDUCERS

MM = "C[i, j] = sum[k] A[i, k]*B[k, j]"
LOSS = "l = sum[i, j] tanh(sum[k] A[i, k]*B[k, j])"


def many(results):
    return results if isinstance(results, tuple) else (results,)


class Derivatives(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(2)
        self.a, self.b = rng.standard_normal((3, 4)), rng.standard_normal((4, 5))
        self.ta, self.tb = rng.standard_normal((3, 4)), rng.standard_normal((4, 5))
        self.d, self.v = rng.standard_normal((3, 5)), rng.standard_normal((7, 3, 4))

    def same(self, got, wanted):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-9)

    def test_grad_is_the_gradient_of_a_scalar(self):
        slope = 1 - np.tanh(self.a @ self.b)**2
        f = neoc.op(LOSS)
        self.same(f.grad()(self.a, self.b), slope @ self.b.T)
        self.same(f.grad(1)(self.a, self.b), self.a.T @ slope)
        ga, gb = f.grad(("A", "B"))(self.a, self.b)
        self.same(ga, slope @ self.b.T)
        self.same(gb, self.a.T @ slope)

    def test_a_gradient_of_a_gradient_is_a_second_derivative(self):
        second = neoc.op("y = x^3").grad().grad()
        self.same(second(2.0), 12.0)

    def test_grad_refuses_what_has_no_gradient(self):
        for ask in (lambda: neoc.op(MM).grad(), lambda: neoc.op(LOSS).grad(5),
                    lambda: neoc.op(LOSS).grad("Q"),
                    lambda: neoc.op("y = sum[i < N] x[i]").grad("N"),
                    lambda: neoc.op("y = sum[i] x[i]").grad()(np.arange(3))):
            self.assertRaises(neoc.GradientError, ask)

    def test_vjp_multiplies_cotangents_with_the_jacobian(self):
        f = neoc.op(MM).vjp()
        self.assertEqual(f.arguments, ("A", "B", "d_C"))
        ga, gb = f(self.a, self.b, self.d)
        self.same(ga, self.d @ self.b.T)
        self.same(gb, self.a.T @ self.d)

    def test_jvp_multiplies_the_jacobian_with_tangents(self):
        f = neoc.op(MM).jvp()
        self.same(f(self.a, self.b, self.ta, self.tb), self.ta @ self.b + self.a @ self.tb)
        self.same(neoc.op(MM).jvp("A")(self.a, self.b, self.ta), self.ta @ self.b)

    def test_several_results_have_cotangents_and_tangents_each(self):
        f = neoc.op("m[i] = mean[j] x[i, j]\nv[i] = mean[j] (x[i, j] - m[i])^2", out=("m", "v"))
        e = 1e-6
        plus, minus = f(self.a + e*self.ta), f(self.a - e*self.ta)
        tangents = f.jvp()(self.a, self.ta)
        for k in range(2):
            np.testing.assert_allclose(tangents[k], (plus[k] - minus[k])/(2*e), atol=1e-6)
        d = np.arange(3.0), np.ones(3)
        gradient = f.vjp()(self.a, *d)
        self.same((gradient*self.ta).sum(), sum((t*s).sum() for t, s in zip(tangents, d)))

    def test_zeros_are_the_gradient_of_what_nothing_flows_to(self):
        f = neoc.op("y[i] = 2*a[i] + stop(b[i])")
        one = np.ones(3)
        ga, gb = f.vjp()(one, one, one)
        self.same(ga, 2*one)
        self.same(gb, 0*one)
        self.assertEqual(gb.dtype, np.float64)
        self.same(f.jvp()(one, one, one, one), 2*one)
        nan = np.full(3, np.nan)
        self.same(f.vjp()(one, nan, one)[1], 0*one)

    def test_integers_have_zeros_where_all_gradients_are_asked_for(self):
        take = neoc.op("y[i] = X[k[i]]").vjp()
        gx, gk = take(X=np.arange(5.0), k=np.array([0, 0, 2]), d_y=np.ones(3))
        self.same(gx, [2, 0, 1, 0, 0])
        self.same(gk, [0, 0, 0])

    def test_vmap_adds_an_axis(self):
        f = neoc.op(MM)
        self.same(f.vmap((0, None))(self.v, self.b), self.v @ self.b)
        both = f.vmap((1, 0))(np.moveaxis(self.v, 0, 1), np.stack([self.b]*7))
        self.same(both, self.v @ self.b)
        moved = f.vmap((-1, None), out_axes=1)(np.moveaxis(self.v, 0, -1), self.b)
        self.same(moved, np.moveaxis(self.v @ self.b, 0, 1))

    def test_vmap_of_vmap_of_gradients_is_right(self):
        f = neoc.op(LOSS)
        ga, gb = f.grad((0, 1)).vmap((0, None))(self.v, self.b)
        one_a, one_b = f.grad((0, 1))(self.v[2], self.b)
        self.same(ga[2], one_a)
        self.same(gb[2], one_b)
        w = np.stack([self.v, 2*self.v])
        self.same(neoc.op(MM).vmap((0, None)).vmap((0, None))(w, self.b), w @ self.b)
        hessian = neoc.op("y = sum[i] x[i]^3").grad().jvp().vmap((None, 0))
        self.same(hessian(np.arange(3.0), np.eye(3)), np.diag([0.0, 6.0, 12.0]))

    def test_vmap_of_results_whose_rank_the_text_does_not_say(self):
        x = np.random.default_rng(5).random((3, 4, 2))
        index = np.array([[0, 1], [3, 3], [2, 0]])
        for text, out in (("y = x", None), ("z[i, j] = 2*x[i, j]\ny = z", ("y", "z")),
                          ("y = f32(x)", None), ("z[..] = 2*x[..]\ny = f32(z)", None),
                          ("y = nn.softmax(x)", None), ("y = x[1, ..]", None),
                          ("y = x[1, ..]\nz = y", ("y", "z")), ("y, k = nn.sort(x)", None),
                          ("y = nn.softmax(x)\nz[i, j] = y[i, j]*2", ("y", "z")),
                          ("fn f(a[n, m]) -> b, c { b[i] = a[i, 0]; c = sum[i, j] a[i, j] }\n"
                           "y, z = f(x)", None)):
            f = neoc.op(text, out=out)
            one = [f(row) for row in x]
            one = [y if isinstance(y, tuple) else (y,) for y in one]
            for axis in (0, -1):
                found = f.vmap(out_axes=axis)(x)
                found = found if isinstance(found, tuple) else (found,)
                for k, y in enumerate(found):
                    np.testing.assert_array_equal(
                        y, np.stack([row[k] for row in one], axis), text)
        self.same(neoc.op("y = x").vmap(1, out_axes=2)(x), np.moveaxis(x, 1, 2))
        self.same(neoc.op("y = x").vmap(-2, out_axes=-2)(x), x)
        self.same(neoc.op("y = x").vmap().vmap(1)(x), np.moveaxis(x, 1, 0))
        g = neoc.op("y = nn.softmax(x)\nl = sum[..] y[..]^2", out="l").grad().vmap()
        y = neoc.op("y = nn.softmax(x)")(x)
        self.same(g(x), 2*y*(y - (y*y).sum(-1, keepdims=True)))
        self.same(neoc.op("y[j] = x[k[j], 0]").vmap()(x, index),
                  np.stack([r[i, 0] for r, i in zip(x, index)]))

    def test_vmap_of_scalars_sizes_and_zero_gradients(self):
        one = np.ones(3)
        f = neoc.op("y = a + stop(b)").vjp().vmap()
        ga, gb = f(one, one, one)
        self.same(ga, one)
        self.same(gb, 0*one)
        window = neoc.op("y[i < N] = sum[k < K] x[i + k]").vmap()
        self.same(window(np.arange(12.0).reshape(2, 6), N=4, K=3),
                  [[3, 6, 9, 12], [21, 24, 27, 30]])

    WHOLE = (  # texts that use whole tensors of several shapes, their results, shapes of arguments
        ("x = linalg.solve(A, B)", None, ((4, 4), (4, 2))),
        ("y = nn.conv2d(x, f)", None, ((2, 2, 5, 5), (3, 2, 3, 3))),
        ("p = nn.softmax(x)\nq[..] = 2*z[..]", ("p", "q"), ((3,), (2, 3))),
        ("s = sum[..] w[..]^2\nh, hs = scan t < 3 from h = x {\n  next h[..] = tanh(h[..] + s)\n"
         "  collect h\n}\ny = h", ("y", "hs"), ((2, 3), (5,))),
        ("fn f(a[..], b[..]) -> y {\n  s = sum[..] b[..]^2\n  y[..] = a[..]*s\n}\ny = f(x, w)",
         None, ((2, 3), ())),
        ("y = linalg.solve(A, B)\nz = nn.softmax(x)\nw = x", ("y", "z", "w"),
         ((2, 2), (2, 0), (4,))))

    def each_whole(self):
        rng = np.random.default_rng(7)
        for text, out, shapes in self.WHOLE:
            xs = [rng.standard_normal((3, *s)) for s in shapes]
            for x in xs:
                if x.shape[1:2] == x.shape[2:3]:
                    x += 4*np.eye(x.shape[1]) if x.ndim == 3 else 0
            yield text, neoc.op(text, out=out), xs

    def rows(self, text, f, batched, *xs):
        """Rows of a batch are what the operator gives for each."""
        for k in range(len(xs[0])):
            one = many(f(*[x[k] for x in xs]))
            for got, wanted in zip(batched, one):
                np.testing.assert_allclose(got[k], wanted, rtol=1e-9, atol=1e-12, err_msg=text)

    def test_vmap_of_whole_tensors_of_several_shapes(self):
        for text, f, xs in self.each_whole():
            batched = many(f.vmap()(*xs))
            self.rows(text, f, batched, *xs)
            nested = f.vmap().vmap((0,) + (None,)*(len(xs) - 1))(np.stack([xs[0]]*2), *xs[1:])
            for a, b in zip(many(nested), batched):
                np.testing.assert_allclose(a[1], b, rtol=1e-9, err_msg=text)
            first = many(f.vmap((-1,) + (None,)*(len(xs) - 1), out_axes=-1)(
                np.moveaxis(xs[0], 0, -1), *[x[1] for x in xs[1:]]))
            for a, b in zip(first, batched):
                np.testing.assert_allclose(a[..., 1], b[1], rtol=1e-9, err_msg=text)

    def test_vmap_and_derivatives_of_whole_tensors_change_places(self):
        rng = np.random.default_rng(8)
        for text, f, xs in self.each_whole():
            d = [rng.standard_normal(y.shape) for y in many(f.vmap()(*xs))]
            t = [rng.standard_normal(x.shape) for x in xs]
            for one, inner, outer, more in (
                    (f.vjp(), f.vjp().vmap(), f.vmap().vjp(), d),
                    (f.jvp(), f.jvp().vmap(), f.vmap().jvp(), t)):
                batched = many(inner(*xs, *more))
                self.rows(text, one, batched, *xs, *more)
                for a, b in zip(batched, many(outer(*xs, *more))):
                    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12, err_msg=text)
                twice = many(inner.vmap()(*[np.stack([x, x]) for x in (*xs, *more)]))
                for a, b in zip(twice, batched):
                    np.testing.assert_allclose(a[1], b, rtol=1e-9, atol=1e-12, err_msg=text)

    def test_a_batch_of_whole_tensors_has_its_text_back(self):
        f = neoc.op("x = linalg.solve(A, B)").vmap()
        a, b = np.stack([np.eye(2), 2*np.eye(2)]), np.ones((2, 2, 1))
        self.same(neoc.op(f.text(), out="x")(a, b), [[[1], [1]], [[0.5], [0.5]]])

    def test_axes_that_do_not_fit_are_refused(self):
        for axes in ((0,), None, (5, 0)):
            self.assertRaises(neoc.NeoError, neoc.op(MM).vmap, axes)


# Texts that give the name q to a tensor, which other names are to be as good for.
NAMED = ("q = while q < 3 limit 9 from q = x[0] { next q = q*q + 1 }",
         "h, q = scan t < 3 from h[j < 2] = x[0] { next h[j] = h[j]*x[1]; collect h }",
         "fn q(a[..]) -> u { u[..] = 3*a[..] }\ny = q(x)",
         "q = x[0]*x[0]; y[i] = x[i]*x[i]\nz[i] = y[i]*(q)",
         "y[i] = x[i]*x[i]*q")
GENERATED = "b d_y each_y grad_x_none joined x_element x_n_0 z_y".split()


def _given(op):
    return [np.array([0.7, 1.1, 1.3]) if a.rank != 0 else 0.8 for a in op._arguments]


def _derived(text):
    """Results of operators that are derived from the text."""
    def many(result):
        return result if isinstance(result, tuple) else (result,)

    op = neoc.op(text)
    given = _given(op)
    made = [many(op(*given)), many(op.jvp()(*given, *given))]
    batch = op.vmap()
    two = [np.stack([v, 1.5*np.asarray(v)]) for v in given]
    made.append(many(batch(**dict(zip(op.arguments, two)))))
    made.append(many(batch.vjp()(*two, *made[-1])))
    made.append(many(op.vjp().jvp()(*given, *made[0], *given, *made[0])))
    return made


class Names(unittest.TestCase):
    def test_derived_texts_are_right_for_all_names_of_the_user(self):
        for form in NAMED:
            wanted = _derived(form)
            for name in (*sorted(AMBIGUOUS), *GENERATED):
                text = re.sub(r"\bq\b", name, form)
                try:
                    neoc.op(text)(*_given(neoc.op(text)))
                except neoc.CompileError:
                    continue  # no name for such a tensor
                with self.subTest(text=text):
                    for made, those in zip(_derived(text), wanted):
                        for a, b in zip(made, those):
                            np.testing.assert_array_equal(a, b)

    def test_the_reducers_are_those_of_the_language(self):
        path = os.path.join(os.path.dirname(__file__), "..", "..", "editors", "vim", "syntax",
                            "neo.vim")
        with open(path, encoding="utf-8") as file:
            row = next(line for line in file if "neoReducer" in line)
        self.assertEqual(REDUCERS, set(re.findall(r"[a-z]{3,}", row.split('"')[1])))


if __name__ == "__main__":
    unittest.main()
