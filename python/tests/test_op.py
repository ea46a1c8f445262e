"""Operators: calls, arguments, results, errors."""

import copy
import inspect
import os
import pickle
import tempfile
import unittest
import warnings

import neoc
import numpy as np

MM = "C[i, j] = sum[k] A[i, k]*B[k, j]"


class Calls(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(1)
        self.a, self.b = rng.standard_normal((3, 4)), rng.standard_normal((4, 5))
        self.mm = neoc.op(MM)

    def same(self, got, wanted, **options):
        np.testing.assert_allclose(got, wanted, rtol=1e-6, **options)

    def test_integers_have_the_bounds_that_a_function_asks_for(self):
        f = neoc.op("y = nn.cross_entropy(L, t)")
        l, t = np.zeros((4, 3), "float32"), np.array([0, 1, 2, 0], "int32")
        self.assertAlmostEqual(float(f(l, t)), float(np.log(3)), places=6)
        self.assertRaises(neoc.RangeError, f, l, t + 1)

    def test_arguments_are_given_by_position_and_by_name(self):
        wanted = self.a @ self.b
        self.same(self.mm(self.a, self.b), wanted)
        self.same(self.mm(B=self.b, A=self.a), wanted)
        self.same(self.mm(self.a, B=self.b), wanted)

    def test_args_are_the_order_of_arguments_by_position(self):
        text = "O[i, d] = s*(sum[k] V[k, d]*exp(Q[i, k]))"
        q, v = np.random.default_rng(3).random((2, 4, 4))
        f = neoc.op(text, args=("Q", "V", "s"))
        self.assertEqual(f.arguments, ("Q", "V", "s"))
        self.same(f(q, v, 2.0), 2*np.exp(q) @ v)
        self.same(pickle.loads(pickle.dumps(f))(q, v, 2.0), 2*np.exp(q) @ v)
        seed = np.ones((4, 4))
        slow = neoc.op(text).vjp()(Q=q, V=v, s=2.0, d_O=seed)
        fast = f.vjp()(q, v, 2.0, seed)
        self.same(fast[0], slow[2])
        self.same(fast[1], slow[1])
        self.same(f.vmap((0, None, None))(np.stack([q, q]), v, 1.0)[1], np.exp(q) @ v)
        loss = neoc.op("y = sum[i] b[i]*a[i]^2", args=("a", "b"))
        self.same(loss.grad()(q[0], v[0]), 2*q[0]*v[0])
        for bad in (("Q", "V"), ("Q", "V", "s", "V"), ("Q", "V", "s", "w"), ()):
            with self.assertRaisesRegex(neoc.ArgumentError, "args"):
                neoc.op(text, args=bad)

    def test_a_size_may_stand_between_arrays_in_args(self):
        f = neoc.op("y[i < N] = s*(sum[k < 2] x[i + k])", args=("N", "x", "s"))
        x = np.arange(4.0)
        self.same(f(2, x, 3.0), [3, 9])
        self.same(f.vmap((0, None))(2, np.stack([x, x]), 3.0), [[3, 9], [3, 9]])
        self.same(f.vjp("x")(2, x, 1.0, np.ones(2)), [1, 2, 1, 0])

    def attention(self):
        f = neoc.op("""input Q[S, C]
input K[T, C]     # as many columns as Q
input V[T, D]
p[i, j] = exp((sum[c] Q[i, c]*K[j, c])/sqrt(f64(C)))
O[i, d] = (sum[j] p[i, j]*V[j, d])/(sum[j] p[i, j])""")
        rng = np.random.default_rng(4)
        given = [rng.random(shape) for shape in ((3, 4), (5, 4), (5, 2))]

        def wanted(q, k, v):
            p = np.exp(q @ k.T/2)
            return p/p.sum(1, keepdims=True) @ v
        return f, given, wanted

    def test_declared_inputs_name_sizes_and_come_in_their_order(self):
        f, (q, k, v), wanted = self.attention()
        self.assertEqual(f.signature, "(Q[S, C], K[T, C], V[T, D]) -> O[i, d]")
        self.same(f(q, k, v), wanted(q, k, v))
        self.same(pickle.loads(pickle.dumps(f))(q, k, v), wanted(q, k, v))
        self.same(neoc.op(f.text())(q, k, v), wanted(q, k, v))
        self.assertLess(f.verify(q, k, v), 1e-9)

    def test_derived_operators_keep_the_sizes_of_declared_inputs(self):
        f, (q, k, v), wanted = self.attention()
        many, values = np.stack([q, 2*q]), np.stack([v, v + 1])
        b = f.vmap((0, None, 0))
        self.same(b(many, k, values)[1], wanted(2*q, k, v + 1))
        self.same(b.vmap((1, None, None))(np.stack([many, many], 1), k, values)[1],
                  b(many, k, values))
        self.same(neoc.op(b.text(), out="O")(many, k, values), b(many, k, values))
        seeds = np.ones((2, 3, 2))
        dq, dk, dv = b.vjp()(many, k, values, seeds)
        self.same(dq[1], f.vjp()(2*q, k, v + 1, seeds[1])[0])
        self.same(f.vjp().vmap((0, None, 0, 0))(many, k, values, seeds)[2], dv)

    def test_declared_inputs_of_other_shapes_are_refused(self):
        f, (q, k, v), _ = self.attention()
        for args, text in (((q, k[:, :3], v), r"K: dim 1 of K\[T, C\] is 3, that of Q is 4"),
                           ((q, k, v[:4]), r"V: dim 0 of V\[T, D\] is 4, that of K is 5"),
                           ((q, k, 3), "V: expected 2 dimensions"),
                           ((q[0], k, v), "Q: expected 2 dimensions")):
            with self.assertRaisesRegex(neoc.ShapeError, text):
                f(*args)
        with self.assertRaisesRegex(neoc.ShapeError, "that of the text is 3"):
            neoc.op("input x[3]\ny[i] = x[i]")(np.ones(4))
        with self.assertRaisesRegex(neoc.RangeError, r"not in \[0, 4\)"):
            neoc.op("input k[N] : i32 < M\ninput X[M]\ny[i] = X[k[i]]")(
                np.array([0, 5], "i"), np.ones(4))
        with self.assertRaises(neoc.DTypeError):
            neoc.op("input x[N] : f32\ny[i] = x[i]/f32(N)")(np.ones(4))
        for text in ("input x[2*N]\ny[i] = x[i]", "input x[N]\ninput x[M]\ny[i] = x[i]",
                     "input x = 3\ny = x"):
            self.assertRaises(neoc.CompileError, neoc.op, text)

    def test_other_shapes_and_types_are_compiled_when_they_come(self):
        for shape in ((2, 3, 4), (1, 1, 1), (7, 5, 2)):
            m, k, n = shape
            for kind in ("float64", "float32"):
                a, b = np.ones((m, k), kind), np.ones((k, n), kind)
                got = self.mm(a, b)
                self.assertEqual(got.dtype, kind)
                self.same(got, a @ b)
        self.assertEqual(self.mm._variants, 6)
        self.mm(np.ones((2, 3)), np.ones((3, 4)))
        self.assertEqual(self.mm._variants, 6)

    def test_every_type_of_elements_is_computed_in(self):
        double = neoc.op("y[i] = 2*x[i]")
        for kind in ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "q"):
            x = np.arange(5).astype(kind)
            got = double(x)
            self.assertEqual(got.dtype, x.dtype)
            self.same(got, 2*x)
        self.same(neoc.op("y[i] = not x[i]")(np.array([True, False])), [False, True])

    def test_bfloat16_is_a_type_where_ml_dtypes_is_installed(self):
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("ml_dtypes is not installed")
        x = np.arange(5).astype(ml_dtypes.bfloat16)
        got = neoc.op("y[i] = 2*x[i]")(x)
        self.assertEqual(got.dtype, x.dtype)
        self.same(got.astype("f"), 2*np.arange(5))

    def test_nan_and_infinity_come_through(self):
        x = np.array([np.nan, np.inf, -np.inf, 1.0])
        self.same(neoc.op("y[i] = 2*x[i]")(x), 2*x)
        self.assertTrue(np.isnan(neoc.op("y = max[i] x[i]")(x)))

    def test_strided_foreign_and_read_only_arrays_are_taken(self):
        a, b, wanted = self.a, self.b, self.a @ self.b
        self.same(self.mm(np.asfortranarray(a), b), wanted)
        self.same(self.mm(a.astype(">f8"), b), wanted)
        self.same(self.mm(np.repeat(a, 2, axis=1)[:, ::2], b), wanted)
        self.same(self.mm(a[::-1], b), wanted[::-1])
        self.same(self.mm(a.tolist(), b), wanted)
        self.same(self.mm(np.broadcast_to(1.0, (3, 4)), b), np.ones((3, 4)) @ b)
        read_only = a.copy()
        read_only.flags.writeable = False
        self.same(self.mm(read_only, b), wanted)
        unaligned = np.frombuffer(b"x" + a.tobytes(), "u1")[1:].view("f8").reshape(3, 4)
        self.same(self.mm(unaligned, b), wanted)

    def test_subclasses_of_arrays_are_read_as_arrays(self):
        with tempfile.NamedTemporaryFile() as file:
            mapped = np.memmap(file.name, dtype="f8", mode="w+", shape=(3, 4))
            mapped[:] = self.a
            self.same(self.mm(mapped, self.b), self.a @ self.b)

    def test_empty_arrays_have_empty_or_zero_results(self):
        self.assertEqual(self.mm(np.zeros((0, 4)), np.zeros((4, 3))).shape, (0, 3))
        self.same(self.mm(np.zeros((2, 0)), np.zeros((0, 3))), np.zeros((2, 3)))

    def test_scalars_are_numbers_of_python_and_arrays_without_dimensions(self):
        f = neoc.op("y = a*b + c")
        self.assertEqual(f(2.0, 3.0, 1.0), 7)
        self.assertEqual(f(np.float32(2), 3.0, 1).dtype, np.float32)
        self.assertEqual(f(np.array(2.0, "f"), 3, 1), 7)
        self.assertEqual(f(2, 3, 4), 10)
        self.assertEqual(f(2, 3, 4).dtype, np.int64)
        self.same(neoc.op("y[i] = a*x[i]")(x=np.ones(3, "f"), a=2), [2, 2, 2])

    def test_numbers_have_the_type_of_what_they_meet(self):
        scale = neoc.op("y[i] = a*x[i]")
        for kind in ("int8", "int32", "int64", "uint8", "float32", "float16"):
            got = scale(a=2, x=np.arange(3).astype(kind))
            self.assertEqual(got.dtype, kind)
            self.same(got, [0, 2, 4])
        both = neoc.op("y[i] = a*x[i]\nz[i] = b*w[i]")
        y, z = both(a=2, x=np.ones(2), b=0.5, w=np.ones(2, "f"))
        self.assertEqual((y.dtype, z.dtype), (np.float64, np.float32))
        with self.assertRaises(neoc.DTypeError):
            scale(a=0.5, x=np.arange(3))

    def test_a_result_is_written_to_out(self):
        out = np.empty((3, 5))
        self.assertIs(self.mm(self.a, self.b, out=out), out)
        self.same(out, self.a @ self.b)
        wide = np.zeros((3, 10))
        self.mm(self.a, self.b, out=wide[:, ::2])
        self.same(wide[:, ::2], self.a @ self.b)
        self.same(wide[:, 1::2], np.zeros((3, 5)))

    def test_out_may_overlap_an_argument(self):
        a, b = np.random.default_rng(0).random((2, 8, 8))
        wanted = a @ b
        self.assertIs(self.mm(a, b, out=a), a)
        self.same(a, wanted)
        x = np.arange(6.0)
        neoc.op("y[i] = x[i]")(x[:-1], out=x[1:])
        self.same(x, [0, 0, 1, 2, 3, 4])

    def test_several_results_are_a_tuple_in_the_order_of_out(self):
        f = neoc.op("m[i] = mean[j] x[i, j]\nv[i] = mean[j] (x[i, j] - m[i])^2", out=("v", "m"))
        v, m = f(self.a)
        self.same(v, self.a.var(1))
        self.same(m, self.a.mean(1))
        outs = np.empty(3), np.empty(3)
        self.assertIs(f(self.a, out=outs)[1], outs[1])
        self.same(outs[0], v)

    def test_a_line_output_names_the_results(self):
        f = neoc.op("y[i] = x[i]  # one\nz[i] = 2*x[i]; w[i] = y[i]\noutput z,\n  y  # both\n"
                    "v = sum[i] w[i]")
        x = np.arange(3.0)
        self.assertEqual(f.results, ("z", "y"))
        for made, wanted in zip(f(x), (2*x, x)):
            self.same(made, wanted)
        with self.assertRaisesRegex(neoc.ArgumentError, "has a line 'output y'"):
            neoc.op("y[i] = x[i]\noutput y", out="y")
        with self.assertRaisesRegex(neoc.ArgumentError, "does not define 'z'"):
            neoc.op("y[i] = x[i]\noutput z")
        self.assertRaises(ValueError, neoc.op, "y[i] = x[i]\noutput y, y")

    def test_a_line_dim_derives_sizes_of_declared_inputs(self):
        f = neoc.op("input x[N, D]\ndim F = 2*D\ninput a[F]\ny[i] = sum[k] a[k]*x[i, k/2]")
        x, a = np.ones((2, 3)), np.arange(6.0)
        self.same(f(x, a), [15, 15])
        self.same(f.vmap()(np.stack([x, 2*x]), np.stack([a, a])), [[15, 15], [30, 30]])
        self.same(f.vmap((None, 0))(x, np.stack([a, a])), [[15, 15], [15, 15]])
        self.same(f.vjp()(x, a, np.ones(2))[1], [2]*6)
        self.same(neoc.op(f.text())(x, a), [15, 15])
        self.same(neoc.op(f.vmap().text())(np.stack([x]), np.stack([a])), [[15, 15]])
        for wrong in (f, f.vjp()):
            with self.assertRaisesRegex(neoc.ShapeError, r"a: dim 0 of a\[F\] is 5, which is not F"):
                wrong(x, a[:5], *([np.ones(2)] if wrong is not f else []))
        # A size of a function's is its own.
        g = neoc.op("input x[F]\nfn f(x[B]) -> y {\ndim F = 2*B\ny[i < F] = x[i/2]\n}\nz = f(x)")
        self.same(g(np.arange(2.0)), [0, 0, 1, 1])

    def test_there_may_be_many_arguments_and_results(self):
        f = neoc.op("y[i] = " + " + ".join(f"a{k}[i]" for k in range(40)))
        rows = {f"a{k}": np.full(3, float(k)) for k in range(40)}
        self.same(f(**rows), [780]*3)
        self.assertEqual(len(f.vjp()(*rows.values(), np.ones(3))), 40)
        g = neoc.op("\n".join(f"y{k}[i] = {k}*x[i]" for k in range(30)))
        self.same(np.array(g(np.ones(2))), np.arange(30)[:, None] + np.zeros(2))

    def test_sizes_are_numbers_of_the_call(self):
        window = neoc.op("y[i < N] = sum[k < K] x[i + k]")
        self.assertEqual(window.arguments, ("x", "N", "K"))
        self.same(window(np.arange(6.0), N=4, K=3), [3, 6, 9, 12])
        self.same(window(np.arange(6.0), np.int32(5), 2), [1, 3, 5, 7, 9])

    def test_static_arguments_are_known_to_the_text(self):
        f = neoc.op("y[..] = x[..]*a", static="a")
        self.same(f(np.arange(3.0), 0.5), [0, 0.5, 1])
        self.same(f(np.arange(3.0), 1e-8), [0, 1e-8, 2e-8])
        with self.assertRaises(TypeError):
            f(np.arange(3.0), np.ones(3))

    def test_functions_of_the_library_are_called_without_an_import(self):
        got = neoc.op("y = nn.softmax(x)")(np.zeros((2, 4), "f"))
        self.same(got, np.full((2, 4), 0.25))

    def test_index_arrays_are_checked_against_what_they_subscript(self):
        take = neoc.op("y[i] = X[k[i]]")
        self.same(take(X=np.arange(5.0), k=np.array([4, 0])), [4, 0])
        with self.assertRaisesRegex(neoc.RangeError, r"k\[1\]: value 5 is not in \[0, 5\)"):
            take(X=np.arange(5.0), k=np.array([0, 5]))
        both = neoc.op("y[i] = X[k[i]] + (Z[k[i]] else 7)")
        self.same(both(X=np.zeros(5), k=np.array([4, 0]), Z=np.ones(2)), [7, 1])
        batch = take.vmap((0, None))
        self.same(batch(X=np.arange(10.0).reshape(2, 5), k=np.array([4, 3])), [[4, 3], [9, 8]])
        self.assertRaises(neoc.RangeError, batch, X=np.ones((9, 5)), k=np.array([5]))
        self.same(take.vmap((0, 0))(X=np.arange(10.0).reshape(2, 5), k=np.array([[4], [3]])),
                  [[4], [8]])
        guarded = neoc.op("y[i] = (X[k[i]] else 7)")
        self.same(guarded(X=np.arange(5.0), k=np.array([0, -1, 9])), [0, 7, 7])

    def test_types_are_asked_for_and_may_have_bounds(self):
        f = neoc.op("y[i] = x[i]", types={"x": "float32"})
        with self.assertRaisesRegex(neoc.DTypeError, "x: expected float32"):
            f(np.ones(3))
        g = neoc.op("y[i] = x[i]", types={"x": "i32 < 4"})
        self.assertRaises(neoc.RangeError, g, np.array([4], "int32"))
        h = neoc.op("y[i] = (x[k[i]] else 0)", types={"k": "-1 <= i32 < 3"})
        self.same(h(np.array([1.0, 2.0, 3.0]), np.array([-1, 2, 0], "int32")), [0, 3, 1])
        for k in -2, 3:
            self.assertRaises(neoc.RangeError, h, np.ones(3), np.array([k], "int32"))
        for word in "i32 <", "<= i32 < 3", "-1 <= i32", "i32 <= 3":
            with self.assertRaisesRegex(neoc.errors.ArgumentError, "types"):
                neoc.op("y[i] = x[i]", types={"x": word})


class Errors(unittest.TestCase):
    def setUp(self):
        self.mm = neoc.op(MM)

    def test_shapes_that_do_not_fit_name_the_arguments(self):
        with self.assertRaises(neoc.ShapeError) as caught:
            self.mm(np.ones((3, 4)), np.ones((5, 2)))
        text = str(caught.exception)
        self.assertIn("index 'k' has two extents: 4 (A, dimension 1) and 5 (B, dimension 0)", text)
        self.assertIn("op:1:23", text)
        self.assertIsInstance(caught.exception, ValueError)
        self.assertEqual(caught.exception.diagnostics[0].code, "E0203")

    def test_a_wrong_rank_is_told_with_the_text_s_subscripts(self):
        with self.assertRaisesRegex(neoc.ShapeError, r"A: expected 2 dimensions \(A\[i, k\]\)"):
            self.mm(np.ones(3), np.ones((3, 3)))

    def test_there_are_at_most_16_dimensions(self):
        f = neoc.op("y[..] = 2*x[..]")
        self.assertEqual(f(np.ones((1, 2)*8)).shape, (1, 2)*8)
        self.assertRaisesRegex(neoc.ShapeError, "at most 16", f, np.ones((1,)*17))

    def test_types_that_differ_are_told_in_the_words_of_numpy(self):
        with self.assertRaises(neoc.DTypeError) as caught:
            self.mm(np.ones((3, 4)), np.ones((4, 5), "f"))
        self.assertIn("A is float64 of shape (3, 4); B is float32", str(caught.exception))
        self.assertIn('B.astype("float64")', str(caught.exception))
        self.assertIsInstance(caught.exception, TypeError)

    def test_types_that_the_language_lacks_are_refused(self):
        for bad in (np.ones((4, 5), complex), np.ones((4, 5), "uint16"), None, "text", object()):
            with self.assertRaisesRegex(neoc.DTypeError, "^B: "):
                self.mm(np.ones((3, 4)), bad)

    def test_a_masked_array_is_refused(self):
        masked = np.ma.masked_array(np.ones((3, 4)), np.eye(3, 4))
        with self.assertRaisesRegex(neoc.DTypeError, "masked"):
            self.mm(masked, np.ones((4, 5)))

    def test_wrong_arguments_are_a_type_error(self):
        a, b = np.ones((3, 4)), np.ones((4, 5))
        for args, named, text in (((a,), {}, "needs the argument 'B'"),
                                  ((a, b, b), {}, "takes 2 arguments, 3 were given"),
                                  ((a, b), {"D": 1}, "unexpected argument 'D'"),
                                  ((a, b), {"A": a}, "two values for the argument 'A'")):
            with self.assertRaisesRegex(TypeError, text):
                self.mm(*args, **named)

    def test_a_call_that_does_not_fit_says_what_the_operator_takes(self):
        takes = r"it takes \(A\[i, k\], B\[k, j\]\) -> C\[i, j\]"
        a = np.ones((3, 4))
        for args, named in (((a,), {}), ((a, a, a), {}), ((a, a), {"D": 1}), ((a,), {"A": a})):
            with self.assertRaisesRegex(TypeError, takes):
                self.mm(*args, **named)
        with self.assertRaisesRegex(TypeError, "did you mean 'B'"):
            self.mm(a, b=a)
        with self.assertRaisesRegex(TypeError, takes):
            self.mm.compile((3, 4))

    def test_an_index_that_nothing_binds_is_told_where_it_is_missed(self):
        a, b, x = np.ones((3, 4)), np.ones((4, 5)), np.ones(3)
        for text, args, name in (("C[i, j] = A[i, k]*B[k, j]", (a, b), "k"),
                                 ("y = mean[i] x[i] - m[i]", (x, x), "i"),
                                 ("s[q, k] = sum[d] Q[q, d]*K[j, d]", (a, a), "j"),
                                 ("y[i] = 2*x[I]", (x,), "I")):
            with self.assertRaisesRegex(TypeError, rf"'{name}' is bound by no index: write sum"):
                neoc.op(text)(*args)
            derived = neoc.op(text).vmap().jvp()
            with self.assertRaisesRegex(TypeError, rf"'{name}' is bound by no index: write sum"):
                derived(*args)
        with self.assertRaisesRegex(TypeError, r"'n'; it takes \(x\[i\], n\) -> y\[i\]$"):
            neoc.op("y[i] = x[i]*n")(x)

    def test_a_number_for_an_index_that_nothing_binds_is_not_told_to_be_clamped(self):
        f = neoc.op("C[i, j] = A[i, k]*B[k, j]")
        with self.assertRaises(neoc.CompileError) as caught:
            f(np.ones((3, 4)), 2, np.ones((4, 5)))
        first = caught.exception.diagnostics[0]
        self.assertEqual(first.code, "E0207")
        self.assertIn("write sum[k] ...", first.help)
        self.assertIn('static="k"', first.help)
        self.assertNotIn("clamp", str(caught.exception))
        batches = f.vmap((0, None, None)).vmap((0, None, None))
        with self.assertRaisesRegex(neoc.CompileError, r"write sum\[k\] \.\.\."):
            batches(np.ones((2, 2, 3, 4)), 2, np.ones((4, 5)))
        bounded = neoc.op("C[i, j] = A[i, k]*B[k, j]", types={"k": "i64 < 4"})
        np.testing.assert_allclose(bounded(np.ones((3, 4)), 2, np.ones((4, 5))), 1)

    def test_an_array_for_a_name_without_subscripts_is_told_to_be_read_by_some(self):
        with self.assertRaisesRegex(neoc.ShapeError, r"write b\[i\]"):
            neoc.op("y[i] = W[i]*b")(np.ones(3), np.ones(3))

    def test_names_near_to_those_of_the_library_are_proposed(self):
        for text, wanted in (("y = sofmax(x)", "did you mean 'softmax'"),
                             ("y = nn.sofmax(x)", "did you mean 'softmax'"),
                             ("y[..] = nn.sofmax(x)", "did you mean 'softmax'"),
                             ("y[i] = nn.softmax(x[i])", "give 'x' without subscripts")):
            with self.assertRaisesRegex(neoc.NeoError, wanted):
                neoc.op(text)(np.ones(3))
        with self.assertRaisesRegex(AttributeError, "did you mean 'softmax'"):
            neoc.nn.sofmax
        with self.assertRaisesRegex(TypeError, "it takes lr, beta1"):
            neoc.optim.adam(learning_rate=1)

    def test_an_out_that_does_not_fit_is_refused(self):
        a, b = np.ones((3, 4)), np.ones((4, 5))
        self.assertRaises(neoc.DTypeError, self.mm, a, b, out=np.empty((3, 5), "f"))
        self.assertRaises(neoc.ShapeError, self.mm, a, b, out=np.empty((3, 4)))
        self.assertRaises(neoc.DTypeError, self.mm, a, b, out=[1])
        frozen = np.empty((3, 5))
        frozen.flags.writeable = False
        self.assertRaises(ValueError, self.mm, a, b, out=frozen)

    def test_a_text_that_is_wrong_has_diagnostics(self):
        with self.assertRaises(neoc.CompileError) as caught:
            neoc.op("C[i] = A[i")
        d = caught.exception.diagnostics[0]
        self.assertEqual((d.code, d.line, d.column), ("E0004", 1, 9))

    def test_lines_of_messages_are_those_of_the_text(self):
        f = neoc.op("y[i] = x[i]\nz[i] = y[i] + foo(x[i])")
        with self.assertRaises(neoc.CompileError) as caught:
            f(np.ones(3))
        self.assertEqual(caught.exception.diagnostics[0].line, 2)

    def test_what_belongs_to_a_model_is_told(self):
        for text in ("input a = 3\nC = a", "C[i] = A[i]\noutput f: C",
                     "C[i] = A[i]\noutput C\noutput C", "param W[3] = 0\nC = W"):
            with self.assertRaisesRegex(neoc.CompileError, "neoc.compile"):
                neoc.op(text)

    def test_warnings_of_the_compiler_are_warnings_of_python(self):
        # Floor of the quotient of two sizes, which a float may not be meant to have.
        text = "y[i] = x[i]*f32(N/M)"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            neoc.op(text, static=("N", "M"))(np.ones(3, "f"), 5, 2)
            neoc.compile("dim N <= 9\ninput x[N]\ny = f32(N/2)*sum[i] x[i]\noutput y")
            self.assertEqual([w.category for w in caught][-1:], [neoc.CompileWarning])
            self.assertIn("W0314", str(caught[-1].message))
            self.assertEqual({w.filename for w in caught}, {__file__})
            del caught[:]
            neoc.op("a[i] = x[i]\nb[i] = 2*x[i]", out="b")(np.ones(3))  # unused is no matter
            self.assertEqual(caught, [])

    def test_names_of_options_must_be_in_the_text(self):
        for options in ({"out": "q"}, {"static": "q"}, {"types": {"q": "f32"}}):
            with self.assertRaisesRegex(neoc.NeoError, "'q'"):
                neoc.op("y[i] = x[i]", **options)

    def test_numbers_out_of_a_type_are_a_range_error(self):
        f = neoc.op("y[i] = x[i] + a", types={"a": "i8"})
        self.assertRaises(neoc.RangeError, f, np.ones(3, "int8"), 300)


class Looks(unittest.TestCase):
    def test_an_operator_shows_its_signature(self):
        mm = neoc.op(MM)
        self.assertEqual(repr(mm), "<neoc.Op (A[i, k], B[k, j]) -> C[i, j]>")
        self.assertEqual(list(inspect.signature(mm).parameters), ["A", "B", "out"])
        self.assertEqual((mm.arguments, mm.results), (("A", "B"), ("C",)))

    def test_the_text_is_shown_for_shapes(self):
        self.assertEqual(neoc.op(MM).text((2, 3), "f64[3, 4]"),
                         f"input A[2, 3] : f32\ninput B[3, 4] : f64\n{MM}\noutput C\n")

    def test_an_operator_is_compiled_for_shapes_before_it_is_called(self):
        mm = neoc.op(MM).compile("f64[3, 4]", np.empty((4, 5)))
        self.assertEqual(mm._variants, 1)
        mm(np.ones((3, 4)), np.ones((4, 5)))
        self.assertEqual(mm._variants, 1)
        mm.compile((2, 2), (2, 2))
        self.assertIn("input A[2, 2]", mm._last_module().text)
        mm.compile("f64[3, 4]", "f64[4, 5]")
        self.assertIn("input A[3, 4]", mm._last_module().text)

    def test_copies_and_pickles_compute_the_same(self):
        for f in (neoc.op(MM), neoc.op(MM).vjp()):
            for other in (copy.copy(f), copy.deepcopy(f), pickle.loads(pickle.dumps(f))):
                self.assertEqual(repr(other), repr(f))
        again = pickle.loads(pickle.dumps(neoc.op(MM)))
        np.testing.assert_allclose(again(np.ones((2, 3)), np.ones((3, 2))), np.full((2, 2), 3))

    def test_a_saved_text_makes_the_operator_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mm.expr")
            neoc.op(MM).save(path)
            with open(path) as file:
                self.assertEqual(repr(neoc.op(file.read())), repr(neoc.op(MM)))

    def test_emit_writes_a_header_and_an_object(self):
        with tempfile.TemporaryDirectory() as folder:
            neoc.op(MM).emit(folder, (2, 3), (3, 4), name="product", emit="o,h")
            self.assertEqual(sorted(os.listdir(folder)), ["product.h", "product.o"])
        with self.assertRaisesRegex(neoc.NeoError, "no shapes yet"):
            neoc.op(MM).emit(folder)

    def test_explain_tells_of_the_last_shapes(self):
        mm = neoc.op(MM).compile((8, 8), (8, 8))
        for what in ("groups", "schedule", "kernels"):
            self.assertIn("C", mm.explain(what))
        self.assertIn("memory", mm.explain("memory"))
        self.assertRaises(neoc.NeoError, mm.explain, "nothing of the kind")

    def test_verify_compares_with_the_interpreter(self):
        mm = neoc.op(MM)
        self.assertLess(mm.verify(np.random.rand(3, 4), np.random.rand(4, 5)), 1e-12)
        f = neoc.op("y = a*sum[i] exp(x[i])\nm = max[i] x[i]")
        self.assertLess(f.verify(2.5, np.random.rand(9).astype("f")), 1e-4)


if __name__ == "__main__":
    unittest.main()
