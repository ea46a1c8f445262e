"""A smaller program of which the same two ways still differ."""

import collections

from relations.printer import text_of
from relations.shrink import alive, smaller
from relations.syntax import Declare, Dim, parse

from .check import check
from .task import Case


def _of(case, statements):
    """A case of fewer statements."""
    declared = {s.variable.name for s in statements if isinstance(s, Declare)}
    dims = {s.name for s in statements if isinstance(s, Dim)}
    return Case(text_of(statements), {n: v for n, v in case.values.items() if n in declared},
                {n: v for n, v in case.sizes.items() if n in dims}, case.floats, case.folder, case.defines)


def _kind(finding):
    """Which ways differ; a program that neoc fails on is another than one that it computes wrongly."""
    return finding.kind if "fails" in finding.kind else finding.kind.split(":")[0]


def shrink(case, seed, finding, run, modes, limit=150, second=True):
    """(case, finding) as small as `limit` tries find."""
    best, spent, progress = (case, finding), 0, True

    def fails(candidate):
        found = check(candidate, seed, run, modes, collections.Counter(), second, "differences" in finding.kind)
        return next((f for f in found if _kind(f) == _kind(finding) and (f.far > 1e3 or f.far > finding.far/10)), None)

    def tries():
        yield alive(parse(best[0].text))
        yield from smaller(parse(best[0].text))
    while progress and spent < limit:
        progress = False
        for statements in tries():
            candidate = _of(case, alive(statements))
            if not candidate.text or len(candidate.text) >= len(best[0].text):
                continue
            spent += 1
            f = fails(candidate)
            if f or spent >= limit:
                best, progress = (candidate, f) if f else best, bool(f)
                break
    return best
