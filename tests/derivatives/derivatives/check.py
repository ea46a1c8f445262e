"""The derivatives of a task in all ways: by dual numbers, by the tape in reverse, by neoc, by differences."""

import re
import sys

import numpy as np

from evaluator import DEEPEST, ExprError, duals
from evaluator.derivatives import along
from relations import compare

from .task import Task, lookup

CLOSE = 1e-8  # of the sum of the terms' magnitudes, between evaluations in f64
JITTER = {"f64": 1e-15, "f32": 1e-6, "f16": 1e-3, "bf16": 1e-2}  # what a definition rounds, relatively
CHAOS = 1e-4  # change by noise of the evaluator's unit, behind which nothing grows with the noise
ROUNDED = 30  # times what is allowed: differences of types narrower than f64 that may be rounding
STEPS = (1e-5, 1e-6, 1e-4)  # of differences; two that agree are enough
DIFFERENCE = 1e-5


class Finding:
    """Two ways that differ. `kind`: which."""

    def __init__(self, kind, what, far, task):
        self.kind, self.what, self.far, self.task = kind, what, far, task


class Checker:
    """`run` is a Runner of neoc; `modes`: options of its runs, by name."""

    def __init__(self, run, modes, differences=True):
        self.run, self.modes, self.differences = run, modes, differences

    def __call__(self, task, tally):
        """All findings about a task."""
        sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))
        with np.errstate(all="ignore"):
            self.task, self.tally, self.findings = task, tally, []
            runs = self._settled()
            if runs is None:
                return []
            self.text = task.text()
            self.reverse()
            self.forward()
            self.independent()
            for mode, result in runs.items():
                self.compiled(mode, result)
            if self.differences and not task.opaque and task.case.floats in ("f64", "f32"):
                self.by_differences()
            return self.findings

    def differ(self, kind, what, far=np.inf):
        self.findings.append(Finding(kind, what, far, self.task))

    # ---- neoc

    def _settled(self):
        """The results of neoc without the gradients that it refuses because nothing depends on them."""
        task = self.task
        first, *more = self.modes
        while True:
            text = task.text()
            result = self._run(text, first)
            name = self._independent(text, result)
            if name is None:
                break
            task.dropped.add(name)
        if result.kind == "refused":
            self.tally["refused " + result.why] += 1
            return None
        return {first: result, **{m: self._run(text, m) for m in more}}

    def _run(self, text, mode):
        values = {n: (np.asarray(v).tolist(), list(np.shape(v))) for n, v in self.task.case.values.items()}
        return self.run(text, values, self.task.case.sizes, ["--entry=dz", *self.task.case.options(), *self.modes[mode]])

    def _independent(self, text, result):
        """The gradient that E0515 refuses, by its name in the text."""
        if result.kind != "refused" or result.why != "E0515":
            return None
        match = re.match(r"(\w+) = grad", text.split("\n")[result.line - 1])
        if match is None or not match[1].startswith("z") or match[1] in self.task.dropped:
            return None
        return match[1]

    # ---- the evaluator

    def reverse(self):
        """The tape's results, by name."""
        task, self.tape = self.task, {}
        program = task.case.program(self.text)
        names = ["zl"] + [f"zg{k}" for k, _ in task.first()] + (["zs"] if task.twice() else []) + \
                [f"zh{k}" for k, _ in task.third()]
        self.tape = {n: lookup(program, n).data for n in names}

    def forward(self):
        """Duals of the loss, of first and second order, and of the first derivative that the tape formed."""
        task, tape = self.task, self.tape
        u, w = task.direction(), task.written()
        first = {t.name: u[t.name] for _, t in task.first()}
        y = lookup(task.case.program(self.text, along(first)), "zl").data
        self.equal("first: tape against duals", [(tape[f"zg{k}"], u[t.name]) for k, t in task.first()],
                   duals.derivative(y, 1))
        if not task.twice():
            return
        third = {t.name: u[t.name] for _, t in task.third()}
        y = lookup(task.case.program(self.text, along(third, w)), "zl").data
        self.equal("first: tape against duals, along what is written",
                   [(tape[f"zg{k}"], w[t.name]) for k, t in task.twice()], duals.derivative(y, 2))
        parts = [(tape[f"zh{k}"], u[t.name]) for k, t in task.third()]
        self.equal("second: tape against nested duals", parts, duals.derivative(y, 1, 2))
        s = lookup(task.case.program(self.text, along(third)), "zs").data
        self.equal("second: tape against duals of the tape", parts, duals.derivative(s, 1))

    def equal(self, kind, parts, derivative):
        """The sum of gradients times directions is a derivative."""
        total = sum(float(np.sum(g*u)) for g, u in parts)
        scale = sum(float(np.sum(np.abs(g*u))) for g, u in parts)
        self.close(kind, total, float(derivative), scale)

    def close(self, kind, a, b, scale, tolerance=CLOSE):
        self.tally[kind] += 1
        if np.isnan(a) or np.isnan(b) or np.isinf(a) or np.isinf(b):
            if not (a == b or np.isnan(a) and np.isnan(b)):
                self.tally["NaN against a number"] += 1
            return
        far = abs(a - b)/(tolerance*max(abs(a), abs(b), scale, 1e-6))
        if far > 1:
            self.differ(kind, f"{a:.12g} and {b:.12g}", far)

    def independent(self):
        """Checks that each gradient that neoc refuses for lack of dependence is 0."""
        task, u = self.task, self.task.direction()
        for k, t in enumerate(task.moving):
            if f"zg{k}" in task.dropped:
                y = lookup(task.case.program(self.text, along({t.name: u[t.name]})), "zl").data
                self.still("first: no dependence", t, duals.derivative(y, 1))
        for k, t in task.twice():
            if f"zh{k}" in task.dropped:
                s = lookup(task.case.program(self.text, along({t.name: u[t.name]})), "zs").data
                self.still("second: no dependence", t, duals.derivative(s, 1))

    def still(self, kind, t, derivative):
        self.tally[kind] += 1
        if abs(float(derivative)) > 1e-12:
            self.differ(kind, f"of {t.name}: E0515, but the derivative is {float(derivative):.9g}")

    # ---- compiled ones

    def compiled(self, mode, result):
        if result.kind == "refused":
            self.tally["refused " + result.why] += 1
            return
        if result.kind == "failed":
            self.differ(f"{mode}: fails", result.why)
            return
        self.tally[mode] += 1
        ours = {n: (result.outputs[n][0], result.outputs[n][1], np.asarray(a, np.float64).reshape(-1).tolist())
                for n, a in ((n, duals.primal(a)) for n, a in self.tape.items())}
        narrow = self.task.case.floats if self.task.case.floats in ("f16", "bf16") else None
        for name, what, far in compare.differences(ours, result.outputs, kind=narrow):
            k = int(name[2:]) if name[2:] else None
            of = f" (of {self.task.moving[k].name})" if k is not None else ""
            order = {"zl": "value", "zg": "first", "zs": "first", "zh": "second"}[name[:2]]
            if self.task.case.floats != "f64" and far < ROUNDED or self.unsteady(name, far*compare.TOLERANCE[narrow or ours[name][0]]):
                self.tally["rounding"] += 1
            elif _numbers_differ(what):
                self.differ(f"{order}: {mode} against the tape", f"{name}{of} {what}", far)
            else:
                self.tally["NaN against a number"] += 1

    def unsteady(self, name, far):
        """Whether rounding at each definition may change a result as much."""
        exact = np.asarray(duals.primal(self.tape[name]))
        program = self.task.case.program(self.text)
        program.jitter = np.random.default_rng(1)
        rough = duals.primal(lookup(program, name).data)
        unit = JITTER[self.task.case.floats]/program.jitter_unit
        change = np.abs(rough - exact).max()/max(np.abs(exact).max(), 1e-30)
        return not change < CHAOS or 30*unit*change > far

    # ---- differences

    def by_differences(self):
        """At a place nearby, where values are equal by no accident: there are no derivatives at kinks."""
        task, u = self.task, self.task.direction()
        self._difference("first: differences", "zl", {t.name: u[t.name] for _, t in task.first()})
        if task.third():
            self._difference("second: differences", "zs", {t.name: u[t.name] for _, t in task.third()})

    def _difference(self, kind, name, direction):
        """Differences along a direction; those over a kink do not agree with each other, and say nothing."""
        place = moved(self.task.nearby(), 1)

        def at(move):
            return lookup(self.task.case.program(self.text, lambda n, a, p: move(n, place(n, a, p), p)), name).data
        slope = float(duals.derivative(at(along(direction)), 1))
        if not direction or not np.isfinite(slope):
            return
        found = []
        for h in STEPS:
            ends = [float(at(moved(direction, s*h))) for s in (1, -1)]
            found.append((ends[0] - ends[1])/(2*h))
            scale = max(abs(slope), abs(found[-1]), 1e-3*max(map(abs, ends)), 1e-6)
            if abs(found[-1] - slope) <= DIFFERENCE*scale or not np.isfinite(found[-1]):
                self.tally[kind] += 1
                return
        if max(found) - min(found) <= 10*DIFFERENCE*scale:
            self.differ(kind, f"{found} and {slope:.12g}", abs(found[0] - slope)/scale/DIFFERENCE)
        else:
            self.tally["differences over a kink"] += 1


def moved(direction, h):
    """A `move` by a step."""
    def move(name, data, point):
        return data + h*direction[name][point].reshape(np.shape(data)) if name in direction else data
    return move


def _numbers_differ(what):
    return "nan" not in what and "inf" not in what


def check(case, seed, run, modes, tally, second=True, differences=True):
    """The findings about a case, and its task; None where the evaluator does not take it."""
    try:
        with np.errstate(all="ignore"):
            sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))
            task = Task(case, seed, second)
        if not task.results or not task.moving:
            tally["nothing to differentiate"] += 1
            return []
        return Checker(run, modes, differences)(task, tally)
    except ExprError as problem:
        tally[f"the evaluator refuses: {re.sub('[0-9]+', '#', str(problem))[:60]}"] += 1
        return []
