"""Sizes of traced functions: what is compiled again, and what is one size."""
import copy
import re
import threading
import unittest

import numpy as np

import neoc


def floats(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


class Sizes(unittest.TestCase):
    def test_the_second_size_is_compiled_and_the_third_is_not(self):
        f = neoc.function(lambda x, W: np.tanh(x @ W).sum(1))
        W = floats(4, 3)
        for n, compiled in ((5, 1), (7, 2), (6, 2), (5, 2), (8, 2), (1, 2), (9, 2), (32, 2), (33, 3),
                            (40, 3)):
            x = floats(n, 4)
            np.testing.assert_allclose(f(x, W), np.tanh(x @ W).sum(1), rtol=1e-5, atol=1e-5)
            self.assertEqual(f.cache_info().compiled, compiled)
        self.assertIn("dim N <= 256", f.text())

    def test_equal_numbers_are_not_equal_sizes(self):
        f = neoc.function(lambda x, W: x @ W)
        f(floats(32, 32), floats(32, 32))
        f(floats(48, 32), floats(32, 32))
        self.assertEqual(f.text().count("dim "), 1)
        self.assertIn("input x[N, 32]\ninput W[32, 32]\n", f.text())
        x, W = floats(33, 32), floats(32, 32)
        np.testing.assert_allclose(f(x, W), x @ W, rtol=1e-4, atol=1e-5)
        self.assertEqual(f.cache_info().compiled, 2)

    def test_sizes_that_an_operation_needs_equal_are_one(self):
        f = neoc.function(lambda x, y: (x*y).sum(), sizes="dynamic")
        self.assertEqual(f.text((4,), (4,)).count("dim "), 1)
        self.assertEqual(neoc.function(lambda x, y: x.sum() + y.sum(), sizes="dynamic")
                         .text((4,), (4,)).count("dim "), 2)
        f(floats(4), floats(4))
        with self.assertRaisesRegex(ValueError, "broadcast"):
            f(floats(4), floats(5))

    def test_a_size_of_one_broadcasts_and_is_another_program(self):
        f = neoc.function(lambda x, y: x + y)
        for n, m in ((4, 4), (5, 5), (1, 5), (5, 1), (1, 1), (6, 6)):
            x, y = floats(n), floats(m)
            np.testing.assert_array_equal(f(x, y), x + y)

    def test_shapes_in_python_are_right_for_all_sizes(self):
        def f(x):
            n, m = x.shape
            return x.sum(0)/n, neoc.zeros((n + 1, m)), x.reshape(n*m), x[:n // 2], n*1.0, x[-1]
        g = neoc.function(f)
        for n in (4, 7, 6, 3):
            x = floats(n, 3)
            a, b, c, d, e, h = g(x)
            np.testing.assert_allclose(a, x.mean(0), rtol=1e-5, atol=1e-6)
            self.assertEqual(b.shape, (n + 1, 3))
            np.testing.assert_array_equal(c, x.ravel())
            np.testing.assert_array_equal(d, x[:n // 2])
            self.assertEqual(float(e), n)
            np.testing.assert_array_equal(h, x[-1])
        self.assertEqual(g.cache_info().compiled, 2)

    def test_a_size_that_python_needs_as_a_number_is_a_constant(self):
        def f(x):
            total = 0
            for k in range(x.shape[0]):
                total = total + x[k]*k
            return total
        g = neoc.function(f)
        for n in (3, 4, 5):
            x = floats(n)
            np.testing.assert_allclose(g(x), (x*np.arange(n)).sum(), rtol=1e-5, atol=1e-6)
        self.assertEqual(g.cache_info().compiled, 3)

    def test_a_comparison_of_sizes_is_remembered(self):
        def f(x):
            return x.sum() if x.shape[0] > 5 else x.prod()
        g = neoc.function(f)
        for n in (3, 4, 7, 8, 5, 6, 2):
            x = floats(n)
            np.testing.assert_allclose(g(x), x.sum() if n > 5 else x.prod(), rtol=1e-5, atol=1e-6)

    def test_fixed_sizes_are_compiled_each(self):
        f = neoc.function(lambda x: x*2, sizes="fixed")
        for n in (3, 4, 5):
            f(floats(n))
        self.assertEqual(f.cache_info().compiled, 3)
        self.assertNotIn("dim", f.text())

    def test_dynamic_sizes_are_compiled_once(self):
        f = neoc.function(lambda x, y: x @ y, sizes="dynamic")
        for n in (5, 8, 6):
            f(floats(n, 7), floats(7, 8))
        self.assertEqual(f.cache_info().compiled, 1)

    def test_empty_and_large(self):
        f = neoc.function(lambda x: (x*2, x.sum(0)))
        for n in (3, 0, 2, 5):
            x = floats(n, 2)
            np.testing.assert_allclose(f(x)[0], x*2)
            np.testing.assert_allclose(f(x)[1], x.sum(0), rtol=1e-5)

    def test_kinds_of_arguments_are_kinds_of_programs(self):
        f = neoc.function(lambda x, s: x*s)
        self.assertEqual(f(floats(3), 2.0).dtype, np.float32)
        self.assertEqual(f(floats(3).astype(np.float64), np.float64(2)).dtype, np.float64)
        self.assertEqual(f(np.arange(3, dtype=np.int32), 2).dtype, np.int32)
        self.assertEqual(f(floats(3), 3.0).tolist(), (floats(3)*np.float32(3)).tolist())

    def test_static_arguments_are_a_part_of_the_key(self):
        @neoc.function(static_argnames=("mode", "k"))
        def f(x, k, mode="sum"):
            return getattr(x, mode)()*k
        x = floats(4)
        self.assertAlmostEqual(float(f(x, 2)), float(x.sum()*2), places=5)
        self.assertAlmostEqual(float(f(x, 2, mode="max")), float(x.max()*2), places=5)
        self.assertAlmostEqual(float(f(x, k=3)), float(x.sum()*3), places=5)
        self.assertEqual(f.cache_info().compiled, 3)
        with self.assertRaisesRegex(TypeError, "hashed"):
            f(x, [1])

    def test_trees_are_found_again(self):
        f = neoc.function(lambda p, xs: {"y": p["W"]*xs[0], "n": [xs[1], None]})
        for n in (5, 5, 6, 7):
            x = floats(n)
            got = f({"W": np.float32(2)}, (x, x))
            np.testing.assert_array_equal(got["y"], 2*x)
            self.assertIsNone(got["n"][1])
        self.assertEqual(f.cache_info().compiled, 2)

    def test_reshapes_of_sizes_of_the_run(self):
        def f(x):
            b, t, d = x.shape
            heads = x.reshape(b, t, 2, d // 2).transpose(0, 2, 1, 3)
            return heads.reshape(b, -1), x.reshape(b*t, d).sum(0), x.reshape(-1)
        g = neoc.function(f)
        for b, t in ((2, 3), (3, 5), (4, 4)):
            x = floats(b, t, 4)
            for a, c in zip(g(x), (x.reshape(b, t, 2, 2).transpose(0, 2, 1, 3).reshape(b, -1),
                                   x.reshape(b*t, 4).sum(0), x.reshape(-1))):
                np.testing.assert_allclose(a, c, rtol=1e-5, atol=1e-6)
        self.assertEqual(g.cache_info().compiled, 2)

    def test_memory_at_the_second_size_is_near_that_of_the_first(self):
        f = neoc.function(lambda x: np.tanh(x @ x.T).sum())
        f(floats(32, 8))
        f(floats(48, 8))
        bound = int(re.search(r"dim N <= (\d+)", f.text())[1])
        self.assertEqual(bound, 256)

    def test_a_size_of_what_is_not_read_is_a_constant(self):
        f = neoc.function(lambda x, y: y*x.shape[0])
        for n in (3, 4, 5):
            np.testing.assert_array_equal(f(floats(n), floats(2)), floats(2)*np.float32(n))

    def test_compiled_ahead_of_the_first_call(self):
        f = neoc.function(lambda x, k: x*k, static_argnames="k").compile((3,), 2)
        self.assertEqual(f(floats(3), 2).tolist(), (floats(3)*2).tolist())
        self.assertEqual(f.cache_info().compiled, 1)
        self.assertIn("x", f.explain())

    def test_threads_may_share_a_function(self):
        f = neoc.function(lambda x: np.tanh(x).sum(0))
        wrong = []

        def work(n):
            for _ in range(20):
                x = floats(n, 3)
                if not np.allclose(f(x), np.tanh(x).sum(0), rtol=1e-4):
                    wrong.append(n)
        threads = [threading.Thread(target=work, args=(n,)) for n in (3, 4, 5, 6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])



class Copies(unittest.TestCase):
    def test_a_copy_has_the_function_and_its_options(self):
        f = neoc.function(lambda x, k: x*k, static_argnames="k", sizes="fixed")
        g = copy.deepcopy(f)
        self.assertEqual(g(np.ones(2, "float32"), 3).tolist(), [3, 3])
        self.assertEqual((g.static, g.sizes, f.cache_info().compiled), (("k",), "fixed", 0))

    def test_a_function_without_a_tensor_as_result_is_told(self):
        for result in (None, {}, ()):
            with self.assertRaisesRegex(neoc.NeoError, "returns no tensor"):
                neoc.function(lambda x: result)(np.ones(2))


class SizesAsNumbers(unittest.TestCase):
    def test_a_size_by_itself_is_an_integer_in_each_call(self):
        f = neoc.function(lambda u: u.shape[0])
        for n in (3, 7, 2**24 + 1, 3):
            r = f(np.ones(n, "i1"))
            self.assertEqual((int(r), r.dtype), (n, np.int32))

    def test_a_size_has_the_type_of_what_stands_beside_it(self):
        for kind in ("u1", "i1", "i4", "i8", "f2", "f4", "f8"):
            for g in (lambda u: u*u.shape[0], lambda u: u.shape[0] - u, lambda u: u[0] + u.shape[0],
                      lambda u: u/u.shape[0] if kind[0] == "f" else u//u.shape[0]):
                f = neoc.function(g)
                for n in (3, 7, 5, 3):
                    x = np.ones(n, kind)
                    r, want = f(x), g(x)
                    self.assertEqual(r.dtype, x.dtype)
                    np.testing.assert_allclose(np.float64(r), np.float64(want), rtol=1e-3)

if __name__ == "__main__":
    unittest.main()
