"""Functions of models/std/schedule.expr, for traced functions."""
from .trace.std import functions_of

globals().update(functions_of("schedule"))
__all__ = list(functions_of("schedule"))
