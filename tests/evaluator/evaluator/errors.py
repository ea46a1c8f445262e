"""Errors that name the line of the model."""


class ExprError(Exception):
    """The model, or a value given to it, is wrong. The message stands by itself."""


def error(line, message):
    """Raise an ExprError at a line (an int, or anything with the attribute `line`; None where there is none)."""
    line = getattr(line, "line", line)
    raise ExprError(f"line {line}: {message}" if line else message)
