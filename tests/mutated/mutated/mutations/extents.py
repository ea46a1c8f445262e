"""Extents and sizes."""

from relations.syntax import Dim, Number, Range, Reduce, Variable, nodes, num, path

from ..places import places
from .parts import choose, declare, fresh, put


def extent(r, statements):
    """A constant extent or size is another one, or known when the model runs."""
    p = choose(r, statements, lambda p: isinstance(p.node, Number) and type(p.node.value) is int and
               (isinstance(p.parent, (Dim, Variable)) or isinstance(p.parent, Range) and not _in_reducer_range(p)))
    if not p:
        return None
    return put(p, num(r.choice((0, 1, 2, p.node.value + 1, max(p.node.value - 1, 0), 5))))


def all_extents(r, statements):
    """Each occurrence of a number as an extent is another one, or a size that is known when the model runs."""
    at = [p for p in places(statements) if isinstance(p.node, Number) and type(p.node.value) is int and
          isinstance(p.parent, (Variable, Range)) and p.node.value > 0]
    if not at:
        return None
    old = r.choice(at).node.value
    if r.random() < 0.4:
        name = fresh(statements, "N")
        for p in at:
            if p.node.value == old:
                p.put(path(name))
        declare(statements, Dim(0, name, None, num(r.choice((0, 1))), num(old + r.choice((0, 0, 3)))))
        return f"{old} -> a size {name}"
    new = r.choice((1, 2, old + 1, max(old - 1, 1), 2*old, 0))
    for p in at:
        if p.node.value == old:
            p.put(num(new))
    return f"{old} -> {new} everywhere"


def size_kind(r, statements):
    """A constant size is known when the model runs, or may be empty; one that was so is constant."""
    sizes = [s for s in nodes(statements) if isinstance(s, Dim)]
    if not sizes:
        return None
    s = r.choice(sizes)
    if s.value is None and r.random() < 0.5:
        s.value, s.lower, s.upper = num(r.choice((0, 1, 2, 3, 5))), None, None
        return f"dim {s.name} is constant"
    if s.value is None:
        s.lower = num(0)
        return f"dim {s.name} may be 0"
    if isinstance(s.value, Number):
        s.lower, s.upper, s.value = num(r.choice((0, 1))), s.value, None
        return f"dim {s.name} is known when the model runs"
    return None


def _in_reducer_range(p):
    return len(p.chain) > 1 and isinstance(p.chain[-2], Reduce)


TABLE = {extent: 4, all_extents: 4, size_kind: 3}
