"""Random programs of views, elements, reductions and products give what numpy gives."""
import os
import unittest

import numpy as np

import neoc


class Program:
    """A random program over two arrays: each step is drawn from what the shapes allow."""

    def __init__(self, seed):
        self.r = np.random.default_rng(seed)
        self.steps = []

    def shape_of(self, x):
        return tuple(int(n) for n in x.shape)

    def draw(self, values):
        """A step as a function of the values so far, or None where it does not fit."""
        r = self.r
        k = int(r.integers(len(values)))
        x = values[k]
        kind = int(r.integers(15))
        rank = x.ndim
        axis = int(r.integers(rank)) if rank else 0
        if kind == 0:
            return lambda v: np.tanh(v[k])*0.5 + v[k]
        if kind == 1 and rank:
            order = [int(a) for a in r.permutation(rank)]
            return lambda v: v[k].transpose(*order)
        if kind == 2 and rank:
            n = x.shape[axis]
            a, b = int(r.integers(-n - 1, n + 2)), int(r.integers(-n - 1, n + 2))
            step = int(r.choice([-2, -1, 1, 2, 3]))
            if len(range(*slice(a, b, step).indices(n))) == 0:
                return None
            return lambda v: v[k][(slice(None),)*axis + (slice(a, b, step),)]
        if kind == 3 and rank and x.size > 1:
            shape = self.factors(x.size)
            return lambda v: v[k].reshape(shape)
        if kind == 4 and rank:
            name = str(r.choice(["sum", "max", "min", "mean"]))
            keep = bool(r.integers(2))
            return lambda v: getattr(v[k], name)(axis=axis, keepdims=keep)
        if kind == 5:
            j = int(r.integers(len(values)))
            try:
                np.broadcast_shapes(x.shape, values[j].shape)
            except ValueError:
                return None
            sign = int(r.integers(4))
            return lambda v: (v[k] + v[j], v[k]*v[j], v[k] - 0.5*v[j],
                              np.where(v[k] > v[j], v[k], v[j]))[sign]
        if kind == 6 and rank and x.shape[axis]:
            i = r.integers(-x.shape[axis], x.shape[axis], size=int(r.integers(1, 4)))
            return lambda v: v[k][(slice(None),)*axis + (i,)]
        if kind == 7 and rank:
            return lambda v: np.concatenate([v[k], v[k]*2], axis)
        if kind == 8 and rank >= 2:
            return lambda v: v[k] @ v[k].swapaxes(-1, -2)*0.1
        if kind == 9 and rank:
            by = int(r.integers(-4, 5))
            return lambda v: np.roll(v[k], by, axis)
        if kind == 10 and rank:
            pairs = [(int(a), int(b)) for a, b in r.integers(0, 3, (rank, 2))]
            return lambda v: np.pad(v[k], pairs)
        if kind == 11 and rank < 4:
            return lambda v: np.expand_dims(v[k], axis)
        if kind == 12 and rank:
            return lambda v: v[k].cumsum(axis)*0.3
        if kind == 13 and rank and x.shape[axis] > 1:
            at = int(r.integers(x.shape[axis]))

            def put(v):
                key = (slice(None),)*axis + (at,)
                if isinstance(v[k], np.ndarray):
                    y = v[k].copy()
                    y[key] = 7
                    return y
                return v[k].at[key].set(7)
            return put
        if kind == 14 and rank:
            def best(v):
                i = v[k].argmax(axis)
                return np.take_along_axis(v[k], np.expand_dims(i, axis), axis)
            return best
        return None

    def factors(self, size):
        shape = []
        while size > 1 and len(shape) < 3:
            divisors = [d for d in range(1, size + 1) if size % d == 0]
            d = int(self.r.choice(divisors))
            shape.append(d)
            size //= d
        return tuple(shape + [size])

    def build(self, arrays, count):
        values = list(arrays)
        while len(self.steps) < count:
            step = self.draw(values)
            if step is None:
                continue
            y = np.asarray(step(values))
            if y.size > 3000 or y.ndim > 5 or not np.isfinite(y).all() or abs(y).max() > 1e4:
                continue
            self.steps.append(step)
            values.append(y)
        return values

    def __call__(self, *arrays):
        values = list(arrays)
        for step in self.steps:
            values.append(step(values))
        return values[len(arrays):]


class Random(unittest.TestCase):
    def one(self, seed, sizes):
        r = np.random.default_rng(seed + 1000)
        arrays = [r.standard_normal((3, 4)), r.standard_normal((2, 3, 4))]
        program = Program(seed)
        wanted = program.build(arrays, 9)[2:]
        f = neoc.function(program, sizes=sizes)
        for found, value in zip(f(*arrays), wanted):
            np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9,
                                       err_msg=f"seed {seed}\n{f.text()}")
        return f

    def test_values(self):
        for seed in range(int(os.environ.get("NEO_TRACE_PROGRAMS", "24"))):
            with self.subTest(seed=seed):
                self.one(seed, "fixed")

    def test_values_of_sizes_of_the_run(self):
        for seed in range(int(os.environ.get("NEO_TRACE_PROGRAMS", "24")) // 2):
            with self.subTest(seed=seed):
                f = self.one(seed, "dynamic")
                for m, n, b in ((4, 4, 2), (3, 3, 1), (5, 6, 3)):
                    self.of_other_sizes(f, seed, m, n, b)

    def of_other_sizes(self, f, seed, m, n, b):
        """The same function at other sizes, where numpy can compute it there."""
        r = np.random.default_rng(seed)
        arrays = [r.standard_normal((m, n)), r.standard_normal((b, m, n))]
        try:
            wanted = f.f(*arrays)
        except (ValueError, IndexError):
            return
        for found, value in zip(f(*arrays), wanted):
            np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9,
                                       err_msg=f"seed {seed}, sizes {m}, {n}, {b}\n{f.text()}")

    def test_gradients(self):
        for seed in range(int(os.environ.get("NEO_TRACE_PROGRAMS", "24")) // 2):
            with self.subTest(seed=seed):
                r = np.random.default_rng(seed + 1000)
                arrays = [r.standard_normal((3, 4)), r.standard_normal((2, 3, 4))]
                program = Program(seed)
                values = program.build(arrays, 7)[2:]
                weights = [r.standard_normal(v.shape) for v in values]

                def loss(*xs):
                    return sum((np.sin(y)*w).sum() for y, w in zip(program(*xs), weights))
                g = neoc.function(neoc.grad(loss, (0, 1)))(*arrays)
                d = [r.standard_normal(a.shape) for a in arrays]
                ends = [float(loss(*[a + s*b for a, b in zip(arrays, d)])) for s in (1e-6, -1e-6)]
                np.testing.assert_allclose(sum((a*b).sum() for a, b in zip(g, d)),
                                           (ends[0] - ends[1])/2e-6, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
