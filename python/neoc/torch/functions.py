"""The autograd.Functions of an operator, and `apply`, which chooses.

PyTorch has two ways to differentiate, and no one Function serves both well:

    eager         the engine records a node: the old style is the quickest by far
    transforms    torch.func and forward-mode AD ask for setup_context, vmap and jvp

What they compute is the same: the backward pass, tangents and batches are operators of neoc
themselves (Door.vjp, jvp and vmap), so each can be differentiated and batched again. A gradient
that nobody asks for is in no text that is compiled.

torch.compile sees neither: Dynamo would trace a Function's backward into a graph that has no second
derivative, without a word. It takes the call as one node (allow_in_graph), and AOTAutograd runs
`_apply` on fake tensors, within the same transforms as in eager mode, so that its graphs consist of
the dispatcher's operators.
"""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch.autograd import forward_ad

from .. import _core
from .library import Door, Example, door_at, retold

_is_grad_enabled = torch.is_grad_enabled
_Function: Any = torch.autograd.Function
_peek = torch._C._functorch.peek_interpreter_stack


def in_transform() -> bool:
    """Whether a transform of torch.func or forward-mode AD is at work."""
    return _peek() is not None or forward_ad._current_level >= 0


def apply(door: Door, tensors: Sequence[torch.Tensor]) -> Any:
    """The operator on tensors, for whichever way of differentiation is at work."""
    if torch.compiler.is_compiling():
        return _in_graph(door.number, *tensors)
    return _apply(door, tensors)


@torch.compiler.allow_in_graph  # type: ignore[untyped-decorator]
def _in_graph(number: int, *tensors: torch.Tensor) -> Any:
    return _apply(door_at(int(number)), tensors)  # with dynamic=True whole numbers are symbols


def _apply(door: Door, tensors: Sequence[torch.Tensor]) -> Any:
    try:
        if in_transform():
            return _Transformed.apply(door, *tensors)
        found = door.quick.on(*tensors)
        return door.call(door.number, *tensors) if found is NotImplemented else found
    except RuntimeError as problem:
        told = retold(problem, tensors)
        if told is problem:
            raise
        raise told from None


# ---------------------------------------------------------------- eager mode

def _eager(door: Door) -> Any:
    """`apply` of the Function for the engine of torch.autograd. Its forward and the `apply` of its
    nodes, which the engine calls, are in C (torch_grad.c), which leaves what is rare to
    _gradients."""
    made: Any = type("Eager", (_Function,), {"forward": door.quick.forward,
                                             "backward": staticmethod(_eager_backward)})
    made._backward_cls.door = door
    _core.torch_node(made._backward_cls)
    return made.apply


def _eager_backward(ctx: Any, *grads: Any) -> Any:
    return _eager_gradients(ctx, grads)


def _eager_gradients(ctx: Any, grads: tuple[Any, ...]) -> Any:
    return _gradients(ctx.door, ctx.needs_input_grad, _all_saved(ctx), grads)


def _all_saved(ctx: Any) -> tuple[torch.Tensor, ...]:
    """The arguments: those that are saved, and stand-ins for the others."""
    saved: tuple[torch.Tensor, ...] = ctx.saved_tensors
    stand_ins = ctx.plan.stand_ins if ctx.plan is not None else None
    if stand_ins is None or len(saved) == len(stand_ins):
        return saved
    rest = iter(saved)
    return tuple(next(rest) if t is None else t for t in stand_ins)


def _stand_in(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor of this shape and type with memory of one element."""
    return torch.zeros((), dtype=tensor.dtype).expand(tensor.shape)


def _backward_of(door: Door, needs: int) -> tuple[Any, int]:
    """The dispatcher's operator of the backward pass, and its number; needs: a bit for each
    argument whose gradient is asked for."""
    wrt = tuple(k for k in range(door.n_in) if needs >> k & 1)
    made = door.vjp(wrt, tuple(range(door.n_out)))
    return made.call, made.number


def _raise_told(problem: BaseException, tensors: Sequence[torch.Tensor]) -> None:
    raise retold(problem, tensors) from None


def _mark_integers(ctx: Any, output: Any) -> None:
    many = output if isinstance(output, tuple) else (output,)
    integers = [t for t in many if not t.is_floating_point()]
    if integers:
        ctx.mark_non_differentiable(*integers)


def _is_autocast() -> bool:
    return torch.is_autocast_enabled("cpu")


_core.torch_begin(
    torch.Tensor, torch.nn.Parameter, _is_grad_enabled, _is_autocast, _peek, forward_ad.__dict__,
    torch.compiler.__dict__, _backward_of, _eager, _stand_in, _mark_integers, _eager_gradients, _raise_told)


# ---------------------------------------------------------------- gradients, in the general way

def _gradients(door: Door, needs: Sequence[bool], saved: Sequence[torch.Tensor],
               grads: tuple[Any, ...]) -> Any:
    """A value for each argument: the gradients that are asked for, of the results that have
    cotangents; else None."""
    wrt = tuple([k for k, needed in enumerate(needs) if needed])
    of = tuple([k for k, g in enumerate(grads) if g is not None])
    if not wrt or not of:
        return (None,)*len(needs)
    return _spread(len(needs), wrt, _apply(door.vjp(wrt, of), (*saved, *[grads[k] for k in of])))


def _spread(n: int, places: Sequence[int], found: Any) -> tuple[Any, ...]:
    """n values, of which those at `places` are found; None elsewhere."""
    made: list[Any] = [None] * n
    values = (found,) if len(places) == 1 else found
    for k, value in zip(places, values):
        made[k] = value
    return tuple(made)


def _without_batch(tensors: Sequence[torch.Tensor], batched: Sequence[bool]) -> tuple[Any, ...]:
    """Descriptions of the arguments of one element of the batch."""
    return tuple(Example(t.dtype, tuple(t.shape[1:] if b else t.shape))
                 for t, b in zip(tensors, batched))


def _one_by_one(door: Door, tensors: Sequence[torch.Tensor], batched: Sequence[bool],
                n: int) -> tuple[Any, Any]:
    """The entry of a model has its batches already: each element is a call of its own."""
    rows = [_apply(door, [t[k] if b else t for t, b in zip(tensors, batched)]) for k in range(n)]
    if door.n_out == 1:
        return torch.stack(rows), 0
    return tuple(torch.stack(r) for r in zip(*rows)), (0,) * door.n_out


class _Transformed(torch.autograd.Function):
    """For torch.func and for forward-mode AD."""

    @staticmethod
    def forward(door: Door, *tensors: torch.Tensor) -> Any:
        return door.call(door.number, *tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.door = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])
        ctx.set_materialize_grads(False)
        many = output if isinstance(output, tuple) else (output,)
        ctx.floats = tuple(k for k, t in enumerate(many) if t.dtype.is_floating_point)
        ctx.n_out = len(many)
        _mark_integers(ctx, output)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *_gradients(ctx.door, ctx.needs_input_grad[1:], ctx.saved_tensors, grads))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        wrt = tuple(k for k, t in enumerate(tangents) if t is not None)
        if not wrt or not ctx.floats:
            return None if ctx.n_out == 1 else (None,) * ctx.n_out
        made = ctx.door.jvp(wrt, ctx.floats)
        given = [*ctx.saved_tensors, *(tangents[k] for k in wrt)]
        found = _apply(made, given)
        return found if ctx.n_out == 1 else _spread(ctx.n_out, ctx.floats, found)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], door: Door, *tensors: torch.Tensor) -> Any:
        dims = in_dims[1:]
        front = [t if d is None else t.movedim(d, 0) for t, d in zip(tensors, dims)]
        batched = tuple(d is not None for d in dims)
        if not door.has_batches:
            return _one_by_one(door, front, batched, info.batch_size)
        made = door.vmap(batched, _without_batch(front, batched))
        return _apply(made, front), 0 if door.n_out == 1 else (0,) * door.n_out


# ---------------------------------------------------------------- batches of the dispatcher

def batches(info: Any, in_dims: tuple[Any, ...], number: int, *tensors: torch.Tensor) -> Any:
    """The rule of the dispatcher's operators for torch.vmap."""
    dims = in_dims[1:]
    front = [t if d is None else t.movedim(d, 0) for t, d in zip(tensors, dims)]
    batched = tuple(d is not None for d in dims)
    door = door_at(number)
    if not door.has_batches:
        return _one_by_one(door, front, batched, info.batch_size)
    made = door.vmap(batched, _without_batch(front, batched))
    return made.call(made.number, *front), 0 if door.n_out == 1 else (0,) * door.n_out
