"""Lists of edges: docs/language.md, "Dynamic structures".

A dimension of `G.edges` is told from others of the same number by a mark: `Tensor.edges` says of which list the elements
along a dimension are. In a vertex function an index without a bound that subscripts such a dimension runs over all edges,
under a mask with those of the vertex at hand.
"""

import numpy as np

from .errors import error
from .frames import Axis
from .tree import DOTS, Path, Range


class Extent(int):
    """How many edges a list has, and which list that is."""
    edges = None


class EdgeList:
    """Vertex v has the edges begin[v] .. begin[v + 1] - 1."""

    def __init__(self, begin, child):
        self._begin, self._child = begin, child

    @property
    def child(self):
        return self._child().data

    @property
    def owner(self):
        begin = self._begin().data
        return np.repeat(np.arange(len(begin) - 1), np.diff(begin))

    def degree(self, v):
        begin = self._begin().data
        return int(begin[v + 1] - begin[v])

    def ends(self, down):
        """By edge: the vertex whose scattered values it brings, and the one that gathers them."""
        return (self.owner, self.child) if down else (self.child, self.owner)


def checked(list_, s, name):
    """A list as the language has it, or an error."""
    begin, child = list_._begin().data, list_.child
    if begin[0] != 0 or (np.diff(begin) < 0).any() or begin[-1] != len(child):
        error(s, f"{name}.begin: offsets begin with 0, never fall and end with the number of edges")
    if (child < 0).any() or (child >= list_.owner).any():
        error(s, f"{name}.child: a child does not come before its vertex")


# ---- marks


def named(view, node):
    """The list whose number of edges an expression names; None where it is something else."""
    if not isinstance(node, Path) or len(node.names) < 2 or node.names[-1] != "edges":
        return None
    return getattr(view.lookup(node.names[:-1], node.line), "list", None)


def declared(view, axes):
    """The marks of a declaration."""
    marks = {}
    for d, axis in enumerate(axes or []):
        if axis is DOTS:
            return marks or None
        found = named(view, axis.upper if isinstance(axis, Range) and not axis.upper_closed else axis)
        if found:
            marks[d] = found
    return marks or None


def extent(tensor, d):
    """An extent, which knows the list that it counts the edges of."""
    n = Extent(tensor.shape[d])
    n.edges = (getattr(tensor, "edges", None) or {}).get(d)
    return n


def of_axes(axes):
    """The marks of a tensor with these indices."""
    return {d: a.edges for d, a in enumerate(axes) if a.edges} or None


def without_first(marks):
    return {d - 1: x for d, x in marks.items() if d} or None if marks else None


# ---- the vertex at hand


def vertex_of(view):
    """The call of a vertex function around, and its vertex; None where there is none."""
    while view:
        if view.block.vertex:
            return view.block.vertex
        view = view.block.parent
    return None


def own(axis, view):
    """The edges of the current vertex along an axis; None: the axis is no axis of edges."""
    around = vertex_of(view) if axis.edges else None
    if not around or axis.edges not in around[0].lists:
        return None
    state, v = around
    _, taker = axis.edges.ends(state.text.down)
    return taker == (-1 if v is None else v)


def pushed(frame, view, names, extents, dots=None):
    """The frame with further indices, which start at 0: those of edges under the mask of the vertex at hand."""
    axes = [Axis(n, 0, max(0, int(e)), None, getattr(e, "edges", None)) for n, e in zip(names, extents)]
    inner = frame.push(axes, dots)
    for k, axis in enumerate(axes, len(frame)):
        mine = own(axis, view)
        if mine is not None:
            inner = inner.under(mine.reshape((1,) * k + (-1,) + (1,) * (len(inner) - k - 1)))
    return inner
