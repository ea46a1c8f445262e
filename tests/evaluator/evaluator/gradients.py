"""`grad`, and functions with a gradient of their own: docs/language.md, "Gradients"."""

import numpy as np

from . import duals, elements, recurrences, scalars, tape
from .errors import error
from .scopes import Block

MOST_SEEDS = 1000  # elements of results of a function with its own gradient, in forward mode


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
    leaves = [w.parts or [w] for w in wanted]
    found = iter(tape.gradients(result, seed, [p for parts in leaves for p in parts], held))
    found = [[next(found) for _ in parts] for parts in leaves]
    return [_of_parts(w, g) if w.parts else _like(w, g[0]) for w, g in zip(wanted, found)]


def _of_parts(wanted, found):
    """The gradient of a tensor whose elements read each other: that of each contains what flows through its readers."""
    if all(g is None for g in found):
        return _like(wanted, None)
    row = recurrences.in_a_row([_like(p, g) for p, g in zip(wanted.parts, found)], wanted.lead)
    return tape.reshape(row, row.data.shape[:wanted.lead] + wanted.shape, wanted.lead)


def _like(wanted, g):
    if g is None:
        return tape.Tensor(np.zeros(wanted.data.shape), wanted.type, wanted.lead)
    return elements.retype(tape.view(g, wanted.lead), wanted.type)


def own_forward(program, text, begun, arguments):
    """The results of a call whose gradient the function's own clause says, with the tangents that follow of it.

    The clause gives J'g of a g; the tangent J v has the elements (J'e) . v, for each element e of the results."""
    level = max((a.data.level for a in arguments if isinstance(a.data, duals.Dual)), default=None)
    if level is None:
        return _plain_results(program, begun(arguments), text)
    with tape.recording(False):
        low = [_at(a, a.data.value if _moves(a, level) else a.data) for a in arguments]
        results = own_forward(program, text, begun, low)
        block = begun(low)
        program.declare(text.body, block)
        floats = [a for a in arguments if scalars.is_float(a.type)]
        return [_at(r, duals.Dual(level, r.data, _own_tangent(program, block, text, results, k, floats, level)))
                if scalars.is_float(r.type) else r for k, r in enumerate(results)]


def _plain_results(program, block, text):
    program.declare(text.body, block)
    with tape.masked(block.frame.mask):
        return [block.view().lookup((r,), text.line) for r in text.results]


def _moves(a, level):
    return isinstance(a.data, duals.Dual) and a.data.level == level


def _at(a, data):
    """A tensor like a, with other values."""
    return tape.Tensor(data, a.type, a.lead, bound=a.bound)


def _own_tangent(program, block, text, results, k, floats, level):
    lead, shape = len(block.frame), results[k].data.shape
    outer, own = shape[:results[k].lead], shape[results[k].lead:]
    if np.prod(own) > MOST_SEEDS:
        error(text, f"'{text.name}' has too many results for the tangents of its own gradient")
    tangent = [np.zeros(outer) for _ in range(int(np.prod(own)))]
    for n in range(len(tangent)):
        seed = np.zeros(len(tangent))
        seed[n] = 1
        seeds = {j: _at(r, np.zeros(r.data.shape)) for j, r in enumerate(results)}
        seeds[k] = _at(results[k], np.broadcast_to(seed.reshape(own), shape))
        for a, g in zip(floats, own_clause(program, block, text, results, seeds)):
            if _moves(a, level):
                tangent[n] = tangent[n] + _dot(g, a.data.tangent, a, lead, outer)
    parts = [t.reshape(tuple(t.shape) + (1,)) for t in tangent]
    return np.concatenate(parts, len(outer)).reshape(shape) if parts else np.zeros(shape)


def _dot(g, t, a, lead, outer):
    """The products of a gradient and a tangent, summed for each point of the frame."""
    def full(x, own_lead):
        own = x.shape[own_lead:]
        return x.reshape(x.shape[:own_lead] + (1,)*(lead - own_lead) + own) if own_lead < lead else x
    product = full(g.data, g.lead)*full(t, a.lead)
    total = product.sum(axis=tuple(range(lead, product.ndim)))
    return np.broadcast_to(total if outer else total.reshape(()), outer)


def own_clause(program, block, text, outputs, gradients):
    """The gradients that a function's clause computes from gradients of its results."""
    clause = Block(program, block.view(), block.frame, block.prefix, block.rounds)
    for r, o in zip(text.results, outputs):
        clause.define(r, o)
    for k, name in enumerate(text.grad_parameters):
        g = gradients.get(k)
        zero = tape.Tensor(np.zeros(outputs[k].data.shape), outputs[k].type, outputs[k].lead)
        clause.define(name, zero if g is None else elements.retype(tape.view(g, outputs[k].lead), outputs[k].type))
    program.declare(text.grad_body, clause)
    return tuple(clause.view().lookup((r,), text.line) for r in text.grad_results)


def with_own(program, block, text, arguments, results):
    """The results of a call, behind which gradients are what the function's own clause says.

    One node stands for the call: its gradient is the list of those of the results, by number, of which its parents'
    follow by the clause's text. They are computed of the arguments themselves, so they have gradients too.
    """
    floats = [(k, a) for k, a in enumerate(arguments) if scalars.is_float(a.type)]
    outputs = []
    program.opaque = True

    def vjp(gradients):
        return own_clause(program, block, text, outputs, gradients)

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
