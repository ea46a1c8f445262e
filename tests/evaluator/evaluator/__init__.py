"""An evaluator of `.expr` models on numpy, for comparison with the compiler. See main.py beside this folder."""

import os
import sys

import numpy as np

from .errors import ExprError
from .outputs import outputs
from .program import Program

__all__ = ["ExprError", "Program", "STANDARD", "evaluate", "evaluate_all"]

DEEPEST = 100000  # an element that reads itself waits for the one before
STANDARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "models", "std")


def evaluate(text_or_path, inputs, sizes=None, entry="forward", folders=(), step=0, seed=0):
    """The outputs of an entry, by name, as numpy arrays (floats as float64, integers as int64).

    `text_or_path`: the model's text, or the name of a file that ends in .expr. `inputs`: arrays (or numbers) for its
    inputs, parameters, states and settings by their full names; what is not given takes its default or its initial
    value. `sizes`: values for `dim`s, those of constants and of run-time sizes that no input tells. `step` finished
    training steps and the `seed` are keys of random numbers. Raises ExprError.
    """
    return evaluate_all(text_or_path, inputs, sizes, entry, folders, step, seed)[0]


def evaluate_all(text_or_path, inputs, sizes=None, entry="forward", folders=(), step=0, seed=0):
    """As evaluate, and what the entry leaves in the parameters and states that it changes: two dictionaries."""
    if text_or_path.endswith(".expr"):
        with open(text_or_path, encoding="utf-8") as file:
            text, folder = file.read(), os.path.dirname(os.path.abspath(text_or_path))
    else:
        text, folder = text_or_path, None
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))
    with np.errstate(all="ignore"):
        program = Program(text, inputs, sizes, list(folders) + [STANDARD], folder, step=step, seed=seed)
        return outputs(program, entry)
