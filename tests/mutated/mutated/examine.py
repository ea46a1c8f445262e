"""One mutant: made from a program, run by all peers, and whether they agree."""

import collections
import pickle
import random
from typing import Any, NamedTuple

import numpy as np

from relations import compare
from relations.draw import Program
from relations.harness import Examiner as Related
from relations.models import written_out
from relations.printer import text_of
from relations.run import Result
from relations.syntax import ExprError, parse

from . import corpus, peers
from .mutations import mutate
from .mutations.kinds import retype
from .prepare import inline, narrow
from .verdict import Verdict, has_gradients, moved, told, verdict

CODE, INTERPRETED = [], ["--interp"]
TRIES = 8  # mutants of a seed, until the front end takes one
SHARE = {"compiled": 1, "facts": 0.5, "evaluator": 0.8, "relations": 0.15}  # of mutants
BAD = ("differ", "failed", "facts")
NARROW_FAR = 8  # times the tolerance, which differences of narrow floats stay below


class Finding(NamedTuple):
    peer: str
    options: Any  # None: no options of neoc
    entry: str
    what: str
    kind: str  # differ, failed, facts; unstable: the program's values are; slow
    far: float = float("inf")  # times the tolerance
    related: Any = None  # what tests/relations found


class Mutant(NamedTuple):
    source: str
    seed: int
    changes: list  # (mutation, words)
    case: Any
    findings: list


class Examiner:
    def __init__(self, neoc, library=None, share=None):
        self.peers = peers.Peers(neoc, library)
        self.share = share or dict(SHARE)
        self.related = Related(neoc, each=2, server=library)
        self.tally = collections.Counter()

    def mutant(self, source, seed):
        """The first mutant of a seed that the front end takes, or None."""
        statements = corpus.statements_of(source)
        if not statements:
            return None
        forms, given = [pickle.dumps(statements), pickle.dumps(inline(statements))], values_given(source)
        for k in range(TRIES):
            r = random.Random(f"{source.name} {seed} {k}")
            made = self._changed(pickle.loads(forms[r.random() < 0.7]), r)
            if made is None:
                continue
            text, changes = made
            case = self.peers.case(text, seed, source.sizes, given)
            if not isinstance(case, Result):
                return self._examined(source, seed, changes, case, r)
            self._tell(case)
            if case.kind in ("failed", "slow"):
                bare = peers.Case(text, None, None, False, {}, {}, None)
                return Mutant(source.name, seed, changes, bare, [Finding("describe", None, "", case.why, case.kind)])
        return None

    def _changed(self, statements, r):
        """(text, changes) of a program that is changed one to three times, or None."""
        if r.random() < 0.85:
            statements = narrow(statements, r)
        changes = [c for _ in range(r.choices((1, 2, 3), (5, 3, 2))[0]) if (c := mutate(r, statements))]
        try:
            return text_of(statements), changes
        except (KeyError, AttributeError, TypeError, RecursionError):
            self.tally["not printed"] += 1
            return None

    def _tell(self, why):
        self.tally["skipped: too large" if why.kind == "large" else "skipped: takes too long" if why.kind == "slow"
                   else why.kind] += 1
        if why.kind in ("refused", "large"):
            self.tally[f"{why.kind}: {why.why}"] += 1

    def _examined(self, source, seed, changes, case, r):
        self.tally["mutants"] += 1
        for name, _ in changes:
            self.tally[f"by {name}"] += 1
        entries = [e for e in case.info["entries"] if e["kind"] in ("forward", "grad")]
        found = self._facts(case) if r.random() < self.share["facts"] and self.peers.checks_facts else []
        for e in r.sample(entries, min(2, len(entries))):
            found += self._entry(case, e, r)
        if r.random() < self.share["relations"]:
            found += self._relations(case, seed)
        for f in found:
            self.tally["skipped: takes too long" if f.kind == "slow" else f.kind] += 1
        return Mutant(source.name, seed, changes, case, found)

    def _facts(self, case):
        facts = self.peers.facts(case)
        self.tally["facts"] += 1
        kind = "slow" if facts.kind == "slow" else "facts"
        return [] if facts.kind == "computed" else [Finding("facts", ["--check-facts"], "", facts.why, kind)]

    def _entry(self, case, e, r):
        """The findings for one entry."""
        base = self.peers.run(case, e, INTERPRETED)
        self.tally["interpreted " + base.kind] += 1
        if base.kind in ("failed", "slow"):
            return [Finding("interpreter", INTERPRETED, e["name"], base.why, base.kind)]
        compiled = r.random() < self.share["compiled"] and case.work.definitions <= peers.COMPILED
        others = [("machine code", CODE)]*compiled + peers.drawn(r, 2, compiled)
        found = [self.judge(case, e, base, name, opts) for name, opts in others]
        if r.random() < self.share["evaluator"]:
            found.append(self.judge(case, e, base, "evaluator", None))
        return [f for f in found if f]

    def again(self, case, finding):
        """The finding of the same peer for another case, or None."""
        if finding.peer == "facts":
            return next(iter(self._facts(case)), None)
        entries = [e for e in case.info["entries"] if e["kind"] in ("forward", "grad")]
        if not entries:
            return None
        e = next((e for e in entries if e["name"] == finding.entry), entries[0])
        base = self.peers.run(case, e, INTERPRETED)
        if base.kind in ("failed", "slow"):
            return Finding("interpreter", INTERPRETED, e["name"], base.why, base.kind)
        return None if finding.peer == "interpreter" else self.judge(case, e, base, finding.peer, finding.options)

    def judge(self, case, e, base, name, opts):
        """The Finding of one peer beside the interpreter, or None."""
        if opts is None and base.kind != "computed":
            return None
        other = self._evaluated(case, e, base) if opts is None else self.peers.run(case, e, opts)
        self.tally[f"{name} {other.kind}"] += 1
        if other.kind == "slow":
            return Finding(name, opts, e["name"], other.why, "slow")
        if other.kind in ("refused", "large") and (opts is None or any(o.startswith("--proof-quota") for o in opts)):
            return None
        what = verdict(base, other, case, e)
        if not what:
            return None
        unstable = what.kind == "differ" and (self._sensitive(case, e, base, what) or
                                              opts is None and self._agree_in_f64(case, e, what))
        return Finding(name, opts, e["name"], what.words, "unstable" if unstable else what.kind, what.far)

    def _sensitive(self, case, e, base, what):
        """Whether the interpreter's own results move as far when the inputs move by a rounding."""
        again = self.peers.run(self.peers.at(case, {n: moved(a, k) for k, (n, a) in enumerate(sorted(case.values.items()))}),
                               e, INTERPRETED)
        if again.kind != "computed" or base.kind != "computed":
            return False
        floor = max(compare.level(base.outputs), 1e-12)
        for n, a in base.outputs.items():
            d = compare.difference(a, again.outputs[n], floor)
            if d and (what.output == n or d[1] == np.inf) and d[1] >= 0.03*min(what.far, 1e12):
                return True
        return False

    def _evaluated(self, case, e, base):
        other = self.peers.evaluate(case, e)
        return told(base, other) if has_gradients(case, e) else other

    def _agree_in_f64(self, case, e, what):
        """Whether the evaluator, which computes in f64 always, and the interpreter agree on the program in f64: what differs is
        rounding then. Of f16 and bf16 where it is not far: what conversions do is looked at, too."""
        statements = parse(case.text)
        retype(statements, "f64", ("f32", "f16", "bf16") if what.far <= NARROW_FAR else ("f32",))
        wide = self.peers.case(text_of(statements), 0, case.sizes, case.values)
        if isinstance(wide, Result) or e["name"] not in [x["name"] for x in wide.info["entries"]]:
            return False
        base = self.peers.run(wide, e, INTERPRETED)
        return not verdict(base, self._evaluated(wide, e, base), wide, e)

    def _relations(self, case, seed):
        """The findings of tests/relations for the program; an element of `rand` depends on where it stands."""
        if case.draws or any(a.size > 2000 for a in case.values.values()):
            return []
        self.tally["related"] += 1
        try:
            _, found = self.related.program(related_program(case, seed), seed)
        except (ExprError, KeyError, AttributeError, StopIteration, TypeError, ValueError, IndexError):
            self.tally["not related"] += 1
            return []
        return [self._of_relation(case, f) for f in found if f.relation not in ("runs", "interp")]

    def _of_relation(self, case, f):
        options = f.options + ["--interp"]*(f.mode == "interp")
        e = next(e for e in case.info["entries"] if e["kind"] == "forward")
        what = Verdict(f.what, f.far, "differ", f.what.split(":")[0])
        unstable = f.far < np.inf and self._sensitive(case, e, self.peers.run(case, e, INTERPRETED), what)
        return Finding(f"relation {f.relation} of seed {f.seed}", options, e["name"], f.what,
                       "unstable" if unstable else "differ", f.far, f)


def related_program(case, seed):
    statements = parse(case.text)
    written_out(statements)
    values = {n: (a.tolist(), list(a.shape)) for n, a in case.values.items()}
    floats = "f64" if any(t["type"] == "f64" for t in case.info["tensors"]) else "f32"
    return Program(text_of(statements), values, case.sizes, floats, seed=seed)


def values_given(source):
    """Values that the original program was run with, as arrays."""
    found = {}
    for name, text in source.given.items():
        try:
            found[name] = np.array(eval(text, {"__builtins__": {}}, {"nan": np.nan, "inf": np.inf, "true": 1, "false": 0}))
        except (SyntaxError, NameError, TypeError, ValueError):
            continue
    return found
