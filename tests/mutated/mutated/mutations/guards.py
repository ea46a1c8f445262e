"""Guarded reads and selects."""

import copy

from relations.syntax import Bind, Binary, Call, Define, Else, Number, Read, Unary, num, path, select

from ..places import places
from .parts import COMPARISONS, choose, outer_names, put


def guard_changed(r, statements):
    """A guarded read has another value outside, or no guard; one without is guarded."""
    p = choose(r, statements, lambda p: isinstance(p.node, Else) or
               (isinstance(p.node, Read) and p.field != "read" and any(isinstance(c, (Define, Bind)) for c in p.chain)))
    if not p:
        return None
    if isinstance(p.node, Read):
        return put(p, Else(0, p.node, num(r.choice((0, 1, -1, 0.5)))))
    if r.random() < 0.2:
        return put(p, p.node.read)
    other = [q.node for q in places(statements) if isinstance(q.node, Read) and q.chain[:1] == p.chain[:1]]
    new = r.choice([num(0), num(1), num(0.5), num(-2), Number(0, float("inf"))] + other[:2])
    return put(p, Else(0, p.node.read, copy.deepcopy(new)))


def select_changed(r, statements):
    """The branches of a select change places, or its condition is another."""
    p = choose(r, statements, lambda p: isinstance(p.node, Call) and p.node.path == ("select",) and len(p.node.args) == 3)
    if not p:
        return None
    (_, c), (_, a), (_, b) = p.node.args
    names = outer_names(p)
    new = [select(c, b, a), select(Unary(0, "not", c), a, b), a, b]
    if names:
        new.append(select(Binary(0, r.choice(COMPARISONS), path(r.choice(names)), num(r.choice((0, 1, 2)))), a, b))
        new.append(select(Binary(0, "and", c, Binary(0, ">", path(r.choice(names)), num(0))), a, b))
    return put(p, r.choice(new))


TABLE = {guard_changed: 4, select_changed: 3}
