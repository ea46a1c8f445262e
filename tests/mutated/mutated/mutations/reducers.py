"""Reducers: their kinds, conditions, and one in another."""

import copy

from relations.syntax import DOTS, Binary, Read, Reduce, Unary, nodes, num, path, plus

from .parts import COMPARISONS, choose, outer_names, put, say

GROUPS = ("sum prod max min mean logsumexp".split(), "argmax argmin max".split(), "any all".split())


def reduction_split(r, statements):
    """A reducer over several indices is two, of which the inner one may be of another kind."""
    p = choose(r, statements, lambda p: isinstance(p.node, Reduce) and len(p.node.ranges) > 1 and p.node.where is None)
    if not p:
        return None
    at = r.randrange(1, len(p.node.ranges))
    inner = Reduce(0, r.choice((p.node.kind, "sum", "max")), p.node.ranges[at:], None, p.node.body)
    return put(p, Reduce(0, p.node.kind, p.node.ranges[:at], None, inner))


def reduction_kind(r, statements):
    """A reducer is one of another kind."""
    p = choose(r, statements, lambda p: isinstance(p.node, Reduce))
    if not p:
        return None
    before = p.node.kind
    group = next(g for g in GROUPS if before in g)
    p.node.kind = r.choice([k for k in group if k != before])
    return f"{before} -> {p.node.kind}"


def condition_changed(r, statements):
    """A `where` is gone, new, negated or has one more condition."""
    p = choose(r, statements, lambda p: isinstance(p.node, Reduce))
    if not p:
        return None
    before, node = say(p.node), p.node
    own = [x.name for x in node.ranges if x.name is not DOTS]
    names = own + outer_names(p)
    if not names:
        return None
    k = r.randrange(4)
    new = Binary(0, r.choice(COMPARISONS), path(r.choice(own or names)),
                 r.choice((num(r.choice((0, 1, 2))), path(r.choice(names)), plus(path(r.choice(names)), 1))))
    reads = [n for n in nodes(node.body) if isinstance(n, Read)]
    if reads and r.random() < 0.3:
        new = Binary(0, r.choice(COMPARISONS), copy.deepcopy(r.choice(reads)), num(r.choice((0, 1))))
    if node.where is None:
        node.where = new
    elif k == 0:
        node.where = None
    elif k == 1:
        node.where = Unary(0, "not", node.where)
    else:
        node.where = Binary(0, r.choice(("and", "or")), *r.sample([node.where, new], 2))
    return f"{before} -> {say(node)}"


TABLE = {reduction_split: 2, reduction_kind: 4, condition_changed: 6}
