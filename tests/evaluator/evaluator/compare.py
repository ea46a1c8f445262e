"""The evaluator, the interpreter and compiled code on the same values: `main.py compare`."""

import json
import os
import subprocess
import tempfile

import numpy as np

from .errors import ExprError, RandomNeeded
from .library import Library
from .outputs import outputs
from .program import Program

# Relative to the largest element of a tensor, and to the element itself. The evaluator computes in float64, the
# others in the types of the model: what they round is compared at the type's precision, sums of many at a few times
# that.
TOLERANCE = {"f64": 1e-9, "f32": 2e-5, "f16": 4e-3, "bf16": 3e-2}
RUNS = (("interpreter", ["--interp"]), ("compiled", []))


def describe(neoc, model, options):
    out = subprocess.run([neoc, "describe", "--format=json", model] + options, capture_output=True, text=True)
    if out.returncode:
        raise ExprError(f"neoc describe {model}: {out.stderr.strip()}")
    return json.loads(out.stdout)


def sizes_of(info, given):
    """A value for every run-time size: what is given, else a small one."""
    result = {}
    for n, s in enumerate(info["sizes"]):
        result[s["name"]] = int(given.get(s["name"], max(s["lo"], min(s["hi"], 3 + n))))
    return result


def _extents(shape, sizes):
    return tuple(int(eval(str(e).replace("/", "//"), {"__builtins__": {}}, sizes)) for e in shape)


def values(info, sizes, seed):
    """Values for inputs, parameters, states. Those of inputs are eighths: sums of few are exact, and equals occur."""
    result = {}
    for k, t in enumerate(info["tensors"]):
        if t["role"] not in ("input", "parameter", "state"):
            continue
        rng = np.random.default_rng([seed, k])
        shape = _extents(t["shape"], sizes)
        result[t["name"]] = _draw(rng, t, shape, sizes)
    return result


_NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.float32, "i64": np.int64,
          "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}


def _draw(rng, t, shape, sizes):
    kind = t["type"]
    if kind == "bool":
        data = rng.integers(0, 2, shape)
    elif kind in ("f64", "f32", "f16", "bf16"):
        if t["role"] == "input":
            data = rng.integers(-16, 17, shape) / 8
        else:
            data = rng.integers(-64, 65, shape) / 128
        if t["role"] == "state":
            data = np.abs(data) + 0.25  # a running variance is positive
    elif "bound" in t:
        data = rng.integers(0, _extents([t["bound"]], sizes)[0], shape)
    else:
        low, high = {"i8": (-128, 128), "u8": (0, 256)}.get(kind, (-9, 10))
        data = rng.integers(low, high, shape)
    return np.asarray(data).astype(_NUMPY[kind])


def difference(ours, theirs, kind):
    """The largest difference, in units of what is allowed; inf where NaN, inf or integers differ."""
    ours = np.asarray(ours, dtype=np.float64).reshape(-1)
    theirs = np.asarray(theirs, dtype=np.float64).reshape(-1)
    if ours.shape != theirs.shape:
        return np.inf, 0
    if not ours.size:
        return 0.0, 0
    if kind not in TOLERANCE:
        wrong = ours != theirs
        return (np.inf if wrong.any() else 0.0), int(np.argmax(wrong))
    special = ~np.isfinite(ours) | ~np.isfinite(theirs)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if (special & ~same).any():
        return np.inf, int(np.argmax(special & ~same))
    a, b = np.where(special, 0, ours), np.where(special, 0, theirs)
    scale = np.maximum(np.abs(a), 0.05 * np.abs(a).max()) + 1e-6
    ratio = np.abs(a - b) / scale / TOLERANCE[kind]
    return float(ratio.max()), int(np.argmax(ratio))


class Comparison:
    """One model at one set of values; `report` is called with every line of the result."""

    def __init__(self, neoc, model, defines=None, sizes=None, seed=1, folders=(), report=print, rand=None, given=None,
                 verbose=False):
        self.verbose = verbose
        self.worst, self.compared, self.left_out = 0.0, 0, []
        self.neoc, self.model, self.report = neoc, model, report
        self.defines = dict(defines or {})
        self.folders = list(folders)
        self.rand = rand
        self.options = [f"-D{k}={v}" for k, v in self.defines.items()]
        for folder in folders:
            self.options += ["-I", folder]
        self.info = describe(neoc, model, self.options)
        self.sizes = sizes_of(self.info, sizes or {})
        self.values = values(self.info, self.sizes, seed)
        self.values.update(given or {})
        self.kinds = {t["name"]: t["type"] for t in self.info["tensors"]}
        self.roles = {t["name"]: t["role"] for t in self.info["tensors"]}
        self.wrong = 0

    def ours(self, e, step=0):
        """What the evaluator computes for an entry; None where it depends on random numbers."""
        with np.errstate(all="ignore"):
            try:
                return outputs(self.program(self.rand, step), e["name"])
            except RandomNeeded:
                low, high = (outputs(self.program(r, step), e["name"]) for r in (0.125, 0.875))
        same = all(np.array_equal(a[n], b[n], equal_nan=True) for a, b in zip(low, high) for n in a)
        if not same:
            self.left_out.append(e["name"])
            self.report(f"{self.model} {e['name']}: left out, for it depends on rand()")
            return None
        return low

    def summary(self):
        """One line about all of the model."""
        result = f"{self.wrong} differ" if self.wrong else "ok"
        return f"{self.model}: {result}, {self.compared} results compared, at most {self.worst:.2g} of what is allowed"

    def program(self, rand, step):
        from . import STANDARD
        with open(self.model, encoding="utf-8") as file:
            text = file.read()
        known = {**self.defines, **self.sizes}
        return Program(text, self.values, known, self.folders + [STANDARD],
                       os.path.dirname(os.path.abspath(self.model)), rand=rand, step=step)

    def entries(self, wanted=None):
        for e in self.info["entries"]:
            if e["kind"] in ("forward", "grad") and (wanted is None or e["name"] in wanted):
                yield e

    def run(self, wanted=None):
        """Compare all entries; how many results differ."""
        with tempfile.TemporaryDirectory() as folder:
            for name, data in self.values.items():
                np.save(os.path.join(folder, name + ".npy"), data)
            for e in self.entries(wanted):
                self.entry(e, folder)
            if any(self.changing(wanted)):
                self.changes(wanted, folder)
        return self.wrong

    def changing(self, wanted):
        """The entries that may change parameters or states."""
        kept = any(t["role"] in ("parameter", "state") for t in self.info["tensors"])
        for e in self.info["entries"]:
            if e["kind"] in ("forward", "train") and kept and (wanted is None or e["name"] in wanted):
                yield e

    def changes(self, wanted, folder):
        """What entries leave in parameters and states, compared with the compiled library."""
        library = Library(self.neoc, self.model, self.options, self.info, os.path.join(folder, "library"),
                          os.path.join(os.path.dirname(self.neoc), "..", "lib"))
        shape_of = lambda t: _extents(t["shape"], self.sizes)
        kept = [t for t in self.info["tensors"] if t["role"] in ("parameter", "state")]
        try:
            for e in self.changing(wanted):
                for t in kept:
                    library.set(t["name"], self.values[t["name"]])
                found = self.ours(e, library.steps)
                theirs = library.run(e, self.sizes, self.values, shape_of)
                library.steps += e["kind"] == "train"
                if not found:
                    continue
                ours, changed = found
                for name in e["outputs"]:
                    self._one(e, "library", name, ours[name], theirs[name])
                for t in kept:
                    now = changed.get(t["name"], self.values[t["name"]])
                    self._one(e, "library", t["name"], now, library.get(t["name"], shape_of(t)))
        finally:
            library.close()

    def entry(self, e, folder):
        found = self.ours(e)
        if not found:
            return
        ours = found[0]
        for who, options in RUNS:
            theirs = self._neoc(e, folder, options)
            if theirs is None:
                self.wrong += 1
                continue
            for name in e["outputs"]:
                self._one(e, who, name, ours[name], theirs[name])

    def _neoc(self, e, folder, options):
        out = os.path.join(folder, "out.npz")
        given = [f"{n}=@{folder}/{n}.npy" for n in self.values
                 if n in e["inputs"] or self.roles.get(n) in ("parameter", "state")]
        command = [self.neoc, "run", self.model, f"--entry={e['name']}", "-o", out] + self.options + options + given
        command += [f"--size={n}={v}" for n, v in self.sizes.items() if n in e["sizes"]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            self.report(f"{self.model} {e['name']}: neoc run fails ({done.returncode}): {done.stderr.strip()}")
            return None
        with np.load(out) as file:
            return dict(file)

    def _one(self, e, who, name, ours, theirs):
        worst, at = difference(ours, theirs, self.kinds.get(name, "f32"))
        self.compared += 1
        self.worst = max(self.worst, worst)
        line = f"{self.model} {e['name']} {name}: {who} differs by {worst:.3g} of what is allowed"
        if worst > 1:
            self.wrong += 1
            a, b = np.reshape(ours, -1), np.reshape(theirs, -1)
            if a.size == b.size:
                line += f": element {at} is {b[at]:.9g}, evaluated {a[at]:.9g}"
            else:
                line += f": shape {list(np.shape(theirs))}, evaluated {list(np.shape(ours))}"
        if worst > 1 or self.verbose:
            self.report(line)
