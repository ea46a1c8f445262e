"""Frames: the indices around an expression, as axes of a grid on which it is computed."""

from typing import Any, NamedTuple

import numpy as np

from . import tape
from .elements import integer_tensor


class Axis(NamedTuple):
    name: Any  # a str, ("..", k) for the k-th index of `..`, or None where it is out of sight
    lower: int
    count: int
    end: Any = None  # of the index, where the axis holds one of its values: a recurrence computes one element at a time
    edges: Any = None  # the list whose edges it runs over (edges.py)


class Frame:
    """Axes, outermost first, and a mask over them: which points there are (None: all)."""

    def __init__(self, axes=(), mask=None, dots=None):
        self.axes = tuple(axes)
        self.mask = mask
        self.dots = dots  # how many indices `..` stands for, None where it is not bound

    def __len__(self):
        return len(self.axes)

    def find(self, name):
        for k, axis in enumerate(self.axes):
            if axis.name == name:
                return k
        return None

    def grid(self, k, positions=False):
        """The values of index k (or their positions from 0), along its axis."""
        axis = self.axes[k]
        lower = 0 if positions else axis.lower
        shape = [1] * len(self.axes)
        shape[k] = axis.count
        return np.arange(lower, lower + axis.count, dtype=np.int64).reshape(shape)

    def index(self, k):
        return integer_tensor(self.grid(k), "index")

    def push(self, axes, dots=None):
        mask = self.mask
        if mask is not None:
            mask = mask.reshape(mask.shape + (1,) * len(axes))
        return Frame(self.axes + tuple(axes), mask, self.dots if dots is None else dots)

    def under(self, condition):
        """The points where the bool array holds too."""
        count = len(self.axes)
        if 0 < condition.ndim < count:
            condition = condition.reshape(condition.shape + (1,) * (count - condition.ndim))
        if condition.ndim == 0 and count:
            condition = condition.reshape((1,) * count)
        if self.mask is None and condition.all():
            return self
        mask = condition if self.mask is None else self.mask & condition
        return Frame(self.axes, mask, self.dots)

    def hidden(self):
        """As a function sees it that is called here: the axes without their names."""
        return Frame([Axis(None, a.lower, a.count, a.end, a.edges) for a in self.axes], self.mask)

    def has_points(self):
        """False where the range of an index is empty: arrays may not have its axis, and what they hold is then of no
        point."""
        return all(a.count for a in self.axes)

    def active(self, shape):
        """The mask for an array of this shape (or True)."""
        return True if self.mask is None else tape.fit(self.mask, shape)
