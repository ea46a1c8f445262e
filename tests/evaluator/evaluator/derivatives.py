"""Derivatives of a program as it is written, in forward mode: by dual numbers (duals.py)."""

import numpy as np

from . import duals


def along(*directions):
    """A `move` for Program: tensors move along each of the directions, dictionaries of arrays by name, on top of how they
    move already. The first direction is that of level 1, the innermost."""
    def move(name, data, point):
        for level, direction in enumerate(directions, 1):
            if name in direction:
                part = np.asarray(direction[name], np.float64)[point].reshape(np.shape(data))
                data = data + duals.Dual(level, np.zeros(part.shape), part)
        return data
    return move
