"""The library in every float type, held against numpy: `main.py NEOC [PART OF A NAME]...`
(tests/test_types.sh)."""

import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

import layers
import optimizers
import rounding

TYPES = ("f64", "f32", "f16", "bf16")


class Model:
    """A text, compiled and called by `neoc run`."""

    def __init__(self, neoc, text, folder):
        self.neoc, self.path, self.folder = neoc, os.path.join(folder, "model.expr"), folder
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        self.info = json.loads(self.neoc_says("describe", "--format=json"))
        self.tensors = self.info["tensors"]

    def neoc_says(self, command, *options):
        done = subprocess.run([self.neoc, command, self.path, *options], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"neoc {command}: {done.stderr.strip()} {done.stdout.strip()[:1000]}")
        return done.stdout

    def run(self, values):
        given = []
        for name, data in values.items():
            file = os.path.join(self.folder, name + ".npy")
            np.save(file, data if data.dtype.kind in "ib" else data.astype(np.float64))
            given.append(f"{name}=@{file}")
        out = os.path.join(self.folder, "out.npz")
        self.neoc_says("run", "--entry=forward", "-o", out, *given)
        with np.load(out) as file:
            return dict(file)


def drawn(case, model, sizes):
    """Values for all that is given, numbers of their types."""
    result = {}
    for k, t in enumerate(t for t in model.tensors if t["role"] in ("input", "parameter", "state")):
        rng = np.random.default_rng(k)
        shape = tuple(sizes.get(e, e) for e in t["shape"])
        shape = tuple(int(e) for e in shape)
        if t["type"].startswith("i"):
            data = rng.integers(t.get("least", 0), t.get("bound") or t.get("below"), shape)
        elif t["name"] in case.draw:
            data = case.draw[t["name"]](rng, shape)
        elif t["role"] == "state":
            data = np.abs(rng.standard_normal(shape)) + 0.5
        else:
            data = rng.standard_normal(shape)*(1 if t["role"] == "input" else 0.5)
        result[t["name"]] = data if t["type"].startswith("i") else rounding.to(t["type"], data)
    return result


def check(case, neoc, kind, sizes):
    with tempfile.TemporaryDirectory() as folder:
        model = Model(neoc, case.text.replace("TYPE", kind), folder)
        wrong = [f"{case.name}: {t['name']} is {t['type']}" for t in model.tensors
                 if t["role"] == "parameter" and t["type"] != case.types.get(t["name"], kind)]
        values = drawn(case, model, sizes)
        found = model.run(values)
    with np.errstate(all="ignore"):
        expected = case.expected(values)
    for name, want in expected.items():
        off = rounding.units(found[name], np.asarray(want), kind, name in case.exact)
        if off > 1:
            wrong.append(f"{case.name}, {kind} {sizes or ''}: {name} is off by {off:.3g} of what is allowed")
    return wrong, len(expected)


def differentiable(case, kind):
    """The model with parameters for its float inputs, trained on the squares of its float outputs."""
    text = case.text.replace("dim 0 <= B <= 8", "dim B = 3")
    text = re.sub(r"^input (\w+(?:\[[^]]*\])?) : TYPE", r"param \1 : TYPE = normal(0, 1)", text, flags=re.M)
    names = case.exact or re.search(r"^output (.*)", text, re.M)[1].split(", ")
    parts, squares = [f"f64({n}_2)" for n in names], [f"{n}_2 = square({n})" for n in names]
    text = re.sub(r"^output .*", "", text, flags=re.M) + "\n".join(squares) + f"\ntotal = {' + '.join(parts)}\n"
    text += "fn square(x[..]) -> s { s = sum[..] x[..]^2 }\noutput total\ntrain total using optim.sgd(lr = 0.1)\n"
    return text.replace("import ", "import optim, ", 1).replace("TYPE", kind)


def check_gradients(case, neoc, kind):
    with tempfile.TemporaryDirectory() as folder:
        model = Model(neoc, differentiable(case, kind), folder)
        said = model.neoc_says("grad-check", "--seed=5", "--own")
    good = re.search(r"^([0-9]+) elements checked, 0 failed", said, re.M)
    return [] if good and int(good[1]) else [f"{case.name}, {kind}: grad-check: {said}"]


def main():
    wrong, compared = [], 0
    for case in layers.CASES:
        if len(sys.argv) > 2 and not any(a in case.name for a in sys.argv[2:]):
            continue
        sizes = [{n: x} for n, xs in case.sizes.items() for x in xs] or [{}]
        # tests/library compares f32 results with stored values as well.
        kinds = [k for k in case.kinds if k != "f32" or os.environ.get("NEO_TEST_LONG") or len(sys.argv) > 2]
        for kind in kinds:
            for s in sizes:
                more, n = check(case, sys.argv[1], kind, s)
                wrong += more
                compared += n
        for kind in [k for k in ("f64", "bf16") if case.has_gradient and k in case.kinds]:
            wrong += check_gradients(case, sys.argv[1], kind)
            compared += 1
    for kind in TYPES if len(sys.argv) < 3 or "optimizers" in sys.argv else ():
        more, n = optimizers.check(sys.argv[1], kind, Model)
        wrong += more
        compared += n
    print("\n".join(wrong + [f"{compared} results compared, {len(wrong)} differ"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
