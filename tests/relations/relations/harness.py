"""One seed: a program, its rewritten ones, and whether they agree."""

import collections
import random
import traceback

from . import compare, options, rewrites
from .draw import program as drawn
from .draw import rare
from .model import Model
from .printer import text_of
from .run import Runner
from .syntax import Call, Declare, Define, Dim, Number, Output, Repeat, nodes, parse


class Tally:
    """Per relation: how many programs were rewritten, compared, refused and why, and differ."""

    def __init__(self):
        self.counts = collections.defaultdict(collections.Counter)

    def add(self, relation, what, n=1):
        self.counts[relation][what] += n

    def merge(self, other):
        for relation, c in other.counts.items():
            self.counts[relation].update(c)

    def total(self, what):
        return sum(c[what] for c in self.counts.values())

    def lines(self):
        head = f"{'relation':18} {'programs':>8} {'compared':>8} {'refused':>8} {'rounding':>8} {'differ':>6}"
        result = [head]
        for name in sorted(self.counts):
            c = self.counts[name]
            why = ", ".join(f"{n} {k[8:]}" for k, n in c.most_common() if k.startswith("refused "))
            result.append(f"{name:18} {c['programs']:8} {c['compared']:8} {c['refused']:8} {c['rounding']:8} {c['differ']:6}"
                          + (f"   {why}" if why else ""))
        pairs = sum(c["compared"] for name, c in self.counts.items() if name != "runs")
        return result + [f"{pairs} metamorphic programs compared, {self.total('differ')} differ"]


class Finding:
    def __init__(self, program, relation, seed, mode, what, base, other, values, sizes, opts, far=float("inf")):
        self.program, self.relation, self.seed, self.mode, self.what, self.far = program, relation, seed, mode, what, far
        self.base, self.other, self.values, self.sizes, self.options = base, other, values, sizes, opts


MODES = {"interp": ["--interp"], "code": []}


def _nudged(value, r):
    """Floats a few units of f32's rounding away."""
    if isinstance(value, list):
        return [_nudged(v, r) for v in value]
    return value * (1 + r.choice((-1, 1)) * 2.0**-22) if isinstance(value, float) else value


# For definitions that programs seldom have (draw_rare.py): rewritings find little there, other passes and machine code much.
RARE = {"wanted": ["interp", "check-facts", "passes=", "memory=small", "named", "hidden_filled"], "share": 1, "each": 1, "compiled": 1,
        "only": rare}


class Examiner:
    def __init__(self, neoc, wanted=None, share=0.3, each=5, compiled=0.15, server=None, only=None):
        self.run = Runner(neoc, server)
        self.wanted, self.share, self.each = wanted, share, each
        self.compiled = compiled  # of programs that are also run as machine code
        self.only = only  # kinds of definitions; by the seed, where it is a function
        self.extra = []  # options of all runs

    def seed(self, seed):
        """(tally, findings) of one seed."""
        program = drawn(seed, self.only(seed) if callable(self.only) else self.only)
        return self.program(program, seed) if program else (Tally(), [])

    def has(self, name):
        return not self.wanted or name in self.wanted

    def program(self, program, seed):
        tally, findings = Tally(), []
        self.run.absent = set()
        r = random.Random(seed ^ 0x5EED)
        bases = {"interp": self.run(program.text, program.values, program.sizes, MODES["interp"])}
        stops = bases["interp"].kind == "refused" or bases["interp"].why.startswith("exit 70")
        if r.random() < self.compiled and not stops:
            bases["code"] = self.run(program.text, program.values, program.sizes, MODES["code"])
        tally.add("runs", "programs")
        for mode, base in bases.items():
            if base.kind == "refused":
                tally.add("runs", "refused")
                tally.add("runs", "refused " + base.why)
                return tally, findings
        tally.add("runs", "compared")
        for mode, base in bases.items():
            if base.kind == "failed":
                tally.add("runs", "differ")
                findings.append(Finding(program, "runs", 0, mode, base.why, program.text, program.text, program.values,
                                        program.sizes, MODES[mode]))
                break
        if not any(b.kind == "computed" for b in bases.values()):
            return tally, findings
        if len(bases) == 2 and all(b.kind == "computed" for b in bases.values()) and self.has("interp"):
            self._judge(program, "interp", 0, "code", bases["code"], bases["interp"], None, tally, findings)
        self._known = None
        self._program = program
        hides = any(n.startswith(rewrites.HIDDEN) for n in program.values)
        names = [x for x in rewrites.TABLE if self.has(x.name) and (x.rewrite is rewrites.hidden_filled) == hides]
        for k in range(self.each if names else 0):
            relation = r.choices(names, [x.weight for x in names])[0]
            modes = [m for m in bases if bases[m].kind == "computed"]
            mode = "code" if "code" in modes and (r.random() < self.share or len(modes) == 1) else modes[0]
            self._relation(program, relation, seed * 100 + k, mode, bases[mode], tally, findings)
        for name, opts in options.ASKED:
            if name in (self.wanted or ()) and bases["interp"].kind == "computed":
                self._options(program, name, opts, "interp", bases["interp"], tally, findings)
        others = [x for x in options.TABLE if self.has(x[0])]
        for k in range(2 if others else 0):
            name, draw = r.choice(others) if k else others[0]
            mode = "code" if k and "code" in bases and r.random() < self.share * 1.5 else "interp"
            if bases[mode].kind == "computed":
                self._options(program, name, draw(r), mode, bases[mode], tally, findings)
        return tally, findings

    # ---- one relation

    def known(self):
        """Values of all integer definitions of the program."""
        if self._known is None:
            m = Model(self._program, 0)
            types = m.scope.types
            names = [d.target.name for d in m.definitions(lambda d: types.get(d.target.name) in rewrites.INTEGERS)]
            m.output().paths = [(n,) for n in names]
            self._known = {}
            for o in (["--interp"], []):
                done = self.run(m.text(), m.values, m.sizes, o) if names else None
                if done and done.kind == "computed":
                    self._known = done.outputs
                    break
        return self._known

    def rewritten(self, program, relation, seed):
        """The model that a relation makes, or None."""
        self._known, self._program = (self._known, program) if getattr(self, "_program", None) is program else (None, program)
        m = Model(program, seed, self.known)
        m.renamed = {}
        try:
            return m if relation.rewrite(m) else None
        except RecursionError:
            return None

    def _relation(self, program, relation, seed, mode, base, tally, findings):
        m = self.rewritten(program, relation, seed)
        if m is None:
            tally.add(relation.name, "declined")
            return
        tally.add(relation.name, "programs")
        other = self.run(m.text(), m.values, m.sizes, MODES[mode])
        self._judge(program, relation.name, seed, mode, base, other, m, tally, findings)

    def _options(self, program, name, opts, mode, base, tally, findings):
        tally.add(name, "programs")
        other = self.run(program.text, program.values, program.sizes, MODES[mode] + opts)
        self._judge(program, name, 0, mode, base, other, None, tally, findings, opts)

    def _judge(self, program, name, seed, mode, base, other, m, tally, findings, opts=()):
        if name == "interp":
            tally.add(name, "programs")
        if other.kind == "refused":
            tally.add(name, "refused")
            tally.add(name, "refused " + other.why)
            return
        tally.add(name, "compared")
        what = self.verdict(program, base, other, m)
        if what and (what[1] < 1e4 and self._rounding(program, name, seed, mode, opts) or
                     self._is_sensitive(program, mode, what[0].split(":")[0])):
            tally.add(name, "rounding")
            return
        if what:
            tally.add(name, "differ")
            text, values, sizes = (m.text(), m.values, m.sizes) if m else (program.text, program.values, program.sizes)
            findings.append(Finding(program, name, seed, mode, what[0], program.text, text, values, sizes,
                                    list(opts), what[1]))

    def verdict(self, program, base, other, m):
        """None, or (how they differ, how far)."""
        if other.kind == "failed":
            return (other.why, float("inf")) if base.kind == "computed" else None
        theirs = other.outputs
        if m is not None and m.renamed:
            back = {b: a for a, b in m.renamed.items()}
            theirs = {rewrites.with_prefix(back, n): v for n, v in theirs.items()}
        found = compare.differences(base.outputs, theirs, m.maps if m else None, m.kind if m else None, program.special)
        if not found:
            return None
        name, what, far = max(found, key=lambda f: f[2])
        return f"{name}: {what}", far

    def _rounding(self, program, name, seed, mode, opts):
        """Whether a small difference of f32 is none in f64."""
        if program.floats == "f64":
            return False
        wide = self.in_f64(program)
        if wide is None:
            return False
        again = self.once(wide, name, seed, mode, opts)
        return again is not None and again[0] == "same"

    def _is_sensitive(self, program, mode, output):
        """Whether changes of f32's rounding in what is given change this output in f64 as far as a difference goes: sin(1e11)."""
        wide = program if program.floats == "f64" else self.in_f64(program)
        if wide is None:
            return False
        base = self.run(wide.text, wide.values, wide.sizes, MODES[mode if mode in MODES else "interp"])
        return base.kind == "computed" and any(output in self._moved(wide, base, mode, random.Random(k)) for k in range(3))

    def _moved(self, program, base, mode, r):
        """The outputs that such changes change."""
        m = Model(program, 0)
        for n in nodes(m.statements):
            if isinstance(n, Number):
                n.value = _nudged(n.value, r)
        moved = {n: (_nudged(v, r), shape) for n, (v, shape) in program.values.items()}
        other = self.run(m.text(), moved, program.sizes, MODES[mode if mode in MODES else "interp"])
        return {d[0] for d in compare.differences(base.outputs, other.outputs, kind="f32")} if other.kind == "computed" else set()

    def in_f64(self, program):
        m = Model(program, 0)
        if not rewrites.other_floats(m):
            return None
        wide = type(program)(m.text(), m.values, m.sizes, "f64", program.special, program.seed)
        return wide

    def once(self, program, name, seed, mode, opts=()):
        """('same' or 'differs', what, model) of one relation on one program, or None where it cannot be told."""
        base = self.run(program.text, program.values, program.sizes, MODES[mode] + self.extra)
        if name == "runs":
            return ("differs", base.why, None) if base.kind == "failed" else None
        if base.kind != "computed":
            return None
        m = None
        relation = next((x for x in rewrites.TABLE if x.name == name), None)
        if relation:
            m = self.rewritten(program, relation, seed)
            if m is None:
                return None
            other = self.run(m.text(), m.values, m.sizes, MODES[mode] + self.extra)
        else:
            o = ["--interp"] if name == "interp" else MODES[mode] + list(opts)
            other = self.run(program.text, program.values, program.sizes, o + self.extra)
        if other.kind == "refused":
            return None
        what = self.verdict(program, base, other, m)
        return ("differs", what[0], m, what[1]) if what else ("same", "", m)
