"""Types, bounds of integers, and kinds of declarations."""

from relations.syntax import (DOTS, Bind, Binary, Call, Declare, Define, Range, Target, Type, Variable, call, nodes, num,
                              path, plus)

from .parts import INTEGERS, TYPES, fresh, say


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
        h.type = Type(new, h.type.bound, h.type.closed, h.type.lower) if new in INTEGERS else Type(new)
    else:
        h.type = Type(new)
    return f"{h.name}: {before} -> {new}"


def types_changed(r, statements):
    """All that is f32 has another type of floats."""
    new = r.choice(("f64", "f64", "f64", "bf16", "f16"))
    retype(statements, new)
    return f"f32 -> {new} everywhere"


def retype(statements, new, old=("f32",)):
    """Give all that is of these types of floats another one."""
    for n in nodes(statements):
        if isinstance(n, Declare) and n.variable.type is None:
            n.variable.type = Type(new)
        elif isinstance(n, Type) and n.name in old:
            n.name = new
        elif isinstance(n, Call) and len(n.path) == 1 and n.path[0] in old:
            n.path = (new,)


def bound_of_type(r, statements):
    """The bound of a declared integer is another, or has a lower end, or is gone."""
    types = [n for n in nodes(statements) if isinstance(n, Type) and n.name in INTEGERS]
    if not types:
        return None
    t = r.choice(types)
    before = f"{say(t.lower)} {t.name} {say(t.bound)}"
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
    return f"type {before} -> {say(t.lower)} {t.name} {say(t.bound)}"


def input_kind(r, statements):
    """An input, a parameter or a state is another of them."""
    declared = _declared(statements)
    if not declared:
        return None
    s = r.choice(declared)
    before, s.kind = s.kind, r.choice([x for x in ("input", "param", "state") if x != s.kind])
    s.value = None if s.kind == "input" else s.value or num(0)
    return f"{before} {s.variable.name} -> {s.kind}"


def input_computed(r, statements):
    """An input or a parameter is a tensor that the program computes: of one constant, or of its indices."""
    declared = [s for s in _declared(statements) if s.kind != "state" and not _is_updated(statements, s.variable.name)]
    if not declared:
        return None
    s = r.choice(declared)
    v, name = s.variable, fresh(statements, "c")
    indices = [Range(0, f"{name}{j}", None, False, a.upper if isinstance(a, Range) else a) for j, a in enumerate(v.axes or [])]
    integer = v.type is not None and v.type.name in INTEGERS
    value = num(r.choice((0, 1, 2) if integer else (0, 0.5, 1.0, -1.0)))
    if indices and r.random() < 0.5:
        x = path(r.choice(indices).name)
        value = _of_index(r, x) if integer else Binary(0, "*", num(0.25), call("f32", Binary(0, "-", x, num(1))))
    statements[statements.index(s)] = Define(0, Target(0, v.name, indices or None, v.type), [], value)
    return f"{s.kind} {v.name} is computed"


def _declared(statements):
    return [s for s in statements if isinstance(s, Declare) and s.kind in ("input", "param", "state") and
            not any(a is DOTS for a in s.variable.axes or [])]


def _of_index(r, x):
    return r.choice((x, Binary(0, "-", num(2), x), Binary(0, "%", x, num(3))))


def _is_updated(statements, name):
    return any(t.name == name for n in nodes(statements) if isinstance(n, Bind) and n.kind == "update" for t, _ in n.bindings)


TABLE = {type_changed: 4, types_changed: 3, bound_of_type: 3, input_kind: 2, input_computed: 2}
