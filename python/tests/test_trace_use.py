"""The use of traced functions: warnings, saved texts, tracebacks, words of other libraries."""
import os
import tempfile
import traceback
import unittest
import warnings
from unittest import mock

import numpy as np

import neoc


def floats(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def total(x, rows):
    return np.where(rows(x.shape[0]) < 3, x, 0).sum()


def with_numpy(x):
    return total(x, np.arange)


def with_neoc(x):
    return total(x, neoc.arange)


class Warnings(unittest.TestCase):
    def test_a_line_that_makes_many_programs_is_warned_of_once(self):
        f = neoc.function(with_numpy)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            for n in range(3, 14):
                f(floats(n))
        self.assertEqual([w.category for w in found], [neoc.CompileWarning])
        self.assertRegex(str(found[0].message), "with_numpy was compiled 8 times.*neoc.arange")
        self.assertEqual(found[0].filename, __file__)
        self.assertEqual(found[0].lineno, total.__code__.co_firstlineno + 1)

    def test_a_mask_by_a_size_is_compiled_twice(self):
        f = neoc.function(with_neoc)
        for n in range(3, 14):
            np.testing.assert_allclose(f(floats(n)), floats(n)[:3].sum(), rtol=1e-5)
        self.assertEqual(f.cache_info().compiled, 2)


class Saved(unittest.TestCase):
    def saved(self, f, **options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.expr")
            f.save(path, **options)
            with open(path) as file:
                return file.read()

    def test_results_of_library_calls_are_called_by_their_keys(self):
        f = neoc.function(lambda h: {"prob": neoc.nn.softmax(h), "best": np.argmax(h, 1)})
        self.assertIn("output best, prob\n", self.saved(f.compile((4, 3))))

    def test_bounds_of_sizes_may_be_raised(self):
        f = neoc.function(lambda x, y: (x*2, x[:40], y.sum()))
        for n in (3, 4):
            f(floats(n), floats(2))
        self.assertIn("dim N <= 16\n", self.saved(f))
        with self.assertRaisesRegex(ValueError, "N cannot be 4096"):
            self.saved(f, bounds={"N": 4096})  # x[:40] has another shape there
        g = neoc.function(lambda x: neoc.scan(lambda h, v: (h + v, h), 0.0, x)[1])
        for n in (3, 4):
            g(floats(n))
        self.assertIn("dim N <= 4096\n", self.saved(g, bounds={"N": 4096}))
        self.assertIn("dim N <= 16\n", self.saved(g))
        with self.assertRaisesRegex(KeyError, "no size 'M' in the text; sizes: N"):
            self.saved(g, bounds={"M": 3})
        with self.assertRaisesRegex(ValueError, r"bounds\['N'\]: expected a whole number from 1"):
            self.saved(g, bounds={"N": 0})

    def test_a_text_alone_is_nothing_to_save(self):
        f = neoc.function(lambda x: 2*x)
        f.text((3,))
        with self.assertRaisesRegex(neoc.NeoError, r"not called yet.*f\.compile\(\(32, 64\)"):
            f.save("m.expr")


def product(x, W):
    return np.tanh(x @ W)


def loss(p, x):
    return product(x, p["W"]).mean()


class Tracebacks(unittest.TestCase):
    def frames(self, f, *args):
        try:
            f(*args)
        except Exception as problem:
            return [os.path.basename(t.filename) for t in traceback.extract_tb(
                problem.__traceback__)]
        return self.fail("no error")

    def test_frames_of_neoc_between_the_user_s_are_cut(self):
        mine = os.path.basename(__file__)
        p, x = {"W": floats(3, 4)}, floats(5, 2)
        f = neoc.function(neoc.value_and_grad(loss))
        for call in (f, f.text, f.compile, f):
            frames = self.frames(call, p, x)
            self.assertEqual(frames[0], mine)
            self.assertEqual(frames[-3:-1], [mine, mine])
            self.assertLessEqual(len(frames), 5)
        with mock.patch.dict(os.environ, {"NEO_TRACEBACK": "full"}):
            self.assertGreater(len(self.frames(f, p, x)), 7)

    def test_the_line_of_the_user_s_own_error_is_the_last(self):
        f = neoc.function(lambda x: x*[1, 2][len(x)])
        self.assertEqual(self.frames(f, floats(3))[-1], os.path.basename(__file__))


class Words(unittest.TestCase):
    def test_who_writes_dim_is_told_axis(self):
        for f in (lambda x: x.sum(dim=1), lambda x: x.argmax(dim=1), lambda x: neoc.mean(x, dim=1)):
            with self.assertRaisesRegex(TypeError, "takes axis=, as numpy does, not dim="):
                neoc.function(f)(floats(2, 3))
        with self.assertRaisesRegex(TypeError, "takes keepdims=, .*not keepdim="):
            neoc.function(lambda x: x.max(0, keepdim=True))(floats(2, 3))

    def test_trees_are_scattered_and_gathered(self):
        @neoc.function
        def sums(child, x):
            def body(v, x):
                got = v.gather({"h": neoc.zeros(3), "c": (neoc.zeros(3),)})
                h, c = x + got["h"].sum(0), 2*x + got["c"][0].sum(0)
                v.scatter({"h": h, "c": (c,)})
                return h, c
            return neoc.vertex(body, child)(x)
        h, c = sums(np.array([[-1, -1], [-1, -1], [0, 1]], "int32"), np.ones((3, 3), "float32"))
        self.assertEqual(h.tolist(), [[1]*3, [1]*3, [3]*3])
        self.assertEqual(c.tolist(), [[2]*3, [2]*3, [6]*3])


if __name__ == "__main__":
    unittest.main()
