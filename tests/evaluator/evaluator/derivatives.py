"""Derivatives of a program as it is written, in forward mode: by dual numbers (duals.py)."""

import numpy as np

from . import duals


def along(*directions):
    """A `move` for Program: tensors have tangents along each of the directions, dictionaries of arrays by name. The first is level 1, the
    innermost."""
    def move(name, data):
        for level, direction in enumerate(directions, 1):
            if name in direction:
                data = duals.Dual(level, data, np.asarray(direction[name], np.float64).reshape(np.shape(data)))
        return data
    return move
