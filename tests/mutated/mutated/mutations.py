"""Small changes of a program, of which the compiler then says that they are wrong, or computes something else.

Each takes (random numbers, statements), changes the statements in place and says in words what it did, or returns None
where the program has no place for it. Nothing here sees to it that the result is a program: the front end does."""

import copy

from relations.syntax import (DOTS, Bind, Binary, Call, Case, Collect, Declare, Define, Dim, Else, Function, Number, Output,
                              Path, Range, Read, Reduce, Repeat, Target, Train, Type, Unary, Variable, While, bound_in,
                              call, names_in, nodes, num, path, plus, same, select)

from .places import blocks, is_expression, is_value, places

ARITHMETIC = "+ - * / %".split()
COMPARISONS = "< <= > >= == !=".split()
FLOAT_FUNCTIONS = ("exp log sqrt tanh sigmoid relu sin cos abs floor ceil round expm1 log1p erf gelu silu softplus square "
                   "sign").split()
PAIRS = ("min", "max")
REDUCERS = "sum prod max min mean argmax argmin logsumexp any all".split()
TYPES = "f64 f32 f16 bf16 i64 i32 i8 u8 bool".split()
LARGE = (7, 100, 255, 2**31 - 1, 2**31, 2**53 + 1, 2**62)


def _choose(r, statements, wanted):
    found = [p for p in places(statements) if wanted(p)]
    return r.choice(found) if found else None


def _say(node):
    from relations.printer import expression
    try:
        return expression(node) if not isinstance(node, Range) else _range(node)
    except (KeyError, AttributeError):
        return type(node).__name__


def _range(r):
    from relations.printer import range_of
    return range_of(r)


def _put(place, new):
    said = f"{_say(place.node)} -> {_say(new)}"
    place.put(new)
    return said


def _ranges(r, statements, wanted=lambda p: True):
    return _choose(r, statements, lambda p: isinstance(p.node, Range) and p.node.name is not DOTS and wanted(p))


def _in_reducer(p):
    return isinstance(p.parent, Reduce)


# ---- ranges


def bound_shifted(r, statements):
    """An end of a range is one further or one less far."""
    p = _ranges(r, statements, lambda p: p.node.upper is not None or _in_reducer(p))
    if not p:
        return None
    before = _say(p.node)
    ends = [e for e in ("upper", "lower") if getattr(p.node, e) is not None]
    if _in_reducer(p) and p.node.lower is None and (not ends or r.random() < 0.6):
        p.node.lower = num(r.choice((-3, -2, -1, -1, 1, 1, 2)))
    else:
        e = r.choice(ends)
        setattr(p.node, e, plus(getattr(p.node, e), r.choice((-2, -1, -1, 1, 1, 2))))
    return f"{before} -> {_say(p.node)}"


def bound_replaced(r, statements):
    """An end of a range is a small number, another index, or a size of the program."""
    p = _ranges(r, statements, lambda p: _in_reducer(p) or p.node.upper is not None)
    if not p:
        return None
    before = _say(p.node)
    outer = _bound_around(p)
    sizes = [s.name for s in nodes(statements) if isinstance(s, Dim)]
    new = [num(k) for k in (0, 1, 2, 3)] + [path(n) for n in sizes]
    if _in_reducer(p):
        new += [path(n) for n in outer] + [plus(path(n), 1) for n in outer] + [plus(path(n), -1) for n in outer]
    e = r.choice(("upper", "upper", "lower")) if _in_reducer(p) else "upper"
    setattr(p.node, e, r.choice(new))
    return f"{before} -> {_say(p.node)}"


def _bound_around(p):
    """Indices that are bound where a place stands."""
    found = []
    for c in p.chain:
        if isinstance(c, Define):
            found += [x.name for x in c.target.indices or [] if x.name is not DOTS]
        elif isinstance(c, Reduce):
            found += [x.name for x in c.ranges if x.name is not DOTS and x is not p.node]
        elif isinstance(c, Repeat):
            found.append(c.index)
    return found


def bound_closed(r, statements):
    """< is <=, or the other way round."""
    p = _ranges(r, statements, lambda p: p.node.upper is not None or p.node.lower is not None)
    if not p:
        return None
    before = _say(p.node)
    if p.node.upper is not None and (p.node.lower is None or r.random() < 0.5):
        p.node.upper_closed = not p.node.upper_closed
    else:
        p.node.lower_open = not p.node.lower_open
    return f"{before} -> {_say(p.node)}"


def bound_given(r, statements):
    """An end of a reducer's range is read from data: a scalar, or an element for each of an outer index."""
    p = _ranges(r, statements, _in_reducer)
    k = r.choice((1, 2, 3, 4))
    if not p:
        return None
    before, name = _say(p.node), _fresh(statements, "n")
    outer = [x for x in _outer_ranges(p) if x.upper is not None and not names_in(x.upper) and not x.upper_closed]
    lower = num(-1) if r.random() < 0.3 else None
    if outer and r.random() < 0.6:
        x = r.choice(outer)
        declared = Variable(0, name, [copy.deepcopy(x.upper)], Type("i32", num(k + 1), False, lower))
        new = Read(0, path(name), [path(x.name)])
    else:
        declared, new = Variable(0, name, None, Type("i32", num(k + 1), False, lower)), path(name)
    e = r.choice(("upper", "upper", "lower"))
    setattr(p.node, e, new)
    _declare(statements, Declare(0, "input", declared, None))
    return f"{before} -> {_say(p.node)}, given"


def _outer_ranges(p):
    found = []
    for c in p.chain:
        if isinstance(c, Define):
            found += [x for x in c.target.indices or [] if x.name is not DOTS]
        elif isinstance(c, Reduce):
            found += [x for x in c.ranges if x.name is not DOTS and x is not p.node and x.lower is None]
    return found


def range_dropped(r, statements):
    """A reducer binds one index less, or twice the same extent."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Reduce) and len(p.node.ranges) > 1)
    if not p:
        return None
    before = _say(p.node)
    if r.random() < 0.5:
        r.shuffle(p.node.ranges)
    else:
        p.node.ranges.pop(r.randrange(len(p.node.ranges)))
    return f"{before} -> {_say(p.node)}"


def range_added(r, statements):
    """A definition or a reducer has one index more, which may be used in place of a number or another index."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Reduce) and p.node.kind not in ("argmax", "argmin"))
    if not p:
        return None
    name = _fresh(statements, "k")
    p.node.ranges.append(Range(0, name, num(-1) if r.random() < 0.3 else None, False, num(r.choice((1, 2, 3)))))
    inner = [q for q in places(p.node) if is_expression(q) and q.field == "subscripts"]
    if inner:
        q = r.choice(inner)
        q.put(r.choice((path(name), Binary(0, "+", q.node, path(name)), Binary(0, "-", q.node, path(name)))))
    return f"reducer over {name}: {_say(p.node)}"


def reduction_split(r, statements):
    """A reducer over several indices is two, of which the inner one may be of another kind."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Reduce) and len(p.node.ranges) > 1 and p.node.where is None)
    if not p:
        return None
    at = r.randrange(1, len(p.node.ranges))
    inner = Reduce(0, r.choice((p.node.kind, "sum", "max")), p.node.ranges[at:], None, p.node.body)
    return _put(p, Reduce(0, p.node.kind, p.node.ranges[:at], None, inner))


def reduction_kind(r, statements):
    p = _choose(r, statements, lambda p: isinstance(p.node, Reduce))
    if not p:
        return None
    before = p.node.kind
    group = next(g for g in (REDUCERS[:5] + REDUCERS[7:8], REDUCERS[5:7] + ["max"], REDUCERS[8:]) if before in g)
    p.node.kind = r.choice([k for k in group if k != before] or group)
    return f"{before} -> {p.node.kind}"


# ---- extents, sizes, types


def extent(r, statements):
    """A constant extent or size is another one, or known when the model runs."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Number) and type(p.node.value) is int and
                (isinstance(p.parent, (Dim, Variable)) or isinstance(p.parent, Range) and not _in_reducer_range(p)))
    if not p:
        return None
    return _put(p, num(r.choice((0, 1, 2, p.node.value + 1, max(p.node.value - 1, 0), 5))))


def _in_reducer_range(p):
    return len(p.chain) > 1 and isinstance(p.chain[-2], Reduce)


def all_extents(r, statements):
    """Each occurrence of a number as an extent is another one, or a size that is known when the model runs."""
    at = [p for p in places(statements) if isinstance(p.node, Number) and type(p.node.value) is int and
          isinstance(p.parent, (Variable, Range)) and p.node.value > 0]
    if not at:
        return None
    old = r.choice(at).node.value
    if r.random() < 0.4:
        name = _fresh(statements, "N")
        for p in at:
            if p.node.value == old:
                p.put(path(name))
        _declare(statements, Dim(0, name, None, num(r.choice((0, 1))), num(old + r.choice((0, 0, 3)))), first=True)
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


def type_changed(r, statements):
    """A type, or that of one declaration or definition, is another."""
    holders = [n for n in nodes(statements) if isinstance(n, (Variable, Target)) or
               isinstance(n, Call) and n.path[0] in TYPES and len(n.path) == 1]
    if not holders:
        return None
    h = r.choice(holders)
    new = r.choices(TYPES, (5, 2, 1, 1, 2, 3, 2, 2, 1))[0]
    if isinstance(h, Call):
        before, h.path = h.path[0], (new,)
        return f"{before}(..) -> {new}(..)"
    before = h.type.name if h.type else "no type"
    if h.type:
        h.type = Type(new, h.type.bound, h.type.closed, h.type.lower) if new in TYPES[4:8] else Type(new)
    else:
        h.type = Type(new)
    return f"{h.name}: {before} -> {new}"


def types_changed(r, statements):
    """All that is f32 has another type of floats."""
    new = r.choice(("f64", "f64", "f64", "bf16", "f16"))
    for n in nodes(statements):
        if isinstance(n, Declare) and n.variable.type is None:
            n.variable.type = Type(new)
        elif isinstance(n, Type) and n.name == "f32":
            n.name = new
        elif isinstance(n, Call) and n.path == ("f32",):
            n.path = (new,)
    return f"f32 -> {new} everywhere"


def bound_of_type(r, statements):
    """The bound of a declared integer is another, or has a lower end, or is gone."""
    types = [n for n in nodes(statements) if isinstance(n, Type) and n.name in ("i64", "i32", "i8", "u8")]
    if not types:
        return None
    t = r.choice(types)
    before = f"{_opt(t.lower)} {t.name} {_opt(t.bound)}"
    k = r.randrange(5)
    if k == 0:
        t.lower = num(r.choice((-3, -1, -1, 0, 1)))
    elif k == 1 and t.bound is not None:
        t.bound = plus(t.bound, r.choice((-1, 1)))
    elif k == 2:
        t.bound, t.lower = None, None
    elif k == 3:
        t.closed = not t.closed
    else:
        t.bound = num(r.choice((1, 2, 3, 5, 300)))
    return f"type {before} -> {_opt(t.lower)} {t.name} {_opt(t.bound)}"


def _opt(node):
    return "" if node is None else _say(node)


def input_kind(r, statements):
    """An input is a parameter or a state, or a tensor that the program computes: of one constant, or of its indices."""
    declared = [s for s in statements if isinstance(s, Declare) and s.kind in ("input", "param", "state") and
                not any(a is DOTS for a in s.variable.axes or [])]
    if not declared:
        return None
    s = r.choice(declared)
    k = r.randrange(4)
    if k < 2 and s.kind != "state" and not any(_updates(n, s.variable.name) for n in nodes(statements)):
        indices = [Range(0, _fresh(statements, "c"), None, False, a.upper if isinstance(a, Range) else a)
                   for a in s.variable.axes or []]
        for j, x in enumerate(indices):
            x.name += str(j)
        integer = s.variable.type is not None and s.variable.type.name in TYPES[4:8]
        value = num(r.choice((0, 1, 2) if integer else (0, 0.5, 1.0, -1.0)))
        if k and indices:
            x = path(r.choice(indices).name)
            value = r.choice((x, Binary(0, "-", num(2), x), Binary(0, "%", x, num(3)))) if integer else Binary(
                0, "*", num(0.25), call("f32", Binary(0, "-", x, num(1))))
        statements[statements.index(s)] = Define(0, Target(0, s.variable.name, indices or None, s.variable.type), [], value)
        return f"{s.kind} {s.variable.name} is computed"
    before, s.kind = s.kind, r.choice([x for x in ("input", "param", "state") if x != s.kind])
    s.value = None if s.kind == "input" else s.value or num(0)
    return f"{before} {s.variable.name} -> {s.kind}"


def _updates(node, name):
    return isinstance(node, Bind) and node.kind == "update" and any(t.name == name for t, _ in node.bindings)


# ---- operators


def operator(r, statements):
    p = _choose(r, statements, lambda p: isinstance(p.node, Binary) and is_expression(p))
    if not p:
        return None
    group = next((g for g in (ARITHMETIC, COMPARISONS, ["and", "or"]) if p.node.op in g), None)
    if not group:
        return None
    before = _say(p.node)
    if r.random() < 0.2:
        p.node.a, p.node.b = p.node.b, p.node.a
    else:
        p.node.op = r.choice([o for o in group if o != p.node.op])
    return f"{before} -> {_say(p.node)}"


def function(r, statements):
    """A function of elements is another, or a binary one an operator."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Call) and
                (p.node.path[0] in FLOAT_FUNCTIONS or p.node.path[0] in PAIRS) and len(p.node.path) == 1)
    if not p:
        return None
    args = [a for _, a in p.node.args]
    if len(args) == 2 and p.node.path[0] in PAIRS:
        new = r.choice((call("max", *args), call("min", *args), Binary(0, "*", *args), call("max", *args[::-1]), args[0]))
    else:
        new = r.choice((call(r.choice(FLOAT_FUNCTIONS), *args), args[0]))
    return _put(p, new)


def wrapped(r, statements):
    """A value passes through a function, a guard, or a round of a sum."""
    p = _choose(r, statements, is_value)
    if not p or isinstance(p.node, Number):
        return None
    x, k = p.node, r.randrange(7)
    outer = _bound_around(p)
    if k == 0:
        return _put(p, call(r.choice(FLOAT_FUNCTIONS), x))
    if k == 1 and outer:
        return _put(p, select(Binary(0, r.choice(COMPARISONS), path(r.choice(outer)), num(r.choice((0, 1, 2)))), x, num(0)))
    if k == 2:
        return _put(p, Binary(0, "*", num(r.choice((0.5, -1.0, 2.0, 0.0))), x))
    if k == 3:
        name = _fresh(statements, "k")
        return _put(p, Reduce(0, r.choice(("sum", "max", "sum")), [Range(0, name, None, False, num(2))], None, x))
    if k == 4:
        return _put(p, select(Binary(0, r.choice(("<", ">")), copy.deepcopy(x), num(0)), x, num(r.choice((0, 1)))))
    if k == 5:
        return _put(p, Binary(0, "/", x, Binary(0, "+", num(1), call("abs", copy.deepcopy(x)))))
    return _put(p, call(r.choice(("stop", "f32", "abs")), x))


def literal(r, statements):
    p = _choose(r, statements, lambda p: isinstance(p.node, Number) and not isinstance(p.node.value, bool) and
                not isinstance(p.parent, (Variable, Dim)))
    if not p:
        return None
    v = p.node.value
    if isinstance(v, int):
        return _put(p, num(r.choice((0, 1, 2, -1, -2, v + 1, v - 1, -v, 3*v, r.choice(LARGE)))))
    return _put(p, Number(0, r.choice((0.0, 1.0, 0.5, 2.0*v, 1e-3, 20.0, float("inf"), 1e30)))
                if r.random() < 0.7 else num(-v if v > 0 else 1.0))


def grafted(r, statements):
    """An expression stands where another one stood."""
    to = _choose(r, statements, lambda p: is_expression(p) and not isinstance(p.parent, (Variable, Dim)))
    if not to:
        return None
    near = r.random() < 0.7
    from_ = _choose(r, statements, lambda p: is_expression(p) and (not near or p.chain[:1] == to.chain[:1]) and
                    (p.field == "subscripts") == (to.field == "subscripts"))
    if not from_ or same(from_.node, to.node):
        return None
    return _put(to, copy.deepcopy(from_.node))


def child_for_parent(r, statements):
    """An operand stands for the whole."""
    p = _choose(r, statements, lambda p: isinstance(p.node, (Binary, Unary, Else, Reduce)))
    if not p:
        return None
    children = [q.node for q in places(p.node) if is_expression(q) and len(q.chain) == 1]
    return _put(p, r.choice(children)) if children else None


# ---- guards


def condition_changed(r, statements):
    """A `where` is gone, new, negated or has one more condition."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Reduce))
    if not p:
        return None
    before, node = _say(p.node), p.node
    own = [x.name for x in node.ranges if x.name is not DOTS]
    names = own + _bound_around(p)
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
    return f"{before} -> {_say(node)}"


def guard_changed(r, statements):
    """A guarded read has another value outside, or no guard; one without is guarded."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Else) or
                (isinstance(p.node, Read) and p.field != "read" and any(isinstance(c, (Define, Bind)) for c in p.chain)))
    if not p:
        return None
    if isinstance(p.node, Read):
        return _put(p, Else(0, p.node, num(r.choice((0, 1, -1, 0.5)))))
    if r.random() < 0.2:
        return _put(p, p.node.read)
    other = [q.node for q in places(statements) if isinstance(q.node, Read) and q.chain[:1] == p.chain[:1]]
    new = r.choice([num(0), num(1), num(0.5), num(-2), Number(0, float("inf"))] + other[:2])
    return _put(p, Else(0, p.node.read, copy.deepcopy(new)))


def select_changed(r, statements):
    """The branches of a select change places, or its condition is another."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Call) and p.node.path == ("select",) and len(p.node.args) == 3)
    if not p:
        return None
    (_, c), (_, a), (_, b) = p.node.args
    names = _bound_around(p)
    new = [select(c, b, a), select(Unary(0, "not", c), a, b), a, b]
    if names:
        new.append(select(Binary(0, r.choice(COMPARISONS), path(r.choice(names)), num(r.choice((0, 1, 2)))), a, b))
        new.append(select(Binary(0, "and", c, Binary(0, ">", path(r.choice(names)), num(0))), a, b))
    return _put(p, r.choice(new))


# ---- subscripts


def subscript(r, statements):
    """A subscript is moved, scaled, reversed, another index, or computed."""
    p = _choose(r, statements, lambda p: p.field == "subscripts" and is_expression(p))
    if not p:
        return None
    x, names = p.node, _bound_around(p)
    new = [plus(x, r.choice((-1, 1))), plus(x, r.choice((-2, 2))), Binary(0, "*", num(2), x), Binary(0, "/", x, num(2)),
           Binary(0, "%", x, num(r.choice((2, 3, -3)))), Binary(0, "-", num(r.choice((1, 2, 3, 4))), x),
           call("clamp", plus(x, r.choice((-1, 1))), num(0), num(r.choice((1, 2, 3)))), num(0), num(1),
           Binary(0, "*", x, copy.deepcopy(x)), call("max", plus(x, -1), num(0)), call("abs", plus(x, -1))]
    if names:
        other = path(r.choice(names))
        new += [other, other, Binary(0, "+", x, other), Binary(0, "-", x, other)]
    new = r.choice(new)
    if not isinstance(p.parent, Read) or r.random() < 0.4:
        return _put(p, new)
    return _put(p, new) + _guard(r, statements, p.parent)


def _guard(r, statements, read):
    """What stands for a read outside of its tensor, where nothing does yet."""
    place = next((q for q in places(statements) if q.node is read), None)
    if place is None or place.field == "read" and isinstance(place.parent, Else):
        return ""
    place.put(Else(0, read, num(r.choice((0, 0, 1, 0.5)))))
    return ", guarded"


def subscripts_swapped(r, statements):
    p = _choose(r, statements, lambda p: isinstance(p.node, Read) and len(p.node.subscripts) > 1)
    if not p:
        return None
    before = _say(p.node)
    r.shuffle(p.node.subscripts)
    return f"{before} -> {_say(p.node)}"


def tensor_swapped(r, statements):
    """A read is one of another tensor with as many dimensions, perhaps of the one that is being defined."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Read) and isinstance(p.node.base, Path))
    if not p:
        return None
    count = len(p.node.subscripts)
    names = {n.base.names for n in nodes(statements) if isinstance(n, Read) and isinstance(n.base, Path) and
             len(n.subscripts) == count}
    owner = next((c for c in p.chain if isinstance(c, Define)), None)
    if owner is not None and len(owner.target.indices or []) == count:
        names.add((owner.target.name,))
    names = sorted(names - {p.node.base.names})
    if not names:
        return None
    before, p.node.base = _say(p.node), Path(0, r.choice(names))
    return f"{before} -> {_say(p.node)}" + (_guard(r, statements, p.node) if r.random() < 0.5 else "")


def recurrent(r, statements):
    """A definition reads its own element before or after."""
    p = _choose(r, statements, lambda p: is_value(p) and isinstance(p.chain[0], Define) and
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
    return _put(p, r.choice((Binary(0, "+", p.node, Binary(0, "*", num(0.5), own)), own, Binary(0, "*", p.node, own))))


# ---- statements


def reordered(r, statements):
    """Two statements change places, or one is there once more under another name, or is gone."""
    found = [b for b in blocks(statements) if len(b) > 1]
    if not found:
        return None
    block = r.choice(found)
    k = r.randrange(len(block))
    what = r.randrange(3)
    if what == 0:
        j = min(k + 1, len(block) - 1)
        block[k], block[j] = block[j], block[k]
        return f"statements {k} and {j} change places"
    if what == 1:
        return f"statement {k} is dropped: {type(block.pop(k)).__name__}"
    again = copy.deepcopy(block[k])
    if not isinstance(again, Define) or again.more:
        return None
    name = _fresh(statements, "d")
    used = [q for q in places(block[k + 1:]) if isinstance(q.node, Path) and q.node.names == (again.target.name,)]
    for q in used:
        if r.random() < 0.5:
            q.put(path(name))
    again.target.name = name
    block.insert(k + 1, again)
    return f"{block[k].target.name} is also {name}"


def named(r, statements):
    """A subexpression has a name, over an extent of its own, and stands where it stood."""
    p = _choose(r, statements, lambda p: is_value(p) and isinstance(p.node, (Binary, Call, Reduce)) and
                isinstance(p.chain[0], Define) and not isinstance(p.chain[0].value, (Repeat, While, Case)))
    if not p:
        return None
    inner = bound_in(p.node)
    used = [x for x in _outer_ranges(p) if x.name in names_in(p.node) - inner]
    name = _fresh(statements, "e")
    indices = []
    for x in used:
        new = copy.deepcopy(x)
        if new.upper is not None and r.random() < 0.4:
            new.upper = plus(new.upper, r.choice((-2, -1, 1)))
        new.lower = None
        indices.append(new)
    read = Read(0, path(name), [path(x.name) for x in used]) if used else path(name)
    if used and r.random() < 0.7:
        read = Else(0, read, copy.deepcopy(p.node) if r.random() < 0.5 else num(0))
    statement = p.chain[0]
    at = next((k for k, s in enumerate(statements) if s is statement), None)
    if at is None:
        return None
    said = f"{_say(p.node)} -> {_say(read)}"
    new = Define(0, Target(0, name, indices or None, None), [], copy.deepcopy(p.node))
    p.put(read)
    statements.insert(at, new)
    return said


def loop_changed(r, statements):
    """A loop runs the other way, is a scan or a repeat, has another number of rounds, or carries in another order."""
    loops = [n for n in nodes(statements) if isinstance(n, (Repeat, While))]
    if not loops:
        return None
    loop = r.choice(loops)
    k = r.randrange(5)
    if k == 0 and isinstance(loop, Repeat):
        loop.down = not loop.down
        return "down is " + str(loop.down).lower()
    if k == 1 and isinstance(loop, Repeat):
        loop.kind = "repeat" if loop.kind == "scan" else "scan"
        return f"it is a {loop.kind}"
    if k == 2:
        count = num(r.choice((0, 1, 2, 3)))
        if isinstance(loop, Repeat):
            loop.count = count
        else:
            loop.limit = count
        return f"it has {_say(count)} rounds"
    binds = [b for b in loop.body if isinstance(b, Bind)]
    if k == 3 and binds:
        b = r.choice(binds)
        j = r.randrange(len(b.bindings))
        b.bindings[j] = (b.bindings[j][0], b.bindings[r.randrange(len(b.bindings))][1])
        return "a carry's next value is another's"
    collected = [n for b in loop.body if isinstance(b, Bind) for n in [t.name for t, _ in b.bindings]]
    for s in nodes(statements):
        if isinstance(s, Define) and s.value is loop and collected and not any(isinstance(b, Collect) for b in loop.body):
            name = _fresh(statements, "all")
            s.more.append(name)
            loop.body.insert(r.randrange(len(loop.body) + 1), Collect(0, [r.choice(collected)]))
            _outputs(statements).append((name,))
            return f"it collects as {name}"
    return None


def outputs_changed(r, statements):
    """One more tensor is given out, or one less."""
    outs = _outputs(statements)
    names = [s.target.name for s in statements if isinstance(s, Define)]
    if not names:
        return None
    if len(outs) > 1 and r.random() < 0.3:
        return f"no output {outs.pop(r.randrange(len(outs)))[0]}"
    name = r.choice(names)
    if (name,) in outs:
        return None
    outs.append((name,))
    return f"output {name}"


def _outputs(statements):
    found = next((s for s in statements if isinstance(s, Output)), None)
    if found is None:
        found = Output(0, "forward", [], [])
        statements.append(found)
    return found.paths


def differentiated(r, statements):
    """The gradient of an output, or of its gradient, is given out too."""
    outs = [s for s in statements if isinstance(s, Output)]
    if not outs or not outs[0].paths:
        return None
    out = r.choice(outs[0].paths)
    targets = [s.variable.name for s in statements if isinstance(s, Declare) and s.kind in ("input", "param") and
               (s.variable.type is None or s.variable.type.name in TYPES[:4])]
    targets += [s.target.name for s in statements if isinstance(s, Define) and not s.more][:3]
    if not targets:
        return None
    ranks = {s.target.name: s.target.indices for s in statements if isinstance(s, Define)}
    at = next(k for k, s in enumerate(statements) if s is outs[0])
    loss, grad = _fresh(statements, "l"), _fresh(statements, "g")
    wrt = r.choice(targets)
    indexed = ranks.get(out[0]) or "[" in _say(path(out[0]))
    squared = r.random() < 0.5
    y = Read(0, Path(0, out), [DOTS]) if len(out) > 1 or indexed or out[0] not in ranks or r.random() < 0.3 else path(out[0])
    value = Binary(0, "^", y, num(2)) if squared else y
    body = Reduce(0, "sum", [Range(0, DOTS)], None, value) if isinstance(y, Read) else value
    new = [Define(0, Target(0, loss, None, None), [], body),
           Define(0, Target(0, grad, None, None), [], Call(0, ("grad",), [(None, path(loss)), (None, path(wrt))]))]
    if r.random() < 0.4:
        inner = Read(0, path(grad), [DOTS])
        new += [Define(0, Target(0, loss + "2", None, None), [],
                       Reduce(0, "sum", [Range(0, DOTS)], None, Binary(0, "^", inner, num(2)))),
                Define(0, Target(0, grad + "2", None, None), [], Call(0, ("grad",), [
                    (None, path(loss + "2")), (None, path(r.choice(targets)))]))]
    statements[at:at] = new
    outs[0].paths.append((new[-1].target.name,))
    return f"{new[-1].target.name}: the gradient of {'.'.join(out)} to {wrt}"


def branch_changed(r, statements):
    """The branches of a case change places or labels."""
    cases = [n for n in nodes(statements) if isinstance(n, Case) and len(n.branches) > 1]
    if not cases:
        return None
    c = r.choice(cases)
    j, k = r.sample(range(len(c.branches)), 2)
    (a, x), (b, y) = c.branches[j], c.branches[k]
    c.branches[j], c.branches[k] = ((a, y), (b, x)) if r.random() < 0.5 else ((b, y), (a, x))
    return "branches of a case are exchanged"


def option(r, statements):
    """An option of a call or its default is another."""
    p = _choose(r, statements, lambda p: isinstance(p.node, Number) and
                (p.field == "args" and isinstance(p.parent, Call) or p.field == "options" and isinstance(p.parent, Function)))
    if not p:
        return None
    v = p.node.value
    if isinstance(v, bool):
        return _put(p, Number(0, not v))
    return _put(p, num(r.choice((0, 1, 2, 3, v + 1, v - 1))))


# ---- names and declarations


def _fresh(statements, letter):
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


def _declare(statements, new, first=False):
    """A declaration, behind the imports, and but for sizes behind those."""
    at = max([k + 1 for k, s in enumerate(statements) if type(s).__name__ == "Import" or
              not first and isinstance(s, Dim)], default=0)
    statements.insert(at, new)


TABLE = {  # mutation: how often
    bound_shifted: 8, bound_replaced: 6, bound_closed: 3, bound_given: 4, range_dropped: 2, range_added: 2,
    reduction_split: 2, reduction_kind: 4, extent: 4, all_extents: 4, size_kind: 3, type_changed: 4, types_changed: 3,
    bound_of_type: 3, input_kind: 4, operator: 8, function: 3, wrapped: 5, literal: 6, grafted: 8, child_for_parent: 3,
    condition_changed: 6, guard_changed: 4, select_changed: 3, subscript: 10, subscripts_swapped: 3, tensor_swapped: 4,
    recurrent: 5, reordered: 3, named: 5, loop_changed: 4, outputs_changed: 3, differentiated: 8, branch_changed: 1,
    option: 2,
}


def mutate(r, statements):
    """Change the statements once, and what was done: (name, words), or None where no place was found."""
    for _ in range(12):
        one = r.choices(list(TABLE), TABLE.values())[0]
        said = one(r, statements)
        if said:
            return one.__name__, said
    return None
