"""Graphs and vertex functions: docs/language.md, "Dynamic structures".

The block of a vertex function is executed for one vertex after the other, children first (or parents, in a function
that runs down), each with its own rows of the arguments. What vertices scatter stays as tensors of the tape, so
gradients go from parents to children as through anything else.
"""

import numpy as np

from . import edges, elements, scalars, tape
from .errors import error
from .expressions import Expressions
from .frames import Axis, Frame
from .loops import begun as leaf_of, emptied, stacked
from .recurrences import settled
from .scopes import Block, Lazy
from .tree import DOTS, Bind, Gather, Push


# ---- graphs


def bind_sizes(program, s):
    """Sizes of a graph from the shapes of its inputs that are given."""
    for is_list, kind, _ in s.edges:
        name = f"{s.name}.{kind}" if kind else s.name
        child = program.inputs.get(f"{name}.child")
        if child is not None:
            program.defines.setdefault(f"{name}.edges" if is_list else f"{name}.vertices", np.shape(child)[0])
        if is_list and f"{name}.begin" in program.inputs:
            program.defines.setdefault(f"{s.name}.vertices", np.shape(program.inputs[f"{name}.begin"])[0] - 1)


def _size(program, s, full):
    if full not in program.defines:
        error(s, f"the value of size '{full}' is not known: give it, or an input that has it")
    return int(program.defines[full])


def _given(program, s, name, shape):
    found = program.given(name, shape, "i32", s.line)
    if found is None:
        error(s, f"input '{name}' has no value: give it i32 {list(shape)}")
    return found


def graph(program, s, block, position):
    """A block with the graph's names, places for children (or None) and lists of edges."""
    inside = _block(program, s, block, position)
    inside.places, inside.lists = None, []
    context = Expressions(block.view(position), program)
    inside.define("vertices", Lazy(lambda: _size(program, s, f"{s.name}.vertices"), s.line, True))
    for is_list, kind, most in s.edges:
        if not is_list:
            inside.places = _places(program, s, context, most)
            inside.define("children", Lazy(lambda most=most: context.size(most), s.line))
            inside.define("child", inside.places)
            continue
        of = _block(program, s, block, position) if kind else inside
        inside.lists.append(_list(program, s, of, f"{s.name}.{kind}" if kind else s.name))
        if kind:
            inside.define(kind, of)
    return inside


def _block(program, s, block, position):
    inside = Block(program, block.view(position), path=block.path)
    inside.key = block.key + (id(s),)
    return inside


def _places(program, s, context, most):
    def child():
        count, k = _size(program, s, f"{s.name}.vertices"), context.size(most)
        found = _given(program, s, f"{s.name}.child", (count, k))
        if (found.data < -1).any() or (found.data >= np.arange(count)[:, None]).any():
            error(s, f"{s.name}.child: an element is not in [-1, v)")
        return found
    return Lazy(child, s.line, True)


def _list(program, s, block, name):
    """A list of edges, whose names go to the block."""
    def count():
        return _size(program, s, f"{name}.edges")

    def begin():
        return _given(program, s, f"{name}.begin", (_size(program, s, f"{s.name}.vertices") + 1,))

    def child():
        found = _given(program, s, f"{name}.child", (count(),))
        found.edges = {0: block.list}
        return found
    given = [Lazy(compute, s.line, True) for compute in (begin, child)]
    block.list = edges.EdgeList(given[0].get, given[1].get)
    checked = Lazy(lambda: edges.checked(block.list, s, name), s.line, True)

    def once_checked(lazy):
        checked.get()
        return lazy.get()
    block.define("edges", Lazy(count, s.line, True))
    for word, lazy in zip(("begin", "child"), given):
        block.define(word, Lazy(lambda lazy=lazy: once_checked(lazy), s.line, True))
    return block.list


# ---- vertex functions


class Vertices:
    """A call of a vertex function: what was scattered so far."""

    def __init__(self, graph, text):
        self.text, self.lists = text, graph.lists
        self.child = graph.places.get().data if graph.places else None
        self.scattered = {}  # name: {vertex: tensor}
        self.rows = {}  # name: what one vertex scatters, as a tensor of that shape and type

    def parts(self, name, v, k):
        """The value that the k-th row of a gather of vertex v gets."""
        found = self.scattered.get(name, {})
        if v is None:
            return []
        if self.text.down:
            return [found[p] for p in sorted(found) if self.child[p, k] == v]
        c = int(self.child[v, k])
        return [found[c]] if c >= 0 else []

    def children(self, v):
        """How many a vertex has."""
        places = 0 if self.child is None else int((self.child[v] >= 0).sum())
        return places + sum(x.degree(v) for x in self.lists)


def run(program, function, arguments, begun, node):
    """The results of a call. `begun` makes the block of a vertex of its arguments."""
    text = function.node
    view = function.block.view(function.position)
    count = view.lookup((text.graph, "vertices"), text.line)
    own = [_by_row(p, a, count) for p, a in zip(text.parameters, arguments)]
    for mine, a in zip(own, arguments):
        if mine and a.shape[0] != count:
            error(node, f"an argument has {a.shape[0]} rows, the graph has {count} vertices")
    state, held = Vertices(view.lookup((text.graph,), text.line), text), program.held
    order = range(count - 1, -1, -1) if text.down else range(count)
    pushed, block = {}, None
    for v in order:
        rows = {id(a): _row(a, v) for mine, a in zip(own, arguments) if mine}  # one row for what is given twice
        block = begun([rows[id(a)] if mine else a for mine, a in zip(own, arguments)])
        pushed[v] = _vertex(program, block, state, v)
        program.held = held
    if block is None:
        return _nothing(program, begun([_no_row(a) if mine else a for mine, a in zip(own, arguments)]), state, held)
    with tape.masked(block.frame.mask):
        return [stacked(list(rows), len(block.frame)) for rows in zip(*[pushed[v] for v in range(count)])]


def _vertex(program, block, state, v):
    """Execute the block of a vertex; what it pushes."""
    text = state.text
    block.vertex = state, v
    block.define("children", tape.constant(0 if v is None else state.children(v), "i32"))
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
    """The values that a vertex gathers under a name."""
    if block.vertex is None:
        error(s, "'gather' stands in a vertex function")
    state, v = block.vertex
    if value is None:
        return Lazy(lambda: _along_list(program, variable, block, position, s), s.line)

    def compute():
        context = program.context(block, position)
        shape, names = program._axes(variable, context)
        if not shape or state.child is None or shape[0] != state.child.shape[1]:
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


def _along_list(program, variable, block, position, s):
    """The values along the edges of a list; rows of other vertices are 0."""
    state, v = block.vertex
    context = program.context(block, position)
    shape, _ = program._axes(variable, context)
    marks, lead = edges.declared(context.view, variable.axes), len(block.frame)
    if not marks or 0 not in marks or marks[0] not in state.lists:
        error(s, f"the first dimension of '{variable.name}' is not that of a list of the graph")
    kind = context.view.kind(variable.type) if variable.type else "f32"
    zero = tape.Tensor(np.zeros((1,) * lead + tuple(shape[1:]), scalars.dtype(kind)), kind, lead)
    state.rows[variable.name] = zero
    giver, taker = marks[0].ends(state.text.down)
    found = state.scattered.get(variable.name, {})
    with tape.masked(block.frame.mask):
        ends = {c: leaf_of(found[c]) for c in sorted({int(c) for c in giver[taker == (-1 if v is None else v)]})}
        program.held = program.held + list(ends.values())
        rows = [ends[int(g)] if t == v else zero for g, t in zip(giver, taker)]
        result = stacked(rows, lead) if rows else emptied(zero)
    result.edges = marks
    return result


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
    if a.edges and 0 in a.edges:
        return False
    if DOTS in axes:
        return a.rank > 0 and a.shape[0] == count
    return a.rank == len(axes) + 1


def _row(a, v):
    with tape.masked(None):
        shape = a.data.shape
        row = tape.reshape(tape.cut(a, a.lead, v, v + 1), shape[:a.lead] + shape[a.lead + 1:], a.lead)
        row = leaf_of(row)
        row.bound, row.edges = a.bound, edges.without_first(a.edges)
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
