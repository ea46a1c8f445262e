"""Helpers of mutations: choices of places, descriptions of a change, new names and declarations."""

from relations.printer import expression, range_of
from relations.syntax import (DOTS, Define, Dim, Else, Import, Output, Path, Range, Read, Reduce, Repeat, nodes, num)

from ..places import places

COMPARISONS = "< <= > >= == !=".split()
TYPES = "f64 f32 f16 bf16 i64 i32 i8 u8 bool".split()
FLOATS, INTEGERS = TYPES[:4], TYPES[4:8]


def choose(r, statements, wanted):
    found = [p for p in places(statements) if wanted(p)]
    return r.choice(found) if found else None


def choose_range(r, statements, wanted=lambda p: True):
    return choose(r, statements, lambda p: isinstance(p.node, Range) and p.node.name is not DOTS and wanted(p))


def in_reducer(p):
    return isinstance(p.parent, Reduce)


def say(node):
    try:
        return range_of(node) if isinstance(node, Range) else expression(node)
    except (KeyError, AttributeError):
        return "" if node is None else type(node).__name__


def put(place, new):
    said = f"{say(place.node)} -> {say(new)}"
    place.put(new)
    return said


def outer_names(p):
    """Indices that are bound where a place stands."""
    found = []
    for c in p.chain:
        if isinstance(c, Repeat):
            found.append(c.index)
        found += [x.name for x in _ranges_of(c) if x is not p.node]
    return found


def outer_ranges(p):
    """Ranges that begin at 0, of the indices that are bound where a place stands."""
    return [x for c in p.chain for x in _ranges_of(c) if x is not p.node and x.lower is None]


def _ranges_of(node):
    ranges = node.ranges if isinstance(node, Reduce) else node.target.indices or [] if isinstance(node, Define) else []
    return [x for x in ranges if x.name is not DOTS]


def fresh(statements, letter):
    """A name that the program does not use yet, nor with a digit after it."""
    used = {w for n in nodes(statements) for w in _names(n)}
    return next(f"{letter}m{k}" for k in range(1000) if f"{letter}m{k}" not in used and f"{letter}m{k}0" not in used)


def _names(n):
    if isinstance(n, Path):
        return n.names[:1]
    if isinstance(n, Repeat):
        return (n.index,)
    if isinstance(n, Define):
        return n.more
    return (n.name,) if isinstance(getattr(n, "name", None), str) else ()


def declare(statements, new):
    """A declaration after the imports, and one that is no size after the sizes too."""
    before = (Import,) if isinstance(new, Dim) else (Import, Dim)
    statements.insert(max([k + 1 for k, s in enumerate(statements) if isinstance(s, before)], default=0), new)


def outputs_of(statements):
    """The paths of the first `output`, which is made where there is none."""
    found = next((s for s in statements if isinstance(s, Output)), None)
    if found is None:
        found = Output(0, "forward", [], [])
        statements.append(found)
    return found.paths


def guard(r, statements, read):
    """A default for a read outside of its tensor that has none yet."""
    place = next((q for q in places(statements) if q.node is read), None)
    if place is None or place.field == "read" and isinstance(place.parent, Else):
        return ""
    place.put(Else(0, read, num(r.choice((0, 0, 1, 0.5)))))
    return ", guarded"


def is_read(node):
    return isinstance(node, Read) and isinstance(node.base, Path)
