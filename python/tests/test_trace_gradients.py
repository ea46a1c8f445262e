"""Gradients of traced functions: grad, value_and_grad, vjp, jvp, each against differences."""
import unittest

import numpy as np

import neoc

r = np.random.default_rng(5)


def doubles(*shape):
    return r.standard_normal(shape)


def differences(f, x, eps=1e-6):
    """The gradient of a scalar by central differences."""
    out = np.zeros_like(x)
    for k in np.ndindex(*x.shape):
        e = np.zeros_like(x)
        e[k] = eps
        out[k] = (float(f(x + e)) - float(f(x - e)))/(2*eps)
    return out


class Gradients(unittest.TestCase):
    def close(self, a, b, rtol=1e-5, atol=1e-6):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)

    def checked(self, f, *args):
        """The gradients by all arguments, in f64."""
        traced = neoc.function(f)
        found = neoc.function(neoc.grad(f, tuple(range(len(args)))))(*args)
        for k, g in enumerate(found):
            self.close(g, differences(lambda a, k=k: traced(*args[:k], a, *args[k + 1:]), args[k]))

    def test_of_a_network(self):
        self.checked(lambda W, b, x: (np.tanh(x @ W + b)**2).sum(), doubles(3, 2), doubles(2),
                     doubles(4, 3))

    def test_through_views_gathers_and_at(self):
        i = np.array([2, 0, 2], np.int32)
        self.checked(lambda x: (x[::-1, 1:]*x[:, :2]).sum(), doubles(3, 3))
        self.checked(lambda x: (x[i]**3).sum() + (x.reshape(-1)[::2]**2).sum(), doubles(3, 2))
        self.checked(lambda x, v: (x.at[i].add(v)**2).sum(), doubles(3, 2), doubles(3, 2))
        self.checked(lambda x, v: (x.at[1:, ::2].set(v)**2).sum(), doubles(3, 4), doubles(2, 2))
        self.checked(lambda x: (np.sort(x)*np.arange(4)).sum(), doubles(4))

    def test_of_reductions(self):
        self.checked(lambda x: x.max(0).sum() + x.std() + neoc.logsumexp(x, 1).sum(), doubles(3, 4))
        self.checked(lambda x: x.prod() + np.cumsum(x, 1)[:, 1].sum(), doubles(2, 3))
        self.checked(lambda x: np.where(x > 0, x**2, -x).sum(), doubles(5))

    def test_nested(self):
        x = doubles(3)
        f = neoc.function(neoc.grad(lambda x: (neoc.grad(lambda x: (x**4).sum())(x)**2).sum()))
        self.close(f(x), 96*x**5)
        hessian = neoc.function(lambda x: np.stack([
            neoc.grad(lambda x: neoc.grad(lambda x: (x**3).sum()*x[0])(x)[k])(x)
            for k in range(3)]))
        self.close(hessian(x), hessian(x).T)

    def test_by_an_argument_alone_and_not_by_what_it_is_equal_to(self):
        x = doubles(3)
        self.close(neoc.function(lambda x: neoc.grad(lambda w: (w*x).sum())(x))(x), x)
        self.close(neoc.function(lambda s: neoc.grad(lambda w: w*s)(s))(np.float64(3)), 3)
        self.close(neoc.function(lambda x: neoc.grad(lambda w: (w*(2*x)).sum())(2*x))(x), 2*x)

        def outer(x):
            y = np.tanh(x)
            return neoc.grad(lambda z: (z*y*z).sum())(y)
        self.close(neoc.function(outer)(x), 2*np.tanh(x)**2)

    def test_by_arguments_that_are_equal_or_made_of_each_other(self):
        x = doubles(3)
        both = neoc.grad(lambda a, b: (a*b*b).sum(), (0, 1))
        da, db = neoc.function(lambda x: both(x, x))(x)
        self.close(da, x**2)
        self.close(db, 2*x**2)
        da, db = neoc.function(lambda x: both(x, np.sin(x)))(x)
        self.close(da, np.sin(x)**2)
        self.close(db, 2*x*np.sin(x))

    def test_what_the_loss_does_not_read_has_zeros(self):
        f = neoc.function(neoc.grad(lambda a, b: (a*2).sum(), (0, 1)))
        a, b = f(doubles(3), doubles(2))
        self.close(a, [2, 2, 2])
        self.close(b, [0, 0])
        g = neoc.function(neoc.grad(lambda p: (p["a"]**2).sum()))
        self.close(g({"a": doubles(2), "b": [doubles(3)]})["b"][0], np.zeros(3))

    def test_more_than_sixteen(self):
        xs = [doubles(2) for _ in range(20)]
        f = neoc.function(neoc.grad(lambda xs: sum((x*x).sum() for x in xs)))
        for g, x in zip(f(xs), xs):
            self.close(g, 2*x)

    def test_values_and_more(self):
        f = neoc.function(lambda w, x: neoc.value_and_grad(
            lambda w, x: ((w*x).sum(), {"y": w*x}), 1, has_aux=True)(w, x))
        w, x = doubles(3), doubles(3)
        (value, more), g = f(w, x)
        self.close(value, (w*x).sum())
        self.close(more["y"], w*x)
        self.close(g, w)

    def test_vjp(self):
        x, y, s = doubles(3), doubles(3), doubles(3)
        f = neoc.function(lambda x, y, s: neoc.vjp(
            lambda x, y: {"a": np.sin(x)*y, "b": y}, x, y)[1]({"a": s, "b": 2*s}))
        dx, dy = f(x, y, s)
        self.close(dx, s*np.cos(x)*y)
        self.close(dy, s*np.sin(x) + 2*s)

    def test_jvp(self):
        x, y, t, u = (doubles(3) for _ in range(4))
        f = neoc.function(lambda x, y, t, u: neoc.jvp(
            lambda x, y: (np.sin(x)*y, x.sum()), (x, y), (t, u)))
        (a, b), (da, db) = f(x, y, t, u)
        self.close(a, np.sin(x)*y)
        self.close(da, np.cos(x)*t*y + np.sin(x)*u)
        self.close(db, t.sum())

    def test_forward_over_reverse(self):
        x, t = doubles(4), doubles(4)
        f = neoc.function(lambda x, t: neoc.jvp(neoc.grad(lambda x: (x**3).sum() + x[0]*x[1]),
                                                (x,), (t,))[1])
        wanted = 6*x*t
        wanted[0] += t[1]
        wanted[1] += t[0]
        self.close(f(x, t), wanted)

    def test_stop(self):
        x = doubles(3)
        self.close(neoc.function(neoc.grad(lambda x: (x*neoc.stop(x)).sum()))(x), x)

    def test_in_a_scan_each_round_has_its_own(self):
        def train(w, xs, ys):
            def step(w, batch):
                x, y = batch
                return w - 0.1*neoc.grad(lambda w: ((x @ w) - y)**2)(w), None
            return neoc.scan(step, w, (xs, ys))[0]
        w, xs, ys = doubles(3), doubles(6, 3), doubles(6)
        wanted = w
        for x, y in zip(xs, ys):
            wanted = wanted - 0.1*2*(x @ wanted - y)*x
        self.close(neoc.function(train)(w, xs, ys), wanted)
        self.checked(lambda w, xs, ys: (train(w, xs, ys)**2).sum(), w, xs, ys)

    def test_through_loops_and_choices(self):
        self.checked(lambda h, xs: neoc.scan(
            lambda h, x: (np.tanh(h*x + h), h.sum()), h, xs)[1].sum(), doubles(3), doubles(4, 3))
        self.checked(lambda h, xs: (neoc.scan(
            lambda h, x: (np.tanh(h + x), None), h, xs, reverse=True)[0]**2).sum(), doubles(3),
            doubles(4, 3))
        self.checked(lambda x: neoc.case(x.sum() > -100, [lambda: x.sum(), lambda: (x**2).sum()]),
                     doubles(3))
        self.checked(lambda x: neoc.while_(lambda s: abs(s).sum() < 30, lambda s: s*2 + x, x,
                                           limit=20).sum(), doubles(2) + 3)

    def test_with_sizes_of_the_run(self):
        f = neoc.function(neoc.value_and_grad(lambda w, x: np.tanh(x @ w).mean()))
        w = doubles(3)
        for n in (4, 7, 6):
            x = doubles(n, 3)
            self.close(f(w, x)[1], ((1 - np.tanh(x @ w)**2)[:, None]*x).mean(0))
        self.assertEqual(f.cache_info().compiled, 2)


if __name__ == "__main__":
    unittest.main()
