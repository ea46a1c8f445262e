"""Peers that compute the same program: the interpreter and machine code under options, and the evaluator on numpy."""

import json
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

import numpy as np

from relations import options
from relations.run import TOO_LONG, Result, Server, number
from relations.syntax import Dim, ExprError, Reduce, names_in, nodes, parse

from evaluator import compare as values_of
from evaluator import DEEPEST, STANDARD, Program
from evaluator.outputs import outputs

from . import work

LIMIT = work.Work(definitions=250, elements=500_000, iterations=30_000_000)  # a program beyond is skipped
COMPILED = 60  # definitions of a program that is run as machine code too
EVALUATED = 300_000  # iterations of a program that the evaluator computes too
SECONDS = 30  # of a processor, for one run: with LIMIT this is for what never ends
OUTSIDE = re.compile("lies outside|no branch of this case")  # what the front end has shown to be impossible
_BROKEN = re.compile(r"at index|internal|needs itself|is not defined")  # what no program that passed may say when it runs
_ALL = ["--after=autodiff", "--passes=autodiff"]

sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEPEST))


class Case(NamedTuple):
    """A program at values."""
    text: str
    info: dict  # what `neoc describe` says
    work: Any
    draws: bool  # random numbers, but for first values
    sizes: dict
    values: dict  # name -> array
    file: Any  # the values, as .npz


class Peers:
    """Runs programs in a folder of its own; with `library`, that of tests/relations/server.c, by a server."""

    def __init__(self, neoc, library=None, seconds=SECONDS):
        self.neoc, self.seconds = neoc, seconds
        self.folder = tempfile.mkdtemp(prefix="mutated-")
        self.environment = dict(os.environ, TMPDIR=self.folder, XDG_CACHE_HOME=self.folder)
        self.server = Server(neoc, library, self.folder, self.environment, seconds) if library else None
        self.checks_facts = b"--check-facts" in self._execute(["help", "check"]).stdout

    def case(self, text, seed, sizes, given):
        """The case of a program with values of a seed, or a Result: why there is none."""
        name = self._write(text)
        made = self._call(["explain", "--format=json", *_ALL, name])
        if isinstance(made, Result):
            return made
        ir = json.loads(made.stdout)["ir"]
        wanted = {n: _size(seed, n, low, high, sizes) for n, low, high in work.sizes(ir)}
        amount = work.estimate(ir, wanted)
        if any(a > b for a, b in zip(amount, LIMIT)):
            return Result("large", {}, next(f for f, a, b in zip(amount._fields, amount, LIMIT) if a > b))
        found = self._call(["describe", "--format=json", name])
        if isinstance(found, Result):
            return found
        info = json.loads(found.stdout)
        return self._valued(Case(text, info, amount, work.draws(ir), wanted, {}, None), seed, given)

    def _valued(self, case, seed, given):
        """A case with values of a seed, but for those that are given and fit."""
        info = case.info
        try:
            values = values_of.values(info, case.sizes, seed)
        except (ValueError, ZeroDivisionError, MemoryError) as e:
            return Result("refused", {}, f"no values: {type(e).__name__}")
        for n, a in given.items():
            if n in values and np.shape(a) == values[n].shape and fits(info, n, a):
                values[n] = np.asarray(a).astype(values[n].dtype)
        return self.at(case, values)

    def at(self, case, values):
        """The case with other values."""
        file = os.path.join(self.folder, f"values-{len(os.listdir(self.folder))}.npz")
        np.savez(file, **values)
        return case._replace(values=values, file=file)

    def clean(self):
        """Remove the values of cases that are done."""
        for n in os.listdir(self.folder):
            if n.startswith("values-"):
                os.remove(os.path.join(self.folder, n))

    def _write(self, text):
        name = os.path.join(self.folder, "p.expr")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def _execute(self, arguments):
        if self.server:
            return self.server([self.neoc, *arguments])
        try:
            return subprocess.run([self.neoc, *arguments], capture_output=True, env=self.environment,
                                  timeout=10*self.seconds)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(arguments, TOO_LONG, b"", b"")

    def _call(self, arguments):
        """The output of neoc, or a Result that says why there is none."""
        done = self._execute(arguments)
        if done.returncode == TOO_LONG:
            return Result("slow", {}, f"{arguments[0]} takes too long")
        return _refused(done) if done.returncode else done

    def run(self, case, entry, opts):
        """The results of neoc for an entry under options."""
        kept = {t["name"] for t in case.info["tensors"] if t["role"] in ("parameter", "state", "setting")}
        given = [f"{n}=@{case.file}:{n}" for n in case.values if n in entry["inputs"] or n in kept]
        given += [f"--size={n}={v}" for n, v in case.sizes.items() if n in entry["sizes"]]
        done = self._call(["run", "--format=json", self._write(case.text), f"--entry={entry['name']}", *opts, *given])
        return done if isinstance(done, Result) else _computed(done)

    def facts(self, case):
        """Whether what was derived of the program holds: a Result without outputs."""
        done = self._call(["check", "-q", "--format=json", "--check-facts", self._write(case.text)])
        return done if isinstance(done, Result) else Result("computed", {}, "")

    def evaluate(self, case, entry):
        """The results of the evaluator."""
        kinds = {t["name"]: t["type"] for t in case.info["tensors"]}
        if case.work.iterations > EVALUATED:
            return Result("large", {}, "evaluator")
        if positions_by_data(parse(case.text)):
            return Result("refused", {}, "evaluator: a position depends on what is derived of data")
        try:
            program = Program(case.text, dict(case.values), dict(case.sizes), [STANDARD], None)
            with np.errstate(all="ignore"):
                found, _ = outputs(program, entry["name"])
        except ExprError as e:
            return Result("failed" if OUTSIDE.search(str(e)) else "refused", {}, f"evaluator: {e}")
        except Exception as e:  # what it does not know
            return Result("refused", {}, f"evaluator: {type(e).__name__}")
        if set(program.initial) - set(case.values):
            return Result("refused", {}, "evaluator: a parameter has another name")
        return Result("computed", {n: (kinds.get(n, "f32"), list(np.shape(a)), np.asarray(a).reshape(-1).tolist())
                                   for n, a in found.items() if n in entry["outputs"]}, "")


def positions_by_data(statements):
    """Whether a position among several indices depends on how many values one of them may have by what is derived of
    data, which is the compiler's."""
    known = {s.name for s in statements if isinstance(s, Dim)}
    later = [x for n in nodes(statements) if isinstance(n, Reduce) and n.kind in ("argmax", "argmin") for x in n.ranges[1:]]
    return any(names_in(e) - known for x in later for e in (x.lower, x.upper) if e is not None)


def fits(info, name, data):
    """Whether given elements lie within the bound that is declared now."""
    t = next(t for t in info["tensors"] if t["name"] == name)
    return "least" not in t and "below" not in t and ("bound" not in t or isinstance(t["bound"], int) and
                                                      ((np.asarray(data) >= 0) & (np.asarray(data) < t["bound"])).all())


def _size(seed, name, low, high, given):
    """A run-time size: the original program's, an end of its range, or a small one."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    usual = given.get(name, rng.choice([low, low + 1, 3, 4, 5, 7]))
    return int(min(max(low, usual), high))


def _computed(done):
    """The results of `neoc run`: outputs, or the reason why there are none."""
    try:
        found = json.loads(done.stdout)["outputs"]
    except (ValueError, KeyError):
        return Result("failed", {}, "no JSON")
    return Result("computed", {n: (o["type"], o["shape"], [number(v) for v in o["values"]]) for n, o in found.items()}, "")


def _refused(done):
    """Why neoc does not take a program."""
    try:
        errors = [d for d in json.loads(done.stdout).get("diagnostics", []) if d["severity"] == "error"]
    except ValueError:
        errors = []
    if done.returncode == 1 and errors and errors[0]["code"] != "E0000":
        return Result("refused", {}, errors[0]["code"])
    why = errors[0]["message"] if errors else done.stderr.decode(errors="replace").strip().split("\n")[0]
    plain = done.returncode in (2, 3, 4) or done.returncode == 1 and not errors and not _BROKEN.search(why)
    return Result("refused" if plain else "failed", {}, f"exit {done.returncode}: {why}")


def drawn(r, count, compiled):
    """Peers besides the interpreter: (name, options), `count` of them at random, some as machine code if that may be."""
    some = [(n, ["--interp"] * (not compiled or r.random() < 0.5) + f(r)) for n, f in r.sample(options.TABLE, count)]
    return [("unoptimized", ["--interp", "--passes=autodiff"])] + some
