"""Ranges: their ends, their number."""

import copy

from relations.syntax import Binary, Declare, Dim, Range, Read, Reduce, Type, Variable, names_in, nodes, num, path, plus

from ..places import is_expression, places
from .parts import choose, choose_range, declare, fresh, in_reducer, outer_names, outer_ranges, say


def bound_shifted(r, statements):
    """An end of a range is one further or one less far."""
    p = choose_range(r, statements, lambda p: p.node.upper is not None or in_reducer(p))
    if not p:
        return None
    before = say(p.node)
    ends = [e for e in ("upper", "lower") if getattr(p.node, e) is not None]
    if in_reducer(p) and p.node.lower is None and (not ends or r.random() < 0.6):
        p.node.lower = num(r.choice((-3, -2, -1, -1, 1, 1, 2)))
    else:
        e = r.choice(ends)
        setattr(p.node, e, plus(getattr(p.node, e), r.choice((-2, -1, -1, 1, 1, 2))))
    return f"{before} -> {say(p.node)}"


def bound_replaced(r, statements):
    """An end of a range is a small number, another index, or a size of the program."""
    p = choose_range(r, statements, lambda p: in_reducer(p) or p.node.upper is not None)
    if not p:
        return None
    before = say(p.node)
    outer = outer_names(p)
    sizes = [s.name for s in nodes(statements) if isinstance(s, Dim)]
    new = [num(k) for k in (0, 1, 2, 3)] + [path(n) for n in sizes]
    if in_reducer(p):
        new += [path(n) for n in outer] + [plus(path(n), 1) for n in outer] + [plus(path(n), -1) for n in outer]
    e = r.choice(("upper", "upper", "lower")) if in_reducer(p) else "upper"
    setattr(p.node, e, r.choice(new))
    return f"{before} -> {say(p.node)}"


def bound_closed(r, statements):
    """< is <=, or the other way round."""
    p = choose_range(r, statements, lambda p: p.node.upper is not None or p.node.lower is not None)
    if not p:
        return None
    before = say(p.node)
    if p.node.upper is not None and (p.node.lower is None or r.random() < 0.5):
        p.node.upper_closed = not p.node.upper_closed
    else:
        p.node.lower_open = not p.node.lower_open
    return f"{before} -> {say(p.node)}"


def bound_given(r, statements):
    """An end of a reducer's range is read from data: a scalar, or an element for each of an outer index."""
    p = choose_range(r, statements, in_reducer)
    k = r.choice((1, 2, 3, 4))
    if not p:
        return None
    before, name = say(p.node), fresh(statements, "n")
    outer = [x for x in outer_ranges(p) if x.upper is not None and not names_in(x.upper) and not x.upper_closed]
    lower = num(-1) if r.random() < 0.3 else None
    if outer and r.random() < 0.6:
        x = r.choice(outer)
        declared = Variable(0, name, [copy.deepcopy(x.upper)], Type("i32", num(k + 1), False, lower))
        new = Read(0, path(name), [path(x.name)])
    else:
        declared, new = Variable(0, name, None, Type("i32", num(k + 1), False, lower)), path(name)
    e = r.choice(("upper", "upper", "lower"))
    setattr(p.node, e, new)
    declare(statements, Declare(0, "input", declared, None))
    return f"{before} -> {say(p.node)}, given"


def range_dropped(r, statements):
    """A reducer binds one index less, or twice the same extent."""
    p = choose(r, statements, lambda p: isinstance(p.node, Reduce) and len(p.node.ranges) > 1)
    if not p:
        return None
    before = say(p.node)
    if r.random() < 0.5:
        r.shuffle(p.node.ranges)
    else:
        p.node.ranges.pop(r.randrange(len(p.node.ranges)))
    return f"{before} -> {say(p.node)}"


def range_added(r, statements):
    """A definition or a reducer has one index more, which may be used in place of a number or another index."""
    p = choose(r, statements, lambda p: isinstance(p.node, Reduce) and p.node.kind not in ("argmax", "argmin"))
    if not p:
        return None
    name = fresh(statements, "k")
    p.node.ranges.append(Range(0, name, num(-1) if r.random() < 0.3 else None, False, num(r.choice((1, 2, 3)))))
    inner = [q for q in places(p.node) if is_expression(q) and q.field == "subscripts"]
    if inner:
        q = r.choice(inner)
        q.put(r.choice((path(name), Binary(0, "+", q.node, path(name)), Binary(0, "-", q.node, path(name)))))
    return f"reducer over {name}: {say(p.node)}"


TABLE = {bound_shifted: 8, bound_replaced: 6, bound_closed: 3, bound_given: 4, range_dropped: 2, range_added: 2}
