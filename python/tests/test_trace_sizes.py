"""Sizes of traced functions: what is compiled again, and what is one size."""
import copy
import math
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

    def test_memory_of_a_size_that_is_over_is_given_back(self):
        def resident():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1])*4096

        f = neoc.function(lambda x, W: (np.tanh(np.tanh(x @ W) @ W)**2).sum())
        W, n = floats(64, 64), 100000
        cases = [floats(n, 64), floats(n*3//2, 64)]
        wanted = [(np.tanh(np.tanh(x @ W) @ W)**2).sum() for x in cases]
        before = resident()
        for x, value in zip(cases, wanted):
            np.testing.assert_allclose(f(x, W), value, rtol=1e-3)
        grown = resident() - before
        g = neoc.function(lambda x, W: (np.tanh(np.tanh(x @ W) @ W)**2).sum())
        before = resident()
        g(cases[1], W)
        self.assertLess(grown, 1.3*(resident() - before) + (8 << 20))
        np.testing.assert_allclose(f(cases[0], W), wanted[0], rtol=1e-3)

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


    def test_one_index_array_fits_all_that_it_is_used_on(self):
        f = neoc.function(lambda x, y, i: x[i] + y[i])
        g = neoc.function(lambda x, y, i: x[i] + y[i], sizes="dynamic")
        for n, m in ((5, 3), (7, 8), (9, 9), (4, 9), (6, 2), (1, 1)):
            x, y, i = floats(n), floats(m), np.array([0, min(n, m) - 1, -1, -min(n, m)])
            for h in (f, g):
                np.testing.assert_array_equal(h(x, y, i), x[i] + y[i])
                with self.assertRaises(neoc.RangeError):
                    h(x, y, np.array([min(n, m), 0, 0, 0]))
        self.assertLessEqual(g.cache_info().compiled, 3)

    def test_one_index_array_fits_three_arrays(self):
        f = neoc.function(lambda x, y, z, i: x[i]*y[i] - z[i], sizes="dynamic")
        for sizes in ((5, 3, 4), (3, 4, 5), (5, 4, 3), (4, 4, 4), (2, 6, 6)):
            x, y, z = map(floats, sizes)
            i = np.array([0, min(sizes) - 1, -1])
            np.testing.assert_allclose(f(x, y, z, i), x[i]*y[i] - z[i], rtol=1e-6)

    def test_an_index_along_an_axis_of_extent_1_is_checked_and_its_size_known(self):
        for mode in ("fixed", "auto", "dynamic"):
            for how in ("set", "add", "multiply", "min", "max"):
                f = neoc.function(lambda x, i: getattr(x.at[i], how)(2), sizes=mode)
                for n in (1, 2, 3):
                    for k in (2, 1, 3):
                        got = f(floats(n), np.zeros(k, "int32"))
                        x = floats(n)
                        if how == "set":
                            x[0] = 2
                        else:
                            {"add": np.add, "multiply": np.multiply, "min": np.minimum,
                             "max": np.maximum}[how].at(x, np.zeros(k, "int32"), 2)
                        np.testing.assert_allclose(got, x, rtol=1e-6)
                    with self.assertRaisesRegex(neoc.RangeError, f"value {n} is not in"):
                        f(floats(n), np.array([0, n], "int32"))

    def test_an_empty_index_array_changes_nothing(self):
        for mode in ("fixed", "auto", "dynamic"):
            f = neoc.function(lambda x, i, v: (x.at[i].set(v), x.at[i].add(v), x[i]), sizes=mode)
            for k in (0, 2, 0, 1):
                x, i, v = floats(4), np.arange(k, dtype="int32"), floats(k)
                put, added = x.copy(), x.copy()
                put[i] = v
                added[i] += v
                for got, want in zip(f(x, i, v), (put, added, x[i])):
                    np.testing.assert_array_equal(got, want)

    def test_an_index_of_what_is_empty_is_empty(self):
        for mode in ("fixed", "auto", "dynamic"):
            f = neoc.function(lambda x, i: x[i % x.shape[0]], sizes=mode)
            for n, k in ((4, 3), (0, 0), (2, 5)):
                x, i = floats(n), np.arange(k, dtype="int32")
                np.testing.assert_array_equal(f(x, i), x[i % max(n, 1)])

    def test_reshapes_of_what_may_be_empty(self):
        def f(x):
            return x.reshape(-1), x.reshape(x.shape[0], -1), x.reshape(-1, x.shape[2])
        for mode in ("fixed", "auto", "dynamic"):
            for order in ((0, 1, 2), (2, 1, 0)):
                g = neoc.function(lambda x: x.reshape(-1)*2, sizes=mode)
                h = neoc.function(f, sizes=mode)
                for n in order:
                    np.testing.assert_array_equal(g(floats(3, n)), floats(3, n).reshape(-1)*2)
                    x = floats(3, n, 2)
                    for got, want in zip(h(x), (x.reshape(-1), x.reshape(3, 2*n),
                                                x.reshape(3*n, 2))):
                        np.testing.assert_array_equal(got, want)

    def test_the_greatest_of_nothing_is_refused_at_each_size(self):
        for mode in ("fixed", "auto", "dynamic"):
            for name in ("max", "min", "argmax", "argmin"):
                f = neoc.function(lambda x: getattr(x, name)(1), sizes=mode)
                for n in (3, 0, 2, 0):
                    x = floats(2, n)
                    if n:
                        np.testing.assert_array_equal(f(x), getattr(x, name)(1))
                    else:
                        with self.assertRaisesRegex(ValueError, "zero-size|empty"):
                            f(x)

    def test_an_axis_that_becomes_1_is_squeezed_and_repeated(self):
        f = neoc.function(lambda x: (np.squeeze(x), np.broadcast_to(x, (2, 6))))
        for n in (6, 1, 6, 1):
            for got, want in zip(f(floats(1, n)), (np.squeeze(floats(1, n)),
                                                   np.broadcast_to(floats(1, n), (2, 6)))):
                np.testing.assert_array_equal(got, want)

    def test_slices_of_slices_of_slices(self):
        ends = [None, None, 0, 1, 2, 3, -1, -2, -3, 5]
        for seed in range(25):
            r = np.random.default_rng(seed)
            cuts = [slice(ends[r.integers(10)], ends[r.integers(10)],
                          int(r.choice([1, 2, 3, -1, -2, -3]))) for _ in range(3)]
            f = neoc.function(lambda u: u[cuts[0]][cuts[1]][cuts[2]], sizes="dynamic")
            for n in (25, 8, 2, 1, 0):
                x = np.arange(n)*1.0
                self.assertEqual(f(x).tolist(), f.f(x).tolist(), (cuts, n))

    def test_an_extent_may_fall_as_sizes_grow(self):
        f = neoc.function(lambda x, y: np.concatenate([x.reshape(-1), y])[x.size:7],
                          sizes="dynamic")
        for n, m in ((2, 2), (1, 3), (3, 2), (1, 1), (7, 1)):
            x, y = floats(n, m), floats(7)
            np.testing.assert_array_equal(f(x, y), np.concatenate([x.reshape(-1), y])[n*m:7])


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

    def test_a_float_of_sizes_is_a_weak_number_as_python_s(self):
        forms = (lambda n: 1/n, lambda n: 1/n + 1/(n + 2), lambda n: n*0.5 - 2, lambda n: n**0.5,
                 lambda n: (n + 1)**-1, lambda n: np.sqrt(n), lambda n: 1/np.sqrt(n),
                 lambda n: np.log(n) - np.exp(-n), lambda n: n//2, lambda n: n/2 // 1,
                 lambda n: n % 2.5, lambda n: 7 % n, lambda n: 2**n, lambda n: -n/3,
                 lambda n: abs(-n/3), lambda n: n >> 1, lambda n: n << 2, lambda n: (n & 1) + (n | 4), lambda n: float(n) + int(n/2),
                 lambda n: divmod(n, 3)[1], lambda n: round(n/3, 1), lambda n: 1/(1/n),
                 lambda n: max(n/2, 2.5), lambda n: np.maximum(n, 4), lambda n: math.sqrt(n),
                 lambda n: np.add(n, 2) / np.float32(2), lambda n: n*np.int64(3),
                 lambda n: 1.0 if n/2 > 3 else 2.0, lambda n: n.bit_length(), lambda n: ~n,
                 lambda n: math.floor(n/2), lambda n: math.ceil(n), lambda n: (n/4).is_integer())
        for k, form in enumerate(forms):
            f = neoc.function(lambda u, v, i: (u*form(u.shape[0]), v*form(v.shape[0]),
                                               i*form(i.shape[0])),
                              sizes=("auto", "dynamic")[k % 2])
            for n in (5, 6, 9, 5):
                u = np.arange(n) + 1.0
                arrays = u, u.astype("f4"), u.astype("i4")
                for a, got in zip(arrays, f(*arrays)):
                    want = a*form(n)
                    if a.dtype != np.int32:  # the number is rounded once
                        self.assertEqual(got.dtype, a.dtype, k)
                        want = a*a.dtype.type(form(n))
                    np.testing.assert_allclose(got, want, rtol=3e-7 if a.dtype == "f4" else 1e-15,
                                               err_msg=f"form {k} of {n}")

    def test_a_float_of_sizes_is_compiled_once(self):
        f = neoc.function(lambda u: np.sqrt(u.shape[0])*u + 1/(u.shape[0] + 1.5)**0.5,
                          sizes="dynamic")
        for n in (5, 6, 1):
            f(np.ones(n))
        self.assertEqual(f.cache_info().compiled, 1)

    def test_a_float_of_sizes_by_itself_is_what_python_s_is(self):
        for mode in ("fixed", "dynamic"):
            f = neoc.function(lambda u: (1/u.shape[0], np.sqrt(u.shape[0]), u.shape[0]), sizes=mode)
            for n in (3, 7):
                a, b, c = f(np.ones(n))
                self.assertEqual((a.dtype, b.dtype, c.dtype), (np.float32, np.float64, np.int32))
                self.assertEqual((a, b, c), (np.float32(1/n), np.sqrt(n), n))

    def test_numpy_s_arrays_meet_sizes(self):
        def f(u):
            n = u.shape[0]
            return u + np.arange(n)/n, u*np.linspace(0, 1, n), u.sum() + np.array([1.0, 2.0])*n, \
                np.ones(2)/n + u[:1]
        for mode in ("fixed", "auto", "dynamic"):
            g = neoc.function(f, sizes=mode)
            for n in (4, 6, 1, 4):
                u = floats(n).astype("f8")
                for got, want in zip(g(u), f(u)):
                    np.testing.assert_allclose(got, want, rtol=1e-14)

    def test_division_by_a_size_of_0_is_python_s_error(self):
        for form in (lambda n: 1/n, lambda n: 5 // n, lambda n: n % n, lambda n: 1/(n - 2)):
            f = neoc.function(lambda u: u.sum() + form(u.shape[0]), sizes="dynamic")
            zero = 2 if form(3) == 1 and form(4) == 0.5 else 0
            f(np.ones(5))
            with self.assertRaises(ZeroDivisionError):
                f(np.ones(zero))
            f(np.ones(6))

    def test_a_shape_is_of_integers(self):
        f = neoc.function(lambda u: neoc.zeros((u.shape[0]/2,)) + u.sum(), sizes="dynamic")
        with self.assertRaisesRegex(TypeError, "integer"):
            f(np.ones(4))
        with self.assertRaisesRegex(TypeError, "integer"):
            neoc.function(lambda u: neoc.zeros((2.5,)) + u)(np.ones(4))


if __name__ == "__main__":
    unittest.main()
