"""Functions of models/std/vision.expr, for traced functions."""
from .trace.std import functions_of

globals().update(functions_of("vision"))
__all__ = list(functions_of("vision"))
