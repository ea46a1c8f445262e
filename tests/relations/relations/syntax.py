"""The tree of tests/evaluator, which shares nothing with the compiler, and ways to walk, copy and make it."""

import dataclasses
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "evaluator"))

from evaluator.errors import ExprError  # noqa: E402,F401
from evaluator.parser import parse as _parse  # noqa: E402
from evaluator.tree import *  # noqa: E402,F401,F403
from evaluator.tree import (DOTS, Binary, Call, Define, Else, Number, Path, Range, Read, Reduce, Target,  # noqa: E402
                            Unary)


def _is_node(tree):
    return hasattr(tree, "__dataclass_fields__")


def clone(tree):
    """A copy that shares nothing which can change."""
    if isinstance(tree, list):
        return [clone(item) for item in tree]
    if isinstance(tree, tuple):
        return tuple(clone(item) for item in tree)
    if not _is_node(tree):
        return tree
    new = object.__new__(type(tree))
    new.__dict__.update((name, clone(value)) for name, value in tree.__dict__.items())
    return new


def parse(text):
    """The statements of a text, which the caller may change."""
    return clone(_parse(text))


def same(a, b):
    """Whether two trees are equal but for their lines."""
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(same, a, b))
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and all(
            same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a) if f.name != "line")
    return type(a) is type(b) and (a == b or (a != a and b != b))


def nodes(tree):
    """All nodes below and at a tree or list of trees, outer ones first."""
    waiting = [tree]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (list, tuple)):
            waiting.extend(reversed(item))
        elif _is_node(item):
            yield item
            waiting.extend(reversed(item.__dict__.values()))


def rewrite(tree, change):
    """The tree with `change(node)` in place of each node for which it is not None; such nodes are not entered."""
    if isinstance(tree, list):
        return [rewrite(item, change) for item in tree]
    if isinstance(tree, tuple):
        return tuple(rewrite(item, change) for item in tree)
    if not _is_node(tree):
        return tree
    new = change(tree)
    if new is not None:
        return new
    new = object.__new__(type(tree))
    new.__dict__.update((name, rewrite(value, change)) for name, value in tree.__dict__.items())
    return new


def names_in(tree):
    """Names that are read in a tree."""
    return {n.names[0] for n in nodes(tree) if isinstance(n, Path)} | {n.path[0] for n in nodes(tree) if isinstance(n, Call)}


def bound_in(tree):
    """Indices that reducers in a tree bind."""
    return {r.name for n in nodes(tree) if isinstance(n, Reduce) for r in n.ranges}


def substitute(tree, values):
    """A tree with expressions in place of names; the caller sees to it that nothing is captured."""
    def change(node):
        if isinstance(node, Path) and len(node.names) == 1 and node.names[0] in values:
            return clone(values[node.names[0]])
        return None
    return rewrite(tree, change)


# ---- making trees


def num(value):
    if not isinstance(value, bool) and value < 0:
        return Unary(0, "-", Number(0, -value))
    return Number(0, value)


def path(name):
    return Path(0, (name,))


def read(name, *subscripts):
    return Read(0, path(name), list(subscripts)) if subscripts else path(name)


def binary(op, a, b):
    return Binary(0, op, a, b)


def plus(a, k):
    """a + k of a number k."""
    if not k:
        return a
    return Binary(0, "+" if k > 0 else "-", a, Number(0, abs(k)))


def call(name, *args):
    return Call(0, (name,), [(None, a) for a in args])


def select(c, a, b):
    return call("select", c, a, b)


def else_(r, value):
    return Else(0, r, value)


def below(name, upper):
    return Range(0, name, None, False, upper)


def between(lower, name, upper):
    return Range(0, name, lower, False, upper)


def define(name, ranges, value, kind=None):
    return Define(0, Target(0, name, ranges or None, kind), [], value)
