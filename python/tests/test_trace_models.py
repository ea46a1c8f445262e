"""Whole models as traced functions, against numpy: values, and gradients against differences."""
import unittest

import numpy as np

import neoc

r = np.random.default_rng(13)


def floats(*shape, scale=0.5):
    return (scale*r.standard_normal(shape)).astype(np.float32)


def sigmoid(x):
    return 1/(1 + np.exp(-x))


class Models(unittest.TestCase):
    def test_calls_of_one_function_may_have_trees_of_many_structures(self):
        class Own(dict):
            pass

        @neoc.function
        def total(tree):
            found = sum(v.sum() for v in neoc.tree.flatten(tree)[0])
            return {"all": [found, None], "twice": (2*found,)}

        one, two = np.ones(3, np.float32), np.full(3, 2, np.float32)
        trees = [({"a": one, "b": [two, None]}, 9), ({"a": one, "c": [two, None]}, 9),
                 ({"a": one, "b": [two, one]}, 12), ({"a": one, "b": (two, None)}, 9),
                 (Own(a=one, b=[two, None]), 9), ({"a": [one], "b": one}, 6), ([one, two], 9),
                 ({"b": [2.0, None], "a": one}, 5), ({"a": one, "b": [two, None], "c": one}, 12)]
        for _ in range(3):
            for tree, sum_of in trees + trees[::-1]:
                found = total(tree)
                self.assertEqual(list(found), ["all", "twice"])
                self.assertIsNone(found["all"][1])
                self.assertEqual((float(found["all"][0]), float(found["twice"][0])),
                                 (sum_of, 2*sum_of))
                self.assertIsInstance(found["twice"], tuple)

    def slope(self, f, args, k, rtol=2e-2):
        """The gradient by argument k along a random direction, by central differences in f64."""
        wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in args]
        g = neoc.function(neoc.grad(f, k))(*wide)
        traced = neoc.function(f)
        d = r.standard_normal(wide[k].shape)
        ends = []
        for s in (1e-6, -1e-6):
            moved = list(wide)
            moved[k] = wide[k] + s*d
            ends.append(float(traced(*moved)))
        np.testing.assert_allclose((g*d).sum(), (ends[0] - ends[1])/2e-6, rtol=1e-5)

    def test_lstm(self):
        def lstm(W, U, b, xs):
            def cell(carry, x):
                h, c = carry
                i, f, g, o = np.split(x @ W + h @ U + b, 4, -1)
                c = neoc.sigmoid(f)*c + neoc.sigmoid(i)*np.tanh(g)
                h = neoc.sigmoid(o)*np.tanh(c)
                return (h, c), h
            start = neoc.zeros((xs.shape[1], U.shape[0]), xs.dtype)
            return neoc.scan(cell, (start, start), xs)[1]

        def reference(W, U, b, xs):
            h = c = np.zeros((xs.shape[1], U.shape[0]), xs.dtype)
            out = []
            for x in xs:
                i, f, g, o = np.split(x @ W + h @ U + b, 4, -1)
                c = sigmoid(f)*c + sigmoid(i)*np.tanh(g)
                h = sigmoid(o)*np.tanh(c)
                out.append(h)
            return np.stack(out)
        f = neoc.function(lstm)
        W, U, b = floats(5, 16), floats(4, 16), floats(16)
        for t, n in ((6, 2), (8, 3), (7, 4)):
            xs = floats(t, n, 5)
            np.testing.assert_allclose(f(W, U, b, xs), reference(W, U, b, xs), rtol=1e-4, atol=1e-6)
        self.assertEqual(f.cache_info().compiled, 2)
        self.slope(lambda U, xs: (lstm(W.astype(U.dtype), U, b.astype(U.dtype), xs)**2).sum(),
                   (U, floats(4, 2, 5)), 0)

    def test_a_selective_scan(self):
        def mamba(u, delta, A, B, C, D):
            def step(h, row):
                u, d, b, c = row
                h = np.exp(d[..., None]*A)*h + d[..., None]*b[:, None, :]*u[..., None]
                return h, (h*c[:, None, :]).sum(-1) + D*u
            rows = [x.swapaxes(0, 1) for x in (u, delta, B, C)]
            h0 = neoc.zeros((u.shape[0], *A.shape))
            return neoc.scan(step, h0, tuple(rows))[1].swapaxes(0, 1)
        u, delta, A = floats(2, 7, 3), abs(floats(2, 7, 3)), -abs(floats(3, 4))
        B, C, D = floats(2, 7, 4), floats(2, 7, 4), floats(3)
        h, ys = np.zeros((2, 3, 4), np.float32), []
        for t in range(7):
            d = delta[:, t, :, None]
            h = np.exp(d*A)*h + d*B[:, t, None, :]*u[:, t, :, None]
            ys.append((h*C[:, t, None, :]).sum(-1) + D*u[:, t])
        args = (u, delta, A, B, C, D)
        np.testing.assert_allclose(neoc.function(mamba)(*args), np.stack(ys, 1), rtol=1e-4,
                                   atol=1e-6)
        std = neoc.function(lambda *a: neoc.nn.selective_scan(*a))(*args)
        np.testing.assert_allclose(std, np.stack(ys, 1), rtol=1e-4, atol=1e-6)

    def test_tree_lstm_on_a_batch_of_trees(self):
        def model(p, child, word):
            def cell(v, x):
                h, c = v.gather((neoc.zeros(4, p["F"].dtype), neoc.zeros(4, p["F"].dtype)))
                z = np.einsum("gej,e->gj", p["W"], x) + p["b"]
                u = z[:3] + np.einsum("glj,kl->gj", p["U"], h)
                f = neoc.sigmoid(z[3] + h @ p["F"])
                c2 = neoc.sigmoid(u[0])*np.tanh(u[2]) + (f*c).sum(0)
                h2 = neoc.sigmoid(u[1])*np.tanh(c2)
                v.scatter((h2, c2))
                return h2
            return neoc.vertex(cell, child)(neoc.array(p["Emb"])[word])

        def reference(p, child, word):
            hs, cs = [], []
            for kids, w in zip(child, word):
                h = np.array([hs[k] if k >= 0 else np.zeros(4) for k in kids])
                c = np.array([cs[k] if k >= 0 else np.zeros(4) for k in kids])
                z = np.einsum("gej,e->gj", p["W"], p["Emb"][w]) + p["b"]
                u = z[:3] + np.einsum("glj,kl->gj", p["U"], h)
                f = sigmoid(z[3] + h @ p["F"])
                cs.append(sigmoid(u[0])*np.tanh(u[2]) + (f*c).sum(0))
                hs.append(sigmoid(u[1])*np.tanh(cs[-1]))
            return np.stack(hs)

        def trees(count):
            child, ends = [], []
            for _ in range(count):
                first = len(child)
                child += [[-1, -1]]*3
                child += [[first, first + 1], [first + 3, first + 2]]
                ends.append(len(child) - 1)
            return np.array(child, np.int32)
        p = {"Emb": floats(10, 3), "W": floats(4, 3, 4), "U": floats(3, 4, 4), "F": floats(4, 4),
             "b": floats(4, 4)}
        f = neoc.function(model)
        for count in (2, 3):
            child = trees(count)
            word = r.integers(0, 10, len(child)).astype(np.int32)
            np.testing.assert_allclose(f(p, child, word), reference(p, child, word), rtol=1e-4,
                                       atol=1e-5)
        self.assertEqual(f.cache_info().compiled, 1)
        q = {k: v.astype(np.float64) for k, v in p.items()}
        self.slope(lambda F, c, w: (model({**q, "F": F}, c, w)**2).sum(), (p["F"], child, word), 0)

    def test_cholesky_by_columns(self):
        def cholesky(A):
            n = A.shape[0]

            def column(L, j):
                c = A[:, j] - L @ L[j]
                d = np.sqrt(c[j])
                return L.at[:, j].set(neoc.where(neoc.arange(n) >= j, c/d, 0.0)), None
            return neoc.scan(column, neoc.zeros_like(A), neoc.arange(n))[0]
        A = floats(5, 5, scale=1)
        A = A @ A.T + np.eye(5, dtype=np.float32)
        found = neoc.function(cholesky, sizes="fixed")(A)
        np.testing.assert_allclose(found, np.linalg.cholesky(A), rtol=1e-3, atol=1e-4)

    def test_a_kalman_filter(self):
        def kalman(A, C, Q, R, x0, P0, ys):
            def step(carry, y):
                x, P = carry
                x, P = A @ x, A @ P @ A.T + Q
                S = C @ P @ C.T + R
                K = np.linalg.solve(S, C @ P).T
                x = x + K @ (y - C @ x)
                P = P - K @ C @ P
                return (x, P), x
            return neoc.scan(step, (x0, P0), ys)[1]
        n, m = 3, 2
        A, C = np.eye(n, dtype=np.float32) + floats(n, n, scale=.1), floats(m, n, scale=1)
        Q, R, P = (np.eye(k, dtype=np.float32)*s for k, s in ((n, .1), (m, .5), (n, 1)))
        ys, x = floats(8, m, scale=1), np.zeros(n, np.float32)
        args = A, C, Q, R, x, P, ys
        wanted, X, V = [], x.astype(np.float64), P.astype(np.float64)
        for y in ys:
            X, V = A @ X, A @ V @ A.T + Q
            K = V @ C.T @ np.linalg.inv(C @ V @ C.T + R)
            X, V = X + K @ (y - C @ X), V - K @ C @ V
            wanted.append(X)
        np.testing.assert_allclose(neoc.function(kalman)(*args), wanted, rtol=1e-3, atol=1e-4)
        self.slope(lambda A, ys: (kalman(A, *[a.astype(A.dtype) for a in args[1:6]], ys)**2).sum(),
                   (A, ys), 0)

    def test_capsules_by_routing(self):
        def squash(s):
            n = (s*s).sum(-1, keepdims=True)
            return s*(n/(1 + n)/np.sqrt(n + 1e-9))

        def capsules(W, u):
            votes = np.einsum("ijde,bid->bije", W, u)
            b = neoc.zeros_like(votes[..., 0])
            for _ in range(3):
                c = neoc.nn.softmax(b)
                v = squash(np.einsum("bij,bije->bje", c, votes))
                b = b + np.einsum("bije,bje->bij", votes, v)
            return v

        def reference(W, u):
            votes = np.einsum("ijde,bid->bije", W, u)
            b = np.zeros(votes.shape[:3])
            for _ in range(3):
                c = np.exp(b)/np.exp(b).sum(-1, keepdims=True)
                v = squash(np.einsum("bij,bije->bje", c, votes))
                b = b + np.einsum("bije,bje->bij", votes, v)
            return v
        W, u = floats(6, 3, 4, 5), floats(2, 6, 4)
        np.testing.assert_allclose(neoc.function(capsules)(W, u), reference(W, u), rtol=1e-4,
                                   atol=1e-5)
        self.slope(lambda W, u: (capsules(W, u)**2).sum(), (W, u), 0)

    def test_attention_with_a_mask(self):
        def attention(x, Wq, Wk, Wv):
            b, t, d = x.shape
            q, k, v = ((x @ W).reshape(b, t, 2, d // 2).transpose(0, 2, 1, 3)
                       for W in (Wq, Wk, Wv))
            s = q @ k.transpose(0, 1, 3, 2)/np.sqrt(d // 2)
            s = neoc.where(neoc.tri(t, dtype=bool), s, -1e9)
            return (neoc.nn.softmax(s) @ v).transpose(0, 2, 1, 3).reshape(b, t, d)

        def reference(x, Wq, Wk, Wv):
            b, t, d = x.shape
            q, k, v = ((x @ W).reshape(b, t, 2, d // 2).transpose(0, 2, 1, 3)
                       for W in (Wq, Wk, Wv))
            s = q @ k.transpose(0, 1, 3, 2)/np.sqrt(d // 2)
            s = np.where(np.tri(t, dtype=bool), s, -1e9)
            e = np.exp(s - s.max(-1, keepdims=True))
            return (e/e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(b, t, d)
        f = neoc.function(attention)
        W = [floats(6, 6) for _ in range(3)]
        for b, t in ((2, 4), (3, 5), (1, 7)):
            x = floats(b, t, 6)
            np.testing.assert_allclose(f(x, *W), reference(x, *W), rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    unittest.main()
