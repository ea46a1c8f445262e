"""Graphs and vertex functions: docs/language.md, "Dynamic structures".

The block of a vertex function is executed for one vertex after the other, children first (or parents, in a function
that runs down), each with its own rows of the arguments. What vertices scatter stays as tensors of the tape, so
gradients go from parents to children as through anything else.
"""

import numpy as np

from . import elements, scalars, tape
from .errors import error
from .expressions import Expressions
from .frames import Axis, Frame
from .loops import begun as leaf_of, emptied, stacked
from .recurrences import settled
from .scopes import Block, Lazy
from .tree import DOTS, Bind, Gather, Push


# ---- graphs


def graph(program, s, block, position):
    """A block with the graph's names."""
    inside = Block(program, block.view(position), path=block.path)
    inside.key = block.key + (id(s),)
    context = Expressions(block.view(position), program)

    def vertices():
        full = f"{s.name}.vertices"
        if full not in program.defines:
            error(s, f"the value of size '{full}' is not known: give it, or '{s.name}.child'")
        return int(program.defines[full])

    def child():
        count, k = vertices(), context.size(s.children)
        found = program.given(f"{s.name}.child", (count, k), "i32", s.line)
        if found is None:
            error(s, f"input '{s.name}.child' has no value: give it i32 {[count, k]}")
        if (found.data < -1).any() or (found.data >= np.arange(count)[:, None]).any():
            error(s, f"{s.name}.child: an element is not in [-1, v)")
        return found
    inside.define("vertices", Lazy(vertices, s.line, True))
    inside.define("children", Lazy(lambda: context.size(s.children), s.line))
    inside.define("child", Lazy(child, s.line, True))
    return inside


# ---- vertex functions


class Vertices:
    """A call of a vertex function: what was scattered so far."""

    def __init__(self, child, text):
        self.child, self.text = child, text
        self.scattered = {}  # name: {vertex: tensor}
        self.rows = {}  # name: what one vertex scatters, as a tensor of that shape and type

    def parts(self, name, v, k):
        """What comes to the k-th row of what vertex v gathers."""
        found = self.scattered.get(name, {})
        if v is None:
            return []
        if self.text.down:
            return [found[p] for p in sorted(found) if self.child[p, k] == v]
        c = int(self.child[v, k])
        return [found[c]] if c >= 0 else []


def run(program, function, arguments, begun, node):
    """The results of a call. `begun` makes the block of a vertex of its arguments."""
    text = function.node
    view = function.block.view(function.position)
    child = view.lookup((text.graph, "child"), text.line).data
    own = [_by_row(p, a, len(child)) for p, a in zip(text.parameters, arguments)]
    for mine, a in zip(own, arguments):
        if mine and a.shape[0] != len(child):
            error(node, f"an argument has {a.shape[0]} rows, the graph has {len(child)} vertices")
    state, held = Vertices(child, text), program.held
    order = range(len(child) - 1, -1, -1) if text.down else range(len(child))
    pushed, block = {}, None
    for v in order:
        rows = {id(a): _row(a, v) for mine, a in zip(own, arguments) if mine}  # one row for what is given twice
        block = begun([rows[id(a)] if mine else a for mine, a in zip(own, arguments)])
        pushed[v] = _vertex(program, block, state, v)
        program.held = held
    if block is None:
        return _nothing(program, begun([_no_row(a) if mine else a for mine, a in zip(own, arguments)]), state, held)
    with tape.masked(block.frame.mask):
        return [stacked(list(rows), len(block.frame)) for rows in zip(*[pushed[v] for v in range(len(child))])]


def _vertex(program, block, state, v):
    """Execute the block of a vertex; what it pushes."""
    text = state.text
    block.vertex = state, v
    count = 0 if v is None else int((state.child[v] >= 0).sum())
    block.define("children", tape.constant(count, "i32"))
    program.declare(text.body, block)
    with tape.masked(block.frame.mask):
        for s in text.body:
            for variable, _ in s.bindings if isinstance(s, Gather) else []:
                block.view().lookup((variable.name,), s.line)
        for position, s in enumerate(text.body):
            for target, value in s.bindings if isinstance(s, Bind) and s.kind == "scatter" else []:
                _scatter(program, block, position, state, v, target, value)
        return [settled(block.view().lookup((s.name,), s.line)) for s in text.body if isinstance(s, Push)]


def _scatter(program, block, position, state, v, target, value):
    if target.name not in state.rows:
        error(target, f"'{target.name}' is not gathered")
    row = state.rows[target.name]
    new = program.define(target, value, block, position, row, owner=False)
    if new.type in scalars.LITERALS:
        new = elements.convert(new, row.type)
    if new.shape != row.shape or new.type != row.type:
        error(target, f"'{target.name}' is {row.type} {list(row.shape)}, this is {new.type} {list(new.shape)}")
    state.scattered.setdefault(target.name, {})[v] = new


def gathered(program, s, variable, value, block, position):
    """What a vertex gathers under a name."""
    if block.vertex is None:
        error(s, "'gather' stands in a vertex function")
    state, v = block.vertex

    def compute():
        context = program.context(block, position)
        shape, names = program._axes(variable, context)
        if not shape or shape[0] != state.child.shape[1]:
            error(s, f"the first dimension of '{variable.name}' is not that of the children")
        none = _none(context, variable, value, block.frame, shape, names)
        lead = len(block.frame)
        first = none.data.shape[:lead]
        state.rows[variable.name] = tape.Tensor(np.zeros(first + tuple(shape[1:]), scalars.dtype(none.type)), none.type,
                                                lead)
        with tape.masked(block.frame.mask):
            parts = [[leaf_of(p) for p in state.parts(variable.name, v, k)] for k in range(shape[0])]
            program.held = program.held + sum(parts, [])  # gradients in the block end where another vertex begins
            return stacked([_gathered_row(none, rows, k, lead) for k, rows in enumerate(parts)], lead)
    return Lazy(compute, s.line)


def _none(context, variable, value, frame, shape, names):
    """The values where there is no child, of the shape that is gathered."""
    inner = frame.push([Axis(n, 0, e) for n, e in zip(names, shape)])
    kind = context.view.kind(variable.type) if variable.type else None
    element = settled(context.value(value, inner), kind)
    if kind:
        element = elements.convert(element, kind)
    with tape.masked(inner.mask):
        element = tape.expand(element, len(inner))
        lead = element.data.shape[:len(frame)] if element.data.ndim else (1,) * len(frame)
        return tape.view(tape.broadcast(element, lead + tuple(shape)), len(frame))


def _gathered_row(none, parts, k, lead):
    """One row of a gather: what it is made of, added up, or the value where there is nothing."""
    if not parts:
        shape = none.data.shape
        return tape.reshape(tape.cut(none, lead, k, k + 1), shape[:lead] + shape[lead + 1:], lead)
    total = parts[0]
    for part in parts[1:]:
        if scalars.is_float(total.type):
            total = tape.add(total, part)
        else:
            total = tape.Tensor(scalars.wrap(total.data + part.data, total.type), total.type, lead)
    return elements.rounded(total) if len(parts) > 1 else total


# ---- rows of arguments


def _by_row(parameter, a, count):
    """Whether an argument is given row by row: it has one dimension more than the parameter."""
    axes = parameter.axes or []
    if DOTS in axes:
        return a.rank > 0 and a.shape[0] == count
    return a.rank == len(axes) + 1


def _row(a, v):
    with tape.masked(None):
        shape = a.data.shape
        row = tape.reshape(tape.cut(a, a.lead, v, v + 1), shape[:a.lead] + shape[a.lead + 1:], a.lead)
        row = leaf_of(row)
        row.bound = a.bound
        return row


def _no_row(a):
    shape = a.data.shape
    return tape.Tensor(np.zeros(shape[:a.lead] + shape[a.lead + 1:], a.data.dtype), a.type, a.lead, bound=a.bound)


def _nothing(program, block, state, held):
    """The results where there are no vertices: their shapes are those of a vertex on no point at all."""
    frame = block.frame
    block.frame = frame.under(np.zeros((1,) * len(frame), bool)) if len(frame) else Frame((), np.zeros((), bool))
    with tape.recording(False):
        rows = _vertex(program, block, state, None)
    program.held = held
    return [emptied(r) for r in rows]
