"""One mutant: made from a program, run by all peers, and whether they agree."""

import collections
import pickle
import random
from typing import Any, NamedTuple

import numpy as np

from relations import compare
from relations.draw import Program
from relations.harness import Examiner as Related
from relations.printer import text_of
from relations.run import Result
from relations.syntax import ExprError

from . import corpus, peers
from .mutations import mutate
from .prepare import inline, narrow

CODE, INTERPRETED = [], ["--interp"]


class Finding(NamedTuple):
    source: str
    seed: int
    changes: list  # (mutation, words)
    peer: str
    options: list
    entry: str
    what: str
    case: Any
    kind: str  # differ, failed, facts, unstable, slow


class Examiner:
    def __init__(self, neoc, share=None):
        self.peers = peers.Peers(neoc)
        self.share = share or {"facts": 0.5, "evaluator": 0.8, "relations": 0.15}
        self.related = Related(neoc, each=2)
        self.related.run.seconds = 60
        self.tally = collections.Counter()
        self.kept = None, None

    def forms(self, source):
        """The program as it is and with the library's functions in it, both to be copied; nothing where it is none."""
        if self.kept[0] != source.name:
            original = corpus.statements_of(source)
            plain = pickle.dumps(original)
            self.kept = source.name, original and (plain, pickle.dumps(inline(original)))
        return self.kept[1]

    def mutant(self, source, seed, tries=8):
        """The findings of the first mutant of a seed that the front end takes."""
        if not self.forms(source):
            return []
        given = values_given(source)
        for k in range(tries):
            r = random.Random(f"{source.name} {seed} {k}")
            statements = pickle.loads(self.forms(source)[r.random() < 0.7])
            if r.random() < 0.85:
                statements = narrow(statements, r)
            changes = [c for _ in range(r.choices((1, 2, 3), (5, 3, 2))[0]) if (c := mutate(r, statements))]
            try:
                text = text_of(statements)
            except (KeyError, AttributeError, TypeError, RecursionError):
                self.tally["not printed"] += 1
                continue
            case = self.peers.case(text, seed, source.sizes, given)
            if isinstance(case, Result):
                self.tally[f"{case.kind}"] += 1
                self.tally[f"refused {case.why}"] += case.kind == "refused"
                if case.kind in ("failed", "slow"):
                    return [Finding(source.name, seed, changes, "describe", [], "", case.why,
                                    peers.Case(text, None, {}, {}, None), case.kind)]
                continue
            self.tally["mutants"] += 1
            for name, _ in changes:
                self.tally[f"by {name}"] += 1
            return self.examine(source, seed, changes, case, r)
        return []

    def examine(self, source, seed, changes, case, r):
        found = []
        entries = [e for e in case.info["entries"] if e["kind"] in ("forward", "grad")]
        if r.random() < self.share["facts"] and self.peers.checks_facts:
            facts = self.peers.facts(case)
            self.tally["facts"] += 1
            if facts.kind != "computed":
                found.append(("check", ["--check-facts"], "", facts.why, "slow" if facts.kind == "slow" else "facts"))
        for e in r.sample(entries, min(2, len(entries))):
            found += self.entry(case, e, r)
        if r.random() < self.share["relations"]:
            found += self.relations(case, seed)
        return [Finding(source.name, seed, changes, peer, opts, entry, what, case, kind)
                for peer, opts, entry, what, kind in found]

    def entry(self, case, e, r):
        """[(peer, options, entry, what, kind)] of one entry."""
        base = self.peers.run(case, e, INTERPRETED)
        self.tally["interpreted " + base.kind] += 1
        if base.kind == "failed":
            return [("interpreter", INTERPRETED, e["name"], base.why, "failed")]
        if base.kind == "slow":
            return [("interpreter", INTERPRETED, e["name"], base.why, "slow")]
        found = []
        for name, opts in [("machine code", CODE)] + peers.drawn(r, 2):
            found += self.judge(case, e, base, name, opts)
        if r.random() < self.share["evaluator"]:
            found += self.judge(case, e, base, "evaluator", None)
        return found

    def other(self, case, e, opts):
        return self.peers.evaluate(case, e) if opts is None else self.peers.run(case, e, opts)

    def judge(self, case, e, base, name, opts):
        other = self.other(case, e, opts)
        self.tally[f"{name} {other.kind}"] += 1
        if other.kind == "slow":
            return [] if opts is None else [(name, opts, e["name"], other.why, "slow")]
        if other.kind == "refused" and opts is None:
            self.tally[f"evaluator: {other.why[:70]}"] += 1
            return []
        what = verdict(base, other)
        if not what:
            return []
        kind = what[2]
        if kind == "differ" and self.sensitive(case, e, what, name, opts):
            kind = "unstable"
        return [(name, opts, e["name"], what[0], kind)]

    def sensitive(self, case, e, what, name, opts):
        """Whether the interpreter's own results move as far when the inputs move by a rounding."""
        moved = {}
        for k, (n, a) in enumerate(sorted(case.values.items())):
            if a.dtype.kind == "f":
                rng = np.random.default_rng(k)
                eps = 1e-12 if a.dtype == np.float64 else 3e-7 if a.dtype == np.float32 else 1e-3
                a = (a*(1 + eps*rng.uniform(-1, 1, a.shape)) + eps*1e-3*rng.uniform(-1, 1, a.shape)).astype(a.dtype)
            moved[n] = a
        file = case.file[:-4] + "-moved.npz"
        np.savez(file, **moved)
        near = case._replace(values=moved, file=file)
        base = self.peers.run(case, e, INTERPRETED)
        again = self.peers.run(near, e, INTERPRETED)
        if again.kind != "computed" or base.kind != "computed":
            return False
        floor = max(compare.level(base.outputs), 1e-12)
        for n, a in base.outputs.items():
            d = compare.difference(a, again.outputs[n], floor)
            if d and (what[3] == n or d[1] == np.inf) and d[1] >= 0.03*min(what[1], 1e12):
                return True
        return False

    def relations(self, case, seed):
        """What tests/relations finds of the program."""
        if any(a.size > 2000 for a in case.values.values()):
            return []
        values = {n: (a.tolist(), list(a.shape)) for n, a in case.values.items()}
        floats = "f64" if any(t["type"] == "f64" for t in case.info["tensors"]) else "f32"
        self.tally["related"] += 1
        try:
            tally, found = self.related.program(Program(case.text, values, case.sizes, floats, seed=seed), seed)
        except (ExprError, KeyError, AttributeError, StopIteration, TypeError, ValueError, IndexError):
            self.tally["not related"] += 1
            return []
        for f in found:
            if f.relation in ("runs", "interp"):
                continue
            yield (f"relation {f.relation} of seed {f.seed}", f.options + ["--interp"]*(f.mode == "interp"), "forward",
                   f.what + "\n" + f.other, "differ")


def verdict(a, b):
    """None, or (how two runs differ, how far, kind, output)."""
    if b.why.startswith("exit 2"):  # there is no such option
        return None
    if b.kind == "failed":
        return b.why, np.inf, "failed", ""
    if a.kind != b.kind:
        return f"{a.kind} {a.why} and {b.kind} {b.why}", np.inf, "failed", ""
    if a.kind != "computed":
        return None
    found = compare.differences(a.outputs, b.outputs)
    if not found:
        return None
    name, what, far = max(found, key=lambda f: f[2])
    return f"{name}: {what}", far, "differ", name


def values_given(source):
    """Values that the original program was run with, as arrays."""
    found = {}
    for name, text in source.given.items():
        try:
            found[name] = np.array(eval(text, {"__builtins__": {}}, {"nan": np.nan, "inf": np.inf, "true": 1, "false": 0}))
        except Exception:
            continue
    return found
