"""neoc.torch: what PyTorch does with its own operators it does with those of neoc.

Run with an interpreter that has PyTorch 2.6 or later (tests/test_python_torch.sh).
"""

from __future__ import annotations

import copy
import gc
import os
import pickle
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


if __name__ == "__main__":
    unittest.main()
