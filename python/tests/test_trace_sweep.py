"""numpy's functions and indices at shapes that change: each is numpy's at every shape, and is not
compiled for each of them.

A row is an expression of a, b (floats), i, j (positions), m (booleans); its group says their
shapes by n and k. `xp` makes arrays: numpy, or neoc where the expression is traced.
"""
import unittest
import warnings

import numpy as np

import neoc

AUTO = ((4, 3), (6, 3), (5, 7), (9, 8), (1, 1), (0, 3), (40, 2))
DYNAMIC = ((5, 3), (6, 4), (2, 7), (3, 0))

ELEMENTS = [f"np.{f}(a)" for f in """absolute ceil cosh exp expm1 fix floor isfinite isnan log1p
negative reciprocal rint sign sinh sqrt square tanh trunc nan_to_num round""".split()]
PAIRS = [f"np.{f}(a, b)" for f in """add divide equal fmod greater hypot less_equal logaddexp
maximum mod multiply power subtract floor_divide""".split()]
REDUCTIONS = [f"np.{f}(a{how})" for f in "sum prod max min mean var std ptp any all argmax argmin"
              .split() for how in ("", ", axis=0", ", axis=-1")]
ALONG = [f"np.{f}(a, axis={axis})" for f in "cumsum cumprod sort argsort".split()
         for axis in (None, 0, 1)]

ROWS = {
    "a=P(n, k)": ELEMENTS + REDUCTIONS + ALONG,
    "a=P(n, k) b=P(n, k)": PAIRS + ["np.vdot(a, b)", "np.stack([a, b], 1)", "np.tensordot(a, b, 2)",
                                    "np.stack([a, b], -1)", "np.inner(a, b)"],
    "a=P(n, k) b=P(k)": PAIRS[:3] + ["np.broadcast_arrays(a, b)[1]", "np.outer(a, b)", "a @ b"],
    "a=P(n, k) b=P(n, 1)": PAIRS[-2:],
    "a=F(n, k) m=B(n, k)": ["np.where(m, a, 0)", "np.sum(a, where=m)", "np.where(~m, a, -a)"],
    "a=F(n, k)": """np.var(a, axis=0, ddof=1); np.std(a, ddof=2); np.sum(a, axis=(0, 1))
        a.T.ravel()
        np.mean(a, axis=0, keepdims=True); np.diff(a, axis=0); np.diff(a, n=2, axis=1); np.flip(a)
        np.broadcast_to(a, (3,) + a.shape); np.clip(a, -0.5, 0.5); np.diag(a); np.diag(a, 1)
        np.diag(a, -2); np.trace(a); np.diagonal(a); np.expand_dims(a, 1); np.flip(a, 0)
        np.full_like(a, 2.5); np.zeros_like(a); np.roll(a, 2); np.roll(a, -3, 1); np.ravel(a)
        np.reshape(a, (-1,)); np.reshape(a, (a.shape[1], -1)) if a.shape[1] else a; np.tile(a, 2)
        np.tile(a, (2, 1, 3)); np.repeat(a, 3); np.repeat(a, 2, 1); np.tril(a, -1); np.triu(a, 1)
        np.kron(a, a); a[1:]; a[:-1]; a[::2]; a[::-2]; a[1:5:2]; a[-3:]; a[:3]; a[:, None]
        a.ravel()[::2]; a.ravel()[1:]; a.ravel()[::-1]; a.ravel()[:-1]; a[:a.shape[0] // 2]
        a[a.shape[0] // 2:]; a + xp.arange(0, 2*a.shape[1], 2); np.add.reduce(a, 0)
        a[xp.arange(a.shape[0])]; a[xp.arange(a.shape[0] // 2)*2]; a[-xp.arange(a.shape[0])]
        a[xp.arange(a.shape[0] - 1, -1, -1)]; np.take_along_axis(a, np.argsort(a, 0), 0)
        a*xp.linspace(0, 1, a.shape[0], dtype='float64')[:, None]; np.pad(a, 1)
        a.ravel()[a.argmax()]
        np.linalg.norm(a, axis=1)""",
    "a=F(n + 3, k + 2)": """a[0]; a[-1]; a[2, 1]; a[..., 1]; a[-2, 0]; a.ravel()[3]; a.ravel()[-2]
        a.T.ravel()[3]; a.ravel()[1:4]; a.ravel()[-3:]; a.ravel()[5:1:-1]; np.take(a, 3)
        np.take(a, -2); np.take(a, 1, 0); np.take(a, -1, 1); np.take(a, [0, 2, 1], 0)
        np.take(a, [0, -2, 1], 1); a[xp.arange(2)]; a[[0, 1]]; a[np.array([0, -2, 1])]
        a[:, [0, 1]][1]; a[a.shape[0] // 2]; np.split(a, [1, 2])[2]; a[1, a[0].argmax()]
        np.pad(a, ((2, 1), (0, 1)), mode='edge'); np.pad(a, 2, mode='reflect')
        np.pad(a, ((1, 2), (1, 0)), mode='wrap'); a[np.argsort(a[:, 0])[:2]]""",
    "a=F(n + 2, k + 2, 2)": """a.ravel()[5]; a.reshape(-1, 2)[3]; a.transpose(2, 0, 1).ravel()[7]
        np.diagonal(a); np.moveaxis(a, 0, -1); np.swapaxes(a, 0, 2); a.sum((0, 2)); a.max(1)
        a.reshape(2, -1); a.reshape(a.shape[0]*a.shape[1], 2); np.einsum('...i,i->...', a, a[0, 0])
        np.split(a, 2, 2)[1]; np.squeeze(a[:, :1], 1); a.swapaxes(1, 2)
        np.cumsum(a); a.ravel()[1::3]""",
    "a=F(n)": """np.diag(a); np.diag(a, -1); np.kron(a, a); np.outer(a, a); a[np.argsort(a)]
        a[np.argsort(a) // 2]; a[a.shape[0] - 1 - np.argsort(a)]; np.vstack([a, a])
        np.atleast_2d(a); np.roll(a, a.shape[0] // 2); np.hstack([a, a, a])""",
    "a=F(n + 4)": """a[np.argsort(a) % 3]; a[np.argsort(a)[0]]; a[(np.argsort(a) + 1) // 3]
        a[abs(np.argsort(a) - 1)]; a[np.minimum(np.argsort(a), 2)]; a[np.argmax(a) - 1]""",
    "a=F(2*n, k)": "np.split(a, 2)[1]; a.reshape(2, -1); a.reshape(2, -1)[0]",
    "a=F(n, k) b=F(k, n)": """a @ b; np.dot(a, b); np.einsum('ij,ji->i', a, b)
        np.tensordot(a, b, 1)""",
    "a=F(n, k) b=F(n + 1, k)": "np.concatenate([a, b]); np.concatenate([a, b], None)",
    "a=F(n) b=F(k)": """np.concatenate([a, b, a]); np.kron(a, b); a[:, None]*b
        np.multiply.outer(a, b)""",
    "a=F(n + 4, k) i=I(99, 5)": """a[i % 4]; a[i % 2 + 1]; a[i**2 % 3]; a[(i % 3)*2 - 1]
        a[-(i % 4)]
        a[np.where(i > 5, i % 4, 0)]; a[np.where(i > 5, i % 4, i % a.shape[0])]; a[np.sign(i) + 1]
        a[np.clip(i, 0, 2)]; a[np.maximum(i % 4, i % 3)]; a[i % 4, :1]; a[(i > 3).astype('int32')]
        a[np.concatenate([i % 3, i % 4])]; a[i % 2 + i % 3]; a[i % -3]; a[i % 6 // 2]; a[i[0] % 4]
        np.take(a, i, 0, mode='wrap'); np.take(a, i, 0, mode='clip'); np.take(a, i, mode='wrap')
        a[i % a.shape[0]]; a[np.clip(i - 3, 0, a.shape[0] - 1)]; a[abs(i % 7 - 3)]""",
    "a=F(n + 1, k + 1) i=I(n + 1, 5) j=I(k + 1, 5)": """a[i]; a[i, j]; a[:, j]; a[i][:, j]
        a[i[:, None], j]; a[-i]; np.take(a, i, 0); np.take(a, j, 1); a[:, 0][i]; a[i, :1]
        np.take_along_axis(a, i[None, :], 0) if a.shape[1] == 5 else a""",
    "a=F(n + 3, k) b=F(n) i=I(2*n, 5) j=I(n, 3)": """a[i // 2]; a[-i // 2]; a[i // 2 + 1]; a[2 - j]
        a[np.concatenate([j, i // 2])]; a[np.stack([j, j + 3])]; b[j] + a[j + 1, :1].sum()
        a[a.shape[0] - 1 - j]; a[(j - 1)*1 + 2]""",
    "a=F(n + 1, k + 1, 2) i=I(2*(n + 1)*(k + 1), 4)": """a.ravel()[i]; np.take(a, i)
        a.ravel()[-i - 1]""",
    "a=S(n)": "np.linalg.inv(a); np.linalg.solve(a, a); np.linalg.det(a); np.einsum('ii->i', a)",
}


def drawn(spec, n, k, rng):
    """The arguments that a group's names say."""
    made = {"F": lambda *s: rng.standard_normal(s), "P": lambda *s: rng.random(s) + 0.5,
            "B": lambda *s: rng.random(s) > 0.5, "S": lambda n: rng.random((n, n)) + n*np.eye(n),
            "I": lambda end, *s: rng.integers(0, max(end, 1), s).astype(np.int32)}
    names = dict(n=n, k=k, **made)
    return [eval(part.split("=")[1], names) for part in spec.replace(", ", ",").replace(
        " + ", "+").split()]


def rows():
    for spec, group in ROWS.items():
        names = ", ".join(part.split("=")[0] for part in spec.split() if "=" in part)
        parts = group if isinstance(group, list) else group.replace("\n", ";").split(";")
        for text in filter(None, map(str.strip, parts)):
            yield text, spec, f"lambda {names}: {text}"


class Sweep(unittest.TestCase):
    def row(self, text, spec, f, mode, shapes):
        run = eval(f, {"np": np, "xp": np})
        traced = neoc.function(eval(f, {"np": np, "xp": neoc}), sizes=mode)
        for n, k in shapes:
            values = drawn(spec, n, k, np.random.default_rng(n + 100*k))
            try:
                wanted = np.asarray(run(*values))
            except (ValueError, IndexError):
                self.assertRaises((ValueError, IndexError), traced, *values)
                continue
            found = np.asarray(traced(*values))
            self.assertEqual(found.shape, wanted.shape, (text, mode, n, k))
            np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-6,
                                       atol=1e-8, err_msg=f"{text} {mode} {n} {k}")
        self.assertFalse(any(g.only_fixed for g in traced.groups.values()), text)
        return traced.cache_info().compiled

    def test_results_are_those_of_numpy_at_shapes_that_change(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for text, spec, f in rows():
                with self.subTest(text):
                    self.assertLessEqual(self.row(text, spec, f, "auto", AUTO), 6)

    def test_and_where_all_sizes_are_of_the_run(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for text, spec, f in rows():
                with self.subTest(text):
                    self.assertLessEqual(self.row(text, spec, f, "dynamic", DYNAMIC), 3)


if __name__ == "__main__":
    unittest.main()
