"""The reads in an expression, from which indices take their extents: docs/language.md, "Ranges" and "Any rank"."""

from .tree import DOTS, Binary, Call, Else, Path, Range, Read, Reduce, Unary


def children(node):
    """The expressions directly inside of one."""
    if isinstance(node, Read):
        return ([node.base] if isinstance(node.base, Call) else []) + [s for s in node.subscripts if s is not DOTS]
    if isinstance(node, Call):
        return [a for _, a in node.args]
    if isinstance(node, Unary):
        return [node.a]
    if isinstance(node, Binary):
        return [node.a, node.b]
    if isinstance(node, Else):
        return [node.read, node.value]
    if isinstance(node, Reduce):
        bounds = [b for r in node.ranges for b in (r.lower, r.upper) if b is not None]
        return bounds + ([node.where] if node.where is not None else []) + [node.body]
    return []


def reads(node, guarded=False):
    """All reads in an expression, with whether they are guarded by `else`."""
    if isinstance(node, Else):
        yield from reads(node.read, True)
        yield from reads(node.value, guarded)
        return
    if isinstance(node, Read):
        yield node, guarded
        guarded = False  # what stands in a subscript is not
    for child in children(node):
        yield from reads(child, guarded)


def names(node):
    """The single names that an expression mentions, and DOTS where it does."""
    found = set()
    if isinstance(node, Path):
        found.add(node.names[0])
    if isinstance(node, Read):
        if isinstance(node.base, Path):
            found.add(node.base.names[0])
        if any(s is DOTS for s in node.subscripts):
            found.add(DOTS)
    if isinstance(node, Reduce) and any(isinstance(r, Range) and r.name is DOTS for r in node.ranges):
        found.add(DOTS)
    for child in children(node):
        found |= names(child)
    return found


def places(read, name, rank):
    """The dimensions of a tensor of this rank that an index subscripts alone in a read."""
    dots = next((k for k, s in enumerate(read.subscripts) if s is DOTS), None)
    for k, s in enumerate(read.subscripts):
        if isinstance(s, Path) and s.names == (name,):
            yield k if dots is None or k < dots else rank - len(read.subscripts) + k


def dots_dimensions(read, rank):
    """The dimensions for which `..` stands in a read, or None where it has none."""
    for k, s in enumerate(read.subscripts):
        if s is DOTS:
            return range(k, k + rank - len(read.subscripts) + 1)
    return None
