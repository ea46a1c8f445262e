"""Traced functions give what numpy gives for the same code, element by element."""
import inspect
import unittest

import numpy as np

import neoc

r = np.random.default_rng(7)


def floats(*shape):
    return r.standard_normal(shape).astype(np.float32)


def both(test, functions, *arrays, rtol=2e-5, atol=2e-5):
    """All functions in one trace, each against numpy."""
    traced = neoc.function(lambda *xs: [f(*xs) for f in functions])
    found = traced(*arrays)
    with np.errstate(all="ignore"):
        wanted = [f(*arrays) for f in functions]
    for f, a, b in zip(functions, found, wanted):
        with test.subTest(line=f.__code__.co_firstlineno):
            b = np.asarray(b)
            test.assertEqual(np.shape(a), b.shape)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)


def same_types(test, functions, *arrays):
    """As both, and the types are those of numpy."""
    found = neoc.function(lambda *xs: [f(*xs) for f in functions])(*arrays)
    for f, a in zip(functions, found):
        b = np.asarray(f(*arrays))
        with test.subTest(line=f.__code__.co_firstlineno):
            test.assertEqual(np.asarray(a).dtype, b.dtype)
            np.testing.assert_allclose(a, b, rtol=1e-6)


class Elements(unittest.TestCase):
    def test_arithmetic_of_floats(self):
        both(self, [
            lambda x, y: x + y, lambda x, y: x - 2, lambda x, y: 3*x*y, lambda x, y: x/y,
            lambda x, y: 1/(2 + x*x), lambda x, y: x // y, lambda x, y: x % y,
            lambda x, y: x // 0.7, lambda x, y: x % -0.7, lambda x, y: -x, lambda x, y: +x,
            lambda x, y: abs(x), lambda x, y: x**2, lambda x, y: abs(x)**y, lambda x, y: 2.0**x,
            lambda x, y: abs(x)**0.5, lambda x, y: (2 + x*x)**-2, lambda x, y: np.fmod(x, y),
            lambda x, y: divmod(x, y)[0], lambda x, y: x - (y - x), lambda x, y: x/(y*x)*y,
            lambda x, y: -(x**2), lambda x, y: (-x)**2, lambda x, y: x*(-y) - -3.0,
        ], floats(3, 4), floats(3, 4))

    def test_floor_division_by_zero_and_infinity(self):
        x = np.array([1, -1, 0, 5.5, -5.5, np.inf], np.float32)
        y = np.array([0, 0, 0, np.inf, np.inf, 2], np.float32)
        found = neoc.function(lambda x, y: (x // y, x % y))(x, y)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found[0], x // y)
            np.testing.assert_array_equal(found[1], x % y)

    def test_functions(self):
        names = ("exp expm1 sin cos tan tanh floor ceil rint sign square exp2 sinh cosh "
                 "trunc reciprocal isnan isinf isfinite").split()
        both(self, [(lambda f: lambda x: f(x))(getattr(np, n)) for n in names], floats(3, 5))
        names = "sqrt log log1p log2 log10".split()
        both(self, [(lambda f: lambda x: f(x))(getattr(np, n)) for n in names],
             abs(floats(3, 5)) + 0.1)

    def test_functions_of_two(self):
        both(self, [lambda x, y: np.maximum(x, y), lambda x, y: np.minimum(x, 0.1),
                    lambda x, y: np.logaddexp(x, y), lambda x, y: np.hypot(x, y),
                    lambda x, y: np.where(x > y, x, 2), lambda x, y: np.clip(x, -0.5, 0.5),
                    lambda x, y: np.round(x, 1), lambda x, y: np.nan_to_num(x/(y > 0))],
             floats(3, 4), floats(4))

    def test_comparisons_and_booleans(self):
        both(self, [lambda x, y: x > y, lambda x, y: (x > 0) & (y > 0), lambda x, y: ~(x > y),
                    lambda x, y: (x > 0) | (y < 0), lambda x, y: (x > 0) ^ (y < 0),
                    lambda x, y: np.logical_and(x > 0, y > 0), lambda x, y: np.logical_not(x > 0),
                    lambda x, y: x == x, lambda x, y: x != y, lambda x, y: (x > 0) == (y > 0),
                    lambda x, y: (x > 0)*x, lambda x, y: (x > 0) + (y > 0),
                    lambda x, y: (x > 0)*(y > 0)],
             floats(3, 4), floats(3, 4))

    def test_integers(self):
        i, j = np.array([7, -7, 3, 0], np.int32), np.array([2, 3, -2, 5], np.int32)
        same_types(self, [lambda i, j: i + j, lambda i, j: i*j - 3, lambda i, j: i // j,
                          lambda i, j: i % j, lambda i, j: i**3, lambda i, j: abs(i),
                          lambda i, j: np.maximum(i, j), lambda i, j: i > j,
                          lambda i, j: i.astype(np.float32), lambda i, j: -i], i, j)
        both(self, [lambda i, j: i/j, lambda i, j: i*0.5, lambda i, j: np.sqrt(abs(i)),
                    lambda i, j: i.mean(), lambda i, j: i.sum(), lambda i, j: (i > 0).sum(),
                    lambda i, j: i.prod(), lambda i, j: (i > 0).mean()], i, j)

    def test_types_of_sums_are_those_of_numpy(self):
        i = np.array([100, 100, 100], np.int8)
        same_types(self, [lambda i: i.sum(), lambda i: i.mean(), lambda i: (i > 0).sum(),
                          lambda i: i/2, lambda i: i.cumsum(0), lambda i: i*2.0,
                          lambda i: i.astype(np.int64) + i], i)

    def test_doubles(self):
        x = r.standard_normal((3, 4))
        same_types(self, [lambda x: np.exp(x)*0.1, lambda x: x.mean(0), lambda x: x @ x.T,
                          lambda x: np.where(x > 0, x, 0.1), lambda x: x.std()], x)

    def test_halves_are_rounded_once(self):
        x = floats(5).astype(np.float16)
        found = neoc.function(lambda x: (x*x + x).sum())(x)
        self.assertEqual(found.dtype, np.float16)
        np.testing.assert_allclose(found, (x.astype(np.float32)**2 + x).sum(), rtol=5e-3)


class Indexing(unittest.TestCase):
    def test_slices(self):
        both(self, [lambda x: x[1], lambda x: x[-1, 2:], lambda x: x[..., ::-1],
                    lambda x: x[::2, 1::3], lambda x: x[:, None, -3:-1], lambda x: x[3:1],
                    lambda x: x[::-2, ::-1], lambda x: x[1:][:, 1:][0],
                    lambda x: x[None, ..., None],
                    lambda x: x[-100:100], lambda x: x[4:0:-2], lambda x: x[()], lambda x: x[2, 3]],
             floats(5, 6))

    def test_integers_gather(self):
        x, i, j = floats(5, 6, 2), np.array([[0, -1], [4, 2]], np.int32), np.array([1, -2],
            np.int64)
        both(self, [lambda x, i, j: x[i], lambda x, i, j: x[:, j], lambda x, i, j: x[i, j],
                    lambda x, i, j: x[i, :, 0], lambda x, i, j: x[:, j, 1], lambda x, i, j: x[1, j],
                    lambda x, i, j: x[j, :, j], lambda x, i, j: x[i, 1:3],
                    lambda x, i, j: x[j][:, ::-1], lambda x, i, j: x[np.array([3, -1])],
                    lambda x, i, j: x[[0, 2]], lambda x, i, j: x[None, j],
                    lambda x, i, j: np.take(x, i, 0), lambda x, i, j: x[i, ..., j]],
             x, i, j)

    def test_positions_that_are_computed(self):
        x = floats(5, 6)
        both(self, [lambda x: x[np.arange(5), x.argmax(1)], lambda x: x[:, x.argmin(0)[2] % 6],
                    lambda x: x[np.arange(5)[::-1]], lambda x: np.take_along_axis(
                        x, np.argsort(x, 1), 1),
                    lambda x: x[np.clip((x[:, 0]*3).astype(np.int32), 0, 4)],
                    lambda x: x[(x[:, 0]*9).astype(np.int32) % 5]], x)

    def test_at_is_what_assignment_does(self):
        x, v = floats(5, 6), floats(6)
        i = np.array([1, 3, 1, -1], np.int32)
        w = floats(4, 6)

        def numpy_at(key, value, op="set"):
            def f(x, v, i, w):
                y = x.copy()
                if op == "set":
                    y[key(i)] = value(v, w)
                elif op == "add":
                    np.add.at(y, key(i), value(v, w))
                elif op == "multiply":
                    np.multiply.at(y, key(i), value(v, w))
                else:
                    np.maximum.at(y, key(i), value(v, w))
                return y
            return f

        rows = [(lambda i: (2,), lambda v, w: v, "set"),
                (lambda i: (slice(1, 4), -1), lambda v, w: 7.0, "set"),
                (lambda i: (slice(None, None, 2), slice(4, None, -2)), lambda v, w: v[:3], "set"),
                (lambda i: (slice(None), slice(1, 3)), lambda v, w: v[:2], "add"),
                (lambda i: (i,), lambda v, w: w, "set"), (lambda i: (i,), lambda v, w: w, "add"),
                (lambda i: (i,), lambda v, w: w, "multiply"), (lambda i: (i,),
                lambda v, w: w, "max"),
                (lambda i: (i, slice(0, 6, 2)), lambda v, w: w[:, :3], "add"),
                (lambda i: (i, 2), lambda v, w: w[:, 0], "set"),
                (lambda i: (slice(None), i), lambda v, w: w[:, :5].T, "set")]
        traced = neoc.function(lambda x, v, i, w: [
            getattr(x.at[key(i)], op)(value(v, w)) for key, value, op in rows])(x, v, i, w)
        for (key, value, op), found in zip(rows, traced):
            with self.subTest(op=op):
                np.testing.assert_allclose(found, numpy_at(key, value, op)(x, v, i, w), rtol=1e-6)

    def test_indices_of_small_types_wrap_as_numpys(self):
        def u8(*values):
            return np.array(values, np.uint8)
        table, i, j = np.arange(300.0), u8(0, 250), u8(1, 251)
        both(self, [lambda a, i, j: a[i % 3 - j % 3], lambda a, i, j: a[(i % 20)*20],
                    lambda a, i, j: a[-(j % 3)], lambda a, i, j: a[i + 10], lambda a, i, j: a[i*2],
                    lambda a, i, j: a[i], lambda a, i, j: a[i // 2 + j], lambda a, i, j: a[j[0]],
                    lambda a, i, j: a[:256][(i % 16)**2], lambda a, i, j: a[:9][i // 50]],
             table, i, j)
        both(self, [lambda a, i: a[i], lambda a, i: a[:128][i], lambda a, i: a[:101][i],
                    lambda a, i: a[i % 100 + 90], lambda a, i: a[abs(i)]], table,
             np.array([-100, 99, 3], np.int8))
        both(self, [lambda a, i: a[i.astype("int32") + 1], lambda a, i: a[i.astype("int64") // 2]],
             table, np.array([-3, 290], np.int64))

    def test_an_index_out_of_bounds_is_told_at_the_call(self):
        f = neoc.function(lambda x, i: x[i])
        with self.assertRaises(IndexError):
            f(floats(5), np.array([1, 5], np.int32))


class Shapes(unittest.TestCase):
    def test_transposes_and_reshapes(self):
        both(self, [lambda x: x.T, lambda x: x.transpose(1, 0, 2), lambda x: x.reshape(6, -1),
                    lambda x: x.reshape(-1), lambda x: x.reshape(4, 3, 2),
                    lambda x: x.reshape(8, 3),
                    lambda x: x.reshape(2, 2, 2, 3).transpose(3, 1, 0, 2).reshape(6, 4),
                    lambda x: x.swapaxes(0, 2), lambda x: np.moveaxis(x, 0, -1),
                    lambda x: np.expand_dims(x, (0, 3)), lambda x: x[:, :1].squeeze(1),
                    lambda x: x.ravel()[::-1].reshape(x.shape), lambda x: x.reshape(2, 1, 4, 3),
                    lambda x: np.broadcast_to(x[0], (5, 4, 3)), lambda x: np.flip(x, 1),
                    lambda x: np.roll(x, 2, 1), lambda x: np.roll(x, -5),
                    lambda x: x.reshape(3, 8).T
                    ], floats(2, 4, 3))

    def test_joining_and_splitting(self):
        both(self, [lambda x, y: np.concatenate([x, y]), lambda x, y: np.concatenate([x[:2], y], 0),
                    lambda x, y: np.stack([x[:2], y]), lambda x, y: np.stack([x[:2], y], -1),
                    lambda x, y: np.vstack([x, y]), lambda x, y: np.hstack([x[:2], y]),
                    lambda x, y: np.split(x, 3, 1)[1], lambda x, y: np.split(x, [1, 2])[1],
                    lambda x, y: np.tile(y, (2, 3)), lambda x, y: np.repeat(y, 2, 1),
                    lambda x, y: np.pad(x, ((1, 0), (2, 1))), lambda x, y: np.pad(y, 1, "edge"),
                    lambda x, y: np.pad(x, 2, "reflect"), lambda x, y: np.pad(x, 2, mode="wrap"),
                    lambda x, y: np.diff(x, axis=0), lambda x, y: np.concatenate([x, y], None),
                    lambda x, y: np.pad(x, 1, constant_values=3.0)],
             floats(4, 6), floats(2, 6))

    def test_broadcasting(self):
        both(self, [lambda x, y: x + y, lambda x, y: x*y[:, None], lambda x, y: (x - y)/y,
                    lambda x, y: x + x[0, 0], lambda x, y: x[:, :1]*y, lambda x, y: y + x[:1],
                    lambda x, y: np.where(x[:1] > y, x, y)],
             floats(3, 3), floats(3))

    def test_triangles_and_diagonals(self):
        both(self, [lambda x: np.tril(x), lambda x: np.triu(x), lambda x: np.tril(x, 1),
                    lambda x: np.triu(x, -1), lambda x: np.diag(x), lambda x: np.diag(x[0]),
                    lambda x: np.diag(x[0], 1), lambda x: np.trace(x), lambda x: x.trace(),
                    lambda x: x*np.eye(4, dtype=np.float32), lambda x: np.diagonal(x, 1)],
             floats(4, 4))

    def test_parameters_have_the_names_and_places_of_numpy(self):
        both(self, [lambda x: np.roll(x, (1, 2), (0, 1)), lambda x: np.roll(x, 1, (0, 1)),
                    lambda x: np.roll(x, (1, -3), 1), lambda x: np.roll(x, (1, 2)),
                    lambda x: np.clip(x, a_min=0, a_max=None), lambda x: np.clip(x, 0, 1, None),
                    lambda x: np.clip(a=x, a_min=-1, a_max=1),
                    lambda x: np.swapaxes(x, axis1=0, axis2=1),
                    lambda x: np.split(ary=x, indices_or_sections=2, axis=1)[1],
                    lambda x: np.pad(array=x, pad_width=1), lambda x: np.full_like(x, fill_value=3),
                    lambda x: np.ones_like(x, shape=(2, 2)),
                    lambda x: np.repeat(x, repeats=2, axis=0),
                    lambda x: np.diff(x, prepend=0, axis=0), lambda x: np.diff(x, append=x[:, :1]),
                    lambda x: np.diff(x, 2, 1, x[:, :1], 7), lambda x: np.trace(x, 1),
                    lambda x: np.diagonal(x.reshape(2, 2, 4), axis1=1, axis2=2),
                    lambda x: np.trace(x.reshape(2, 2, 4), 0, 2, 0), lambda x: x.trace(-1),
                    lambda x: np.take_along_axis(x, np.zeros((4, 1), np.int32), axis=1),
                    lambda x: np.reshape(x, (2, 8), order="C"), lambda x: np.round(x, 1, None),
                    lambda x: np.argmax(x, 1, None, keepdims=True),
                    lambda x: np.cumsum(x, 0, None, None)],
             floats(4, 4))

    def test_what_a_function_does_not_take_is_refused_by_its_name(self):
        x = floats(4, 4)
        for word, f in (
                ("order", lambda x: np.reshape(x, (2, 8), order="F")),
                ("order", lambda x: np.ravel(x, "F")),
                ("out", lambda x: np.sum(x, out=np.empty(()))),
                ("out", lambda x: np.max(x, 0, np.empty(4))),
                ("copy", lambda x: np.nan_to_num(x, False)),
                ("stat_length", lambda x: np.pad(x, 1, "maximum", stat_length=2)),
                ("dtype", lambda x: np.stack([x, x], dtype=np.float64)),
                ("where", lambda x: np.exp(x, where=np.ones((4, 4), bool))),
                ("ord", lambda x: np.linalg.norm(x, 2)), ("mode", lambda x: np.linalg.qr(x, "r")),
                ("arys", lambda x: np.atleast_1d(x, x))):
            with self.subTest(word), self.assertRaisesRegex(neoc.Unsupported, rf"\b{word}\b"):
                neoc.function(f)(x)

    def test_defaults_are_those_of_numpy(self):
        from neoc.trace import functions, make, numpy_protocol, numpy_words
        nothing = getattr(np, "_NoValue", None)
        for name in neoc.names.NUMPY:
            theirs = getattr(np, name, None)
            if theirs is None or isinstance(theirs, np.ufunc):
                continue
            own = numpy_protocol.RENAMED.get(name, name)
            ours = inspect.signature(getattr(functions, own, None) or getattr(make, own))
            try:
                rows = inspect.signature(theirs).parameters.values()
            except ValueError:
                continue  # a function in C of an old numpy
            for p in rows:
                if p.name in numpy_words.WITHOUT_EFFECT:
                    continue
                q = ours.parameters.get(numpy_words._own_word(own, p.name))
                same = p.default in (None, nothing) or p.default is p.empty
                if q is None or p.name == "dtype" or same:
                    continue
                self.assertEqual(q.default, p.default, f"{name}({p.name})")

    def test_empty_tensors(self):
        both(self, [lambda x: x.sum(), lambda x: x*2, lambda x: x.sum(0), lambda x: x.T,
                    lambda x: np.concatenate([x, x]), lambda x: x.prod(1)], floats(0, 3))


class Reductions(unittest.TestCase):
    def test_over_axes(self):
        both(self, [(lambda n, a, k: lambda x: getattr(x, n)(axis=a, keepdims=k))(n, a, k)
                    for n in ("sum", "mean", "max", "min", "prod", "var", "std")
                    for a, k in ((None, False), (0, False), ((0, 2), True), (-1, True))],
             floats(3, 4, 2))

    def test_of_numpy(self):
        m = np.array([[True, False, True, True]]*3)
        both(self, [lambda x: np.sum(x, 1), lambda x: np.add.reduce(x), lambda x: np.any(x > 2),
                    lambda x: np.all(x > -9, 0), lambda x: x.argmax(), lambda x: x.argmin(1),
                    lambda x: np.argmax(x, 0), lambda x: x.cumsum(1), lambda x: np.cumprod(x, 0),
                    lambda x: x.cumsum(), lambda x: x.std(0, ddof=1), lambda x: np.ptp(x, 0),
                    lambda x: np.count_nonzero(x > 0), lambda x: np.sum(x, where=m),
                    lambda x: np.mean(x, axis=1, where=m), lambda x: np.maximum.reduce(x, axis=1)],
             floats(3, 4))

    def test_reductions_that_begin_with_a_number_or_leave_elements_out(self):
        m = np.array([[True, False, True, True], [False]*4, [True, True, False, False]])
        both(self, [lambda x: np.max(x, 1, initial=0.5), lambda x: np.min(x, initial=-9),
                    lambda x: np.max(x, 1, initial=-5, where=m),
                    lambda x: x.min(0, initial=9.0, where=m),
                    lambda x: np.sum(x, 0, initial=2), lambda x: np.prod(x, 1, initial=3.5),
                    lambda x: np.sum(x, 1, None, None, True), lambda x: np.max(x, 0, None, True),
                    lambda x: np.add.reduce(x, 1, initial=4, where=m),
                    lambda x: np.any(x > 0, 1, where=m), lambda x: np.all(x > 0, 0, where=m),
                    lambda x: np.max(x > 0, 1, where=m, initial=False),
                    lambda x: np.min(x > 0, 1, initial=False),
                    lambda x: np.max(x[:, :0], 1, initial=1.5),
                    lambda x: np.std(x, 0, where=m | (m.sum(0) == 0)),
                    lambda x: np.var(x[::2], 1, ddof=1, where=m[::2], keepdims=True),
                    lambda x: np.std(x, 1, None, None, 1), lambda x: np.var(x, ddof=2),
                    lambda x: np.var(x, 0, ddof=4), lambda x: np.var(x, 1, ddof=3, where=m)],
             floats(3, 4))

    def test_averages_have_weights(self):
        v, w = np.array([1, 2, 0.5, 4], np.float32), floats(3, 4)**2 + 1
        both(self, [lambda x: np.average(x), lambda x: np.average(x, 1, v),
                    lambda x: np.average(x, weights=w), lambda x: np.average(x, 0, w),
                    lambda x: np.average(x, 1, v, True)[1],
                    lambda x: np.average(x, returned=True)[1],
                    lambda x: np.average(x, 0, weights=np.array([1, 2, 4], np.float32),
                                         keepdims=True)], floats(3, 4))
        both(self, [lambda x: np.average(x, 1, np.array([1, 2, 3, 4], np.int32))],
             np.arange(12, dtype=np.int32).reshape(3, 4))

    def test_nan_wins(self):
        x = np.array([1, np.nan, 3], np.float32)
        both(self, [lambda x: x.max(), lambda x: x.min(), lambda x: x.argmax()], x)


class Products(unittest.TestCase):
    def test_matmul_of_all_ranks(self):
        a, b, v = floats(2, 3, 4), floats(4, 5), floats(4)
        both(self, [lambda a, b, v: a @ b, lambda a, b, v: a @ v, lambda a, b, v: v @ b,
                    lambda a, b, v: v @ v, lambda a, b, v: a @ a.transpose(0, 2, 1),
                    lambda a, b, v: np.dot(a[0], b), lambda a, b, v: np.outer(v, v),
                    lambda a, b, v: np.tensordot(a, b, 1), lambda a, b, v: np.inner(v, b.T),
                    lambda a, b, v: a[:, None] @ b, lambda a, b, v: np.kron(a[0], b),
                    lambda a, b, v: np.vdot(b, b), lambda a, b, v: np.dot(a, b)], a, b, v)

    def test_einsum(self):
        a, b = floats(2, 3, 4), floats(2, 4, 3)
        both(self, [lambda a, b: np.einsum("bij,bjk->bik", a, b),
            lambda a, b: np.einsum("bij->b", a),
                    lambda a, b: np.einsum("...ij,...jk", a, b),
                    lambda a, b: np.einsum("ijk->kji", a),
                    lambda a, b: np.einsum("ii", a[0, :, :3]),
                    lambda a, b: np.einsum("ij,kj", a[0], a[1]),
                    lambda a, b: np.einsum("bij,bjk,bkl->il", a, b, a),
                    lambda a, b: np.einsum("i...,i...->...", a, a)], a, b)

    def test_linear_algebra_of_numpy(self):
        a, b = floats(3, 3), floats(3, 2)
        both(self, [lambda a, b: np.linalg.solve(a, b), lambda a, b: np.linalg.inv(a),
                    lambda a, b: np.linalg.det(a), lambda a, b: np.linalg.norm(b),
                    lambda a, b: np.linalg.norm(b, axis=1),
                    lambda a, b: np.linalg.solve(a, b[:, 0]),
                    lambda a, b: np.linalg.cholesky(a @ a.T + np.eye(3, dtype=np.float32))],
             a, b, rtol=2e-3, atol=1e-4)

    def test_sorting(self):
        both(self, [lambda x: np.sort(x), lambda x: np.sort(x, 0), lambda x: np.argsort(x),
                    lambda x: np.sort(x, None)], floats(3, 5))


class Making(unittest.TestCase):
    def test_constants(self):
        pairs = [(lambda m: m.zeros((2, 3)), np.float32), (lambda m: m.ones(3), np.float32),
                 (lambda m: m.full((2,), 0.5), np.float32), (lambda m: m.arange(5), np.int32),
                 (lambda m: m.arange(2, 9, 3), np.int32), (lambda m: m.arange(5, 0, -2), np.int32),
                 (lambda m: m.arange(0.0, 1.0, 0.25), np.float32), (lambda m: m.eye(3), np.float32),
                 (lambda m: m.eye(2, 4, k=1), np.float32), (lambda m: m.tri(3), np.float32),
                 (lambda m: m.linspace(0, 1, 5), np.float32)]
        found = neoc.function(lambda: [f(neoc) for f, _ in pairs])()
        for (f, dtype), a in zip(pairs, found):
            self.assertEqual(a.dtype, dtype)
            np.testing.assert_allclose(a, f(np), rtol=1e-6)

    def test_constants_of_other_types(self):
        f = neoc.function(lambda x: (np.zeros_like(x), neoc.full((2,), 3, np.int64), x + 1,
                                     neoc.ones(2, np.float64)*0.1, neoc.full_like(x, -0.5),
                                     neoc.zeros(2, np.bool_), neoc.where(x > 0, 1, 0),
                                     neoc.where(x > 0, float("nan"), x), neoc.ones(3,
                                         np.int8).sum()))
        x = np.array([1.0, -1.0])
        a, b, c, d, e, g, h, k, n = f(x)
        self.assertEqual([v.dtype for v in (a, b, c, d, e, g, k)],
                         [np.float64, np.int64, np.float64, np.float64, np.float64, np.bool_,
                          np.float64])
        np.testing.assert_array_equal(b, [3, 3])
        np.testing.assert_array_equal(d, [0.1, 0.1])
        np.testing.assert_array_equal(h, [1, 0])
        np.testing.assert_array_equal(k, [np.nan, -1])
        self.assertEqual(n, 3)

    def test_large_constants_are_given_at_each_call(self):
        big = floats(40, 50)
        f = neoc.function(lambda x: (x*big).sum())
        np.testing.assert_allclose(f(np.float32(2)), 2*big.sum(dtype=np.float64), rtol=1e-4)
        self.assertIn("input big", f.text())
        self.assertIn("const", neoc.function(lambda x: x + floats(3)).text((3,)))

    def test_random_numbers(self):
        f = neoc.function(lambda: (neoc.random((1000,)), neoc.normal((1000,))))
        (u, n), (u2, _) = f(), f()
        self.assertTrue(((0 <= u) & (u < 1)).all())
        self.assertLess(abs(u.mean() - 0.5), 0.05)
        self.assertLess(abs(n.std() - 1), 0.15)
        self.assertFalse((u == u2).all())


if __name__ == "__main__":
    unittest.main()
