"""neoc.jax: operators under each transformation of JAX, against the same in JAX."""

import os

os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "") +
                           " --xla_force_host_platform_device_count=4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import contextlib
import doctest
import importlib.util
import gc
import pickle
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

import jax
import jax_rows
import neoc
import neoc.jax
import numpy as np
import operators
from jax import numpy as jnp
from jax.test_util import check_grads

try:
    from jax import shard_map
except ImportError:
    from jax.experimental.shard_map import shard_map
if hasattr(jax, "enable_x64"):
    enable_x64 = jax.enable_x64
else:
    from jax.experimental import enable_x64

P = jax.sharding.PartitionSpec
MM = "C[i, j] = sum[k] A[i, k]*B[k, j]"
CUBE = "y[i] = x[i]^3"
PICK = "y[i] = x[n[i]]"
SOFT = "e[b, i] = exp(x[b, i]); y[b, i] = e[b, i]/(sum[j] e[b, j])"


def drawn(seed, *shape, dtype="float32"):
    return jnp.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


def near(got, wanted, tol=2e-5):
    for a, b in zip(jax.tree_util.tree_leaves(got), jax.tree_util.tree_leaves(wanted)):
        b = np.asarray(b, "float64")
        scale = max(1.0, np.abs(b).max(initial=0))
        np.testing.assert_allclose(np.asarray(a, "float64")/scale, b/scale, rtol=0, atol=tol)


def of_row(row, seed=1):
    """The operator as a function of its arrays in order, and the arrays."""
    args = row.make(np.random.default_rng(seed), False)
    statics = jax_rows.statics_of(row, args)
    op = neoc.jax.op(row.text)
    names = [n for n in op.op.arguments if n not in statics]
    return (lambda *a: op(**dict(zip(names, a)), **statics)), args


def in_process(text):
    """The output of another process that runs the text."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True,
                          text=True, timeout=300)
    if done.returncode:
        raise AssertionError(done.stderr)
    return done.stdout.strip()


def equations(jaxpr):
    """Names of primitives, also of those within."""
    found = []
    for eqn in jaxpr.eqns:
        found.append(eqn.primitive.name)
        for value in eqn.params.values():
            inner = getattr(value, "jaxpr", None)
            if inner is not None:
                found += equations(inner)
    return found


class Rows(unittest.TestCase):
    """Ten operators that frameworks lack."""

    def each(self):
        for row in jax_rows.ROWS:
            yield row, *of_row(row)

    def test_results_and_gradients_are_those_of_jax(self):
        for row, f, args in self.each():
            near(jax.jit(f)(*args), row.reference(*args))
            weights = drawn(3, *row.reference(*args).shape)
            which = tuple(range(len(args)))
            loss = lambda g: jax.jit(jax.grad(lambda *a: (g(*a)*weights).sum(), which))
            near(loss(f)(*args), loss(row.reference)(*args), 1e-4)

    def test_gradients_are_made_only_for_arguments_that_are_asked_for(self):
        for row, f, args in self.each():
            for k in range(len(args)):
                asked = jax.grad(lambda *a: f(*a).sum(), k)
                near(asked(*args), jax.grad(lambda *a: row.reference(*a).sum(), k)(*args), 1e-4)
                jaxpr = jax.make_jaxpr(asked)(*args).jaxpr
                made = [e for e in jaxpr.eqns if e.primitive.name == "neoc"]
                self.assertEqual(len(made[-1].outvars), 1)

    def test_a_batch_of_any_argument_is_that_of_jax(self):
        for row, f, args in self.each():
            n = len(args)
            alone = [tuple(0 if j == k else None for j in range(n)) for k in range(n)]
            for axes in alone + [(0,)*n, (1,)*n, tuple(-1 if k == 0 else 0 for k in range(n))]:
                many = [a if d is None else np.stack([a, 0.5*a, a + 0.1], d)
                        for a, d in zip(args, axes)]
                near(jax.vmap(f, axes)(*many), jax.vmap(row.reference, axes)(*many), 1e-4)

    def test_gradients_of_batches_and_batches_of_gradients_are_those_of_jax(self):
        for row, f, args in self.each():
            n = len(args)
            axes = (None, *(0,)*(n - 1))
            many = [a if d is None else np.stack([a, 0.5*a], d) for a, d in zip(args, axes)]
            which = tuple(range(n))
            for make in (lambda g: jax.vmap(jax.grad(lambda *a: g(*a).sum(), which), axes),
                         lambda g: jax.grad(lambda *a: jax.vmap(g, axes)(*a).sum(), which)):
                near(make(f)(*many), make(row.reference)(*many), 1e-4)


class Table(unittest.TestCase):
    """The operators that the tests of all doors go through."""

    def each(self, differentiable=True):
        for row in operators.OPERATORS:
            if differentiable and not row.differentiable:
                continue
            op = neoc.jax.op(row.text, out=row.out)
            args = [jnp.asarray(a) for a in operators.values(row, op.op.arguments)]
            names = operators.names(row, op.op.arguments)
            with self.subTest(row.name):
                self.check(lambda *a: op(**dict(zip(names, a)), **row.static), args)

    def test_derivatives_of_first_and_second_order_agree_with_differences_both_ways(self):
        def check(f, args):
            floats = [k for k, a in enumerate(args) if jnp.issubdtype(a.dtype, jnp.floating)]

            def of_floats(*given):
                full = list(args)
                for k, v in zip(floats, given):
                    full[k] = v
                made = jax.tree_util.tree_leaves(f(*full))
                return [y for y in made if jnp.issubdtype(y.dtype, jnp.floating)]

            check_grads(jax.jit(of_floats), [args[k] for k in floats], 2, modes=("fwd", "rev"),
                        rtol=1e-5, atol=1e-5)

        self.check = check
        with enable_x64(True):
            self.each()

    def test_a_batch_is_what_the_calls_for_its_elements_give(self):
        def check(f, args):
            n = len(args)
            alone = [tuple(0 if j == k else None for j in range(n)) for k in range(n)]
            for axes in dict.fromkeys(alone + [(0,)*n, (-1,)*n]):
                many = [a if d is None else jnp.stack([a, a[::-1] if a.ndim else -a], d)
                        for a, d in zip(args, axes)]
                one = [f(*(a if d is None else jnp.moveaxis(a, d, 0)[k]
                           for a, d in zip(many, axes))) for k in range(2)]
                near(jax.vmap(f, axes)(*many),
                     jax.tree_util.tree_map(lambda *y: jnp.stack(y), *one), 1e-9)

        self.check = check
        with enable_x64(True):
            self.each(differentiable=False)


class Transformations(unittest.TestCase):
    def setUp(self):
        self.mm, self.cube, self.soft = (neoc.jax.op(t) for t in (MM, CUBE, SOFT))
        self.a, self.b = drawn(1, 3, 4), drawn(2, 4, 5)
        self.x = drawn(3, 4)

    def test_numeric_derivatives_to_second_order_agree_both_ways(self):
        with enable_x64(True):
            for f, args in ((self.mm, (self.a, self.b)), (self.soft, (self.a,)),
                            (self.cube, (self.x,))):
                args = tuple(jnp.asarray(a, "float64") for a in args)
                check_grads(f, args, 2, modes=("fwd", "rev"))

    def test_jacobians_and_hessians_are_those_of_jax(self):
        like = lambda x: jnp.exp(x)/jnp.exp(x).sum(1, keepdims=True)
        for make in (jax.jacfwd, jax.jacrev, jax.hessian, lambda f: jax.jacrev(jax.jacfwd(f)),
                     lambda f: jax.jacfwd(jax.jacfwd(f)), lambda f: jax.jacrev(jax.jacrev(f))):
            near(make(self.soft)(self.a), make(like)(self.a))

    def test_linearize_and_its_transpose_are_those_of_jax(self):
        y, push = jax.linearize(self.mm, self.a, self.b)
        z, other = jax.linearize(jnp.matmul, self.a, self.b)
        near((y, push(self.a, 2*self.b)), (z, other(self.a, 2*self.b)))
        pull = jax.linear_transpose(push, self.a, self.b)
        like = jax.linear_transpose(other, self.a, self.b)
        near(pull(y), like(y))

    def test_a_third_derivative_is_right(self):
        f = lambda x: self.cube(x).sum()
        third = jax.grad(lambda x: jax.grad(lambda x: jax.grad(f)(x).sum())(x).sum())
        near(third(self.x), jnp.full(4, 6.0))

    def test_checkpoint_and_scan_are_those_of_jax(self):
        def rolled(step):
            def loss(w, x):
                last, rows = jax.lax.scan(lambda h, v: (jnp.tanh(step(h, w) + v),)*2, x[0], x)
                return (last**2).sum() + rows.sum()
            return jax.jit(jax.value_and_grad(jax.checkpoint(loss), (0, 1)))

        w, x = drawn(1, 4, 4), drawn(2, 6, 3, 4)
        near(rolled(self.mm)(w, x), rolled(jnp.matmul)(w, x))

    def test_control_flow_of_jax_takes_operators(self):
        x = self.x
        near(jax.lax.fori_loop(0, 2, lambda k, v: self.cube(v), x), x**9)
        near(jax.lax.cond(True, self.cube, lambda v: v, x), x**3)
        near(jax.lax.map(self.cube, jnp.stack([x, x])), jnp.stack([x, x])**3)
        near(jax.jit(jax.grad(lambda v: jax.lax.cond(v[0] < 1e9, self.cube, jnp.sin, v).sum()))(x),
             3*x**2)

    def test_batches_of_forward_derivatives_have_a_transpose(self):
        xs = drawn(4, 5, 4)

        def energy(f):
            push = lambda x, t: jax.jvp(f, (x,), (t,))[1]
            return lambda t: (jax.vmap(push, (0, None))(xs, t)**2).sum()

        near(jax.grad(energy(self.cube))(self.x), jax.grad(energy(lambda x: x**3))(self.x))

    def test_nested_batches_have_axes_of_their_own(self):
        a, b = drawn(1, 2, 3, 6, 4), drawn(2, 3, 4, 5)
        make = lambda f: jax.vmap(jax.vmap(f, (0, None)), (1, 0))
        near(make(self.mm)(a, b), make(jnp.matmul)(a, b))

    def test_complex_programs_have_gradients_twice(self):
        f = lambda w: jnp.sin(self.mm(self.mm(self.a, self.b), w)).sum()
        g = lambda w: jnp.sin(self.a @ self.b @ w).sum()
        w = drawn(7, 5, 3)
        second = lambda h: jax.jit(jax.grad(lambda w: (jax.grad(h)(w)**2).sum()))
        near(second(f)(w), second(g)(w))


class Devices(unittest.TestCase):
    def setUp(self):
        self.mm = neoc.jax.op(MM)
        self.mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))

    def test_shard_map_splits_a_batch_and_sums_gradients_of_shared_weights(self):
        x, w = drawn(1, 8, 4), drawn(2, 4, 5)

        def made(mm):
            split = shard_map(mm, mesh=self.mesh, in_specs=(P("d"), P()), out_specs=P("d"))
            return jax.jit(jax.value_and_grad(lambda x, w: (split(x, w)**2).sum(), (0, 1)))

        near(made(self.mm)(x, w), made(jnp.matmul)(x, w))

    def test_gradients_within_shard_map_are_those_of_jax(self):
        x, w = drawn(1, 8, 4), drawn(2, 4, 5)

        def made(mm):
            def each(x, w):
                g = jax.grad(lambda w: (mm(x, w)**2).sum())(w)
                # From jax 0.6 on, the gradient of a shared weight is the sum over devices.
                return g.sum() if hasattr(jax, "typeof") else jax.lax.psum(g.sum(), "d")
            return jax.jit(shard_map(each, mesh=self.mesh, in_specs=(P("d"), P()), out_specs=P()))

        near(made(self.mm)(x, w), made(jnp.matmul)(x, w), 1e-4)

    def test_arrays_on_several_devices_are_computed_under_plain_jit(self):
        x, w = drawn(1, 8, 4), drawn(2, 4, 5)
        spread = jax.device_put(x, jax.sharding.NamedSharding(self.mesh, P("d")))
        near(jax.jit(self.mm)(spread, w), x @ w)

    def test_pmap_is_right(self):
        x, w = drawn(1, 4, 3, 4), drawn(2, 4, 5)
        near(jax.pmap(self.mm, in_axes=(0, None))(x, w), jnp.einsum("bij,jk->bik", x, w))

    def test_donated_arguments_do_not_change_results(self):
        add = neoc.jax.op("y[i, j] = x[i, j] + x[j, i]")
        x = drawn(1, 64, 64)
        wanted = np.asarray(x + x.T)
        near(jax.jit(add, donate_argnums=0)(x + 0), wanted)

    def test_other_platforms_are_refused_with_a_sentence(self):
        with self.assertRaisesRegex(neoc.Unsupported, "processor"):
            neoc.jax.export(neoc.jax.op(CUBE), platforms=("cuda",))(
                jax.ShapeDtypeStruct((3,), "float32"))


class Types(unittest.TestCase):
    def test_integers_have_gradients_of_float0(self):
        f = neoc.jax.op(PICK)
        x, n = drawn(1, 4), jnp.array([0, 2, 2])
        near(f(x, n), x[n])
        gx, gn = jax.grad(lambda x, n: (f(x, n)**2).sum(), (0, 1), allow_int=True)(x, n)
        near(gx, jax.grad(lambda x: (x[n]**2).sum())(x))
        self.assertEqual(gn.dtype, jax.dtypes.float0)
        y, pull = jax.vjp(f, x, n)
        self.assertEqual(pull(y)[1].dtype, jax.dtypes.float0)
        t = jax.jvp(f, (x, n), (x, np.zeros(3, jax.dtypes.float0)))[1]
        near(t, x[n])

    def test_results_that_are_integers_have_no_tangents(self):
        f = neoc.jax.op("k = argmax[i] x[i]; y[i] = x[i]^2", out=("k", "y"))
        x = jnp.array([1.0, 3.0, 2.0])
        (k, y), (tk, ty) = jax.jvp(f, (x,), (jnp.ones(3),))
        self.assertEqual((int(k), tk.dtype), (1, jax.dtypes.float0))
        near(ty, 2*x)
        near(jax.grad(lambda x: f(x)[1].sum())(x), 2*x)

    def test_without_x64_results_have_32_bits_and_with_it_64(self):
        f = neoc.jax.op("y[i] = f64(x[i])*2; n[i] = i64(2*x[i])", out=("y", "n"))
        y, n = f(jnp.ones(3, "float32"))
        self.assertEqual((y.dtype, n.dtype), ("float32", "int32"))
        with enable_x64(True):
            y, n = f(jnp.ones(3, "float32"))
            self.assertEqual((y.dtype, n.dtype), ("float64", "int64"))
            self.assertEqual(neoc.jax.op(MM)(np.eye(2), np.eye(2)).dtype, "float64")

    def test_bf16_and_f16_are_computed(self):
        for kind in ("bfloat16", "float16"):
            a, b = drawn(1, 8, 8, dtype=kind), drawn(2, 8, 8, dtype=kind)
            got, wanted = neoc.jax.op(MM)(a, b), jnp.matmul(a, b)
            self.assertEqual(got.dtype, kind)
            near(got, wanted, 2e-2)
            g = jax.grad(lambda a: neoc.jax.op(MM)(a, b).sum())(a)
            self.assertEqual(g.dtype, kind)
            near(g, jax.grad(lambda a: jnp.matmul(a, b).sum())(a), 2e-2)

    def test_numbers_and_weak_types_have_the_type_of_the_arrays(self):
        f = neoc.jax.op("y[i] = s*x[i]")
        for kind in ("float32", "bfloat16"):
            x = jnp.ones(3, kind)
            for s in (2, 2.0, True + 1, jnp.asarray(2.0), jnp.asarray(2.0) * 1):
                self.assertEqual(f(s, x).dtype, kind)
                near(f(s, x), 2*x)
                near(jax.jit(f)(s, x), 2*x)
        near(jax.grad(lambda s: f(s, jnp.ones(3)).sum())(2.0), 3.0)

    def test_an_integer_where_the_text_wants_one_stays_one(self):
        f = neoc.jax.op("y[i] = select(i < n, x[i], 0)")
        near(f(2, jnp.ones(3)), jnp.array([1.0, 1.0, 0.0]))

    def test_no_dimensions_and_no_elements(self):
        square = neoc.jax.op("y = x^2")
        near(square(3.0), 9.0)
        near(jax.grad(square)(3.0), 6.0)
        near(jax.grad(jax.grad(square))(3.0), 2.0)
        near(jax.vmap(square)(jnp.arange(3.0)), jnp.arange(3.0)**2)
        none = neoc.jax.op("y[i] = 2*x[i]; s = sum[i] x[i]", out=("y", "s"))
        y, s = jax.jit(none)(jnp.zeros(0))
        self.assertEqual((y.shape, float(s)), ((0,), 0.0))
        self.assertEqual(jax.grad(lambda x: none(x)[1])(jnp.zeros(0)).shape, (0,))
        self.assertEqual(jax.vmap(none)(jnp.zeros((0, 4)))[0].shape, (0, 4))

    def test_types_that_the_language_lacks_are_refused(self):
        for kind in ("uint32", "complex64", "int16"):
            with self.assertRaisesRegex(neoc.DTypeError, kind):
                neoc.jax.op(CUBE)(jnp.ones(3, kind))

    def test_any_rank_is_a_rank(self):
        f = neoc.jax.op("y[..] = max(x[..], 0)")
        x = drawn(1, 3, 4)
        near(f(x), jnp.maximum(x, 0))
        near(jax.vmap(f, 1, 1)(x), jnp.maximum(x, 0))
        near(jax.grad(lambda x: f(x).sum())(x), (x > 0)*1.0)


class Calls(unittest.TestCase):
    def test_declared_inputs_name_sizes_of_arrays(self):
        f = neoc.jax.op("input Q[S, C]\ninput K[T, C]\n"
                        "p[i, j] = (sum[c] Q[i, c]*K[j, c])/f32(C)")
        q, k = jnp.arange(12.0).reshape(3, 4), jnp.ones((5, 4))
        near(f(q, k), q @ k.T/4)
        near(jax.grad(lambda q: f(q, k).sum())(q), jnp.full((3, 4), 5/4))
        near(jax.jit(jax.vmap(f, (0, None)))(jnp.stack([q, q]), k)[1], q @ k.T/4)
        with self.assertRaisesRegex(neoc.ShapeError, "K: dim 1 of"):
            f(q, k[:, :3])
        n, = jax.export.symbolic_shape("n")
        kinds = [jax.ShapeDtypeStruct((m, n), "float32") for m in (3, 5)]
        saved = neoc.jax.export(f)(*kinds)
        near(saved.call(q, k), q @ k.T/4)

    def test_a_call_that_does_not_fit_says_what_is_taken(self):
        f, a = neoc.jax.op("C[i, j] = A[i, k]*B[k, j]"), jnp.ones((3, 3))
        with self.assertRaisesRegex(TypeError, r"it takes \(A\[i, k\], k, B\[k, j\]\)(.|\n)*"
                                    "'k' is bound by no index"):
            f(a, a)
        self.assertRaisesRegex(TypeError, "4 were given; it takes", f, a, a, a, a)
        self.assertRaisesRegex(TypeError, "'b'; did you mean 'B'", f, a, 1, b=a)

    def test_args_are_the_order_of_arguments_by_position(self):
        q, v = jnp.arange(8.0).reshape(2, 2, 2)/8
        f = neoc.jax.op("O[i, d] = s*(sum[k] V[k, d]*exp(Q[i, k]))", args=("Q", "V", "s"))
        np.testing.assert_allclose(f(q, v, 2.0), 2*jnp.exp(q) @ v, rtol=1e-5)
        wanted = jax.grad(lambda q, v: (jnp.exp(q) @ v).sum(), (0, 1))(q, v)
        got = jax.grad(lambda q, v: f(q, v, 1.0).sum(), (0, 1))(q, v)
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        sized = neoc.jax.op("y[i < N] = x[i]*s", args=("N", "x", "s"))
        np.testing.assert_allclose(sized(1, q[0], 2.0), 2*q[0, :1])

    def test_arguments_are_by_name_and_static_ones_are_numbers(self):
        window = neoc.jax.op("y[i < N] = sum[k < 2] x[i + k]")
        x = jnp.arange(4.0)
        near(window(x, 3), jnp.array([1.0, 3.0, 5.0]))
        near(window(x=x, N=2), jnp.array([1.0, 3.0]))
        with self.assertRaisesRegex(TypeError, "static"):
            jax.jit(lambda n: window(x=x, N=n))(2)
        with self.assertRaises(TypeError):
            window(x=x)
        mm = neoc.jax.op(MM)
        near(mm(B=jnp.eye(2), A=jnp.ones((3, 2))), jnp.ones((3, 2)))

    def test_errors_of_shapes_are_ours_when_traced(self):
        mm = neoc.jax.op(MM)
        for call in (mm, jax.jit(mm), jax.grad(lambda a, b: mm(a, b).sum())):
            with self.assertRaisesRegex(neoc.ShapeError, "two extents"):
                call(jnp.ones((2, 3)), jnp.ones((2, 3)))
        with self.assertRaises(neoc.CompileError):
            neoc.jax.op("y[i] = = x[i]")
        with self.assertRaises(neoc.DTypeError):
            mm(jnp.ones((2, 2), "float16"), jnp.ones((2, 2)))

    def test_an_index_out_of_its_bound_is_a_range_error(self):
        pick, x, n = neoc.jax.op(PICK), drawn(1, 4), jnp.array([0, 9])
        with self.assertRaisesRegex(neoc.RangeError, "value 9"):
            pick(x, n)
        with self.assertRaisesRegex(neoc.RangeError, "value 9"):
            with neoc.jax.errors():
                jax.block_until_ready(jax.jit(pick)(x, n))
        with self.assertRaisesRegex(Exception, "RangeError: .*value 9"):
            jax.block_until_ready(jax.jit(pick)(x, n))
        near(pick(x, n % 4), x[n % 4])

    def test_operators_are_pickled_and_described(self):
        mm = pickle.loads(pickle.dumps(neoc.jax.op(MM)))
        near(mm(jnp.eye(2), jnp.eye(2)), jnp.eye(2))
        self.assertIn("(A[i, k], B[k, j]) -> C[i, j]", repr(mm))
        self.assertIn("neoc", str(jax.make_jaxpr(mm)(jnp.eye(2), jnp.eye(2))))

    def test_threads_share_an_operator(self):
        mm, failed = neoc.jax.op(MM), []

        def work(k):
            x = drawn(k, 16, 8 + k % 3)
            for _ in range(50):
                if not np.allclose(jax.jit(mm)(x, x.T), x @ x.T, atol=1e-4):
                    failed.append(k)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])

    def test_memory_does_not_grow_over_calls(self):
        add = jax.jit(neoc.jax.op("c[i] = a[i] + b[i]"))
        a = jnp.ones(4)
        
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1])*4

        def run(n):
            for _ in range(n):
                add(a, a)
            gc.collect()
            return resident()

        before = run(20000)
        self.assertLess(run(100000) - before, 4096)

    def test_the_package_imports_jax_only_where_it_is_asked_for(self):
        self.assertEqual(in_process("import neoc, sys; print('jax' in sys.modules)"), "False")


MODEL = """
import nn, optim
dim B <= 64
input X[B, 5]
input Y[B] : i32 < 3
h = nn.linear(X, out = 7)
a[b, i] = tanh(h[b, i])
L = nn.linear(a, out = 3)
loss = nn.cross_entropy(L, Y)
output L
output test: loss
train loss using optim.adam(lr = 0.01)
"""


class Models(unittest.TestCase):
    def setUp(self):
        self.m = neoc.jax.module(neoc.compile(MODEL))
        self.v, self.model = self.m.init(3), neoc.compile(MODEL, seed=3)
        self.x, self.y = drawn(1, 6, 5), jnp.array([0, 1, 2, 0, 1, 2], "int32")

    @staticmethod
    def like(p, x, y):
        logits = jnp.tanh(x @ p["h.W"] + p["h.b"]) @ p["L.W"] + p["L.b"]
        return (jax.nn.logsumexp(logits, -1) - logits[jnp.arange(len(y)), y]).mean()

    def loss(self, p, x, y):
        return self.m.apply({"params": p}, x, y, entry="test")

    def test_entries_give_what_the_model_gives(self):
        x, y = np.asarray(self.x), np.asarray(self.y)
        near(jax.jit(self.m.apply)(self.v, self.x), self.model.forward(X=x))
        near(self.loss(self.v["params"], self.x, self.y), self.model.test(X=x, Y=y))
        near(self.m.apply(self.v, self.x[:2]), self.model.forward(X=x[:2]))

    def test_gradients_of_parameters_and_inputs_are_those_of_jax(self):
        p, x, y = self.v["params"], self.x, self.y
        for make in (lambda f: jax.grad(f, (0, 1)), lambda f: jax.jit(jax.jacfwd(f)),
                     lambda f: jax.grad(lambda p, x, y: sum(
                         (g**2).sum() for g in jax.tree_util.tree_leaves(jax.grad(f)(p, x, y))))):
            near(make(self.loss)(p, x, y), make(self.like)(p, x, y), 1e-4)
        many = jnp.stack([x, 2*x])
        near(jax.vmap(jax.grad(self.loss), (None, 0, None))(p, many, y),
             jax.vmap(jax.grad(self.like), (None, 0, None))(p, many, y), 1e-4)

    def test_steps_are_those_of_the_model_and_change_nothing(self):
        x, y, v = np.asarray(self.x), np.asarray(self.y), self.v
        first = jax.tree_util.tree_map(np.asarray, v)
        step = jax.jit(self.m.step)
        for k in range(5):
            rate = 0.02/(k + 1)
            v, loss = step(v, X=self.x, Y=self.y, lr=rate)
            near(loss, self.model.step(X=x, Y=y, lr=rate))
        near(v["params"], {n: np.asarray(w) for n, w in self.model.params.items()})
        self.assertEqual(v["counter"].tolist(), [3, 5])
        near(self.v, first, 0)

    def test_steps_run_within_a_scan(self):
        def body(v, _):
            return self.m.step(v, X=self.x, Y=self.y)
        v, losses = jax.jit(lambda v: jax.lax.scan(body, v, None, length=4))(self.v)
        near(losses, np.array([self.model.step(X=np.asarray(self.x), Y=np.asarray(self.y))
                               for _ in range(4)]))

    def test_a_step_draws_by_the_counter_and_has_no_derivatives(self):
        text = """
            import optim
            input X[64]
            param w = 1
            state s = 0
            r[i < 64] = rand()
            update s = s + 1
            loss = sum[i] w*X[i]*r[i]
            output loss
            train loss using optim.sgd(lr = 0)"""
        m, model = neoc.jax.module(neoc.compile(text)), neoc.compile(text)
        v, x = m.init(), jnp.ones(64)
        losses = []
        for _ in range(3):
            v, loss = m.step(v, X=x)
            losses.append(float(loss))
            near(loss, model.step(X=np.ones(64, "float32")), 1e-6)
        self.assertEqual(len(set(losses)), 3)
        self.assertEqual(float(v["states"]["s"]), 3)
        self.assertEqual(float(m.step(v, X=x)[1]), float(m.step(v, X=x)[1]))
        with self.assertRaisesRegex(neoc.GradientError, "apply"):
            jax.grad(lambda x: m.step(v, X=x)[1])(x)

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(TypeError, "'X'"):
            self.m.apply(self.v)
        with self.assertRaisesRegex(TypeError, "'Q'"):
            self.m.apply(self.v, self.x, Q=1)
        with self.assertRaisesRegex(neoc.ShapeError, "X"):
            self.m.apply(self.v, self.x[:, :3])
        with self.assertRaisesRegex(neoc.DTypeError, "X"):
            self.m.apply(self.v, self.x.astype("float16"))
        with self.assertRaisesRegex(KeyError, "missing"):
            self.m.apply({"params": {}}, self.x)
        with self.assertRaisesRegex(KeyError, "no entry"):
            self.m.apply(self.v, self.x, entry="nothing")

    def test_without_primitives_reverse_derivatives_and_batches_are_right(self):
        in_process(f"""
            import sys, jax, numpy as np
            from jax import numpy as jnp
            import jax.custom_batching, jax.interpreters
            del jax.interpreters.batching
            sys.modules["jax.interpreters.batching"] = None
            import neoc.jax
            from neoc.jax import _versions
            assert not _versions.PRIMITIVES
            mm, pick = neoc.jax.op({MM!r}), neoc.jax.op({PICK!r})
            a, b = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(3, 4)
            loss = lambda f: lambda a, b: (f(a, b)**2).sum()
            twice = lambda f: jax.jit(jax.grad(lambda a, b: (jax.grad(loss(f))(a, b)**2).sum(), 1))
            assert np.allclose(mm(a, b), a @ b)
            assert np.allclose(twice(mm)(a, b), twice(jnp.matmul)(a, b))
            assert np.allclose(jax.vmap(mm, (0, None))(jnp.stack([a, a]), b)[1], a @ b)
            each = lambda f: jax.vmap(jax.grad(loss(f)), (0, None))(jnp.stack([a, 2*a]), b)
            assert np.allclose(each(mm), each(jnp.matmul))
            n = jnp.array([1, 1])
            g = jax.grad(lambda x: pick(x, n).sum())(jnp.arange(3.0))
            assert np.allclose(g, jnp.array([0.0, 2.0, 0.0]))""")


class Exports(unittest.TestCase):
    def exported(self, f, *args):
        folder = self.enterContext(tempfile.TemporaryDirectory()) if hasattr(
            self, "enterContext") else tempfile.mkdtemp()
        path = os.path.join(folder, "f.bin")
        with open(path, "wb") as file:
            file.write(neoc.jax.export(f)(*args).serialize())
        return path

    def called(self, path, values):
        return np.array(eval(in_process(f"""
            import neoc.jax, numpy as np
            from jax import export
            f = export.deserialize(open({path!r}, "rb").read())
            print(np.asarray(f.call(np.array({values!r}, "float32"))).tolist())""")))

    def setUp(self):
        try:
            import flatbuffers  # noqa: F401
        except ImportError:
            self.skipTest("jax.export needs flatbuffers")

    def test_an_exported_function_and_its_gradient_run_in_another_process(self):
        soft = neoc.jax.op(SOFT)
        x = drawn(1, 2, 3)
        path = self.exported(soft, jax.ShapeDtypeStruct((2, 3), "float32"))
        near(self.called(path, x.tolist()), soft(x))
        slope = jax.grad(lambda x: (soft(x)**2).sum())
        path = self.exported(slope, jax.ShapeDtypeStruct((2, 3), "float32"))
        near(self.called(path, x.tolist()), slope(x))

    def test_an_exported_model_runs_in_another_process(self):
        m, x = neoc.jax.module(neoc.compile(MODEL)), drawn(1, 6, 5)
        v = m.init(1)
        path = self.exported(lambda x: m.apply(v, x), jax.ShapeDtypeStruct((6, 5), "float32"))
        near(self.called(path, x.tolist()), m.apply(v, x))

    def test_sizes_of_exported_functions_may_be_symbols(self):
        from jax import export
        b, n = export.symbolic_shape("b, n")
        soft = neoc.jax.op(SOFT)
        slope = jax.grad(lambda x: (soft(x)**2).sum())
        path = self.exported(slope, jax.ShapeDtypeStruct((b, n), "float32"))
        for shape in ((2, 3), (4, 1)):
            x = drawn(1, *shape)
            near(self.called(path, x.tolist()), slope(x))

    def test_extents_of_results_are_formulas_of_symbols(self):
        from jax import export
        n, = export.symbolic_shape("n", constraints=["n >= 4"])
        pools = neoc.jax.op("y = nn.max_pool1d(x)\nz[i, j] = x[0, 0, i]*x[0, 0, j]",
                            out=("y", "z"))
        made = neoc.jax.export(pools)(jax.ShapeDtypeStruct((1, 1, n), "float32"))
        self.assertEqual([a.shape for a in made.out_avals], [(1, 1, (n - 2)//2 + 1), (n, n)])
        y, z = made.call(jnp.arange(5.0)[None, None])
        near(y, jnp.array([[[1.0, 3.0]]]))
        self.assertEqual(z.shape, (5, 5))

    def test_errors_of_an_exported_program_keep_their_text(self):
        from jax import export
        n, m = export.symbolic_shape("n, m")
        pick = neoc.jax.op(PICK)
        made = neoc.jax.export(pick)(jax.ShapeDtypeStruct((n,), "float32"),
                                     jax.ShapeDtypeStruct((m,), "int32"))
        near(made.call(jnp.arange(3.0), jnp.array([2, 0])), jnp.array([2.0, 0.0]))
        with self.assertRaisesRegex(neoc.RangeError, "value 5"), neoc.jax.errors():
            jax.block_until_ready(made.call(jnp.arange(3.0), jnp.array([2, 5])))


class WrongUses(unittest.TestCase):
    def test_what_is_wrong_is_told_by_name(self):
        from test_wrong_uses import MODEL, SIZED, TEXT, Tried, in_a_folder
        double = neoc.jax.op(TEXT)
        sized = neoc.jax.op("y[i < N] = sum[k < 2] x[i + k]")
        x = jnp.ones(3)
        m = neoc.jax.module(neoc.compile(MODEL))
        v = m.init()
        with in_a_folder() as folder:
            path = os.path.join(folder, "m.expr")
            with open(path, "w", encoding="utf-8") as file:
                file.write(SIZED)
            rows = [
                Tried("neoc.jax.op", neoc.jax.op,
                      {"text": TEXT, "out": "y", "static": (), "types": {"x": "f32"},
                       "math": "f32", "threads": 1}, use=lambda op: op(x)),
                Tried("op()", double, {"x": x}, "y()"),
                Tried("op(N)", sized, {"x": x, "N": 2}, "y()"),
                Tried("neoc.jax.module", neoc.jax.module, {"path": path, "B": 3}),
                Tried("Module.init", m.init, {"seed": 1}),
                Tried("Module.apply", m.apply, {"variables": v, "x": jnp.ones(4), "entry": "test"}),
                Tried("Module.step", m.step,
                      {"variables": v, "x": jnp.ones(4), "entry": "step", "lr": 0.1}),
                Tried("neoc.jax.export", neoc.jax.export, {"f": double}),
            ]
            wrong = [why for row in rows for why in row.failures()]
            self.assertFalse(wrong, "\n".join(["wrong uses:", *wrong]))


def load_tests(loader, tests, ignore):
    from neoc.jax import _export, _front, _model
    for module in (_export, _front, _model):
        if module is not _export or importlib.util.find_spec("flatbuffers"):  # what serializes
            tests.addTests(doctest.DocTestSuite(module))
    return tests


if __name__ == "__main__":
    unittest.main()
