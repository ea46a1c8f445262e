"""The relations: each rewrites a program into one that must give the same values and gradients, or declines (returns False).

One function each; the table is at the end."""

from typing import NamedTuple

import numpy as np

from .model import change_reads, is_gradient, is_read, recursive, whole
from .sites import FLOATS, INTEGERS, constant, end, first, fold, offset
from .syntax import (Binary, Bind, Call, Collect, Declare, Define, Dim, Else, Number, Output, Path, Range, Read, Reduce,
                     Repeat, Target, Type, Unary, below, between, binary, bound_in, call, clone, define, else_, names_in, nodes,
                     num, parse, path, plus, read, rewrite, same, select, substitute)

HIDDEN = "hid"  # inputs that are NaN where nobody asks for them

BIG = (Binary, Call, Reduce, Unary, Else)


# ---- subexpressions and definitions


def _nameable(m, scope, site, roles=("value", "condition")):
    """Whether a subexpression may be a definition over its axes: (binders, type) or None."""
    if site.role not in roles or not isinstance(site.node, BIG):
        return None
    if any(n in site.owners for n in names_in(site.node)) and not isinstance(site.statement, Bind):
        return None
    if any(is_gradient_call(n) for n in nodes(site.node)):
        return None
    binders = site.free()
    if not binders and not names_in(site.node):
        return None
    kind = scope.type(site.node, {r.name for r in site.binders})
    if kind is None or kind == "literal":
        return None
    return binders, kind


def is_gradient_call(n):
    return isinstance(n, Call) and n.path == ("grad",)


def _spans(scope, site, binders):
    spans = [scope.span(r, site.binders) for r in binders]
    return None if None in spans else spans


def _pick_named(m):
    scope = m.scope
    for site in m.sites():
        found = _nameable(m, scope, site)
        if found:
            spans = _spans(scope, site, found[0])
            if spans is not None:
                return scope, site, found[0], found[1], spans
    return None


def _make(m, site, binders, spans, node, extents=None):
    """A new definition of an expression; what reads it at a shift."""
    name = m.fresh("t")
    table, ranges, subs = {}, [], []
    for k, (r, (low, extent)) in enumerate(zip(binders, spans)):
        i = m.fresh("i")
        table[r.name] = _sum(path(i), low)
        ranges.append(below(i, clone(extents[k] if extents else extent)))
        subs.append(_minus(path(r.name), low))
    value = substitute(m.with_fresh_indices(node), table)
    m.insert_before(site.block, site.statement, define(name, ranges, value))
    return name, subs


def _sum(a, low):
    k = constant(low)
    return plus(a, k) if k is not None else binary("+", a, clone(low))


def _minus(a, low):
    k = constant(low)
    return plus(a, -k) if k is not None else binary("-", a, clone(low))


def named(m):
    """A subexpression becomes a definition over its axes."""
    found = _pick_named(m)
    if not found:
        return False
    _, site, binders, _, spans = found
    name, subs = _make(m, site, binders, spans, site.node)
    site.put(read(name, *subs))
    return True


def _zero_of(kind):
    return Number(0, False) if kind == "bool" else num(0)


def named_smaller(m):
    """A subexpression becomes a definition with fewer elements, which are read where they are there."""
    found = _pick_named(m)
    if not found or not found[2]:
        return False
    scope, site, binders, kind, spans = found
    k = m.r.randrange(len(binders))
    size = m.r.choice((1, 1, 2, 2, 3, 4))
    extents = [e for _, e in spans]
    known = constant(extents[k])
    if known is not None:
        if known < 2:
            return False
        extents[k] = num(min(size, known - 1))
    else:
        extents[k] = num(size)
    node = _guarded(site.node, {binders[k].name}) if known is None else site.node
    name, subs = _make(m, site, binders, spans, node, extents)
    inside = binary("<", clone(subs[k]), clone(extents[k]))
    how = m.r.randrange(3)
    other = m.with_fresh_indices(site.node)
    if kind == "bool":
        site.put(binary("or", binary("and", inside, read(name, *subs)),
                        binary("and", Unary(0, "not", clone(inside)), other)))
    elif how == 0:
        site.put(select(inside, read(name, *subs), other))
    elif how == 1:
        site.put(select(Unary(0, "not", inside), other, read(name, *subs)))
    elif kind in FLOATS:
        site.put(binary("+", else_(read(name, *subs), num(0)), select(inside, num(0), other)))
    else:
        site.put(select(inside, else_(read(name, *subs), _zero_of(kind)), other))
    return True


def _guarded(node, indices):
    """All reads that use these indices get an `else`."""
    def change(n):
        if isinstance(n, Else):
            return Else(0, Read(0, n.read.base, rewrite(n.read.subscripts, change)), rewrite(n.value, change))
        if is_read(n) and names_in(n.subscripts) & indices:
            return else_(Read(0, n.base, rewrite(n.subscripts, change)), num(0))
        return None
    return rewrite(node, change)


def named_larger(m):
    """A subexpression becomes a definition with more elements, of which the last are read by nobody."""
    found = _pick_named(m)
    if not found or not found[2]:
        return False
    scope, site, binders, kind, spans = found
    k = m.r.randrange(len(binders))
    extents = [e for _, e in spans]
    extents[k] = offset(extents[k], m.r.choice((1, 2, 5, 13)))
    floats = {n for n, t in scope.types.items() if t in INTEGERS + FLOATS}
    touched = {n.base.names[0] for n in nodes(site.node) if is_read(n)}
    if not touched <= floats:
        return False
    name, subs = _make(m, site, binders, spans, _guarded(site.node, {binders[k].name}), extents)
    site.put(read(name, *subs) if m.r.random() < 0.7 or kind == "bool" else else_(read(name, *subs), num(0)))
    return True


def beside(m):
    """The same expression stands beside, at several extents, as more outputs."""
    found = _pick_named(m)
    if not found or not found[2] or any(isinstance(s, Define) and s.value is found[1].block for s in m.statements):
        return False
    _, site, binders, _, spans = found
    if site.block is not m.statements:
        return False
    k = m.r.randrange(len(binders))
    extents = [e for _, e in spans]
    for _ in range(m.r.choice((1, 2))):
        known = constant(extents[k])
        new = list(extents)
        new[k] = num(m.r.randrange(1, known + 1)) if known and known > 0 and m.r.random() < 0.7 else offset(extents[k], 3)
        node = site.node if constant(new[k]) is not None and known and constant(new[k]) <= known else _guarded(
            site.node, {binders[k].name})
        name, _ = _make(m, site, binders, spans, node, new)
        m.output().paths.append((name,))
    return True


def inlined(m):
    """A definition stands where it was read."""
    for d in m.definitions(lambda d: not recursive(d) and d.target.indices and d.target.type is None):
        name = d.target.name
        if not any(is_read(n, name) for n in nodes(m.statements)):
            continue
        ranges = d.target.indices

        def change(r, guard):
            value = substitute(m.with_fresh_indices(d.value), dict(zip([x.name for x in ranges], r.subscripts)))
            if guard is None:
                return value
            return select(_inside(r.subscripts, [x.upper for x in ranges]), value, guard)
        at = next(k for k, s in enumerate(m.statements) if s is d)
        m.statements[at + 1:] = change_reads(m.statements[at + 1:], name, change)
        return True
    return False


def _inside(subscripts, extents):
    """Each subscript is at least 0 and below its extent."""
    result = None
    for s, e in zip(subscripts, extents):
        one = binary("and", binary("<=", num(0), clone(s)), binary("<", clone(s), clone(e)))
        result = one if result is None else binary("and", result, one)
    return result


def duplicated(m):
    """A definition twice, and some reads of the second one."""
    for d in m.definitions(lambda d: d.target.indices):
        name, copy_name = d.target.name, m.fresh("t")
        twin = clone(d)
        twin.target.name = copy_name
        twin.value = substitute(m.with_fresh_indices(twin.value), {name: path(copy_name)})
        at = next(k for k, s in enumerate(m.statements) if s is d) + 1
        rest = []
        for s in m.statements[at:]:
            take = isinstance(s, Define) and not is_gradient(s) and m.r.random() < 0.5
            rest.append(change_reads(s, name, lambda r, g: _again(r, g, copy_name)) if take else s)
        m.statements[at:] = [twin] + rest
        if m.r.random() < 0.5:
            m.output().paths.append((copy_name,))
        elif not any(copy_name in names_in(s) for s in rest):
            return False
        return not _targets(m, name)
    return False


def _again(r, guard, name):
    new = Read(0, path(name), r.subscripts)
    return new if guard is None else else_(new, guard)


def _targets(m, name):
    """Whether some gradient is with respect to a tensor."""
    return any(is_gradient_call(n) and any(isinstance(a, Path) and a.names[0] == name for _, a in n.args[1:])
               for n in nodes(m.statements))


def reordered(m):
    """Definitions in another order that keeps each before what reads it."""
    body = [s for s in m.statements if isinstance(s, Define)]
    if len(body) < 2:
        return False
    defined = {n: s for s in body for n in (s.target.name, *s.more)}
    waiting, done, order = list(body), set(), []
    while waiting:
        ready = [s for s in waiting if all(id(defined[n]) in done or defined[n] is s for n in _used(s) if n in defined)]
        if not ready:
            return False
        s = m.r.choice(ready)
        order.append(s)
        done.add(id(s))
        waiting.remove(s)
    if all(a is b for a, b in zip(order, body)):
        return False
    at = [k for k, s in enumerate(m.statements) if isinstance(s, Define)]
    last = max(at)
    moved = [s for s in m.statements[:last + 1] if not isinstance(s, Define)]
    m.statements[:last + 1] = moved + order
    m.output().paths = m.r.sample(m.output().paths, len(m.output().paths))
    return True


def _used(s):
    return names_in(s)


def entry_beside(m):
    """Another entry with some of the tensors."""
    names = [d.target.name for d in m.definitions() if d.target.name not in m.output_names()]
    if not names:
        return False
    chosen = m.r.sample(names, m.r.randrange(1, len(names) + 1))
    m.statements.append(Output(0, "other", [(n,) for n in chosen], []))
    return True


def outputs_dropped(m):
    """Fewer outputs."""
    out = m.output()
    if len(out.paths) < 2:
        return False
    out.paths = m.r.sample(out.paths, m.r.randrange(1, len(out.paths)))
    return True


def outputs_added(m):
    """More outputs."""
    names = [d.target.name for d in m.definitions() if d.target.name not in m.output_names()]
    if not names:
        return False
    m.output().paths += [(n,) for n in m.r.sample(names, m.r.randrange(1, len(names) + 1))]
    return True


# ---- ranges


def _reductions(m, wanted=lambda n: True):
    return [s for s in m.sites(lambda s: isinstance(s.node, Reduce) and wanted(s.node))]


def _move(node, k, values, ends):
    """A copy of a reduction with an index of range k written otherwise, and other ends."""
    new = clone(node)
    for later in new.ranges[k + 1:]:
        for side in ("lower", "upper"):
            if getattr(later, side) is not None:
                setattr(later, side, substitute(getattr(later, side), values))
    new.where = None if new.where is None else substitute(new.where, values)
    new.body = substitute(new.body, values)
    r = new.ranges[k]
    new.ranges[k] = Range(0, r.name, ends[0], False, ends[1], False)
    return new


def shifted(m):
    """Ranges of reducers begin k earlier, and the index is moved."""
    many, changed = m.r.random() < 0.5, False
    for site in _reductions(m):
        node = site.node
        k = m.r.randrange(len(node.ranges))
        r = node.ranges[k]
        if r.upper is None:
            continue
        by = m.r.choice((1, 1, 2, 3, 5, -1, -2))
        low = first(r)
        position = node.kind in ("argmax", "argmin")
        if position and (len(node.ranges) > 1 or node.where is not None or not _not_empty(r)):
            continue
        new = _move(node, k, {r.name: plus(path(r.name), by)}, (offset(low, -by), offset(end(r), -by)))
        site.put(plus(new, by) if position else new)
        changed = True
        if not many:
            break
        return changed  # inner sites of a moved one are stale
    return changed


def _not_empty(r):
    low, high = constant(first(r)), constant(end(r))
    return low is not None and high is not None and low < high


def reversed_range(m):
    """The index of a reducer runs the other way."""
    if any(is_gradient(s) for s in m.statements if isinstance(s, Define)):
        kinds = ("sum", "prod", "mean", "any", "all")
    else:
        kinds = ("sum", "prod", "mean", "max", "min", "logsumexp", "any", "all")
    for site in _reductions(m, lambda n: n.kind in kinds):
        k = m.r.randrange(len(site.node.ranges))
        r = site.node.ranges[k]
        if r.upper is None:
            continue
        low, high = first(r), end(r)
        turned = binary("-", fold("-", fold("+", clone(low), clone(high)), num(1)), path(r.name))
        site.put(_move(site.node, k, {r.name: turned}, (low if r.lower is not None else None, high)))
        return True
    return False


def reversed_tensor(m):
    """The elements of a definition lie the other way round."""
    for d in m.definitions(lambda d: d.target.indices):
        k = m.r.randrange(len(d.target.indices))
        r = d.target.indices[k]
        name, extent = d.target.name, r.upper
        if whole([s for s in m.statements if not (isinstance(s, Define) and is_gradient(s))], name):
            continue

        def turn(x):
            return binary("-", offset(clone(extent), -1), x)

        def change(node, guard, also):
            subs = list(node.subscripts)
            subs[k] = turn(subs[k])
            new = Read(0, node.base, subs)
            return new if guard is None else else_(new, guard)
        d.value = substitute(d.value, {r.name: turn(path(r.name))})
        for tensor in (name, "g" + name, "gg" + name):
            m.statements = change_reads(m.statements, tensor, lambda n, g: change(n, g, tensor))
            m.maps[tensor] = lambda o: _array(o, lambda a: np.flip(a, k))
        return True
    return False


def _array(o, change):
    kind, shape, values = o
    a = np.empty(len(values), object)
    a[:] = values
    a = change(a.reshape(shape))
    return kind, list(a.shape), list(a.reshape(-1))


def transposed(m):
    """A definition is stored with other axes first."""
    for d in m.definitions(lambda d: d.target.indices and len(d.target.indices) > 1):
        n = len(d.target.indices)
        order = list(range(n))
        while order == list(range(n)):
            m.r.shuffle(order)
        name = d.target.name
        if whole([s for s in m.statements if not (isinstance(s, Define) and is_gradient(s))], name):
            continue
        d.target.indices = [d.target.indices[k] for k in order]

        def change(node, guard):
            new = Read(0, node.base, [node.subscripts[k] for k in order])
            return new if guard is None else else_(new, guard)
        back = [order.index(k) for k in range(n)]
        for tensor in (name, "g" + name, "gg" + name):
            m.statements = change_reads(m.statements, tensor, change)
            m.maps[tensor] = lambda o: _array(o, lambda a: np.transpose(a, back))
        return True
    return False


def widened(m):
    """A range takes in more values, which a condition leaves out again."""
    for site in _reductions(m, lambda n: n.kind not in ("argmax", "argmin")):
        k = m.r.randrange(len(site.node.ranges))
        new = clone(site.node)
        r = new.ranges[k]
        if r.upper is None:
            continue
        low, high = first(r), end(r)
        conditions = []
        if m.r.random() < 0.6:
            conditions.append(binary("<", path(r.name), clone(high)))
            high = offset(high, m.r.choice((1, 2, 3)))
        if not conditions or m.r.random() < 0.5:
            conditions.append(binary(">=", path(r.name), clone(low)))
            low = offset(low, -m.r.choice((1, 2, 3)))
        new.ranges[k] = between(low, r.name, high)
        for c in conditions:
            new.where = c if new.where is None else binary("and", c, new.where)
        site.put(new)
        return True
    return False


def narrowed(m):
    """A condition `index < bound` of a reducer: the end of a range becomes a condition of it."""
    for site in _reductions(m, lambda n: n.kind not in ("argmax", "argmin")):
        scope = m.scope
        k = m.r.randrange(len(site.node.ranges))
        new = clone(site.node)
        r = new.ranges[k]
        span = scope.span(site.node.ranges[k], site.binders + site.node.ranges)
        if not span or not (names_in([r.lower, r.upper]) - set(scope.dims)):
            continue
        inside = binary("and", binary(">=", path(r.name), first(r)), binary("<", path(r.name), end(r)))
        new.ranges[k] = between(span[0], r.name, fold("+", span[1], span[0]))
        new.where = inside if new.where is None else binary("and", inside, new.where)
        site.put(new)
        return True
    return False


_COMBINE = {"sum": lambda a, b: binary("+", a, b), "prod": lambda a, b: binary("*", a, b),
            "max": lambda a, b: call("max", a, b), "min": lambda a, b: call("min", a, b),
            "any": lambda a, b: binary("or", a, b), "all": lambda a, b: binary("and", a, b)}


def split(m):
    """A reduction is two, of two parts of a range."""
    for site in _reductions(m, lambda n: n.kind in _COMBINE):
        node = site.node
        k = m.r.randrange(len(node.ranges))
        r = node.ranges[k]
        if r.upper is None or (node.kind in ("max", "min") and m.has_gradients()):
            continue
        low, high = first(r), end(r)
        a, b = m.with_fresh_indices(node), m.with_fresh_indices(node)
        if m.r.random() < 0.5 and _not_empty(r) and constant(high) - constant(low) > 1:
            middle = num(m.r.randrange(constant(low) + 1, constant(high)))
            a.ranges[k] = Range(0, a.ranges[k].name, low if r.lower is not None else None, False, middle)
            b.ranges[k] = Range(0, b.ranges[k].name, clone(middle), False, clone(high))
        else:
            at = offset(low, m.r.choice((1, 2)))
            for new, op in ((a, "<"), (b, ">=")):
                c = binary(op, path(new.ranges[k].name), _follow(node, new, clone(at)))
                new.where = c if new.where is None else binary("and", c, new.where)
        site.put(_COMBINE[node.kind](a, b))
        return True
    return False


def _follow(node, new, tree):
    """Names of a reduction's own indices as its copy calls them."""
    return substitute(tree, {a.name: path(b.name) for a, b in zip(node.ranges, new.ranges)})


def axes_swapped(m):
    """The indices of a reducer in another order."""
    for site in _reductions(m, lambda n: n.kind not in ("argmax", "argmin") and len(n.ranges) > 1):
        node = site.node
        if node.kind in ("max", "min") and m.has_gradients():
            continue
        own = {r.name for r in node.ranges}
        if any(names_in([r.lower, r.upper]) & own for r in node.ranges):
            continue
        node.ranges.reverse()
        return True
    return False


def nested(m):
    """A reduction over several indices is one over one of them, of one over the others."""
    for site in _reductions(m, lambda n: n.kind in _COMBINE and len(n.ranges) > 1):
        node = site.node
        if node.kind in ("max", "min") and m.has_gradients():
            continue
        inner = Reduce(0, node.kind, node.ranges[1:], node.where, node.body)
        site.put(Reduce(0, node.kind, node.ranges[:1], None, inner))
        return True
    return False


def _written_extent(scope, name, k):
    """None where it is not written: the rows of a vertex function's tensors are one of these."""
    extents = scope.extents.get(name) or []
    return extents[k] if k < len(extents) else None


def bounds_left_out(m):
    """A range is not written where the one rule for it gives the same."""
    scope, changed = m.scope, False
    for s in list(m.statements):
        if not isinstance(s, Define) or isinstance(s.value, Repeat):
            continue
        holders = list(s.target.indices or []) + [r for n in nodes(s.value) if isinstance(n, Reduce) for r in n.ranges]
        guarded = {id(n.read) for n in nodes(s.value) if isinstance(n, Else)}
        for r in holders:
            if r.lower is not None or r.upper is None or r.upper_closed:
                continue
            extents = [_written_extent(scope, n.base.names[0], k) for n in nodes(s.value)
                       if is_read(n) and id(n) not in guarded and n.base.names[0] != s.target.name
                       for k, x in enumerate(n.subscripts) if isinstance(x, Path) and x.names == (r.name,)]
            if extents and all(e is not None and same(e, r.upper) for e in extents):
                r.upper, changed = None, True
    return changed


# ---- conditions and guards


def guards_written(m):
    """(x[e] else v) is select(0 <= e and e < n, x[e], v)."""
    scope = m.scope
    for site in m.sites(lambda s: isinstance(s.node, Else)):
        name = site.node.read.base.names[0]
        extents = scope.extents.get(name)
        if not extents or name in site.owners or len(extents) != len(site.node.read.subscripts):
            continue
        if scope.types.get(name) in FLOATS and isinstance(site.node.value, Path):
            continue
        site.put(select(_inside(site.node.read.subscripts, extents), site.node.read, site.node.value))
        return True
    return False


_IDENTITY = {"sum": num(0), "prod": num(1), "max": Unary(0, "-", Number(0, float("inf"))), "min": Number(0, float("inf")),
             "logsumexp": Unary(0, "-", Number(0, float("inf"))), "any": Number(0, False), "all": Number(0, True)}


def where_in_body(m):
    """A `where` becomes a select with the neutral element."""
    scope = m.scope
    for site in _reductions(m, lambda n: n.where is not None and n.kind in _IDENTITY):
        node = site.node
        kind = scope.type(node.body, {r.name for r in site.binders} | {r.name for r in node.ranges})
        if node.kind in ("any", "all"):
            op = "and" if node.kind == "any" else "or"
            c = node.where if op == "and" else Unary(0, "not", node.where)
            site.put(Reduce(0, node.kind, node.ranges, None, binary(op, c, node.body)))
            return True
        if kind not in FLOATS or (node.kind not in ("sum", "prod") and m.has_gradients()):
            continue
        site.put(Reduce(0, node.kind, node.ranges, None,
                        select(node.where, node.body, clone(_IDENTITY[node.kind]))))
        return True
    return False


def body_in_where(m):
    """A sum of select(c, a, 0) is one where c."""
    for site in _reductions(m, lambda n: n.kind == "sum" and isinstance(n.body, Call) and n.body.path == ("select",)):
        node = site.node
        c, a, b = [x for _, x in node.body.args]
        if constant(b) == 0:
            where = c
        elif constant(a) == 0:
            where, a = Unary(0, "not", c), b
        else:
            continue
        site.put(Reduce(0, "sum", node.ranges, where if node.where is None else binary("and", node.where, where), a))
        return True
    return False


def select_turned(m):
    """select(c, a, b) is select(not c, b, a)."""
    for site in m.sites(lambda s: isinstance(s.node, Call) and s.node.path == ("select",)):
        c, a, b = [x for _, x in site.node.args]
        site.put(select(Unary(0, "not", c), b, a))
        return True
    return False


_TURNED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def comparison_turned(m):
    """a < b is b > a, and between integers not (a >= b)."""
    scope = m.scope
    for site in m.sites(lambda s: isinstance(s.node, Binary) and s.node.op in _TURNED):
        n = site.node
        kinds = [scope.type(x, {r.name for r in site.binders}) for x in (n.a, n.b)]
        if all(k in INTEGERS + ("index", "literal") for k in kinds) and m.r.random() < 0.5:
            site.put(Unary(0, "not", Binary(0, _TURNED[n.op], n.a, n.b)))
        else:
            site.put(Binary(0, _MIRRORED[n.op], n.b, n.a))
        return True
    return False


def zero_unknown(m):
    """An integer zero that only the caller knows is added to what conditions and subscripts are made of."""
    scope, zero, changed = m.scope, m.fresh("o"), False
    everything = m.r.random() < 0.5
    for site in m.sites(lambda s: (isinstance(s.node, Binary) and s.node.op in _TURNED) or isinstance(s.node, Else)):
        n = site.node
        if isinstance(n, Else):
            if n.read.base.names[0] in site.owners:
                continue
            k = m.r.randrange(len(n.read.subscripts))
            if is_simple_gather(n.read.subscripts[k]):
                n.read.subscripts[k] = binary("+", n.read.subscripts[k], path(zero))
                changed = True
        else:
            kinds = [scope.type(x, {r.name for r in site.binders}) for x in (n.a, n.b)]
            if any(n_ in site.owners for n_ in names_in(n)):
                continue
            if not all(k in INTEGERS + ("index", "literal") for k in kinds) or all(k == "literal" for k in kinds):
                continue
            side = "a" if kinds[0] != "literal" else "b"
            setattr(n, side, binary("+", getattr(n, side), call("i64", path(zero)) if kinds[0] in ("i64", "index") or
                                    kinds[1] in ("i64", "index") else call(kinds[0] if side == "a" else kinds[1], path(zero))))
            changed = True
        if changed and not everything:
            break
    if changed:
        m.declare_first(f"input {zero} : i32\n")
        m.values[zero] = (0, [])
    return changed


def is_simple_gather(node):
    return True


# ---- constants, inputs, parameters


def constant_given(m):
    """A number becomes a scalar input or parameter of that value."""
    scope = m.scope
    for site in m.sites(lambda s: isinstance(s.node, Binary) and s.node.op in "+-*" and s.role == "value"):
        n = site.node
        for side, other in (("a", n.b), ("b", n.a)):
            v = getattr(n, side)
            kind = scope.type(other, {r.name for r in site.binders})
            if isinstance(v, Number) and not isinstance(v.value, bool) and kind in ("f32", "f64"):
                name = m.fresh("c")
                if m.r.random() < 0.5:
                    m.declare_first(f"input {name} : {kind}\n")
                else:
                    m.declare_first(f"param {name} : {kind} = 1\n")
                m.values[name] = (float(v.value), [])
                setattr(n, side, path(name))
                return True
    return False


def tensor_given(m):
    """A tensor of one number becomes an input or parameter that is full of it."""
    for d in m.definitions(lambda d: isinstance(d.value, Number) and d.target.indices and d.target.type):
        shape = [_extent(m, r.upper) for r in d.target.indices]
        if None in shape:
            continue
        axes = ", ".join(_text(r.upper) for r in d.target.indices)
        fixed = all(constant(r.upper) is not None for r in d.target.indices)
        at = next(k for k, s in enumerate(m.statements) if s is d)
        name, kind = d.target.name, d.target.type.name
        word = "param" if fixed and m.r.random() < 0.5 else "input"
        m.statements[at:at + 1] = parse(f"{word} {name}[{axes}] : {kind}" + (" = 1\n" if word == "param" else "\n"))
        m.values[name] = (_full(shape, float(d.value.value)), shape)
        m.output().paths = [p for p in m.output().paths if p[0] != name]
        return bool(m.output().paths)
    return False


def _text(node):
    from .printer import expression
    return expression(node)


def _extent(m, node):
    """The number that a size is in this run."""
    known = dict(m.sizes)
    for s in m.statements:
        if isinstance(s, Dim) and s.value is not None:
            known[s.name] = constant(s.value)
    return _number(node, known)


def _number(node, known):
    if constant(node) is not None:
        return constant(node)
    if isinstance(node, Path):
        return known.get(node.names[0])
    if isinstance(node, Binary):
        a, b = _number(node.a, known), _number(node.b, known)
        if a is None or b is None:
            return None
        return {"+": a + b, "-": a - b, "*": a * b}.get(node.op)
    return None


def _full(shape, value):
    return value if not shape else [_full(shape[1:], value) for _ in range(shape[0])]


def integers_given(m):
    """An integer definition becomes an input of its values, of which nothing is declared."""
    everything, changed = m.r.random() < 0.4, False
    scope = m.scope
    for d in m.definitions(lambda d: scope.types.get(d.target.name) in INTEGERS and not recursive(d)):
        name = d.target.name
        known = m.known()
        if not known or name not in known:
            continue
        kind, shape, values = known[name]
        axes = ", ".join(_text(r.upper) for r in d.target.indices or [])
        at = next(k for k, s in enumerate(m.statements) if s is d)
        m.statements[at:at + 1] = parse(f"input {name}{f'[{axes}]' if axes else ''} : {kind}\n")
        m.values[name] = (np.array(values, object).reshape(shape).tolist() if shape else values[0], shape)
        m.output().paths = [p for p in m.output().paths if p[0] != name]
        changed = True
        if not everything:
            break
    return changed and bool(m.output().paths)


def bounds_dropped(m):
    """Drops declared bounds of integers."""
    changed = False
    for n in nodes(m.statements):
        if isinstance(n, Type) and n.bound is not None and m.r.random() < 0.7:
            n.bound = n.lower = None
            changed = True
    return changed


def subscripts_named(m):
    """An index of a guarded read becomes an integer definition."""
    scope = m.scope
    for site in m.sites(lambda s: s.role == "subscript" and isinstance(s.node, Binary)):
        binders = site.free()
        if not binders or names_in(site.node) & set(site.owners):
            continue
        kind = scope.type(site.node, {r.name for r in site.binders})
        spans = _spans(scope, site, binders)
        if kind not in INTEGERS + ("index",) or spans is None:
            continue
        if any(is_read(n) and scope.types.get(n.base.names[0]) != "i64" for n in nodes(site.node)):
            continue  # a subscript is exact in i64, a definition wraps in its own type
        name, subs = _make(m, site, binders, spans, site.node)
        site.put(read(name, *subs))
        return True
    return False


# ---- sizes, types, loops, functions


def sizes_fixed(m):
    """A run-time size is a constant."""
    dims = [s for s in m.statements if isinstance(s, Dim) and s.value is None and s.name in m.sizes]
    if not dims:
        return False
    spelled = {}
    for s in dims if m.r.random() < 0.5 else [m.r.choice(dims)]:
        value = m.sizes.pop(s.name)
        s.lower = s.upper = None
        s.value = num(value)
        if m.r.random() < 0.7:
            spelled[s.name] = num(value)
    m.statements = [x if isinstance(x, Dim) and x.name in spelled else substitute(x, spelled) for x in m.statements]
    return True


def sizes_unknown(m):
    """A constant size is known only when the model runs."""
    dims = [s for s in m.statements if isinstance(s, Dim) and s.value is not None and constant(s.value) is not None]
    m.r.shuffle(dims)
    for s in dims:
        kept = any(isinstance(x, Declare) and x.kind in ("param", "state", "const") and s.name in
                   names_in([a for a in x.variable.axes or []]) for x in m.statements)
        whole_of = any(isinstance(x, Declare) and x.kind == "input" and any(
            isinstance(a, Path) and a.names == (s.name,) for a in x.variable.axes or []) for x in m.statements)
        if kept or not whole_of:
            continue
        m.sizes[s.name] = constant(s.value)
        s.lower, s.upper = num(m.r.choice((0, 1)) if constant(s.value) else 0), num(m.r.choice((40, 40, constant(s.value))))
        s.value = None
        if constant(s.upper) < m.sizes[s.name] or constant(s.upper) < constant(s.lower):
            s.upper = num(40)
        return True
    return False


def other_floats(m):
    """f32 is f64, or the other way round."""
    old, new = m.floats, "f64" if m.floats == "f32" else "f32"
    if m.special:
        return False
    integers = {n for n, t in m.scope.types.items() if t in INTEGERS + ("bool",)}
    for n in nodes(m.statements):
        if isinstance(n, Call) and n.path == (old,):
            n.path = (new,)
        elif isinstance(n, Declare) and n.variable.type is None:
            n.variable.type = Type(new)
        elif isinstance(n, Type) and n.name == old:
            n.name = new
        elif isinstance(n, Repeat):
            for target, value in n.carries:
                kind = m.scope.type(value, {r.name for r in target.indices or []})
                if target.type is None and kind in ("literal", None):
                    target.type = Type(new)
    for s in m.statements:
        if isinstance(s, Define) and not is_gradient(s) and not isinstance(s.value, Repeat) and not s.target.type:
            if s.target.name not in integers and isinstance(s.value, Number) or recursive(s):
                s.target.type = Type(new)
    m.kind = "f32"
    return True


def loop_exchanged(m):
    """A scan over a known number of rounds is a repeat, and a repeat a scan."""
    for s in m.statements:
        if isinstance(s, Define) and isinstance(s.value, Repeat):
            r = s.value
            if r.kind == "repeat":
                r.kind = "scan"
                return True
            if not r.down and (_extent(m, r.count) or 0) > 0 and not names_in(r.count) & set(m.sizes):
                r.kind = "repeat"
                return True
    return False


def loop_recurrence(m):
    """A loop is a recurrence along a new axis, with its carries, if there are several, along another."""
    for at, s in enumerate(m.statements):
        if not isinstance(s, Define) or not isinstance(s.value, Repeat):
            continue
        loop = s.value
        if not all(isinstance(b, (Bind, Collect)) for b in loop.body):
            continue
        new = _recurrence_of(m, s, loop)
        if new:
            m.statements[at:at + 1] = new
            return True
    return False


def _recurrence_of(m, s, loop):
    scope = m.scope
    inner = type(scope)(m.statements)
    carries = [t for t, _ in loop.carries]
    names = [t.name for t in carries]
    nexts = {t.name: (t, e) for b in loop.body if isinstance(b, Bind) for t, e in b.bindings}
    reads_others = any((names_in(e) & set(names)) - {n} for n, (_, e) in nexts.items())
    if len(carries) > 1 and reads_others:
        shapes = [[x.upper for x in t.indices or []] for t in carries]
        if not all(same(x, shapes[0]) for x in shapes):
            return None
        if any(t.type and t.type.name not in FLOATS for t in carries):
            return None
        if any(inner.types.get(n) not in FLOATS for n in (s.target.name, *s.more)[:len(carries)]):
            return None
        groups = [list(range(len(carries)))]
    else:
        groups = [[k] for k in range(len(carries))]
    collected = [n for b in loop.body if isinstance(b, Collect) for n in b.names]
    results = (s.target.name, *s.more)
    count, new = loop.count, []
    for group in groups:
        name = m.fresh("h")
        new += _one_recurrence(m, loop, carries, nexts, group, name, count)
        for k in group:
            t = carries[k]
            for result, stacked in [(results[k], False)] + [
                    (results[len(carries) + j], True) for j, n in enumerate(collected) if n == t.name]:
                ranges = [below(m.fresh("i"), clone(r.upper)) for r in t.indices or []]
                where = [path(r.name) for r in ranges]
                channel = [num(group.index(k))] if len(group) > 1 else []
                if stacked:
                    i = m.fresh("i")
                    place = _minus_node(count, path(i)) if loop.down else plus(path(i), 1)
                    ranges = [below(i, clone(count))] + ranges
                else:
                    place = clone(count)
                new.append(define(result, ranges, read(name, place, *channel, *where)))
    return new


def _minus_node(a, b):
    return binary("-", clone(a), b)


def _one_recurrence(m, loop, carries, nexts, group, name, count):
    round_, c = m.fresh("i"), m.fresh("i")
    indices = [m.fresh("i") for _ in carries[group[0]].indices or []]
    ranges = [below(round_, offset(clone(count), 1))]
    if len(group) > 1:
        ranges.append(below(c, num(len(group))))
    ranges += [below(i, clone(r.upper)) for i, r in zip(indices, carries[group[0]].indices or [])]
    number = _minus_node(count, path(round_)) if loop.down else plus(path(round_), -1)

    def previous(k, subs):
        channel = [num(group.index(k))] if len(group) > 1 else []
        return read(name, plus(path(round_), -1), *channel, *subs)
    value = None
    for k in reversed(group):
        target, start = loop.carries[k]
        own = {r.name: path(i) for r, i in zip(target.indices or [], indices)}
        start = substitute(m.with_fresh_indices(start), own)
        if target.name in nexts:
            t, e = nexts[target.name]
            table = {r.name: path(i) for r, i in zip(t.indices or [], indices)}
            table[loop.index] = number
            later = substitute(m.with_fresh_indices(e), table)
        else:
            later = read(target.name, *[path(i) for i in indices])
        for j in group:
            later = change_reads(later, carries[j].name, lambda r, g, j=j: _guard(previous(j, r.subscripts), g))
            if not carries[j].indices:
                later = substitute(later, {carries[j].name: previous(j, [])})
        one = select(binary("==", path(round_), num(0)), start, later)
        value = one if value is None else select(binary("==", path(c), num(group.index(k))), one, value)
    kind = carries[group[0]].type
    return [define(name, ranges, value, Type(kind.name) if kind else None)]


def _guard(r, g):
    return r if g is None else else_(r, g)


def called(m):
    """An expression of elements becomes a call of a function."""
    if m.special:  # the function's definition does not know the condition of its reader: docs/language.md, NaN
        return False
    scope = m.scope
    for site in m.sites(lambda s: s.role == "value" and isinstance(s.node, (Binary, Call)) and s.block is m.statements):
        node = site.node
        if any(isinstance(n, Reduce) for n in nodes(node)) or is_gradient_call(node):
            continue
        if scope.type(node, {r.name for r in site.binders}) not in FLOATS:
            continue
        arguments = []

        def leave(n):
            if isinstance(n, Else) or is_read(n) or (isinstance(n, Path) and n.names[0] in scope.types):
                arguments.append(n)
                return path(f"p{len(arguments)}")
            return None
        body = rewrite(node, leave)
        table = {}
        for r in site.binders:
            if r.name in names_in(body):
                arguments.append(call("i32", path(r.name)))
                table[r.name] = path(f"p{len(arguments)}")
        if not arguments or len(arguments) > 8 or names_in(arguments) & set(site.owners):
            continue
        if table:
            continue
        if names_in(body) & set(scope.dims):
            continue
        name = m.fresh("f")
        params = ", ".join(f"p{k + 1}" for k in range(len(arguments)))
        m.declare_first(f"fn {name}({params}) -> y {{\n  y = {_text(body)}\n}}\n")
        site.put(call(name, *arguments))
        return True
    return False


def cased(m):
    """A select becomes a case on its condition, in a function."""
    scope = m.scope
    for site in m.sites(lambda s: isinstance(s.node, Call) and s.node.path == ("select",) and s.block is m.statements):
        c, a, b = [x for _, x in site.node.args]
        kinds = [scope.type(x, {r.name for r in site.binders}) for x in (a, b)]
        if any(k not in FLOATS for k in kinds) or names_in(site.node) & set(site.owners):
            continue
        name = m.fresh("f")
        m.declare_first(f"fn {name}(c : bool, a, b) -> y {{\n  y = case c {{\n    true {{ y = a }}\n    false {{ y = b }}\n  }}\n}}\n")
        site.put(call(name, c, a, b))
        return True
    return False


def with_prefix(table, name):
    """The name with what the table has for what comes before its first point: of `y.g`, for y."""
    first, point, rest = name.partition(".")
    return table.get(first, first) + point + rest


def renamed(m):
    """All names are others, in another order."""
    names = sorted({s.variable.name for s in m.statements if isinstance(s, Declare)} |
                   {n for s in m.statements if isinstance(s, Define) for n in (s.target.name, *s.more)})
    letters = list("abcdefghijklmnopqrstuvw")
    m.r.shuffle(letters)
    table = {n: f"{letters[k % len(letters)]}{m.r.randrange(1000)}_{k}" for k, n in enumerate(names)}
    for n in nodes(m.statements):
        if isinstance(n, (Declare,)):
            n.variable.name = table.get(n.variable.name, n.variable.name)
        elif isinstance(n, Define):
            n.target.name = table.get(n.target.name, n.target.name)
            n.more = [table.get(x, x) for x in n.more]
        elif isinstance(n, Path) and n.names[0] in table:
            n.names = (table[n.names[0]], *n.names[1:])
        elif isinstance(n, Output):
            n.paths = [(table.get(p[0], p[0]), *p[1:]) for p in n.paths]
    m.values = {with_prefix(table, n): v for n, v in m.values.items()}
    m.renamed = table
    return True


def hidden_filled(m):
    """Replaces values that nothing reads (draw_rare.py) by numbers."""
    filled = False
    for name in [n for n in m.values if n.startswith(HIDDEN)]:
        values, shape = m.values[name]
        a = np.asarray(values, float)
        filled = filled or bool(np.isnan(a).any())
        m.values[name] = (np.where(np.isnan(a), m.r.choice((0.5, 1.0, -2.0)), a).tolist(), shape)
    return filled


def printed(m):
    """Nothing but parentheses and bounds that were there."""
    return True


class Relation(NamedTuple):
    name: str
    rewrite: object
    weight: float = 1.0


TABLE = [Relation(f.__name__, f, w) for f, w in (
    (named, 2), (named_smaller, 3), (named_larger, 2), (beside, 2), (inlined, 2), (duplicated, 1), (reordered, 0.5),
    (entry_beside, 0.3), (outputs_dropped, 1), (outputs_added, 1), (shifted, 3), (reversed_range, 1),
    (reversed_tensor, 2), (transposed, 1.5), (widened, 2), (narrowed, 1), (split, 1.5), (axes_swapped, 0.5), (nested, 0.7),
    (bounds_left_out, 0.5), (guards_written, 1), (where_in_body, 1), (body_in_where, 1), (select_turned, 0.5),
    (comparison_turned, 0.5), (zero_unknown, 3), (constant_given, 1), (tensor_given, 2), (integers_given, 3),
    (bounds_dropped, 2), (subscripts_named, 1), (sizes_fixed, 1), (sizes_unknown, 1), (other_floats, 0.7),
    (loop_exchanged, 1), (loop_recurrence, 2), (called, 1), (cased, 1), (renamed, 0.2), (printed, 0.2), (hidden_filled, 1))]
