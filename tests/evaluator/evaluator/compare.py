"""The evaluator, the interpreter and compiled code on the same values: `main.py compare`."""

import json
import os
import re
import subprocess
import tempfile

import numpy as np

from . import scalars
from .errors import ExprError
from .library import Library
from .outputs import outputs
from .program import Program

# Relative to the largest element of a tensor, and to the element itself. The evaluator computes in float64, the
# others in the types of the model: what they round is compared at the type's precision, sums of many at a few times
# that.
TOLERANCE = {"f64": 1e-9, "f32": 5e-5, "f16": 4e-3, "bf16": 3e-2}


def describe(neoc, model, options):
    """The output of `neoc describe` for a model."""
    out = subprocess.run([neoc, "describe", "--format=json", model] + options, capture_output=True, text=True)
    found = json.loads(out.stdout) if out.stdout else {}
    if out.returncode:
        problems = [f"line {d['line']}: {d['message']}" for d in found.get("diagnostics", [])]
        raise ExprError("neoc describe: " + "; ".join(problems or [out.stderr.strip()]))
    return found


def sizes_of(info, given):
    """A value for every run-time size: what is given, else a small one."""
    result = {}
    for n, s in enumerate(info["sizes"]):
        result[s["name"]] = int(given.get(s["name"], max(s["lo"], min(s["hi"], 3 + n))))
    return result


def _formula(text, known):
    """The value of a formula of sizes, whose names may have dots."""
    plain = {n.replace(".", "__"): v for n, v in known.items()}
    text = re.sub(r"(?<=[A-Za-z0-9_])\.(?=[A-Za-z_])", "__", str(text)).replace("/", "//")
    return eval(text, {"__builtins__": {}}, plain)


def _extents(shape, sizes):
    return tuple(int(_formula(e, sizes)) for e in shape)


def values(info, sizes, seed):
    """Values for inputs, parameters, states. Those of inputs are eighths: sums of few are exact, and equals occur."""
    result = {}
    for k, t in enumerate(info["tensors"]):
        if t["role"] not in ("input", "parameter", "state", "setting"):
            continue
        rng = np.random.default_rng([seed, k])
        shape = _extents(t["shape"], sizes)
        result[t["name"]] = _draw(rng, t, shape, sizes)
    for name in list(result):
        if name.endswith(".begin") and name[:-5] + "child" in result:
            rng = np.random.default_rng([seed, len(name)])
            result[name], result[name[:-5] + "child"] = _lists(rng, len(result[name]) - 1,
                                                              len(result[name[:-5] + "child"]))
    return result


def _lists(rng, vertices, edges):
    """Offsets and children of lists: some are long, some empty."""
    owner = np.sort(1 + np.floor(rng.random(edges)**2 * (vertices - 1)).astype(np.int64))
    begin = np.searchsorted(owner, np.arange(vertices + 1))
    return begin.astype(np.int32), np.floor(rng.random(edges) * owner).astype(np.int32)


_NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.float32, "i64": np.int64,
          "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.bool_}


def _draw(rng, t, shape, sizes):
    kind = t["type"]
    if kind == "bool":
        data = rng.integers(0, 2, shape)
    elif kind in ("f64", "f32", "f16", "bf16"):
        if t["role"] == "setting":
            data = rng.integers(8, 33, shape) / 64
        elif t["role"] == "input":
            data = rng.integers(-16, 17, shape) / 8
        else:
            data = rng.integers(-64, 65, shape) / 128
        if t["role"] == "state":
            data = np.abs(data) + 0.25  # a running variance is positive
    elif "least" in t or "below" in t:
        data = _between(rng, t, shape, sizes)
    elif "bound" in t:
        data = rng.integers(0, _extents([t["bound"]], sizes)[0], shape)
    elif t["name"].endswith(".step"):
        data = rng.integers(0, 5, shape)
    else:
        low, high = {"i8": (-128, 128), "u8": (0, 256)}.get(kind, (-9, 10))
        data = rng.integers(low, high, shape)
    return np.asarray(data).astype(_NUMPY[kind])


def _between(rng, t, shape, sizes):
    """Integers whose ends are formulas of sizes and of the element's indices d0, d1 .."""
    known = dict(sizes, **{f"d{k}": i for k, i in enumerate(np.indices(shape))})
    ends = [_formula(t[w], known) if w in t else None for w in ("least", "below")]
    low = ends[0] if ends[0] is not None else ends[1] - 9
    high = ends[1] if ends[1] is not None else low + 9
    return low + np.floor(rng.random(shape) * (np.asarray(high) - low)).astype(np.int64)


def level(results):
    """A usual size of the elements of gradients: the median of their largest ones."""
    parts = [np.abs(a[np.isfinite(a)]).max(initial=0) for a in results]
    return float(np.median(parts)) if parts else 0.0


def difference(ours, theirs, kind, floor=0.0):
    """(the largest difference in units of what is allowed, where): inf where NaN, inf or integers differ.

    Differences are relative to the element, to a twentieth of the largest in the tensor, and to `floor`: what
    cancels in sums of larger numbers."""
    ours = np.asarray(ours, dtype=np.float64).reshape(-1)
    theirs = np.asarray(theirs, dtype=np.float64).reshape(-1)
    if ours.shape != theirs.shape:
        return np.inf, 0
    if not ours.size:
        return 0.0, 0
    if kind not in TOLERANCE:
        wrong = ours != theirs
        return (np.inf if wrong.any() else 0.0), int(np.argmax(wrong))
    with np.errstate(over="ignore"):
        ours = np.where(np.isinf(scalars.round_to(ours, kind)), np.copysign(np.inf, ours), ours)
    special = ~np.isfinite(ours) | ~np.isfinite(theirs)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if (special & ~same).any():
        return np.inf, int(np.argmax(special & ~same))
    a, b = np.where(special, 0, ours), np.where(special, 0, theirs)
    scale = np.maximum(np.abs(a), max(0.05 * np.abs(a).max(), floor)) + 1e-30
    ratio = np.abs(a - b) / scale / TOLERANCE[kind]
    return float(ratio.max()), int(np.argmax(ratio))


class Comparison:
    """One model at one set of values; `report` is called with every line of the result."""

    def __init__(self, neoc, model, defines=None, sizes=None, seed=1, folders=(), report=print, given=None,
                 verbose=False, slack=1.0):
        self.slack = slack  # of deep models, whose roundings add up
        self.verbose = verbose
        self.worst, self.compared = 0.0, 0
        self.neoc, self.model, self.report = neoc, model, report
        self.defines = dict(defines or {})
        self.folders = list(folders)
        self.options = [f"-D{k}={v}" for k, v in self.defines.items()]
        for folder in folders:
            self.options += ["-I", folder]
        self.info = describe(neoc, model, self.options)
        self.sizes = sizes_of(self.info, sizes or {})
        self.values = values(self.info, self.sizes, seed)
        self.kinds = {t["name"]: t["type"] for t in self.info["tensors"]}
        for name, data in (given or {}).items():
            self.values[name] = np.asarray(data).astype(_NUMPY[self.kinds[name]])
        self.roles = {t["name"]: t["role"] for t in self.info["tensors"]}
        self.wrong = 0
        self.floor = 0.0
        with open(model, encoding="utf-8") as file:
            self.text = file.read()
        self.coarsest = next((t for t in ("bf16", "f16") if t in self.text), None)

    def ours(self, e, library=None):
        """The evaluator's results for an entry: of the first call of a context, or of the library's next one."""
        step, finished = (library.steps, library.finished) if library else (0, 0)
        with np.errstate(all="ignore"):
            return outputs(self.program(self.values, step, finished), e["name"])

    def summary(self):
        """One line about all of the model."""
        result = f"{self.wrong} differ" if self.wrong else "ok"
        return f"{self.model}: {result}, {self.compared} results compared, at most {self.worst:.2g} of what is allowed"

    def program(self, given, step=0, finished=0):
        from . import STANDARD
        known = {**self.defines, **self.sizes}
        return Program(self.text, given, known, self.folders + [STANDARD],
                       os.path.dirname(os.path.abspath(self.model)), step=step, finished=finished)

    def run(self, wanted=None):
        """Compare all entries; how many results differ."""
        with tempfile.TemporaryDirectory() as folder:
            for name, data in self.values.items():
                np.save(os.path.join(folder, name + ".npy"), data)
            library = Library(self.neoc, self.model, self.options, self.info, os.path.join(folder, "library"))
            try:
                self.beginning(library)
                entries = [e for e in self.info["entries"] if wanted is None or e["name"] in wanted]
                for kind in ("forward", "grad", "train"):
                    for e in entries:
                        if e["kind"] == kind:
                            self.entry(e, folder, library)
            finally:
                library.close()
        return self.wrong

    def beginning(self, library):
        """Initial values of parameters and states."""
        kept = [t for t in self.info["tensors"] if t["role"] in ("parameter", "state")]
        inputs = {n: a for n, a in self.values.items() if self.roles[n] not in ("parameter", "state")}
        for e in self.info["entries"]:
            if e["kind"] in ("forward", "train"):
                program = self.program(inputs)
                with np.errstate(all="ignore"):
                    outputs(program, e["name"])
                for t in kept:
                    if t["name"] in program.initial:
                        ours, theirs = program.initial[t["name"]], library.get(t["name"], self.shape_of(t))
                        kind = "f32" if t["name"] in program.drawn and t["type"] == "f64" else None
                        self._one({"name": "init"}, "compiled code", t["name"], ours, theirs, kind)

    def entry(self, e, folder, library):
        ours, _ = self.ours(e)
        self.floor = 1e-3 * level([g for n, g in ours.items() if n.startswith("grad:")])
        theirs = self.interpreted(e, folder)
        for name in e["outputs"] if theirs else []:
            self._one(e, "interpreter", name, ours[name], theirs[name])
        ours, changed = self.ours(e, library)
        kept = [t for t in self.info["tensors"] if t["role"] in ("parameter", "state")]
        for t in kept + [t for t in self.info["tensors"] if t["role"] == "setting"]:
            library.set(t["name"], self.values[t["name"]])
        theirs = library.run(e, self.sizes, self.values, self.shape_of)
        for name in e["outputs"]:
            self._one(e, "compiled code", name, ours[name], theirs[name])
        if e["kind"] != "grad":
            for t in kept:
                now = changed.get(t["name"], self.values[t["name"]])
                self._one(e, "compiled code", t["name"], now, library.get(t["name"], self.shape_of(t)))

    def shape_of(self, t):
        return _extents(t["shape"], self.sizes)

    def interpreted(self, e, folder):
        """The results of `neoc run --interp` for an entry."""
        out = os.path.join(folder, "out.npz")
        given = [f"{n}=@{folder}/{n}.npy" for n in self.values
                 if n in e["inputs"] or self.roles[n] in ("parameter", "state", "setting")]
        command = [self.neoc, "run", "--interp", self.model, f"--entry={e['name']}", "-o", out] + self.options + given
        command += [f"--size={n}={v}" for n, v in self.sizes.items() if n in e["sizes"]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            self.wrong += 1
            self.report(f"{self.model} {e['name']}: neoc run fails ({done.returncode}): {done.stderr.strip()}")
            return None
        with np.load(out) as file:
            return dict(file)

    def _one(self, e, who, name, ours, theirs, kind=None):
        kind = kind or self.kinds.get(name, "f32")
        if kind == "f32" and self.coarsest:
            kind = self.coarsest
        worst, at = difference(ours, theirs, kind, self.floor)
        worst /= self.slack
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
