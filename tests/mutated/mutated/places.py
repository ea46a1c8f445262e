"""Every place of a tree where something can be exchanged: expressions, ranges, types, statements, in the whole language."""

import dataclasses
from typing import Any, NamedTuple

from relations.syntax import (Bind, Binary, Call, Case, Declare, Define, Dim, Else, Function, Number, Path, Range, Read,
                              Reduce, Repeat, Unary, Variable, Vertex, nodes)

EXPRESSIONS = (Number, Path, Call, Read, Unary, Binary, Reduce, Else)


class Place(NamedTuple):
    node: Any
    put: Any  # put(new node)
    chain: tuple  # what it stands in, outermost first
    field: str  # of the innermost of them

    @property
    def parent(self):
        return self.chain[-1] if self.chain else None

    def inside(self, kind, field):
        """Whether it stands in this field of a node of this kind."""
        line = [*self.chain, self.node]
        return any(isinstance(a, kind) and contains(getattr(a, field), b) for a, b in zip(line, line[1:]))


def contains(tree, node):
    if isinstance(tree, (list, tuple)):
        return any(contains(item, node) for item in tree)
    return tree is node


def places(tree):
    """All places below a statement or list of statements, outer ones first."""
    if isinstance(tree, list):
        yield from _items(tree, (), "")
    else:
        yield from _fields(tree, ())


def _fields(node, chain):
    for f in dataclasses.fields(node):
        value = getattr(node, f.name)
        if dataclasses.is_dataclass(value):
            yield Place(value, lambda new, n=f.name: setattr(node, n, new), chain + (node,), f.name)
            yield from _fields(value, chain + (node,))
        elif isinstance(value, list):
            yield from _items(value, chain + (node,), f.name)


def _items(holder, chain, field):
    for k, item in enumerate(holder):
        if dataclasses.is_dataclass(item):
            yield Place(item, lambda new, k=k: holder.__setitem__(k, new), chain, field)
            yield from _fields(item, chain)
        elif isinstance(item, list):
            yield from _items(item, chain, field)
        elif isinstance(item, tuple):
            yield from _pair(holder, k, chain, field)


def _pair(holder, k, chain, field):
    """A named argument, a binding, a branch, an option: tuples of which some parts are trees."""
    for j, part in enumerate(holder[k]):
        if dataclasses.is_dataclass(part):
            def put(new, j=j):
                holder[k] = holder[k][:j] + (new,) + holder[k][j + 1:]
            yield Place(part, put, chain, field)
            yield from _fields(part, chain)
        elif isinstance(part, list):
            yield from _items(part, chain, field)


def blocks(statements):
    """All lists of statements: the file, bodies of functions, rounds, branches."""
    yield statements
    for n in nodes(statements):
        if isinstance(n, (Function, Vertex, Repeat)) or type(n).__name__ in ("While", "Optimizer"):
            yield n.body
        elif isinstance(n, Case):
            yield from (body for _, body in n.branches)


def is_expression(place):
    return isinstance(place.node, EXPRESSIONS)


def is_value(place):
    """An expression that computes an element: no subscript, no bound, no type."""
    return (is_expression(place) and not place.inside(Read, "subscripts") and place.field != "base"
            and not isinstance(place.parent, (Range, Variable, Dim, Else)) and not place.inside(Range, "upper")
            and not place.inside(Range, "lower") and any(isinstance(c, (Define, Bind, Declare)) for c in place.chain))
