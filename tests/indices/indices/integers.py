"""Integers of the language's types: Python's, wrapped."""

WIDTH = {"i64": 64, "i32": 32, "i8": 8}
TYPES = ["i64", "i32", "i8", "u8"]


def wrap(x, kind):
    """x as a number of that type."""
    if kind == "u8":
        return x % 256
    half = 1 << (WIDTH[kind] - 1)
    return (x + half) % (2 * half) - half


def ends(kind):
    """The least number of a type, and the largest."""
    if kind == "u8":
        return 0, 255
    half = 1 << (WIDTH[kind] - 1)
    return -half, half - 1


def divide(a, b):
    return a // b if b else 0


def remainder(a, b):
    return a % b if b else 0


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": divide,
    "%": remainder,
    "min": min,
    "max": max,
}

RELATIONS = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
