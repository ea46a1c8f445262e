"""neoc.torch: what PyTorch does with its own operators it does with those of neoc.

Run with an interpreter that has PyTorch 2.6 or later (tests/test_python_torch.sh).
"""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from typing import Any, Callable

warnings.filterwarnings("ignore")
os.environ.setdefault("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")

import torch  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

import neoc  # noqa: E402
import neoc.torch  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from operators import OPERATORS, Operator, values  # noqa: E402

BY_NAME = {o.name: o for o in OPERATORS}
MM = "C[i, j] = sum[k] A[i, k]*B[k, j]"


class Made:
    """An operator of the table with its arguments as tensors."""

    def __init__(self, o: Operator, dtype: str = "float64", seed: int = 0,
                 wants: bool = True) -> None:
        self.op = neoc.torch.op(o.text, out=o.out, types=o.types)
        self.name = o.name
        self.static = o.static
        arrays = values(o, self.op.arguments, dtype, seed)
        self.args = [torch.from_numpy(a) for a in arrays]
        for a in self.args:
            if wants and o.differentiable and a.is_floating_point():
                a.requires_grad_()

    def __call__(self, *tensors: torch.Tensor) -> Any:
        return self.op(*tensors, **self.static)

    def floats(self, *tensors: torch.Tensor) -> Any:
        """Its results that are floats: what gradcheck takes."""
        found = self(*tensors)
        many = found if isinstance(found, tuple) else (found,)
        made = tuple(t for t in many if t.is_floating_point())
        return made[0] if len(made) == 1 else made

    def scalar(self, *tensors: torch.Tensor) -> torch.Tensor:
        """A scalar that all results go into."""
        found = self.floats(*tensors)
        return sum((t.sin()*t).sum() for t in (found if isinstance(found, tuple) else (found,)))

    @property
    def wanted(self) -> tuple[int, ...]:
        return tuple(k for k, a in enumerate(self.args) if a.requires_grad)

    def detached(self) -> list[torch.Tensor]:
        return [a.detach() for a in self.args]


def over_table(check: Callable[..., None], differentiable: bool = True) -> Callable[..., None]:
    """A test for each operator of the table."""
    def test(self: unittest.TestCase) -> None:
        for o in OPERATORS:
            if o.differentiable or not differentiable:
                with self.subTest(o.name):
                    check(self, Made(o))
    test.__doc__ = check.__doc__
    return test


class Same(unittest.TestCase):
    def same(self, a: Any, b: Any, rtol: float = 1e-9, atol: float = 1e-9) -> None:
        torch.testing.assert_close(a, b, rtol=rtol, atol=atol, check_stride=False)


class EveryOperator(Same):
    def check_gradients(self, m: Made) -> None:
        self.assertTrue(gradcheck(m.floats, m.args, check_forward_ad=True,
                                  check_batched_grad=True, check_batched_forward_grad=True))

    test_gradients_are_those_of_finite_differences = over_table(check_gradients)

    def check_second(self, m: Made) -> None:
        self.assertTrue(gradgradcheck(m.floats, m.args, check_fwd_over_rev=True))

    test_second_gradients_are_those_of_finite_differences = over_table(check_second)

    def check_opcheck(self, m: Made) -> None:
        door = m.op._door or m.op._door_for(tuple(m.static.items()))
        torch.library.opcheck(door.raw, (door.number, *m.detached()))

    test_opcheck_passes = over_table(check_opcheck, differentiable=False)

    def check_compile(self, m: Made) -> None:
        torch._dynamo.reset()
        compiled = torch.compile(lambda *a: m.scalar(*a).exp(), fullgraph=True, backend="aot_eager")
        wanted = [m.args[k] for k in m.wanted]
        expected = m.scalar(*m.args).exp()
        found = compiled(*m.args)
        self.same(found, expected)
        self.same(torch.autograd.grad(found, wanted), torch.autograd.grad(expected, wanted))

    test_compiled_graphs_are_whole_with_gradients = over_table(check_compile)

    def check_func(self, m: Made) -> None:
        wanted = m.wanted
        args = m.detached()
        expected = torch.autograd.grad(m.scalar(*m.args), [m.args[k] for k in wanted])
        self.same(torch.func.grad(m.scalar, wanted)(*args), expected)

        def twice(*a: torch.Tensor) -> torch.Tensor:
            return sum((g**2).sum() for g in torch.func.grad(m.scalar, wanted)(*a))
        found = torch.func.grad(twice, wanted)(*args)
        first = torch.autograd.grad(m.scalar(*m.args), [m.args[k] for k in wanted],
                                    create_graph=True)
        self.same(found, torch.autograd.grad(sum((g**2).sum() for g in first),
                                             [m.args[k] for k in wanted]))

    test_func_grad_twice_is_right = over_table(check_func)

    def check_jacobians(self, m: Made) -> None:
        k, args = m.wanted[0], m.detached()
        backward = torch.func.jacrev(m.floats, k)(*args)
        self.same(torch.func.jacfwd(m.floats, k)(*args), backward)
        hessian = torch.func.hessian(m.scalar, k)(*args)
        self.same(hessian, torch.func.jacrev(torch.func.jacrev(m.scalar, k), k)(*args))

    test_jacobians_and_hessians_agree = over_table(check_jacobians)

    def check_jvp(self, m: Made) -> None:
        args = m.detached()
        moved = [torch.randn_like(a) if a.is_floating_point() else None for a in args]
        floats = [k for k, a in enumerate(args) if a.is_floating_point()]

        def of_floats(*given: torch.Tensor) -> Any:
            full = list(args)
            for k, g in zip(floats, given):
                full[k] = g
            return m.scalar(*full)
        given = tuple(args[k] for k in floats)
        along = tuple(moved[k] for k in floats)
        _, tangent = torch.func.jvp(of_floats, given, along)
        gradients = torch.func.grad(of_floats, tuple(range(len(floats))))(*given)
        self.same(tangent, sum((g*t).sum() for g, t in zip(gradients, along)))

    test_jvp_is_the_gradient_times_the_tangent = over_table(check_jvp)

    def check_vmap(self, m: Made) -> None:
        args = m.detached()
        for k, a in enumerate(args):
            for axis in (0, -1):
                many = torch.stack([a, a.flip(0) if a.dim() else a], axis)
                dims = tuple(axis if i == k else None for i in range(len(args)))
                given = [many if i == k else b for i, b in enumerate(args)]
                found = torch.vmap(m.op if not m.static else m, in_dims=dims)(*given)
                one = m(*[many.select(axis, 1) if i == k else b for i, b in enumerate(args)])
                pairs = zip(found, one) if isinstance(one, tuple) else [(found, one)]
                for batch, element in pairs:
                    self.same(batch[1], element)
        all_of = [torch.stack([a, a]) for a in args]
        found = torch.vmap(m)(*all_of)
        self.same(found[0] if not isinstance(found, tuple) else found[0][0],
                  m(*args) if not isinstance(found, tuple) else m(*args)[0])

    test_vmap_over_each_argument_is_right = over_table(check_vmap, differentiable=False)

    def check_export(self, m: Made) -> None:
        class Net(torch.nn.Module):
            def forward(self, args: list[torch.Tensor]) -> Any:
                return m(*args)
        args = m.detached()
        program = torch.export.export(Net(), (args,))
        self.same(program.module()(args), m(*args))

    test_exported_programs_give_the_same = over_table(check_export, differentiable=False)

    def check_strided(self, m: Made) -> None:
        args = m.detached()
        strided = [torch.stack([a, a], -1).select(-1, 1) if a.dim() else a for a in args]
        self.same(m(*strided), m(*args))
        flipped = [a.flip(0).flip(0) if a.dim() else a for a in args]
        self.same(m(*flipped), m(*args))
        expanded = [a[:1].expand(a.shape) if a.dim() else a for a in args]
        self.same(m(*expanded), m(*[a.clone(memory_format=torch.contiguous_format)
                                    for a in expanded]))

    test_strided_and_expanded_tensors_are_read_rightly = over_table(check_strided,
                                                                   differentiable=False)

    def check_narrow(self, m: Made) -> None:
        o = BY_NAME[m.name]
        expected = m.floats(*m.args)
        for kind in (torch.float32, torch.bfloat16, torch.float16):
            args = [a.detach().to(kind).requires_grad_(a.requires_grad)
                    if a.is_floating_point() else a for a in m.args]
            found = m.floats(*args)
            pairs = zip(found, expected) if isinstance(found, tuple) else [(found, expected)]
            bound = 1e-4 if kind == torch.float32 else 0.15
            for a, b in pairs:
                self.assertEqual(a.dtype, kind)
                self.assertLess(((a.double() - b)/(1 + b.abs())).abs().max(), bound, o.name)
            m.scalar(*args).backward()
            for a in args:
                self.assertEqual(a.grad is not None, a.requires_grad)

    test_narrow_floats_are_computed_with_their_gradients = over_table(check_narrow)

    def check_meta(self, m: Made) -> None:
        args = m.detached()
        real = m(*args)
        found = m(*[a.to("meta") for a in args])
        pairs = zip(found, real) if isinstance(real, tuple) else [(found, real)]
        for a, b in pairs:
            self.assertEqual((a.device.type, a.shape, a.dtype), ("meta", b.shape, b.dtype))

    test_meta_tensors_have_shapes = over_table(check_meta, differentiable=False)


class Calls(Same):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.mm = neoc.torch.op(MM)
        self.a, self.b = torch.randn(3, 4), torch.randn(4, 5)

    def test_a_call_that_does_not_fit_says_what_is_taken(self) -> None:
        f = neoc.torch.op("C[i, j] = A[i, k]*B[k, j]")
        a = torch.ones(3, 3)
        with self.assertRaisesRegex(TypeError, r"it takes \(A\[i, k\], k, B\[k, j\]\)(.|\n)*"
                                    "'k' is bound by no index"):
            f(a, a)
        self.assertRaisesRegex(TypeError, "4 were given; it takes", f, a, a, a, a)
        self.assertRaisesRegex(TypeError, "'b'; did you mean 'B'", f, a, 1, b=a)

    def test_args_are_the_order_of_arguments_by_position(self) -> None:
        q, v = torch.rand(2, 4, 4, dtype=torch.float64, requires_grad=True).unbind()
        f = neoc.torch.op("O[i, d] = s*(sum[k] V[k, d]*exp(Q[i, k]))", args=("Q", "V", "s"))
        self.same(f(q, v, 2.0), 2*torch.exp(q) @ v)
        wanted = torch.autograd.grad((2*torch.exp(q) @ v).sum(), (q, v))
        self.same(torch.autograd.grad(f(q, v, 2.0).sum(), (q, v)), wanted)
        self.same(torch.vmap(f, (0, None, None))(torch.stack([q, q]), v, 1.0)[1], torch.exp(q) @ v)
        sized = neoc.torch.op("y[i < N] = x[i + 1]*s", args=("N", "x", "s"))
        self.same(sized(2, q[0], 2.0), 2*q[0, 1:3])

    def test_declared_inputs_name_sizes_of_tensors(self) -> None:
        f = neoc.torch.op("input Q[S, C]\ninput K[T, C]\n"
                          "p[i, j] = (sum[c] Q[i, c]*K[j, c])/f32(C)")
        q, k = torch.rand(3, 4, requires_grad=True), torch.rand(5, 4)
        self.same(f(q, k), q @ k.T/4, 1e-5, 1e-6)
        f(q, k).sum().backward()
        self.same(q.grad, (k.sum(0)/4).expand(3, 4), 1e-5, 1e-6)
        self.same(torch.vmap(f, (0, None))(torch.stack([q, q]), k)[1], q @ k.T/4, 1e-5, 1e-6)
        plain = neoc.torch.op("input Q[S, C]\ninput K[T, S]\n"
                              "p[i, j] = (sum[c] Q[i, c]*K[j, c])/f32(C)")
        self.assertRaisesRegex(neoc.ShapeError, "K: dim 1", plain, q, k)
        quick = torch.compile(f, dynamic=True, fullgraph=True, backend="eager")
        for n in (3, 5, 6):
            a, b = torch.rand(n, n + 1), torch.rand(2, n + 1)
            self.same(quick(a, b), a @ b.T/(n + 1), 1e-5, 1e-6)

    def test_arguments_go_by_name_and_numbers_are_tensors(self) -> None:
        self.same(self.mm(B=self.b, A=self.a), self.a @ self.b, 1e-5, 1e-6)
        f = neoc.torch.op("y[i] = a*x[i] + b")
        self.same(f(2, torch.ones(3), 0.5), torch.full((3,), 2.5))
        g = neoc.torch.op("y[i] = x[i]/n")
        self.same(g(torch.ones(3, dtype=torch.float64), 4),
                  torch.full((3,), 0.25, dtype=torch.float64))

    def test_static_arguments_are_numbers(self) -> None:
        f = neoc.torch.op("y[i < N] = sum[k < K] x[i + k]")
        x = torch.arange(6.0, requires_grad=True)
        self.same(f(x, N=4, K=3), x.unfold(0, 3, 1).sum(-1))
        f(x, N=2, K=2).sum().backward()
        self.same(x.grad, torch.tensor([1.0, 2, 1, 0, 0, 0]))
        self.assertRaises(TypeError, f, x, N=torch.tensor(3), K=2)

    def test_wrong_calls_are_told(self) -> None:
        with self.assertRaises(TypeError):
            self.mm(self.a)
        with self.assertRaises(TypeError):
            self.mm(self.a, self.b, C=self.a)
        with self.assertRaises(neoc.ShapeError) as told:
            self.mm(self.a, self.a)
        self.assertIn("index 'k' has two extents", str(told.exception))
        self.assertTrue(told.exception.diagnostics)
        for bad in (self.a.to(torch.complex64), self.a.to(torch.int16)):
            with self.assertRaises(neoc.DTypeError):
                self.mm(bad, bad.T)
        with self.assertRaises(neoc.DTypeError):
            self.mm(self.a.double(), self.b)
        with self.assertRaises(neoc.DTypeError):
            self.mm(self.a.numpy(), self.b)

    def test_indices_out_of_range_are_told(self) -> None:
        f = neoc.torch.op("E[n, d] = T[i[n], d]")
        with self.assertRaises(neoc.RangeError):
            f(torch.zeros(5, 2), torch.tensor([1, 7]))

    def test_tensors_that_are_not_dense_or_elsewhere_are_refused(self) -> None:
        with self.assertRaisesRegex(neoc.Unsupported, "dense"):
            self.mm(self.a.to_sparse(), self.b)
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            a = torch.empty(3, 4, device="cuda")
            with self.assertRaisesRegex(neoc.Unsupported, "processor"):
                self.mm(a, torch.empty(4, 5, device="cuda"))

    def test_empty_scalar_conjugate_and_negative_tensors(self) -> None:
        self.assertEqual(self.mm(torch.zeros(0, 4), self.b).shape, (0, 5))
        self.same(self.mm(torch.zeros(3, 0), torch.zeros(0, 5)), torch.zeros(3, 5))
        empty = torch.zeros(0, 4, requires_grad=True)
        self.mm(empty, self.b).sum().backward()
        self.assertEqual(empty.grad.shape, (0, 4))
        f = neoc.torch.op("y[..] = 2*x[..]")
        self.same(f(torch.tensor(3.0)), torch.tensor(6.0))
        negative = torch.randn(3, dtype=torch.complex64).conj().imag
        self.assertTrue(negative.is_neg())
        self.same(f(negative), 2*negative.resolve_neg())

    def test_memory_formats_and_offsets(self) -> None:
        f = neoc.torch.op("y[n, c, i, j] = 2*x[n, c, i, j]")
        x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
        self.same(f(x), 2*x)
        self.same(neoc.torch.op("y[i] = 2*x[i]")(torch.arange(9.0)[1::2]),
                  2*torch.arange(9.0)[1::2])

    def test_operators_without_arguments(self) -> None:
        self.same(neoc.torch.op("y[i < 3] = 2.0*f32(i)")(), torch.tensor([0.0, 2, 4]))

    def test_operators_are_copied_and_pickled(self) -> None:
        again = pickle.loads(pickle.dumps(self.mm))
        self.same(again(self.a, self.b), self.mm(self.a, self.b))
        self.same(copy.deepcopy(self.mm)(self.a, self.b), self.mm(self.a, self.b))
        self.assertEqual(again._door.number, self.mm._door.number)

    def test_autocast_takes_the_widest_float(self) -> None:
        a = self.a.requires_grad_()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            h = a @ torch.eye(4)
            self.assertEqual(h.dtype, torch.bfloat16)
            y = self.mm(h, self.b)
            self.assertEqual(y.dtype, torch.float32)
        y.sum().backward()
        self.assertEqual(a.grad.dtype, torch.float32)
        self.same(a.grad, self.b.sum(1).expand(3, 4), 0.02, 0.02)

    def test_inference_mode_and_no_grad(self) -> None:
        a = self.a.requires_grad_()
        with torch.inference_mode():
            self.assertTrue(self.mm(a, self.b).is_inference())
        with torch.no_grad():
            self.assertFalse(self.mm(a, self.b).requires_grad)


class Gradients(Same):
    def test_only_gradients_that_are_asked_for_are_computed(self) -> None:
        mm = neoc.torch.op(MM + "  # by itself: operators of one text share what was derived")
        a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)
        mm(a, b).sum().backward()
        self.assertEqual([k for k in mm._door._derived], [("vjp", (0,), (0,))])
        two = neoc.torch.op("s[i] = sin(x[i])\nc[i] = cos(x[i])", out=("s", "c"))
        x = torch.randn(4, requires_grad=True)
        two(x)[1].sum().backward()
        self.same(x.grad, -x.sin().detach(), 1e-5, 1e-6)
        self.assertEqual([k for k in two._door._derived], [("vjp", (0,), (1,))])

    def test_changes_in_place_after_the_call_are_noticed(self) -> None:
        f = neoc.torch.op("y[i] = x[i]^2")
        x = torch.randn(3, requires_grad=True)
        z = x*1
        y = f(z)
        z.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()

    def test_arguments_that_the_backward_pass_does_not_read_are_not_saved(self) -> None:
        f = neoc.torch.op("y[i] = a[i]*b[i] + c[i]")
        for n in (3, 5):
            a, b, c = (torch.randn(n, requires_grad=True) for _ in range(3))
            y = f(a, b, c)
            self.assertEqual(len(y.grad_fn.saved_tensors), 3)  # what is read is not known yet
            y.sum().backward()
        for n in (3, 5):
            a, b, c = (torch.randn(n, requires_grad=True) for _ in range(3))
            y = f(a, b, c)
            self.assertEqual(len(y.grad_fn.saved_tensors), 2)
            with torch.no_grad():
                c.add_(1)  # which no gradient depends on
            self.same(torch.autograd.grad(y, (a, b, c), torch.ones(n)),
                      (b.detach(), a.detach(), torch.ones(n)))

    def test_gradients_of_gradients_where_arguments_are_not_saved(self) -> None:
        f = neoc.torch.op("y[i] = a[i]^2 + c[i]")
        a, c = torch.randn(4, dtype=torch.float64), torch.randn(4, dtype=torch.float64)
        a.requires_grad_()
        c.requires_grad_()
        for _ in range(2):  # c is saved by the first call alone
            f(a, c).sum().backward()
            self.assertTrue(gradgradcheck(f, (a, c)))
            slope, = torch.autograd.grad(f(a, c).sum(), a, create_graph=True)
            self.same(torch.autograd.grad(slope.sum(), a)[0], torch.full_like(a, 2).detach())

    def test_which_gradients_are_asked_for_may_change(self) -> None:
        f = neoc.torch.op("y[i] = a[i]*b[i]")
        for wants in ((True, False), (False, True), (True, True), (True, False)):
            a, b = (torch.randn(3, requires_grad=w) for w in wants)
            for _ in range(2):
                y = f(a, b).sum()
                kept = [t for t in (a, b) if t.requires_grad]
                found = torch.autograd.grad(y, kept)
                self.same(found, tuple(t.detach() for t, w in ((b, wants[0]), (a, wants[1])) if w))

    def test_batched_gradients_of_the_engine(self) -> None:
        f = neoc.torch.op("y[i] = x[i]^3")
        x = torch.randn(3, dtype=torch.float64, requires_grad=True)
        found, = torch.autograd.grad(f(x), x, torch.eye(3, dtype=torch.float64),
                                     is_grads_batched=True)
        self.same(found, torch.diag(3*x.detach()**2))

    def test_forward_mode_under_no_functorch(self) -> None:
        import torch.autograd.forward_ad as fwd
        f = neoc.torch.op("y[i] = x[i]^3")
        x, t = torch.randn(3), torch.randn(3)
        with fwd.dual_level():
            tangent = fwd.unpack_dual(f(fwd.make_dual(x, t))).tangent
        self.same(tangent, 3*x**2*t, 1e-5, 1e-6)

    def test_integers_have_no_gradient(self) -> None:
        f = neoc.torch.op("y[i] = max[j] x[i, j]\nn[i] = argmax[j] x[i, j]")
        x = torch.randn(3, 4, requires_grad=True)
        y, n = f(x)
        self.assertFalse(n.requires_grad)
        y.sum().backward()
        self.same(x.grad, torch.zeros(3, 4).scatter(1, n.long()[:, None], 1))

    def test_arguments_that_nothing_flows_to_have_zeros(self) -> None:
        f = neoc.torch.op("y[i] = stop(x[i])*b[i]")
        x, b = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
        f(x, b).sum().backward()
        self.same(x.grad, torch.zeros(3))
        self.same(b.grad, x.detach())

    def test_errors_in_backward_are_ours(self) -> None:
        f = neoc.torch.op("y[n, d] = T[i[n], d]^2")
        table, i = torch.randn(5, 2, requires_grad=True), torch.tensor([1, 2])
        y = f(table, i)
        i.data.fill_(9)
        with self.assertRaises(neoc.RangeError):
            y.sum().backward()


class Graphs(Same):
    def test_sizes_that_vary_compile_twice(self) -> None:
        import torch._dynamo.testing
        torch._dynamo.reset()
        f = neoc.torch.op("y[i, j] = x[i]*x[j] + (x[i - 1] else 0)")
        counter = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
        compiled = torch.compile(lambda x: f(x).sin().sum(), backend=counter, fullgraph=True)
        for n in (4, 5, 6, 9):
            x = torch.randn(n, requires_grad=True)
            self.same(torch.autograd.grad(compiled(x), x),
                      torch.autograd.grad(f(x).sin().sum(), x), 1e-5, 1e-6)
        self.assertEqual(counter.frame_count, 2)

    def test_export_with_a_dynamic_size_is_read_in_another_process(self) -> None:
        mm = neoc.torch.op(MM)

        class Net(torch.nn.Module):
            def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
                return mm(a, b).relu()
        a, b = torch.randn(3, 4), torch.randn(4, 5)
        shapes = {"a": {0: torch.export.Dim("n")}, "b": {1: torch.export.Dim("m")}}
        program = torch.export.export(Net(), (a, b), dynamic_shapes=shapes)
        self.same(program.module()(a[:2], b[:, :4]), (a[:2] @ b[:, :4]).relu(), 1e-5, 1e-6)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.pt2")
            neoc.torch.save_exported(program, path)
            torch.save((a, b, program.module()(a, b)), os.path.join(folder, "data.pt"))
            code = ("import torch, neoc.torch, sys\n"
                    "p = neoc.torch.load_exported(sys.argv[1])\n"
                    "a, b, y = torch.load(sys.argv[2])\n"
                    "torch.testing.assert_close(p.module()(a, b), y)\n"
                    "print(p.module()(a[:1], b).shape[0])\n")
            ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code, path,
                                  os.path.join(folder, "data.pt")], capture_output=True, text=True)
            self.assertEqual(ran.stdout.strip(), "1", ran.stderr)

    def test_inductor_runs_the_graph(self) -> None:
        torch._dynamo.reset()
        mm = neoc.torch.op(MM)
        a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5)
        try:
            y = torch.compile(lambda a, b: mm(a.sin(), b).cos(), fullgraph=True)(a, b)
            y.sum().backward()
        except Exception as problem:  # it needs a compiler of C++
            if "compiler" in str(problem):
                self.skipTest("torch.compile has no compiler of C++")
            raise
        z = a.detach().requires_grad_()
        (z.sin() @ b).cos().sum().backward()
        self.same(a.grad, z.grad, 1e-4, 1e-5)

    def test_transforms_within_compile_are_right_in_any_nesting(self) -> None:
        f = neoc.torch.op("y = sum[i] sin(x[i])*x[i]")
        func, vmap = torch.func, torch.vmap

        def sums(g: Callable[..., Any]) -> Callable[..., Any]:
            return lambda x: g(x).sum()
        one, many = torch.randn(3), torch.randn(5, 3)
        for name, g, x in (
                ("vmap", vmap(f), many), ("grad", func.grad(f), one),
                ("grad of vmap", func.grad(sums(vmap(f))), many),
                ("vmap of grad", vmap(func.grad(f)), many),
                ("grad twice", func.grad(sums(func.grad(f))), one),
                ("grad thrice", func.grad(sums(func.grad(sums(func.grad(f))))), one),
                ("hessian", func.hessian(f), one), ("vmap of hessian", vmap(func.hessian(f)), many),
                ("jvp", lambda x: func.jvp(f, (x,), (x,))[1], one)):
            with self.subTest(name):
                torch._dynamo.reset()
                compiled = torch.compile(g, fullgraph=True, backend="aot_eager")
                self.same(compiled(x), g(x), 1e-5, 1e-6)


class Processes(Same):
    def test_threads_share_an_operator(self) -> None:
        mm = neoc.torch.op(MM)
        wrong: list[Any] = []

        def work(k: int) -> None:
            for n in range(2, 5):
                a = torch.full((n, 4), float(k), requires_grad=True)
                y = mm(a, torch.eye(4))
                y.sum().backward()
                if not (torch.equal(y, a) and torch.equal(a.grad, torch.ones(n, 4))):
                    wrong.append(k)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    def test_workers_of_a_loader_call_operators(self) -> None:
        f = neoc.torch.op("y[i] = x[i]^2 + 1")
        f(torch.zeros(4))

        class Data(torch.utils.data.Dataset):  # type: ignore[type-arg]
            def __len__(self) -> int:
                return 6

            def __getitem__(self, k: int) -> torch.Tensor:
                return f(torch.full((4,), float(k)))
        loader = torch.utils.data.DataLoader(Data(), batch_size=3, num_workers=2,
                                             multiprocessing_context="fork")
        self.same(torch.cat(list(loader)), (torch.arange(6.0)[:, None]**2 + 1).expand(6, 4))

    def test_calls_leave_nothing(self) -> None:
        mm = neoc.torch.op(MM)
        a, b = torch.randn(30, 40, requires_grad=True), torch.randn(40, 50)

        def resident() -> int:
            gc.collect()
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1])*os.sysconf("SC_PAGESIZE")

        def calls(n: int) -> None:
            for _ in range(n):
                mm(a, b).sum().backward()
                with torch.no_grad():
                    mm(a.T.contiguous().T, b)
        calls(200)
        before = resident()
        calls(5000)
        self.assertLess(resident() - before, 8 << 20)


MLP = """
import nn
dim B <= 8
input X[B, 3] : f64
h = nn.linear(X, out = 4)
param g[4] : f64 = 0.5
y[b, j] = g[j]*tanh(h[b, j])
s = sum[b, j] y[b, j]^2
output y
output both: y, s
"""


class Modules(Same):
    def net(self, **options: Any) -> Any:
        return neoc.torch.Module("net.expr", text=MLP, **options)

    def by_hand(self, net: Any, x: torch.Tensor) -> torch.Tensor:
        return net.g*torch.tanh(x @ net.h.W + net.h.b)

    def test_results_and_gradients_are_right(self) -> None:
        net = self.net()
        x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
        self.same(net(x), self.by_hand(net, x))
        wanted = [x, *net.parameters()]
        self.same(torch.autograd.grad(net(x).exp().sum(), wanted),
                  torch.autograd.grad(self.by_hand(net, x).exp().sum(), wanted))

        def of(x: torch.Tensor, *given: torch.Tensor) -> Any:
            named = dict(zip(dict(net.named_parameters()), given))
            return torch.func.functional_call(net, named, (x,))
        given = [p.detach().clone().requires_grad_() for p in net.parameters()]
        self.assertTrue(gradcheck(of, (x[:2], *given), check_forward_ad=True))
        self.assertTrue(gradgradcheck(of, (x[:2], *given)))

    def test_entries_have_several_outputs(self) -> None:
        net = self.net(entry="both")
        x = torch.randn(2, 3, dtype=torch.float64)
        y, s = net(x)
        self.same(s, (y**2).sum())
        (y.sum() + s).backward()
        self.assertEqual({n for n, p in net.named_parameters() if p.grad is not None},
                         {"g", "h.W", "h.b"})
        self.assertRaises(neoc.NeoError, self.net, entry="nowhere")

    def test_names_and_memory_are_the_models(self) -> None:
        net = self.net(seed=3)
        self.assertEqual(set(net.state_dict()), {"g", "h.W", "h.b"})
        before = net(torch.ones(2, 3, dtype=torch.float64))
        with torch.no_grad():
            net.h.W.mul_(2)
        self.same(torch.from_numpy(net.model.params["h.W"]), net.h.W.detach())
        after = net(torch.ones(2, 3, dtype=torch.float64))
        self.assertFalse(torch.equal(before, after))
        self.same(after, self.by_hand(net, torch.ones(2, 3, dtype=torch.float64)))

    def test_training_by_torch_learns(self) -> None:
        torch.manual_seed(0)
        net = self.net()
        x = torch.randn(8, 3, dtype=torch.float64)
        y = torch.tanh(x @ torch.randn(3, 4, dtype=torch.float64))*0.3
        optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
        losses = []
        for _ in range(300):
            optimizer.zero_grad()
            loss = ((net(x) - y)**2).mean()
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        self.assertLess(losses[-1], losses[0]/50)

    def test_copies_are_independent(self) -> None:
        net = self.net()
        net.h.b.requires_grad_(False)
        x = torch.randn(2, 3, dtype=torch.float64)
        for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
            self.same(other(x), net(x))
            self.assertFalse(other.h.b.requires_grad)
            with torch.no_grad():
                other.g.zero_()
            self.assertGreater(float(net(x).abs().sum()), 0)
            self.same(torch.from_numpy(other.model.params["g"]), other.g.detach())
        other = self.net(seed=9)
        other.load_state_dict(net.state_dict())
        self.same(other(x), net(x))

    def test_modules_compile_and_export(self) -> None:
        torch._dynamo.reset()
        net = self.net()
        x = torch.randn(2, 3, dtype=torch.float64)
        compiled = torch.compile(net, fullgraph=True, backend="aot_eager")
        self.same(compiled(x), net(x))
        grads = torch.autograd.grad(compiled(x).exp().sum(), list(net.parameters()))
        self.same(grads, torch.autograd.grad(net(x).exp().sum(), list(net.parameters())))
        self.same(torch.export.export(net, (x,)).module()(x), net(x))

    def test_exported_modules_run_in_another_process(self) -> None:
        net, x = self.net(), torch.ones(2, 3, dtype=torch.float64)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.pt2")
            neoc.torch.save_exported(torch.export.export(net, (x,)), path)
            code = ("import torch, neoc.torch\n"
                    f"f = neoc.torch.load_exported({path!r}).module()\n"
                    "print(f(torch.ones(2, 3, dtype=torch.float64)).tolist())\n")
            ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code],
                                 capture_output=True, text=True)
            self.assertEqual(ran.stdout.strip(), str(net(x).tolist()), ran.stderr)

    def test_wrong_inputs_are_told(self) -> None:
        net = self.net()
        with self.assertRaisesRegex(neoc.ShapeError, "X"):
            net(torch.randn(2, 5, dtype=torch.float64))
        with self.assertRaisesRegex(neoc.ShapeError, "B is 9"):
            net(torch.randn(9, 3, dtype=torch.float64))
        with self.assertRaises(neoc.DTypeError):
            net(torch.randn(2, 3))
        self.assertRaises(TypeError, net)

    def test_training_mode_refuses_what_needs_it(self) -> None:
        net = neoc.torch.Module("drop.expr", text="import nn\ninput X[4, 3]\n"
                                "Y = nn.dropout(X, p = 0.5)\noutput Y\n")
        x = torch.randn(4, 3)
        self.assertRaises(neoc.Unsupported, net, x)
        self.same(net.eval()(x), x)
        net = neoc.torch.Module("rand.expr", text="input X[4]\nY[i] = X[i]*rand()\noutput Y\n")
        self.assertRaises(neoc.Unsupported, net.eval(), torch.ones(4))
        with torch.no_grad():
            self.assertEqual(net(torch.ones(4)).shape, (4,))

    def test_entries_that_update_are_refused(self) -> None:
        text = ("input x[4]\nstate r[4] = 0\nupdate r[i] = r[i] + x[i]\ny[i] = x[i] - r[i]\n"
                "output y\noutput observe: y update r\n")
        net = neoc.torch.Module("m.expr", text=text)
        self.same(net(torch.ones(4)), torch.ones(4))
        self.assertEqual([n for n, _ in net.named_buffers()], ["r"])
        self.assertRaises(neoc.Unsupported, neoc.torch.Module, "m.expr", text=text,
                          entry="observe")


class WrongUses(unittest.TestCase):
    def test_what_is_wrong_is_told_by_name(self) -> None:
        from test_wrong_uses import MODEL, SIZED, TEXT, Tried, in_a_folder
        double = neoc.torch.op(TEXT)
        sized = neoc.torch.op("y[i < N] = sum[k < 2] x[i + k]")
        x = torch.ones(3)
        net = neoc.torch.Module("m.expr", text=MODEL.replace("output test: l", "output l"))
        program = torch.export.export(net, (torch.ones(4),))
        with in_a_folder() as folder:
            rows = [
                Tried("neoc.torch.op", neoc.torch.op,
                      {"text": TEXT, "out": "y", "static": (), "types": {"x": torch.float32},
                       "math": "f32", "threads": 1}, use=lambda op: op(x)),
                Tried("op()", double, {"x": x}, "y()"),
                Tried("op(N)", sized, {"x": x, "N": 2}, "y()"),
                Tried("neoc.torch.Module", neoc.torch.Module,
                      {"path": "m.expr", "text": SIZED, "entry": "forward", "seed": 1, "threads": 1,
                       "options": {}, "B": 3}),
                Tried("Module()", net, {"*x": [torch.ones(4)]}, "x"),
                Tried("save_exported", neoc.torch.save_exported,
                      {"program": program, "path": os.path.join(folder, "a.pt2")}),
                Tried("load_exported", neoc.torch.load_exported, {"path": "a.pt2"}),
            ]
            wrong = [why for row in rows for why in row.failures()]
            self.assertFalse(wrong, "\n".join(["wrong uses:", *wrong]))


class SlowWay(Same):
    def test_kernels_in_python_do_the_same(self) -> None:
        from neoc.torch.library import _slow_kernel
        for o in OPERATORS:
            m = Made(o, wants=False)
            door = m.op._door or m.op._door_for(tuple(m.static.items()))
            with self.subTest(o.name):
                self.same(_slow_kernel(door.number, *m.args), m(*m.args))

    def test_without_the_shim_all_goes_by_them(self) -> None:
        code = ("from neoc import _core\n"
                "_core.torch_open = lambda: 'aoti_torch_get_dim'\n"
                "import neoc, neoc.torch, torch\n"
                "f = neoc.torch.op('C[i, j] = sum[k] A[i, k]*B[k, j]')\n"
                "a, b = (torch.randn(3, 3, dtype=torch.float64, requires_grad=True)\n"
                "        for _ in range(2))\n"
                "torch.testing.assert_close(f(a.T, b), a.T @ b)\n"
                "assert torch.autograd.gradcheck(f, (a, b), check_forward_ad=True)\n"
                "assert torch.autograd.gradgradcheck(f, (a, b))\n"
                "try: f(a, b[:2])\n"
                "except neoc.ShapeError: print('told')\n")
        ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True,
                             text=True)
        self.assertEqual(ran.stdout.strip(), "told", ran.stderr)


if __name__ == "__main__":
    unittest.main()
