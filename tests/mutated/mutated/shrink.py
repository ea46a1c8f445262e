"""A smaller mutant of which a finding still holds."""

from relations.run import Result
from relations.shrink import UNPRINTED, children, descend, smaller
from relations.shrink import shrink as shrink_related
from relations.syntax import Number, Output, Train, clone, nodes

from .places import blocks, is_expression, is_value, places
from .prepare import alive

LEAST = 100  # times the tolerance: what a difference of numbers keeps to while it shrinks


def candidates(statements):
    """Smaller programs, those first that have much less; what is no program is among them."""
    for change in (_without_entries, _without_statements, _by_relations, _simpler_places, _without_parts, _smaller_numbers):
        try:
            for new in change(statements):
                yield alive(new)
        except (*UNPRINTED, RuntimeError):  # also a StopIteration
            continue


def _without_entries(statements):
    entries = [k for k, s in enumerate(statements) if isinstance(s, (Output, Train))]
    for k in entries:
        if len(entries) > 1:
            yield [clone(s) for j, s in enumerate(statements) if j != k]


def _without_statements(statements):
    for j, block in enumerate(blocks(statements)):
        for k, s in enumerate(block):
            if not isinstance(s, (Output, Train)):
                new = clone(statements)
                del list(blocks(new))[j][k]
                yield new


def _by_relations(statements):
    """Shrinks the program by tests/relations: outputs, values, ranges, carries."""
    if any(isinstance(s, Output) for s in statements):
        yield from smaller(statements)


def _simpler_places(statements):
    """An operand for a whole, or a number for what computes an element."""
    for k, p in enumerate(places(statements)):
        for j in range(len(children(p.node)) if is_expression(p) else 0):
            new = clone(statements)
            q = _nth(new, k)
            q.put(children(q.node)[j])
            yield new
        if is_value(p) and not isinstance(p.node, Number):
            new = clone(statements)
            _nth(new, k).put(Number(0, 0.5))
            yield new


def _nth(statements, k):
    return next(p for j, p in enumerate(places(statements)) if j == k)


def _without_parts(statements):
    """A list has one item less: indices, subscripts, ranges, axes, arguments, parameters; or a condition or type is gone."""
    for k, n in enumerate(nodes(statements)):
        for name, value in n.__dict__.items():
            for j in range(len(value) if isinstance(value, list) and name != "body" else 0):
                new = clone(statements)
                del getattr(_node(new, k), name)[j]
                yield new
            if name in ("where", "type", "lower") and value is not None:
                new = clone(statements)
                setattr(_node(new, k), name, None)
                yield new


def _node(statements, k):
    return next(n for j, n in enumerate(nodes(statements)) if j == k)


def _smaller_numbers(statements):
    """Numbers of fewer digits."""
    for k, n in enumerate(nodes(statements)):
        if isinstance(n, Number) and not isinstance(n.value, bool) and len(repr(n.value)) > 1:
            for value in (1, 2, 4):
                new = clone(statements)
                _node(new, k).value = value
                yield new


def shrink(examiner, mutant, finding, limit=800):
    """(case, what) of a mutant that is as small as `limit` runs find."""
    if finding.related:
        program, _, model, what = shrink_related(examiner.related, finding.related, limit)
        return mutant.case._replace(text=program.text + ("# ---- and\n" + model.text() if model else ""),
                                    values=program.values, sizes=program.sizes), what
    best, what = mutant.case, finding.what

    def fails(_, text):
        nonlocal best, what
        got = again(examiner, mutant, finding, best, text)
        if got:
            best, what = got
        return got is not None
    descend(best.text, candidates, fails, limit)
    return best, what


def again(examiner, mutant, finding, near, text):
    """(case, what) of a text of which the finding holds too, at the values of a case as far as they fit; or None."""
    case = examiner.peers.case(text, mutant.seed, near.sizes, near.values)
    if isinstance(case, Result):
        same = finding.peer == "describe" and case.kind == finding.kind and case.why == finding.what
        return (near._replace(text=text), case.why) if same else None
    found = examiner.again(case, finding)
    alike = found and found.kind == finding.kind and found.far >= min(finding.far, LEAST) and _kind(found) == _kind(finding)
    return (case, found.what) if alike else None


def _kind(finding):
    """The first words of a failure, which name its kind; nothing of a difference."""
    return finding.what.split(":")[:2] if finding.kind == "failed" else None
