"""Numbers of Python as arguments of traced functions: they take the type of what they meet."""
import unittest

import numpy as np

import neoc


def of(dtype, *shape):
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


class Weak(unittest.TestCase):
    def test_a_number_takes_the_type_that_numpy_gives_it(self):
        f = neoc.function(lambda s, x: (s*x, x - s, np.maximum(x, s), np.where(x > 0, x, s)))
        for s in (0.1, 3, -2.5):
            for dtype in ("float64", "float32", "float16", "int64", "int32", "int8"):
                x = (4*of(dtype, 5)).astype(dtype)
                if isinstance(s, float) and x.dtype.kind == "i":
                    continue
                wanted = (s*x, x - s, np.maximum(x, s), np.where(x > 0, x, x.dtype.type(s)))
                for a, b in zip(f(s, x), wanted):
                    self.assertEqual(a.dtype, x.dtype)
                    np.testing.assert_array_equal(a, b)

    def test_another_value_compiles_nothing(self):
        f = neoc.function(lambda s, x: s*x)
        for k in range(5):
            np.testing.assert_array_equal(f(k*0.1, of("float64", 3)), k*0.1*of("float64", 3))
        self.assertEqual(f.cache_info().compiled, 1)
        for n in (4, 5, 6):
            np.testing.assert_array_equal(f(n*0.1, of("float64", n)), n*0.1*of("float64", n))
        self.assertEqual(f.cache_info().compiled, 2)

    def test_each_use_has_the_type_of_what_stands_beside_it(self):
        f = neoc.function(lambda s, x, y: (s*x, s*y))
        x, y = of("float64", 3), of("float32", 3)
        a, b = f(0.1, x, y)
        np.testing.assert_array_equal(a, 0.1*x)
        np.testing.assert_array_equal(b, np.float32(0.1)*y)
        self.assertIn("input s\ninput s2 : f64\n", f.text())

    def test_what_is_computed_of_numbers_is_a_number(self):
        f = neoc.function(lambda s, n, x: (2*s*x, (n % 7)*x, np.exp(-s)*x, (n*n)*x, s > 1e-60))
        s, n, x = 1e-50, 123456789, of("float64", 3)
        for a, b in zip(f(s, n, x), (2*s*x, (n % 7)*x, np.exp(-s)*x, n*n*x, True)):
            np.testing.assert_allclose(a, b, rtol=1e-14)
        y = f(s, n, of("float32", 3))[1]
        self.assertEqual(y.dtype, np.float32)
        np.testing.assert_array_equal(y, np.float32(n % 7)*of("float32", 3))

    def test_a_number_alone_is_a_float32_or_an_int32(self):
        a, b, c = neoc.function(lambda s, n: (s, n, np.exp(s)))(0.1, 3)
        self.assertEqual([a.dtype, b.dtype, c.dtype], [np.float32, np.int32, np.float32])

    def test_a_large_integer_is_one(self):
        f = neoc.function(lambda n, x: (n, n*x))
        for n in (3, 1 << 40, 5, 1 << 40):
            a, b = f(n, of("float64", 3))
            self.assertEqual(int(a), n)
            np.testing.assert_array_equal(b, n*of("float64", 3))

    def test_a_number_that_does_not_fit_is_refused(self):
        f = neoc.function(lambda number, x: x + number)
        x = np.arange(3, dtype="int8")
        self.assertEqual(f(3, x).tolist(), [3, 4, 5])
        with self.assertRaisesRegex(neoc.RangeError, "number.*1000 is no number of the type int8"):
            f(1000, x)

    def test_a_gradient_has_the_type_in_which_the_number_is_used(self):
        def loss(p, x):
            return ((p["a"]*x + np.exp(p["b"]))**2).mean()
        f = neoc.function(neoc.value_and_grad(loss))
        for dtype in ("float64", "float32"):
            value, slopes = f({"a": 0.5, "b": 0.1}, of(dtype, 4))
            kind = np.dtype(dtype).type
            wanted = f({"a": kind(0.5), "b": kind(0.1)}, of(dtype, 4))[1]
            for k in ("a", "b"):
                self.assertEqual(slopes[k].dtype, dtype)
                np.testing.assert_allclose(slopes[k], wanted[k], rtol=1e-5)

    def test_derivatives_by_a_number_that_is_used_in_two_types(self):
        x, y = of("float64", 3), of("float32", 3)
        f = neoc.function(neoc.grad(lambda s, x, y: (s*x).sum() + (s*y).sum().astype("float64")))
        np.testing.assert_allclose(f(0.5, x, y), x.sum() + y.sum(), rtol=1e-6)
        g = neoc.function(lambda s, x: (neoc.vjp(lambda s: s*x, s)[1](x)[0],
                                        neoc.jvp(lambda s: s*s*x, (s,), (1.0,))[1]))
        np.testing.assert_allclose(g(0.5, x)[0], (x*x).sum())
        np.testing.assert_allclose(g(0.5, x)[1], x)

    def test_a_parameter_that_is_a_number_is_trained_in_the_type_of_the_data(self):
        for dtype in ("float32", "float64"):
            step = neoc.train_step(lambda p, x: ((p["q"]*x - 2*x)**2).mean(),
                                   neoc.optim.adam(lr=0.1))
            p = {"q": 0.0}
            states = step.init(p)
            for _ in range(3):
                p, states, value = step(p, states, of(dtype, 5))
            self.assertEqual(p["q"].dtype, dtype)
            self.assertAlmostEqual(float(p["q"]), 0.3, places=2)

    def test_a_number_is_a_carry_an_index_and_an_argument_of_the_library(self):
        x = of("float64", 3)
        f = neoc.function(lambda s, n, x: (neoc.scan(lambda h, v: (h + v, None), x[n], x)[0],
                                           x[n] + n, neoc.nn.softmax(x*s), x.at[1].set(s)))
        a, b, c, d = f(0.1, 1, x)
        np.testing.assert_allclose(a, x[1] + x.sum())
        np.testing.assert_allclose(b, x[1] + 1)
        np.testing.assert_allclose(c, np.exp(x*0.1)/np.exp(x*0.1).sum())
        self.assertEqual(d[1], 0.1)


class Names(unittest.TestCase):
    def test_types_that_do_not_meet_are_told_with_the_names_of_the_tensors(self):
        f = neoc.function(lambda weight, batch: weight*batch)
        with self.assertRaisesRegex(TypeError, "weight is float64, batch is float32"):
            f(of("float64", 3), of("float32", 3))


if __name__ == "__main__":
    unittest.main()
