"""The sites of expressions: the indices that are bound there, the block that a new definition would go to, and types.

All ranges are expected to be written out; a site under one that is not is left alone by those who need its ends."""

from dataclasses import dataclass
from typing import Any

from .syntax import (Binary, Bind, Call, Declare, Define, Dim, Else, Number, Path, Range, Read, Reduce, Repeat, Unary,
                     binary, bound_in, names_in, num)

INTEGERS = ("i64", "i32", "i8", "u8")
FLOATS = ("f64", "f32", "f16", "bf16")
_BOOLS = ("==", "!=", "<", "<=", ">", ">=", "and", "or")


@dataclass
class Site:
    node: Any
    put: Any  # put(new node)
    binders: list  # ranges, outer ones first
    role: str  # value, condition, subscript, bound, guarded (the read of an `else`)
    block: list
    statement: Any
    owners: tuple  # names that the statement defines

    def free(self):
        """The binders that the expression uses."""
        used = names_in(self.node) - bound_in(self.node)
        return [r for r in self.binders if r.name in used]


def sites(statements):
    """All expressions of definitions, and of what rounds define."""
    for s in statements:
        if isinstance(s, Define):
            owners = (s.target.name, *s.more)
            if isinstance(s.value, Repeat):
                for k, (target, _) in enumerate(s.value.carries):
                    yield from _visit(s.value.carries[k][1], _pair(s.value.carries, k), target.indices or [], "value",
                                      statements, s, owners)
                yield from sites(s.value.body)
            else:
                yield from _visit(s.value, _attribute(s, "value"), s.target.indices or [], "value", statements, s, owners)
        elif isinstance(s, Bind):
            for k, (target, _) in enumerate(s.bindings):
                yield from _visit(s.bindings[k][1], _pair(s.bindings, k), target.indices or [], "value", statements, s,
                                  (target.name,))


def _attribute(holder, name):
    return lambda new: setattr(holder, name, new)


def _item(holder, k):
    def put(new):
        holder[k] = new
    return put


def _pair(holder, k):
    def put(new):
        holder[k] = (holder[k][0], new)
    return put


def _visit(node, put, binders, role, *place):
    if not isinstance(node, (Number, Path, Call, Read, Unary, Binary, Reduce, Else)):
        return
    yield Site(node, put, binders, role, *place)
    if isinstance(node, Read):
        for k, s in enumerate(node.subscripts):
            yield from _visit(s, _item(node.subscripts, k), binders, "subscript", *place)
    elif isinstance(node, Call):
        if node.path != ("grad",):
            for k, (_, a) in enumerate(node.args):
                inner = "condition" if node.path == ("select",) and k == 0 else role
                yield from _visit(a, _pair(node.args, k), binders, inner, *place)
    elif isinstance(node, Unary):
        yield from _visit(node.a, _attribute(node, "a"), binders, role, *place)
    elif isinstance(node, Binary):
        yield from _visit(node.a, _attribute(node, "a"), binders, role, *place)
        yield from _visit(node.b, _attribute(node, "b"), binders, role, *place)
    elif isinstance(node, Else):
        yield from _visit(node.read, _attribute(node, "read"), binders, "guarded", *place)
        yield from _visit(node.value, _attribute(node, "value"), binders, role, *place)
    elif isinstance(node, Reduce):
        inner = list(binders)
        for r in node.ranges:
            for end in ("lower", "upper"):
                if getattr(r, end) is not None:
                    yield from _visit(getattr(r, end), _attribute(r, end), list(inner), "bound", *place)
            inner.append(r)
        if node.where is not None:
            yield from _visit(node.where, _attribute(node, "where"), inner, "condition", *place)
        yield from _visit(node.body, _attribute(node, "body"), inner, role, *place)


# ---- arithmetic on bounds


def fold(op, a, b):
    """a op b of sizes, with numbers computed."""
    x, y = constant(a), constant(b)
    if x is not None and y is not None:
        return num(x + y if op == "+" else x - y)
    if y is not None and isinstance(a, Binary) and a.op in "+-" and constant(a.b) is not None:
        inner = constant(a.b) * (1 if a.op == "+" else -1)
        return offset(a.a, inner + (y if op == "+" else -y))
    if y is not None:
        return offset(a, y if op == "+" else -y)
    if x == 0 and op == "+":
        return b
    return binary(op, a, b)


def offset(a, k):
    x = constant(a)
    if x is not None:
        return num(x + k)
    if not k:
        return a
    return binary("+" if k > 0 else "-", a, Number(0, abs(k)))


def constant(node):
    """The number that an expression is, or None."""
    if isinstance(node, Number) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    if isinstance(node, Unary) and node.op == "-":
        a = constant(node.a)
        return None if a is None else -a
    if isinstance(node, Binary) and node.op in "+-*":
        a, b = constant(node.a), constant(node.b)
        if a is not None and b is not None:
            return {"+": a + b, "-": a - b, "*": a * b}[node.op]
    return None


def first(r):
    """The first value of a range."""
    if r.lower is None:
        return num(0)
    return offset(r.lower, 1) if r.lower_open else r.lower


def end(r):
    """The position just past a range."""
    return offset(r.upper, 1) if r.upper_closed else r.upper


class Scope:
    """Names of a program: what they are, their types and extents."""

    def __init__(self, statements):
        self.types, self.extents, self.dims = {}, {}, {}
        self._statements(statements)

    def _statements(self, statements):
        for s in statements:
            if isinstance(s, Dim):
                self.dims[s.name] = s
            elif isinstance(s, Declare):
                v = s.variable
                self.types[v.name] = v.type.name if v.type else "f32"
                self.extents[v.name] = [a.upper if isinstance(a, Range) else a for a in v.axes or []]
            elif isinstance(s, Define):
                if isinstance(s.value, Repeat):
                    self._rounds(s)
                elif not s.more:
                    self._target(s.target, s.value)

    def _target(self, target, value):
        kind = target.type.name if target.type else None
        self.extents[target.name] = [r.upper for r in target.indices or []]
        if isinstance(value, Call) and value.path == ("grad",) and len(value.args) == 2:
            of = value.args[1][1]
            if isinstance(of, Path):
                self.types[target.name] = self.types.get(of.names[0])
                self.extents[target.name] = self.extents.get(of.names[0])
            return
        kind = kind or self.type(value, {r.name for r in target.indices or []})
        if kind == "literal":
            kind = "f32"
        self.types[target.name] = "i64" if kind == "index" else kind

    def _rounds(self, s):
        region, results = s.value, [s.target.name, *s.more]
        for target, value in region.carries:
            self._target(target, value)
        carried = {t.name: (self.types.get(t.name), self.extents.get(t.name)) for t, _ in region.carries}
        collected = [n for b in region.body if type(b).__name__ == "Collect" for n in b.names]
        self._statements(region.body)
        for n, c in zip(results, [t.name for t, _ in region.carries] + collected):
            if c not in carried:
                continue
            kind, extents = carried[c]
            self.types[n] = kind
            stacked = results.index(n) >= len(region.carries)
            self.extents[n] = [region.count] * stacked + (extents or [])

    def size_like(self, node, indices=()):
        """Whether an expression is made of sizes and numbers alone."""
        return all(n in self.dims for n in names_in(node) - set(indices)) and not any(
            isinstance(x, (Read, Call, Reduce, Else)) for x in [node])

    def type(self, node, indices):
        """f32, i32, bool .., or index, literal, None where it is not told."""
        if isinstance(node, Number):
            return "bool" if isinstance(node.value, bool) else "literal"
        if isinstance(node, Path):
            name = node.names[0]
            if name in indices or name in self.dims:
                return "index"
            return self.types.get(name) if self.extents.get(name) == [] else None
        if isinstance(node, Read):
            return self.types.get(node.base.names[0]) if isinstance(node.base, Path) else None
        if isinstance(node, Else):
            return self.type(node.read, indices)
        if isinstance(node, Unary):
            return "bool" if node.op == "not" else self.type(node.a, indices)
        if isinstance(node, Binary):
            return "bool" if node.op in _BOOLS else self._join([node.a, node.b], indices)
        if isinstance(node, Reduce):
            if node.kind in ("any", "all"):
                return "bool"
            if node.kind in ("argmax", "argmin"):
                return "i32"
            inner = set(indices) | {r.name for r in node.ranges}
            kind = self.type(node.body, inner)
            return kind
        if isinstance(node, Call):
            name = node.path[0]
            if len(node.path) > 1:
                return None
            if name in FLOATS + INTEGERS:
                return name
            args = [a for _, a in node.args]
            if name == "select":
                return self._join(args[1:], indices)
            if name in ("grad", "stop", "rand"):
                return None
            if name == "wide":
                kind = self.type(args[0], indices)
                return {"f16": "f32", "bf16": "f32", "i8": "i32", "u8": "i32"}.get(kind, kind)
            return self._join(args, indices)
        return None

    def _join(self, args, indices):
        kinds = [self.type(a, indices) for a in args]
        if None in kinds:
            return None
        typed = {k for k in kinds if k not in ("literal", "index")}
        if len(typed) > 1:
            return None
        if typed:
            kind = typed.pop()
            return "index" if "index" in kinds and kind in INTEGERS else kind
        return "index" if "index" in kinds else "literal"

    def hull(self, node, binders, top):
        """The largest (`top`) or smallest value of a bound, in sizes; None where that is not told."""
        if constant(node) is not None:
            return node
        if isinstance(node, Path):
            name = node.names[0]
            r = next((b for b in binders if b.name == name), None)
            if r is None:
                return node if name in self.dims else None
            if top:
                h = None if r.upper is None else self.hull(end(r), binders[:binders.index(r)], True)
                return None if h is None else offset_of(h, -1)
            return self.hull(first(r), binders[:binders.index(r)], False)
        if isinstance(node, Unary) and node.op == "-":
            h = self.hull(node.a, binders, not top)
            return None if h is None else Unary(0, "-", h)
        if isinstance(node, Binary) and node.op in "+-":
            a = self.hull(node.a, binders, top)
            b = self.hull(node.b, binders, top if node.op == "+" else not top)
            return None if a is None or b is None else fold(node.op, a, b)
        return None

    def span(self, r, binders):
        """(first, extent) of a range as sizes, whatever the outer indices are; or None."""
        if r.upper is None:
            return None
        outer = binders[:next(k for k, b in enumerate(binders) if b is r)]
        low, high = self.hull(first(r), outer, False), self.hull(end(r), outer, True)
        if low is None or high is None:
            return None
        return low, fold("-", high, low)


def offset_of(node, k):
    return fold("+" if k >= 0 else "-", node, num(abs(k)))
