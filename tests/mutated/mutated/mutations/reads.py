"""Subscripts and what is read."""

import copy

from relations.syntax import DOTS, Binary, Define, Else, Path, Read, call, nodes, num, path, plus

from ..places import is_expression, is_value
from .parts import choose, guard, is_read, outer_names, put, say


def subscript(r, statements):
    """A subscript is moved, scaled, reversed, another index, or computed."""
    p = choose(r, statements, lambda p: p.field == "subscripts" and is_expression(p))
    if not p:
        return None
    x, names = p.node, outer_names(p)
    new = [plus(x, r.choice((-1, 1))), plus(x, r.choice((-2, 2))), Binary(0, "*", num(2), x), Binary(0, "/", x, num(2)),
           Binary(0, "%", x, num(r.choice((2, 3, -3)))), Binary(0, "-", num(r.choice((1, 2, 3, 4))), x),
           call("clamp", plus(x, r.choice((-1, 1))), num(0), num(r.choice((1, 2, 3)))), num(0), num(1),
           Binary(0, "*", x, copy.deepcopy(x)), call("max", plus(x, -1), num(0)), call("abs", plus(x, -1))]
    if names:
        other = path(r.choice(names))
        new += [other, other, Binary(0, "+", x, other), Binary(0, "-", x, other)]
    new = r.choice(new)
    if not isinstance(p.parent, Read) or r.random() < 0.4:
        return put(p, new)
    return put(p, new) + guard(r, statements, p.parent)


def subscripts_swapped(r, statements):
    """The subscripts of a read are in another order."""
    p = choose(r, statements, lambda p: isinstance(p.node, Read) and len(p.node.subscripts) > 1)
    if not p:
        return None
    before = say(p.node)
    r.shuffle(p.node.subscripts)
    return f"{before} -> {say(p.node)}"


def tensor_swapped(r, statements):
    """A read is one of another tensor with as many dimensions, perhaps of the one that is being defined."""
    p = choose(r, statements, lambda p: is_read(p.node))
    if not p:
        return None
    count = len(p.node.subscripts)
    names = {n.base.names for n in nodes(statements) if is_read(n) and len(n.subscripts) == count}
    owner = next((c for c in p.chain if isinstance(c, Define)), None)
    if owner is not None and len(owner.target.indices or []) == count:
        names.add((owner.target.name,))
    names = sorted(names - {p.node.base.names})
    if not names:
        return None
    before, p.node.base = say(p.node), Path(0, r.choice(names))
    return f"{before} -> {say(p.node)}" + (guard(r, statements, p.node) if r.random() < 0.5 else "")


def recurrent(r, statements):
    """A definition reads its own element before or after."""
    p = choose(r, statements, lambda p: is_value(p) and isinstance(p.chain[0], Define) and
               any(isinstance(x.name, str) for x in p.chain[0].target.indices or []))
    if not p:
        return None
    target = next(c for c in p.chain if isinstance(c, Define)).target
    if not target.indices or any(x.name is DOTS for x in target.indices):
        return None
    subs = [path(x.name) for x in target.indices]
    k = r.randrange(len(subs))
    subs[k] = plus(subs[k], r.choice((-1, -1, -1, 1, -2)))
    own = Else(0, Read(0, path(target.name), subs), num(r.choice((0, 1, 0.5))))
    return put(p, r.choice((Binary(0, "+", p.node, Binary(0, "*", num(0.5), own)), own, Binary(0, "*", p.node, own))))


TABLE = {subscript: 10, subscripts_swapped: 3, tensor_swapped: 4, recurrent: 5}
