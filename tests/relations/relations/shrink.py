"""A smaller program of which a relation still does not hold."""

from .draw import Program
from .model import Model, is_read
from .options import FUSIONS, PASSES
from .sites import constant, sites
from .syntax import (Bind, Binary, Call, Collect, Declare, Define, Dim, Else, Number, Output, Path, Range, Read, Reduce,
                     Repeat, Unary, clone, nodes, num, parse)
from .printer import text_of


def alive(statements):
    """The statements that outputs need."""
    needed = {p[0] for s in statements if isinstance(s, Output) for p in s.paths}
    kept = []
    for s in reversed(statements):
        if isinstance(s, Output):
            keep = True
        elif isinstance(s, Declare):
            keep = s.variable.name in needed
        elif isinstance(s, Dim):
            keep = s.name in needed
        elif isinstance(s, Define):
            keep = bool({s.target.name, *s.more} & needed)
        else:
            keep = True
        if keep:
            kept.append(s)
            needed |= {n.names[0] for n in nodes(s) if isinstance(n, Path)}
    return kept[::-1]


def children(node):
    if isinstance(node, Binary):
        return [node.a, node.b]
    if isinstance(node, Unary):
        return [node.a]
    if isinstance(node, Call) and node.path != ("grad",):
        return [a for _, a in node.args]
    if isinstance(node, Else):
        return [node.value]
    if isinstance(node, Reduce):
        return [node.body]
    return []


def smaller(statements):
    """Smaller programs, those first that leave out much."""
    outs = next(s for s in statements if isinstance(s, Output))
    for k in range(len(outs.paths)):
        if len(outs.paths) > 1:
            new = clone(statements)
            next(s for s in new if isinstance(s, Output)).paths = [clone(outs.paths[k])]
            yield new
    for k in range(len(outs.paths)):
        if len(outs.paths) > 2:
            new = clone(statements)
            del next(s for s in new if isinstance(s, Output)).paths[k]
            yield new
    count = sum(1 for _ in sites(statements))
    for k in range(count):
        site = _nth(statements, k)
        if site.role in ("guarded",) or isinstance(site.node, Number):
            continue
        for j in range(len(children(site.node)) + 2):
            new = clone(statements)
            site = _nth(new, k)
            if j == 0:
                if site.role == "condition" or isinstance(site.node, Path) or site.role == "bound":
                    continue
                site.put(num(0) if site.role == "subscript" else Number(0, 0.5))
            elif j == 1:
                if not isinstance(site.node, Reduce) or site.node.where is None:
                    continue
                site.node.where = None
            else:
                site.put(children(site.node)[j - 2])
            yield new
        if isinstance(site.node, Reduce) and len(site.node.ranges) > 1:
            for j in range(len(site.node.ranges)):
                new = clone(statements)
                del _nth(new, k).node.ranges[j]
                yield new
    for k, s in enumerate(statements):
        if isinstance(s, Define) and isinstance(s.value, Repeat):
            for j in range(len(s.value.carries)):
                if len(s.value.carries) == 1:
                    continue
                new = clone(statements)
                d = new[k]
                name = d.value.carries[j][0].name
                d.value.carries.pop(j)
                for b in d.value.body:
                    if isinstance(b, Bind):
                        b.bindings = [x for x in b.bindings if x[0].name != name]
                d.value.body = [b for b in d.value.body if not isinstance(b, Bind) or b.bindings]
                results = [d.target.name] + d.more
                results.pop(j)
                d.target.name, d.more = results[0], results[1:]
                yield new
            for j, b in enumerate(s.value.body):
                if isinstance(b, Define):
                    new = clone(statements)
                    new[k].value.body.pop(j)
                    yield new


def _nth(statements, k):
    for n, s in enumerate(sites(statements)):
        if n == k:
            return s
    return None


UNPRINTED = (KeyError, AttributeError, TypeError, IndexError, RecursionError)  # what a tree that is no program raises


def descend(text, candidates, fails, limit):
    """The shortest text that `limit` runs find: of all that `candidates(statements)` makes of one, the first that is
    shorter and of which `fails(statements, text)` holds is the next, and the search goes on from there."""
    spent, at, progress = 0, 0, True
    while spent < limit and (progress or at):
        at, progress = at if progress else 0, False
        for k, statements in enumerate(candidates(parse(text))):
            shorter = _printed(statements) if k >= at else None
            if shorter is None or len(shorter) >= len(text):
                continue
            spent += 1
            if fails(statements, shorter):
                text, at, progress = shorter, k, True
            if progress or spent >= limit:
                break
    return text


def _printed(statements):
    try:
        return text_of(statements)
    except UNPRINTED:
        return None


def shrink(examiner, finding, limit=200):
    """(program, seed of the relation, model or None, what) that is as small as `limit` runs find."""
    best, seed, what = finding.program, finding.seed, finding.what
    name, mode, opts = finding.relation, finding.mode, finding.options
    if what.startswith("exit") and finding.other != finding.base:  # the rewritten program alone is enough
        best, name = Program(finding.other, finding.values, finding.sizes, best.floats, best.special, best.seed), "runs"
    seeds = lambda: [seed] if name in ("runs", "interp") or opts else [seed, *range(seed + 1, seed + 6)]
    model = None

    def fails(program):
        for s in seeds():
            got = examiner.once(program, name, s, mode, opts)
            if got and got[0] == "differs" and (name == "runs" or got[3] > 1e3) and _alike(what, got[1]):
                return s, got
        return None
    wide = examiner.in_f64(best) if best.floats == "f32" else None
    if wide:
        got = fails(wide)
        if got:
            best = wide
    bare = alive(parse(best.text))
    bare = Program(text_of(bare), best.values, best.sizes, best.floats, best.special, best.seed)
    got = fails(bare)
    if got:
        best, (seed, (_, what, model, *_)) = bare, got

    def still(statements, text):
        nonlocal best, seed, what, model
        declared = {s.variable.name for s in statements if isinstance(s, Declare)}
        dims = {s.name for s in statements if isinstance(s, Dim)}
        program = Program(text, {n: v for n, v in best.values.items() if n in declared},
                          {n: v for n, v in best.sizes.items() if n in dims}, best.floats, best.special, best.seed)
        got = fails(program)
        if got:
            best, (seed, (_, what, model, *_)) = program, got
        return got is not None
    descend(best.text, lambda statements: map(alive, smaller(statements)), still, limit)
    finding.relation = name
    return best, seed, model, what


def _alike(a, b):
    """Both are failures, or both are numbers."""
    return a.startswith("exit") == b.startswith("exit") and ("internal" in a) == ("internal" in b)


def cures(examiner, program, name, seed, mode, opts=()):
    """Options with which both programs agree: they name who is to blame."""
    found = []
    for o in [f"--skip-pass={p}" for p in PASSES] + [f"--no-fuse={f}" for f in FUSIONS]:
        MODES_plain = examiner.extra
        examiner.extra = [o]
        got = examiner.once(program, name, seed, mode, opts)
        examiner.extra = MODES_plain
        if got is None and name == "runs":
            found.append(o)
        elif got and got[0] == "same":
            found.append(o)
    return found
