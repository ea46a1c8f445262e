"""`grad`, and functions with a gradient of their own: docs/language.md, "Gradients"."""

import numpy as np

from . import elements, scalars, tape
from .errors import error
from .scopes import Block


def grad(program, context, node, frame):
    """grad(y, a, b, seed = dy): the gradients of sum(y * dy), one for each of a, b."""
    asked = [a for n, a in node.args if n is None]
    seeds = [a for n, a in node.args if n == "seed"]
    if frame.axes:
        return _of_points(program, context, node, frame, asked, seeds)
    result = context.whole(asked.pop(0), frame)
    wanted = [context.base(a, frame) if context.is_slice(a, frame) else context.whole(a, frame) for a in asked]
    if seeds:
        seed = context.whole(seeds[0], frame)
        if seed.data.shape != result.data.shape:
            error(node, "the seed must have the shape of what is differentiated")
    elif result.rank:
        error(node, "a tensor that is not a scalar needs a seed for its gradient")
    else:
        seed = tape.constant(1.0, result.type)
    found = of(result, seed, wanted, node, program.held)
    return [context.slice_of(g, a, frame) if context.is_slice(a, frame) else g for a, g in zip(asked, found)]


def _of_points(program, context, node, frame, asked, seeds):
    """In a function that is called with indices: a gradient for each of their points, with respect to what is each
    one's own, so that they are the parts of the gradient of a sum."""
    result = context.whole(asked[0], frame)
    wanted = [context.whole(a, frame) for a in asked[1:]]
    lead, points = len(frame), result.data.shape
    own = all(w.lead == lead and w.data.shape[:lead] == points for w in wanted)
    if seeds or not own or len(points) != lead or any(context.is_slice(a, frame) for a in asked):
        error(node, "this evaluator forms no such gradient inside of calls that depend on indices")
    return of(result, tape.Tensor(np.ones(points), result.type, lead), wanted, node, program.held)


def of(result, seed, wanted, line=None, held=()):
    """Gradients of the shapes and types of the wanted tensors; zeros where nothing flows."""
    for a in [result] + wanted:
        if not scalars.is_float(a.type):
            error(line, f"gradients are of floats, this is {a.type}")
    found = tape.gradients(result, seed, wanted, held)
    return [_like(w, g) for w, g in zip(wanted, found)]


def _like(wanted, g):
    if g is None:
        return tape.Tensor(np.zeros(wanted.data.shape), wanted.type, wanted.lead)
    return elements.retype(tape.view(g, wanted.lead), wanted.type)


def with_own(program, block, text, arguments, results):
    """The results of a call, behind which gradients are what the function's own clause says.

    One node stands for the call: its gradient is the list of those of the results, by number, of which its parents'
    follow by the clause's text. They are computed of the arguments themselves, so they have gradients too.
    """
    floats = [(k, a) for k, a in enumerate(arguments) if scalars.is_float(a.type)]
    outputs = []

    def vjp(gradients):
        clause = Block(program, block.view(), block.frame, block.prefix, block.rounds)
        for r, o in zip(text.results, outputs):
            clause.define(r, o)
        for k, name in enumerate(text.grad_parameters):
            g = gradients.get(k)
            zero = tape.Tensor(np.zeros(outputs[k].data.shape), outputs[k].type, outputs[k].lead)
            clause.define(name, zero if g is None else elements.retype(tape.view(g, outputs[k].lead), outputs[k].type))
        program.declare(text.grad_body, clause)
        return tuple(clause.view().lookup((r,), text.line) for r in text.grad_results)

    whole = tape.Tensor(np.zeros(()), "f64", 0, tuple(a for _, a in floats), vjp,
                        tracked=any(a.tracked for _, a in floats))
    whole.mask = block.frame.mask
    for k, r in enumerate(results):
        outputs.append(_output(whole, k, r))
    return outputs


def _output(whole, k, result):
    if not scalars.is_float(result.type):
        return result
    output = tape.Tensor(result.data, result.type, result.lead, (whole,), lambda g: ({k: g},), tracked=whole.tracked)
    output.mask = whole.mask
    return output
