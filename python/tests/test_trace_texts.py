"""Traced functions become text as a person would write it; the texts are stored here."""
import collections
import dataclasses
import os
import tempfile
import unittest

import numpy as np

import neoc


def text(f, *shapes, **options):
    return neoc.function(f, **options).text(*shapes)


class Texts(unittest.TestCase):
    maxDiff = None

    def is_text(self, found, wanted):
        self.assertEqual(found, "\n".join(line[8:] for line in wanted.strip("\n").split("\n")[:-1])
                         + "\n")

    def test_a_network_has_the_names_of_variables_and_no_line_too_many(self):
        def net(x, W, b, V):
            h = np.tanh(x @ W + b)
            logits = h @ V
            p = np.exp(logits - logits.max(-1, keepdims=True))
            return p/p.sum(-1, keepdims=True)
        self.is_text(text(net, (5, 4), (4, 3), (3,), (3, 2)), """
        input x[5, 4]
        input W[4, 3]
        input b[3]
        input V[3, 2]
        h[i, j] = tanh(sum[k] x[i, k] * W[k, j] + b[j])
        logits[i, j] = sum[k] h[i, k] * V[k, j]
        t1[i, j < 1] = max[k] logits[i, k]
        p[i, j] = exp(logits[i, j] - t1[i, 0])
        t2[i, j < 1] = sum[k] p[i, k]
        y[i, j] = p[i, j] / t2[i, 0]
        output y
        """)

    def test_gradients_are_requests(self):
        def loss(W, x, y):
            return ((x @ W - y)**2).mean()

        def step(W, x, y):
            value, dW = neoc.value_and_grad(loss)(W, x, y)
            return W - 0.1*dW, value
        self.is_text(text(step, (4, 3), (8, 4), (8, 3)), """
        input W[4, 3]
        input x[8, 4]
        input y[8, 3]
        value = mean[i, k] (sum[j] x[i, j] * W[j, k] - y[i, k])^2
        dW = grad(value, W)
        y0[i, j] = W[i, j] - 0.1 * dW[i, j]
        output y0, value
        """)

    def test_views_of_views_are_one_read(self):
        def f(x):
            return x.reshape(4, 3).T[::-1, 1:].reshape(9) + x.reshape(2, 6).reshape(12)[2:11]
        self.is_text(text(f, (12,)), """
        input x[12]
        y[i < 9] = x[3*(i % 3) - (i/3) + 5] + x[i + 2]
        output y
        """)

    def test_heads_of_attention_are_read_where_they_are(self):
        def f(x):
            q = x.reshape(2, 5, 4, 8).transpose(0, 2, 1, 3)
            return q @ q.transpose(0, 1, 3, 2)
        self.is_text(text(f, (2, 5, 32)), """
        input x[2, 5, 32]
        y[i, j < 4, k, l] = sum[m < 8] x[i, k, 8*j + m] * x[i, l, 8*j + m]
        output y
        """)

    def test_sizes_of_the_run(self):
        def f(x, y):
            return {"all": np.concatenate([x, y]).sum(), "n": x.shape[0]*1.0, "half": x[::2]}
        self.is_text(text(f, (6, 3), (4, 3), sizes="dynamic"), """
        dim N <= 32
        dim M <= 16
        dim L <= 16
        input x[N, M]
        input y[L, M]
        all2 = sum[i < N + L, j] select(i < N, x[i, j], y[i - N, j])
        half[i < (N + 1)/2, j] = x[2*i, j]
        n = f32(f64(N)*1)
        output all2, half, n
        """)

    def test_scans(self):
        def step(h, x):
            h = np.tanh(0.5*h + x)
            return h, 2*h
        self.is_text(text(lambda xs: neoc.scan(step, neoc.zeros(4), xs, reverse=True), (10, 4)), """
        input xs[10, 4]
        h, ys = scan t < 10 down from h[i < 4] = 0 {
          h2[i] = tanh(0.5*h[i] + xs[t, i])
          t1[i] = 2*h2[i]
          next h = h2
          collect t1
        }
        output h, ys
        """)

    def test_trees_of_arguments_and_results(self):
        Pair = collections.namedtuple("Pair", "left right")

        @dataclasses.dataclass
        class Box:
            W: object
            rest: list

        def f(box, pair):
            return Box(box.W*pair.left, [pair.right, None, {"s": box.rest[0].sum()}])
        self.is_text(text(f, Box((2, 3), [(4,)]), Pair((3,), (2,))), """
        input W[2, 3]
        input rest_0[4]
        input left[3]
        input right[2]
        W2[i, j] = W[i, j] * left[j]
        s = sum[i] rest_0[i]
        y1 = right
        output W2, y1, s
        """)

    def test_save_writes_what_neoc_compiles(self):
        f = neoc.function(lambda x: x*2 + 1)
        f(np.zeros(3, np.float32))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.expr")
            f.save(path)
            m = neoc.load(path)
            np.testing.assert_array_equal(m.forward(np.ones(3, np.float32)), [3, 3, 3])

    def test_names_that_the_language_has_not(self):
        def f(state, π, sum):
            pi = state + π
            return pi*sum
        self.is_text(text(f, (2,), (2,), (2,)), """
        input state2[2]
        input pi2[2]
        input sum2[2]
        pi3[i] = state2[i] + pi2[i]
        y[i] = pi3[i]*sum2[i]
        output y
        """)


if __name__ == "__main__":
    unittest.main()
