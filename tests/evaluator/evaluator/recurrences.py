"""Definitions that read themselves: docs/language.md, "Recurrences".

Nothing here knows an order. An element is computed when it is asked for first, at one point of the definition's
indices; what it asks for is computed before it goes on, and an element that asks for itself is an error.
"""

import itertools

import numpy as np

from . import elements, scalars, tape
from .errors import error
from .frames import Axis
from .reads import names
from .tree import DOTS


def reads_itself(target, value, view):
    """Whether the name within the value means the definition. A carry of a loop around goes first."""
    if target.indices is None or target.name not in names(value):
        return False
    found = view.find(target.name)
    return not (found and found[0].carries)


class Itself:
    """The tensor that is being defined, as its own definition sees it."""

    def __init__(self, context, target, value, frame):
        self.context = context
        self.name = target.name
        self.target = target
        self.value = value
        self.frame = frame
        self.lead = len(frame)
        self.names = []
        self.dots = None  # how many of them `..` stands for
        self.extents = ()
        self.type = None
        self.bound = None
        self.known = {}
        self.running = set()

    @property
    def shape(self):
        return self.extents

    @property
    def rank(self):
        return len(self.target.indices) if DOTS not in [r.name for r in self.target.indices] else len(self.extents)

    def at(self, point):
        """The element at a point, with the axes of the frame."""
        if point not in self.known:
            if point in self.running:
                error(self.target, f"{self.name}{list(point)} needs itself")
            self.running.add(point)
            with tape.masked(self.frame.mask):
                self.known[point] = self.context.caller.moved(self.context.view.block, self.name, self.computed(point),
                                                              point)
            self.running.discard(point)
        return self.known[point]

    def computed(self, point):
        frame = self.frame.push([Axis(n, k, 1, e) for n, k, e in zip(self.names, point, self.extents)], self.dots)
        with tape.masked(frame.mask):
            element = settled(tape.expand(self.context.value(self.value, frame), len(frame)), self.type)
            element = elements.convert(element, self.type)
        shape = element.data.shape[:self.lead] if element.data.ndim else (1,) * self.lead
        with tape.masked(None):
            result = self.context.caller.noisy(tape.reshape(element, shape, self.lead))
        result.tracked = scalars.is_float(result.type)  # as all of the tensor is
        return result

    def stacked(self, points):
        """Elements in a row, behind the axes of the frame."""
        return in_a_row([self.at(p) for p in points], self.lead)

    def element(self, subscripts, frame, node):
        """The values of a read at the points of a frame; only points inside of the mask are computed."""
        shape = np.broadcast_shapes((1,) * len(frame), *[s.shape for s in subscripts])
        active = np.broadcast_to(frame.active(shape), shape)
        places = [np.broadcast_to(s, shape) for s in subscripts]
        for d, (s, extent) in enumerate(zip(places, self.extents)):
            outside = (s < 0) | (s >= extent)
            self.context._refuse(outside & active, s, d, extent, frame, node)
            active = active & ~outside
        if not active.any() or not frame.has_points():
            return tape.Tensor(np.zeros((1,) * len(frame), scalars.dtype(self.type)), self.type, len(frame))
        rows = np.stack([s[active] for s in places], axis=-1)
        points, inverse = np.unique(rows, axis=0, return_inverse=True)
        at = np.zeros(shape, np.int64)
        at[active] = inverse.reshape(-1)
        row = self.stacked([tuple(int(n) for n in p) for p in points])
        return self.context._element(row, [at], frame, node)

    def whole(self):
        points = list(itertools.product(*[range(n) for n in self.extents]))
        if not points:
            return tape.Tensor(np.zeros((1,) * self.lead + self.extents, scalars.dtype(self.type)), self.type, self.lead)
        row = self.stacked(points)
        with tape.masked(None):
            result = tape.reshape(row, row.data.shape[:self.lead] + self.extents, self.lead)
        result.parts = [self.known[p] for p in points]
        return result


def in_a_row(parts, lead):
    """Elements behind each other, behind the axes of the frame."""
    shape = np.broadcast_shapes(*[p.data.shape for p in parts])
    with tape.masked(None):
        rows = [tape.reshape(tape.broadcast(p, shape), shape + (1,), lead) for p in parts]
        return tape.concatenate(rows, lead)


def settled(a, kind=None):
    """The elements of a tensor: a literal has the type that the text names, or f32."""
    if a.type in scalars.LITERALS:
        return elements.convert(a, kind or "f32")
    return elements.retype(a, "i64") if a.type == "index" else a


def define(context, target, value, frame, axes):
    """The tensor of a definition that reads itself. `axes` gives the names and extents of its indices."""
    itself = context.itself = Itself(context, target, value, frame)
    inner = axes(frame)
    own = inner.axes[len(frame):]
    itself.dots = inner.dots
    itself.names, itself.extents = [a.name for a in own], tuple(a.count for a in own)
    itself.type = context.view.kind(target.type) if target.type else _type(context, itself, value, inner)
    return itself.whole()


def _type(context, itself, value, inner):
    """The type that the elements have if what the value reads of them has it."""
    for kind in ("f32", "f64", "f16", "bf16", "i32", "i64", "i8", "u8", "bool"):
        itself.type = kind
        found = context.type_of(value, inner, False)
        if {"int": "f32", "float": "f32", "index": "i64"}.get(found, found) == kind:
            return kind
    error(itself.target, f"the type of '{itself.name}' is not known: declare it")
