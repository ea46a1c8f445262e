"""Statements: their order, names for what they compute, loops and branches."""

import copy

from relations.syntax import (Bind, Binary, Call, Case, Collect, Define, Else, Path, Read, Reduce, Repeat, Target, While,
                              bound_in, names_in, nodes, num, path, plus)

from ..places import blocks, is_value, places
from .parts import choose, fresh, outer_ranges, outputs_of, say


def reordered(r, statements):
    """Two statements change places, or one is gone."""
    found = [b for b in blocks(statements) if len(b) > 1]
    if not found:
        return None
    block = r.choice(found)
    k = r.randrange(len(block))
    if r.random() < 0.5:
        return f"statement {k} is dropped: {type(block.pop(k)).__name__}"
    j = min(k + 1, len(block) - 1)
    block[k], block[j] = block[j], block[k]
    return f"statements {k} and {j} change places"


def duplicated(r, statements):
    """A definition is there once more under another name, which some of its readers read."""
    found = [(b, k) for b in blocks(statements) for k, s in enumerate(b) if isinstance(s, Define) and not s.more]
    if not found:
        return None
    block, k = r.choice(found)
    again, name = copy.deepcopy(block[k]), fresh(statements, "d")
    for q in [q for q in places(block[k + 1:]) if isinstance(q.node, Path) and q.node.names == (again.target.name,)]:
        if r.random() < 0.5:
            q.put(path(name))
    again.target.name = name
    block.insert(k + 1, again)
    return f"{block[k].target.name} is also {name}"


def named(r, statements):
    """A subexpression has a name, over an extent of its own, and stands where it stood."""
    p = choose(r, statements, lambda p: is_value(p) and isinstance(p.node, (Binary, Call, Reduce)) and
               isinstance(p.chain[0], Define) and not isinstance(p.chain[0].value, (Repeat, While, Case)))
    at = next((k for k, s in enumerate(statements) if s is p.chain[0]), None) if p else None
    if at is None:
        return None
    used = [x for x in outer_ranges(p) if x.name in names_in(p.node) - bound_in(p.node)]
    name = fresh(statements, "e")
    read = Read(0, path(name), [path(x.name) for x in used]) if used else path(name)
    if used and r.random() < 0.7:
        read = Else(0, read, copy.deepcopy(p.node) if r.random() < 0.5 else num(0))
    said = f"{say(p.node)} -> {say(read)}"
    new = Define(0, Target(0, name, [_resized(r, x) for x in used] or None, None), [], copy.deepcopy(p.node))
    p.put(read)
    statements.insert(at, new)
    return said


def _resized(r, x):
    new = copy.deepcopy(x)
    if new.upper is not None and r.random() < 0.4:
        new.upper = plus(new.upper, r.choice((-2, -1, 1)))
    return new


def loop_changed(r, statements):
    """A loop runs the other way, is a scan or a repeat, or has another number of iterations."""
    loops = [n for n in nodes(statements) if isinstance(n, (Repeat, While))]
    if not loops:
        return None
    loop, k = r.choice(loops), r.randrange(3)
    if k == 0 and isinstance(loop, Repeat):
        loop.down = not loop.down
        return "down is " + str(loop.down).lower()
    if k == 1 and isinstance(loop, Repeat):
        loop.kind = "repeat" if loop.kind == "scan" else "scan"
        return f"it is a {loop.kind}"
    setattr(loop, "count" if isinstance(loop, Repeat) else "limit", num(r.choice((0, 1, 2, 3))))
    return "another number of iterations"


def carry_changed(r, statements):
    """The next value of a carry is that of another."""
    binds = [n for n in nodes(statements) if isinstance(n, Bind) and len(n.bindings) > 1]
    if not binds:
        return None
    b = r.choice(binds)
    j, k = r.sample(range(len(b.bindings)), 2)
    b.bindings[j] = b.bindings[j][0], copy.deepcopy(b.bindings[k][1])
    return f"{b.bindings[j][0].name} is given what {b.bindings[k][0].name} is given"


def collected(r, statements):
    """A loop gives out a carry of all iterations."""
    loops = [(s, s.value) for s in nodes(statements) if isinstance(s, Define) and isinstance(s.value, Repeat)
             and s.value.carries and not any(isinstance(b, Collect) for b in s.value.body)]
    if not loops:
        return None
    definition, loop = r.choice(loops)
    name = fresh(statements, "all")
    definition.more.append(name)
    loop.body.insert(r.randrange(len(loop.body) + 1), Collect(0, [r.choice(loop.carries)[0].name]))
    if definition in statements:
        outputs_of(statements).append((name,))
    return f"it collects as {name}"


def branch_changed(r, statements):
    """Two branches of a case exchange their labels or their places."""
    cases = [n for n in nodes(statements) if isinstance(n, Case) and len(n.branches) > 1]
    if not cases:
        return None
    c = r.choice(cases)
    j, k = r.sample(range(len(c.branches)), 2)
    (a, x), (b, y) = c.branches[j], c.branches[k]
    c.branches[j], c.branches[k] = ((a, y), (b, x)) if r.random() < 0.5 else ((b, y), (a, x))
    return "branches of a case are exchanged"


TABLE = {reordered: 2, duplicated: 2, named: 5, loop_changed: 3, carry_changed: 1, collected: 1, branch_changed: 1}
