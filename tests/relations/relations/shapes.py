"""Sizes, indices and tensors of a program that is drawn."""

import re
from dataclasses import dataclass


@dataclass
class Size:
    text: str
    value: int
    fixed: bool  # known at compile time


@dataclass
class Index:
    name: str
    low: object  # numbers that enclose it, or None
    high: object  # exclusive
    size: object = None  # it runs from 0 to exactly this size


@dataclass(eq=False)
class Tensor:
    name: str
    kind: str  # f, i or b
    shape: list
    role: str
    below: object = None  # elements of integers are in [0, below), which the declaration says
    deps: frozenset = frozenset()


def rename(text, table):
    return re.sub(r"[A-Za-z_]\w*", lambda m: table.get(m[0], m[0]), text)
