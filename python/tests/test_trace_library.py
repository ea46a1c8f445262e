"""nn, optim, linalg in traced functions, training steps, the language inside of a trace, eager."""
import unittest

import numpy as np

import neoc
from neoc import linalg, nn, optim

r = np.random.default_rng(17)


def floats(*shape):
    return r.standard_normal(shape).astype(np.float32)


def leaves(tree, path=()):
    for name, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, path + (name,))
        else:
            yield path + (name,), value


class Library(unittest.TestCase):
    def test_functions_have_the_comments_and_options_of_their_modules(self):
        self.assertIn("label", nn.ctc_loss.__doc__)
        self.assertIn("smoothing=0", str(nn.cross_entropy.__signature__))
        self.assertIn("cholesky", dir(linalg))
        self.assertGreater(len(nn.__all__), 50)
        for name in nn.__all__ + linalg.__all__ + optim.__all__:
            self.assertTrue(eval(f"(nn if hasattr(nn, '{name}') else linalg if "
                                 f"hasattr(linalg, '{name}') else optim).{name}").__doc__)

    def test_losses(self):
        l, y = floats(6, 4), np.array([0, 3, 1, 2, 2, 0], np.int32)
        e = np.exp(l)/np.exp(l).sum(1, keepdims=True)
        found = neoc.function(lambda l, y: (nn.cross_entropy(l, y), nn.softmax(l),
                                            nn.mse(l, 2*l)))(l, y)
        np.testing.assert_allclose(found[0], -np.log(e[np.arange(6), y]).mean(), rtol=1e-5)
        np.testing.assert_allclose(found[1], e, rtol=1e-5)
        np.testing.assert_allclose(found[2], (l**2).mean(), rtol=1e-5)
        with self.assertRaises(IndexError):
            neoc.function(lambda l, y: nn.cross_entropy(l, y))(l, y + 1)

    def test_sizes_of_results_follow_those_of_arguments(self):
        f = neoc.function(lambda x, w: nn.conv2d(x, w, stride=2, pad=1)[:, :, 0].sum())
        w = floats(2, 3, 3, 3)
        for n, h in ((2, 8), (3, 9), (4, 12)):
            x = floats(n, 3, h, 8)
            p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
            wanted = sum((p[:, :, 0:3, 2*q:2*q + 3][:, None]*w).sum() for q in range(4))
            np.testing.assert_allclose(f(x, w), wanted, rtol=1e-3)
        self.assertEqual(f.cache_info().compiled, 2)

    def test_layers_take_their_parameters(self):
        p = nn.linear.init((5, 3), out=4, seed=3)
        self.assertEqual({k: v.shape for k, v in p.items()}, {"W": (3, 4), "b": (4,)})
        self.assertGreater(abs(p["W"]).max(), 0)
        x = floats(5, 3)
        f = neoc.function(lambda p, x: nn.linear(x, **p))
        np.testing.assert_allclose(f(p, x), x @ p["W"] + p["b"], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(neoc.function(lambda p, x: nn.linear(x, params=p))(p, x),
                                      f(p, x))
        with self.assertRaisesRegex(TypeError, "n1.g.*nn.block.init"):
            neoc.function(lambda x: nn.block(x)).text((2, 3, 4))
        with self.assertRaisesRegex(ValueError, r"b has the shape \(4,\)"):
            neoc.function(lambda x, W, b: nn.linear(x, W, b)).text((2, 3), (3, 4), (5,))

    def test_what_is_made_of_layers_is_what_a_model_computes(self):
        x = floats(2, 5, 8)
        for name, options in (("block", {"heads": 2}), ("lstm", {"hidden": 4, "layers": 2}),
                              ("lstm", {"hidden": 4, "layers": 3, "bidirectional": True}),
                              ("gru", {"hidden": 4}), ("mamba", {"state": 3}),
                              ("attention", {"heads": 2, "causal": True})):
            with self.subTest(name=name, **options):
                layer = getattr(nn, name)
                p = neoc.tree.map(lambda v: v + 0.1*floats(*v.shape),
                                  layer.init(x.shape, seed=2, **options))
                results = ["y", "h", "c"][:len(layer.definition.results)]
                told = ", ".join(f"{k} = {str(v).lower()}" for k, v in options.items())
                m = neoc.compile(f"import nn\ninput x[2, 5, 8]\n{', '.join(results)} = "
                                 f"nn.{name}(x, {told})\noutput {', '.join(results)}\n")
                for path, value in leaves(p):
                    m.params["y." + ".".join(path)] = value
                wanted = m.forward(x=x)
                found = neoc.function(lambda p, x: layer(x, params=p, **options))(p, x)
                if len(results) == 1:
                    wanted, found = [wanted], [found]
                for a, b in zip(found, wanted):
                    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)

    def test_calls_with_other_options_are_other_functions(self):
        x, F, b = floats(1, 2, 4, 4), floats(3, 2, 3, 3), floats(3)
        f = neoc.function(lambda x, F, b: (nn.conv2d_layer(x, F, b, pad=1),
                                           nn.conv2d_layer(x, F, pad=1, bias=False)))
        with_bias, without = f(x, F, b)
        np.testing.assert_allclose(with_bias - without, b[None, :, None, None] + 0*without,
                                   rtol=1e-4, atol=1e-5)

    def test_rows_of_a_table(self):
        f = neoc.function(neoc.value_and_grad(lambda T, i: (nn.embedding(i, T)**2).sum()))
        T, i = floats(10, 3), np.array([[1, 2], [2, 9]], np.int32)
        value, slope = f(T, i)
        wanted = np.zeros_like(T)
        np.add.at(wanted, i, 2*T[i])
        np.testing.assert_allclose(slope, wanted, rtol=1e-5)

    def test_states_are_results(self):
        x = floats(8, 3)
        f = neoc.function(lambda x, g, b, m, v, training: nn.batch_norm(
            x, g, b, m, v, training=training), static_argnames="training")
        one, zero = np.ones(3, np.float32), np.zeros(3, np.float32)
        y, m, v = f(x, one, zero, zero, one, True)
        np.testing.assert_allclose(y, (x - x.mean(0))/np.sqrt(x.var(0) + 1e-5), rtol=1e-4,
            atol=1e-5)
        np.testing.assert_allclose(m, 0.1*x.mean(0), rtol=1e-4, atol=1e-6)
        y, m, v = f(x, one, zero, zero, one, False)
        np.testing.assert_allclose(y, x/np.sqrt(1 + 1e-5), rtol=1e-4, atol=1e-5)

    def test_dropout_leaves_out_while_training(self):
        x = np.ones(1000, np.float32)
        f = neoc.function(lambda x: nn.dropout(x, p=0.25, training=True))
        y = f(x)
        self.assertLess(abs((y == 0).mean() - 0.25), 0.06)
        np.testing.assert_allclose(y[y != 0], 1/0.75, rtol=1e-5)
        np.testing.assert_array_equal(neoc.function(lambda x: nn.dropout(x, p=0.25))(x), x)


class Training(unittest.TestCase):
    def loss(self, p, x, y):
        return ((x @ p["w"] + p["b"] - y)**2).mean()

    def params(self):
        return {"w": np.zeros((3, 2), np.float32), "b": np.zeros(2, np.float32)}

    def test_adam_is_adam(self):
        x, y = floats(8, 3), floats(8, 2)
        step = neoc.train_step(self.loss, optim.adam(lr=0.1, beta1=0.8))
        p, s = self.params(), None
        s = step.init(p)
        q = {k: v.astype(np.float64) for k, v in p.items()}
        m = {k: 0*v for k, v in q.items()}
        v = {k: 0*v for k, v in q.items()}
        for t in range(1, 6):
            d = 2*(x @ q["w"] + q["b"] - y)/16
            g = {"w": x.T @ d, "b": d.sum(0)}
            p, s, loss = step(p, s, x, y)
            for k in q:
                m[k] = 0.8*m[k] + 0.2*g[k]
                v[k] = 0.999*v[k] + 0.001*g[k]**2
                q[k] = q[k] - 0.1*m[k]/(1 - 0.8**t)/(np.sqrt(v[k]/(1 - 0.999**t)) + 1e-8)
                np.testing.assert_allclose(p[k], q[k], rtol=1e-4, atol=1e-5)
        self.assertEqual(s["step"], 5)
        self.assertEqual(step.cache_info().compiled, 1)
        s["lr"] = np.float32(0)
        kept = p
        p, s, loss = step(p, s, x, y)
        np.testing.assert_array_equal(p["w"], kept["w"])
        self.assertEqual(step.cache_info().compiled, 1)

    def test_clip_is_of_all_gradients_together(self):
        x, y = floats(8, 3), 100*floats(8, 2)
        step = neoc.train_step(self.loss, optim.sgd(lr=1.0, clip=1.0))
        p = self.params()
        p, _, _ = step(p, step.init(p), x, y)
        np.testing.assert_allclose(np.sqrt(sum((v**2).sum() for v in p.values())), 1, rtol=1e-4)

    def test_every_optimizer_makes_the_loss_less(self):
        x, y = floats(8, 3), floats(8, 2)
        makers = [n for n in optim.__all__ if hasattr(getattr(optim, n), "__signature__")
                  and "neoc.optim.Optimizer" in (getattr(optim, n).__doc__ or "")]
        self.assertGreater(len(makers), 12)
        for name in makers:
            if name == "adam_rows":
                continue
            with self.subTest(name=name):
                step = neoc.train_step(lambda p, x, y: ((x @ p["w"] - y)**2).mean(),
                                       getattr(optim, name)())
                p = {"w": floats(3, 2)}
                s, losses = step.init(p), []
                for _ in range(20):
                    p, s, loss = step(p, s, x, y)
                    losses.append(float(loss))
                self.assertLess(losses[-1], losses[0])

    def test_rates_may_follow_the_step(self):
        x, y = floats(8, 3), floats(8, 2)
        step = neoc.train_step(self.loss, optim.sgd(
            lr=lambda t: neoc.schedule.step_decay(t, lr=0.5, every=2, factor=0.1)))
        p, moved = self.params(), []
        s = step.init(p)
        for _ in range(4):
            q, s, _ = step(p, s, x, y)
            moved.append(abs(q["b"] - p["b"]).max())
        np.testing.assert_allclose(moved[1]/moved[2], 10, rtol=1e-3)


class Texts(unittest.TestCase):
    def test_statements_of_the_language(self):
        @neoc.function
        def f(a, w):
            c, d = neoc.expr("""
                # filtered, and its sums
                C[b, p < 6] = sum[r] A[b, p + r]*F[r]
                D[b] = sum[p] A[b, p]
                """, A=a, F=w)
            return c*d[:, None]
        a, w = floats(2, 8), floats(3)
        c = np.stack([[(a[b, p:p + 3]*w).sum() for p in range(6)] for b in range(2)])
        np.testing.assert_allclose(f(a, w), c*a.sum(1)[:, None], rtol=1e-4, atol=1e-5)

    def test_options_loops_and_modules(self):
        f = neoc.function(lambda x: neoc.expr(
            "y, i = nn.top(x, k = K)\nz = repeat r < 3 from z = y { next z[.., j] = 2*z[.., j] }",
            out=["z", "i"], x=x, K=2))
        z, i = f(floats(3, 5))
        self.assertEqual((z.shape, i.shape), ((3, 2), (3, 2)))

    def test_a_recurrence_is_a_result_and_what_others_read_is_none(self):
        f = neoc.function(lambda a: neoc.expr("y[i] = a[i] + 0.5*(y[i - 1] else 0)", a=a))
        np.testing.assert_allclose(f(np.ones(4, "float32")), [1, 1.5, 1.75, 1.875])
        g = neoc.function(lambda a: neoc.expr(
            "h[i] = a[i] + (h[i - 1] else 0)\ny[i] = 2*h[i]", a=a))
        np.testing.assert_allclose(g(np.ones(3, "float32")), [2, 4, 6])

    def test_gradients_flow_through_it(self):
        f = neoc.function(neoc.grad(lambda x: neoc.expr("y = sum[i] X[i]^3", X=x)))
        x = floats(4)
        np.testing.assert_allclose(f(x), 3*x**2, rtol=1e-5)


class Eager(unittest.TestCase):
    def test_operations_run_at_first_look(self):
        x = floats(3)
        with neoc.eager():
            y = neoc.exp(x) + 1
            self.assertEqual(y.shape, (3,))
            np.testing.assert_allclose(np.asarray(y), np.exp(x) + 1, rtol=1e-5)
            self.assertAlmostEqual(float(y.sum()), float((np.exp(x) + 1).sum()), places=4)
            total = 0.0
            for v in y:
                total += float(v)
            self.assertIn("Tensor([", repr(y))
            if y.sum() > 0:
                total = 0
        self.assertEqual(total, 0)

    def test_a_loop_compiles_its_body_once(self):
        from neoc.trace import eager
        with neoc.eager():
            w, x = neoc.array(floats(3)), floats(3)
            before = None
            for _ in range(5):
                w = w - 0.1*neoc.grad(lambda w: ((w*x)**2).sum())(w)
                w.numpy()
                before = before or len(eager._programs)
            self.assertEqual(len(eager._programs), before)

    def test_what_was_looked_at_lets_go_of_what_it_was_made_of(self):
        import gc
        import weakref
        with neoc.eager():
            w = neoc.array(floats(3))
            first = weakref.ref(w)
            for _ in range(3):
                w = w*0.5 + 1
                w.numpy()
            gc.collect()
            self.assertIsNone(first())

    def test_traced_functions_take_its_tensors(self):
        f = neoc.function(lambda x: x*2)
        with neoc.eager():
            np.testing.assert_array_equal(f(neoc.array([1.0, 2.0])), [2, 4])


if __name__ == "__main__":
    unittest.main()
