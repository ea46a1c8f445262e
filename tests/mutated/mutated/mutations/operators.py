"""Operators, functions and numbers."""

import copy

from relations.syntax import (Binary, Call, Dim, Else, Function, Number, Range, Reduce, Unary, Variable, call, num, path,
                              same, select)

from ..places import is_expression, is_value, places
from .parts import COMPARISONS, choose, fresh, outer_names, put, say

ARITHMETIC = "+ - * / %".split()
FUNCTIONS = ("exp log sqrt tanh sigmoid relu sin cos abs floor ceil round expm1 log1p erf gelu silu softplus square "
             "sign").split()
PAIRS = ("min", "max")
LARGE = (7, 100, 255, 2**31 - 1, 2**31, 2**53 + 1, 2**62)


def operator(r, statements):
    """An operator is another of its kind, or its operands change places."""
    p = choose(r, statements, lambda p: isinstance(p.node, Binary) and is_expression(p))
    if not p:
        return None
    group = next((g for g in (ARITHMETIC, COMPARISONS, ["and", "or"]) if p.node.op in g), None)
    if not group:
        return None
    before = say(p.node)
    if r.random() < 0.2:
        p.node.a, p.node.b = p.node.b, p.node.a
    else:
        p.node.op = r.choice([o for o in group if o != p.node.op])
    return f"{before} -> {say(p.node)}"


def function(r, statements):
    """A function of elements is another, or a binary one an operator."""
    p = choose(r, statements, lambda p: isinstance(p.node, Call) and
               (p.node.path[0] in FUNCTIONS or p.node.path[0] in PAIRS) and len(p.node.path) == 1)
    if not p:
        return None
    args = [a for _, a in p.node.args]
    if len(args) == 2 and p.node.path[0] in PAIRS:
        new = r.choice((call("max", *args), call("min", *args), Binary(0, "*", *args), call("max", *args[::-1]), args[0]))
    else:
        new = r.choice((call(r.choice(FUNCTIONS), *args), args[0]))
    return put(p, new)


def wrapped(r, statements):
    """A value passes through a function, a guard, or a sum of two equal terms."""
    p = choose(r, statements, is_value)
    if not p or isinstance(p.node, Number):
        return None
    x, k = p.node, r.randrange(7)
    outer = outer_names(p)
    if k == 0:
        return put(p, call(r.choice(FUNCTIONS), x))
    if k == 1 and outer:
        return put(p, select(Binary(0, r.choice(COMPARISONS), path(r.choice(outer)), num(r.choice((0, 1, 2)))), x, num(0)))
    if k == 2:
        return put(p, Binary(0, "*", num(r.choice((0.5, -1.0, 2.0, 0.0))), x))
    if k == 3:
        name = fresh(statements, "k")
        return put(p, Reduce(0, r.choice(("sum", "max", "sum")), [Range(0, name, None, False, num(2))], None, x))
    if k == 4:
        return put(p, select(Binary(0, r.choice(("<", ">")), copy.deepcopy(x), num(0)), x, num(r.choice((0, 1)))))
    if k == 5:
        return put(p, Binary(0, "/", x, Binary(0, "+", num(1), call("abs", copy.deepcopy(x)))))
    return put(p, call(r.choice(("stop", "f32", "abs")), x))


def literal(r, statements):
    """A number is another: a near one, a special one, a huge one."""
    p = choose(r, statements, lambda p: isinstance(p.node, Number) and not isinstance(p.node.value, bool) and
               not isinstance(p.parent, (Variable, Dim)))
    if not p:
        return None
    v = p.node.value
    if isinstance(v, int):
        return put(p, num(r.choice((0, 1, 2, -1, -2, v + 1, v - 1, -v, 3*v, r.choice(LARGE)))))
    return put(p, Number(0, r.choice((0.0, 1.0, 0.5, 2.0*v, 1e-3, 20.0, float("inf"), 1e30)))
                if r.random() < 0.7 else num(-v if v > 0 else 1.0))


def grafted(r, statements):
    """An expression stands where another one stood."""
    to = choose(r, statements, lambda p: is_expression(p) and not isinstance(p.parent, (Variable, Dim)))
    if not to:
        return None
    near = r.random() < 0.7
    from_ = choose(r, statements, lambda p: is_expression(p) and (not near or p.chain[:1] == to.chain[:1]) and
                    (p.field == "subscripts") == (to.field == "subscripts"))
    if not from_ or same(from_.node, to.node):
        return None
    return put(to, copy.deepcopy(from_.node))


def child_for_parent(r, statements):
    """An operand stands for the whole."""
    p = choose(r, statements, lambda p: isinstance(p.node, (Binary, Unary, Else, Reduce)))
    if not p:
        return None
    children = [q.node for q in places(p.node) if is_expression(q) and len(q.chain) == 1]
    return put(p, r.choice(children)) if children else None


def option(r, statements):
    """An option of a call or its default is another."""
    p = choose(r, statements, lambda p: isinstance(p.node, Number) and
               (p.field == "args" and isinstance(p.parent, Call) or p.field == "options" and isinstance(p.parent, Function)))
    if not p:
        return None
    v = p.node.value
    if isinstance(v, bool):
        return put(p, Number(0, not v))
    return put(p, num(r.choice((0, 1, 2, 3, v + 1, v - 1))))


TABLE = {operator: 8, function: 3, wrapped: 5, literal: 6, grafted: 8, child_for_parent: 3, option: 2}
