"""Traced functions whose sizes are all of the run: what an operation needs equal is one size."""
import unittest

import numpy as np

import neoc


def floats(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


class Dynamic(unittest.TestCase):
    def test_every_optimizer_trains_trees_of_dynamic_sizes(self):
        def loss(p, x, y):
            return ((np.tanh(x @ p["a"]["W"]) @ p["l"][0] - y)**2).mean()
        for name in ("sgd", "momentum", "adam", "lion", "lamb", "adafactor", "shampoo"):
            with self.subTest(optimizer=name):
                optimizer = getattr(neoc.optim, name)(lr=0.01)
                step = neoc.train_step(loss, optimizer, sizes="dynamic")
                fixed = neoc.train_step(loss, optimizer, sizes="fixed")
                for d, h, n in ((3, 5, 7), (4, 4, 9)):
                    p = {"a": {"W": floats(d, h)}, "l": [floats(h, 2)]}
                    states = step.init(p)
                    got = step(p, states, floats(n, d), floats(n, 2))
                    wanted = fixed(p, states, floats(n, d), floats(n, 2))
                    for a, b in zip(neoc.tree.flatten(got)[0], neoc.tree.flatten(wanted)[0]):
                        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
                self.assertEqual(step.cache_info().compiled, 1)

    def test_states_of_another_shape_than_the_parameters_are_refused(self):
        optimizer = neoc.optim.momentum()
        step = neoc.train_step(lambda p: (p*p).sum(), optimizer)
        with self.assertRaisesRegex(ValueError, "momentum.update.*v"):
            step(floats(3), optimizer.init(floats(4)))

    def test_carries_and_calls_of_dynamic_sizes_are_compiled_once(self):
        cases = {
            "a carry of two": (lambda c, h, xs: neoc.scan(
                lambda s, x: ((s[1] + x, s[0]), None), (c, h), xs)[0], (4,), (4,), (6, 4)),
            "a carry that begins as zeros": (lambda W, xs: neoc.scan(
                lambda h, x: (np.tanh(h @ W + x), None), neoc.zeros(W.shape[0]), xs)[0],
                (4, 4), (6, 4)),
            "an update by hand": (lambda p, m, x: (
                p - 0.1*m - neoc.grad(lambda p: (x @ p).sum())(p)), (3,), (3,), (5, 3)),
            "a text": (lambda a, b: neoc.expr("C[i, k] = sum[j] A[i, j]*B[j, k]", A=a, B=b),
                       (4, 3), (3, 5)),
        }
        for what, (f, *shapes) in cases.items():
            with self.subTest(what=what):
                g, fixed = neoc.function(f, sizes="dynamic"), neoc.function(f, sizes="fixed")
                for more in range(2):
                    given = [floats(*(n + more for n in shape)) for shape in shapes]
                    for a, b in zip(neoc.tree.flatten(g(*given))[0],
                                    neoc.tree.flatten(fixed(*given))[0]):
                        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
                self.assertEqual(g.cache_info().compiled, 1)

    def test_parameters_of_layers_are_constants_among_dynamic_sizes(self):
        f = neoc.function(lambda x, W, b: neoc.nn.linear(x, W, b), sizes="dynamic")
        for n in (2, 5):
            x, W, b = floats(n, 3), floats(3, 8), floats(8)
            np.testing.assert_allclose(f(x, W, b), x @ W + b, rtol=1e-4, atol=1e-5)
        self.assertEqual(f.cache_info().compiled, 1)


if __name__ == "__main__":
    unittest.main()
