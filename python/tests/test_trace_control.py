"""scan, repeat, while_, case and vertex against loops of Python."""
import unittest

import numpy as np

import neoc

r = np.random.default_rng(11)


def floats(*shape):
    return r.standard_normal(shape).astype(np.float32)


class Scans(unittest.TestCase):
    def close(self, a, b):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)

    def test_trees_of_carries_and_results(self):
        def step(c, x):
            c = {"n": c["n"] + 1, "h": 0.5*c["h"] + x["a"]}
            return c, (c["h"].sum(), x["b"])
        f = neoc.function(lambda xs: neoc.scan(step, {"n": 0, "h": neoc.zeros(3)}, xs))
        a, b = floats(5, 3), floats(5)
        c, (s, q) = f({"a": a, "b": b})
        h, sums = np.zeros(3, np.float32), []
        for x in a:
            h = 0.5*h + x
            sums.append(h.sum())
        self.close(c["h"], h)
        self.assertEqual(c["n"], 5)
        self.close(s, sums)
        self.close(q, b)

    def test_reverse(self):
        f = neoc.function(lambda xs: neoc.scan(lambda c, x: (c + x, c), neoc.zeros(()), xs,
                                               reverse=True))
        xs = floats(6)
        c, ys = f(xs)
        self.close(c, xs.sum())
        self.close(ys, xs[::-1].cumsum()[::-1] - xs)

    def test_length_and_no_carry(self):
        f = neoc.function(lambda x: (neoc.scan(lambda c, _: (c*2, c), x, length=4),
                                     neoc.scan(lambda _, v: (None, v*v), None, x)))
        x = floats(3)
        (c, ys), (none, squares) = f(x)
        self.close(c, x*16)
        self.close(ys, np.stack([x*2**k for k in range(4)]))
        self.assertIsNone(none)
        self.close(squares, x*x)

    def test_sizes_of_the_run(self):
        f = neoc.function(lambda xs, W: neoc.scan(lambda h, x: (np.tanh(x + h @ W), h),
                                                  neoc.zeros_like(xs[0]), xs))
        W = floats(3, 3)
        for t, b in ((4, 2), (6, 5), (5, 7), (3, 3)):
            xs = floats(t, b, 3)
            h = np.zeros((b, 3), np.float32)
            for x in xs:
                h = np.tanh(x + h @ W)
            self.close(f(xs, W)[0], h)
        self.assertEqual(f.cache_info().compiled, 2)

    def test_scans_within_scans(self):
        def outer(c, row):
            c, ys = neoc.scan(lambda c, x: (c*0.5 + x, c), c, row)
            return c, ys.sum()
        f = neoc.function(lambda xs: neoc.scan(outer, neoc.zeros(()), xs))
        xs = floats(3, 4)
        c, sums = np.float32(0), []
        for row in xs:
            s = 0
            for x in row:
                s += c
                c = c*np.float32(0.5) + x
            sums.append(s)
        found = f(xs)
        self.close(found[0], c)
        self.close(found[1], sums)

    def test_layers(self):
        f = neoc.function(lambda x, Ws: neoc.repeat(lambda h, W: (np.tanh(h @ W), h), x, Ws))
        x, Ws = floats(2, 3), floats(4, 3, 3)
        h = x
        for W in Ws:
            h = np.tanh(h @ W)
        self.close(f(x, Ws)[0], h)
        self.assertIn("repeat layer < 4", f.text())

    def test_tokens_are_read_in_a_scan(self):
        f = neoc.function(lambda E, xs: neoc.scan(lambda h, w: (np.tanh(h + E[w]), None),
                                                  neoc.zeros(3), xs)[0])
        E, xs = floats(10, 3), np.array([1, 5, -1, 0], np.int32)
        h = np.zeros(3, np.float32)
        for w in xs:
            h = np.tanh(h + E[w])
        self.close(f(E, xs), h)

    def test_many_carries(self):
        f = neoc.function(lambda x: neoc.scan(
            lambda c, _: ([a*2 + k for k, a in enumerate(c)], None), [x + k for k in range(20)],
            length=3)[0])
        for k, a in enumerate(f(np.float32(1))):
            self.assertEqual(a, 8*(1 + k) + 7*k)

    def test_carries_of_booleans_and_of_constants(self):
        f = neoc.function(lambda xs: neoc.scan(
            lambda c, x: ((c[0] | (x > 1), 0.0), c[0]), (False, 1.0), xs))
        xs = np.array([0, 2, 0], np.float32)
        (a, b), ys = f(xs)
        self.assertTrue(a)
        self.assertEqual(b, 0)
        self.assertEqual(ys.tolist(), [False, False, True])


class Whiles(unittest.TestCase):
    def test_runs_until_the_condition_fails_or_the_limit_is_reached(self):
        f = neoc.function(lambda n: neoc.while_(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1]*2),
                                                (0, 1.0), limit=6))
        self.assertEqual([float(f(np.int32(n))[1]) for n in (0, 3, 6, 9)], [1, 8, 64, 64])

    def test_of_matrices(self):
        def power(A):
            def body(c):
                v, old = c
                w = A @ v
                return w/np.linalg.norm(w), v
            v0 = neoc.ones(3)
            return neoc.while_(lambda c: abs(c[0] - c[1]).max() > 1e-6, body, (v0, v0*2),
                               limit=200)[0]
        A = floats(3, 3)
        A = A @ A.T + np.eye(3, dtype=np.float32)
        v = neoc.function(power)(A)
        np.testing.assert_allclose(A @ v, (v @ A @ v)*v, rtol=1e-3, atol=1e-3)


class Cases(unittest.TestCase):
    def test_of_integers(self):
        f = neoc.function(lambda i, x: neoc.case(i, [lambda x: x.sum(0), lambda x: x[0]*2,
                                                     lambda x: neoc.zeros(x.shape[1:])], x))
        x = floats(4, 3)
        for i, wanted in ((0, x.sum(0)), (1, x[0]*2), (2, x[0]*0), (7, x[0]*0), (-1, x[0]*0)):
            np.testing.assert_allclose(f(np.int32(i), x), wanted, rtol=1e-5, atol=1e-6)

    def test_of_a_dict_and_trees(self):
        f = neoc.function(lambda i, x: neoc.case(i, {3: lambda: {"a": x, "b": 1.0},
                                                     None: lambda: {"a": -x, "b": x.sum()}}))
        x = floats(3)
        self.assertEqual(f(np.int32(3), x)["b"], 1)
        np.testing.assert_array_equal(f(np.int32(0), x)["a"], -x)

    def test_in_a_scan(self):
        f = neoc.function(lambda xs: neoc.scan(
            lambda c, x: (neoc.case(x > 0, [lambda: c, lambda: c + x]), None), 0.0, xs)[0])
        xs = floats(9)
        np.testing.assert_allclose(f(xs), xs[xs > 0].sum(), rtol=1e-5)


class Vertices(unittest.TestCase):
    child = np.array([[-1, -1], [-1, -1], [0, 1], [-1, -1], [2, 3]], np.int32)

    def test_sums_of_trees(self):
        def sums(child, x):
            def body(v, x):
                s = x + v.gather(neoc.zeros(3)).sum(0)
                v.scatter(s)
                return s, v.children
            return neoc.vertex(body, child)(x)
        f = neoc.function(sums)
        x = floats(5, 3)
        s, n = f(self.child, x)
        np.testing.assert_allclose(s[4], x.sum(0), rtol=1e-5, atol=1e-6)
        self.assertEqual(n.tolist(), [0, 0, 2, 0, 2])
        s, _ = f(self.child[:3], x[:3])
        np.testing.assert_allclose(s[2], x[:3].sum(0), rtol=1e-5, atol=1e-6)
        self.assertEqual(f.cache_info().compiled, 1)

    def test_down(self):
        def depth(child):
            def body(v):
                d = v.gather(0.0).max() + 1.0
                v.scatter(d)
                return d
            up = neoc.vertex(body, child)()
            return up
        self.assertEqual(neoc.function(depth)(self.child).tolist(), [1, 1, 2, 1, 3])

        def paths(child, x):
            def body(v, x):
                s = v.gather(0.0).sum() + x
                v.scatter(s)
                return s
            return neoc.vertex(body, child, down=True)(x)
        x = floats(5)
        found = neoc.function(paths)(self.child, x)
        np.testing.assert_allclose(found[0], x[0] + x[2] + x[4], rtol=1e-5)

    def states(self, first, x, h, W):
        """The result of the vertex function of `leaf_values`, with `first` for a missing child."""
        made = []
        for v, row in enumerate(self.child[:len(x)]):
            got = [made[c] if c >= 0 else first(x[v], h, W) for c in row]
            made.append(np.tanh(x[v] + got[0] - 0.5*got[1]))
        return np.stack(made)

    LEAF_VALUES = {  # by what they are made of
        "an argument": lambda x, h, W: h, "a product": lambda x, h, W: W @ h,
        "a view": lambda x, h, W: W[1, ::-1], "the row": lambda x, h, W: x,
        "the row and more": lambda x, h, W: np.tanh(W @ x)*h + x[::-1]}

    def test_any_tensor_stands_for_a_child_that_is_not_there(self):
        rng = np.random.default_rng(4)
        x, h, W = rng.standard_normal((5, 3)), rng.standard_normal(3), rng.standard_normal((3, 3))
        for name, first in self.LEAF_VALUES.items():
            def run(child, x, h, W, first=first):
                def body(v, x):
                    got = v.gather(first(x, h, W))
                    s = np.tanh(x + got[0] - 0.5*got[1])
                    v.scatter(s)
                    return s
                return neoc.vertex(body, child)(x)
            f = neoc.function(run)
            for n in (5, 3, 1, 0):
                np.testing.assert_allclose(f(self.child[:n], x[:n], h, W),
                                           self.states(first, x[:n], h, W) if n else x[:0],
                                           rtol=1e-9, err_msg=name)
            slopes = neoc.function(lambda c, x, h, W: neoc.grad(
                lambda x, h, W: (run(c, x, h, W)**2).sum(), (0, 1, 2))(x, h, W))
            for k, slope in enumerate(slopes(self.child, x, h, W)):
                along = rng.standard_normal(slope.shape)
                ends = [[a + e*along if k == n else a for n, a in enumerate((x, h, W))]
                        for e in (1e-6, -1e-6)]
                up, low = ((self.states(first, *end)**2).sum() for end in ends)
                np.testing.assert_allclose((slope*along).sum(), (up - low)/2e-6, rtol=1e-6,
                                           atol=1e-7, err_msg=name)

    def test_what_a_loop_makes_stands_for_a_child_outside_of_it_alone(self):
        def run(child, x, inside):
            def body(v, x):
                def step(h, _):
                    return h + (v.gather(2*h).sum(0) if inside else 1), None
                h, _ = neoc.scan(step, x, length=3)
                s = h if inside else v.gather(h).sum(0)
                v.scatter(s)
                return s
            return neoc.vertex(body, child)(x)
        f = neoc.function(run, static_argnames=("inside",))
        x = floats(5)
        s = f(self.child, x, inside=False)
        np.testing.assert_allclose(s[:3], [2*(x[0] + 3), 2*(x[1] + 3), s[0] + s[1]], rtol=1e-5)
        with self.assertRaisesRegex(neoc.TraceError, "inside of a loop or choice"):
            f(self.child, x, inside=True)

    def test_a_choice_may_gather(self):
        def run(child, x, h):
            def body(v, x):
                s = neoc.case(v.children > 0, [lambda: x, lambda: x + v.gather(h).sum(0)])
                v.scatter(s)
                return s
            return neoc.vertex(body, child)(x)
        x, h = floats(5, 2), floats(2)
        s = neoc.function(run)(self.child, x, h)
        np.testing.assert_allclose(s[4], x.sum(0), rtol=1e-5, atol=1e-6)

    def test_rows_from_outside_are_refused(self):
        def f(child, x):
            def body(v, row):
                s = v.gather(0.0).sum() + row + x.sum()
                v.scatter(s)
                return s
            return neoc.vertex(body, child)(x)
        with self.assertRaisesRegex(neoc.NeoError, "give it as an argument"):
            neoc.function(f)(self.child, floats(5))



class SharedByVertices(unittest.TestCase):
    child = np.array([[-1, -1], [-1, -1], [0, 1]], "int32")

    def test_what_has_no_row_for_each_vertex_is_no_argument(self):
        f = neoc.function(lambda c, x, w: neoc.vertex(lambda v, x, w: x*w.sum(), c)(x, w))
        for n in (2, 4):
            with self.assertRaisesRegex(ValueError, "no row for each of the 3 vertices"):
                f(self.child, np.ones(3, "float32"), np.ones(n, "float32"))

    def test_a_constant_of_as_many_rows_is_no_argument(self):
        f = neoc.function(lambda c, x: neoc.vertex(lambda v, x, w: x*w, c)(x, neoc.ones(3)))
        with self.assertRaisesRegex(ValueError, "in this call alone"):
            f(self.child, np.ones(3, "float32"))

    def test_what_is_used_by_its_name_is_whole_for_any_number_of_vertices(self):
        f = neoc.function(lambda c, x, w: neoc.vertex(lambda v, x: x*w.sum(), c)(x))
        w = np.ones(3, "float32")
        self.assertEqual(f(self.child, np.ones(3, "float32"), w).tolist(), [3, 3, 3])
        more = np.concatenate([self.child, [[2, -1]]]).astype("int32")
        self.assertEqual(f(more, np.ones(4, "float32"), w).tolist(), [3, 3, 3, 3])

if __name__ == "__main__":
    unittest.main()
