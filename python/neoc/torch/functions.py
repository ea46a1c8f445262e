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

from .library import Door, Example, door_at, retold

_is_grad_enabled = torch.is_grad_enabled
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
    return _apply(door_at(number), tensors)


def _apply(door: Door, tensors: Sequence[torch.Tensor]) -> Any:
    try:
        if in_transform():
            return _Transformed.apply(door, *tensors)
        if _is_grad_enabled() and any(t.requires_grad for t in tensors):
            return Eager.apply(door, *tensors)
        return door.call(door.number, *tensors)
    except RuntimeError as problem:
        told = retold(problem, tensors)
        if told is problem:
            raise
        raise told from None


class _Plan:
    """What a backward pass computes where these arguments want gradients and these results have
    cotangents."""

    __slots__ = ("door", "call", "number", "wrt", "of", "blank")

    def __init__(self, door: Door, needs: Sequence[bool], of: tuple[int, ...]) -> None:
        self.wrt = tuple(k for k, needed in enumerate(needs) if needed and k > 0)
        self.of = of
        self.door = door.vjp(tuple(k - 1 for k in self.wrt), of)
        self.call = self.door.call
        self.number = self.door.number
        self.blank: list[Any] = [None]*len(needs)


def _gradients(ctx: Any, grads: tuple[Any, ...]) -> Any:
    """The backward pass of both Functions: those gradients alone that are asked for."""
    needs = ctx.needs_input_grad
    what = (needs, _ALL if len(grads) == 1 and grads[0] is not None else
            tuple([k for k, g in enumerate(grads) if g is not None]))
    plan = ctx.door.plans.get(what)
    if plan is None:
        if not what[1] or not any(needs):
            return (None,)*len(needs)
        plan = ctx.door.plans[what] = _Plan(ctx.door, needs, what[1])
    saved = ctx.saved_tensors
    if len(grads) > 1:
        grads = tuple([grads[k] for k in plan.of])
    if _is_grad_enabled() or in_transform():
        found = _apply(plan.door, (*saved, *grads))
    else:
        try:
            found = plan.call(plan.number, *saved, *grads)
        except RuntimeError as problem:
            raise retold(problem, saved) from None
    made = plan.blank.copy()
    if len(plan.wrt) == 1:
        made[plan.wrt[0]] = found
    else:
        for k, value in zip(plan.wrt, found):
            made[k] = value
    return tuple(made)


_ALL = (0,)


def _spread(n: int, places: Sequence[int], found: Any) -> tuple[Any, ...]:
    """n values, of which those at `places` are found; None elsewhere."""
    made: list[Any] = [None] * n
    values = (found,) if len(places) == 1 else found
    for k, value in zip(places, values):
        made[k] = value
    return tuple(made)


def _mark_integers(ctx: Any, output: Any) -> None:
    many = output if isinstance(output, tuple) else (output,)
    integers = [t for t in many if not t.is_floating_point()]
    if integers:
        ctx.mark_non_differentiable(*integers)


def _without_batch(tensors: Sequence[torch.Tensor], batched: Sequence[bool]) -> tuple[Any, ...]:
    """What the arguments of one element of the batch are like."""
    return tuple(Example(t.dtype, tuple(t.shape[1:] if b else t.shape))
                 for t, b in zip(tensors, batched))


class Eager(torch.autograd.Function):
    """For the engine of torch.autograd."""

    @staticmethod
    def forward(ctx: Any, door: Door, *tensors: torch.Tensor) -> Any:
        ctx.door = door
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        output = door.call(door.number, *tensors)
        if door.n_out > 1 or not output.is_floating_point():
            _mark_integers(ctx, output)
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return _gradients(ctx, grads)


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
        return _gradients(ctx, grads)

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
