"""Those who compute the same program: the interpreter and machine code under options, and the evaluator on numpy."""

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
from typing import Any, NamedTuple

import numpy as np

from relations import options
from relations.run import Result, _number
from relations.syntax import ExprError

from evaluator import compare as values_of
from evaluator import evaluate_all

SECONDS = 8  # of a processor
EVALUATED = 5  # seconds that the evaluator may take
OUTSIDE = re.compile("lies outside|no branch of this case")  # what the evaluator finds and the front end shows to be impossible

_BROKEN = re.compile(r"at index|internal|needs itself|is not defined")  # what no program that passed may say when it runs


class Case(NamedTuple):
    """A program at values."""
    text: str
    info: dict  # what `neoc describe` says
    sizes: dict
    values: dict  # name -> array
    file: Any  # the values, as .npz


class Peers:
    """Runs programs in a folder of its own."""

    def __init__(self, neoc, seconds=SECONDS):
        self.neoc, self.seconds = neoc, seconds
        self.folder = tempfile.mkdtemp(prefix="mutated-")
        self.environment = dict(os.environ, TMPDIR=self.folder, XDG_CACHE_HOME=self.folder)
        self.runs = 0
        self.checks_facts = b"--check-facts" in subprocess.run([neoc, "help", "check"], capture_output=True).stdout

    def case(self, text, seed, sizes, given):
        """The case of a program with values of a seed, or a Result: why there is none."""
        name = self._write(text)
        found = self._call(["describe", "--format=json", name])
        if isinstance(found, Result):
            return found
        if found.returncode:
            return _refused(found)
        info = json.loads(found.stdout)
        wanted = {s["name"]: _size(seed, s, sizes) for s in info["sizes"]}
        try:
            values = values_of.values(info, wanted, seed)
        except (ValueError, ZeroDivisionError, MemoryError) as e:
            return Result("refused", {}, f"no values: {type(e).__name__}")
        if sum(a.size for a in values.values()) > 4_000_000:
            return Result("refused", {}, "large")
        for n, a in given.items():
            if n in values and np.shape(a) == values[n].shape and fits(info, n, a):
                values[n] = np.asarray(a).astype(values[n].dtype)
        file = os.path.join(self.folder, "values.npz")
        np.savez(file, **values)
        return Case(text, info, wanted, values, file)

    def _write(self, text):
        name = os.path.join(self.folder, "p.expr")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        return name

    def _call(self, arguments):
        self.runs += 1
        limit = (self.seconds, self.seconds)
        done = subprocess.run([self.neoc, *arguments], capture_output=True, env=self.environment,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
        over = done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
        return Result("slow", {}, "takes too long") if over else done

    def run(self, case, entry, opts):
        """What neoc computes for an entry under options."""
        kept = {t["name"] for t in case.info["tensors"] if t["role"] in ("parameter", "state", "setting")}
        given = [f"{n}=@{case.file}:{n}" for n in case.values if n in entry["inputs"] or n in kept]
        given += [f"--size={n}={v}" for n, v in case.sizes.items() if n in entry["sizes"]]
        done = self._call(["run", "--format=json", self._write(case.text), f"--entry={entry['name']}", *opts, *given])
        return done if isinstance(done, Result) else _computed(done)

    def facts(self, case):
        """Whether what was derived of the program holds: a Result without outputs."""
        done = self._call(["check", "-q", "--format=json", "--check-facts", self._write(case.text)])
        if isinstance(done, Result):
            return done
        return Result("computed", {}, "") if done.returncode == 0 else _refused(done, "failed")

    def evaluate(self, case, entry):
        """What the evaluator computes."""
        kinds = {t["name"]: t["type"] for t in case.info["tensors"]}
        old = signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(EVALUATED)
        try:
            found, _ = evaluate_all(case.text, dict(case.values), dict(case.sizes), entry["name"])
        except ExprError as e:
            return Result("failed" if OUTSIDE.search(str(e)) else "refused", {}, f"evaluator: {e}")
        except TimeoutError:
            return Result("slow", {}, "evaluator")
        except Exception as e:
            return Result("refused", {}, f"evaluator: {type(e).__name__}")
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, old)
        return Result("computed", {n: (kinds.get(n, "f32"), list(np.shape(a)), np.asarray(a).reshape(-1).tolist())
                                   for n, a in found.items() if n in entry["outputs"]}, "")


def fits(info, name, data):
    """Whether given elements lie within the bound that is declared now."""
    t = next(t for t in info["tensors"] if t["name"] == name)
    return "least" not in t and "below" not in t and ("bound" not in t or isinstance(t["bound"], int) and
                                                      ((np.asarray(data) >= 0) & (np.asarray(data) < t["bound"])).all())


def _size(seed, s, given):
    """A run-time size: the original program's, an end of its range, or a small one."""
    low, high, name = s["lo"], s["hi"], s["name"]
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    usual = given.get(name, rng.choice([low, low + 1, 3, 4, 5, 7]))
    return int(min(max(low, usual), high))


def _too_long(*_):
    raise TimeoutError


def _computed(done):
    """What `neoc run` gave: outputs, or why there are none."""
    if done.returncode:
        return _refused(done)
    try:
        found = json.loads(done.stdout)["outputs"]
    except (ValueError, KeyError):
        return Result("failed", {}, "no JSON")
    return Result("computed", {n: (o["type"], o["shape"], [_number(v) for v in o["values"]]) for n, o in found.items()}, "")


def _refused(done, otherwise="refused"):
    """Why neoc does not take a program."""
    try:
        errors = [d for d in json.loads(done.stdout).get("diagnostics", []) if d["severity"] == "error"]
    except ValueError:
        errors = []
    if done.returncode == 1 and errors and errors[0]["code"] != "E0000":
        return Result(otherwise, {}, errors[0]["code"] + ("" if otherwise == "refused" else ": " + errors[0]["message"]))
    why = errors[0]["message"] if errors else done.stderr.decode(errors="replace").strip().split("\n")[0]
    plain = done.returncode in (2, 3, 4) or done.returncode == 1 and not errors and not _BROKEN.search(why)
    return Result("refused" if plain else "failed", {}, f"exit {done.returncode}: {why}")


def drawn(r, count):
    """Peers besides the interpreter and machine code: (name, options), `count` of them at random."""
    some = [(n, ["--interp"] * (r.random() < 0.5) + f(r)) for n, f in r.sample(options.TABLE, count)]
    return [("unoptimized", ["--interp", "--passes=autodiff"])] + some
